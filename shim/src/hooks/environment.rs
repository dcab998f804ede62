//! What a child process needs in its environment to be recorded, where the program has taken it away.
//!
//! Programs clear the environment before they start others, or replace `LD_PRELOAD`. What is missing is put into the
//! environment that the kernel gets, with a note of it (`SYN_ADDED`), and the child takes it out of its own again
//! before `main` ([`crate::settings::export`]): the program sees the environment that it was given.

use crate::process;
use crate::settings;
use crate::sys;
use crate::tls;
use core::ffi::{CStr, c_char};

/// An array of strings that ends with a null pointer.
pub type Strings = *const *const c_char;

const PRELOAD: &[u8] = b"LD_PRELOAD=";
/// More entries than this are left as they are.
const MAX_ENTRIES: usize = 8192;

/// The environment for a new process image: `given`, or a copy with what is missing, in this thread's scratch memory.
pub fn for_child(given: Strings) -> Strings {
    let state = tls::get();
    if !process::is_recording() || !tls::is_state(state) {
        return given;
    }
    let Some(ours) = crate::elf::own_path().map(CStr::to_bytes).filter(|path| path.starts_with(b"/")) else {
        return given;
    };
    let Some(found) = look(given, ours) else { return given };
    // SAFETY: this thread's state. A vfork child uses its parent's, which stands still meanwhile.
    let scratch = unsafe { (*state).scratch() };
    complete(given, &found, ours, scratch).unwrap_or(given)
}

/// What an environment has of ours.
struct Found {
    entries: usize,
    preload: Option<&'static [u8]>,
}

/// `None` when nothing is missing, or when it cannot be read, which the kernel is to find out.
fn look(given: Strings, ours: &[u8]) -> Option<Found> {
    let mut found = Found { entries: 0, preload: None };
    let mut job = false;
    while let Some(entry) = entry(given, found.entries)? {
        found.entries += 1;
        job |= entry.starts_with(b"SYN_JOB=");
        if let Some(value) = entry.strip_prefix(PRELOAD) {
            found.preload = Some(value);
        }
        if found.entries > MAX_ENTRIES {
            return None;
        }
    }
    let loads_us = found
        .preload
        .is_some_and(|value| value.split(|&byte| byte == b':' || byte == b' ').any(|path| path == ours));
    (!loads_us || !job).then_some(found)
}

/// The entry at `index`, `Some(None)` at the end; `None` when it cannot be read.
fn entry(given: Strings, index: usize) -> Option<Option<&'static [u8]>> {
    if given.is_null() {
        return Some(None);
    }
    let at = given.wrapping_add(index);
    if !readable(at as usize) {
        return None;
    }
    // SAFETY: the kernel has just read there; strings end before memory does.
    unsafe {
        let text = *at;
        if text.is_null() {
            return Some(None);
        }
        readable(text as usize).then(|| Some(CStr::from_ptr(text).to_bytes()))
    }
}

fn readable(address: usize) -> bool {
    sys::word_at((address & !3) as *const u32).is_some()
}

/// The array, with the strings that are new behind it.
fn complete(given: Strings, found: &Found, ours: &[u8], scratch: &mut [u8]) -> Option<Strings> {
    let (array, strings) = scratch.split_at_mut_checked((found.entries + 4) * size_of::<usize>())?;
    let array: *mut *const c_char = array.as_mut_ptr().cast();
    let mut count = 0;
    let mut put = |text: *const c_char| {
        // SAFETY: the array has room for every entry, three more and the null pointer.
        unsafe { array.add(count).write(text) };
        count += 1;
    };
    for index in 0..found.entries {
        let text = entry(given, index)??;
        let of_ours = [PRELOAD, b"SYN_JOB=", settings::ADDED].iter().any(|name| text.starts_with(name));
        if !of_ours {
            put(text.as_ptr().cast());
        }
    }
    let others = found.preload.unwrap_or(b"");
    let separator: &[u8] = if others.is_empty() { b"" } else { b":" };
    let (name, value): (&[u8], &[u8]) = found.preload.map_or((b"", b""), |value| (PRELOAD, value));
    let mut strings = strings;
    process::with_folder(|folder| {
        let mut add = |parts: &[&[u8]]| -> Option<()> {
            let (text, rest) = join(core::mem::take(&mut strings), parts)?;
            strings = rest;
            put(text);
            Some(())
        };
        add(&[PRELOAD, ours, separator, others])?;
        add(&[b"SYN_JOB=", folder])?;
        add(&[settings::ADDED, name, value])
    })?;
    put(core::ptr::null());
    Some(array.cast_const().cast())
}

/// The parts, one behind the other, at the front of `room`; and the rest of it.
fn join<'a>(room: &'a mut [u8], parts: &[&[u8]]) -> Option<(*const c_char, &'a mut [u8])> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let (text, rest) = room.split_at_mut_checked(length + 1)?;
    let mut at = 0;
    for part in parts {
        text[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    text[length] = 0;
    Some((text.as_ptr().cast(), rest))
}
