//! Programs and libraries that are mapped into the process.
//!
//! The kernel maps the program, and the loader libraries, by no call that is seen. Where such a file is not the system's, it may lie on
//! the storage that is asked about. Then it is recorded afterwards what was done with it: it was opened, its head was read, its parts were
//! mapped, and it was closed. What the process was started with is told at once; of what it loads later it is found out when it loads or
//! unloads something again, and at the end of the process image.

use crate::core::elf::{self, ObjectInfo};
use crate::core::{file_status, readable};
use crate::page_scans;
use crate::recording::mappings::{self as table, DATA, LOADED, Mapping, WRITABLE};
use crate::recording::process;
use crate::recording::span::{self, Span};
use core::ffi::{CStr, c_char, c_int};
use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use syn_trace::calls::Call;
use syn_trace::folders::is_of_system;
use syn_trace::record::MAX_TEXT_BYTES;
use syn_trace::status;

/// In place of the descriptor, which is closed again: one that no other file gets.
const DESCRIPTOR: i64 = i32::MAX as i64;
/// What the kernel reads of a program to find out how to start it (`BINPRM_BUF_SIZE`), and the loader of a library (`struct filebuf` of
/// glibc).
const HEAD_OF_PROGRAM: i64 = 256;
const HEAD_OF_LIBRARY: i64 = 832;
/// The file name of the library that counts allocations for profiles.
const OF_ALLOCATIONS: &[u8] = b"/libsynalloc.so";

/// The process that may have loaded something since it was last looked for; 0 for none.
static LOADS: AtomicU32 = AtomicU32::new(0);
/// How many objects had ever been loaded and unloaded, as the loader counts, when it was last looked for them.
static LOADED_SO_FAR: AtomicU64 = AtomicU64::new(0);
static UNLOADED_SO_FAR: AtomicU64 = AtomicU64::new(0);

/// True for the path of an object that is to be told of. (That of the kernel's own has no slash.)
#[unsafe(link_section = ".text.startup")]
fn is_told(path: &[u8]) -> bool {
    path.contains(&b'/') && !is_of_system(path) && !path.ends_with(OF_ALLOCATIONS)
}

/// Tells what the process was started with. Most programs and all of their libraries are the system's.
#[unsafe(link_section = ".text.startup")]
pub fn tell_started_with() {
    let script = process::script().filter(|path| is_told(path));
    if script.is_some() || is_told(process::program()) || elf::paths_started_with().any(is_told) {
        let Some(mut span) = span::enter(Call::Openat, 0) else { return };
        if let Some(path) = script {
            tell(&mut span, path, HEAD_OF_PROGRAM, |_| {});
        }
        look(&mut span);
        span.forget();
    }
}

/// The process is about to load this.
///
/// # Safety
/// `path` is null or a C string.
pub unsafe fn note_load(path: *const c_char, flags: c_int) {
    let Some(mut span) = span::enter(Call::Dlopen, 0) else { return };
    tell_late_ones_in(&mut span);
    LOADS.store(process::pid(), Ordering::Relaxed);
    if !path.is_null() {
        // SAFETY: as the caller vouches.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        span.returned();
        record(&mut span, Call::Dlopen, 0, &[flags.into()], &[&path[..path.len().min(MAX_TEXT_BYTES)]]);
    }
    span.forget();
}

/// Tells what has been loaded meanwhile.
fn tell_late_ones() {
    if LOADS.load(Ordering::Relaxed) != process::pid() {
        return;
    }
    let Some(mut span) = span::enter(Call::Openat, 0) else { return };
    tell_late_ones_in(&mut span);
    span.forget();
}

/// The same in a call under way. (A forked child that has loaded nothing itself does not ask: another thread of its parent may have held
/// the loader's lock.)
pub fn tell_late_ones_in(span: &mut Span) {
    if LOADS.load(Ordering::Relaxed) == process::pid() {
        LOADS.store(0, Ordering::Relaxed);
        look(span);
    }
}

#[cold]
#[inline(never)]
fn look(span: &mut Span) {
    // The program comes first (dl_iterate_phdr(3)).
    let mut is_first = true;
    elf::for_each_loaded(|object| {
        let is_program = core::mem::take(&mut is_first);
        let so_far = object.loaded_so_far;
        if is_program && LOADED_SO_FAR.swap(so_far, Ordering::Relaxed) == so_far {
            return true;
        }
        let path = if is_program { process::program() } else { object.path().to_bytes() };
        if is_told(path) && !object.is_own() && !is_known(object) {
            let head = if is_program { HEAD_OF_PROGRAM } else { HEAD_OF_LIBRARY };
            tell(span, path, head, |span| map(span, object));
        }
        false
    });
}

/// True where it has been told, in this process or to a parent.
fn is_known(object: &ObjectInfo) -> bool {
    let mut mapped = object.parts().flat_map(|(memory, ..)| table::in_range(memory.start, memory.end));
    mapped.any(|mapping| mapping.is(LOADED))
}

