//! What is received from a connected socket was sent at the other end; a connection is made after somebody listens, and accepted after
//! it was asked for; and its end is seen when the other end was closed or shut down.
//!
//! How much the kernel keeps between the ends changes all the time: for which receive a sender waited is what was observed.

use crate::graph::dependency::{Dependencies, Moment};
use crate::rules::stream::{self, Stream};
use syn_plan::Rule;

/// Connects one direction of a connection; false when it has senders that are not on record.
pub fn connect(stream: Stream, found: &mut Dependencies) -> bool {
    stream::connect(Rule::Socket, stream, found)
}

/// A connection that was asked for at `asked` was accepted at `accepted`, or seen to be there to accept: then somebody else may have
/// accepted the one that was seen, unless `is_alone`.
pub fn accept(asked: Moment, accepted: Moment, is_alone: bool, found: &mut Dependencies) {
    if asked.ns <= accepted.ns && asked.point().thread != accepted.point().thread {
        found.add_one(if is_alone { Rule::Socket } else { Rule::Contended }, asked, accepted);
    }
}

/// A connection was asked for, or made, at `connected`, to a socket that listens since a call at `listening`: before that it would have
/// been refused (connect(2), `ECONNREFUSED`).
pub fn listen(listening: Moment, connected: Moment, found: &mut Dependencies) {
    if listening.ns <= connected.ns && listening.point().thread != connected.point().thread {
        found.add_one(Rule::Socket, listening, connected);
    }
}
