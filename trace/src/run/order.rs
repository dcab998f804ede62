//! Several sequences that are each in time order, as one.

/// Of several sources the one with the earliest item. A tree of losers (Knuth, "The Art of Computer Programming", volume 3,
/// section 5.4.1): each inner node has the turn that lost there, so that a new turn is compared once a level, with no branch.
/// At equal times the first of the sources is the earliest.
#[derive(Debug)]
pub struct Turns {
    /// The turn that lost nowhere, then by inner node the one that lost there. 16 bytes for each source.
    nodes: Vec<u128>,
}

/// A source has no more items.
const OVER: u128 = u128::MAX;

/// A turn, so that the earlier one is less. There are no `u32::MAX` sources.
#[inline]
fn turn(time: u64, source: usize) -> u128 {
    u128::from(time) << 32 | source as u128
}

impl Turns {
    /// By source: the time of its first item, if it has one.
    pub fn new(first: &[Option<u64>]) -> Turns {
        let sources = first.len();
        // By node, the inner ones first: the turn that wins there.
        let mut winners = vec![OVER; 2 * sources.max(1)];
        for (source, time) in first.iter().enumerate() {
            winners[sources + source] = time.map_or(OVER, |time| turn(time, source));
        }
        let mut nodes = vec![OVER; sources.max(1)];
        for node in (1..sources).rev() {
            let (one, other) = (winners[2 * node], winners[2 * node + 1]);
            (winners[node], nodes[node]) = (one.min(other), one.max(other));
        }
        nodes[0] = winners[1];
        Turns { nodes }
    }

    /// The earliest next item: when, and which source has it. `None` when all are over.
    #[inline]
    pub fn first(&self) -> Option<(u64, usize)> {
        match self.nodes[0] {
            OVER => None,
            turn => Some(((turn >> 32) as u64, turn as u32 as usize)),
        }
    }

    /// The first item is taken out; the one behind it in its source has this time, if there is one.
    #[inline]
    pub fn go_on(&mut self, behind: Option<u64>) {
        let Some((_, source)) = self.first() else { return };
        let mut winner = behind.map_or(OVER, |time| turn(time, source));
        let mut node = (self.nodes.len() + source) / 2;
        while node > 0 {
            let loser = self.nodes[node];
            (winner, self.nodes[node]) = (winner.min(loser), winner.max(loser));
            node /= 2;
        }
        self.nodes[0] = winner;
    }
}

/// A k-way merge: takes the earliest of the next items of all sources. At equal times, and where a source steps
/// back in time, a source keeps its own order. Holds one item of each source, whatever their lengths.
#[derive(Debug)]
pub struct InTimeOrder<I: Iterator> {
    /// Each with its next item.
    sources: Vec<(I, Option<I::Item>)>,
    turns: Turns,
}

impl<T, I: Iterator<Item = (u64, T)>> InTimeOrder<I> {
    /// Merges `sources`, whose items come with their times.
    pub fn new(sources: impl IntoIterator<Item = I>) -> InTimeOrder<I> {
        let first = |mut source: I| {
            let first = source.next();
            (source, first)
        };
        let sources: Vec<(I, Option<I::Item>)> = sources.into_iter().map(first).collect();
        let times: Vec<Option<u64>> =
            sources.iter().map(|(_, first)| first.as_ref().map(|&(time, _)| time)).collect();
        InTimeOrder { sources, turns: Turns::new(&times) }
    }
}

impl<T, I: Iterator<Item = (u64, T)>> Iterator for InTimeOrder<I> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let (_, index) = self.turns.first()?;
        let (source, next) = &mut self.sources[index];
        let following = source.next();
        self.turns.go_on(following.as_ref().map(|&(time, _)| time));
        std::mem::replace(next, following).map(|(_, item)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_in_time_order_and_sources_keep_theirs() {
        let sources = [vec![(1, "a1"), (5, "a2"), (4, "a3")], vec![], vec![(1, "b1"), (2, "b2"), (9, "b3")]];
        let merged: Vec<&str> = InTimeOrder::new(sources.map(Vec::into_iter)).collect();
        assert_eq!(merged, ["a1", "b1", "b2", "a2", "a3", "b3"]);
    }

    #[test]
    fn any_number_of_sources_of_any_length() {
        for count in 0..20u64 {
            let times =
                |source: u64| (0..source * 7 % 5).map(move |nth| (nth * (source % 3 + 1), (nth, source)));
            let mut expected: Vec<_> = (0..count).flat_map(times).collect();
            expected.sort_by_key(|&(time, (_, source))| (time, source));
            let found: Vec<_> = InTimeOrder::new((0..count).map(times)).collect();
            assert_eq!(found, expected.into_iter().map(|(_, item)| item).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_sources_no_items() {
        assert!(InTimeOrder::new(Vec::<std::vec::IntoIter<(u64, ())>>::new()).next().is_none());
    }
}
