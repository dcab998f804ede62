//! Calls about permissions, owners, times, extended attributes and file systems.
//!
//! Where the plan has no symbolic link, a call is about one name in an open folder and follows nothing. Elsewhere
//! the path is opened beneath the root first, as no more than a place (`O_PATH`), so that no link leads out of it
//! between the look-up and the call. Calls that do not take a descriptor get its name in `/proc/thread-self/fd`: a thread
//! that stands for a process has descriptors of its own.

use super::Target;
use super::flags::permissions;
use super::outcome::status;
use rustix::fs::{self, AtFlags, Mode, Timespec, Timestamps, XattrFlags};
use rustix::io::{Errno, Result};
use rustix::process::{getgid, getuid};
use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use syn_plan::{FileId, Io, NameId};

/// The largest value of an extended attribute (`XATTR_SIZE_MAX`), and the longest list of names.
const MOST: u64 = 64 << 10;
/// `UTIME_NOW`: the times of the recording are not on record.
const NOW: Timestamps = Timestamps {
    last_access: Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW as _ },
    last_modification: Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW as _ },
};

/// A value of so many bytes, as far as attributes reach.
pub fn attribute_value(bytes: u64) -> Vec<u8> {
    vec![b's'; bytes.min(MOST + 1) as usize]
}

/// access(2) of a name in a folder.
pub(super) fn access(
    folder: std::os::fd::BorrowedFd<'_>,
    name: &CStr,
    mode: i32,
    flags: AtFlags,
) -> Result<()> {
    let (descriptor, name, flags) = (folder.as_raw_fd(), name.as_ptr(), flags.bits());
    // SAFETY: the name is a C string that outlives the call.
    status(unsafe { libc::syscall(libc::SYS_faccessat2, descriptor, name, mode, flags) })
}

/// Calls on an open file; `None` for others.
pub(super) fn on_handle(target: &Target<'_>, call: &Io) -> Option<Result<()>> {
    let handle = call.operands().1[0]?;
    let file = match target.handles.get(handle) {
        Ok(file) => file,
        Err(error) => return Some(Err(error)),
    };
    Some(match *call {
        Io::Fchmod { mode, .. } => fs::fchmod(file, permissions(mode)),
        Io::Fchown { .. } => fs::fchown(file, Some(getuid()), Some(getgid())),
        Io::Futimens { .. } => fs::futimens(file, &NOW),
        Io::FgetXattr { name, bytes, .. } => {
            fs::fgetxattr(file, attribute(target, name), &mut room(bytes)).map(drop)
        }
        Io::FsetXattr { name, bytes, flags, .. } => {
            fs::fsetxattr(file, attribute(target, name), &attribute_value(bytes), xattr_flags(flags))
        }
        Io::FlistXattr { bytes, .. } => fs::flistxattr(file, &mut room(bytes)).map(drop),
        Io::FremoveXattr { name, .. } => fs::fremovexattr(file, attribute(target, name)),
        Io::Fstatfs { .. } => fs::fstatfs(file).map(drop),
        _ => return None,
    })
}

/// Calls on a path.
pub(super) fn on_path(target: &Target<'_>, call: &Io) -> Result<()> {
    match *call {
        Io::Chmod { file, mode, follow } => chmod(target, file, permissions(mode), follow),
        Io::Chown { file, follow } => {
            let (user, group) = (Some(getuid()), Some(getgid()));
            match target.entry(file, follow)? {
                Some((parent, last)) => fs::chownat(parent, last, user, group, AtFlags::SYMLINK_NOFOLLOW),
                None => fs::chownat(target.place(file, follow)?, c"", user, group, AtFlags::EMPTY_PATH),
            }
        }
        Io::Utimens { file, follow } => match target.entry(file, follow)? {
            Some((parent, last)) => fs::utimensat(parent, last, &NOW, AtFlags::SYMLINK_NOFOLLOW),
            None => {
                let place = target.place(file, follow)?;
                fs::utimensat(fs::CWD, name(&place), &NOW, AtFlags::empty())
            }
        },
        Io::GetXattr { file, follow, name, bytes } => {
            let name = attribute(target, name);
            by_name(target, file, follow, |path, follow| match follow {
                true => fs::getxattr(path, name, &mut room(bytes)).map(drop),
                false => fs::lgetxattr(path, name, &mut room(bytes)).map(drop),
            })
        }
        Io::SetXattr { file, follow, name, bytes, flags } => {
            let (name, value, flags) = (attribute(target, name), attribute_value(bytes), xattr_flags(flags));
            by_name(target, file, follow, |path, follow| match follow {
                true => fs::setxattr(path, name, &value, flags),
                false => fs::lsetxattr(path, name, &value, flags),
            })
        }
        Io::ListXattr { file, follow, bytes } => by_name(target, file, follow, |path, follow| match follow {
            true => fs::listxattr(path, &mut room(bytes)).map(drop),
            false => fs::llistxattr(path, &mut room(bytes)).map(drop),
        }),
        Io::RemoveXattr { file, follow, name } => {
            let name = attribute(target, name);
            by_name(target, file, follow, |path, follow| match follow {
                true => fs::removexattr(path, name),
                false => fs::lremovexattr(path, name),
            })
        }
        // The name is looked for, and its folder asked: to open the file for that would take twice as long.
        Io::Statfs { file } => match target.entry(file, true)? {
            Some((parent, last)) => {
                access(parent.as_fd(), last, libc::F_OK, AtFlags::SYMLINK_NOFOLLOW)?;
                fs::fstatfs(parent).map(drop)
            }
            None => fs::fstatfs(target.place(file, true)?).map(drop),
        },
        _ => unreachable!("all other operations are done by the caller"),
    }
}

/// `fchmodat2(2)` does not follow links (Linux 6.6).
fn chmod(target: &Target<'_>, file: FileId, mode: Mode, follow: bool) -> Result<()> {
    static MISSING: AtomicBool = AtomicBool::new(false);
    if !MISSING.load(Ordering::Relaxed)
        && let Some((parent, last)) = target.entry(file, follow)?
    {
        let (folder, name) = (parent.as_fd().as_raw_fd(), last.as_ptr());
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        // SAFETY: the name is a C string that outlives the call.
        match status(unsafe { libc::syscall(libc::SYS_fchmodat2, folder, name, mode.bits(), flags) }) {
            Err(Errno::NOSYS) => MISSING.store(true, Ordering::Relaxed),
            outcome => return outcome,
        }
    }
    fs::chmod(name(&target.place(file, follow)?), mode)
}

/// `call` with a path of the file: with one that it must not follow if the second argument is false.
fn by_name(
    target: &Target<'_>,
    file: FileId,
    follow: bool,
    call: impl Fn(&[u8], bool) -> Result<()>,
) -> Result<()> {
    match target.entry(file, follow)? {
        Some((parent, last)) => {
            let mut path = name(&parent).into_bytes();
            path.push(b'/');
            path.extend(last.to_bytes());
            call(&path, false)
        }
        None => call(name(&target.place(file, follow)?).as_bytes(), true),
    }
}

fn name(place: &impl AsFd) -> String {
    format!("/proc/thread-self/fd/{}", place.as_fd().as_raw_fd())
}

fn attribute<'a>(target: &Target<'a>, name: NameId) -> &'a str {
    &target.names[name as usize]
}

/// Room for what is asked for; none asks for the size.
fn room(bytes: u64) -> Vec<u8> {
    vec![0; bytes.min(MOST) as usize]
}

fn xattr_flags(flags: i32) -> XattrFlags {
    XattrFlags::from_bits_retain(flags as u32)
}
