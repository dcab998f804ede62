//! The rings of this process, by descriptor.

use super::ring::{NONE, Ring};
use crate::core::sys;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

/// Rings that can be known at a time.
const RINGS: usize = 256;

static TABLE: [Ring; RINGS] = [const { Ring::new() }; RINGS];
/// How many rings have been seen in all: where it is 0, nothing is looked for.
static SEEN: AtomicU32 = AtomicU32::new(0);

/// True when there is or was a ring.
#[inline]
pub(super) fn has_any() -> bool {
    SEEN.load(Ordering::Relaxed) != 0
}

/// The rings of this process.
pub(super) fn all() -> impl Iterator<Item = &'static Ring> {
    TABLE.iter().filter(|ring| ring.is_known_here())
}

/// The ring behind a descriptor.
pub(super) fn by_descriptor(fd: c_int) -> Option<&'static Ring> {
    if fd < 0 || !has_any() {
        return None;
    }
    places_from(fd).find(|ring| ring.fd() == fd)
}

/// The ring that the calling thread has registered at this place.
pub(super) fn by_place(place: u32) -> Option<&'static Ring> {
    let wanted = registration(place);
    all().find(|ring| ring.registered().load(Ordering::Relaxed) == wanted)
}

/// The calling thread has registered a ring at this place.
pub(super) fn register(ring: &Ring, place: u32) {
    let registration = registration(place);
    for other in all().filter(|other| other.registered().load(Ordering::Relaxed) == registration) {
        other.registered().store(0, Ordering::Relaxed);
    }
    ring.registered().store(registration, Ordering::Relaxed);
}

/// A place for the ring behind `fd`, which is a new one whatever was known by that number. `None`: no place is left.
pub(super) fn make(fd: c_int) -> Option<&'static Ring> {
    let places = || places_from(fd);
    let ring = places().find(|ring| ring.claim(fd)).or_else(|| places().find(|ring| ring.claim(NONE)))?;
    ring.reset();
    SEEN.fetch_add(1, Ordering::Relaxed);
    Some(ring)
}

/// All places, the likely one first.
fn places_from(fd: c_int) -> impl Iterator<Item = &'static Ring> {
    let first = fd.max(0) as usize % RINGS;
    (0..RINGS).map(move |step| &TABLE[(first + step) % RINGS])
}

/// Thread and place: only the thread that has registered a ring can name it by its place.
fn registration(place: u32) -> u64 {
    // SAFETY: no arguments.
    let tid = unsafe { sys::gettid() } as u64;
    tid << 32 | (u64::from(place) + 1)
}
