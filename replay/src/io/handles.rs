//! The open files of one process of the plan.

use super::flags;
use super::mapped::{Mappings, Touch};
use super::queues::{Need, Queues};
use crate::divergence::Cause;
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{DupFlags, Errno, Result, dup3, fcntl_dupfd_cloexec};
use std::collections::HashMap;
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use syn_plan::{FileId, HandleId, Op, Program};

const CLOSED: RawFd = -1;

/// From handles to descriptors, shared by the threads of a process as descriptors are.
#[derive(Debug)]
pub struct Handles {
    slots: Box<[Slot]>,
    mappings: Mappings,
    /// Of asynchronous I/O.
    pub queues: Queues,
}

#[derive(Debug)]
struct Slot {
    descriptor: AtomicI32,
    /// For messages; the file of the last open.
    file: AtomicU32,
    /// Why it is not open although it should be; 0 for no reason.
    cause: AtomicU64,
}

impl Handles {
    /// Room for every handle that `programs` use.
    pub fn for_programs<'a>(programs: impl IntoIterator<Item = &'a Program>) -> Handles {
        let calls =
            programs.into_iter().flat_map(|program| program.steps.iter()).filter_map(|step| match step.op {
                Op::Io { call, .. } => Some(call),
                _ => None,
            });
        let (mut most, mut need) = (0, Need::default());
        for call in calls {
            need.see(&call);
            most = call
                .operands()
                .1
                .into_iter()
                .flatten()
                .map(|handle| handle as usize + 1)
                .fold(most, usize::max);
        }
        Handles::with(most, need)
    }

    /// Room for `count` handles.
    pub fn with_room(count: usize) -> Handles {
        Handles::with(count, Need::default())
    }

    fn with(count: usize, need: Need) -> Handles {
        let closed =
            || Slot { descriptor: AtomicI32::new(CLOSED), file: AtomicU32::new(0), cause: AtomicU64::new(0) };
        Handles {
            slots: std::iter::repeat_with(closed).take(count).collect(),
            mappings: Mappings::default(),
            queues: Queues::new(need),
        }
    }

    fn slot(&self, handle: HandleId) -> Result<&Slot> {
        self.slots.get(handle as usize).ok_or(Errno::BADF)
    }

    /// The open file; `EBADF` when it is closed.
    pub fn get(&self, handle: HandleId) -> Result<BorrowedFd<'_>> {
        match self.slot(handle)?.descriptor.load(Ordering::Relaxed) {
            CLOSED => Err(Errno::BADF),
            // SAFETY: the descriptor was open when it was put here. Another thread of the recorded application may
            // have closed it in this moment, as it may in any program; then the kernel answers EBADF, or acts on
            // another file beneath the root: of the descriptors that are not the plan's, only folders there are closed.
            descriptor => Ok(unsafe { BorrowedFd::borrow_raw(descriptor) }),
        }
    }

    /// The file that a handle was last opened on.
    pub fn file(&self, handle: HandleId) -> Option<FileId> {
        self.slot(handle).ok().map(|slot| slot.file.load(Ordering::Relaxed))
    }

    /// Whether a handle is open, on this file.
    pub fn is_open_on(&self, handle: HandleId, file: FileId) -> bool {
        self.get(handle).is_ok() && self.file(handle) == Some(file)
    }

    /// Whether a handle is open as with these flags.
    pub fn is_open_as(&self, handle: HandleId, flags: i32) -> bool {
        let kept = OFlags::ACCMODE | OFlags::APPEND;
        let found = self.get(handle).and_then(fcntl_getfl);
        found.is_ok_and(|found| found & kept == flags::from_plan(flags) & kept)
    }

    /// The handles that are open, by file.
    pub fn by_file(&self) -> HashMap<FileId, Vec<HandleId>> {
        let mut all: HashMap<FileId, Vec<HandleId>> = HashMap::new();
        for handle in (0..self.slots.len() as HandleId).filter(|&handle| self.get(handle).is_ok()) {
            all.entry(self.file(handle).unwrap_or(0)).or_default().push(handle);
        }
        all
    }

    /// Puts an open file in place; what was there is closed.
    pub fn put(&self, handle: HandleId, descriptor: OwnedFd, file: FileId) -> Result<()> {
        let slot = self.slot(handle)?;
        slot.file.store(file, Ordering::Relaxed);
        slot.cause.store(0, Ordering::Relaxed);
        let replaced = slot.descriptor.swap(descriptor.into_raw_fd(), Ordering::AcqRel);
        self.queues.leave(replaced);
        drop(owned(replaced));
        Ok(())
    }

    /// `new` becomes the same open file as `handle`. What is open there is closed by the same call, as by dup2(2).
    pub fn duplicate(&self, handle: HandleId, new: HandleId) -> Result<()> {
        let (from, file) = (self.get(handle)?, self.file(handle).unwrap_or(0));
        let slot = self.slot(new)?;
        let replaced = if handle == new { None } else { self.taken(slot) };
        let descriptor = match replaced {
            Some(mut replaced) => {
                dup3(from, &mut replaced, DupFlags::CLOEXEC)?;
                replaced
            }
            None => fcntl_dupfd_cloexec(from, 0)?,
        };
        self.put(new, descriptor, file)
    }

    /// Notes that `file` should have been opened here, but was not because of `cause`; what was there is closed, so
    /// that nothing is done to another file.
    pub fn lost(&self, handle: HandleId, file: FileId, cause: Cause) {
        let Ok(slot) = self.slot(handle) else { return };
        slot.file.store(file, Ordering::Relaxed);
        slot.cause.store(cause.to_number(), Ordering::Relaxed);
        drop(self.taken(slot));
    }

    /// What is open there, with nothing on its way to it.
    fn taken(&self, slot: &Slot) -> Option<OwnedFd> {
        let descriptor = slot.descriptor.swap(CLOSED, Ordering::AcqRel);
        self.queues.leave(descriptor);
        owned(descriptor)
    }

    /// Why a handle is not open although it should be.
    pub fn cause(&self, handle: HandleId) -> Option<Cause> {
        Cause::from_number(self.slot(handle).ok()?.cause.load(Ordering::Relaxed))
    }

    /// Closes what is open.
    pub fn close_all(&self) {
        self.queues.drain();
        self.mappings.close_all();
        self.slots.iter().for_each(|slot| drop(owned(slot.descriptor.swap(CLOSED, Ordering::AcqRel))));
    }

    /// Touches pages of the file in memory: the bytes from an offset on.
    pub fn populate(&self, handle: HandleId, part: (u64, u64), touch: Touch) -> Result<()> {
        self.mappings.populate((handle, self.get(handle)?), part, touch)
    }

    /// Takes an open file out, to be closed.
    pub fn take(&self, handle: HandleId) -> Result<OwnedFd> {
        self.mappings.close(handle);
        self.taken(self.slot(handle)?).ok_or(Errno::BADF)
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        self.close_all();
    }
}

