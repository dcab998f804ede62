//! How many calls of which sizes a step makes.

use super::step::{Allocations, Calls};
use super::tuning::Tuning;
use crate::profile::Profile;
use crate::sample::{Block, BlockKind, Field, Sample};

/// Sizes of calls, as far as they are known: in the sample, or the mean.
pub struct Sizes {
    whole: Vec<Block>,
    block: Option<u64>,
    /// Mean of messages, bytes; 0 where it is not known.
    pub message: u64,
    /// See [`super::Step::as_files`].
    pub as_files: [f64; 2],
    /// Bytes of messages that are still in the calls on files, received and sent: samples of both are not of the same instant.
    messages: [u64; 2],
    /// Whether samples know the sizes of their reads, of their writes.
    known: [bool; 2],
    /// Which part of the bytes, and of the calls, is in none of those sizes: reads, writes.
    unknown: [[f64; 2]; 2],
    /// Which part of the recorded messages goes within the tree: of those received, of those sent. None where sampling saw more
    /// of them.
    inner: [Option<f64>; 2],
    /// Blocks of each size that are due, of all samples so far.
    due: Vec<f64>,
    allocated: u64,
}

/// Messages that calls on files have moved are in their sums to this part at least.
const NEARLY_ALL: f64 = 0.98;

/// What of a profile makes reads, or writes: bytes and calls, sampled messages that may be among them, recorded ones.
struct Direction {
    bytes: Field,
    calls: Field,
    sampled: [Field; 2],
    files: BlockKind,
    messages: BlockKind,
}

const DIRECTIONS: [Direction; 2] = [
    Direction {
        bytes: Field::ReadBytes,
        calls: Field::Reads,
        sampled: [Field::ReceivedBytes, Field::InnerBytes],
        files: BlockKind::Read,
        messages: BlockKind::Receive,
    },
    Direction {
        bytes: Field::WriteBytes,
        calls: Field::Writes,
        sampled: [Field::SentBytes, Field::InnerBytes],
        files: BlockKind::Write,
        messages: BlockKind::Send,
    },
];

/// Bytes and calls of a kind.
fn sum(blocks: &[Block], kind: BlockKind) -> [u64; 2] {
    let of_kind = blocks.iter().filter(|block| block.kind == kind);
    of_kind.fold([0; 2], |sum, block| [sum[0] + block.bytes, sum[1] + block.count])
}

/// Bytes and calls on pipes and devices, which nothing is emulated for: files are listed with those, sizes are without. (In older
/// profiles they are with them.)
fn on_pipes(profile: &Profile, place: usize, files: BlockKind) -> [u64; 2] {
    let listed = profile.tail.files.iter().filter(|file| file.system != "socket");
    let listed = listed.fold([0; 2], |sum, file| [sum[0] + file.bytes[place], sum[1] + file.calls[place]]);
    let [bytes, calls] = sum(&profile.tail.blocks, files);
    [listed[0].saturating_sub(bytes), listed[1].saturating_sub(calls)]
}

impl Sizes {
    /// Of this profile.
    pub fn of(profile: &Profile, samples: &[Sample], tuning: &Tuning) -> Sizes {
        let whole = profile.tail.blocks.clone();
        let [sent, received] = [BlockKind::Send, BlockKind::Receive].map(|kind| sum(&whole, kind));
        let message = (sent[0] + received[0]) / (sent[1] + received[1]).max(1);
        let mut sizes = Sizes {
            block: tuning.block,
            message,
            as_files: [0.0; 2],
            messages: [0; 2],
            known: [false; 2],
            unknown: [[0.0; 2]; 2],
            inner: [None; 2],
            due: vec![0.0; whole.len()],
            allocated: sum(&whole, BlockKind::Allocate)[1],
            whole,
        };
        for (place, direction) in DIRECTIONS.iter().enumerate() {
            let total = [direction.bytes, direction.calls].map(|field| profile.total(field));
            let pipes = on_pipes(profile, place, direction.files);
            let in_samples = |kind| {
                let of_all = samples.iter().map(|sample| sum(&sample.blocks, kind));
                of_all.fold([0; 2], |sum, more| [sum[0] + more[0], sum[1] + more[1]])
            };
            let (files, recorded) = (in_samples(direction.files), in_samples(direction.messages));
            let [outer, inner] = direction.sampled.map(|field| profile.total(field));
            let messages = [(outer + inner).max(recorded[0]), recorded[1]];
            // Processes that cannot be recorded send and receive as well.
            if recorded[0] > 0 && recorded[0] >= outer + inner {
                // Sampling sees TCP alone: the others are between processes of this machine.
                let all = (outer + inner) as f64;
                sizes.inner[place] = Some(if all > 0.0 { inner as f64 / all } else { 1.0 });
            }
            // Of older profiles samples do not know sizes.
            let all_files = if files[1] > 0 { files[0] } else { sum(&sizes.whole, direction.files)[0] };
            // By whom bytes of messages were moved nobody says. Where calls on files have moved as many more than files are known
            // to have got, they are taken to be those.
            // Where messages were recorded, so were files.
            let more = total[0].saturating_sub(all_files + pipes[0]) as f64 / messages[0].max(1) as f64;
            let as_files = if recorded[1] > 0 {
                more.min(1.0)
            } else {
                f64::from(u8::from(messages[0] > 0 && more >= NEARLY_ALL))
            };
            sizes.as_files[1 - place] = as_files;
            sizes.known[place] = files[1] > 0 || pipes[1] > 0;
            // What processes did that could not be recorded, and what came before the recorder.
            sizes.unknown[place] = std::array::from_fn(|what| {
                let known = (files[what] + pipes[what]) as f64 + messages[what] as f64 * as_files;
                (total[what] as f64 - known).max(0.0) / total[what].max(1) as f64
            });
        }
        sizes
    }

