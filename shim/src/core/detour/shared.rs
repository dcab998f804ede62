//! One copy of libc with the detours in it, for all processes of a run whose folder lies in memory.
//!
//! A process that changes libc's text gets pages of its own of it: some thirty, each copied when it is written to, and listed again in
//! each child that it forks. A row of short processes maps the text of such a copy instead, which costs none of that. The copy is a whole file of
//! libc, so that who looks up an address finds the names that belong to it, with the detours' own code behind it, and it is called by all
//! that it depends on: the builds of libc and of this library, which functions have detours, and how far those are.
//!
//! It lies beside the traces, which every process maps as well: whoever cuts files of a running recording ends programs, with the copy or
//! without. On a disk or a network there is none. What others have put into libc's text of the process that maps it, as breakpoints, is
//! lost there; into the copy itself nothing comes that is not in libc's file.

use super::area::Area;
use super::patch::{JUMP_BYTES, PAGE, Patch};
use super::patching::moved;
use crate::core::elf::{self, Segment};
use crate::core::procfs::decimal;
use crate::core::{hash, stack_start, sys};
use core::ffi::c_int;
use syn_trace::shared_libc;

/// The longest path of a copy, with the zero byte at its end.
const PATH_BYTES: usize = 512;
/// One process in so many makes the copy where there is none: a program that starts few others does not pay for it.
const MADE_BY_ONE_IN: u8 = 16;
/// Behind all the one who makes a copy leaves so many bytes for those that map it.
pub const NOTE_BYTES: usize = 32;
/// What lies behind libc: the area as its maker has it, the note, and which file this was when it was made.
const BEHIND: u64 = (PAGE + NOTE_BYTES + FILE_BYTES) as u64;
const FILE_BYTES: usize = 2 * size_of::<u64>();

/// Where there may be a copy.
pub struct SharedText {
    path: [u8; PATH_BYTES],
    /// Without the zero byte; 0 where there can be none.
    length: usize,
    folder_length: usize,
}

/// A copy that there is.
pub struct SharedCopy {
    fd: c_int,
    /// What it has left for those that map it.
    pub note: [u8; NOTE_BYTES],
}

impl SharedText {
    /// For the libc with this text, with these detours by way of this area, in this folder.
    #[unsafe(link_section = ".text.startup")]
    pub fn of(text: &Segment, patches: &[Patch], area: &Area, folder: &[u8]) -> SharedText {
        let mut copy = SharedText { path: [0; PATH_BYTES], length: 0, folder_length: folder.len() };
        let own = elf::segment_of(SharedText::of as *const () as usize).map_or(&[][..], |own| own.build);
        let mut digits = [0; 20];
        let number = decimal(digest(text, own, patches, area), &mut digits);
        for part in [folder, b"/", shared_libc::PREFIX.as_bytes(), number, shared_libc::SUFFIX.as_bytes()] {
            if let Some(room) = copy.path.get_mut(copy.length..copy.length + part.len()) {
                room.copy_from_slice(part);
            }
            copy.length += part.len();
        }
        // Which libc it is only its build tells, and what we do with it only ours.
        let are_known = !text.build.is_empty() && !own.is_empty() && area.bytes == PAGE;
        if !are_known || folder.is_empty() || copy.length >= PATH_BYTES {
            copy.length = 0;
        }
        copy
    }

