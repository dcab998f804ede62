//! What a descriptor stands for.

use super::sys;
use core::ffi::c_int;
use core::mem::MaybeUninit;
use libc::statx;
use syn_trace::status;

/// A descriptor's file, without its times ([`status::MASK`] says why). `None` if nothing is open there.
#[inline]
pub fn of(fd: c_int) -> Option<statx> {
    opened(fd, 0)
}

/// The same behind an open with these flags.
#[inline]
pub fn opened(fd: c_int, flags: c_int) -> Option<statx> {
    let known = as_known(fd, status::MASK)?;
    match status::may_be_longer(known.stx_mode.into(), known.stx_size as i64, flags) {
        true => asked(fd, status::MASK, 0),
        false => Some(known),
    }
}

/// The answers to `mask`, without asking a server.
#[inline]
pub fn as_known(fd: c_int, mask: u32) -> Option<statx> {
    asked(fd, mask, status::AS_KNOWN)
}

#[inline]
fn asked(fd: c_int, mask: u32, how: c_int) -> Option<statx> {
    let mut status = MaybeUninit::uninit();
    let (empty, flags) = (c"".as_ptr().cast(), libc::AT_EMPTY_PATH | how);
    // SAFETY: the path ends with a zero byte; there is room for the answer.
    let result = unsafe { sys::statx(fd, empty, flags, mask, status.as_mut_ptr()) };
    match -result as c_int {
        // SAFETY: the call has written all of it.
        0 => Some(unsafe { status.assume_init() }),
        libc::EBADF => None,
        // Before Linux 4.11, or behind a filter that does not know it.
        _ => older(fd),
    }
}

#[cold]
fn older(fd: c_int) -> Option<statx> {
    // SAFETY: as above.
    unsafe {
        let mut about: libc::stat = core::mem::zeroed();
        if sys::fstat(fd, &mut about) < 0 {
            return None;
        }
        let mut status: statx = core::mem::zeroed();
        status.stx_mode = about.st_mode as u16;
        (status.stx_size, status.stx_ino) = (about.st_size as u64, about.st_ino);
        (status.stx_dev_major, status.stx_dev_minor) = (libc::major(about.st_dev), libc::minor(about.st_dev));
        (status.stx_rdev_major, status.stx_rdev_minor) =
            (libc::major(about.st_rdev), libc::minor(about.st_rdev));
        Some(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn both_ways_say_what_fstat_says() {
        let file = std::fs::File::open("/dev/null").expect("a device");
        let about = file.metadata().expect("its status");
        for status in [of(file.as_raw_fd()), older(file.as_raw_fd())] {
            let status = status.expect("it is open");
            let [mode, size, inode] = status::numbers(&status);
            assert_eq!([mode & 0xffff_ffff, size, inode], [about.mode().into(), 0, about.ino() as i64]);
            let beside = status::device(mode);
            assert_eq!(libc::makedev(beside >> 20, beside & 0xf_ffff), about.dev());
            let device = libc::makedev(status.stx_dev_major, status.stx_dev_minor);
            assert_eq!((device, status.stx_rdev_major, status.stx_rdev_minor), (about.dev(), 1, 3));
        }
    }

    #[test]
    fn what_is_not_open_has_none() {
        assert!(of(-1).is_none() && older(-1).is_none());
    }
}