    /// Bytes sent to others, received from others, and sent to ourselves in a sample.
    pub fn network(&self, sample: &Sample) -> [u64; 3] {
        let recorded = |kind| sum(&sample.blocks, kind)[0] as f64;
        let [received, sent] = self.inner;
        let (sent, inner) = match sent {
            Some(within) => {
                let all = recorded(BlockKind::Send);
                ((all * (1.0 - within)).round() as u64, (all * within).round() as u64)
            }
            None => (sample.get(Field::SentBytes), sample.get(Field::InnerBytes)),
        };
        let received = match received {
            Some(within) => (recorded(BlockKind::Receive) * (1.0 - within)).round() as u64,
            None => sample.get(Field::ReceivedBytes),
        };
        [sent, received, inner]
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
    fn without_messages(&mut self, sample: &Sample, place: usize) -> (u64, u64) {
        let direction = &DIRECTIONS[place];
        let (bytes, calls) = (sample.get(direction.bytes), sample.get(direction.calls));
        if self.as_files[1 - place] == 0.0 {
            return (bytes, calls);
        }
        self.messages[place] += direction.sampled.map(|field| sample.get(field)).iter().sum::<u64>();
        let moved = bytes.min(self.messages[place]);
        self.messages[place] -= moved;
        let left = bytes - moved;
        (left, (calls as f64 * left as f64 / bytes.max(1) as f64).round() as u64)
    }

    /// Calls on files in a sample.
    pub fn calls(&mut self, sample: &Sample, tuning: &Tuning) -> Vec<Calls> {
        let factor = tuning.factor("storage");
        let scaled = |amount: u64| (amount as f64 * factor).round() as u64;
        let mut all = Vec::new();
        for (place, direction) in DIRECTIONS.iter().enumerate() {
            let write = place == 1;
            let mut rows = Vec::new();
            if self.known[place] {
                let own = sample.blocks.iter().filter(|block| block.kind == direction.files);
                rows.extend(own.map(|block| (block.bytes, block.count)));
                let unknown = |field: Field, what: usize| {
                    (sample.get(field) as f64 * self.unknown[place][what]).round() as u64
                };
                rows.push((unknown(direction.bytes, 0), unknown(direction.calls, 1)));
            } else {
                rows.push(self.without_messages(sample, place));
            }
            if let Some(block) = self.block {
                let total = scaled(rows.iter().map(|row| row.0).sum());
                rows = vec![(total, total.div_ceil(block.max(1)))];
            } else {
                rows.iter_mut().for_each(|row| *row = (scaled(row.0), scaled(row.1)));
            }
            all.extend(rows.into_iter().flat_map(|(bytes, count)| even(write, bytes, count)));
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
    }

    fn profile(totals: &[(Field, u64)]) -> Profile {
        let mut tail = crate::profile::Tail {
            wall_ns: 100,
            outcome: crate::profile::Outcome::Exited(0),
            totals: [None; crate::sample::WIDTH],
            metrics: Default::default(),
            processes: Vec::new(),
            blocks: Vec::new(),
            files: Vec::new(),
        };
        totals.iter().for_each(|&(field, value)| tail.totals[field as usize] = Some(value));
        let head = crate::profile::Head {
            command: Vec::new(),
            tags: Default::default(),
            started_ns: 0,
            rate: "10".into(),
            source: crate::profile::Source::Sampled,
            machine: String::new(),
        };
        Profile { id: 1, head, tail }
    }

    #[test]
    fn sizes_of_a_sample_are_kept_and_what_was_not_recorded_has_a_mean() {
        let mut sample = Sample::default();
        for (field, value) in [(Field::WriteBytes, 10_000), (Field::Writes, 110), (Field::InnerBytes, 900)] {
            sample.set(field, value);
        }
        let block = |kind, bin, count, bytes| Block { kind, bin, count, bytes };
        sample.blocks = vec![
            block(BlockKind::Write, 13, 2, 8192),
            block(BlockKind::Write, 3, 2, 8),
            block(BlockKind::Send, 10, 2, 1000),
        ];
        let mut profile =
            profile(&[(Field::WriteBytes, 10_000), (Field::Writes, 110), (Field::InnerBytes, 900)]);
        profile.tail.blocks.clone_from(&sample.blocks);
        let mut sizes = Sizes::of(&profile, &[sample.clone()], &Tuning::default());
        assert_eq!((sizes.as_files, sizes.message), ([1.0, 0.0], 500));
        assert_eq!(sizes.network(&sample), [0, 0, 1000], "sampling has missed some of it");
        let calls = sizes.calls(&sample, &Tuning::default());
        let of = |bytes| calls.iter().find(|calls| calls.bytes == bytes).map(|calls| calls.count);
        assert_eq!((of(4096), of(4)), (Some(2), Some(2)));
        // 800 bytes by 104 calls.
        assert_eq!((of(8), of(7)), (Some(72), Some(32)), "{calls:?}");
    }

    #[test]
    fn messages_that_were_written_are_not_written_to_files() {
        let profile =
            profile(&[(Field::WriteBytes, 3000), (Field::ReadBytes, 10), (Field::InnerBytes, 1000)]);
        let mut sizes = Sizes::of(&profile, &[], &Tuning::default());
        assert_eq!(sizes.as_files, [1.0, 0.0], "what was read is less than what was received");
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

    #[test]
    fn what_went_through_pipes_goes_nowhere() {
        let totals = [(Field::WriteBytes, 1000), (Field::Writes, 10)];
        let mut sample = Sample::default();
        totals.iter().for_each(|&(field, value)| sample.set(field, value));
        let mut profile = profile(&totals);
        let row = |path: &str, system: &str, bytes, calls| crate::profile::FileRow {
            path: path.into(),
            system: system.into(),
            bytes: [0, bytes],
            calls: [0, calls],
            blocks: Vec::new(),
        };
        profile.tail.files = vec![row("(pipe)", "-", 900, 8)];
        let calls = |profile: &Profile| {
            let mut sizes = Sizes::of(profile, &[sample.clone()], &Tuning::default());
            sizes
                .calls(&sample, &Tuning::default())
                .iter()
                .map(|calls| calls.bytes * calls.count)
                .sum::<u64>()
        };
        assert_eq!(calls(&profile), 100, "somebody has written it");
        profile.tail.files.push(row("/file", "ext4", 100, 2));
        profile.tail.blocks = vec![Block { kind: BlockKind::Write, bin: 6, count: 2, bytes: 100 }];
        sample.blocks.clone_from(&profile.tail.blocks);
        let mut sizes = Sizes::of(&profile, &[sample.clone()], &Tuning::default());
        let moved = sizes.calls(&sample, &Tuning::default());
        assert_eq!(moved, [Calls { write: true, bytes: 50, count: 2 }]);
    }

    #[test]
    fn what_could_not_be_recorded_is_sent_all_the_same() {
        let mut sample = Sample::default();
        let totals = [(Field::WriteBytes, 1_000_010), (Field::Writes, 20), (Field::SentBytes, 1_000_000)];
        totals.iter().for_each(|&(field, value)| sample.set(field, value));
        let message = Block { kind: BlockKind::Send, bin: 4, count: 1, bytes: 10 };
        sample.blocks = vec![message];
        let mut profile = profile(&totals);
        profile.tail.blocks = vec![message];
        let sizes = Sizes::of(&profile, &[sample.clone()], &Tuning::default());
        assert_eq!(sizes.network(&sample), [1_000_000, 0, 0], "10 bytes were recorded");
        // Sizes of the whole run alone.
        sample.blocks.clear();
        profile.tail.blocks[0].bytes = 2_000_000;
        let sizes = Sizes::of(&profile, &[sample.clone()], &Tuning::default());
        assert_eq!((sizes.network(&sample), sizes.as_files[0]), ([1_000_000, 0, 0], 1.0));
        profile.tail.blocks.push(Block { kind: BlockKind::Write, bin: 20, count: 1, bytes: 900_000 });
        let sizes = Sizes::of(&profile, &[sample], &Tuning::default());
        assert_eq!(sizes.as_files[0], 0.0, "files have got most of what was written");
    }
}
