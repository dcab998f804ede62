//! What belongs together, as who lowers the calls needs it.

use super::communicators::{CommId, Known};
use crate::graph::dependency::Moment;
use foldhash::{HashMap, HashSet};
use syn_trace::Call;

/// The record of a thread at which something began.
pub type Place = (u32, u32);

/// That of a moment.
pub fn place(moment: Moment) -> Place {
    (moment.point().thread, moment.point().record)
}

/// What a replay that makes the calls needs to know of what belongs together.
#[derive(Debug, Default)]
pub struct Matching {
    /// What the numbers of communicators mean.
    pub communicators: Known,
    /// Source and tag of the messages that receives got which asked for any.
    pub got: HashMap<Place, (i32, i32)>,
    /// Sends that nobody received.
    pub unsent: HashSet<Place>,
    /// Receives that got nothing.
    pub unreceived: HashSet<Place>,
    /// Calls that asked too late for a receive to be cancelled: it got its message.
    pub refused: HashSet<Place>,
    /// Collective operations that not all members reached, or under different names.
    pub broken: HashSet<(CommId, u64)>,
    /// What each member gave and got, bytes, of operations for which they may differ.
    pub traffic: HashMap<(CommId, u64), Vec<(i64, i64)>>,
    /// The roots of those between two groups: their ranks in the communicator of both.
    pub roots: HashMap<(CommId, u64), u32>,
    /// What notes tell of calls, by thread and record of the call: numbers, or the bytes of a text.
    pub told: HashMap<(Place, Call), Vec<i64>>,
}
