//! A profile as steps: what all atoms do from one start together to the next.

use crate::profile::Profile;
use crate::sample::{Block, BlockKind, Field, Sample, bin_of};
use std::collections::BTreeMap;

/// Calls of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls {
    /// True: writes; false: reads.
    pub write: bool,
    /// Bytes of each.
    pub bytes: u64,
    /// How many.
    pub count: u64,
}

/// What is consumed between two instants at which all atoms stand still.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// How long it was, nanoseconds.
    pub span_ns: u64,
    /// CPU time of each executor, nanoseconds on this machine; as many as were wanted at once.
    pub cpu_ns: Vec<u64>,
    /// Calls on files.
    pub calls: Vec<Calls>,
    /// Resident memory at the end, bytes.
    pub resident: u64,
    /// Memory touched for the first time, bytes.
    pub touched: u64,
    /// Bytes sent to the partner, received from it, and sent to ourselves.
    pub network: [u64; 3],
    /// Bytes of one call on the network; 0 where that is not known.
    pub message: u64,
    /// Calls that bring data to the device.
    pub syncs: u64,
    /// Calls that set a position.
    pub seeks: u64,
    /// Files opened.
    pub opens: u64,
    /// Questions about files.
    pub stats: u64,
    /// Changes of names.
    pub names: u64,
}

impl Step {
    /// No call on a file, or on its name.
    pub fn leaves_files_alone(&self) -> bool {
        let others = [self.syncs, self.seeks, self.opens, self.stats, self.names];
        self.calls.is_empty() && others == [0; 5]
    }

    /// Computation, and memory that stays.
    pub fn computes_alone(&self) -> bool {
        self.leaves_files_alone() && self.network == [0; 3] && self.touched == 0
    }
}

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
        }
    }
}

impl Tuning {
    /// A resource's factor.
    pub fn factor(&self, resource: &str) -> f64 {
        self.scale.get(resource).copied().unwrap_or(1.0) * self.share
    }
}

/// Most executors at once.
pub const WIDEST: usize = 256;

/// The steps of a profile.
pub fn steps(profile: &Profile, samples: &[Sample], tuning: &Tuning) -> Vec<Step> {
    let sizes = Sizes::of(profile, tuning);
    let mut steps = Vec::new();
    let mut open: Option<Sample> = None;
    let mut highest = 0;
    for sample in samples {
        // A level that falls within a step was there all the same.
        highest = highest.max(sample.get(Field::Resident));
        match &mut open {
            Some(open) => open.append(sample),
            None => open = Some(sample.clone()),
        }
        if open.as_ref().is_some_and(|open| open.span_ns >= tuning.least_ns)
            && let Some(done) = open.take()
        {
            steps.push(step(&done, std::mem::take(&mut highest), &sizes, tuning));
        }
    }
    if let Some(last) = open {
        steps.push(step(&last, highest, &sizes, tuning));
    }
    // What no sample saw: a program may be over before the first look, and its peak between two.
    if let Some(most) = steps.iter_mut().max_by_key(|step| step.resident) {
        most.resident = most.resident.max((profile.peak_bytes() as f64 * tuning.factor("memory")) as u64);
    }
    steps
}

fn step(sample: &Sample, resident: u64, sizes: &Sizes, tuning: &Tuning) -> Step {
    let scaled = |resource: &str, amount: u64| (amount as f64 * tuning.factor(resource)).round() as u64;
    let network = [Field::SentBytes, Field::ReceivedBytes, Field::InnerBytes];
    Step {
        span_ns: sample.span_ns,
        cpu_ns: shares(sample, tuning),
        calls: sizes.calls(sample, tuning),
        resident: scaled("memory", resident),
        touched: scaled("memory", sample.get(Field::Faults) * crate::proc::page_bytes()),
        network: network.map(|field| scaled("network", sample.get(field))),
        message: sizes.message,
        syncs: scaled("storage", sample.get(Field::Syncs)),
        seeks: scaled("storage", sample.get(Field::Seeks)),
        opens: scaled("storage", sample.get(Field::Opens)),
        stats: scaled("storage", sample.get(Field::Stats)),
        names: scaled("storage", sample.get(Field::Names)),
    }
}

/// CPU time by executor. How many threads wanted a processor at once is what they used and what they waited for one; they
/// are packed as tightly as the length of the sample allows, so that what came one after the other is not done at once.
fn shares(sample: &Sample, tuning: &Tuning) -> Vec<u64> {
    let cpu_ns = (sample.get(Field::Cpu) as f64 * tuning.factor("cpu") * tuning.cpu_ratio) as u64;
    if let Some(width) = tuning.width {
        return vec![cpu_ns / width as u64; if cpu_ns == 0 { 1 } else { width }];
    }
    let (cpu, delay) = (sample.get(Field::Cpu) as f64, sample.get(Field::Delay) as f64);
    // A little waiting is what any machine has.
    let delay = if delay < 0.1 * cpu { 0.0 } else { delay };
    // A rank has its part of the threads.
    let demand = (cpu + delay) / sample.span_ns.max(1) as f64 * tuning.share;
    let most = (sample.get(Field::Threads) as usize).clamp(1, WIDEST);
    let width = ((demand - 0.1).ceil() as usize)
        .clamp(1, most.max((cpu * tuning.share / sample.span_ns.max(1) as f64).ceil() as usize).min(WIDEST));
    let each = ((cpu_ns as f64 / demand.max(1.0)) as u64).max(cpu_ns / width as u64);
    let mut left = cpu_ns;
    (0..width)
        .map(|place| {
            let mine = if place + 1 == width { left } else { each.min(left) };
            left -= mine;
            mine
        })
        // Nobody is woken for nothing.
        .enumerate()
        .filter(|&(place, mine)| place == 0 || mine > 0)
        .map(|(_, mine)| mine)
        .collect()
}

