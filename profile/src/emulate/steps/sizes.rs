//! How many calls of which sizes a step makes.

use super::{Allocations, Calls, Tuning};
use crate::profile::Profile;
use crate::sample::{Block, BlockKind, Field, Sample, bin_of};

/// Sizes of calls, as far as they are known: in the sample, in the whole profile, or the mean.
pub struct Sizes {
    whole: Vec<Block>,
    block: Option<u64>,
    /// Mean of messages, bytes; 0 where it is not known.
    pub message: u64,
    /// See [`super::Step::as_files`].
    pub as_files: [bool; 2],
    /// Bytes of messages that are still in the calls on files, received and sent: samples of both are not of the same instant.
    messages: [u64; 2],
    /// Blocks of each size that are due, of all samples so far.
    due: Vec<f64>,
    allocated: u64,
}

/// Messages that calls on files have moved are in their sums to this part at least.
const NEARLY_ALL: f64 = 0.98;

impl Sizes {
    /// Of this profile.
    pub fn of(profile: &Profile, tuning: &Tuning) -> Sizes {
        let whole = profile.tail.blocks.clone();
        let messages =
            whole.iter().filter(|block| matches!(block.kind, BlockKind::Send | BlockKind::Receive));
        let (bytes, count) = messages.fold((0, 0), |sum, block| (sum.0 + block.bytes, sum.1 + block.count));
        let kind = |kind| whole.iter().filter(move |block| block.kind == kind);
        // By whom bytes of messages were moved nobody says. Where calls on files have moved as many more than files are known to
        // have got, they are taken to be those.
        let counted_in = |calls: Field, messages: [Field; 2], files: BlockKind| {
            let messages = messages.map(|field| profile.total(field)).iter().sum::<u64>() as f64;
            let files: u64 = kind(files).map(|block| block.bytes).sum();
            messages > 0.0 && profile.total(calls) as f64 >= files as f64 + NEARLY_ALL * messages
        };
        let as_files = [
            counted_in(Field::WriteBytes, [Field::SentBytes, Field::InnerBytes], BlockKind::Write),
            counted_in(Field::ReadBytes, [Field::ReceivedBytes, Field::InnerBytes], BlockKind::Read),
        ];
        let allocated = kind(BlockKind::Allocate).map(|block| block.count).sum();
        let due = vec![0.0; whole.len()];
        let message = bytes / count.max(1);
        Sizes { block: tuning.block, message, as_files, messages: [0; 2], due, allocated, whole }
    }

    /// Blocks that the allocator gave in a sample: of the sizes of the whole run, each by its part of the calls.
    pub fn allocations(&mut self, sample: &Sample, tuning: &Tuning) -> Vec<Allocations> {
        let part =
            sample.get(Field::Allocations) as f64 * tuning.factor("memory") / self.allocated.max(1) as f64;
        let mut all = Vec::new();
        for (due, block) in self.due.iter_mut().zip(&self.whole) {
            if block.kind == BlockKind::Allocate && part > 0.0 {
                *due += block.count as f64 * part;
                let count = due.round().max(0.0);
                *due -= count;
                all.push(Allocations { bytes: block.bytes / block.count.max(1), count: count as u64 });
            }
        }
        all.retain(|blocks| blocks.count > 0);
        all
    }

    /// What calls on files have moved in a sample without what they have sent or received: bytes and calls.
    fn without_messages(&mut self, sample: &Sample, write: bool) -> (u64, u64) {
        let (bytes, calls, messages, place) = if write {
            (Field::WriteBytes, Field::Writes, [Field::SentBytes, Field::InnerBytes], 1)
        } else {
            (Field::ReadBytes, Field::Reads, [Field::ReceivedBytes, Field::InnerBytes], 0)
        };
        let (bytes, calls) = (sample.get(bytes), sample.get(calls));
        if !self.as_files[1 - place] {
            return (bytes, calls);
        }
        self.messages[place] += messages.map(|field| sample.get(field)).iter().sum::<u64>();
        let moved = bytes.min(self.messages[place]);
        self.messages[place] -= moved;
        let left = bytes - moved;
        (left, (calls as f64 * left as f64 / bytes.max(1) as f64).round() as u64)
    }

    /// Calls on files in a sample.
    pub fn calls(&mut self, sample: &Sample, tuning: &Tuning) -> Vec<Calls> {
        let factor = tuning.factor("storage");
        let rows = [(false, BlockKind::Read), (true, BlockKind::Write)];
        let mut all = Vec::new();
        for (write, kind) in rows {
            let (total, count) = self.without_messages(sample, write);
            let total = (total as f64 * factor).round() as u64;
            let count = (count as f64 * factor).round() as u64;
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

    #[test]
    fn messages_that_were_written_are_not_written_to_files() {
        let mut tail = crate::profile::Tail {
            wall_ns: 100,
            outcome: crate::profile::Outcome::Exited(0),
            totals: [None; crate::sample::WIDTH],
            metrics: Default::default(),
            processes: Vec::new(),
            blocks: Vec::new(),
            files: Vec::new(),
        };
        tail.totals[Field::WriteBytes as usize] = Some(3000);
        tail.totals[Field::ReadBytes as usize] = Some(10);
        tail.totals[Field::InnerBytes as usize] = Some(1000);
        let head = crate::profile::Head {
            command: Vec::new(),
            tags: Default::default(),
            started_ns: 0,
            rate: "10".into(),
            source: crate::profile::Source::Sampled,
            machine: String::new(),
        };
        let mut sizes = Sizes::of(&Profile { id: 1, head, tail }, &Tuning::default());
        assert_eq!(sizes.as_files, [true, false], "what was read is less than what was received");
        // The message is seen a sample before the call that wrote it.
        let mut first = Sample::default();
        first.set(Field::InnerBytes, 1000);
        first.set(Field::WriteBytes, 400);
        first.set(Field::Writes, 4);
        assert!(sizes.calls(&first, &Tuning::default()).is_empty());
        let mut second = Sample::default();
        second.set(Field::WriteBytes, 2600);
        second.set(Field::Writes, 26);
        let calls = sizes.calls(&second, &Tuning::default());
        assert_eq!(calls, [Calls { write: true, bytes: 100, count: 20 }]);
    }
}