    /// Opens the copy, and has the area be as its maker had it. `Err`: a negated errno; of one that may be another's, or of another
    /// machine, [`libc::EPERM`].
    #[unsafe(link_section = ".text.startup")]
    pub fn open(&self, text: &Segment, area: &Area) -> Result<SharedCopy, isize> {
        if self.length == 0 {
            return Err(-(libc::ENOTSUP as isize));
        }
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: the path ends with a zero byte, the structures are valid and are filled in, and so are the parts; the area is a page
        // of our own that nobody uses yet.
        unsafe {
            let fd = sys::openat(libc::AT_FDCWD, self.path.as_ptr(), flags, 0);
            if fd < 0 {
                return Err(fd);
            }
            let mut copy = SharedCopy { fd: fd as c_int, note: [0; _] };
            let mut status: libc::stat = core::mem::zeroed();
            let is_ours = sys::fstat(copy.fd, &mut status) == 0
                && status.st_mode & libc::S_IFMT == libc::S_IFREG
                && status.st_uid as usize == stack_start::told(libc::AT_EUID)
                && status.st_mode & 0o022 == 0;
            let mut system: libc::statfs = core::mem::zeroed();
            let is_in_memory =
                is_ours && sys::fstatfs(copy.fd, &mut system) == 0 && system.f_type == libc::TMPFS_MAGIC;
            let behind = (status.st_size as u64).saturating_sub(BEHIND);
            let mut file = [0u8; FILE_BYTES];
            let get = |to: *mut u8, bytes: usize, offset: usize| {
                sys::pread(copy.fd, to, bytes, behind + offset as u64) == bytes as isize
            };
            let is_whole = is_in_memory
                && behind >= text.offset + text.bytes as u64
                && get(area.start as *mut u8, PAGE, 0)
                && get(copy.note.as_mut_ptr(), NOTE_BYTES, PAGE)
                && get(file.as_mut_ptr(), FILE_BYTES, PAGE + NOTE_BYTES);
            if is_whole && file == which(&status) { Ok(copy) } else { Err(-(libc::EPERM as isize)) }
        }
    }

    /// Makes the copy, which is not there, where this process is one of those that do. `patches` are in place.
    #[cold]
    #[inline(never)]
    pub fn make(
        &self,
        text: &Segment,
        patches: &[Patch],
        area: &Area,
        pid: u32,
        note: impl FnOnce() -> [u8; NOTE_BYTES],
    ) {
        if !is_maker() || !self.is_in_memory() {
            return;
        }
        // SAFETY: the paths end with zero bytes; the descriptors are ours, and so are mappings of them; the text is mapped as said.
        unsafe {
            let libc =
                sys::openat(libc::AT_FDCWD, text.path.cast(), libc::O_RDONLY | libc::O_CLOEXEC, 0) as c_int;
            if libc < 0 {
                return;
            }
            let mut status: libc::stat = core::mem::zeroed();
            let is_found = sys::fstat(libc, &mut status) == 0
                && status.st_size as u64 >= text.offset + text.bytes as u64;
            let bytes = status.st_size as usize;
            let whole =
                if is_found { sys::mmap(0, bytes, libc::PROT_READ, libc::MAP_PRIVATE, libc, 0) } else { -1 };
            sys::close(libc);
            if whole > 0 {
                let file = core::slice::from_raw_parts(whole as *const u8, bytes);
                // The file may be another one by now.
                if is_as_in(file, text, patches) {
                    self.write(file, text, patches, area, pid, &note());
                }
                sys::munmap(whole as usize, bytes);
            }
        }
    }

    /// Whether its folder is, where code may be run from.
    fn is_in_memory(&self) -> bool {
        let mut folder = self.path;
        folder[self.folder_length] = 0;
        // SAFETY: the path ends with the zero byte just put in, a zeroed status is valid and is filled in.
        unsafe {
            // `struct statfs` of the kernel as words: `f_type` is the first, `f_flags`, which the crate `libc` hides, the 11th.
            let mut status = [0u64; size_of::<libc::statfs>() / size_of::<u64>()];
            let is_known = self.length > 0 && sys::statfs(folder.as_ptr(), status.as_mut_ptr().cast()) == 0;
            is_known && status[0] == libc::TMPFS_MAGIC as u64 && status[10] & libc::ST_NOEXEC == 0
        }
    }

