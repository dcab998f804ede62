//! A receive completes after its send was started, and so does a probe that saw the message.

use crate::graph::dependency::{Dependencies, Moment};
use syn_plan::Rule;

/// A send was started at `sent`; its message was seen by `probes`, and the receive that got it `completed`, if that was seen.
pub fn connect(sent: Moment, probes: &[Moment], completed: Option<Moment>, found: &mut Dependencies) {
    for &seen in probes.iter().chain(&completed) {
        found.add_one(Rule::Message, sent, seen);
    }
}
