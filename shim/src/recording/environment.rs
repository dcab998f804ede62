//! What a child process needs in its environment to be recorded, where the program has taken it away.
//!
//! Programs clear the environment before they start others, or replace `LD_PRELOAD`. What is missing is put into the
//! environment that the kernel gets, with a note of it (`SYN_ADDED`), and the child takes it out of its own again
//! before `main` ([`crate::recording::process::settings::export`]): the program sees the environment that it was given.

use crate::core::readable::{PAGE, Reader};
use crate::core::{own_path, sys};
use crate::recording::process::{self, settings};
use crate::recording::span::note;
use crate::recording::thread::scratch::WINDOWS;
use crate::recording::thread::state::State;
use crate::recording::thread::{current, private_table};
use core::cell::UnsafeCell;
use core::ffi::c_char;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// An array of strings that ends with a null pointer.
pub type Strings = *const *const c_char;

unsafe extern "C" {
    static environ: Strings;
}

/// The process's own environment.
pub fn own() -> Strings {
    // SAFETY: libc's variable; whoever changes it while another thread calls exec has a race without us too.
    unsafe { environ }
}

const PRELOAD: &[u8] = b"LD_PRELOAD=";
/// More entries than this are left as they are.
const MAX_ENTRIES: usize = 8192;
/// `MAX_ARG_STRLEN`: the kernel takes no longer entries.
const MAX_ENTRY_BYTES: usize = 128 << 10;

/// The environment for a new process image: `given`, or a copy with what is missing, or with what keeps the program from
/// being recorded, in memory that is this thread's until its next call.
#[unsafe(link_section = ".text.startup")]
pub fn for_child(given: Strings) -> Strings {
    if !process::is_recording() {
        return given;
    }
    // A vfork child uses its parent's, which stands still meanwhile.
    let scratch = current::state().map(State::scratch);
    if ENDS_US.load(Ordering::Relaxed) {
        if !TOLD.swap(true, Ordering::Relaxed) {
            note::unobserved(b"programs started under a seccomp filter that would end the recorder");
        }
        let array =
            scratch.map(|scratch| scratch.environment.as_ptr().cast()).or_else(|| SPARE.of_this_thread());
        // SAFETY: the caller's environment; both have this much room.
        return array.and_then(|array| unsafe { switched_off(given, array) }).unwrap_or(given);
    }
    let Some(scratch) = scratch else { return given };
    let Some(ours) = own_path::from_root() else { return given };
    // SAFETY: what calls this uses none of them.
    let (environment, words, windows) =
        unsafe { (scratch.environment.lend(), scratch.words.lend(), scratch.windows.lend()) };
    let mut given_one = Given::new(given, windows);
    // SAFETY: numbers are bytes.
    let Some(found) = look(&mut given_one, ours, unsafe { words.align_to_mut().1 }) else { return given };
    // In a folder of its own the program would only be told that the library is not there.
    // SAFETY: the path, which is the loader's, ends with a zero byte.
    if unsafe { sys::call(libc::SYS_access, [ours.as_ptr() as usize, libc::R_OK as usize, 0, 0, 0, 0]) } < 0 {
        return given;
    }
    complete(&mut given_one, &found, ours, environment).unwrap_or(given)
}

/// Room for the environment of a program that is not to be recorded, for the first thread without a state that needs it:
/// a forked child, as a rule, where nobody may ask for memory.
struct Spare {
    /// The thread, by the address of its errno.
    owner: AtomicUsize,
    array: UnsafeCell<[*const c_char; MAX_ENTRIES + 2]>,
}
// SAFETY: only the owner uses the array.
unsafe impl Sync for Spare {}

impl Spare {
    fn of_this_thread(&self) -> Option<*mut *const c_char> {
        // SAFETY: libc gives every thread an errno.
        let us = unsafe { libc::__errno_location() } as usize;
        let owner = self.owner.compare_exchange(0, us, Ordering::Relaxed, Ordering::Relaxed);
        (owner.is_ok() || owner == Err(us)).then(|| self.array.get().cast())
    }
}

#[unsafe(link_section = ".bss.tables")]
static SPARE: Spare =
    Spare { owner: AtomicUsize::new(0), array: UnsafeCell::new([core::ptr::null(); MAX_ENTRIES + 2]) };
/// Set when a filter of this process would end a program at a system call of ours.
static ENDS_US: AtomicBool = AtomicBool::new(false);

/// A program that this process becomes or starts would be ended by what the recorder does there.
pub fn keep_recorders_out() {
    ENDS_US.store(true, Ordering::Relaxed);
}

/// Set when the trace says that programs are not recorded.
static TOLD: AtomicBool = AtomicBool::new(false);

/// The environment with a note in front that nothing is to be recorded. It stays there for the programs that are started
/// by this one, which are under the same filter.
///
/// # Safety
/// `array` must have room for [`MAX_ENTRIES`] and two; `given` must be null or end with a null pointer: where this is
/// called, the kernel cannot be asked what is readable.
unsafe fn switched_off(given: Strings, array: *mut *const c_char) -> Option<Strings> {
    let count = match given.is_null() {
        true => 0,
        // SAFETY: as the caller vouches.
        false => (0..MAX_ENTRIES).find(|&index| unsafe { (*given.add(index)).is_null() })?,
    };
    // SAFETY: the array has room for the note, every entry and the null pointer.
    unsafe {
        array.write(c"SYN_OFF=1".as_ptr());
        core::ptr::copy(given, array.add(1), count);
        array.add(1 + count).write(core::ptr::null());
    }
    Some(array.cast_const().cast())
}

