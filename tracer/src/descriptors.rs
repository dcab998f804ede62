//! What the descriptors of a traced process stand for, by way of /proc and, for sockets, of a descriptor of our own for
//! the same socket.

use crate::ptrace::Tid;
use std::ffi::CString;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use syn_trace::birth;
use syn_trace::status;
use syn_trace::system_calls::Side;

/// `st_mode`, `st_size`, `st_ino` behind an open with these flags; zeros where there is none.
pub fn status(tid: Tid, fd: i32, flags: i32) -> [i64; 3] {
    let ask = |how| asked(tid, fd, status::MASK, how).map_or([0; 3], |status| status::numbers(&status));
    let [mode, size, inode] = ask(status::AS_KNOWN);
    if status::may_be_longer(mode, size, flags) { ask(0) } else { [mode, size, inode] }
}

/// Whether a call with these flags has made the file, which has this mode and size now: the bits of [`syn_trace::birth`].
pub fn birth(tid: Tid, fd: i32, mode: i64, size: i64, flags: i32) -> i64 {
    if !birth::is_open(mode, size, flags) {
        return 0;
    }
    asked(tid, fd, birth::MASK, status::AS_KNOWN).map_or(0, |status| birth::of(&status, flags))
}

/// What statx(2) says of it.
fn asked(tid: Tid, fd: i32, mask: u32, how: i32) -> Option<libc::statx> {
    let path = CString::new(format!("/proc/{tid}/fd/{fd}")).ok()?;
    // SAFETY: zeros are a valid status; the path ends with a zero, and the call fills the status in.
    unsafe {
        let mut status: libc::statx = std::mem::zeroed();
        (libc::statx(libc::AT_FDCWD, path.as_ptr(), how, mask, &mut status) == 0).then_some(status)
    }
}

/// What statfs(2) says of its file system; 0 where there is none.
fn file_system(tid: Tid, fd: i32) -> i64 {
    let Ok(path) = CString::new(format!("/proc/{tid}/fd/{fd}")) else { return 0 };
    // SAFETY: zeros are a valid status; the path ends with a zero, and the call fills the status in.
    unsafe {
        let mut system: libc::statfs = std::mem::zeroed();
        libc::statfs(path.as_ptr(), &mut system);
        system.f_type
    }
}

/// An open descriptor, as an `inherited-fd` record has it.
pub struct Descriptor {
    /// Descriptor, flags, position, `st_mode`, `st_size`, `st_ino`.
    pub numbers: [i64; 6],
    /// Empty where there is none: a pipe or socket is listed as `pipe:[number]`.
    pub path: Vec<u8>,
}

/// Asks about one descriptor.
pub fn descriptor(tid: Tid, fd: i32) -> Descriptor {
    let [mode, size, inode] = status(tid, fd, 0);
    let about = fs::read_to_string(format!("/proc/{tid}/fdinfo/{fd}")).unwrap_or_default();
    let field = |name: &str, radix| {
        let value = about.lines().find_map(|line| line.strip_prefix(name))?;
        i64::from_str_radix(value.trim(), radix).ok()
    };
    let flags = field("flags:", 8).unwrap_or(0) & !i64::from(libc::O_CLOEXEC);
    let is_regular = mode as libc::mode_t & libc::S_IFMT == libc::S_IFREG;
    let position = if is_regular { field("pos:", 10).unwrap_or(0) } else { 0 };
    let link = fs::read_link(format!("/proc/{tid}/fd/{fd}")).unwrap_or_default();
    let path = link.into_os_string().into_vec();
    let could_be_queue = is_regular && path.starts_with(b"/") && !path[1..].contains(&b'/');
    let is_path = path.starts_with(b"/") && !(could_be_queue && file_system(tid, fd) == status::QUEUES);
    let path = if is_path { path } else { Vec::new() };
    Descriptor { numbers: [fd.into(), flags, position, mode, size, inode], path }
}

/// The open descriptors of a process, rising; `None` where /proc does not tell.
pub fn open_descriptors(pid: Tid) -> Option<Vec<i32>> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut found: Vec<i32> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
    found.sort_unstable();
    Some(found)
}

/// A socket of a traced process, also open here for a moment. Closing it again changes nothing for the process.
struct Borrowed(OwnedFd);

impl Borrowed {
    fn of(pid: Tid, fd: i32) -> Option<Borrowed> {
        // SAFETY: no pointers are passed; a descriptor that was made is ours.
        unsafe {
            let process = owned(libc::syscall(libc::SYS_pidfd_open, pid, 0))?;
            owned(libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0)).map(Borrowed)
        }
    }
}

/// # Safety
/// `result` is negative or a descriptor that nobody else owns.
unsafe fn owned(result: libc::c_long) -> Option<OwnedFd> {
    // SAFETY: as the caller vouches.
    (result >= 0).then(|| unsafe { OwnedFd::from_raw_fd(result as i32) })
}

/// The `struct sockaddr` of a socket: how many bytes of `to` it takes, 0 where there is none.
pub fn name_of_socket(pid: Tid, fd: i32, side: Side, to: &mut [u8]) -> usize {
    let Some(Borrowed(socket)) = Borrowed::of(pid, fd) else { return 0 };
    let mut length = to.len() as libc::socklen_t;
    let ask = match side {
        Side::Local => libc::getsockname,
        Side::Peer => libc::getpeername,
    };
    // SAFETY: the buffer is as long as said.
    let done = unsafe { ask(socket.as_raw_fd(), to.as_mut_ptr().cast(), &mut length) };
    if done == 0 { to.len().min(length as usize) } else { 0 }
}

/// The process at the other end of a Unix socket; 0 where nobody tells.
pub fn peer_process(pid: Tid, fd: i32) -> i64 {
    let Some(Borrowed(socket)) = Borrowed::of(pid, fd) else { return 0 };
    let mut peer = MaybeUninit::<libc::ucred>::zeroed();
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: both pointers are valid for writing, the length is that of the structure; all zero bytes are a valid one.
    unsafe {
        let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        libc::getsockopt(socket.as_raw_fd(), level, option, peer.as_mut_ptr().cast(), &mut length);
        peer.assume_init().pid.into()
    }
}
