//! A collective operation completes as its kind demands (MPI-4.0, chapter 6): who needs whose data waits for them.

use crate::graph::dependency::{Dependencies, Moment};
use std::collections::BTreeMap;
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
    /// Thread and record of the call that notes of its counts stand behind.
    pub noted: (u32, u32),
}

impl Arrival {
    /// Whether anybody can wait for it. Who gives no bytes keeps nobody waiting: only a barrier is there to wait (MPI-4.0, 6.3), and
    /// what makes or frees something does not work without.
    fn gives(&self) -> bool {
        self.bytes.0 != 0 || !moves_bytes(self.call)
    }

    /// Whether it can wait for anybody.
    fn gets(&self) -> bool {
        self.bytes.1 != 0 || !moves_bytes(self.call)
    }
}

/// Whether an operation is there to move bytes.
fn moves_bytes(call: Call) -> bool {
    kind(call) != Collective::Meeting
}

/// Init, finalize and the making of communicators are for all.
fn kind(call: Call) -> Collective {
    match call.effect() {
        Effect::Mpi(Mpi::Collective(kind) | Mpi::CollectiveRequest(kind) | Mpi::CollectiveInit(kind)) => kind,
        _ => Collective::Meeting,
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
    let is_root = |arrival: &Arrival| i64::from(arrival.rank) == root;
    let those = |which: &dyn Fn(&Arrival) -> bool, moment: fn(&Arrival) -> Moment| {
        arrivals.iter().filter(|arrival| which(arrival)).map(moment).collect::<Vec<_>>()
    };
    if call.effect() == Effect::Mpi(Mpi::Fence) {
        // With assertions a fence need not wait for everybody: see `settle`.
        if agree && arrivals.len() > 1 {
            found.add(Rule::Epoch, &those(&|_| true, |a| a.enter), &those(&|_| true, |a| a.leave));
        }
        return agree;
    }
    let at_root = arrivals.iter().find(|arrival| is_root(arrival));
    match if agree { kind(call) } else { Collective::AllForAll } {
        Collective::Meeting | Collective::AllForAll | Collective::Exchange if arrivals.len() > 1 => {
            let (from, to) = (those(&Arrival::gives, |a| a.enter), those(&Arrival::gets, |a| a.leave));
            found.add(Rule::Collective, &from, &to);
        }
        Collective::Meeting | Collective::AllForAll | Collective::Exchange => {}
        Collective::AllForRoot => {
            if let Some(root) = at_root {
                let to = those(&|other| !is_root(other) && other.gets(), |a| a.leave);
                found.add(Rule::Collective, &[root.enter], &to);
            }
        }
        Collective::RootForAll => {
            if let Some(root) = at_root {
                let from = those(&|other| !is_root(other) && other.gives(), |a| a.enter);
                found.add(Rule::Collective, &from, &[root.leave]);
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

/// Whether each member tells what goes to each other one and comes from it.
pub fn tells_pairs(call: Call) -> bool {
    kind(call) == Collective::Exchange
}

/// Connects the parts of such an operation: each waits for those that it gets bytes from. `told` is what notes say: bytes to each,
/// then from each.
pub fn connect_pairs<'a>(
    arrivals: &[Arrival],
    first_group: u32,
    told: impl Fn(&Arrival) -> Option<&'a [i64]>,
    found: &mut Dependencies,
) {
    // Those that wait for the same ones have one dependency; where all exchange with all there is one in all.
    let mut alike: BTreeMap<Vec<usize>, Vec<Moment>> = BTreeMap::new();
    for (mine, arrival) in arrivals.iter().enumerate() {
        let is_first = |member: &Arrival| member.rank < first_group;
        let is_peer = |other: &Arrival| first_group == 0 || is_first(other) != is_first(arrival);
        let (told, peers_first) = (told(arrival), if is_first(arrival) { first_group } else { 0 });
        let gives = |other: &Arrival| match told {
            Some(each) => {
                let from = each.len() / 2 + other.rank as usize - peers_first as usize;
                each.get(from).is_some_and(|&bytes| bytes != 0)
            }
            None => arrival.gets() && other.gives(),
        };
        // Everybody comes before leaving: nothing more is said by who gives to itself, and fewer differ.
        let is_source = |&index: &usize| {
            index == mine && first_group == 0 || is_peer(&arrivals[index]) && gives(&arrivals[index])
        };
        let sources: Vec<usize> = (0..arrivals.len()).filter(is_source).collect();
        alike.entry(sources).or_default().push(arrival.leave);
    }
    for (sources, targets) in alike {
        let sources: Vec<Moment> = sources.into_iter().map(|index| arrivals[index].enter).collect();
        found.add(Rule::Collective, &sources, &targets);
    }
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
    let from: Vec<Moment> = from.iter().filter(|other| other.gives()).map(|other| other.enter).collect();
    let to: Vec<Moment> = to.iter().filter(|arrival| arrival.gets()).map(|arrival| arrival.leave).collect();
    if !from.is_empty() {
        found.add(Rule::Collective, &from, &to);
    }
}

/// `MPI_Init` and `MPI_Init_thread` meet each other.
fn is_same(one: Call, other: Call) -> bool {
    one == other || [one, other].iter().all(|call| call.effect() == Effect::Mpi(Mpi::Init))
}

/// Rank r has what it needs when rank r - 1 has and has come itself: a chain of m - 1 dependencies says the same as
/// one from every rank to every later one. A link starts where rank r - 1 is done waiting, not where it returned. Of an operation that
/// goes on behind the call the ranks ask whenever they like: what each needs is that the earlier ones have come.
fn chain(arrivals: &[Arrival], found: &mut Dependencies) {
    let is_over_with_the_call =
        |arrival: &Arrival| matches!(arrival.call.effect(), Effect::Mpi(Mpi::Collective(_)));
    if !arrivals.iter().all(is_over_with_the_call) {
        let from: Vec<Moment> = arrivals.iter().map(|arrival| arrival.enter).collect();
        for (rank, arrival) in arrivals.iter().enumerate().skip(1).filter(|(_, arrival)| arrival.gives()) {
            found.add(Rule::Collective, &from[..rank], &[arrival.leave]);
        }
        return;
    }
    for pair in arrivals.windows(2).filter(|pair| pair[1].gives()) {
        let ready = Moment::new(pair[0].leave.point(), pair[0].enter.ns);
        found.add_one(Rule::Collective, ready, pair[1].leave);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dependency::Stage;
    use crate::rules::waking::tests::span;
    use syn_trace::calls::NOBODY;

    /// What members of two groups, of two and three ranks, wait for in one operation: the ranks that come, and those that leave.
    fn between_groups(call: Call, roots: [i64; 5]) -> Vec<(Vec<u32>, Vec<u32>)> {
        let arrival = |(rank, root): (u32, i64)| {
            let times = span(rank, 1, 10 + u64::from(rank), 20);
            let bytes = if moves_bytes(call) { (8, 8) } else { (0, 0) };
            Arrival { rank, call, root, enter: times.enter, leave: times.leave, bytes, noted: (rank, 1) }
        };
        let mut arrivals: Vec<Arrival> = (0..).zip(roots).map(arrival).collect();
        arrivals.reverse();
        let mut found = Dependencies::default();
        assert!(connect(&mut arrivals, 2, &mut found));
        ranks(&found)
    }

    /// The ranks that come, and those that leave, of each dependency.
    fn ranks(found: &Dependencies) -> Vec<(Vec<u32>, Vec<u32>)> {
        let ranks = |moments: &[Moment]| moments.iter().map(|moment| moment.point().thread).collect();
        (0..found.len()).map(|index| (ranks(found.sources(index)), ranks(found.targets(index)))).collect()
    }

    /// Members of one group in an operation with these bytes given and got; the root, if there is one, is 0.
    fn with_bytes(call: Call, bytes: &[(i64, i64)]) -> Vec<Arrival> {
        let arrival = |(rank, &bytes): (u32, &(i64, i64))| {
            let times = span(rank, 1, 10 + u64::from(rank), 20);
            let (enter, leave, noted) = (times.enter, times.leave, (rank, 1));
            Arrival { rank, call, root: 0, enter, leave, bytes, noted }
        };
        (0..).zip(bytes).map(arrival).collect()
    }

    fn one_group(call: Call, bytes: &[(i64, i64)]) -> Vec<(Vec<u32>, Vec<u32>)> {
        let mut found = Dependencies::default();
        assert!(connect(&mut with_bytes(call, bytes), 0, &mut found));
        ranks(&found)
    }

    #[test]
    fn nobody_waits_where_no_bytes_go() {
        use Call::*;
        let nothing = [(0, 0); 3];
        for call in
            [MpiBcast, MpiReduce, MpiAllreduce, MpiGather, MpiScatterv, MpiAlltoall, MpiScan, MpiIBcast]
        {
            assert_eq!(one_group(call, &nothing), [], "{call:?}");
        }
        let all = || vec![0, 1, 2];
        for call in [MpiBarrier, MpiIBarrier, MpiBarrierInit, MpiCommDup, MpiWinCreate, MpiFinalize] {
            assert_eq!(one_group(call, &nothing), [(all(), all())], "{call:?}");
        }
    }

    #[test]
    fn of_different_parts_those_with_bytes_count() {
        use Call::*;
        assert_eq!(one_group(MpiAllgatherv, &[(8, 12), (0, 12), (4, 12)]), [(vec![0, 2], vec![0, 1, 2])]);
        assert_eq!(one_group(MpiReduceScatter, &[(8, 0), (8, 8), (8, 0)]), [(vec![0, 1, 2], vec![1])]);
        assert_eq!(one_group(MpiScatterv, &[(8, 4), (0, 0), (0, 4)]), [(vec![0], vec![2])]);
        assert_eq!(one_group(MpiGatherv, &[(4, 8), (4, 0), (0, 0)]), [(vec![1], vec![0])]);
    }

    #[test]
    fn in_an_exchange_each_waits_for_those_that_it_gets_from() {
        // To each, then from each: 0 gives to itself and 1, 1 to 2, and 2 to nobody.
        let told: [&[i64]; 3] = [&[8, 8, 0, 8, 0, 0], &[0, 0, 8, 8, 0, 0], &[0, 0, 0, 0, 8, 0]];
        let connected = |told: Option<[&[i64]; 3]>, first_group| {
            let mut found = Dependencies::default();
            let arrivals = with_bytes(Call::MpiAlltoallv, &[(16, 8), (8, 8), (0, 8)]);
            let told = |arrival: &Arrival| told.map(|told| told[arrival.rank as usize]);
            connect_pairs(&arrivals, first_group, told, &mut found);
            ranks(&found)
        };
        assert_eq!(connected(Some(told), 0), [(vec![0, 1], vec![1]), (vec![1, 2], vec![2])]);
        assert_eq!(connected(None, 0), [(vec![0, 1], vec![0, 1]), (vec![0, 1, 2], vec![2])]);
        // 0 and 1 give to 2, and 2 to 1.
        let between: [&[i64]; 3] = [&[8, 0], &[8, 8], &[0, 8, 8, 8]];
        assert_eq!(connected(Some(between), 2), [(vec![0, 1], vec![2]), (vec![2], vec![1])]);
    }

    #[test]
    fn of_a_scan_that_was_started_nobody_waits_for_who_asks_late() {
        let connected = |call: Call| {
            let mut found = Dependencies::default();
            chain(&with_bytes(call, &[(8, 8); 3]), &mut found);
            let stages = |index| found.sources(index).iter().map(|moment| moment.point().stage).collect();
            (ranks(&found), (0..found.len()).map(stages).collect::<Vec<Vec<Stage>>>())
        };
        let leaves = vec![vec![Stage::Leave]; 2];
        assert_eq!(connected(Call::MpiScan), (vec![(vec![0], vec![1]), (vec![1], vec![2])], leaves));
        let enters = || vec![vec![Stage::Enter], vec![Stage::Enter; 2]];
        for call in [Call::MpiIScan, Call::MpiScanInit] {
            assert_eq!(connected(call), (vec![(vec![0], vec![1]), (vec![0, 1], vec![2])], enters()));
        }
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
        let arrival = |(rank, times): (u32, &crate::graph::dependency::Span)| Arrival {
            rank,
            call: Call::MpiWinFence,
            root: NOBODY,
            enter: times.enter,
            leave: times.leave,
            bytes: (0, 0),
            noted: (rank, 1),
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
