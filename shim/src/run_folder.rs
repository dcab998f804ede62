//! Into which folder a process without a recorded parent records, and the making of it.
//!
//! One process makes the folder and hands it down. Where a launcher that is not recorded starts the ranks of a job, each
//! comes here by itself: they know each other by the job's id ([`job`]), which the file `job` in the folder holds.

use crate::job;
use crate::process::{FOLDER_BYTES, directory_entries};
use crate::sys;
use crate::thread::decimal;
use core::ffi::{CStr, c_int};

/// Looks for a variable of the environment.
pub type Variable = fn(&[u8]) -> Option<&'static [u8]>;

/// The file with the id of the job whose folder it is, and what it is called while it is written, followed by a number.
const CLAIM: &[u8] = b"job";
const CLAIM_DRAFT: &[u8] = b".job-";
/// So long a folder may stay empty after it was made, nanoseconds.
const PATIENCE_NS: u64 = 50_000_000;

/// A path that is being put together.
struct Folder<'a> {
    bytes: &'a mut [u8; FOLDER_BYTES],
    length: usize,
}

impl Folder<'_> {
    /// Appends; leaves room for a file name.
    fn push(&mut self, part: &[u8]) -> Result<(), isize> {
        if self.length + part.len() + 80 > FOLDER_BYTES {
            return Err(-(libc::ENAMETOOLONG as isize));
        }
        self.bytes[self.length..][..part.len()].copy_from_slice(part);
        self.length += part.len();
        Ok(())
    }

    /// Makes the folder: 0, or a negated errno.
    fn make(&mut self) -> isize {
        self.bytes[self.length] = 0;
        // SAFETY: the path ends with a zero byte.
        unsafe { sys::mkdir(self.bytes.as_ptr(), 0o777) }
    }

    /// True when there is something of this name.
    fn is_there(&mut self) -> bool {
        self.bytes[self.length] = 0;
        // SAFETY: the path ends with a zero byte, a zeroed status is valid and is filled in.
        unsafe { sys::stat(self.bytes.as_ptr(), &mut core::mem::zeroed()) == 0 }
    }

    /// Makes the folder and those above it.
    fn make_all(&mut self) -> Result<Made, isize> {
        for index in 1..self.length {
            if self.bytes[index] == b'/' {
                self.bytes[index] = 0;
                // SAFETY: the path ends with the zero byte just put in. Whether it worked shows below.
                unsafe { sys::mkdir(self.bytes.as_ptr(), 0o777) };
                self.bytes[index] = b'/';
            }
        }
        match self.make() {
            0 => Ok(Made::New),
            error if error == -(libc::EEXIST as isize) => Ok(Made::WasThere),
            error => Err(error),
        }
    }

    /// True when nothing is in the folder but what processes that are about to record put there.
    fn is_empty(&mut self) -> bool {
        self.bytes[self.length] = 0;
        let mut entries = [0u8; 1024];
        // SAFETY: the path ends with a zero byte, the buffer is as long as said.
        unsafe {
            let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
            let fd = sys::openat(libc::AT_FDCWD, self.bytes.as_ptr(), flags, 0) as i32;
            if fd < 0 {
                return false;
            }
            let filled = sys::getdents64(fd, entries.as_mut_ptr(), entries.len());
            sys::close(fd);
            let filled = filled.max(0) as usize;
            directory_entries(&entries[..filled])
                .all(|name| name == b"." || name == b".." || name.starts_with(CLAIM_DRAFT))
        }
    }

    /// True when the folder is this job's, whose ranks all come here. The one that makes it writes the job's id into it; to
    /// a folder that was there and is empty, any of them does, but not before who made it had the time.
    fn belongs_to(&mut self, job: &[u8], made: Made) -> bool {
        let mut room = [0; job::MOST_BYTES];
        if let Made::WasThere = made {
            let until_ns = sys::clock_ns(libc::CLOCK_MONOTONIC) + PATIENCE_NS;
            loop {
                // In this order: who has claimed it fills it afterwards.
                let is_empty = self.is_empty();
                if let Some(claim) = self.claim(&mut room) {
                    return claim == job;
                }
                if !is_empty {
                    return false;
                }
                if sys::clock_ns(libc::CLOCK_MONOTONIC) > until_ns {
                    break;
                }
            }
        }
        self.write_claim(job);
        // Where it could not be written, there is a folder at least.
        self.claim(&mut room).is_none_or(|claim| claim == job)
    }

    /// The id of the job whose folder this is, if any has claimed it.
    fn claim<'b>(&mut self, room: &'b mut [u8]) -> Option<&'b [u8]> {
        let path = self.with(CLAIM, b"")?;
        sys::read_file(path, room).ok().filter(|claim| !claim.is_empty())
    }

    /// Renaming makes it appear with its content.
    fn write_claim(&mut self, job: &[u8]) {
        let mut digits = [0; 20];
        // SAFETY: takes no pointers.
        let pid = decimal(unsafe { sys::getpid() } as u64, &mut digits);
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
        let mut draft = [0; FOLDER_BYTES];
        let Some(path) = self.with(CLAIM_DRAFT, pid) else { return };
        draft[..path.count_bytes()].copy_from_slice(path.to_bytes());
        // SAFETY: the paths end with zero bytes, and the descriptor is ours.
        unsafe {
            let fd = sys::openat(libc::AT_FDCWD, draft.as_ptr(), flags, 0o666) as c_int;
            if fd < 0 {
                return;
            }
            sys::write(fd, job.as_ptr(), job.len());
            sys::close(fd);
            if let Some(claim) = self.with(CLAIM, b"") {
                sys::rename(draft.as_ptr(), claim.as_ptr().cast());
            }
        }
    }

    /// The path of a file in the folder; until the next use of the folder's own.
    fn with(&mut self, name: &[u8], number: &[u8]) -> Option<&CStr> {
        let behind = self.bytes.get_mut(self.length..)?;
        let parts = [b"/", name, number, b"\0"];
        let mut at = 0;
        for part in parts {
            behind.get_mut(at..at + part.len())?.copy_from_slice(part);
            at += part.len();
        }
        CStr::from_bytes_until_nul(&self.bytes[..]).ok()
    }
}

