//! Calls about permissions, owners, times, extended attributes and file systems.
//!
//! A path is opened beneath the root first, as no more than a place (`O_PATH`), so that no symbolic link leads out of it
//! between the look-up and the call. Calls that do not take such a descriptor get its name in `/proc/self/fd`.

use super::Target;
use super::perform::permissions;
use rustix::fs::{self, AtFlags, Mode, OFlags, Timespec, Timestamps, XattrFlags};
use rustix::io::Result;
use rustix::process::{getgid, getuid};
use std::os::fd::{AsRawFd, OwnedFd};
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
        Io::Chmod { file, mode, follow } => {
            let place = place(target, file, follow)?;
            fs::chmod(name(&place), permissions(mode))
        }
        Io::Chown { file, follow } => {
            let place = place(target, file, follow)?;
            fs::chownat(place, c"", Some(getuid()), Some(getgid()), AtFlags::EMPTY_PATH)
        }
        Io::Utimens { file, follow } => {
            let place = place(target, file, follow)?;
            fs::utimensat(fs::CWD, name(&place), &NOW, AtFlags::empty())
        }
        Io::GetXattr { file, follow, name: attribute_name, bytes } => {
            let place = place(target, file, follow)?;
            fs::getxattr(name(&place), attribute(target, attribute_name), &mut room(bytes)).map(drop)
        }
        Io::SetXattr { file, follow, name: attribute_name, bytes, flags } => {
            let place = place(target, file, follow)?;
            let value = attribute_value(bytes);
            fs::setxattr(name(&place), attribute(target, attribute_name), &value, xattr_flags(flags))
        }
        Io::ListXattr { file, follow, bytes } => {
            let place = place(target, file, follow)?;
            fs::listxattr(name(&place), &mut room(bytes)).map(drop)
        }
        Io::RemoveXattr { file, follow, name: attribute_name } => {
            let place = place(target, file, follow)?;
            fs::removexattr(name(&place), attribute(target, attribute_name))
        }
        Io::Statfs { file } => fs::fstatfs(place(target, file, true)?).map(drop),
        _ => unreachable!("all other operations are done by the caller"),
    }
}

fn place(target: &Target<'_>, file: FileId, follow: bool) -> Result<OwnedFd> {
    let flags = if follow { OFlags::PATH } else { OFlags::PATH | OFlags::NOFOLLOW };
    target.root.open(&target.path(file).whole, flags, Mode::empty())
}

fn name(place: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", place.as_raw_fd())
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
