//! Into which folder a process without a recorded parent records, and the making of it.
//!
//! One process makes the folder and hands it down. Where a launcher that is not recorded starts the ranks of a job, each
//! comes here by itself: they know each other by the job's id ([`job`]), which the file `job` in the folder holds, and behind
//! a line feed the host and the process there from which it was learnt. A folder that a recorded launcher makes has no id: it
//! hands it down to the ranks on its own host, and those on others may come in.

use super::job::Variable;
use crate::core::procfs::{decimal, directory_entries, read_file};
use crate::core::sys;
use crate::recording::process::job::{self, Job};
use crate::recording::process::machine;
use core::ffi::{CStr, c_int};

/// The longest path of a run folder.
pub const FOLDER_BYTES: usize = 4096;

/// The file that says whose folder it is, and what it is called while it is written, followed by numbers.
const CLAIM: &[u8] = b"job";
const CLAIM_DRAFT: &[u8] = b".job-";
/// An id, a host and where the id is from.
const CLAIM_BYTES: usize = 512;
/// So many milliseconds a folder may stay empty after it was made.
const PATIENCE_MS: u32 = 50;
/// So many folders may have the same id of earlier jobs.
const MOST_ALIKE: u64 = 1000;

/// A path that is being put together.
struct Folder<'a> {
    /// [`FOLDER_BYTES`] of room.
    bytes: &'a mut [u8],
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
    #[unsafe(link_section = ".text.startup")]
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
    #[unsafe(link_section = ".text.startup")]
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

    /// True when the folder is this job's, whose ranks all come here. The one that makes it says so in it; in a folder that
    /// was there and is empty, any of them does, but not before who made it had the time.
    fn belongs_to(&mut self, job: &Job<'_>, made: Made) -> bool {
        let (mut own, mut room) = ([0; CLAIM_BYTES], [0; CLAIM_BYTES]);
        let own = Claim::of(job, &mut own);
        let mut rounds = if let Made::WasThere = made { PATIENCE_MS } else { 0 };
        while rounds > 0 {
            // In this order: who has claimed it fills it afterwards.
            let is_empty = self.is_empty();
            match self.claim(&mut room) {
                Some(claim) => {
                    let is_ours = own.may_enter(claim);
                    if is_ours && claim.is_launchers() {
                        self.write_claim(own, true);
                    }
                    return is_ours;
                }
                None if !is_empty => return false,
                None => pause(),
            }
            rounds -= 1;
        }
        self.write_claim(own, false);
        // Where it could not be written, there is a folder at least.
        self.claim(&mut room).is_none_or(|claim| own.may_enter(claim))
    }

    /// What the folder says whose it is.
    fn claim<'b>(&mut self, room: &'b mut [u8]) -> Option<Claim<'b>> {
        let path = self.with(&[CLAIM])?;
        read_file(path, room).ok().filter(|claim| !claim.is_empty()).map(Claim)
    }

    /// Makes the claim appear with its content: where there is none yet, or in its place.
    fn write_claim(&mut self, Claim(claim): Claim<'_>, replaces: bool) {
        let (mut first, mut second, mut draft) = ([0; 20], [0; 20], [0; FOLDER_BYTES]);
        // SAFETY: takes no pointers.
        let pid = decimal(unsafe { sys::getpid() } as u64, &mut first);
        // On another machine the pid may be the same, and hardly the time.
        let now = decimal(sys::clock_ns(libc::CLOCK_REALTIME), &mut second);
        let Some(path) = self.with(&[CLAIM_DRAFT, pid, b"-", now]) else { return };
        draft[..path.count_bytes()].copy_from_slice(path.to_bytes());
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        // SAFETY: the paths end with zero bytes, and the descriptor is ours.
        unsafe {
            let fd = sys::openat(libc::AT_FDCWD, draft.as_ptr(), flags, 0o666) as c_int;
            if fd < 0 {
                return;
            }
            let is_whole = sys::write(fd, claim.as_ptr(), claim.len()) == claim.len() as isize;
            sys::close(fd);
            if let Some(path) = self.with(&[CLAIM]).filter(|_| is_whole) {
                let path = path.as_ptr().cast();
                let linked = if replaces { -1 } else { sys::link(draft.as_ptr(), path) };
                // Not every file system has links.
                if linked != 0 && linked != -(libc::EEXIST as isize) {
                    sys::rename(draft.as_ptr(), path);
                }
            }
            sys::unlink(draft.as_ptr());
        }
    }

    /// The path of a file in the folder; until the next use of the folder's own.
    fn with(&mut self, name: &[&[u8]]) -> Option<&CStr> {
        let behind = self.bytes.get_mut(self.length..)?;
        let mut at = 0;
        for part in [&b"/"[..]].iter().chain(name).chain(&[&b"\0"[..]]) {
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

/// What a folder says whose it is: the job's id, a line feed, a host, a space, and from whom on that host the id was learnt.
#[derive(Clone, Copy)]
struct Claim<'a>(&'a [u8]);

impl<'a> Claim<'a> {
    /// That of a rank of this job; of a launcher, which has no id.
    fn of(job: &Job<'_>, room: &'a mut [u8; CLAIM_BYTES]) -> Claim<'a> {
        let mut host = [0; 64];
        machine::host_name(&mut host);
        let host = host.split(|&byte| byte == 0).next().unwrap_or(b"");
        let mut length = 0;
        for part in [job.id, b"\n", host, b" ", job.origin] {
            let bytes = part.len().min(CLAIM_BYTES - length);
            room[length..][..bytes].copy_from_slice(&part[..bytes]);
            length += bytes;
        }
        Claim(&room[..length])
    }

    /// Id, host, from whom there.
    fn parts(self) -> (&'a [u8], &'a [u8], &'a [u8]) {
        let halves = |text: &'a [u8], separator| {
            let mut parts = text.splitn(2, move |&byte| byte == separator);
            (parts.next().unwrap_or(b""), parts.next().unwrap_or(b""))
        };
        let (id, rest) = halves(self.0, b'\n');
        let (host, origin) = halves(rest, b' ');
        (id, host, origin)
    }

    fn is_launchers(self) -> bool {
        self.parts().0.is_empty()
    }

    /// Whether a rank with this claim belongs into a folder with that one. Where both are of one host, the ids must be from the
    /// same process there (Hydra may use a port again); and what a launcher there has started comes by its environment.
    fn may_enter(self, folders: Claim<'_>) -> bool {
        let ((id, host, origin), (folders_id, folders_host, folders_origin)) =
            (self.parts(), folders.parts());
        if folders_id.is_empty() {
            return host != folders_host;
        }
        id == folders_id && (host != folders_host || origin == folders_origin)
    }
}

