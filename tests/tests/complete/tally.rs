//! Calls counted by process, class and object.

use crate::objects::Names;
use std::collections::{BTreeMap, BTreeSet};
use tests::Tally;

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Process id.
    pub pid: u32,
    /// The class's name.
    pub class: &'static str,
    /// See [`crate::objects`].
    pub object: String,
}

/// One side of the comparison.
#[derive(Debug, Default)]
pub struct Counted(BTreeMap<Key, Tally>);

impl Counted {
    /// Counts a call; `bytes` of 0 where the result is no number of bytes.
    pub fn add(&mut self, pid: u32, class: &'static str, object: String, bytes: i64) {
        self.0.entry(Key { pid, class, object }).or_default().add(bytes);
    }

    /// With the last names that objects had.
    pub fn renamed(self, names: &Names) -> Counted {
        let mut counted = Counted::default();
        for (key, tally) in self.0 {
            let object = names.last(&key.object).to_owned();
            let into = counted.0.entry(Key { object, ..key }).or_default();
            (into.calls, into.bytes) = (into.calls + tally.calls, into.bytes + tally.bytes);
        }
        counted
    }

    /// How many calls of this class there are in all.
    pub fn calls(&self, class: &str) -> u64 {
        self.0.iter().filter(|(key, _)| key.class == class).map(|(_, tally)| tally.calls).sum()
    }

    /// What is not the same in both.
    pub fn differences(&self, other: &Counted) -> Vec<(Key, Tally, Tally)> {
        let keys: BTreeSet<&Key> = self.0.keys().chain(other.0.keys()).collect();
        let of = |counted: &Counted, key: &Key| counted.0.get(key).copied().unwrap_or_default();
        let both = keys.into_iter().map(|key| (key.clone(), of(self, key), of(other, key)));
        both.filter(|(_, one, other)| one != other).collect()
    }
}
