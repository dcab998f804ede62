//! What a program's replay gave, in a form that travels between processes and adds up.

use crate::delays::Performed;
use crate::divergence::Divergences;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use syn_plan::{Balance, Io};

/// Longer than this is counted as this long: one hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Digits of a duration that are kept: an error of at most 1 %.
const DIGITS: u8 = 2;

/// How durations are distributed. Nothing is kept until there is one: most threads of most programs count none, and a histogram takes
/// 10 µs to be made.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Option<Histogram<u64>>);

impl Latencies {
    /// Counts a duration.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.0.get_or_insert_with(histogram).saturating_record(ns);
    }

    /// Counts a duration so many times.
    pub fn record_times(&mut self, ns: u64, times: u64) {
        self.0.get_or_insert_with(histogram).saturating_record_n(ns, times);
    }

    /// The duration that `percent` of all do not exceed, nanoseconds.
    pub fn percentile(&self, percent: f64) -> u64 {
        self.0.as_ref().map_or(0, |counted| counted.value_at_percentile(percent))
    }

    /// The longest, nanoseconds.
    pub fn longest(&self) -> u64 {
        self.0.as_ref().map_or(0, Histogram::max)
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, Histogram::len)
    }

    /// Counts what `other` has counted.
    pub fn add(&mut self, other: &Latencies) {
        if let Some(other) = &other.0 {
            // Both have the same bounds.
            let _ = self.0.get_or_insert_with(histogram).add(other);
        }
    }
}

#[cold]
fn histogram() -> Histogram<u64> {
    match Histogram::new_with_bounds(1, LONGEST_NS, DIGITS) {
        Ok(histogram) => histogram,
        Err(error) => unreachable!("the bounds are constant and valid: {error}"),
    }
}

/// Counts per value, so that only what occurred is sent.
impl Serialize for Latencies {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let recorded = self.0.iter().flat_map(Histogram::iter_recorded);
        to.collect_seq(recorded.map(|value| (value.value_iterated_to(), value.count_at_value())))
    }
}

impl<'de> Deserialize<'de> for Latencies {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut latencies = Latencies::default();
        for (value, count) in Vec::<(u64, u64)>::deserialize(from)? {
            latencies.record_times(value, count);
        }
        Ok(latencies)
    }
}

/// The operations of one call class.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Class {
    /// Bytes moved.
    pub bytes: u64,
    /// Time in them, nanoseconds.
    pub total_ns: u64,
    /// How their times are distributed.
    pub latencies: Latencies,
    /// How many did not come out as recorded.
    pub divergent: u64,
}

impl Class {
    /// Counts an operation so many times, as [`Class::record`] does once.
    pub fn record_times(&mut self, took_ns: u64, result: i64, moves_bytes: bool, times: u64) {
        self.total_ns = self.total_ns.saturating_add(took_ns.saturating_mul(times));
        self.latencies.record_times(took_ns, times);
        if moves_bytes && result > 0 {
            self.bytes = self.bytes.saturating_add((result as u64).saturating_mul(times));
        }
    }

    /// Counts an operation that took `took_ns` and had `result`: bytes moved, or a negated errno.
    #[inline]
    pub fn record(&mut self, took_ns: u64, result: i64, moves_bytes: bool) {
        self.total_ns = self.total_ns.saturating_add(took_ns);
        self.latencies.record(took_ns);
        if moves_bytes && result > 0 {
            self.bytes = self.bytes.saturating_add(result as u64);
        }
    }

    /// Counts what `other` has counted.
    pub fn add(&mut self, other: &Class) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.latencies.add(&other.latencies);
        self.divergent = self.divergent.saturating_add(other.divergent);
    }
}

/// True for the operations whose result is a number of bytes.
pub fn moves_bytes(call: &Io) -> bool {
    matches!(
        call,
        Io::Read { .. }
            | Io::Write { .. }
            | Io::ReadAt { .. }
            | Io::WriteAt { .. }
            | Io::Send { .. }
            | Io::SendTo { .. }
            | Io::CopyRange { .. }
            | Io::Complete { .. }
    )
}

