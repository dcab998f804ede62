//! Parts of a file.

use std::collections::BTreeMap;
use std::ops::Range;

/// Parts of a file. No byte is in two of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// By the first byte: the byte behind.
    ends: BTreeMap<u64, u64>,
    bytes: u64,
}

impl Parts {
    /// How many bytes they have together.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All, by their place.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.ends.iter().map(|(&start, &end)| start..end)
    }

    /// Those with bytes in `part`.
    pub fn overlapping(&self, part: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let first = self.ends.range(..=part.start).next_back().map_or(part.start, |(&first, _)| first);
        let from = self.ends.range(first..part.end.max(first)).map(|(&start, &end)| start..end);
        from.filter(|found| found.end > part.start)
    }

    /// Adds one.
    pub fn add(&mut self, Range { mut start, mut end }: Range<u64>) {
        while let Some((&first, &behind)) =
            self.ends.range(..=end).next_back().filter(|&(_, &end)| end >= start)
        {
            self.remove(first..behind);
            (start, end) = (start.min(first), end.max(behind));
        }
        self.insert(start..end);
    }

    /// Takes out what lies in `part`, the first `most` bytes of it.
    pub fn take(&mut self, part: &Range<u64>, mut most: u64) -> Vec<Range<u64>> {
        let found = self.overlapping(part).map_while(|found| {
            let start = found.start.max(part.start);
            let inside = start..found.end.min(part.end).min(start.saturating_add(most));
            most -= inside.end - inside.start;
            (!inside.is_empty()).then_some((found, inside))
        });
        let found: Vec<_> = found.collect();
        let take = |(found, inside): (Range<u64>, Range<u64>)| {
            self.remove(found.clone());
            let rest = [found.start..inside.start, inside.end..found.end];
            rest.into_iter().filter(|rest| !rest.is_empty()).for_each(|rest| self.insert(rest));
            inside
        };
        found.into_iter().map(take).collect()
    }

    fn insert(&mut self, part: Range<u64>) {
        self.bytes += part.end - part.start;
        self.ends.insert(part.start, part.end);
    }

    fn remove(&mut self, part: Range<u64>) {
        self.bytes -= part.end - part.start;
        self.ends.remove(&part.start);
    }
}

impl FromIterator<Range<u64>> for Parts {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(parts: I) -> Parts {
        let mut all = Parts::default();
        parts.into_iter().for_each(|part| all.add(part));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_taken_once() {
        let mut parts: Parts = [8..12, 0..4, 2..6, 12..16, 40..44, 3..5].into_iter().collect();
        assert_eq!(parts.iter().collect::<Vec<_>>(), [0..6, 8..16, 40..44]);
        let mut around = parts.clone();
        around.add(1..41);
        assert_eq!((around.iter().next(), around.bytes()), (Some(0..44), 44));
        assert_eq!(parts.take(&(4..10), u64::MAX), [4..6, 8..10]);
        assert_eq!(parts.take(&(1..20), 5), [1..4, 10..12]);
        assert_eq!(parts.take(&(0..20), u64::MAX), [0..1, 12..16]);
        assert_eq!(parts.take(&(0..20), u64::MAX), []);
        assert_eq!(parts.bytes(), 4);
        assert_eq!(parts.take(&(0..u64::MAX), u64::MAX).first(), Some(&(40..44)));
    }
}
