//! A wait for a condition ends after the signal or broadcast that ended it.
//!
//! Which of several waiters a signal wakes is not on record: they are taken in the order in which they returned.

use crate::graph::dependency::Dependencies;
use crate::rules::waking::{self, Waking};
use syn_plan::Rule;

/// Connects all waits for one condition.
pub fn connect(waking: Waking, found: &mut Dependencies) {
    waking::connect(Rule::Condition, waking, false, found);
}
