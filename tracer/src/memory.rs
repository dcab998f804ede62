//! The memory of a traced process.

use crate::ptrace::Tid;

const PAGE: u64 = 4096;

/// Fills `to` from the memory of a thread; false where it cannot be read as a whole.
pub fn read(tid: Tid, address: u64, to: &mut [u8]) -> bool {
    read_some(tid, address, to) == to.len()
}

fn read_some(tid: Tid, address: u64, to: &mut [u8]) -> usize {
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: to.len() };
    // SAFETY: the local vector is the slice; the remote one lies in the other process.
    let read = unsafe { libc::process_vm_readv(tid, &local, 1, &remote, 1, 0) };
    read.max(0) as usize
}

/// The C string at `address`, as far as it fits; empty where it cannot be read.
pub fn text(tid: Tid, address: u64, to: &mut [u8]) -> &[u8] {
    let mut filled = 0;
    while filled < to.len() {
        let at = address.wrapping_add(filled as u64);
        // The next page may not be there, and need not: the text ends before it.
        let in_page = ((PAGE - at % PAGE) as usize).min(to.len() - filled);
        let room = &mut to[filled..filled + in_page];
        if address == 0 || read_some(tid, at, room) != in_page {
            return &[];
        }
        if let Some(end) = room.iter().position(|&byte| byte == 0) {
            return &to[..filled + end];
        }
        filled += in_page;
    }
    to
}
