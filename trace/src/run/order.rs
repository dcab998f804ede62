//! Several sequences that are each in time order, as one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// A k-way merge: takes the earliest of the next items of all sources. At equal times, and where a source steps
/// back in time, a source keeps its own order. Holds one item of each source, whatever their lengths.
#[derive(Debug)]
pub struct InTimeOrder<I: Iterator> {
    /// The next item of every source that had one; the heap says whose turn it is.
    sources: Vec<(I, Option<I::Item>)>,
    /// Time of the next item, and index of its source.
    turns: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<T, I: Iterator<Item = (u64, T)>> InTimeOrder<I> {
    /// Merges `sources`, whose items come with their times.
    pub fn new(sources: impl IntoIterator<Item = I>) -> InTimeOrder<I> {
        let mut merged = InTimeOrder { sources: Vec::new(), turns: BinaryHeap::new() };
        for mut source in sources {
            let first = source.next();
            if let Some((time, _)) = first {
                merged.turns.push(Reverse((time, merged.sources.len())));
                merged.sources.push((source, first));
            }
        }
        merged
    }
}

impl<T, I: Iterator<Item = (u64, T)>> Iterator for InTimeOrder<I> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let mut turn = self.turns.peek_mut()?;
        let Reverse((time, index)) = &mut *turn;
        let (source, next) = &mut self.sources[*index];
        let following = source.next();
        match &following {
            Some((following, _)) => *time = *following,
            None => drop(PeekMut::pop(turn)),
        }
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
    fn no_sources_no_items() {
        assert!(InTimeOrder::new(Vec::<std::vec::IntoIter<(u64, ())>>::new()).next().is_none());
    }
}
