//! The path by which the loader found this library, and its path from the root. From another folder a child cannot load it by a path
//! from here, and the loader would complain on its standard error.

use crate::core::{elf, sys};
use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

const ROOM: usize = 2 * libc::PATH_MAX as usize;

struct FromRoot {
    /// With a final zero.
    text: UnsafeCell<[u8; ROOM]>,
    /// Without it; 0 until it is known, and where the loader's path is from the root.
    length: AtomicUsize,
}
// SAFETY: the text is written when the process starts, once, and not changed when its length is known.
unsafe impl Sync for FromRoot {}

#[unsafe(link_section = ".bss.tables")]
static FROM_ROOT: FromRoot = FromRoot { text: UnsafeCell::new([0; ROOM]), length: AtomicUsize::new(0) };

/// As the loader was told.
fn given() -> Option<&'static [u8]> {
    elf::own_path().map(CStr::to_bytes)
}

/// From the root, followed by a zero byte; `None` where it is not known.
pub fn from_root() -> Option<&'static [u8]> {
    match FROM_ROOT.length.load(Ordering::Acquire) {
        0 => given().filter(|path| path.starts_with(b"/")),
        // SAFETY: nobody changes it any more.
        length => Some(unsafe { &(&*FROM_ROOT.text.get())[..length] }),
    }
}

/// Finds it out. Called once, when the process starts, which is in the folder from which the library was loaded.
#[unsafe(link_section = ".text.startup")]
pub fn note() {
    let Some(name) = given().filter(|path| path.contains(&b'/') && !path.starts_with(b"/")) else { return };
    // SAFETY: nobody else has it yet.
    let text = unsafe { &mut *FROM_ROOT.text.get() };
    // SAFETY: the kernel writes no more than there is room for, and returns how much with the final zero.
    let folder = unsafe {
        sys::call(libc::SYS_getcwd, [text.as_mut_ptr() as usize, libc::PATH_MAX as usize, 0, 0, 0, 0])
    };
    // The path of a folder that cannot be reached begins with something else.
    if folder < 2 || text[0] != b'/' {
        return;
    }
    let folder = folder as usize;
    text[folder - 1] = b'/';
    if let Some(room) = text[..ROOM - 1].get_mut(folder..folder + name.len()) {
        room.copy_from_slice(name);
        FROM_ROOT.length.store(folder + name.len(), Ordering::Release);
    }
}
