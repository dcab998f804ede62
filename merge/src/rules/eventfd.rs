//! A counter of `eventfd(2)` is read, or seen to be there, after it was added to.
//!
//! What was added stays until it is read: every call that waited is connected with the first one that added to it meanwhile.

use crate::graph::dependency::Dependencies;
use crate::rules::open_file::Span;
use crate::rules::waking::{self, Wake, Waking};
use syn_plan::Rule;

/// Connects all waits for one counter.
pub fn connect(waits: Vec<Span>, additions: Vec<Span>, found: &mut Dependencies) {
    let wakes = additions.into_iter().map(|span| Wake { span, times: u32::MAX }).collect();
    waking::connect(Rule::Eventfd, Waking { waits, wakes, ..Waking::default() }, false, found);
}
