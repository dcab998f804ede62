//! What all watchers do, and what they are given.

use crate::metrics::Metrics;
use crate::profile::Tail;
use crate::sample::{Field, WIDTH};
use crate::tree::Tree;

/// What has been consumed since the start; of levels, what holds now.
#[derive(Clone, Debug, Default)]
pub struct Totals(pub [Option<u64>; WIDTH]);

impl Totals {
    /// Sets a column.
    pub fn set(&mut self, field: Field, value: u64) {
        self.0[field as usize] = Some(value);
    }

    /// A column, if it was observed.
    pub fn get(&self, field: Field) -> Option<u64> {
        self.0[field as usize]
    }
}

/// What a watcher is told when all is over.
#[derive(Debug)]
pub struct Whole<'a> {
    /// Exact totals.
    pub totals: &'a Totals,
    /// The processes, with those that live on.
    pub tree: &'a Tree,
    /// How long the command took, nanoseconds.
    pub wall_ns: u64,
    /// Highest resident memory of the tree in any sample, bytes.
    pub peak_bytes: u64,
}

/// One resource being looked at.
pub trait Watcher {
    /// Before the command starts.
    fn pre(&mut self) {}
    /// At the end of a sample.
    fn sample(&mut self, tree: &mut Tree, now_ns: u64, totals: &mut Totals);
    /// When the command has ended and all its orphans that ended have been waited for: exact totals.
    fn post(&mut self, _tree: &Tree, _totals: &mut Totals) {}
    /// What is derived from it.
    fn finalize(&mut self, whole: &Whole<'_>, metrics: &mut Metrics);
    /// Sizes of calls and connections, where it knows any.
    fn details(&mut self, _tail: &mut Tail) {}
}