/// Sizes of calls, as far as they are known: in the sample, in the whole profile, or the mean.
struct Sizes {
    whole: Vec<Block>,
    block: Option<u64>,
    /// Mean of messages, bytes; 0 where it is not known.
    message: u64,
}

impl Sizes {
    fn of(profile: &Profile, tuning: &Tuning) -> Sizes {
        let whole = profile.tail.blocks.clone();
        let messages =
            whole.iter().filter(|block| matches!(block.kind, BlockKind::Send | BlockKind::Receive));
        let (bytes, count) = messages.fold((0, 0), |sum, block| (sum.0 + block.bytes, sum.1 + block.count));
        Sizes { whole, block: tuning.block, message: bytes / count.max(1) }
    }

    fn calls(&self, sample: &Sample, tuning: &Tuning) -> Vec<Calls> {
        let factor = tuning.factor("storage");
        let rows = [
            (false, BlockKind::Read, Field::ReadBytes, Field::Reads),
            (true, BlockKind::Write, Field::WriteBytes, Field::Writes),
        ];
        let mut all = Vec::new();
        for (write, kind, bytes, calls) in rows {
            let total = (sample.get(bytes) as f64 * factor).round() as u64;
            let count = (sample.get(calls) as f64 * factor).round() as u64;
            let known = |blocks: &[Block]| {
                blocks.iter().filter(|block| block.kind == kind).copied().collect::<Vec<_>>()
            };
            let (own, whole) = (known(&sample.blocks), known(&self.whole));
            match self.block {
                Some(block) => all.extend(even(write, total, total.div_ceil(block.max(1)))),
                None if !own.is_empty() => {
                    let scaled = |block: &Block| {
                        even(
                            write,
                            (block.bytes as f64 * factor) as u64,
                            (block.count as f64 * factor).round() as u64,
                        )
                    };
                    all.extend(own.iter().flat_map(scaled));
                }
                None if whole.iter().any(|block| block.bytes > 0) => all.extend(spread(write, total, &whole)),
                None => all.extend(even(write, total, count)),
            }
        }
        all
    }
}

/// `total` bytes in `count` calls: of two sizes, when it does not divide.
fn even(write: bool, total: u64, count: u64) -> Vec<Calls> {
    let count = count.max(u64::from(total > 0));
    if count == 0 {
        return Vec::new();
    }
    let (bytes, larger) = (total / count, total % count);
    let both = [(bytes + 1, larger), (bytes, count - larger)];
    both.into_iter()
        .filter(|&(_, count)| count > 0)
        .map(|(bytes, count)| Calls { write, bytes, count })
        .collect()
}

/// `total` bytes with the sizes of the whole profile, each by its part of the bytes.
fn spread(write: bool, total: u64, whole: &[Block]) -> Vec<Calls> {
    let sum: u64 = whole.iter().map(|block| block.bytes).sum();
    let mut left = total;
    let mut calls = Vec::new();
    for block in whole {
        let bytes = ((total as f64 * block.bytes as f64 / sum as f64).round() as u64).min(left);
        left -= bytes;
        let each = block.bytes / block.count.max(1);
        if bytes > 0 {
            let count = (bytes as f64 / each.max(1) as f64).round().max(1.0) as u64;
            calls.extend(even(write, bytes, count));
        }
    }
    if left > 0 {
        calls.extend(even(write, left, 1));
    }
    debug_assert!(calls.iter().all(|calls| bin_of(calls.bytes) <= 64));
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(span_ns: u64, fields: &[(Field, u64)]) -> Sample {
        let mut sample = Sample { end_ns: span_ns, span_ns, ..Sample::default() };
        fields.iter().for_each(|&(field, value)| sample.set(field, value));
        sample
    }

    #[test]
    fn what_came_one_after_the_other_is_not_done_at_once() {
        let tuning = Tuning::default();
        let serial = sample(100, &[(Field::Cpu, 100), (Field::Threads, 8)]);
        assert_eq!(shares(&serial, &tuning), [100], "eight threads in turn");
        let crowded = sample(100, &[(Field::Cpu, 200), (Field::Delay, 200), (Field::Threads, 4)]);
        assert_eq!(shares(&crowded, &tuning), [50; 4], "four threads on two processors");
        let half = sample(100, &[(Field::Cpu, 150), (Field::Threads, 2)]);
        assert_eq!(shares(&half, &tuning), [100, 50]);
        let wide = Tuning { width: Some(3), ..Tuning::default() };
        assert_eq!(shares(&sample(100, &[(Field::Cpu, 90)]), &wide), [30; 3]);
    }

    #[test]
    fn calls_keep_bytes_and_count() {
        let total = |calls: &[Calls]| {
            calls.iter().fold((0, 0), |sum, one| (sum.0 + one.bytes * one.count, sum.1 + one.count))
        };
        assert_eq!(total(&even(true, 1001, 10)), (1001, 10));
        assert_eq!(total(&even(true, 5, 0)), (5, 1));
        assert!(even(true, 0, 0).is_empty());
        let whole = [(13, 100, 409_600), (3, 100, 400)].map(|(bin, count, bytes)| Block {
            kind: BlockKind::Write,
            bin,
            count,
            bytes,
        });
        let calls = spread(true, 41_000, &whole);
        assert_eq!(total(&calls).0, 41_000);
        assert!(
            calls.iter().any(|calls| calls.bytes == 4) && calls.iter().any(|calls| bin_of(calls.bytes) == 13)
        );
    }
}
