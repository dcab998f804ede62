//! Programs and libraries that are mapped into the process.
//!
//! The kernel maps the program, and the loader libraries, by no call that is seen. Where such a file is not the system's, it may lie on
//! the storage that is asked about. Then it is recorded afterwards what was done with it: it was opened, its head was read, its parts were
//! mapped, and it was closed; and before that, where the loader has looked for it in vain. What the process was started with is told at once;
//! of what it loads later it is found out when it loads or unloads something again, before files change their names, and at the end of the
//! process image.
//!
//! While the loader's own list is walked, which holds its lock, nothing is asked of the kernel and nothing recorded: a thread that waited
//! there for a server would hold up others that load, fork or end the process.

use super::lookups::{self, Folders};
use super::told::{OPENED, Told, is_told};
use crate::core::elf::{self, ObjectInfo};
use crate::core::text::Text;
use crate::core::{file_status, readable};
use crate::hooks::mappings::note_overflow;
use crate::page_scans;
use crate::recording::mappings::{self as table, DATA, LOADED, Mapping, WRITABLE};
use crate::recording::process;
use crate::recording::span::{self, Span};
use core::ffi::{CStr, c_char, c_int};
use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use syn_trace::calls::Call;
use syn_trace::loader::DESCRIPTOR;
use syn_trace::record::MAX_TEXT_BYTES;
use syn_trace::status;

/// What the kernel reads of a program to find out how to start it (`BINPRM_BUF_SIZE`), and the loader of a library (`struct filebuf` of
/// glibc).
const HEAD_OF_PROGRAM: i64 = 256;
const HEAD_OF_LIBRARY: i64 = 832;
/// Of objects with more parts, which no usual linker makes, the further ones are not told.
const MOST_PARTS: usize = 16;

/// The process that has loaded something by dlopen(3); 0 for none.
static LOADS: AtomicU32 = AtomicU32::new(0);
/// The process in which a thread is telling of objects; another one does not meanwhile.
static TELLING: AtomicU32 = AtomicU32::new(0);
/// How many objects had ever been loaded and unloaded, as the loader counts, when it was last looked for them.
static LOADED_SO_FAR: AtomicU64 = AtomicU64::new(0);
static UNLOADED_SO_FAR: AtomicU64 = AtomicU64::new(0);

/// Tells what the process was started with. Most programs and all of their libraries are the system's.
#[unsafe(link_section = ".text.startup")]
pub fn tell_started_with() {
    let script = process::script().filter(|path| is_told(path) && *path != process::program());
    if script.is_some()
        || is_told(process::program())
        || elf::paths_started_with().any(is_told)
        || lookups::are_everywhere()
    {
        let Some(mut span) = span::enter(Call::Openat, 0) else { return };
        if let Some(path) = script {
            // SAFETY: nothing else uses it here.
            let room = unsafe { span.scratch().texts.lend() };
            tell(&mut Told::of(&mut span, path), path, HEAD_OF_PROGRAM, room, |_| {});
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
        let path = &path[..path.len().min(MAX_TEXT_BYTES)];
        span.record(Call::Dlopen, false, 0, &[flags.into()], &[path], &[]);
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
#[inline]
pub fn tell_late_ones_in(span: &mut Span) {
    if LOADS.load(Ordering::Relaxed) == process::pid() {
        look(span);
    }
}

/// Tells what is new since the last look.
#[cold]
#[inline(never)]
fn look(span: &mut Span) {
    let (pid, teller) = (process::pid(), TELLING.load(Ordering::Relaxed));
    let may_tell =
        teller != pid && TELLING.compare_exchange(teller, pid, Ordering::Acquire, Ordering::Relaxed).is_ok();
    if !may_tell {
        return;
    }
    let (mut count, mut new) = (0, 0_usize);
    elf::for_each_loaded(|object| {
        if count == 0 {
            let so_far = object.loaded_so_far;
            new = so_far.saturating_sub(LOADED_SO_FAR.swap(so_far, Ordering::Relaxed)) as usize;
        }
        count += 1;
        new == 0
    });
    if new > 0 {
        let scratch = span.scratch();
        // SAFETY: nothing else uses them here.
        let (texts, words) = unsafe { (scratch.texts.lend(), scratch.words.lend()) };
        let (path, text) = texts.split_at_mut(MAX_TEXT_BYTES);
        // SAFETY: the same memory.
        let folders =
            unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) };
        // New ones come last.
        for at in usize::saturating_sub(count, new)..count {
            if let Some(found) = Found::at(at, path, folders) {
                found.tell(span, text);
            }
        }
    }
    TELLING.store(0, Ordering::Release);
}

/// What the loader knows of an object, copied.
struct Found<'a> {
    is_program: bool,
    path: &'a [u8],
    /// Nothing of it is on record yet.
    is_new: bool,
    parts: [Part; MOST_PARTS],
    count: usize,
    /// Where it has been looked for.
    folders: Folders<'a>,
}

