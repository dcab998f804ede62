//! How steps are made.

use std::collections::BTreeMap;

/// How steps are made of samples.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Samples are put together until they are so long, nanoseconds.
    pub least_ns: u64,
    /// Nanoseconds of CPU time here for one there.
    pub cpu_ratio: f64,
    /// Factors: cpu, memory, storage, network.
    pub scale: BTreeMap<String, f64>,
    /// All calls on files have this size.
    pub block: Option<u64>,
    /// So many executors share all CPU time, whatever was recorded.
    pub width: Option<usize>,
    /// This part of all consumption: that of one of several ranks.
    pub share: f64,
    /// Processors that the command could have used, others' use taken off; 0 where that is not known.
    pub processors: f64,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            least_ns: 10_000_000,
            cpu_ratio: 1.0,
            scale: BTreeMap::new(),
            block: None,
            width: None,
            share: 1.0,
            processors: 0.0,
        }
    }
}

impl Tuning {
    /// A resource's factor.
    pub fn factor(&self, resource: &str) -> f64 {
        self.scale.get(resource).copied().unwrap_or(1.0) * self.share
    }
}
