//! How far the threads of several runs did the same: the longest common subsequence of their events, where two events
//! are alike when call, file and size are.

use crate::clocks::Clocks;
use crate::follow::pass::{Measuring, Seen, Visitor, pass};
use crate::follow::process_tree::ProcessTree;
use crate::graph::dependency::Dependencies;
use crate::load::Recorded;
use crate::progress::Progress;
use crate::rules::thread_create::{self, Standing};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use syn_trace::calls::effect::{Effect, Mpi};
use syn_trace::calls::{Fact, Field};
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::{Call, Layer, record};

/// Differences are looked for within so many events at first, and within [`WIDEST`] when nothing fits there. This
/// bounds the time: Myers' algorithm takes the length times the number of differences.
const NARROWEST: usize = 256;
const WIDEST: usize = 4096;

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

/// What the application did in a run, thread by thread; how often libraries' own threads looked around is chance. Memory:
/// 4 bytes an event.
#[derive(Debug)]
pub struct Outline {
    threads: Vec<(String, Vec<u32>)>,
}

impl Outline {
    /// Goes through a run. Threads are ordered by rank, then by creation.
    pub fn of(recorded: &Recorded, progress: &Progress) -> Outline {
        let run = &recorded.run;
        let clocks = Clocks::recorded(run);
        let mut classes = Classes { threads: vec![Vec::new(); run.threads.len()] };
        let mut process_tree = ProcessTree::new(run, &clocks);
        pass(run, &clocks, Measuring::No, progress, &mut [&mut classes, &mut process_tree]);
        let standings = thread_create::connect(&process_tree, &mut Dependencies::default());
        let rank = |process: usize| recorded.worlds.of_process[process].map(|(_, rank)| rank);
        let mut processes: Vec<usize> =
            (0..run.processes.len()).filter(|&process| !run.processes[process].process_only).collect();
        processes.sort_by_key(|&process| (rank(process).is_none(), rank(process)));
        let mut threads = Vec::new();
        for (number, &process) in processes.iter().enumerate() {
            let owner = match rank(process) {
                Some(rank) => format!("rank {rank}"),
                None => format!("process {number}"),
            };
            let of_application = run.processes[process]
                .threads
                .iter()
                .filter(|&&thread| standings[thread] == Standing::Application);
            for (nth, &thread) in of_application.enumerate() {
                let name = if nth == 0 { owner.clone() } else { format!("{owner} thread {nth}") };
                threads.push((name, std::mem::take(&mut classes.threads[thread])));
            }
        }
        Outline { threads }
    }

    /// Compares every thread with its counterpart in another run; a thread without one agrees in nothing.
    pub fn compare(&self, other: &Outline) -> Vec<Alignment> {
        let mut found = Vec::new();
        for index in 0..self.threads.len().max(other.threads.len()) {
            let (mine, theirs) = (self.threads.get(index), other.threads.get(index));
            let Some((name, _)) = mine.or(theirs) else { continue };
            let events = |thread: Option<&(String, Vec<u32>)>| thread.map_or(0, |(_, classes)| classes.len());
            let alike = match (mine, theirs) {
                (Some((_, mine)), Some((_, theirs))) => count_alike(mine, theirs),
                _ => 0,
            };
            found.push(Alignment { thread: name.clone(), alike, of: events(mine).max(events(theirs)) });
        }
        found
    }
}

/// The length of a common subsequence: the longest, as long as no difference is wider than [`WIDEST`] events.
fn count_alike(mut mine: &[u32], mut theirs: &[u32]) -> usize {
    let (mut alike, mut width) = (0, NARROWEST);
    loop {
        let same = mine.iter().zip(theirs).take_while(|(one, other)| one == other).count();
        alike += same;
        (mine, theirs) = (&mine[same..], &theirs[same..]);
        if mine.is_empty() || theirs.is_empty() {
            return alike;
        }
        let (near, far) = (&mine[..width.min(mine.len())], &theirs[..width.min(theirs.len())]);
        let is_all = near.len() == mine.len() && far.len() == theirs.len();
        let (count, behind) = matches(near, far);
        if count == 0 && width < WIDEST && !is_all {
            width *= 4;
            continue;
        }
        alike += count;
        // Goes on behind the last pair that fits; where none does, behind both windows.
        let (mine_behind, theirs_behind) = if count == 0 { (near.len(), far.len()) } else { behind };
        (mine, theirs) = (&mine[mine_behind..], &theirs[theirs_behind..]);
        width = NARROWEST;
        if is_all {
            return alike;
        }
    }
}

/// How many events of two windows are alike, and where the last of them end.
fn matches(near: &[u32], far: &[u32]) -> (usize, (usize, usize)) {
    let (mut count, mut behind) = (0, (0, 0));
    for op in capture_diff_slices(Algorithm::Myers, near, far) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            count += len;
            behind = (old_index + len, new_index + len);
        }
    }
    (count, behind)
}

struct Classes {
    threads: Vec<Vec<u32>>,
}

impl Visitor for Classes {
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, _: &Descriptors) {
        let event = seen.event;
        // How often a program asks in vain depends on timing alone, and so does what a library does to wait.
        let failed = event.has(record::FAILED);
        let outcome = if failed { i64::from(event.errno) } else { event.result };
        let in_vain = event.call == Call::Repeats || event.call.is_idle(failed, outcome, &event.numbers);
        let waits = matches!(event.call.layer(), Layer::Socket | Layer::Sync | Layer::Time);
        if in_vain || waits && event.has(record::INNER) {
            return;
        }
        let mut hasher = DefaultHasher::new();
        (event.call as u16).hash(&mut hasher);
        touched.path.hash(&mut hasher);
        match event.call.effect() {
            _ if event.call.has(Fact::MovesAtMost) => event.result.hash(&mut hasher),
            Effect::Mpi(Mpi::Send(_) | Mpi::SendRequest(_) | Mpi::Receive) => {
                event.field(Field::Bytes).hash(&mut hasher);
            }
            Effect::Mpi(Mpi::Collective(_) | Mpi::CollectiveRequest(_)) => {
                event.numbers[..2].hash(&mut hasher)
            }
            _ => {}
        }
        self.threads[seen.thread as usize].push(hasher.finish() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::count_alike;

    #[test]
    fn insertions_and_changes_are_found() {
        let base: Vec<u32> = (0..10_000).collect();
        let mut other = base.clone();
        other.splice(500..500, [1_000_000; 300]);
        other.remove(3000);
        other[7000] = 2_000_000;
        assert_eq!(count_alike(&base, &base), 10_000);
        assert_eq!(count_alike(&base, &other), 10_000 - 2);
    }

    #[test]
    fn threads_that_have_nothing_in_common_end() {
        let one = vec![1u32; 50_000];
        let other = vec![2u32; 20_000];
        assert_eq!(count_alike(&one, &other), 0);
        assert_eq!(count_alike(&one, &[]), 0);
    }
}
