//! Statistics over repeats.

/// Mean, deviation and what they are worth.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Summary {
    /// Number of values.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the sample (n - 1); 0 of a single value, of which it is not known.
    pub deviation: f64,
    /// Half the width of the 95 % confidence interval of the mean (Student's t); 0 of a single value, as above.
    pub confidence: f64,
}

/// Two-sided 97.5 % quantiles of Student's distribution for 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

impl Summary {
    /// Of these values.
    pub fn of(values: &[f64]) -> Summary {
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count.max(1) as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let free = count.saturating_sub(1);
        let deviation = if free > 0 { (squares / free as f64).sqrt() } else { 0.0 };
        let student = if free == 0 { 0.0 } else { STUDENT.get(free - 1).copied().unwrap_or(1.960) };
        Summary { count, mean, deviation, confidence: student * deviation / (count.max(1) as f64).sqrt() }
    }
}

/// Places of values that are far from the others: more than three and a half deviations, estimated from the median of the distances
/// to the median, or from their mean where most values are the same (Iglewicz and Hoaglin, 1993).
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let middle = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let deviation = match median(&distances) / 0.6745 {
        0.0 => 1.2533 * distances.iter().sum::<f64>() / distances.len().max(1) as f64,
        deviation => deviation,
    };
    let far = |&place: &usize| distances[place] > 3.5 * deviation;
    (0..values.len()).filter(far).collect()
}

/// Of an even number the mean of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// Pearson's correlation of two rows of the same length; none when one does not vary.
pub fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (mean_a, mean_b) = (Summary::of(a).mean, Summary::of(b).mean);
    let sum =
        |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(&a, &b)| f(a - mean_a, b - mean_b)).sum::<f64>();
    let (both, own_a, own_b) = (sum(&|a, b| a * b), sum(&|a, _| a * a), sum(&|_, b| b * b));
    (own_a > 0.0 && own_b > 0.0).then(|| both / (own_a * own_b).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let summary = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert!((summary.mean - 5.0).abs() < 1e-12 && (summary.deviation - 2.138_089_935).abs() < 1e-6);
        assert!((summary.confidence - 2.365 * 2.138_089_935 / 8.0_f64.sqrt()).abs() < 1e-6);
        assert_eq!(Summary::of(&[3.0]).confidence, 0.0);
        assert_eq!(outliers(&[1.0, 1.1, 0.9, 1.05, 9.0]), [4]);
        assert!(outliers(&[1.0, 1.1, 0.9]).is_empty());
        assert_eq!(outliers(&[100.0, 100.0, 5000.0, 100.0, 100.0]), [2]);
        assert!(outliers(&[100.0, 100.0, 100.0]).is_empty() && outliers(&[]).is_empty());
        assert!((correlation(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.5]).expect("both vary") - 0.998).abs() < 0.01);
        assert_eq!(correlation(&[1.0, 1.0], &[1.0, 2.0]), None);
    }
}