fn owned(descriptor: RawFd) -> Option<OwnedFd> {
    // SAFETY: a slot owns its descriptor, and it was swapped out of the slot.
    (descriptor != CLOSED).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, SeekFrom, fstat, memfd_create, seek};
    use std::os::fd::AsRawFd;

    fn file(name: &str) -> OwnedFd {
        memfd_create(name, MemfdFlags::CLOEXEC).expect("memory")
    }

    #[test]
    fn what_is_duplicated_takes_the_place_of_what_is_open() {
        let handles = Handles::with_room(3);
        handles.put(0, file("one"), 7).expect("a handle");
        handles.put(1, file("other"), 8).expect("a handle");
        let inode = |handle| fstat(handles.get(handle).expect("open")).expect("its status").st_ino;
        let place = handles.get(1).expect("open").as_raw_fd();
        assert_ne!(inode(0), inode(1));
        handles.duplicate(0, 1).expect("a further descriptor");
        handles.duplicate(0, 2).expect("a further descriptor");
        for new in [1, 2] {
            assert_eq!((inode(new), handles.file(new)), (inode(0), Some(7)));
        }
        assert_eq!(handles.get(1).expect("open").as_raw_fd(), place, "by one call");
        seek(handles.get(0).expect("open"), SeekFrom::Start(5)).expect("a position");
        assert_eq!(rustix::fs::tell(handles.get(1).expect("open")), Ok(5), "the same open file");
        handles.duplicate(0, 0).expect("a further descriptor");
        assert_eq!(rustix::fs::tell(handles.get(0).expect("open")), Ok(5));
        drop(handles.take(0));
        assert_eq!(handles.duplicate(0, 1), Err(Errno::BADF));
    }
}
