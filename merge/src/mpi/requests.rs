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
pub struct Requests(HashMap<i64, Request>);

impl Requests {
    /// A request that is active and goes away when it completes.
    pub fn start(&mut self, handle: i64, active: Active) {
        self.0.insert(handle, Request { active, persistent: None, cancelled: None });
    }

    /// A request that waits to be started.
    pub fn prepare(&mut self, handle: i64, persistent: Persistent) {
        let persistent = Some(persistent);
        self.0.insert(handle, Request { active: Active::Nothing, persistent, cancelled: None });
    }

    /// The request `handle`.
    pub fn get(&mut self, handle: i64) -> Option<&mut Request> {
        self.0.get_mut(&handle)
    }

    /// The request `handle` has completed: how it was. A persistent one stays, inactive.
    pub fn complete(&mut self, handle: i64) -> Option<Request> {
        let request = self.0.get_mut(&handle)?;
        let was = *request;
        if was.persistent.is_some() {
            (request.active, request.cancelled) = (Active::Nothing, None);
        } else {
            self.0.remove(&handle);
        }
        Some(was)
    }

    /// The request `handle` is freed: how it was.
    pub fn free(&mut self, handle: i64) -> Option<Request> {
        self.0.remove(&handle)
    }
}
