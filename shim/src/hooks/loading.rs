//! Libraries that are loaded late, in ways that hide their calls from a preloaded library.
//!
//! What is loaded with `dlopen` in the usual way is seen. Not so a library that looks for functions in its own
//! surroundings first (`RTLD_DEEPBIND`), nor one in a namespace of its own (`dlmopen`), which comes with a libc of its own:
//! the trace says so. The loader goes by its caller's address (for `$ORIGIN`, and for the namespace), so the hooks have
//! no frame when it is entered: they jump.

mod lookups;
pub mod objects;
mod told;

use crate::recording::span::{self, note};
use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use syn_trace::calls::Call;

/// The longest part of a library's name that is noted.
const MAX_NAME_BYTES: usize = 1024;

#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C" fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void {
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {before}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        before = sym before_dlopen,
    )
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C" fn dlmopen(namespace: c_long, path: *const c_char, flags: c_int) -> *mut c_void {
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "call {before}",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        before = sym before_dlmopen,
    )
}

/// Nothing but what the loader has unmapped is recorded.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn dlclose(handle: *mut c_void) -> c_int {
    type Function = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
    let Some(real) = super::real_function!(dlclose as Function) else { return super::missing() };
    objects::note_unload(handle as usize);
    // SAFETY: the caller's own argument.
    let result = unsafe { real(handle) };
    objects::tell_unloaded();
    result
}

/// Returns where to go on.
unsafe extern "C" fn before_dlopen(path: *const c_char, flags: c_int) -> usize {
    super::mpi_presence::settle();
    // SAFETY: the loader is about to read the name.
    unsafe { objects::note_load(path, flags) };
    if flags & libc::RTLD_DEEPBIND != 0 {
        // SAFETY: the loader is about to read the name.
        unsafe {
            note(
                b"what a library does that was loaded with RTLD_DEEPBIND, but for the calls that are seen in libc itself: ",
                path,
            );
        }
    }
    super::real!(dlopen).address().unwrap_or(nowhere as *const () as usize)
}

/// Returns where to go on.
unsafe extern "C" fn before_dlmopen(namespace: c_long, path: *const c_char, flags: c_int) -> usize {
    // SAFETY: the loader is about to read the name.
    unsafe { objects::note_load(path, flags) };
    if namespace != libc::LM_ID_BASE {
        // SAFETY: the loader is about to read the name.
        unsafe { note(b"what a library does that was loaded by dlmopen, with a libc of its own: ", path) };
    }
    super::real!(dlmopen).address().unwrap_or(nowhere as *const () as usize)
}

/// In the place of a loader that is not there.
extern "C" fn nowhere() -> *mut c_void {
    core::ptr::null_mut()
}

/// Says in the trace what will not be seen.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn note(what: &[u8], path: *const c_char) {
    // Where files are not recorded, nothing is missed.
    let Some(span) = span::enter(Call::Open, 0) else { return };
    // SAFETY: as the caller vouches.
    let name = if path.is_null() { b"the program" } else { unsafe { CStr::from_ptr(path) }.to_bytes() };
    let name = &name[..name.len().min(MAX_NAME_BYTES)];
    // SAFETY: nothing else is put together here.
    let text = unsafe { span.scratch().texts.lend() };
    text[..what.len()].copy_from_slice(what);
    text[what.len()..][..name.len()].copy_from_slice(name);
    // SAFETY: this thread's state, while the hook runs.
    let state = span.state();
    // No record of this call will come, so nothing is to be told inside it.
    state.forget_entered();
    note::write(state, Call::Unobserved, 0, &[], &[&text[..what.len() + name.len()]]);
    span.forget();
}
