//! Collective operations as a replay makes them again: who gives and gets how much.

use super::{Communication, bytes};
use crate::follow::pass::Seen;
use crate::mpi::Communicator;
use syn_plan::{Collective, NOBODY};
use syn_trace::Call;

/// What a collective operation is in the plan.
pub(super) struct Gathered {
    pub(super) kind: Collective,
    pub(super) comm: u32,
    pub(super) root: i32,
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) counts: u32,
    pub(super) from: u32,
}

impl Communication<'_> {
    /// Takes part in the next operation on a communicator. None for one that not all members reached.
    pub(super) fn gather(&mut self, seen: &Seen<'_>, handle: i64) -> Option<Gathered> {
        let Seen { process, thread, record, .. } = *seen;
        let (call, n) = (seen.event.call, &seen.event.numbers);
        let [sent, received] = [n[0], n[1]].map(bytes);
        let comm = self.comm(process, handle);
        let instance = self.communicators.take_part(process, handle);
        let (kind, comm) = (self.named(call).kind?, comm?);
        if instance.is_some_and(|instance| self.matching.broken.contains(&instance.id)) {
            return None;
        }
        if kind.is_among_neighbours() {
            return self.gather_neighbours(seen, kind, comm);
        }
        // Of two groups a process names members of the other one.
        let both = instance.map(|instance| (instance, self.communicators.get(instance.id.0)));
        let both = both.filter(|(_, both)| both.first_group > 0);
        let root = match both {
            Some((instance, _)) => self.matching.roots.get(&instance.id).map_or(NOBODY, |&root| root as i32),
            None => n[2] as i32,
        };
        // Of all members, or of none.
        if let Some(told) = self.matching.told.get(&((thread, record), Call::MpiCounts)) {
            let each: Vec<u64> = told.iter().map(|&number| bytes(number)).collect();
            let (counts, from) = each.split_at(each.len() / 2);
            let of_all = |list: &[u64]| match both {
                Some((instance, both)) => among_both(both, instance.rank, list),
                None => list.to_vec(),
            };
            let [counts, from] = [counts, from].map(of_all).map(|list| self.lists.number(list));
            return Some(Gathered { kind, comm, root, sent, received, counts, from });
        }
        let traffic =
            instance.and_then(|instance| Some((self.matching.traffic.get(&instance.id)?, instance.rank)));
        let Some((traffic, rank)) = traffic else {
            return Some(Gathered { kind, comm, root, sent, received, counts: 0, from: 0 });
        };
        let given = || traffic.iter().map(|&(sent, _)| bytes(sent)).collect::<Vec<_>>();
        let got = || traffic.iter().map(|&(_, received)| bytes(received)).collect::<Vec<_>>();
        let (counts, from) = match kind {
            Collective::Gatherv | Collective::Allgatherv => (given(), Vec::new()),
            Collective::Scatterv | Collective::ReduceScatter => (got(), Vec::new()),
            _ if both.is_some() => return None,
            _ => share(&given(), &got(), rank as usize),
        };
        let [counts, from] = [counts, from].map(|list| self.lists.number(list));
        Some(Gathered { kind, comm, root, sent, received, counts, from })
    }
}

/// Numbers of the other group's members among those of both, in which the own ones have nothing.
fn among_both(both: &Communicator, mine: u32, others: &[u64]) -> Vec<u64> {
    let first = both.first_group as usize;
    let own = vec![0; if mine < both.first_group { first } else { both.members.len() - first }];
    if mine < both.first_group { [&own, others].concat() } else { [others, &own].concat() }
}

/// The operation that a call, its non-blocking form and its persistent one do.
pub(super) fn kind(call: Call) -> Option<Collective> {
    let name = call.name().trim_end_matches("_init");
    Collective::ALL.iter().copied().find(|kind| {
        let (kind, name) = (kind.name().trim_start_matches("MPI_"), name.trim_start_matches("MPI_"));
        name == kind || name.strip_prefix('I').is_some_and(|name| name.eq_ignore_ascii_case(kind))
    })
}

/// What member `mine` sends to each and gets from each, where it is known only how much each sends and gets in all: in
/// proportion to both. What rounding leaves goes where there is room, from the first on.
fn share(sent: &[u64], received: &[u64], mine: usize) -> (Vec<u64>, Vec<u64>) {
    let all = sent.iter().sum::<u64>().max(received.iter().sum()).max(1);
    let part = |row: usize, column: usize| {
        (u128::from(sent[row]) * u128::from(received[column]) / u128::from(all)) as u64
    };
    let mut to: Vec<u64> = (0..received.len()).map(|column| part(mine, column)).collect();
    let mut from: Vec<u64> = (0..sent.len()).map(|row| part(row, mine)).collect();
    let mut left: Vec<u64> = (0..sent.len())
        .map(|row| sent[row] - (0..received.len()).map(|column| part(row, column)).sum::<u64>())
        .collect();
    let mut room: Vec<u64> = (0..received.len())
        .map(|column| received[column] - (0..sent.len()).map(|row| part(row, column)).sum::<u64>())
        .collect();
    let (mut row, mut column) = (0, 0);
    while row < left.len() && column < room.len() {
        let moved = left[row].min(room[column]);
        left[row] -= moved;
        room[column] -= moved;
        to[column] += if row == mine { moved } else { 0 };
        from[row] += if column == mine { moved } else { 0 };
        if left[row] == 0 { row += 1 } else { column += 1 }
    }
    (to, from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_agree() {
        for (sent, received) in [
            (vec![10, 20, 30], vec![20, 20, 20]),
            (vec![0, 7, 1], vec![3, 3, 2]),
            (vec![5, 5], vec![0, 10]),
            (vec![0, 0], vec![0, 0]),
        ] {
            let shares: Vec<_> = (0..sent.len()).map(|mine| share(&sent, &received, mine)).collect();
            for (mine, (to, from)) in shares.iter().enumerate() {
                assert_eq!(to.iter().sum::<u64>(), sent[mine]);
                assert_eq!(from.iter().sum::<u64>(), received[mine]);
                for (other, (_, from)) in shares.iter().enumerate() {
                    assert_eq!(to[other], from[mine], "from {mine} to {other}");
                }
            }
        }
    }

    #[test]
    fn calls_of_one_operation_have_one_kind() {
        for call in [Call::MpiReduceScatter, Call::MpiIReduceScatter, Call::MpiReduceScatterInit] {
            assert_eq!(kind(call), Some(Collective::ReduceScatter));
        }
        assert_eq!(kind(Call::MpiIBarrier), Some(Collective::Barrier));
    }
}