    /// Has it appear with its content.
    fn write(
        &self,
        whole: &[u8],
        text: &Segment,
        patches: &[Patch],
        area: &Area,
        pid: u32,
        note: &[u8; NOTE_BYTES],
    ) {
        let mut draft = [0; PATH_BYTES];
        let mut digits = [0; 20];
        let mut length = self.folder_length;
        draft[..length].copy_from_slice(&self.path[..length]);
        for part in [&b"/"[..], shared_libc::DRAFT_PREFIX.as_bytes(), decimal(pid.into(), &mut digits)] {
            let Some(room) = draft.get_mut(length..length + part.len()) else { return };
            room.copy_from_slice(part);
            length += part.len();
        }
        if length == PATH_BYTES {
            return;
        }
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        // SAFETY: the paths end with zero bytes, the descriptor is ours, the area is mapped readable.
        unsafe {
            let fd = sys::openat(libc::AT_FDCWD, draft.as_ptr(), flags, 0o500) as c_int;
            if fd < 0 {
                return;
            }
            let put = |from: *const u8, bytes: usize, offset: u64| {
                sys::pwrite(fd, from, bytes, offset) == bytes as isize
            };
            let place = |patch: &Patch| text.offset + (patch.address - text.start) as u64;
            let mut status: libc::stat = core::mem::zeroed();
            let behind = whole.len() as u64;
            let is_whole = sys::file_limit() >= behind + BEHIND
                && sys::fstat(fd, &mut status) == 0
                && put(whole.as_ptr(), whole.len(), 0)
                && moved(patches).all(|patch| put(patch.jump.as_ptr(), JUMP_BYTES, place(patch)))
                && put(area.start as *const u8, PAGE, behind)
                && put(note.as_ptr(), NOTE_BYTES, behind + PAGE as u64)
                && put(which(&status).as_ptr(), FILE_BYTES, behind + (PAGE + NOTE_BYTES) as u64);
            sys::close(fd);
            if is_whole {
                // The first one stays.
                sys::link(draft.as_ptr(), self.path.as_ptr());
            }
            sys::unlink(draft.as_ptr());
        }
    }
}

impl SharedCopy {
    /// Maps it in place of this part of libc's text. False where that is not allowed.
    #[unsafe(link_section = ".text.startup")]
    pub fn map(&self, text: &Segment) -> bool {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE | libc::MAP_FIXED);
        // SAFETY: it has what is in memory, but for the detours.
        let mapped = unsafe { sys::mmap(text.start, text.bytes, protection, flags, self.fd, text.offset) };
        mapped as usize == text.start
    }
}

impl Drop for SharedCopy {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours.
        unsafe { sys::close(self.fd) };
    }
}

/// True in one process of so many: by chance, since numbers of processes may have a pattern.
fn is_maker() -> bool {
    let random = stack_start::told(libc::AT_RANDOM) as *const u8;
    // SAFETY: null, or 16 bytes that the kernel has put on the stack.
    unsafe { random.as_ref() }.is_some_and(|byte| byte.is_multiple_of(MADE_BY_ONE_IN))
}

/// Which file it is: a copy of it, on another machine, is not.
fn which(status: &libc::stat) -> [u8; FILE_BYTES] {
    let mut bytes = [0; FILE_BYTES];
    bytes[..8].copy_from_slice(&status.st_dev.to_ne_bytes());
    bytes[8..].copy_from_slice(&status.st_ino.to_ne_bytes());
    bytes
}

/// Whether the text in memory is that of libc's file but for the detours: others may have put breakpoints into it.
fn is_as_in(file: &[u8], text: &Segment, patches: &[Patch]) -> bool {
    let offset = text.offset as usize;
    let Some(there) = file.get(offset..offset + text.bytes) else { return false };
    // SAFETY: it is mapped readable.
    let here = unsafe { core::slice::from_raw_parts(text.start as *const u8, text.bytes) };
    let is_jump = |at: usize| {
        moved(patches).any(|patch| (patch.address..patch.address + JUMP_BYTES).contains(&(text.start + at)))
    };
    let pages = here.chunks(PAGE).zip(there.chunks(PAGE)).enumerate();
    pages.filter(|(_, (here, there))| here != there).all(|(page, (here, there))| {
        let bytes = here.iter().zip(there).zip(page * PAGE..);
        bytes.filter(|((here, there), _)| here != there).all(|(_, at)| is_jump(at))
    })
}

/// All that the copy depends on, and whose it is: both builds, where the entries are, and how far the area is.
#[unsafe(link_section = ".text.startup")]
fn digest(text: &Segment, own: &[u8], patches: &[Patch], area: &Area) -> u64 {
    let mut number = hash::EMPTY;
    let mut mix = |word: usize| number = hash::mix(number, word as u64);
    mix(stack_start::told(libc::AT_EUID));
    text.build.iter().chain(own).for_each(|&byte| mix(byte.into()));
    mix(text.start.wrapping_sub(area.start));
    patches.iter().for_each(|patch| mix(patch.address.wrapping_sub(text.start)));
    number
}
