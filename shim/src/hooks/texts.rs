//! Texts that programs hand over.

use crate::core::readable;
use crate::recording::span::Span;
use crate::recording::thread::scratch::TEXTS;
use core::ffi::c_char;
use syn_trace::record::MAX_TEXT_BYTES;

/// What a line of `hooks!` gives as a text.
pub trait Text {
    /// Its bytes. `was_read`: the kernel has read it, as success tells, or an errno of [`tells_that_it_was_read`] where there is one text
    /// alone: no other tells at which of its arguments the kernel has looked. `index`: which text of the call it is.
    ///
    /// # Safety
    /// As for [`text`], if it was read.
    unsafe fn bytes(&self, was_read: bool, span: &Span, index: usize) -> &[u8];
}

impl Text for *const c_char {
    #[inline(always)]
    unsafe fn bytes(&self, was_read: bool, span: &Span, index: usize) -> &[u8] {
        if !was_read || readable::may_be_gone() {
            return unread_text(*self, span, index);
        }
        // SAFETY: as the caller vouches.
        unsafe { text(*self) }
    }
}

/// Whether the kernel fails so only once it has copied the call's text: what it finds on the way along a path (path_resolution(7)), at its
/// end (open(2), mkdir(2)), or under an attribute's name. A seccomp filter may fail so before; programs that are under one hand over
/// texts all the same.
#[inline(always)]
pub fn tells_that_it_was_read(errno: i64) -> bool {
    const FOUND: [i32; 5] = [libc::ENOENT, libc::ENOTDIR, libc::EEXIST, libc::EISDIR, libc::ELOOP];
    FOUND.iter().any(|&found| i64::from(found) == errno)
}

/// A text of which success does not tell that it was read.
pub struct Unread(pub *const c_char);

impl Text for Unread {
    unsafe fn bytes(&self, _was_read: bool, span: &Span, index: usize) -> &[u8] {
        unread_text(self.0, span, index)
    }
}

/// A path that the call may write over, as `readlink(path, path, bytes)` does.
pub struct WrittenOver {
    path: *const c_char,
    copy: Option<&'static [u8]>,
}

impl WrittenOver {
    /// Before the call, which writes `bytes` to `buffer`.
    #[inline]
    pub fn of(path: *const c_char, buffer: *const c_char, bytes: usize, span: &Span) -> WrittenOver {
        let (at, buffer) = (path as usize, buffer as usize);
        let may_overlap = at < buffer.saturating_add(bytes) && buffer < at.saturating_add(MAX_TEXT_BYTES);
        WrittenOver { path, copy: may_overlap.then(|| unread_text(path, span, 0)) }
    }
}

impl Text for WrittenOver {
    #[inline(always)]
    unsafe fn bytes(&self, was_read: bool, span: &Span, index: usize) -> &[u8] {
        // SAFETY: as the caller vouches.
        self.copy.unwrap_or_else(|| unsafe { self.path.bytes(was_read, span, index) })
    }
}

/// A text that the kernel may not have read, copied; empty where it cannot be.
// That of an exec is one.
#[cold]
#[inline(never)]
#[unsafe(link_section = ".text.startup")]
pub fn unread_text(pointer: *const c_char, span: &Span, index: usize) -> &'static [u8] {
    let rooms = span.scratch().texts.as_ptr().cast::<[u8; MAX_TEXT_BYTES]>();
    if index >= TEXTS {
        return &[];
    }
    // SAFETY: there is room for as many texts, and each is put together once.
    readable::text(pointer as usize, unsafe { &mut *rooms.add(index) })
}

/// The text at `pointer`, as much of it as a record takes.
///
/// # Safety
/// `pointer` must point to a C string or be null.
#[inline]
pub unsafe fn text<'a>(pointer: *const c_char) -> &'a [u8] {
    if pointer.is_null() {
        return &[];
    }
    // SAFETY: as the caller vouches.
    unsafe {
        let length = libc::strnlen(pointer, MAX_TEXT_BYTES);
        core::slice::from_raw_parts(pointer.cast(), length)
    }
}