/// The classes that one program uses: few, so that a list is searched faster than a tree.
#[derive(Debug, Default)]
pub struct Classes(Vec<(u8, &'static str, Class)>);

impl Classes {
    /// The class of `call`.
    #[inline]
    pub fn of(&mut self, call: &Io) -> &mut Class {
        self.numbered(call.number(), call.name())
    }

    /// The class of the operation with this number and name.
    #[inline]
    pub fn numbered(&mut self, number: u8, name: &'static str) -> &mut Class {
        let place = self.0.iter().position(|(other, ..)| *other == number).unwrap_or_else(|| {
            self.0.push((number, name, Class::default()));
            self.0.len() - 1
        });
        &mut self.0[place].2
    }

    /// By name.
    pub fn into_map(self) -> BTreeMap<String, Class> {
        self.0.into_iter().map(|(_, name, class)| (name.to_owned(), class)).collect()
    }
}

/// What the processes of a replay had used when their programs began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preparation {
    /// CPU time, nanoseconds.
    pub cpu_ns: u64,
    /// Bytes that read and write calls moved.
    pub bytes: [u64; 2],
    /// Read and write calls.
    pub calls: [u64; 2],
    /// Most resident memory of one of them, bytes.
    pub peak_bytes: u64,
}

/// What one program's replay gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// Index of the program.
    pub program: usize,
    /// The common start, nanoseconds of this machine's monotonic clock.
    pub start_ns: u64,
    /// When it ended, nanoseconds since the common start.
    pub end_ns: u64,
    /// Where its time went.
    pub balance: Balance,
    /// Processor time that the thread got, nanoseconds.
    pub cpu_ns: u64,
    /// I/O that it did after its process was over, which the recording's exit would have cut off.
    pub after_process: u64,
    /// Its I/O by class.
    pub classes: BTreeMap<String, Class>,
    /// Operations that did not come out as recorded.
    pub divergences: Divergences,
    /// How late operations were issued in the open model.
    pub lateness: Latencies,
    /// Opens that were done without `O_DIRECT`.
    pub direct_refused: u64,
    /// Queues of asynchronous I/O that the system refused.
    pub queues_refused: u64,
    /// Bytes that demands sent, received, and sent to the program itself.
    pub network: [u64; 3],
    /// Why a demand could not be met; nothing was demanded after it.
    pub failure: Option<String>,
    /// When its I/O was done, where delays were injected.
    pub performed: Vec<Performed>,
    /// The time that MPI takes to end is to be added.
    pub ends_mpi: bool,
    /// In the first outcome of local processes with demands: what all of them had used when the programs began.
    pub preparation: Option<Preparation>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_travel_without_loss() {
        let mut latencies = Latencies::default();
        for ns in [0, 1, 250, 1_000, 1_000_000, LONGEST_NS, u64::MAX] {
            latencies.record(ns);
        }
        let text = serde_json::to_string(&latencies).expect("serialised");
        let back: Latencies = serde_json::from_str(&text).expect("deserialised");
        assert_eq!(back.0, latencies.0);
        assert_eq!(back.count(), 7);
        assert_eq!(back.percentile(50.0), latencies.percentile(50.0));
    }

    #[test]
    fn a_class_counts_bytes_of_transfers_only() {
        let mut classes = Classes::default();
        let (write, seek) = (Io::Write { handle: 0, bytes: 9 }, Io::Seek { handle: 0, offset: 9 });
        for (call, result) in [(&write, 9), (&write, -28), (&seek, 9)] {
            classes.of(call).record(5, result, moves_bytes(call));
        }
        let map = classes.into_map();
        assert_eq!((map["write"].bytes, map["write"].total_ns, map["write"].latencies.count()), (9, 10, 2));
        assert_eq!(map["lseek"].bytes, 0);
    }

    /// The figures of a plan may be of any size.
    #[test]
    fn sums_stop_at_the_largest_number() {
        let mut class = Class::default();
        for _ in 0..3 {
            class.record(u64::MAX, i64::MAX, true);
        }
        class.record_times(u64::MAX, i64::MAX, true, u64::MAX);
        class.add(&class.clone());
        assert_eq!((class.bytes, class.total_ns, class.latencies.count()), (u64::MAX, u64::MAX, u64::MAX));
    }

    #[test]
    fn many_times_is_as_often_once() {
        let (mut one, mut other) = (Class::default(), Class::default());
        (0..7).for_each(|_| one.record(50, 9, true));
        other.record_times(50, 9, true, 7);
        assert_eq!((one.bytes, one.total_ns), (other.bytes, other.total_ns));
        assert_eq!(one.latencies.0, other.latencies.0);
    }
}
