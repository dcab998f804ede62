//! What a descriptor stands for.

use super::sys;
use core::ffi::{CStr, c_int};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};
use libc::statx;
use syn_trace::status;

/// Set where a path must stand beside a descriptor, if only an empty one: before Linux 6.11, and under Valgrind.
static WANTS_PATH: AtomicBool = AtomicBool::new(false);

/// From now on an empty path is passed: Valgrind reports a null one as an error. (An empty one takes the kernel 20 ns longer.)
pub fn give_path() {
    WANTS_PATH.store(true, Ordering::Relaxed);
}

/// Reads what a descriptor's file is, without its times ([`status::MASK`] says why). `None` if nothing is open there.
///
/// An answer is read where it lies: it is 256 bytes long.
#[inline]
pub fn of<T>(fd: c_int, read: impl Fn(&statx) -> T) -> Option<T> {
    opened(fd, 0, read)
}

/// The same behind an open with these flags.
#[inline]
pub fn opened<T>(fd: c_int, flags: c_int, read: impl Fn(&statx) -> T) -> Option<T> {
    let (found, is_all) = as_known(fd, status::MASK, |known| {
        (read(known), !status::may_be_longer(known.stx_mode.into(), known.stx_size as i64, flags))
    })?;
    if is_all { Some(found) } else { asked(fd, status::MASK, 0, read) }
}

/// Reads the answers to `mask`, without asking a server.
#[inline]
pub fn as_known<T>(fd: c_int, mask: u32, read: impl Fn(&statx) -> T) -> Option<T> {
    asked(fd, mask, status::AS_KNOWN, read)
}

/// What the file of this name is, as far as is known here. `None` if it is not there, or the kernel is older than Linux 4.11.
#[unsafe(link_section = ".text.startup")]
pub fn named(path: &CStr) -> Option<statx> {
    let mut answer = MaybeUninit::uninit();
    let (path, how) = (path.as_ptr().cast(), status::AS_KNOWN);
    // SAFETY: the path ends with a zero byte; there is room for the answer, all of which the call has written.
    unsafe {
        let failed = sys::statx(libc::AT_FDCWD, path, how, status::MASK, answer.as_mut_ptr()) < 0;
        (!failed).then(|| answer.assume_init())
    }
}

#[inline]
fn asked<T>(fd: c_int, mask: u32, how: c_int, read: impl Fn(&statx) -> T) -> Option<T> {
    let mut answer = MaybeUninit::uninit();
    let ask = |path: *const u8, answer: *mut statx| {
        // SAFETY: the path is null or ends with a zero byte; there is room for the answer.
        -unsafe { sys::statx(fd, path, libc::AT_EMPTY_PATH | how, mask, answer) } as c_int
    };
    let mut error = libc::EFAULT;
    if !WANTS_PATH.load(Ordering::Relaxed) {
        error = ask(ptr::null(), answer.as_mut_ptr());
        if error == libc::EFAULT {
            WANTS_PATH.store(true, Ordering::Relaxed);
        }
    }
    if error == libc::EFAULT {
        error = ask(c"".as_ptr().cast(), answer.as_mut_ptr());
    }
    match error {
        // SAFETY: the call has written all of it.
        0 => Some(read(unsafe { answer.assume_init_ref() })),
        libc::EBADF => None,
        // Before Linux 4.11, or behind a filter that does not know it.
        _ => older(fd).as_ref().map(read),
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
    fn all_ways_say_what_fstat_says() {
        let file = std::fs::File::open("/dev/null").expect("a device");
        let about = file.metadata().expect("its status");
        let without_path = of(file.as_raw_fd(), |status| *status);
        WANTS_PATH.store(true, Ordering::Relaxed);
        for status in [without_path, of(file.as_raw_fd(), |status| *status), older(file.as_raw_fd())] {
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
        assert!(of(-1, |_| ()).is_none() && older(-1).is_none());
    }
}
