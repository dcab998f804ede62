//! A collective operation completes as its kind demands (MPI-4.0, chapter 6): who needs whose data waits for them.

use crate::graph::dependency::{Dependencies, Moment};
use syn_plan::Rule;
use syn_trace::Call;
use syn_trace::calls::ROOT;
use syn_trace::calls::effect::{Collective, Effect, Mpi};

/// One member's part in a collective operation.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its rank in the communicator.
    pub rank: u32,
    /// What it called.
    pub call: Call,
    /// The root it named, as a rank in the communicator.
    pub root: i64,
    /// When it came.
    pub enter: Moment,
    /// When it left.
    pub leave: Moment,
    /// Bytes that it gave, and got.
    pub bytes: (i64, i64),
}

/// Init, finalize and the making of communicators are for all.
fn kind(call: Call) -> Collective {
    match call.effect() {
        Effect::Mpi(Mpi::Collective(kind) | Mpi::CollectiveRequest(kind) | Mpi::CollectiveInit(kind)) => kind,
        _ => Collective::AllForAll,
    }
}

/// Whether it is among neighbours.
pub fn is_among_neighbours(call: Call) -> bool {
    kind(call) == Collective::Neighbours
}

/// Whether members may give and get different amounts: the v- and w-forms, and a scattered reduction.
pub fn varies(call: Call) -> bool {
    let name = call.name();
    let name = name.strip_suffix("_init").unwrap_or(name);
    name.ends_with(['v', 'w']) || name.ends_with("educe_scatter")
}

/// Connects the parts of one operation. False when the members called different kinds; then all wait for all.
/// `first_group` is how many of the communicator belong to the first of two groups, 0 where there is one.
pub fn connect(arrivals: &mut [Arrival], first_group: u32, found: &mut Dependencies) -> bool {
    arrivals.sort_unstable_by_key(|arrival| arrival.rank);
    let first = arrivals.partition_point(|arrival| arrival.rank < first_group);
    if first_group > 0 && arrivals.iter().all(|arrival| is_same(arrival.call, arrivals[0].call)) {
        let (first, second) = arrivals.split_at(first);
        between(first, second, found);
        between(second, first, found);
        return true;
    }
    let [first, ..] = arrivals else { return true };
    let (call, root) = (first.call, first.root);
    let agree = arrivals.iter().all(|arrival| is_same(arrival.call, call));
    let all = |moment: fn(&Arrival) -> Moment| arrivals.iter().map(moment).collect::<Vec<_>>();
    let others = |moment: fn(&Arrival) -> Moment| {
        arrivals.iter().filter(|arrival| i64::from(arrival.rank) != root).map(moment).collect::<Vec<_>>()
    };
    if call.effect() == Effect::Mpi(Mpi::Fence) {
        // With assertions a fence need not wait for everybody: see `settle`.
        if agree && arrivals.len() > 1 {
            found.add(Rule::Epoch, &all(|a| a.enter), &all(|a| a.leave));
        }
        return agree;
    }
    let at_root = arrivals.iter().find(|arrival| i64::from(arrival.rank) == root);
    match if agree { kind(call) } else { Collective::AllForAll } {
        Collective::AllForAll if arrivals.len() > 1 => {
            found.add(Rule::Collective, &all(|a| a.enter), &all(|a| a.leave))
        }
        Collective::AllForAll => {}
        Collective::AllForRoot => {
            if let Some(root) = at_root {
                found.add(Rule::Collective, &[root.enter], &others(|a| a.leave));
            }
        }
        Collective::RootForAll => {
            if let Some(root) = at_root {
                found.add(Rule::Collective, &others(|a| a.enter), &[root.leave]);
            }
        }
        Collective::LaterForEarlier => chain(arrivals, found),
        // Who waits for whom is not followed.
        Collective::Neighbours => {}
    }
    agree
}

/// Once the clocks are aligned: forgets the epochs of windows that did not wait. An assertion may say that nobody needs to; then
/// somebody left before another one came.
pub fn settle(found: &mut Dependencies) {
    found.retain(|rule, sources, targets| {
        let last_ns = sources.iter().map(|source| source.ns).max();
        rule != Rule::Epoch || targets.iter().all(|target| Some(target.ns) >= last_ns)
    });
}

