//! Which events of two runs correspond: a common subsequence of what their threads did, where two events are alike when call,
//! file, size and failure are.

use crate::across::outline::{Events, Outline};
use crate::graph::dependency::{Point, Stage};
use rayon::prelude::*;
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Differences are looked for within so many events at first, and within [`WIDEST`] when nothing fits there.
const NARROWEST: usize = 256;
const WIDEST: usize = 4096;
/// Comparisons that wider windows may take in a thread, for each of its events and once more for the widest. Without a bound, threads
/// that have nothing in common would take thousands.
const CREDIT_PER_EVENT: usize = 512;

/// How much of a thread is alike in two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Alignment {
    /// The thread, for people.
    pub thread: String,
    /// Events that have their like in the other run.
    pub alike: usize,
    /// Events of the longer of both.
    pub of: usize,
}

impl Alignment {
    /// 0 to 1.
    pub fn rate(&self) -> f64 {
        if self.of == 0 { 1.0 } else { self.alike as f64 / self.of as f64 }
    }
}

/// Records of two threads that correspond, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first in the base.
    pub base: u32,
    /// The first in the other run.
    pub other: u32,
    /// How many.
    pub len: u32,
    /// How many events that are compared precede, in both.
    pub nth: (usize, usize),
}

/// What corresponds in a thread of the base.
#[derive(Clone, Debug)]
pub struct Counterpart {
    /// The other run's thread.
    pub thread: u32,
    /// In both threads' order.
    pub blocks: Vec<Block>,
    /// Events that are alike.
    pub alike: usize,
    /// Events of the longer of both.
    pub of: usize,
}

/// What of the base corresponds to what of another run.
#[derive(Debug)]
pub struct Map {
    /// By thread of the base.
    pub threads: Vec<Option<Counterpart>>,
    /// By thread of the other run.
    base_threads: Vec<Option<u32>>,
}

impl Map {
    /// Aligns threads pair by pair.
    pub fn new(pairs: &[Option<u32>], base: &Outline, other: &Outline) -> Map {
        let align = |(thread, pair): (usize, &Option<u32>)| {
            let (mine, theirs) = (&base.threads[thread], &other.threads[(*pair)? as usize]);
            let same = common(&mine.classes, &theirs.classes);
            let alike = same.iter().map(|&(_, _, len)| len).sum();
            let of = mine.classes.len().max(theirs.classes.len());
            Some(Counterpart { thread: (*pair)?, blocks: of_records(&same, mine, theirs), alike, of })
        };
        let threads: Vec<Option<Counterpart>> = pairs.par_iter().enumerate().map(align).collect();
        let mut base_threads = vec![None; other.threads.len()];
        for (thread, counterpart) in (0u32..).zip(&threads) {
            if let Some(counterpart) = counterpart {
                base_threads[counterpart.thread as usize] = Some(thread);
            }
        }
        Map { threads, base_threads }
    }

    /// Of a thread of the base: events that are alike, and all; none where it has no counterpart.
    pub fn agreement(&self, thread: usize, base: &Outline) -> (usize, usize) {
        let unpaired = (0, base.threads[thread].classes.len());
        self.threads[thread].as_ref().map_or(unpaired, |counterpart| (counterpart.alike, counterpart.of))
    }

    /// Where a point of the base, as [`Events::plain`] gives it, is in the other run.
    pub fn to_other(&self, point: Point) -> Option<Point> {
        let Counterpart { thread, blocks, .. } = self.threads[point.thread as usize].as_ref()?;
        if point.stage == Stage::Around {
            return Some(Point { thread: *thread, ..point });
        }
        let block = blocks.get(blocks.partition_point(|block| block.base <= point.record).checked_sub(1)?)?;
        let within = point.record - block.base;
        (within < block.len).then_some(Point { thread: *thread, record: block.other + within, ..point })
    }

    /// The opposite.
    pub fn to_base(&self, point: Point) -> Option<Point> {
        let thread = self.base_threads[point.thread as usize]?;
        if point.stage == Stage::Around {
            return Some(Point { thread, ..point });
        }
        let Counterpart { blocks, .. } = self.threads[thread as usize].as_ref()?;
        let block =
            blocks.get(blocks.partition_point(|block| block.other <= point.record).checked_sub(1)?)?;
        let within = point.record - block.other;
        (within < block.len).then_some(Point { thread, record: block.base + within, ..point })
    }
}

/// Blocks of records, from blocks of events: between these lie records that are not compared.
fn of_records(same: &[(usize, usize, usize)], mine: &Events, theirs: &Events) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for &(at, other_at, len) in same {
        let pairs = mine.records[at..at + len].iter().zip(&theirs.records[other_at..other_at + len]);
        for (nth, (&base, &other)) in pairs.enumerate() {
            match blocks.last_mut() {
                Some(last) if (last.base + last.len, last.other + last.len) == (base, other) => last.len += 1,
                _ => blocks.push(Block { base, other, len: 1, nth: (at + nth, other_at + nth) }),
            }
        }
    }
    blocks
}

