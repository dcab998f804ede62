//! The descriptors that a process has when it begins.

use crate::core::file_status;
use crate::core::procfs::{decimal, directory_entries, parse_number};
use crate::core::sys;
use crate::recording::span::note;
use crate::recording::thread::private_table;
use crate::recording::thread::state::State;
use core::mem::MaybeUninit;
use syn_trace::calls::Call;
use syn_trace::status;

/// The longest path that the kernel tells.
const PATH_BYTES: usize = 4096;
/// What fstatfs(2) says of pipes that have no name, and of sockets.
const PIPEFS_MAGIC: i64 = 0x5049_5045;
const SOCKFS_MAGIC: i64 = 0x534f_434b;
/// The most open descriptors that are noted when a process starts.
const MAX_INHERITED: u32 = 4096;
/// Room for a path that need not be asked for.
const KNOWN_BYTES: usize = 32;
/// Device numbers of the null device, and the major one of pseudoterminals' slaves (Linux's list of devices).
const NULL: (u32, u32) = (1, 3);
const SLAVE_MAJOR: u32 = 136;
/// The kernel's smallest table of descriptors has room for so many (`NR_OPEN_DEFAULT`), and the next larger one: where a shell has
/// put its script out of the way (bash: to 255).
const SMALL_TABLES: [usize; 2] = [64, 256];

/// One record for every descriptor that is open. Most processes have a few, the lowest: these are tried before the kernel is asked
/// how many there are, and before it is asked to list them, which takes it several times as long.
#[unsafe(link_section = ".text.startup")]
pub fn write(state: &State) {
    const LOWEST: i32 = 16;
    let scratch = state.scratch();
    // SAFETY: signals are blocked while a thread begins, and nothing else is under way; numbers are bytes.
    let (path, entries) =
        unsafe { (&mut scratch.texts.lend()[..PATH_BYTES], scratch.words.lend().align_to_mut().1) };
    let mut room = [const { MaybeUninit::uninit() }; SMALL_TABLES[1]];
    if let Some(open) = of_small_table(&mut room) {
        for fd in open {
            inherited_descriptor(state, fd, path);
        }
        return;
    }
    let (all, mut noted, mut tried) = (count_descriptors(), 0, 0);
    while noted < all && tried < LOWEST {
        noted += u32::from(inherited_descriptor(state, tried, path));
        tried += 1;
    }
    // None were counted: Linux before 6.2.
    let mut position = (all == 0 || noted < all).then_some(0);
    while let Some(from) = position {
        let Ok((filled, behind)) = private_table::run(|| list_descriptors(entries, from)) else {
            return note::write(
                state,
                Call::Unobserved,
                0,
                &[],
                &[b"open descriptors at start: /proc is not readable"],
            );
        };
        if noted > MAX_INHERITED {
            break;
        }
        position = behind;
        let listed = directory_entries(&entries[..filled]).filter_map(parse_number);
        for fd in listed.filter(|&fd| fd >= tried) {
            noted += 1;
            inherited_descriptor(state, fd, path);
        }
    }
    if noted > MAX_INHERITED {
        note::write(
            state,
            Call::Unobserved,
            0,
            &[],
            &[b"open descriptors at start: more than 4096, the rest not listed"],
        );
    }
}

/// The open descriptors of a process whose table has room for few, by one question about all of them.
#[unsafe(link_section = ".text.startup")]
fn of_small_table(
    room: &mut [MaybeUninit<libc::pollfd>; SMALL_TABLES[1]],
) -> Option<impl Iterator<Item = i32>> {
    let size = SMALL_TABLES.into_iter().find(|&size| has_table_of(size))?;
    for (fd, slot) in room[..size].iter_mut().enumerate() {
        slot.write(libc::pollfd { fd: fd as i32, events: 0, revents: 0 });
    }
    // SAFETY: so many have just been written. poll(2) waits for nothing, and refuses more than may be open.
    unsafe {
        let asked = core::slice::from_raw_parts_mut(room.as_mut_ptr().cast::<libc::pollfd>(), size);
        let answer = sys::call(libc::SYS_poll, [asked.as_mut_ptr() as usize, size, 0, 0, 0, 0]);
        (answer >= 0)
            .then(|| asked.iter().filter(|asked| asked.revents & libc::POLLNVAL == 0).map(|asked| asked.fd))
    }
}

/// True when the process's table of descriptors has room for no more than that, as it has unless there were more at the last fork.
/// select(2), "Bugs": a number beyond the table is ignored, where one in it that is not open is an error.
#[unsafe(link_section = ".text.startup")]
fn has_table_of(size: usize) -> bool {
    // SAFETY: takes no pointers.
    let is_open = unsafe { sys::fcntl(size as i32, libc::F_GETFD, 0) >= 0 };
    let mut numbers = [0u64; libc::FD_SETSIZE / u64::BITS as usize];
    numbers[size / u64::BITS as usize] = 1;
    let at_once = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let arguments = [size + 1, numbers.as_mut_ptr() as usize, 0, 0, (&raw const at_once) as usize, 0];
    // SAFETY: the set is longer than said.
    !is_open && unsafe { sys::call(libc::SYS_select, arguments) } == 0
}