impl<'a> Found<'a> {
    /// Of the object at this place in the loader's list, where the program comes first (dl_iterate_phdr(3)).
    fn at(at: usize, path: &'a mut [u8], folders: &'a mut [u8]) -> Option<Found<'a>> {
        let (mut place, mut path, mut folders) = (0, Some(path), Some(folders));
        let mut found = None;
        elf::for_each_loaded(|object| {
            let is_it = place == at;
            place += 1;
            if let Some((room, folders)) = path.take_if(|_| is_it).zip(folders.take_if(|_| is_it)) {
                found = Found::of(object, at == 0, room, folders);
            }
            is_it
        });
        found
    }

    fn of(
        object: &ObjectInfo,
        is_program: bool,
        room: &'a mut [u8],
        folders: &'a mut [u8],
    ) -> Option<Found<'a>> {
        let path = if is_program { process::program() } else { object.path().to_bytes() };
        if object.is_own() || path.len() > room.len() {
            return None;
        }
        room[..path.len()].copy_from_slice(path);
        let mut found = Found {
            is_program,
            path: &room[..path.len()],
            is_new: !is_known(object),
            parts: [Part::default(); MOST_PARTS],
            count: 0,
            folders: lookups::folders(object, folders),
        };
        for (to, part) in found.parts.iter_mut().zip(Part::of(object)) {
            *to = part;
            found.count += 1;
        }
        Some(found)
    }

    fn tell(&self, span: &mut Span, text: &mut [u8]) {
        let mut told = Told::of(span, self.path);
        lookups::tell(&mut told, &self.folders, self.path, text);
        if is_told(self.path) && self.is_new {
            let head = if self.is_program { HEAD_OF_PROGRAM } else { HEAD_OF_LIBRARY };
            tell(&mut told, self.path, head, text, |told| self.map(told));
        }
    }

    /// As the loader does it: all at once, to have the addresses, and then the parts in place of that, but for the first.
    fn map(&self, told: &mut Told<'_>) {
        page_scans::begin();
        let parts = &self.parts[..self.count];
        let Some((first, last)) = parts.first().zip(parts.last()) else { return };
        // What was there before has been unloaded without a word.
        for mapping in table::in_range(first.start, last.end).filter(|mapping| mapping.is(LOADED)) {
            tell_gone(told.span, &mapping);
        }
        record_map(told, &Part { end: last.end, ..*first });
        parts[1..].iter().for_each(|part| record_map(told, part));
        if !parts.iter().all(|part| table::insert(part.mapping())) {
            note_overflow(told.span);
        }
    }
}

/// A part of an object that is mapped: where, from where in the file, and for what (mmap(2)).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    start: usize,
    end: usize,
    offset: u64,
    protection: c_int,
}

impl Part {
    /// Those of an object. What is between two, which nobody can use, is counted to the first.
    fn of(object: &ObjectInfo) -> impl Iterator<Item = Part> {
        let next = object.parts().map(|(memory, ..)| memory.start).skip(1).map(Some).chain([None]);
        object.parts().zip(next).map(|((Range { start, end }, offset, protection), next)| {
            let end = next.unwrap_or(end).max(start);
            Part { start, end, offset, protection }
        })
    }

    fn mapping(&self) -> Mapping {
        let &Part { start, end, offset, protection } = self;
        let traits = DATA | LOADED | if protection & libc::PROT_WRITE != 0 { WRITABLE } else { 0 };
        Mapping { start, end, offset, traits, owner: process::pid(), leaving: [0, 0] }
    }

    /// Whether it is this that is known to be mapped.
    fn is(&self, mapping: &Mapping) -> bool {
        mapping.is(LOADED)
            && (self.start, self.end, self.offset) == (mapping.start, mapping.end, mapping.offset)
    }
}