/// A common subsequence, as stretches: where each begins in both, and its length. It is the longest as long as no difference
/// is wider than the window.
pub fn common(mine: &[u32], theirs: &[u32]) -> Vec<(usize, usize, usize)> {
    let (mut at, mut other_at) = (0, 0);
    let mut found = Vec::new();
    let mut width = NARROWEST;
    let mut credit = mine.len().max(theirs.len()).saturating_mul(CREDIT_PER_EVENT) + WIDEST * WIDEST;
    loop {
        let (rest, other_rest) = (&mine[at..], &theirs[other_at..]);
        let same = rest.iter().zip(other_rest).take_while(|(one, other)| one == other).count();
        if same > 0 {
            found.push((at, other_at, same));
        }
        (at, other_at) = (at + same, other_at + same);
        let (rest, other_rest) = (&rest[same..], &other_rest[same..]);
        if rest.is_empty() || other_rest.is_empty() {
            return found;
        }
        let (near, far) = (&rest[..width.min(rest.len())], &other_rest[..width.min(other_rest.len())]);
        let is_all = near.len() == rest.len() && far.len() == other_rest.len();
        let stretches = equal_stretches(near, far);
        let Some(&(last, other_last, len)) = stretches.last() else {
            let wider = width * 4;
            let cost = wider.min(rest.len()) * wider.min(other_rest.len());
            if width < WIDEST && !is_all && credit >= cost {
                (width, credit) = (wider, credit - cost);
                continue;
            }
            // Nothing fits: goes on behind both windows.
            (at, other_at, width) = (at + near.len(), other_at + far.len(), NARROWEST);
            continue;
        };
        found.extend(
            stretches.iter().map(|&(start, other_start, len)| (at + start, other_at + other_start, len)),
        );
        (at, other_at, width) = (at + last + len, other_at + other_last + len, NARROWEST);
        if is_all {
            return found;
        }
    }
}

fn equal_stretches(near: &[u32], far: &[u32]) -> Vec<(usize, usize, usize)> {
    let equal = |op| match op {
        DiffOp::Equal { old_index, new_index, len } => Some((old_index, new_index, len)),
        _ => None,
    };
    capture_diff_slices(Algorithm::Myers, near, far).into_iter().filter_map(equal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(mine: &[u32], theirs: &[u32]) -> usize {
        let stretches = common(mine, theirs);
        for &(at, other_at, len) in &stretches {
            assert_eq!(mine[at..at + len], theirs[other_at..other_at + len]);
        }
        let in_order = |pair: &[(usize, usize, usize)]| {
            pair[0].0 + pair[0].2 <= pair[1].0 && pair[0].1 + pair[0].2 <= pair[1].1
        };
        assert!(stretches.windows(2).all(in_order));
        stretches.iter().map(|&(_, _, len)| len).sum()
    }

    #[test]
    fn insertions_and_changes_are_found() {
        let base: Vec<u32> = (0..10_000).collect();
        let mut other = base.clone();
        other.splice(500..500, [1_000_000; 300]);
        other.remove(3000);
        other[7000] = 2_000_000;
        assert_eq!(count(&base, &base), 10_000);
        assert_eq!(count(&base, &other), 10_000 - 2);
    }

    #[test]
    fn threads_that_have_nothing_in_common_end() {
        let one = vec![1u32; 50_000];
        let other = vec![2u32; 20_000];
        assert_eq!(count(&one, &other), 0);
        assert_eq!(count(&one, &[]), 0);
    }

    #[test]
    fn points_go_there_and_back() {
        let events = |classes: &[u32], records: &[u32]| Events {
            classes: classes.to_vec(),
            records: records.to_vec(),
            ..Events::default()
        };
        // The base has a record that is not compared (2), the other run one event more (8).
        let base = Outline { threads: vec![events(&[5, 6, 7], &[0, 1, 3])], ..Outline::default() };
        let threads = vec![Events::default(), events(&[5, 8, 6, 7], &[0, 1, 2, 3])];
        let other = Outline { threads, ..Outline::default() };
        let map = Map::new(&[Some(1)], &base, &other);
        let point = |thread, record| Point { thread, record, stage: Stage::Leave };
        let there: Vec<_> = (0..4).map(|record| map.to_other(point(0, record)).map(|at| at.record)).collect();
        assert_eq!(there, [Some(0), Some(2), None, Some(3)]);
        let back: Vec<_> = (0..4).map(|record| map.to_base(point(1, record)).map(|at| at.record)).collect();
        assert_eq!(back, [Some(0), None, Some(1), Some(3)]);
        assert_eq!(map.to_base(point(0, 0)), None);
    }
}
