//! Of which objects it is told what was done to load them, and the records that do.

use crate::core::text::Text;
use crate::recording::span::{Span, note};
use core::ffi::c_int;
use syn_trace::calls::Call;
use syn_trace::folders::is_of_system;

/// With which files are opened.
pub const OPENED: i64 = (libc::O_RDONLY | libc::O_CLOEXEC) as i64;
/// The file name of the library that counts allocations for profiles.
const OF_ALLOCATIONS: &[u8] = b"/libsynalloc.so";

/// True for the path of an object, or of a folder where one may lie, that is to be told of. (That of the kernel's own has no slash.)
#[unsafe(link_section = ".text.startup")]
pub fn is_told(path: &[u8]) -> bool {
    path.contains(&b'/') && !is_of_system(path) && !path.ends_with(OF_ALLOCATIONS)
}

/// What is told of one object: behind a record that begins it.
pub struct Told<'a> {
    pub span: &'a mut Span,
    path: &'a [u8],
    has_begun: bool,
}

impl<'a> Told<'a> {
    pub fn of(span: &'a mut Span, path: &'a [u8]) -> Told<'a> {
        Told { span, path, has_begun: false }
    }

    /// Its file is not there any more, or nothing can be asked of it.
    pub fn miss(&mut self, room: &mut [u8]) {
        const WHAT: &[u8] = b"what was read to load a file that was gone when it was asked about: ";
        let mut text = Text::of(room);
        note::write(
            self.span.state(),
            Call::Unobserved,
            0,
            &[],
            &[text.push(WHAT).push(self.path).as_bytes()],
        );
    }

    /// A call, as far as it can be told: it is long over.
    #[inline(never)]
    pub fn record<const N: usize>(
        &mut self,
        call: Call,
        outcome: Result<i64, c_int>,
        numbers: &[i64; N],
        texts: &[&[u8]],
    ) {
        if !core::mem::replace(&mut self.has_begun, true) {
            self.span.returned();
            self.span.record(Call::Loaded, false, 0, &[], &[self.path], &[]);
        }
        let result = outcome.unwrap_or_else(i64::from);
        self.span.record(call, outcome.is_err(), result, numbers, texts, &[]);
    }
}