/// What one group of an inter-communicator waits for in the other (MPI-4.1, 6.2.3 and 6.8): who gets data, for those who give them.
fn between(group: &[Arrival], others: &[Arrival], found: &mut Dependencies) {
    let Some(call) = group.first().map(|arrival| arrival.call) else { return };
    let root = |arrival: &&Arrival| arrival.root == ROOT;
    let (from, to): (Vec<_>, Vec<_>) = match kind(call) {
        Collective::AllForRoot => match others.iter().find(root) {
            Some(root) => (vec![root], group.iter().collect()),
            None => return,
        },
        Collective::RootForAll => match group.iter().find(root) {
            Some(root) => (others.iter().collect(), vec![root]),
            None => return,
        },
        _ => (others.iter().collect(), group.iter().collect()),
    };
    let from: Vec<Moment> = from.iter().map(|arrival| arrival.enter).collect();
    let to: Vec<Moment> = to.iter().map(|arrival| arrival.leave).collect();
    if !from.is_empty() {
        found.add(Rule::Collective, &from, &to);
    }
}

/// `MPI_Init` and `MPI_Init_thread` meet each other.
fn is_same(one: Call, other: Call) -> bool {
    one == other || [one, other].iter().all(|call| call.effect() == Effect::Mpi(Mpi::Init))
}

/// Rank r has what it needs when rank r - 1 has and has come itself: a chain of m - 1 dependencies says the same as
/// one from every rank to every later one. A link starts where rank r - 1 is done waiting, not where it returned.
fn chain(arrivals: &[Arrival], found: &mut Dependencies) {
    for pair in arrivals.windows(2) {
        let ready = Moment::new(pair[0].leave.point(), pair[0].enter.ns);
        found.add_one(Rule::Collective, ready, pair[1].leave);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::span;
    use syn_trace::calls::NOBODY;

    /// What members of two groups, of two and three ranks, wait for in one operation: the ranks that come, and those that leave.
    fn between_groups(call: Call, roots: [i64; 5]) -> Vec<(Vec<u32>, Vec<u32>)> {
        let arrival = |(rank, root): (u32, i64)| {
            let times = span(rank, 1, 10 + u64::from(rank), 20);
            Arrival { rank, call, root, enter: times.enter, leave: times.leave, bytes: (0, 0) }
        };
        let mut arrivals: Vec<Arrival> = (0..).zip(roots).map(arrival).collect();
        arrivals.reverse();
        let mut found = Dependencies::default();
        assert!(connect(&mut arrivals, 2, &mut found));
        let ranks = |moments: &[Moment]| moments.iter().map(|moment| moment.point().thread).collect();
        (0..found.len()).map(|index| (ranks(found.sources(index)), ranks(found.targets(index)))).collect()
    }

    #[test]
    fn a_group_waits_for_the_other_one() {
        let found = between_groups(Call::MpiBarrier, [NOBODY; 5]);
        assert_eq!(found, [(vec![2, 3, 4], vec![0, 1]), (vec![0, 1], vec![2, 3, 4])]);
    }

    #[test]
    fn a_root_is_in_one_group_and_the_others_in_the_other() {
        let roots = [NOBODY, ROOT, 1, 1, 1];
        assert_eq!(between_groups(Call::MpiBcast, roots), [(vec![1], vec![2, 3, 4])]);
        assert_eq!(between_groups(Call::MpiReduce, roots), [(vec![2, 3, 4], vec![1])]);
    }

    #[test]
    fn fences_are_judged_when_clocks_are_aligned() {
        // The clock of thread 1 is 100 ns ahead: it seems to come when the other one has left.
        let times = [span(0, 1, 10, 50), span(1, 1, 140, 150)];
        let arrival = |(rank, times): (u32, &crate::rules::open_file::Span)| Arrival {
            rank,
            call: Call::MpiWinFence,
            root: NOBODY,
            enter: times.enter,
            leave: times.leave,
            bytes: (0, 0),
        };
        let left = |ahead_ns: u64| {
            let mut found = Dependencies::default();
            let mut arrivals: Vec<Arrival> = (0..).zip(&times).map(arrival).collect();
            assert!(connect(&mut arrivals, 0, &mut found));
            found.retime(|thread, ns| ns - u64::from(thread) * ahead_ns);
            settle(&mut found);
            found.len()
        };
        assert_eq!((left(100), left(0)), (1, 0));
    }
}
