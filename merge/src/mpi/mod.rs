//! MPI matching: which calls of different processes belong together.

mod calls;
mod collectives;
mod communicators;
mod matcher;
mod messages;
mod notes;
mod point_to_point;
mod requests;
mod windows;
mod world;

pub use calls::{Around, CallIter, CallLog, Class, TimedCall};
pub use collectives::Arrival;
pub use communicators::{CommId, Communicators, Creation, Meaning, expand};
pub use matcher::{Matched, Matcher, Matching, place};
pub use messages::{Receive, Send};
pub use requests::Mode;
pub use windows::window;
pub use world::Worlds;