/// What an environment has of ours.
struct Found<'a> {
    entries: usize,
    preload: Option<&'a [u8]>,
}

/// `None` when nothing is missing, or when it cannot be read, which the kernel is to find out. `room` takes the value of
/// `LD_PRELOAD`.
#[unsafe(link_section = ".text.startup")]
fn look<'a>(given: &mut Given<'_>, ours: &[u8], room: &'a mut [u8]) -> Option<Found<'a>> {
    let (mut entries, mut job, mut preload) = (0, false, None);
    while let Some(entry) = given.entry(entries)? {
        entries += 1;
        job |= given.strings.starts_with(entry, b"SYN_JOB=")?;
        if given.strings.starts_with(entry, PRELOAD)? {
            preload = Some(entry + PRELOAD.len());
        }
        if entries > MAX_ENTRIES {
            return None;
        }
    }
    let preload = preload.map(|value| given.strings.text(value, &mut room[..MAX_ENTRY_BYTES]));
    let loads_us = preload.is_some_and(|value| parts(value).any(|path| path == ours));
    (!loads_us || !job).then_some(Found { entries, preload })
}

/// The libraries in a value of `LD_PRELOAD`.
fn parts(preload: &[u8]) -> impl Iterator<Item = &[u8]> {
    preload.split(|&byte| byte == b':' || byte == b' ')
}

/// What stands in front of and behind a path of this library that is not from the root: a child may be in another folder.
fn without_us<'a>(preload: &'a [u8], ours: &[u8]) -> [&'a [u8]; 2] {
    let is_end_of_ours = |path: &[u8]| {
        let before = ours.strip_suffix(path);
        path.contains(&b'/') && before.is_some_and(|before| before.ends_with(b"/"))
    };
    let mut at = 0;
    for part in parts(preload) {
        if is_end_of_ours(part) {
            return [&preload[..at], &preload[at + part.len()..]];
        }
        at += part.len() + 1;
    }
    [preload, b""]
}

/// The environment that the program gives, which the kernel has not read yet.
struct Given<'a> {
    array: usize,
    pointers: Reader<'a>,
    strings: Reader<'a>,
}

impl<'a> Given<'a> {
    fn new(array: Strings, windows: &'a mut [[u8; PAGE]; WINDOWS]) -> Given<'a> {
        // libc reads it as well, in getenv(3): where no other thread may change it, nobody need be asked whether it can be read.
        if array == own() && !private_table::are_descriptors_shared() {
            // SAFETY: as libc takes it to be.
            let [pointers, strings] = [(); 2].map(|()| unsafe { Reader::trusting() });
            return Given { array: array as usize, pointers, strings };
        }
        let (pointers, strings) = windows.split_at_mut(1);
        Given { array: array as usize, pointers: Reader::new(pointers), strings: Reader::new(strings) }
    }

    /// The address of the entry at `index`, `Some(None)` at the end; `None` when it cannot be read.
    fn entry(&mut self, index: usize) -> Option<Option<usize>> {
        if self.array == 0 {
            return Some(None);
        }
        // SAFETY: an address is a number.
        let text: usize = unsafe { self.pointers.copy(self.array.wrapping_add(index * size_of::<usize>()))? };
        Some((text != 0).then_some(text))
    }
}

/// The array, with the strings that are new behind it.
fn complete(
    given: &mut Given<'_>,
    found: &Found<'_>,
    ours: &[u8],
    room: &mut [*const c_char],
) -> Option<Strings> {
    let (array, strings) = room.split_at_mut_checked(found.entries + 4)?;
    // SAFETY: what is written there from now on are bytes.
    let mut strings: &mut [u8] = unsafe { strings.align_to_mut().1 };
    let mut count = 0;
    let mut put = |text: *const c_char| {
        array[count] = text;
        count += 1;
    };
    for index in 0..found.entries {
        let text = given.entry(index)??;
        let of_ours =
            [PRELOAD, b"SYN_JOB=", settings::ADDED].map(|name| given.strings.starts_with(text, name));
        if !of_ours.contains(&Some(true)) {
            put(text as *const c_char);
        }
    }
    let [others, more] = without_us(found.preload.unwrap_or(b""), ours);
    let separator: &[u8] = if others.is_empty() && more.is_empty() { b"" } else { b":" };
    let (name, value): (&[u8], &[u8]) = found.preload.map_or((b"", b""), |value| (PRELOAD, value));
    process::with_folder(|folder| {
        let mut add = |parts: &[&[u8]]| -> Option<()> {
            let (text, rest) = join(core::mem::take(&mut strings), parts)?;
            strings = rest;
            put(text);
            Some(())
        };
        add(&[PRELOAD, ours, separator, others, more])?;
        add(&[b"SYN_JOB=", folder])?;
        add(&[settings::ADDED, name, value])
    })?;
    put(core::ptr::null());
    Some(array.as_ptr())
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
