//! Figures over several runs or replays, defined once for everything that prints them.

/// The CPU clocks of several processors may count so much more than the elapsed time.
const CLOCKS_AGREE: f64 = 1.02;

/// Nanoseconds as seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Whether so many processors cannot have done so much: then readings are wrong, or machines are mixed up. False when
/// the number of processors, or the elapsed time, is not known.
pub fn is_too_much_work(cpu_ns: u64, elapsed_ns: u64, processors: u32) -> bool {
    let possible_ns = elapsed_ns as f64 * f64::from(processors);
    possible_ns > 0.0 && cpu_ns as f64 > possible_ns * CLOCKS_AGREE
}

/// The median, nanoseconds; of an even number of values, the mean of the two in the middle. `None` without values.
pub fn median_ns(values: &[u64]) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(lower.midpoint(upper))
}

/// How far values lie apart: (largest − smallest) · 100 / median. `None` for less than two values, or a median of 0.
pub fn spread_percent(values: &[u64]) -> Option<f64> {
    let (least, most) = (values.iter().min()?, values.iter().max()?);
    let median = median_ns(values).filter(|&median| median > 0 && values.len() > 1)?;
    Some((most - least) as f64 * 100.0 / median as f64)
}

/// What other storage does to the application: (replayed − recorded) · 100 / recorded. `None` when the recorded time
/// is not known.
pub fn change_percent(recorded_ns: u64, replayed_ns: u64) -> Option<f64> {
    (recorded_ns > 0).then(|| (replayed_ns as f64 - recorded_ns as f64) * 100.0 / recorded_ns as f64)
}

/// How wrong a replay is against the application on the same storage: (application − replayed) · 100 / application,
/// as //TRACE defines it (FAST'07, section 5). `None` when the application's time is not known.
pub fn error_percent(application_ns: u64, replayed_ns: u64) -> Option<f64> {
    change_percent(application_ns, replayed_ns).map(|change| 0.0 - change)
}

/// The smallest and the largest of `percent` over several replays; `None` for less than two.
pub fn range_percent(replayed_ns: &[u64], percent: impl Fn(u64) -> Option<f64>) -> Option<[f64; 2]> {
    let fastest = percent(*replayed_ns.iter().min()?)?;
    let slowest = percent(*replayed_ns.iter().max()?)?;
    (replayed_ns.len() > 1).then_some([fastest.min(slowest), fastest.max(slowest)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_do_no_more_than_they_can() {
        assert!(!is_too_much_work(2_040, 1_000, 2));
        assert!(is_too_much_work(2_041, 1_000, 2));
        assert!(!is_too_much_work(u64::MAX, 1_000, 0) && !is_too_much_work(u64::MAX, 0, 1));
        assert!(!is_too_much_work(u64::MAX, u64::MAX, 1));
    }

    #[test]
    fn the_median_lies_in_the_middle() {
        assert_eq!(median_ns(&[]), None);
        assert_eq!(median_ns(&[5]), Some(5));
        assert_eq!(median_ns(&[9, 1, 5]), Some(5));
        assert_eq!(median_ns(&[9, 1, 5, 8]), Some(6));
        assert_eq!(median_ns(&[1_870, 6_100]), Some(3_985));
        assert_eq!(median_ns(&[u64::MAX, u64::MAX - 2]), Some(u64::MAX - 1));
    }

    #[test]
    fn the_spread_is_relative_to_the_median() {
        assert_eq!(spread_percent(&[90, 100, 110]), Some(20.0));
        assert_eq!(spread_percent(&[90, 110]), Some(20.0));
        assert_eq!(spread_percent(&[90]), None);
        assert_eq!(spread_percent(&[0, 0]), None);
    }

    #[test]
    fn change_and_error_point_in_opposite_directions() {
        assert_eq!(change_percent(100, 150), Some(50.0));
        assert_eq!(change_percent(100, 90), Some(-10.0));
        assert_eq!(change_percent(0, 150), None);
        assert_eq!(error_percent(100, 90), Some(10.0));
        assert_eq!(error_percent(100, 150), Some(-50.0));
        assert_eq!(error_percent(100, 100).map(f64::is_sign_negative), Some(false));
        assert_eq!(error_percent(0, 150), None);
    }

    #[test]
    fn a_range_needs_two_replays() {
        let change = |replayed| change_percent(100, replayed);
        assert_eq!(range_percent(&[90, 120, 100], change), Some([-10.0, 20.0]));
        assert_eq!(range_percent(&[90, 120], |replayed| error_percent(100, replayed)), Some([-20.0, 10.0]));
        assert_eq!(range_percent(&[90], change), None);
    }
}
