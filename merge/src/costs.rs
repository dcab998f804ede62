//! What an MPI call costs its own thread, apart from waiting: packing, copying, protocol.
//!
//! The own cost of a call is the time from the last moment it waited for (or its entry) to its return, where the thread
//! kept its processor all the while. Other calls also contain the time until the woken thread got a processor, which a
//! replay has by itself. Their own cost is what is usual for their class among those that kept it.

use crate::graph::dependency::Stage;
use crate::graph::schedule::Schedule;
use crate::mpi::{CallLog, Class, TimedCall};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Which of the sorted observed costs of a class is taken as usual: the median, among calls that kept their processor.
const USUAL: f64 = 0.5;
/// The same where no call of the class did: most of them hold the time until the thread got a processor.
const USUAL_OF_LOST: f64 = 0.1;

/// The usual own cost of every class of MPI calls.
#[derive(Debug)]
pub struct Costs {
    usual: BTreeMap<Class, u64>,
}

/// Calls of a class that kept their processor, or of those that did not.
type Kind = (Class, bool);

impl Costs {
    /// From all calls of a run, which are gone through twice: once to count them by rough costs, once for the exact costs of those
    /// that are about the usual. So a run takes no more memory for many calls than for few.
    pub fn of(log: &CallLog, schedule: &Schedule) -> Costs {
        let rough = gather(
            log,
            schedule,
            |rough: &mut BTreeMap<Kind, Vec<u32>>, kind, ns| {
                count(rough.entry(kind).or_default(), bucket(ns), 1);
            },
            |rough, others| {
                for (kind, others) in others {
                    let counts = rough.entry(kind).or_default();
                    (0..).zip(others).for_each(|(bucket, times)| count(counts, bucket, times));
                }
            },
        );
        let mut near: BTreeMap<Class, Near> = BTreeMap::new();
        for &(class, _) in rough.keys().filter(|&&(_, kept)| !kept) {
            // Calls that kept their processor say best what is usual. Where all did, nobody asks.
            let counts = [true, false].map(|kept| (kept, rough.get(&(class, kept))));
            let best = counts.into_iter().find_map(|(kept, counts)| Some(Near::of(kept, counts?)));
            near.extend(best.map(|best| (class, best)));
        }
        if near.is_empty() {
            return Costs { usual: BTreeMap::new() };
        }
        let exact = gather(
            log,
            schedule,
            |exact: &mut BTreeMap<(Class, u64), u64>, (class, kept), ns| {
                if near.get(&class).is_some_and(|near| (near.kept, near.bucket) == (kept, bucket(ns))) {
                    *exact.entry((class, ns)).or_default() += 1;
                }
            },
            |exact, others| {
                others.into_iter().for_each(|(which, times)| *exact.entry(which).or_default() += times);
            },
        );
        for ((class, ns), times) in exact {
            if let Some(near) = near.get_mut(&class) {
                near.exact.insert(ns, times);
            }
        }
        Costs { usual: near.into_iter().map(|(class, near)| (class, near.usual())).collect() }
    }

    /// What `call` costs, nanoseconds of work, if it waited until `awaited_ns`.
    pub fn of_call(&self, call: &TimedCall, awaited_ns: Option<u64>) -> u64 {
        let own = own(call, awaited_ns);
        if call.kept {
            return own;
        }
        self.usual.get(&call.class).map_or(own, |&usual| own.min(usual))
    }
}

fn own(call: &TimedCall, awaited_ns: Option<u64>) -> u64 {
    call.end_ns.saturating_sub(call.start_ns.max(awaited_ns.unwrap_or(0)))
}

/// Sums up what every call of a run cost its thread, threads side by side: `see` adds a call, `add` the sum of other threads.
fn gather<T: Default + Send>(
    log: &CallLog,
    schedule: &Schedule,
    see: impl Fn(&mut T, Kind, u64) + Sync,
    add: impl Fn(&mut T, T) + Sync,
) -> T {
    let of_thread = |mut sum: T, thread: usize| {
        let mut points = schedule.points(thread);
        for call in log.threads[thread].iter() {
            let mut awaited = None;
            while let Some(point) = points.peek_if(|point| point.record <= call.record) {
                if point.record == call.record && point.stage == Stage::Leave {
                    awaited = point.awaited_ns();
                }
                points.pass(|_| ());
            }
            see(&mut sum, (call.class, call.kept), own(&call, awaited));
        }
        sum
    };
    let join = |mut one: T, other: T| {
        add(&mut one, other);
        one
    };
    (0..log.threads.len()).into_par_iter().fold(T::default, of_thread).reduce(T::default, join)
}

fn count(counts: &mut Vec<u32>, bucket: usize, times: u32) {
    counts.resize(counts.len().max(bucket + 1), 0);
    counts[bucket] += times;
}

/// The bits behind the leading one that costs of a bucket have in common.
const BITS: u32 = 5;

/// Longer costs are in later buckets.
fn bucket(ns: u64) -> usize {
    match ns.checked_ilog2().and_then(|leading| leading.checked_sub(BITS)) {
        Some(dropped) => ((dropped as usize + 1) << BITS) + (ns >> dropped) as usize - (1 << BITS),
        None => ns as usize,
    }
}

/// The costs among which the usual one of a class is.
struct Near {
    kept: bool,
    bucket: usize,
    /// How many of them are less than the usual one.
    less: u64,
    /// How often each cost occurs.
    exact: BTreeMap<u64, u64>,
}

impl Near {
    fn of(kept: bool, counts: &[u32]) -> Near {
        let all: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        let quantile = if kept { USUAL } else { USUAL_OF_LOST };
        let (mut less, mut bucket) = (((all - 1) as f64 * quantile) as u64, 0);
        while less >= u64::from(counts[bucket]) {
            less -= u64::from(counts[bucket]);
            bucket += 1;
        }
        Near { kept, bucket, less, exact: BTreeMap::new() }
    }

    fn usual(self) -> u64 {
        let mut up_to = 0;
        let is_it = |&(_, count): &(u64, u64)| {
            up_to += count;
            up_to > self.less
        };
        self.exact.into_iter().find(is_it).map_or(0, |(ns, _)| ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_rise_and_leave_nothing_out() {
        let mut before = 0;
        for ns in (0..5000).chain((13..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1])) {
            assert!((before..=before + 1).contains(&bucket(ns)) || ns > 5000 && bucket(ns) >= before, "{ns}");
            before = bucket(ns);
        }
        assert_eq!((bucket(31), bucket(32), bucket(33), bucket(64), bucket(66)), (31, 32, 33, 64, 65));
    }

    #[test]
    fn the_usual_cost_is_the_exact_quantile() {
        for (kept, quantile) in [(true, USUAL), (false, USUAL_OF_LOST)] {
            for count in [1usize, 2, 3, 10, 1000] {
                let mut all: Vec<u64> = (0..count as u64).map(|nth| nth * nth * 7919 % 100_003).collect();
                let mut counts = Vec::new();
                for &ns in &all {
                    counts.resize(counts.len().max(bucket(ns) + 1), 0);
                    counts[bucket(ns)] += 1;
                }
                let mut near = Near::of(kept, &counts);
                for &ns in all.iter().filter(|&&ns| bucket(ns) == near.bucket) {
                    *near.exact.entry(ns).or_default() += 1;
                }
                all.sort_unstable();
                assert_eq!(near.usual(), all[((count - 1) as f64 * quantile) as usize]);
            }
        }
    }
}
