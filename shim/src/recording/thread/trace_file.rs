//! The files of the run folder: made, opened, reserved and mapped, each for an instant with a descriptor.

use super::state::PAGE;
use crate::core::procfs::decimal;
use crate::core::sys;
use crate::recording::process;
use core::ffi::c_int;

/// Bytes of a new trace file: the header and the first records. Most processes need no more.
pub const FIRST_BYTES: usize = 16 << 10;

/// The longest file name of a trace, its final zero included.
pub const NAME_BYTES: usize = 64;

/// Opens the file `name` of the run folder, within [`private_table::run`]; `room` is for its path.
pub fn open(room: &mut [u8], name: &[u8], flags: c_int) -> Result<c_int, isize> {
    let flags = flags | libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let opened = process::with_path(room, name, |path| {
        // SAFETY: the path ends with a zero byte.
        Some(unsafe { sys::openat(libc::AT_FDCWD, path, flags, 0o666) })
    });
    match opened {
        Some(fd) if fd >= 0 => Ok(fd as c_int),
        Some(error) => Err(error),
        None => Err(-(libc::ENAMETOOLONG as isize)),
    }
}

/// Reserves the blocks (a file that merely is long enough raises SIGBUS when the disk turns out to be full), maps
/// them and closes the descriptor.
pub fn allocate_and_map(fd: c_int, offset: u64, length: usize) -> Result<*mut u8, isize> {
    // SAFETY: the descriptor is ours; a new shared mapping disturbs nothing.
    unsafe {
        let mut reserved = sys::fallocate(fd, 0, offset, length as u64);
        if reserved == -(libc::EOPNOTSUPP as isize) || reserved == -(libc::ENOSYS as isize) {
            reserved = write_zeros(fd, offset, length);
        }
        let mut address = reserved;
        if reserved == 0 {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            address = sys::mmap(0, length, protection, libc::MAP_SHARED, fd, offset);
        }
        sys::close(fd);
        if address > 0 { Ok(address as *mut u8) } else { Err(address) }
    }
}

/// For file systems without fallocate(2): bytes behind what is already there are written.
unsafe fn write_zeros(fd: c_int, offset: u64, length: usize) -> isize {
    static ZEROS: [u8; PAGE] = [0; PAGE];
    // SAFETY: the descriptor is ours and ZEROS is a page long.
    unsafe {
        let have = sys::lseek(fd, 0, libc::SEEK_END).max(0) as u64;
        let mut at = have.max(offset);
        while at < offset + length as u64 {
            let wrote = sys::pwrite(fd, ZEROS.as_ptr(), PAGE.min((offset + length as u64 - at) as usize), at);
            if wrote <= 0 {
                return wrote.min(-1);
            }
            at += wrote as u64;
        }
    }
    0
}

/// `<pid>-<tid>-<start, hexadecimal>.trace` and a final zero.
pub fn write_name(name: &mut [u8; NAME_BYTES], pid: u32, tid: u32, start: u64) {
    *name = [0; NAME_BYTES];
    let mut at = 0;
    let mut put = |text: &[u8]| {
        name[at..at + text.len()].copy_from_slice(text);
        at += text.len();
    };
    let mut digits = [0; 20];
    put(decimal(pid.into(), &mut digits));
    put(b"-");
    put(decimal(tid.into(), &mut digits));
    put(b"-");
    let mut hexadecimal = [0; 16];
    for (index, digit) in hexadecimal.iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(start >> (60 - 4 * index)) as usize & 15];
    }
    put(&hexadecimal);
    put(b".trace");
}
