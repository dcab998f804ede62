//! Communicators with a topology, and collective operations among neighbours.
//!
//! Whatever a topology was made from, a replay makes it by its edges. Beyond the border of a grid is nobody, who is left out.

use super::collectives::Gathered;
use super::{Communication, bytes};
use crate::follow::pass::Seen;
use syn_plan::{Collective, Creation, Mpi, NONE};
use syn_trace::Call;
use syn_trace::calls::NOBODY;

/// From whom a process receives in a communicator, and to whom it sends: ranks in it, or nobody.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    is_grid: bool,
    sources: Vec<i64>,
    destinations: Vec<i64>,
}

impl Neighbours {
    /// From the numbers of a note.
    fn of(told: &[i64]) -> Option<Neighbours> {
        let (&[is_grid, sources], ranks) = told.split_first_chunk()?;
        let (sources, destinations) = ranks.split_at_checked(usize::try_from(sources).ok()?)?;
        let mut found = Neighbours {
            is_grid: is_grid != 0,
            sources: sources.to_vec(),
            destinations: destinations.to_vec(),
        };
        found.destinations = found.in_order(destinations);
        Some(found)
    }

    /// What goes to the destinations, in the order in which it is to be sent. In a ring of two each is on both sides of the other,
    /// and what one sends forwards comes to the other from behind: so that comes first.
    fn in_order(&self, given: &[i64]) -> Vec<i64> {
        let mut given = given.to_vec();
        if self.is_grid {
            given.chunks_exact_mut(2).for_each(<[i64]>::reverse);
        }
        given
    }
}

/// Of as many values as neighbours those that somebody has.
fn there(ranks: &[i64], values: &[i64]) -> Vec<i64> {
    ranks.iter().zip(values).filter(|&(&rank, _)| rank != NOBODY).map(|(_, &value)| value).collect()
}

/// The part of a sum over all neighbours that somebody has.
fn part(sum: u64, ranks: &[i64]) -> u64 {
    sum / (ranks.len() as u64).max(1) * there(ranks, ranks).len() as u64
}

impl Communication<'_> {
    /// Follows the making of a communicator; how one with a topology is made.
    pub(super) fn make_topology(
        &mut self,
        seen: &Seen<'_>,
        (how, comm, new): (Creation, u32, u32),
    ) -> Option<Mpi> {
        if new == NONE {
            return None;
        }
        if matches!(how, Creation::Dup | Creation::DupWithInfo) {
            if let Some(copied) = self.neighbours.get(&(seen.process, comm)).cloned() {
                self.neighbours.insert((seen.process, new), copied);
            }
            return None;
        }
        let told = self.matching.told.get(&((seen.thread, seen.record), Call::MpiNeighbours))?;
        let neighbours = Neighbours::of(told)?;
        let [sources, destinations] = [&neighbours.sources, &neighbours.destinations].map(|ranks| {
            let there = there(ranks, ranks).into_iter().map(|rank| rank.max(0) as u64);
            self.lists.number(there.collect())
        });
        self.neighbours.insert((seen.process, new), neighbours);
        Some(Mpi::MakeTopology { comm, new, sources, destinations })
    }

    /// An operation among neighbours.
    pub(super) fn gather_neighbours(
        &mut self,
        seen: &Seen<'_>,
        kind: Collective,
        comm: u32,
    ) -> Option<Gathered> {
        let neighbours = self.neighbours.get(&(seen.process, comm))?;
        let Neighbours { sources, destinations, .. } = neighbours;
        let [sent, received] = [seen.event.numbers[0], seen.event.numbers[1]].map(bytes);
        let (sent, received) = match kind {
            Collective::NeighborAlltoall => (part(sent, destinations), part(received, sources)),
            _ => (sent, part(received, sources)),
        };
        if matches!(kind, Collective::NeighborAllgather | Collective::NeighborAlltoall) {
            return Some(Gathered { kind, comm, root: syn_plan::NOBODY, sent, received, counts: 0, from: 0 });
        }
        let told = self.matching.told.get(&((seen.thread, seen.record), Call::MpiCounts))?;
        let to = if kind == Collective::NeighborAllgatherv { 1 } else { destinations.len() };
        let (to, from) = told.split_at_checked(to)?;
        if from.len() != sources.len() {
            return None;
        }
        let from: Vec<u64> = there(sources, from).into_iter().map(bytes).collect();
        let counts: Vec<u64> = match kind {
            Collective::NeighborAllgatherv => Vec::new(),
            _ => there(destinations, &neighbours.in_order(to)).into_iter().map(bytes).collect(),
        };
        let sent = if counts.is_empty() { sent } else { counts.iter().sum() };
        let received = from.iter().sum();
        let [counts, from] = [counts, from].map(|list| self.lists.number(list));
        Some(Gathered { kind, comm, root: syn_plan::NOBODY, sent, received, counts, from })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_beyond_the_border_is_left_out() {
        let neighbours = Neighbours::of(&[0, 2, NOBODY, 1, NOBODY, 1]).expect("a note");
        assert_eq!(there(&neighbours.sources, &[5, 7]), [7]);
        assert_eq!(part(24, &neighbours.destinations), 12);
        assert!(Neighbours::of(&[0, 3, 1]).is_none(), "fewer than it says");
    }

    #[test]
    fn in_a_grid_what_goes_forwards_is_sent_first() {
        let neighbours = Neighbours::of(&[1, 2, 4, 6, 4, 6]).expect("a note");
        assert_eq!((&neighbours.sources[..], &neighbours.destinations[..]), (&[4, 6][..], &[6, 4][..]));
        assert_eq!(neighbours.in_order(&[10, 20]), [20, 10]);
    }
}