#[derive(Clone, Copy)]
enum Made {
    New,
    WasThere,
}

/// Makes the run folder of this process and those that it starts, and leaves its absolute path in `folder`: its length, and
/// the negated errno of what could not be made. `variable` looks into the environment.
pub fn make(variable: Variable, folder: &mut [u8; FOLDER_BYTES]) -> (usize, Result<(), isize>) {
    let mut path = Folder { bytes: folder, length: 0 };
    let made = make_at(variable, &mut path);
    (path.length, made)
}

fn make_at(variable: Variable, path: &mut Folder<'_>) -> Result<(), isize> {
    let mut room = [0; job::MOST_BYTES];
    let job = job::id(variable, &mut room);
    let chosen = variable(b"SYN_RUN").filter(|run| !run.is_empty());
    if !chosen.is_some_and(|run| run.starts_with(b"/")) {
        push_current_folder(path)?;
    }
    match (chosen, job) {
        (Some(run), job) => {
            path.push(run)?;
            let made = path.make_all()?;
            let is_ours = match job {
                Some(job) => path.belongs_to(job, made),
                None => matches!(made, Made::New) || path.is_empty(),
            };
            if is_ours { Ok(()) } else { make_numbered(path, b"-", 2, job) }
        }
        (None, Some(job)) => {
            path.push(b"runs/")?;
            for &byte in job {
                path.push(&[if byte.is_ascii_alphanumeric() { byte } else { b'-' }])?;
            }
            path.make_all().map(|_| ())
        }
        (None, None) => {
            path.push(b"runs")?;
            path.make_all()?;
            make_numbered(path, b"/", 1, None)
        }
    }
}

fn push_current_folder(path: &mut Folder<'_>) -> Result<(), isize> {
    // SAFETY: the buffer is as long as said.
    let length = unsafe { sys::getcwd(path.bytes.as_mut_ptr(), FOLDER_BYTES) };
    if length <= 0 {
        return Err(length);
    }
    path.length = length as usize - 1;
    if path.bytes[..path.length] != *b"/" { path.push(b"/") } else { Ok(()) }
}

/// So many numbers are tried: there may be file systems on which everything exists.
const MOST_NUMBERS: u64 = 1 << 20;

/// Appends a number from `first` on with which the folder is new: the first such, where numbers were given in turn. It is
/// looked for by doubling and halving, for there may be thousands. Making a folder is atomic: two jobs that start at once
/// get two numbers. The ranks of a job without a common parent get one: the latest, if it is theirs.
fn make_numbered(
    path: &mut Folder<'_>,
    separator: &[u8],
    first: u64,
    job: Option<&[u8]>,
) -> Result<(), isize> {
    /// So many jobs may have begun since the first rank of this one.
    const LOOK_BACK: u64 = 8;
    let length = path.length;
    let append = |path: &mut Folder<'_>, number| {
        let mut digits = [0; 20];
        path.length = length;
        path.push(separator)?;
        path.push(decimal(number, &mut digits))
    };
    let is_taken = |path: &mut Folder<'_>, number| append(path, number).map(|()| path.is_there());
    let mut room = 1;
    while room < MOST_NUMBERS && is_taken(path, first + room - 1)? {
        room *= 2;
    }
    // The last number that is known to be taken, if any is, and one that is free, if any is found.
    let (mut taken, mut free) = (first + room / 2 - 1, first + room - 1);
    while free - taken > 1 {
        let middle = taken + (free - taken) / 2;
        if is_taken(path, middle)? { taken = middle } else { free = middle }
    }
    let look_back = if job.is_some() { LOOK_BACK } else { 0 };
    for number in free.saturating_sub(look_back).max(first)..free + MOST_NUMBERS {
        append(path, number)?;
        let made = match path.make() {
            0 => Made::New,
            error if error == -(libc::EEXIST as isize) => Made::WasThere,
            error => return Err(error),
        };
        let is_ours = match job {
            Some(job) => path.belongs_to(job, made),
            None => matches!(made, Made::New),
        };
        if is_ours {
            return Ok(());
        }
    }
    Err(-(libc::EEXIST as isize))
}