/// Lets a millisecond pass.
fn pause() {
    let (word, time) = (0u32, libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 });
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let arguments = [(&raw const word) as usize, operation as usize, 0, (&raw const time) as usize, 0, 0];
    // SAFETY: both outlive the call, which only reads them.
    unsafe { sys::call(libc::SYS_futex, arguments) };
}

/// Makes the run folder of this process and those that it starts, and leaves its absolute path in `folder`: its length, and
/// the negated errno of what could not be made. `variable` looks into the environment.
pub fn make(variable: Variable, is_launcher: bool, folder: &mut [u8]) -> (usize, Result<(), isize>) {
    let mut path = Folder { bytes: folder, length: 0 };
    let made = make_at(variable, is_launcher, &mut path);
    (path.length, made)
}

fn make_at(variable: Variable, is_launcher: bool, path: &mut Folder<'_>) -> Result<(), isize> {
    let mut room = [0; 2 * job::MOST_BYTES];
    let job = job::find(variable, &mut room);
    let chosen = variable(b"SYN_RUN").filter(|run| !run.is_empty());
    if !chosen.is_some_and(|run| run.starts_with(b"/")) {
        push_current_folder(path)?;
    }
    match (chosen, job) {
        (Some(run), Some(job)) => {
            path.push(run)?;
            let made = path.make_all()?;
            if path.belongs_to(&job, made) {
                return Ok(());
            }
            path.push(b"-")?;
            make_for(path, &job)
        }
        (None, Some(job)) => {
            path.push(b"runs/")?;
            make_for(path, &job)
        }
        (Some(run), None) => {
            path.push(run)?;
            let made = path.make_all()?;
            if matches!(made, Made::WasThere) && !path.is_empty() {
                make_numbered(path, b"-", 2)?;
            }
            if is_launcher {
                path.write_claim(Claim::of(&Job { id: b"", origin: b"" }, &mut [0; CLAIM_BYTES]), false);
            }
            Ok(())
        }
        (None, None) => {
            path.push(b"runs")?;
            path.make_all()?;
            make_numbered(path, b"/", 1)
        }
    }
}

/// Appends the job's id, and where an earlier job had the same a number. All ranks find the same without asking each other.
fn make_for(path: &mut Folder<'_>, job: &Job<'_>) -> Result<(), isize> {
    for &byte in job.id {
        path.push(&[if byte.is_ascii_alphanumeric() { byte } else { b'-' }])?;
    }
    let length = path.length;
    for number in 2..MOST_ALIKE {
        let made = path.make_all()?;
        if path.belongs_to(job, made) {
            return Ok(());
        }
        let mut digits = [0; 20];
        path.length = length;
        path.push(b"-")?;
        path.push(decimal(number, &mut digits))?;
    }
    Err(-(libc::EEXIST as isize))
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
/// get two numbers.
fn make_numbered(path: &mut Folder<'_>, separator: &[u8], first: u64) -> Result<(), isize> {
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
    for number in free..free + MOST_NUMBERS {
        append(path, number)?;
        match path.make() {
            0 => return Ok(()),
            error if error == -(libc::EEXIST as isize) => {}
            error => return Err(error),
        }
    }
    Err(-(libc::EEXIST as isize))
}

#[cfg(test)]
mod tests {
    use super::Claim;

    #[test]
    fn claims_of_one_job_are_told_from_those_of_two() {
        let may_enter = |own: &[u8], folders: &[u8]| Claim(own).may_enter(Claim(folders));
        let own = b"hydra-a:4000\na 17 5000";
        assert!(may_enter(own, own));
        assert!(may_enter(own, b"hydra-a:4000\nb 9 80"), "learnt on another host");
        assert!(!may_enter(own, b"hydra-a:4000\na 18 6000"), "the port was used again");
        assert!(!may_enter(own, b"hydra-a:4001\na 17 5000"));
        assert!(may_enter(b"n@1\na ", b"n@1\na ") && !may_enter(b"n@1\na ", b"n@10\na "));
        assert!(may_enter(own, b"\nb "), "a launcher on another host");
        assert!(!may_enter(own, b"\na "), "one here has handed its folder down to its own ranks");
    }
}
