//! Members of a communicator as a trace has them: runs of (first, stride, count).

/// Members from their (first, stride, count) runs; `None` when they are not ranks of a world of `size`.
pub fn expand(runs: &[i64], size: usize) -> Option<Vec<u32>> {
    let mut members = Vec::new();
    for run in runs.chunks(3) {
        let &[first, stride, count] = run else { return None };
        for index in 0..count {
            let member = stride.checked_mul(index).and_then(|distance| first.checked_add(distance))?;
            if member < 0 || member >= size as i64 || members.len() == size {
                return None;
            }
            members.push(member as u32);
        }
    }
    (!members.is_empty()).then_some(members)
}

/// How many members these runs stand for.
pub fn count(runs: &[i64]) -> i64 {
    runs.chunks_exact(3).fold(0, |sum, run| sum.saturating_add(run[2].max(0)))
}

/// The position of a member in the list that these runs stand for.
pub fn position(runs: &[i64], member: u32) -> Option<u32> {
    let mut before = 0;
    for run in runs.chunks_exact(3) {
        let (first, stride, count) = (run[0], run[1], run[2].max(0));
        let distance = i64::from(member).checked_sub(first)?;
        let index = match stride {
            0 => (distance == 0).then_some(0),
            _ => (distance.checked_rem(stride) == Some(0)).then(|| distance / stride),
        };
        if let Some(index) = index.filter(|index| (0..count).contains(index)) {
            return u32::try_from(before + index).ok();
        }
        before += count;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_found_where_it_is_in_the_list() {
        for runs in
            [&[0i64, 2, 3, 1, 0, 1][..], &[5, -1, 6], &[7, 1, 1], &[0, 0, 2, 3, 3, 2], &[1, 1, 0, 2, 1, 2]]
        {
            let members = expand(runs, 8).unwrap();
            for member in 0..8 {
                let place = members.iter().position(|&other| other == member).map(|place| place as u32);
                assert_eq!(position(runs, member), place, "{member} in {runs:?}");
            }
        }
    }

    #[test]
    fn members_are_expanded_and_checked() {
        assert_eq!(expand(&[0, 2, 3, 1, 0, 1], 5), Some(vec![0, 2, 4, 1]));
        assert_eq!(expand(&[0, 2, 4], 5), None, "behind the last rank");
        assert_eq!(expand(&[0, 0, i64::MAX], 5), None, "more members than ranks");
        assert_eq!(expand(&[0, 1], 5), None, "half a run");
        assert_eq!(expand(&[], 5), None);
    }
}
