//! Page scans in a recorder that is built without the feature `page-scans`: which pages of mapped files are touched is not
//! found out, which the trace of a process that maps a file says.

use crate::recording::span::{Span, note};
use core::sync::atomic::{AtomicBool, Ordering};

/// A file has been mapped.
pub fn begin() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        note::unobserved(b"pages touched in mapped files: the recorder is built without page scans");
    }
}

/// Before files are unmapped between the addresses.
pub fn tell(_: &mut Span, _: usize, _: usize) {}

/// At the end of the process image.
pub fn tell_all(_: &mut Span) {}

/// Before a write-back, or what may unmap a library.
pub fn tell_while_cheap(_: &mut Span, _: usize, _: usize) {}
