//! What needs the operating system below Rust's own abstractions: shared memory, forked processes, signals.

#![allow(unsafe_code)]

pub mod birthplace;
pub mod child;
pub mod code;
pub mod own_files;
pub mod passing;
pub mod shared;
pub mod signals;

use crate::measure::Preparation;
use rustix::mm::{Advice, madvise};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// Lets this process have as many open files as it may. Where that is refused, the replay has as many as it had, and says so when they
/// are used up.
pub fn raise_limit_of_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Gives back what this process has read of its program and libraries and allocated to get here: it is not to count as what is replayed.
/// What is needed again comes back from the page cache. (Code that others have changed, as recorders do, is left alone.)
pub fn give_back_memory() {
    /// Looked for once: children are of the same program, and what looking reads counts as read by the replay.
    static PROGRAM: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    // SAFETY: glibc's own, and it changes nothing that is in use.
    unsafe { libc::malloc_trim(0) };
    for pages in PROGRAM.get_or_init(fixed_pages) {
        let from = std::ptr::with_exposed_provenance_mut(pages.start);
        // SAFETY: whole pages of a file, which nobody here may write and nobody has changed: they are read again.
        let _ = unsafe { madvise(from, pages.len(), Advice::LinuxDontNeed) };
    }
}

/// How many processors this machine has, whichever of them this process may use.
#[cfg(feature = "mpi")]
pub fn processors_online() -> usize {
    // SAFETY: it only asks.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1)
}

/// The pages of the program and its libraries that nobody may write or has changed.
fn fixed_pages() -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    // SAFETY: the callback takes both of what it is called with for no longer than it lasts.
    unsafe { libc::dl_iterate_phdr(Some(find_pages), (&raw mut found).cast()) };
    found
}

/// Of the program, or of one library.
unsafe extern "C" fn find_pages(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    found: *mut std::ffi::c_void,
) -> i32 {
    // SAFETY: the list that `fixed_pages` has given.
    let found = unsafe { &mut *found.cast::<Vec<Range<usize>>>() };
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
        if from < to && is_as_in_file(from, to) {
            found.push(from..to);
        }
    }
    0
}

/// Whether none of these pages is one of this process alone: code that was changed, or that a debugger stops in.
fn is_as_in_file(from: usize, to: usize) -> bool {
    /// A page of a file; one that is in the swap area; one that is there (linux/Documentation/admin-guide/mm/pagemap.rst).
    const OF_FILE: u64 = 1 << 61;
    const SWAPPED: u64 = 1 << 62;
    const PRESENT: u64 = 1 << 63;
    let page = rustix::param::page_size();
    let mut words = vec![0; (to - from) / page * 8];
    let read = std::fs::File::open("/proc/self/pagemap")
        .and_then(|map| map.read_exact_at(&mut words, (from / page * 8) as u64));
    let own = |word: &[u8]| {
        let word = u64::from_ne_bytes(word.try_into().unwrap_or_default());
        word & (SWAPPED | PRESENT) != 0 && word & OF_FILE == 0
    };
    read.is_ok() && !words.chunks_exact(8).any(own)
}

/// Resident memory of these processes, shared pages counted in each, bytes.
pub fn resident_bytes(pids: impl IntoIterator<Item = i32>) -> u64 {
    let of_one = |pid| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    };
    pids.into_iter().filter_map(of_one).sum::<u64>() * rustix::param::page_size() as u64
}

/// What these processes have used so far. Of what may not be read there is nothing in it.
pub fn used(pids: impl IntoIterator<Item = i32>) -> Preparation {
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let number = |text: &str, name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    let mut all = Preparation::default();
    for pid in pids {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        all.cpu_ns +=
            tasks.map(|task| number(&read(format!("{}/schedstat", task.path().display())), "")).sum::<u64>();
        let status = read(format!("/proc/{pid}/status"));
        all.peak_bytes = all.peak_bytes.max(number(&status, "VmHWM:") * 1024);
        let io = read(format!("/proc/{pid}/io"));
        for (place, [bytes, calls]) in [["rchar:", "syscr:"], ["wchar:", "syscw:"]].into_iter().enumerate() {
            all.bytes[place] += number(&io, bytes);
            all.calls[place] += number(&io, calls);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a byte of each page of the program.
    unsafe extern "C" fn read_program(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        _data: *mut std::ffi::c_void,
    ) -> i32 {
        // SAFETY: the loader's description of the program; its segments can be read.
        unsafe {
            let info = &*info;
            for segment in std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) {
                let start = info.dlpi_addr as usize + segment.p_vaddr as usize;
                let readable = segment.p_type == libc::PT_LOAD && segment.p_flags & libc::PF_R != 0;
                for at in (0..segment.p_filesz as usize).step_by(4096).filter(|_| readable) {
                    std::ptr::with_exposed_provenance::<u8>(start + at).read_volatile();
                }
            }
        }
        1
    }

    #[test]
    fn what_was_read_of_the_program_is_given_back_and_comes_again() {
        // Other tests take memory of this process meanwhile.
        let given_back = child::holds_alone(|| {
            let bytes = || resident_bytes([std::process::id() as i32]);
            // SAFETY: the callback reads what it is called with while it lasts.
            unsafe { libc::dl_iterate_phdr(Some(read_program), std::ptr::null_mut()) };
            let before = bytes();
            give_back_memory();
            bytes() + (1 << 19) < before
        });
        assert!(given_back);
    }

    #[test]
    fn changed_pages_of_a_file_are_not_as_in_it() {
        use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
        let page = rustix::param::page_size();
        let program = std::fs::File::open("/proc/self/exe").expect("it is there");
        // SAFETY: a fresh mapping, which is used below alone.
        unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let at = mmap(std::ptr::null_mut(), 2 * page, protection, MapFlags::PRIVATE, &program, 0)
                .expect("address space");
            let (start, end) = (at.expose_provenance(), at.expose_provenance() + 2 * page);
            at.cast::<u8>().read_volatile();
            assert!(is_as_in_file(start, end));
            at.cast::<u8>().write_volatile(0);
            assert!(!is_as_in_file(start, end) && is_as_in_file(start + page, end));
            munmap(at, 2 * page).expect("mapped above");
        }
    }
}
