//! The path of the program's file.
//!
//! The kernel tells it by a link in `/proc`, and makes the entries there anew for each process: 18 µs, a tenth of what recording adds
//! to a short one. Where a program was started by its absolute path, as most are, that path leads to the same, links
//! followed. (Of a program that is an argument of the loader the link names the loader, and the path the program.)

use crate::core::{stack_start, sys};
use core::ffi::c_char;

/// The longest path that the kernel tells.
pub const PATH_BYTES: usize = 4096;
/// Longer targets of links are left to the kernel.
const TARGET_BYTES: usize = 256;
/// As many links are followed as the kernel would (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// Finds it out: its length. `arguments` are the program's, where they are known.
pub fn find(arguments: Option<impl Iterator<Item = &'static [u8]>>, room: &mut [u8; PATH_BYTES]) -> usize {
    if let Some(length) = arguments.and_then(|arguments| by_name(arguments, room)) {
        return length;
    }
    // SAFETY: the buffer is as long as said.
    unsafe { sys::readlink(c"/proc/self/exe".as_ptr().cast(), room.as_mut_ptr(), room.len()) }.max(0) as usize
}

/// By the name with which it was started, if it is not another's ([`script`]).
fn by_name(mut arguments: impl Iterator<Item = &'static [u8]>, room: &mut [u8; PATH_BYTES]) -> Option<usize> {
    let own_name = arguments.next();
    let name =
        started_by().filter(|name| own_name.is_some() && arguments.all(|argument| argument != *name))?;
    room.get_mut(..name.len())?.copy_from_slice(name);
    resolve(room, name.len())
}

/// The name with which it was started, if that is a script's, or that of a file in a foreign format: then the interpreter that the
/// kernel has started instead has it among its arguments (execve(2)).
#[unsafe(link_section = ".text.startup")]
pub fn script(arguments: Option<impl Iterator<Item = &'static [u8]>>) -> Option<&'static [u8]> {
    let name = started_by()?;
    arguments?.skip(1).any(|argument| argument == name).then_some(name)
}

/// What execve(2) was called with.
#[unsafe(link_section = ".text.startup")]
fn started_by() -> Option<&'static [u8]> {
    let name = stack_start::told(libc::AT_EXECFN) as *const c_char;
    // SAFETY: the kernel passes it to every program, as a string that stays.
    (!name.is_null()).then(|| unsafe { stack_start::string_at(name) }.to_bytes())
}

/// Follows the links in the absolute path of so many bytes: the length of what comes out. `None`: the kernel is to be asked.
fn resolve(room: &mut [u8; PATH_BYTES], mut length: usize) -> Option<usize> {
    let mut target = [0; TARGET_BYTES];
    // What lies before this is no link.
    let (mut known, mut links) = (0, 0);
    loop {
        let path = &room[..length];
        // What `/proc` has is another process's, or not what it is called.
        if known == 0 && (!path.starts_with(b"/") || path.starts_with(b"/proc/")) {
            return None;
        }
        if known == length {
            return Some(length);
        }
        let end = path[known + 1..].iter().position(|&byte| byte == b'/').map_or(length, |at| known + 1 + at);
        if matches!(&path[known + 1..end], b"" | b"." | b"..") || length + 1 > room.len() {
            return None;
        }
        let behind = core::mem::replace(&mut room[end], 0);
        // SAFETY: the path ends with the zero byte just put in; the buffer is as long as said.
        let read = unsafe { sys::readlink(room.as_ptr(), target.as_mut_ptr(), target.len()) };
        room[end] = behind;
        if read == -(libc::EINVAL as isize) {
            known = end;
            continue;
        }
        let target =
            target.get(..usize::try_from(read).ok()?).filter(|target| target.len() < TARGET_BYTES)?;
        links += 1;
        // The target stands in the place of the link, or of the whole path before what follows.
        let from = if target.starts_with(b"/") { 0 } else { known + 1 };
        let longer = from + target.len() + (length - end);
        if links > MOST_LINKS || longer >= room.len() {
            return None;
        }
        room.copy_within(end..length, from + target.len());
        room[from..][..target.len()].copy_from_slice(target);
        length = longer;
        known = if from == 0 { 0 } else { known };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    fn resolved(path: &std::path::Path) -> Option<Vec<u8>> {
        let mut room = [0xff; PATH_BYTES];
        let path = path.as_os_str().as_bytes();
        room[..path.len()].copy_from_slice(path);
        resolve(&mut room, path.len()).map(|length| room[..length].to_vec())
    }

    #[test]
    fn links_are_followed_as_the_kernel_does() {
        let folder = std::env::temp_dir().join(format!("syn-program-path-{}", std::process::id()));
        let real = folder.join("real/inner");
        std::fs::create_dir_all(&real).unwrap();
        std::fs::write(real.join("program"), "").unwrap();
        symlink("real", folder.join("relative")).unwrap();
        symlink(real.join("program"), folder.join("absolute")).unwrap();
        symlink("relative/inner", folder.join("two")).unwrap();
        symlink("loop", folder.join("loop")).unwrap();
        symlink("real/../real", folder.join("dots")).unwrap();
        symlink("/proc/self", folder.join("proc")).unwrap();
        for name in ["real/inner/program", "relative/inner/program", "absolute", "two/program"] {
            let expected = std::fs::canonicalize(folder.join(name)).unwrap();
            assert_eq!(
                resolved(&folder.join(name)).as_deref(),
                Some(expected.as_os_str().as_bytes()),
                "{name}"
            );
        }
        for name in
            ["loop", "dots/inner/program", "proc/exe", "missing", "real//inner", "real/./inner", "real/"]
        {
            assert_eq!(resolved(&folder.join(name)), None, "{name}");
        }
        assert_eq!(resolved("relative".as_ref()), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
