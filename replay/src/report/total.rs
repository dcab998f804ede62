//! Figures over several replays, and over several runs of the application.

use serde::Serialize;

/// Nanoseconds as seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// One number, or a list when it was repeated.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Seconds {
    /// Of one replay.
    One(f64),
    /// Of each replay, in order.
    Each(Vec<f64>),
}

impl Seconds {
    /// From nanoseconds.
    pub fn of(ns: &[u64]) -> Seconds {
        match ns {
            [one] => Seconds::One(seconds(*one)),
            each => Seconds::Each(each.iter().copied().map(seconds).collect()),
        }
    }
}

/// The index of the median; of an even number, the lower of the two in the middle.
pub fn median_of(values: &[u64]) -> usize {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|&index| values[index]);
    order[(values.len() - 1) / 2]
}

/// The error as //TRACE defines it (FAST'07, section 5): (recorded − replayed) · 100 / recorded. `None` when the
/// recorded time is not known.
pub fn error_percent(recorded_ns: u64, replayed_ns: u64) -> Option<f64> {
    let (recorded, replayed) = (recorded_ns as f64, replayed_ns as f64);
    (recorded_ns > 0).then(|| (recorded - replayed) * 100.0 / recorded)
}

/// The smallest and the largest error of several replays; `None` for a single one.
pub fn error_range(recorded_ns: u64, replayed_ns: &[u64]) -> Option<[f64; 2]> {
    let (fastest, slowest) = (replayed_ns.iter().min()?, replayed_ns.iter().max()?);
    if replayed_ns.len() < 2 {
        return None;
    }
    Some([error_percent(recorded_ns, *slowest)?, error_percent(recorded_ns, *fastest)?])
}

/// How far runs of the application lie apart: (longest − shortest) · 100 / median. `None` for a single run.
pub fn spread_percent(runs_ns: &[u64]) -> Option<f64> {
    let (fastest, slowest) = (runs_ns.iter().min()?, runs_ns.iter().max()?);
    let median = runs_ns[median_of(runs_ns)];
    (runs_ns.len() > 1 && median > 0).then(|| (slowest - fastest) as f64 * 100.0 / median as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_to_the_recording() {
        assert_eq!(error_percent(100, 90), Some(10.0));
        assert_eq!(error_percent(100, 150), Some(-50.0));
        assert_eq!(error_percent(0, 150), None);
        assert_eq!(error_range(100, &[90, 120]), Some([-20.0, 10.0]));
        assert_eq!(error_range(100, &[90]), None);
    }

    #[test]
    fn the_median_is_one_of_the_values() {
        assert_eq!(median_of(&[5]), 0);
        assert_eq!(median_of(&[9, 1, 5]), 2);
        assert_eq!(median_of(&[9, 1, 5, 7]), 2);
        assert_eq!(spread_percent(&[90, 100, 110]), Some(20.0));
        assert_eq!(spread_percent(&[90]), None);
    }
}