/// True where it has been told, in this process or to a parent.
fn is_known(object: &ObjectInfo) -> bool {
    Part::of(object).any(|part| table::in_range(part.start, part.end).any(|mapping| part.is(&mapping)))
}

/// What was done with a file, in the order in which it was done: its head was read, it was mapped, which `map` tells, and it was closed.
fn tell(told: &mut Told<'_>, path: &[u8], head: i64, room: &mut [u8], map: impl FnOnce(&mut Told<'_>)) {
    let status = Text::of(room).push(path).as_string(path.len(), file_status::named);
    let Some(status) = status else { return told.miss(room) };
    let [mode, size, inode] = status::numbers(&status);
    let folder = i64::from(libc::AT_FDCWD);
    told.record(Call::Openat, Ok(DESCRIPTOR), &[folder, OPENED, 0, mode, size, inode], &[path]);
    told.record(Call::Read, Ok(head.min(size)), &[DESCRIPTOR, head], &[]);
    if head == HEAD_OF_LIBRARY {
        told.record(Call::Fstat, Ok(0), &[DESCRIPTOR, mode, size], &[]);
    }
    map(told);
    told.record(Call::Close, Ok(0), &[DESCRIPTOR], &[]);
}

fn record_map(told: &mut Told<'_>, &Part { start, end, offset, protection }: &Part) {
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
    let numbers = [DESCRIPTOR, (end - start) as i64, protection.into(), flags.into(), offset as i64];
    told.record(Call::Mmap, Ok(start as i64), &numbers, &[]);
}

/// A part of an object has been unmapped.
fn tell_gone(span: &mut Span, mapping: &Mapping) {
    if table::take_out(mapping) && mapping.owner == process::pid() {
        let numbers = [mapping.start as i64, mapping.bytes() as i64];
        span.record(Call::Munmap, false, 0, &numbers, &[], &[]);
    }
}

/// True where this process has loaded something that is told of.
fn has_loaded() -> bool {
    table::in_range(0, usize::MAX).any(|mapping| mapping.is(LOADED) && mapping.owner == process::pid())
}

/// The process may be about to unload the library with this handle, which glibc's loader has an entry for, that begins with where the
/// library lies. What has been touched of it is told.
pub fn note_unload(handle: usize) {
    tell_late_ones();
    let mut base = [0; size_of::<usize>()];
    if !has_loaded() || !readable::copy_bytes(handle, &mut base) {
        return;
    }
    let (mut is_program, mut memory) = (true, None);
    elf::for_each_loaded(|object| {
        let is_it = object.base == usize::from_ne_bytes(base);
        if is_it && !is_program && is_known(object) {
            let ends = Part::of(object).map(|part| (part.start, part.end));
            memory = ends.reduce(|all, part| (all.0, part.1));
        }
        is_program = false;
        is_it
    });
    let Some((start, end)) = memory else { return };
    let Some(mut span) = span::enter(Call::Munmap, 0) else { return };
    page_scans::tell_while_cheap(&mut span, start, end);
    span.forget();
}

/// Libraries may have been unloaded.
pub fn tell_unloaded() {
    if !has_loaded() {
        return;
    }
    let mut so_far = 0;
    elf::for_each_loaded(|object| {
        so_far = object.unloaded_so_far;
        true
    });
    if UNLOADED_SO_FAR.swap(so_far, Ordering::Relaxed) == so_far {
        return;
    }
    let Some(mut span) = span::enter(Call::Munmap, 0) else { return };
    // What follows is recording.
    span.returned();
    // SAFETY: nothing else uses it here.
    let words = unsafe { span.scratch().words.lend() };
    // SAFETY: the same memory; all zero is a part.
    let room: &mut [Part] = unsafe {
        words.fill(0);
        core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words) / size_of::<Part>())
    };
    let mut count = 0;
    elf::for_each_loaded(|object| {
        for part in Part::of(object) {
            room[count.min(room.len() - 1)] = part;
            count += 1;
        }
        false
    });
    if let Some(loaded) = room.get_mut(..count) {
        loaded.sort_unstable();
        for mapping in table::in_range(0, usize::MAX).filter(|mapping| mapping.is(LOADED)) {
            let at = loaded.partition_point(|part| part.start < mapping.start);
            if !loaded.get(at).is_some_and(|part| part.is(&mapping)) {
                tell_gone(&mut span, &mapping);
            }
        }
    }
    span.forget();
}
