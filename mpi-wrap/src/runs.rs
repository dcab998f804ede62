//! Members of a communicator as runs: first rank, stride, how many. Communicators are mostly the whole world, a
//! contiguous part of it, or a row or column of a grid: one run each, however many processes there are.

/// A run that ranks are being added to; empty when `count` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    first: i64,
    stride: i64,
    count: i64,
}

impl Run {
    /// Adds the next rank. When it does not continue the run, it begins a new one and the old one is returned.
    pub fn push(&mut self, rank: i64) -> Option<[i64; 3]> {
        match self.count {
            0 => *self = Run { first: rank, stride: 0, count: 1 },
            1 => (self.stride, self.count) = (rank - self.first, 2),
            _ if rank == self.first + self.stride * self.count => self.count += 1,
            _ => {
                let finished = self.finish();
                *self = Run { first: rank, stride: 0, count: 1 };
                return finished;
            }
        }
        None
    }

    /// The run as it stands in a record; `None` when there were no ranks.
    pub fn finish(self) -> Option<[i64; 3]> {
        (self.count > 0).then_some([self.first, self.stride, self.count])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(ranks: &[i64]) -> Vec<[i64; 3]> {
        let mut run = Run::default();
        let mut finished: Vec<_> = ranks.iter().filter_map(|&rank| run.push(rank)).collect();
        finished.extend(run.finish());
        finished
    }

    #[test]
    fn regular_groups_are_one_run() {
        assert_eq!(runs(&[]), [[0; 3]; 0]);
        assert_eq!(runs(&[4]), [[4, 0, 1]]);
        assert_eq!(runs(&[0, 1, 2, 3]), [[0, 1, 4]]);
        assert_eq!(runs(&[1, 5, 9]), [[1, 4, 3]]);
        assert_eq!(runs(&[3, 2, 1, 0]), [[3, -1, 4]]);
        assert_eq!(runs(&[-4, -4, -4]), [[-4, 0, 3]]);
    }

    #[test]
    fn any_group_comes_back_in_order() {
        let ranks = [0, 1, 2, 7, 5, 3, 3, 3, 100, 0, 1];
        let decoded: Vec<i64> = runs(&ranks)
            .iter()
            .flat_map(|&[first, stride, count]| (0..count).map(move |index| first + stride * index))
            .collect();
        assert_eq!(decoded, ranks);
    }
}
