//! The requests of one process.

use super::collectives::Started;
use super::communicators::CommId;
use super::matching::Place;
use super::messages::LongId;
use foldhash::HashMap;
use syn_trace::Call;
pub use syn_trace::calls::effect::Mode;

/// A send as the application asked for it.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// How it hands over its message.
    pub mode: Mode,
    /// Its length.
    pub bytes: i64,
    /// Rank of the receiver in `comm`.
    pub destination: i64,
    /// The tag.
    pub tag: i64,
    /// Handle of the communicator.
    pub comm: i64,
}

/// A receive as the application asked for it.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// Rank of the sender in `comm`, or the wildcard.
    pub source: i64,
    /// The tag, or the wildcard.
    pub tag: i64,
    /// Handle of the communicator.
    pub comm: i64,
}

/// What a persistent request does each time it is started.
#[derive(Clone, Copy, Debug)]
pub enum Persistent {
    /// Sends.
    Send(Outgoing),
    /// Receives.
    Receive(Incoming),
    /// Takes part in a collective operation.
    Collective(Gathering),
}

/// A collective operation as the application asked for it.
#[derive(Clone, Copy, Debug)]
pub struct Gathering {
    /// Which one.
    pub call: Call,
    /// Bytes contributed, and received.
    pub traffic: (i64, i64),
    /// Rank of the root in `comm`.
    pub root: i64,
    /// Handle of the communicator.
    pub comm: i64,
    /// The call.
    pub noted: Place,
}

/// What a request is doing.
#[derive(Clone, Copy, Debug)]
pub enum Active {
    /// Nothing that matching needs to know: inactive, to nobody, or on an unknown communicator.
    Nothing,
    /// Sends a message of so many bytes.
    Send(i64, Option<LongId>),
    /// Receives: communicator, number in [`super::messages::PostedReceives`].
    Receive(CommId, u64),
    /// Takes part in a collective operation that moves so many bytes.
    Collective(i64, Started),
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// What it does now.
    pub active: Active,
    /// Set for requests that can be started again.
    pub persistent: Option<Persistent>,
    /// Where the application asked for it to be cancelled.
    pub cancelled: Option<Place>,
}

/// The requests of a process by their handles.
#[derive(Debug, Default)]
pub struct Requests {
    latest: HashMap<i64, (u32, Request)>,
    /// By handle and thread. MPI may use a handle again, for a request of another thread, while the call that has completed the first
    /// one goes on.
    overtaken: Vec<(i64, u32, Request)>,
}

impl Requests {
    /// A request of this thread that is active and goes away when it completes.
    pub fn start(&mut self, handle: i64, thread: u32, active: Active) {
        self.insert(handle, thread, Request { active, persistent: None, cancelled: None });
    }

    /// A request that waits to be started.
    pub fn prepare(&mut self, handle: i64, thread: u32, persistent: Persistent) {
        let persistent = Some(persistent);
        self.insert(handle, thread, Request { active: Active::Nothing, persistent, cancelled: None });
    }

    fn insert(&mut self, handle: i64, thread: u32, request: Request) {
        let before = self.latest.insert(handle, (thread, request));
        if let Some((other, before)) = before.filter(|&(other, _)| other != thread) {
            self.overtaken.retain(|&(known, by, _)| (known, by) != (handle, other));
            self.overtaken.push((handle, other, before));
        }
    }

    /// Where among the overtaken is the one that this thread means: its own, if the latest one is another's.
    fn place(&self, handle: i64, thread: u32) -> Option<usize> {
        if self.overtaken.is_empty() {
            return None;
        }
        let latest = self.latest.get(&handle).map(|&(by, _)| by);
        if latest == Some(thread) {
            return None;
        }
        let own = self.overtaken.iter().position(|&(known, by, _)| (known, by) == (handle, thread));
        let any = || self.overtaken.iter().position(|&(known, ..)| known == handle);
        own.or_else(|| if latest.is_none() { any() } else { None })
    }

    /// The request `handle`, as this thread knows it.
    pub fn get(&mut self, handle: i64, thread: u32) -> Option<&mut Request> {
        match self.place(handle, thread) {
            Some(place) => Some(&mut self.overtaken[place].2),
            None => self.latest.get_mut(&handle).map(|(_, request)| request),
        }
    }

    /// The request `handle` has completed: how it was. A persistent one stays, inactive.
    pub fn complete(&mut self, handle: i64, thread: u32) -> Option<Request> {
        let request = self.get(handle, thread)?;
        let was = *request;
        if was.persistent.is_some() {
            (request.active, request.cancelled) = (Active::Nothing, None);
            return Some(was);
        }
        self.free(handle, thread)
    }

    /// The thread has got this handle again: its request of before, if it had one. (Another thread's may be about to be completed.)
    pub fn replace(&mut self, handle: i64, thread: u32) -> Option<Request> {
        let is_own = self.latest.get(&handle).is_some_and(|&(by, _)| by == thread);
        let is_overtaken = || self.overtaken.iter().any(|&(known, by, _)| (known, by) == (handle, thread));
        if is_own || is_overtaken() { self.free(handle, thread) } else { None }
    }

    /// The request `handle` is freed: how it was.
    pub fn free(&mut self, handle: i64, thread: u32) -> Option<Request> {
        match self.place(handle, thread) {
            Some(place) => Some(self.overtaken.swap_remove(place).2),
            None => self.latest.remove(&handle).map(|(_, request)| request),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_that_another_thread_has_got_already() {
        let mut requests = Requests::default();
        let bytes = |request: Option<Request>| match request.map(|request| request.active) {
            Some(Active::Send(bytes, None)) => bytes,
            _ => 0,
        };
        requests.start(7, 1, Active::Send(10, None));
        requests.start(7, 2, Active::Send(20, None));
        requests.start(7, 3, Active::Send(30, None));
        assert_eq!(bytes(requests.complete(7, 1)), 10);
        assert_eq!(bytes(requests.complete(7, 3)), 30);
        assert_eq!(bytes(requests.complete(7, 4)), 20, "started by another thread than waits");
        assert_eq!(bytes(requests.complete(7, 2)), 0);
        requests.start(9, 1, Active::Send(10, None));
        requests.start(9, 2, Active::Send(20, None));
        requests.start(9, 3, Active::Send(30, None));
        assert!(requests.replace(9, 4).is_none(), "it has had none");
        assert_eq!([3, 2, 1].map(|thread| bytes(requests.complete(9, thread))), [30, 20, 10]);
        requests.start(8, 1, Active::Send(1, None));
        requests.start(8, 1, Active::Send(2, None));
        assert_eq!(bytes(requests.complete(8, 1)), 2, "what became of the first one nobody saw");
        assert_eq!(bytes(requests.free(8, 1)), 0);
    }
}
