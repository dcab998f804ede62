//! What needs the operating system below Rust's own abstractions: shared memory, forked processes, signals.

#![allow(unsafe_code)]

pub mod child;
pub mod shared;
pub mod signals;

use rustix::mm::{Advice, madvise};

/// Gives back what this process has read of its program and allocated to get here: it is not to count as what is replayed. What is
/// needed again comes back from the page cache.
pub fn give_back_memory() {
    // SAFETY: glibc's own, and it changes nothing that is in use.
    unsafe { libc::malloc_trim(0) };
    // SAFETY: the callback takes what it is called with for no longer than it lasts.
    unsafe { libc::dl_iterate_phdr(Some(give_back_program), std::ptr::null_mut()) };
}

/// Gives back the pages of the program that nobody may write; libraries, which come behind it, are left alone: some change code of
/// others.
unsafe extern "C" fn give_back_program(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    _data: *mut std::ffi::c_void,
) -> i32 {
    let page = rustix::param::page_size();
    // SAFETY: the loader's description of the program, and its list of segments.
    let (start, segments) = unsafe {
        let info = &*info;
        (info.dlpi_addr as usize, std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()))
    };
    let fixed =
        |segment: &&libc::Elf64_Phdr| segment.p_type == libc::PT_LOAD && segment.p_flags & libc::PF_W == 0;
    for segment in segments.iter().filter(fixed) {
        let from = (start + segment.p_vaddr as usize).next_multiple_of(page);
        let to = (start + segment.p_vaddr as usize + segment.p_filesz as usize) & !(page - 1);
        if from < to {
            let from = std::ptr::with_exposed_provenance_mut(from);
            // SAFETY: whole pages of a file that may only be read: they are read again.
            let _ = unsafe { madvise(from, to - from.addr(), Advice::LinuxDontNeed) };
        }
    }
    // That was the program.
    1
}

/// Resident memory of these processes, shared pages counted in each, bytes.
pub fn resident_bytes(pids: impl IntoIterator<Item = i32>) -> u64 {
    let of_one = |pid| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    };
    pids.into_iter().filter_map(of_one).sum::<u64>() * rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_of_the_program_is_given_back_and_comes_again() {
        let before = resident_bytes([std::process::id() as i32]);
        give_back_memory();
        let after = resident_bytes([std::process::id() as i32]);
        assert!(after + (1 << 19) < before, "{before} bytes, then {after}");
    }
}
