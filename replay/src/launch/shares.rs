//! Files that a process of the plan has open because the one that begins it has: the same open files, so that nothing opens them by name.

use crate::io::Handles;
use crate::sys::own_files::OwnFiles;
use crate::sys::passing::Parcel;
use rustix::io::fcntl_dupfd_cloexec;
use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use syn_plan::{FileId, HandleId, Io, Op, Plan};

/// So many steps at most are looked at, and so many that are none of these, one behind the other: a plan may repeat them for ever.
const MOST_STEPS: usize = 1 << 14;
const MOST_OTHERS: usize = 64;

/// What one process shares with the one that begins it.
#[derive(Debug, Default)]
pub struct Shares {
    /// The program that begins with them.
    of: Option<usize>,
    shares: Vec<Share>,
}

/// [`Io::Share`]
#[derive(Clone, Copy, Debug)]
struct Share {
    file: FileId,
    handle: HandleId,
    flags: i32,
}

/// Open files on their way to a process.
#[derive(Debug)]
pub struct Shared<'a> {
    parcel: Parcel<'a>,
    as_what: Vec<Share>,
}

impl Shares {
    /// Of the process that these programs of the plan make up: what its first thread has before it does anything.
    pub fn of(plan: &Plan, programs: &[usize]) -> Shares {
        let mut shares = Vec::new();
        let first = programs.first().copied();
        let steps = first.into_iter().flat_map(|index| plan.programs[index].steps.unrolled());
        let mut others = 0;
        for step in steps.take(MOST_STEPS) {
            match step.op {
                Op::Io { call: Io::Share { file, handle, flags, .. }, .. } => {
                    shares.push(Share { file, handle, flags });
                    others = 0;
                }
                Op::Io { call: Io::Inherit { .. }, .. } | Op::Wait { .. } | Op::Compute { .. }
                    if others < MOST_OTHERS =>
                {
                    others += 1;
                }
                _ => break,
            }
        }
        Shares { of: first, shares }
    }

    /// Whether it is this program that begins with them.
    pub fn are_of(&self, program: usize) -> bool {
        self.of == Some(program)
    }

    /// In a thread of the process that begins the other: what of these is open there. Processes that have open files of their own get them
    /// when they have begun; the others have them at once.
    pub fn share<'a>(
        &self,
        from: &Handles,
        to: &Handles,
        own_files: Option<&'a OwnFiles>,
    ) -> Option<Shared<'a>> {
        if self.shares.is_empty() {
            return None;
        }
        let by_file = from.by_file();
        let found = self.shares.iter().filter_map(|&share| {
            let all = by_file.get(&share.file)?.iter();
            let handle = all.copied().find(|&handle| from.is_open_as(handle, share.flags))?;
            Some((share, from.get(handle).ok()?))
        });
        let (as_what, files): (Vec<Share>, Vec<BorrowedFd<'_>>) = found.unzip();
        if let Some(own_files) = own_files {
            return Some(Shared { parcel: own_files.passing.send(&files)?, as_what });
        }
        for (share, file) in as_what.into_iter().zip(files) {
            // What cannot be put there is opened by name.
            let _ = fcntl_dupfd_cloexec(file, 0).and_then(|file| to.put(share.handle, file, share.file));
        }
        None
    }

    /// In the thread that goes on as another program: what stays open. If it `is_alone`, nobody uses the old program's open files any more.
    pub fn stay_open(&self, from: &Handles, to: &Handles, is_alone: bool) {
        let by_file = if self.shares.is_empty() { HashMap::new() } else { from.by_file() };
        let mut kept: HashMap<(FileId, i32), HandleId> = HashMap::new();
        for &Share { file, handle, flags } in &self.shares {
            let mut all = by_file.get(&file).into_iter().flatten();
            let old = all.find(|old| from.is_open_as(**old, flags)).copied();
            // What cannot be kept is opened by name.
            let outcome = match (old, kept.get(&(file, flags))) {
                (Some(old), _) if is_alone => from.take(old).and_then(|open| to.put(handle, open, file)),
                (Some(old), _) => {
                    from.get(old).and_then(|open| to.put(handle, fcntl_dupfd_cloexec(open, 0)?, file))
                }
                // Two descriptors of it have become one.
                (None, Some(&other)) => to.duplicate(other, handle),
                (None, None) => continue,
            };
            if outcome.is_ok() {
                kept.insert((file, flags), handle);
            }
        }
    }
}

impl Shared<'_> {
    /// In the process that they are for.
    pub fn arrive(self, to: &Handles) {
        for (share, file) in self.as_what.into_iter().zip(self.parcel.receive()) {
            // What has no place is opened by name.
            let _ = to.put(share.handle, file, share.file);
        }
    }
}