/// How many descriptors are open: the size of the folder that lists them, since Linux 6.2; before, 0.
fn count_descriptors() -> u32 {
    // SAFETY: the path ends with a zero byte, a zeroed status is valid and is filled in.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        sys::stat(c"/proc/self/fd".as_ptr().cast(), &mut status);
        status.st_size as u32
    }
}

/// Part of the list, from a position on: bytes of `entries` that were filled in, and where it goes on, if it does.
fn list_descriptors(entries: &mut [u8], position: i64) -> Result<(usize, Option<i64>), isize> {
    /// The kernel fills in as many entries as fit; one has a name of ten digits at most.
    const ENTRY_BYTES: usize = 64;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero byte, the buffer is as long as said, the descriptor is ours.
    unsafe {
        let folder = sys::openat(libc::AT_FDCWD, c"/proc/self/fd".as_ptr().cast(), flags, 0);
        if folder < 0 {
            return Err(folder);
        }
        let folder = folder as i32;
        if position != 0 {
            sys::lseek(folder, position, libc::SEEK_SET);
        }
        let mut filled = 0;
        let behind = loop {
            let rest = &mut entries[filled..];
            if rest.len() < ENTRY_BYTES {
                break Some(sys::lseek(folder, 0, libc::SEEK_CUR) as i64);
            }
            match sys::getdents64(folder, rest.as_mut_ptr(), rest.len()) {
                bytes @ 1.. => filled += bytes as usize,
                _ => break None,
            }
        };
        sys::close(folder);
        Ok((filled, behind))
    }
}

/// Notes what a descriptor is that came from somewhere else, if it is open: true; `buffer` is room for its path.
#[unsafe(link_section = ".text.startup")]
pub fn inherited_descriptor(state: &State, fd: i32, buffer: &mut [u8]) -> bool {
    let mut link = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0";
    let mut digits = [0; 20];
    let number = decimal(fd as u64, &mut digits);
    link[14..14 + number.len()].copy_from_slice(number);
    let Some(status) = file_status::of(fd, |status| *status) else { return false };
    let [mode, size, inode] = status::numbers(&status);
    let mut short = [0; KNOWN_BYTES];
    let known = known_path(fd, &status, &mut short);
    // SAFETY: the buffer is as long as said.
    let (length, flags, offset) = unsafe {
        let length = match known {
            Some(known) => known as isize,
            None => sys::readlink(link.as_ptr(), buffer.as_mut_ptr(), buffer.len().min(PATH_BYTES)),
        };
        let regular = mode as u32 & libc::S_IFMT == libc::S_IFREG;
        let offset = if regular { sys::lseek(fd, 0, libc::SEEK_CUR).max(0) } else { 0 };
        (length, sys::fcntl(fd, libc::F_GETFL, 0).max(0), offset)
    };
    // What is of no file system is listed by its kind, "anon_inode:[eventfd]": not a path.
    let path = &(if known.is_some() { &short[..] } else { buffer })[..length.max(0) as usize];
    let path = if path.starts_with(b"/") && !is_queue(fd, mode, path) { path } else { b"" };
    let numbers = [fd as i64, flags as i64, offset as i64, mode, size, inode];
    note::write(state, Call::InheritedFd, 0, &numbers, &[path]);
    true
}

/// The length of the path where that need not be asked for, which takes several times as long as all else: the usual one of the
/// null device and of pseudoterminals' slaves, and of sockets and pipes that are of no file system none.
fn known_path(fd: i32, status: &libc::statx, buffer: &mut [u8; KNOWN_BYTES]) -> Option<usize> {
    const SLAVES: &[u8] = b"/dev/pts/";
    let mut put = |parts: [&[u8]; 2]| {
        let (one, next) = (parts[0].len(), parts[1].len());
        buffer[..one].copy_from_slice(parts[0]);
        buffer[one..one + next].copy_from_slice(parts[1]);
        Some(one + next)
    };
    let device = (status.stx_rdev_major, status.stx_rdev_minor);
    match u32::from(status.stx_mode) & libc::S_IFMT {
        libc::S_IFCHR if device == NULL => put([b"/dev/null", b""]),
        libc::S_IFCHR if device.0 == SLAVE_MAJOR => put([SLAVES, decimal(device.1.into(), &mut [0; 20])]),
        libc::S_IFSOCK | libc::S_IFIFO => {
            let kind = file_system(fd);
            (kind == PIPEFS_MAGIC || kind == SOCKFS_MAGIC).then_some(0)
        }
        _ => None,
    }
}

/// Whether it is a message queue of POSIX, whose name looks like the path of a file in the root.
fn is_queue(fd: i32, mode: i64, path: &[u8]) -> bool {
    let could_be = mode as u32 & libc::S_IFMT == libc::S_IFREG && !path[1..].contains(&b'/');
    could_be && file_system(fd) == status::QUEUES
}

/// What fstatfs(2) says of a descriptor's file system.
fn file_system(fd: i32) -> i64 {
    // SAFETY: a zeroed status is valid, and the call fills it in.
    unsafe {
        let mut system: libc::statfs = core::mem::zeroed();
        sys::fstatfs(fd, &mut system);
        system.f_type
    }
}
