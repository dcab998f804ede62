//! MPI matching: which calls of different processes belong together.

mod bridges;
mod calls;
mod collectives;
mod communicators;
mod epochs;
mod matcher;
mod matching;
mod members;
mod messages;
mod notes;
mod partitioned;
mod point_to_point;
mod requests;
mod starts;
mod unmatched;
mod window_locks;
mod windows;
mod world;

pub use calls::{Around, CallIter, CallLog, Class, TimedCall, entry};
pub use communicators::{CommId, Communicator, Communicators, Creation, Meaning, window};
pub use matcher::{Matched, Matcher};
pub use matching::{Matching, place};
pub use members::expand;
pub use world::Worlds;