/// What was done with a file, in the order in which it was done: its head was read, it was mapped, which `map` tells, and it was closed.
fn tell(span: &mut Span, path: &[u8], head: i64, map: impl FnOnce(&mut Span)) {
    // SAFETY: nothing else uses it here.
    let room = unsafe { span.scratch().texts.lend() };
    if path.len() >= MAX_TEXT_BYTES {
        return;
    }
    room[..path.len()].copy_from_slice(path);
    room[path.len()] = 0;
    let Ok(name) = CStr::from_bytes_with_nul(&room[..=path.len()]) else { return };
    let Some(status) = file_status::named(name) else { return };
    let [mode, size, inode] = status::numbers(&status);
    let (folder, flags) = (i64::from(libc::AT_FDCWD), i64::from(libc::O_RDONLY | libc::O_CLOEXEC));
    span.returned();
    record(span, Call::Loaded, 0, &[], &[path]);
    record(span, Call::Openat, DESCRIPTOR, &[folder, flags, 0, mode, size, inode], &[path]);
    record(span, Call::Read, head.min(size), &[DESCRIPTOR, head], &[]);
    if head == HEAD_OF_LIBRARY {
        record(span, Call::Fstat, 0, &[DESCRIPTOR, mode, size], &[]);
    }
    map(span);
    record(span, Call::Close, 0, &[DESCRIPTOR], &[]);
}

/// What of an object's file is mapped. As the loader does it: all at once, to have the addresses, and then its parts in place of that,
/// but for the first.
fn map(span: &mut Span, object: &ObjectInfo) {
    page_scans::begin();
    let Some(((_, offset, protection), all)) = object.parts().next().zip(whole(object)) else { return };
    record_map(span, all, offset, protection);
    for (number, (Range { start, end }, offset, protection)) in object.parts().enumerate() {
        // What was there before has been unloaded without a word.
        forget(start, end);
        let traits = DATA | LOADED | if protection & libc::PROT_WRITE != 0 { WRITABLE } else { 0 };
        table::insert(Mapping { start, end, offset, traits, owner: process::pid(), leaving: [0, 0] });
        if number > 0 {
            record_map(span, start..end, offset, protection);
        }
    }
}

/// Where its parts lie: nothing else is in between.
fn whole(object: &ObjectInfo) -> Option<Range<usize>> {
    object
        .parts()
        .map(|(memory, ..)| memory)
        .reduce(|all, part| all.start.min(part.start)..all.end.max(part.end))
}

fn record_map(span: &mut Span, memory: Range<usize>, offset: u64, protection: c_int) {
    let (bytes, flags) = (memory.end - memory.start, libc::MAP_PRIVATE | libc::MAP_FIXED);
    let numbers = [DESCRIPTOR, bytes as i64, protection.into(), flags.into(), offset as i64];
    record(span, Call::Mmap, memory.start as i64, &numbers, &[]);
}

fn forget(start: usize, end: usize) {
    table::mark(start, end);
    table::remove(start, end);
}

#[inline(never)]
fn record<const N: usize>(span: &mut Span, call: Call, outcome: i64, numbers: &[i64; N], texts: &[&[u8]]) {
    span.record(call, false, outcome, numbers, texts, &[]);
}

/// The process may be about to unload the library with this handle, which glibc's loader has an entry for, that begins with where the
/// library lies. What has been touched of it is told.
pub fn note_unload(handle: usize) {
    tell_late_ones();
    let mut base = [0; size_of::<usize>()];
    if table::in_range(0, usize::MAX).all(|mapping| !mapping.is(LOADED))
        || !readable::copy_bytes(handle, &mut base)
    {
        return;
    }
    let mut memory = None;
    elf::for_each_loaded(|object| {
        let is_it = object.base == usize::from_ne_bytes(base);
        memory = whole(object).filter(|_| is_it && is_known(object));
        is_it
    });
    let Some(Range { start, end }) = memory else { return };
    let Some(mut span) = span::enter(Call::Munmap, 0) else { return };
    page_scans::tell_while_cheap(&mut span, start, end);
    span.forget();
}

/// Libraries may have been unloaded.
pub fn tell_unloaded() {
    let mut so_far = 0;
    elf::for_each_loaded(|object| {
        so_far = object.unloaded_so_far;
        true
    });
    if UNLOADED_SO_FAR.swap(so_far, Ordering::Relaxed) == so_far {
        return;
    }
    let Some(mut span) = span::enter(Call::Munmap, 0) else { return };
    for mapping in table::in_range(0, usize::MAX).filter(|mapping| mapping.is(LOADED)) {
        if !elf::is_loaded(mapping.start) {
            forget(mapping.start, mapping.end);
            if mapping.owner == process::pid() {
                span.returned();
                let numbers = [mapping.start as i64, mapping.bytes() as i64];
                record(&mut span, Call::Munmap, 0, &numbers, &[]);
            }
        }
    }
    span.forget();
}
