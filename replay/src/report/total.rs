//! Times of several replays and runs.

use serde::Serialize;
use syn_plan::figures::{change_percent, error_percent, median_ns, range_percent, seconds, spread_percent};

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

    /// In order.
    pub fn each(&self) -> &[f64] {
        match self {
            Seconds::One(one) => std::slice::from_ref(one),
            Seconds::Each(each) => each,
        }
    }
}

/// How long everything took: in the recording, in the replays, and of the application on the same storage.
#[derive(Debug, Serialize)]
pub struct Totals {
    pub recorded_s: f64,
    /// What recording cost the thread that it cost most; part of `recorded_s`.
    pub recording_s: f64,
    /// Every run that was merged into the plan.
    pub recorded_runs_s: Vec<f64>,
    pub recorded_spread_percent: Option<f64>,
    pub replayed_s: Seconds,
    /// Of the median replay against the recording.
    pub change_percent: Option<f64>,
    pub change_percent_range: Option<[f64; 2]>,
    /// Every run of the application on the storage that is replayed on.
    pub application_s: Vec<f64>,
    /// What recording cost the thread of each that it cost most; part of `application_s`.
    pub application_recording_s: Vec<f64>,
    pub application_spread_percent: Option<f64>,
    /// Of the median replay against the application's median run.
    pub error_percent: Option<f64>,
    pub error_percent_range: Option<[f64; 2]>,
}

impl Totals {
    /// From nanoseconds. Of the application how long its runs took, and what recording cost; empty when it was not measured.
    pub fn new(
        recorded_ns: u64,
        recording_ns: u64,
        recorded_runs_ns: &[u64],
        replayed_ns: &[u64],
        (application_ns, application_recording_ns): (&[u64], &[u64]),
    ) -> Totals {
        let replayed = median_ns(replayed_ns).unwrap_or(0);
        let all = |ns: &[u64]| ns.iter().copied().map(seconds).collect();
        let change = |replayed| change_percent(recorded_ns, replayed);
        let application = median_ns(application_ns).unwrap_or(0);
        let error = |replayed| error_percent(application, replayed);
        Totals {
            recorded_s: seconds(recorded_ns),
            recording_s: seconds(recording_ns),
            recorded_runs_s: all(recorded_runs_ns),
            recorded_spread_percent: spread_percent(recorded_runs_ns),
            replayed_s: Seconds::of(replayed_ns),
            change_percent: change(replayed),
            change_percent_range: range_percent(replayed_ns, change),
            application_s: all(application_ns),
            application_recording_s: all(application_recording_ns),
            application_spread_percent: spread_percent(application_ns),
            error_percent: error(replayed),
            error_percent_range: range_percent(replayed_ns, error),
        }
    }
}

/// The replay whose time is nearest to the median of all, by its place.
pub fn nearest_to_median(values: &[u64]) -> usize {
    let median = median_ns(values).unwrap_or(0);
    (0..values.len()).min_by_key(|&index| values[index].abs_diff(median)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_an_error_only_against_the_application() {
        let alone = Totals::new(100, 4, &[90, 100, 110], &[90, 130], (&[], &[]));
        assert_eq!((alone.change_percent, alone.change_percent_range), (Some(10.0), Some([-10.0, 30.0])));
        assert_eq!((alone.error_percent, alone.error_percent_range), (None, None));
        assert_eq!((alone.recorded_spread_percent, alone.application_spread_percent), (Some(20.0), None));
        let against = Totals::new(100, 4, &[100], &[90, 130], (&[180, 220], &[2, 9]));
        assert_eq!((against.error_percent, against.error_percent_range), (Some(45.0), Some([35.0, 55.0])));
        assert_eq!(against.application_spread_percent, Some(20.0));
        assert_eq!(against.recorded_spread_percent, None);
    }

    #[test]
    fn the_replay_that_is_shown_is_one_of_them() {
        assert_eq!(nearest_to_median(&[5]), 0);
        assert_eq!(nearest_to_median(&[9, 1, 5]), 2);
        assert_eq!(nearest_to_median(&[9, 1, 5, 7]), 2);
    }
}
