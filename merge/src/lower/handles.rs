//! The open files of one process of the plan.
//!
//! A handle stands for one descriptor: `dup` gives the same open file a second one. Handles are used again, but only
//! by the thread that alone has used them: between threads a replay may take another order than the recording.

use syn_plan::HandleId;
use syn_trace::descriptors::OpenId;

/// Who has used an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    One(u32),
    Several,
}

#[derive(Clone, Debug)]
struct Open {
    user: User,
    handles: Vec<HandleId>,
}

/// The handles of a process.
#[derive(Debug, Default)]
pub struct Handles {
    open: Vec<Option<Open>>,
    next: HandleId,
    free: Vec<(u32, HandleId)>,
}

impl Handles {
    /// The handle that the next open of `thread` gets.
    pub fn peek(&self, thread: u32) -> HandleId {
        self.free.iter().rev().find(|&&(user, _)| user == thread).map_or(self.next, |&(_, handle)| handle)
    }

    fn take(&mut self, thread: u32) -> HandleId {
        if let Some(position) = self.free.iter().rposition(|&(user, _)| user == thread) {
            return self.free.remove(position).1;
        }
        self.next += 1;
        self.next - 1
    }

    /// A handle that stands for no descriptor of the process.
    pub fn spare(&mut self, thread: u32) -> HandleId {
        self.take(thread)
    }

    /// Such a handle is closed, and `thread` alone has used it.
    pub fn give_back(&mut self, handle: HandleId, thread: u32) {
        self.free.push((thread, handle));
    }

    /// `thread` has opened a file of the plan.
    pub fn open(&mut self, file: OpenId, thread: u32) -> HandleId {
        let handle = self.take(thread);
        if self.open.len() <= file as usize {
            self.open.resize(file as usize + 1, None);
        }
        self.open[file as usize] = Some(Open { user: User::One(thread), handles: vec![handle] });
        handle
    }

    /// A handle of the open file, if it is of the plan.
    #[inline]
    pub fn get(&mut self, file: Option<OpenId>, thread: u32) -> Option<HandleId> {
        let open = self.open.get_mut(file? as usize)?.as_mut()?;
        if open.user != User::One(thread) {
            open.user = User::Several;
        }
        open.handles.first().copied()
    }

    /// A further descriptor for the open file: (the old handle, the new one).
    pub fn duplicate(&mut self, file: Option<OpenId>, thread: u32) -> Option<(HandleId, HandleId)> {
        let old = self.get(file, thread)?;
        let new = self.take(thread);
        self.open.get_mut(file? as usize)?.as_mut()?.handles.push(new);
        Some((old, new))
    }

    /// One descriptor of the open file is closed.
    pub fn close(&mut self, file: Option<OpenId>, thread: u32) -> Option<HandleId> {
        self.get(file, thread)?;
        let place = self.open.get_mut(file? as usize)?;
        let open = place.as_mut()?;
        let handle = open.handles.pop()?;
        if let User::One(user) = open.user {
            self.free.push((user, handle));
        }
        if open.handles.is_empty() {
            *place = None;
        }
        Some(handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_uses_its_own_handles_again() {
        let mut handles = Handles::default();
        assert_eq!(handles.open(0, 7), 0);
        assert_eq!(handles.duplicate(Some(0), 7), Some((0, 1)));
        assert_eq!(handles.close(Some(0), 7), Some(1));
        assert_eq!(handles.close(Some(0), 7), Some(0));
        assert_eq!(handles.close(Some(0), 7), None);
        assert_eq!((handles.peek(7), handles.peek(8)), (0, 2));
        assert_eq!((handles.open(1, 8), handles.open(2, 7)), (2, 0));
    }

    #[test]
    fn what_several_threads_used_is_not_used_again() {
        let mut handles = Handles::default();
        assert_eq!(handles.open(0, 1), 0);
        assert_eq!(handles.get(Some(0), 2), Some(0));
        handles.close(Some(0), 1);
        assert_eq!(handles.open(1, 1), 1);
        assert_eq!(handles.get(Some(9), 1), None);
    }
}
