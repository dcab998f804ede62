//! Dependencies from throttled runs: while a node was held before a call, everybody else got as far as they could without it. Who
//! was stuck then, longer than in the base run, and went on after the hold and before the next one was over, waits for the held call
//! (Mesnier et al., "//TRACE", FAST'07, section 3.2). What other rules explain is left out.

mod stalls;
mod steps;

use crate::connect::{Connected, aligned};
use crate::graph::Graph;
use crate::graph::bits::Bits;
use crate::graph::dependency::{Dependencies, Point};
use crate::load::{Recorded, is_throttled};
use crate::notes::Notes;
use crate::progress::Progress;
use stalls::{Pairing, Seen, stalls};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use steps::Steps;
use syn_plan::{Edge, Rule};

/// What the execution manager writes into a throttled run when that is whole.
pub const STATEMENT: &str = "throttle.json";

/// The runs without those throttled ones that were interrupted.
pub fn finished(runs: &[PathBuf], notes: &mut Notes) -> Vec<PathBuf> {
    let (whole, cut): (Vec<PathBuf>, Vec<PathBuf>) =
        runs.iter().cloned().partition(|run| !is_throttled(run) || run.join(STATEMENT).is_file());
    for run in cut {
        notes.remark(format!("left out: {}, a throttled run that was interrupted", run.display()));
    }
    whole
}

/// In how many throttled runs a dependency was seen, and in how many its call was held.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    seen: u16,
    possible: u16,
}

/// Why the dependencies of the rule are believed, by their two ends.
#[derive(Debug, Default)]
pub struct Evidence {
    counts: BTreeMap<(Point, Point), Count>,
}

impl Evidence {
    /// Writes it into the edges of the plan, which stand in the order of the dependencies that are `needed`.
    pub fn note(&self, dependencies: &Dependencies, needed: &Bits, edges: &mut [Edge]) {
        let kept = (0..dependencies.len())
            .filter(|&index| dependencies.target_range(index).any(|moment| needed.contains(moment)));
        for (index, edge) in kept.zip(edges) {
            let [source] = dependencies.sources(index) else { continue };
            let [target] = dependencies.targets(index) else { continue };
            let count = self.counts.get(&(source.point(), target.point()));
            if let Some(count) = count.filter(|_| edge.rule == Rule::Throttled) {
                (edge.evidence.seen, edge.evidence.possible) = (count.seen, count.possible);
            }
        }
    }
}

/// Adds what the throttled runs show.
pub fn connect(
    base: &Recorded,
    runs: &[Recorded],
    connected: &mut Connected,
    progress: &Progress,
    notes: &mut Notes,
) -> Evidence {
    progress.stage("throttled runs");
    let of_base = Steps::of(&base.run, &connected.clocks, progress);
    let mut counts: BTreeMap<(Point, Point), (Seen, Count)> = BTreeMap::new();
    let mut possible: BTreeMap<Point, u16> = BTreeMap::new();
    let mut bound = 0;
    for run in runs {
        let steps = Steps::of(&run.run, &aligned(run, progress), progress);
        let pairing = Pairing::of(base, &of_base, run, &steps);
        let found = stalls(&pairing);
        bound += found.without_verdict;
        let held: BTreeSet<Point> = found.held.iter().map(|moment| moment.point()).collect();
        held.into_iter().for_each(|point| *possible.entry(point).or_default() += 1);
        let mut of_run = BTreeMap::new();
        for seen in found.seen {
            of_run.entry((seen.held.point(), seen.target.point())).or_insert(seen);
        }
        for (ends, seen) in of_run {
            counts.entry(ends).or_insert((seen, Count::default())).1.seen += 1;
        }
    }
    let found = counts.len();
    let mut certain = Vec::new();
    for ((held, _), (seen, mut count)) in counts {
        count.possible = possible.get(&held).copied().unwrap_or(0).max(count.seen);
        let in_plan =
            [seen.held, seen.target].iter().all(|end| connected.in_plan[end.point().thread as usize]);
        // Contradicted as often as seen: chance.
        if in_plan && 2 * count.seen > count.possible {
            certain.push((seen, count));
        }
    }
    let weak = found - certain.len();
    let mut evidence = Evidence::default();
    for (seen, count) in unexplained(&connected.dependencies, certain) {
        connected.dependencies.add_one(Rule::Throttled, seen.source, seen.target);
        evidence.counts.insert((seen.source.point(), seen.target.point()), count);
    }
    notes.tell(format!(
        "{} throttled runs show {found} dependencies, of which other rules or each other explain {}{}{}",
        runs.len(),
        found - weak - evidence.counts.len(),
        if weak > 0 {
            format!("; {weak} were contradicted, or are of threads that are left out")
        } else {
            String::new()
        },
        if bound > 0 {
            format!("; {bound} holds ended without a verdict and show nothing")
        } else {
            String::new()
        },
    ));
    evidence
}

/// Those that nothing else explains: without them the target could come before the held call begins, as it would without the hold.
fn unexplained(others: &Dependencies, all: Vec<(Seen, Count)>) -> Vec<(Seen, Count)> {
    let mut together = Dependencies::default();
    for index in (0..others.len()).filter(|&index| !others.is_chance(index)) {
        together.add(others.rule(index), others.sources(index), others.targets(index));
    }
    let mut places = Vec::new();
    for (seen, count) in all {
        let place = together.len();
        together.add_one(Rule::Throttled, seen.held, seen.target);
        if together.len() > place {
            places.push((place, seen, count));
        }
    }
    let (graph, needed) = Graph::reduced(&together);
    places.retain(|&(place, ..)| {
        !graph.is_dropped(place as u32) && together.target_range(place).any(|moment| needed.contains(moment))
    });
    places.into_iter().map(|(_, seen, count)| (seen, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dependency::{Moment, Stage};

    fn moment(thread: u32, record: u32, stage: Stage, ns: u64) -> Moment {
        Moment::new(Point { thread, record, stage }, ns)
    }

    /// Who stood in a barrier while another one was held before it waited for the barrier.
    #[test]
    fn what_waits_in_a_collective_for_who_is_held_before_it_is_explained() {
        let enters: Vec<Moment> = (0..3).map(|rank| moment(rank, 5, Stage::Enter, 100)).collect();
        let leaves: Vec<Moment> = (0..3).map(|rank| moment(rank, 5, Stage::Leave, 200)).collect();
        let mut others = Dependencies::default();
        others.add(Rule::Collective, &enters, &leaves);
        let seen = |held, target| (Seen { held, source: held, target }, Count { seen: 1, possible: 1 });
        let spins = moment(2, 6, Stage::Enter, 400);
        let all = vec![seen(enters[1], leaves[2]), seen(moment(1, 6, Stage::Enter, 300), spins)];
        let left = unexplained(&others, all);
        assert_eq!(left.iter().map(|(seen, _)| seen.target).collect::<Vec<_>>(), [spins]);
    }
}
