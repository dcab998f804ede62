//! A semaphore is taken after the post that let it.
//!
//! While somebody waits, every post and every taking is on record, so that posts are counted; who took which is taken from their order.

use crate::graph::dependency::Dependencies;
use crate::rules::waking::{self, Waking};
use syn_plan::Rule;

/// Connects all waits for one semaphore.
pub fn connect(waking: Waking, found: &mut Dependencies) {
    waking::connect(Rule::Semaphore, waking, true, found);
}
