//! The offset between the clocks of two hosts: what messages demand of it, and the line that fits best.
//!
//! A constant is taken where it can be. Otherwise the clocks drift, by a constant rate (Duda et al., "Estimating global time in
//! distributed systems", ICDCS'87): of all lines that no message contradicts the one that is farthest from all of them.

/// Clocks that are counted down from quartz differ by less, as a share.
const MOST_DRIFT: f64 = 500e-6;
/// Steps of the search for the best drift; each leaves two thirds.
const STEPS: u32 = 80;
/// So many bounds are kept before those are left out that others imply.
const MOST_BOUNDS: usize = 4096;

/// Lower bounds of an offset, each at a time, nanoseconds.
#[derive(Debug, Default)]
pub struct Bounds {
    points: Vec<(i64, i64)>,
}

impl Bounds {
    /// At `at_ns` the offset was at least this.
    pub fn add(&mut self, at_ns: i64, least_ns: i64) {
        self.points.push((at_ns, least_ns));
        if self.points.len() >= MOST_BOUNDS {
            self.reduce();
        }
    }

    /// Keeps the upper convex hull: whatever the line, one of its corners is the nearest.
    fn reduce(&mut self) {
        self.points.sort_unstable();
        let mut hull: Vec<(i64, i64)> = Vec::new();
        for &point in &self.points {
            while let [.., before, last] = hull[..] {
                let turns = i128::from(last.0 - before.0) * i128::from(point.1 - before.1)
                    - i128::from(last.1 - before.1) * i128::from(point.0 - before.0);
                if turns < 0 {
                    break;
                }
                hull.pop();
            }
            hull.push(point);
        }
        self.points = hull;
    }

    /// The most that any of them demands.
    pub fn most(&self) -> Option<i64> {
        self.points.iter().map(|&(_, least_ns)| least_ns).max()
    }

    /// These bounds of the offset the other way, as points in time of the other clock: there they are upper ones.
    fn reversed(&self) -> Vec<(i64, i64)> {
        self.points.iter().map(|&(at_ns, least_ns)| (at_ns - least_ns, -least_ns)).collect()
    }
}

/// An offset that changes with time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Line {
    /// At time 0, nanoseconds.
    pub ns: i64,
    /// By how much it grows, nanoseconds per nanosecond.
    pub drift: f64,
}

impl Line {
    /// At a time.
    #[inline]
    pub fn at(&self, ns: i64) -> i64 {
        if self.drift == 0.0 {
            return self.ns;
        }
        self.ns.saturating_add((ns.saturating_add(self.ns) as f64 * self.drift) as i64)
    }

    /// By so much more at all times.
    pub fn later(&self, by_ns: i64) -> Line {
        let ns = self.ns.saturating_add(by_ns).saturating_sub((self.drift * by_ns as f64) as i64);
        Line { ns, ..*self }
    }

    /// An offset to a clock that has this one itself.
    pub fn beyond(&self, next: Line) -> Line {
        let shifted = (self.ns as f64 * next.drift) as i64;
        let ns = self.ns.saturating_add(next.ns).saturating_sub(shifted);
        Line { ns, drift: self.drift + next.drift }
    }
}

/// The line between bounds from both sides that is farthest from them, and by how much, nanoseconds; `None` where every
/// line contradicts some.
pub fn drifting(lower: &Bounds, back: &Bounds) -> Option<(Line, u64)> {
    let upper = back.reversed();
    let ends = |drift: f64| {
        let at = |&(at_ns, ns): &(i64, i64)| ns as f64 - drift * at_ns as f64;
        let least = lower.points.iter().map(at).fold(f64::NEG_INFINITY, f64::max);
        (least, upper.iter().map(at).fold(f64::INFINITY, f64::min))
    };
    let width = |drift: f64| ends(drift).1 - ends(drift).0;
    let (mut from, mut to) = (-MOST_DRIFT, MOST_DRIFT);
    for _ in 0..STEPS {
        let (one, other) = (from + (to - from) / 3.0, to - (to - from) / 3.0);
        if width(one) < width(other) { from = one } else { to = other }
    }
    let drift = from.midpoint(to);
    let (least, most) = ends(drift);
    (least <= most).then(|| (Line { ns: least.midpoint(most) as i64, drift }, ((most - least) / 2.0) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Messages both ways every 10 ms for 10 s, each 15 to 215 us under way; the other clock is 50 ms ahead and gains 20 us
    /// a second. By how much the line is wrong at most, and what it says of itself.
    #[test]
    fn a_drift_is_found_to_some_microseconds() {
        const SECONDS: i64 = 10;
        let ahead = |ns: i64| 50_000_000 + ns / 50_000;
        let (mut there, mut back, mut random) = (Bounds::default(), Bounds::default(), Random(1));
        let mut under_way = || 15_000 + random.below(200_000) as i64;
        for at in (0..SECONDS * 1_000_000_000).step_by(10_000_000) {
            // Here to there: sent here at `at`.
            let arrives = at + under_way();
            there.add(at, at - (arrives + ahead(arrives)));
            // There to here: sent there at `at`, in the time of here.
            let sent = at + ahead(at);
            back.add(sent, sent - (at + under_way()));
        }
        let constant = [there.most(), back.most()].map(|most| most.expect("bounds"));
        assert!(constant[0] > -constant[1], "no constant fits");
        let (line, within_ns) = drifting(&there, &back).expect("a line");
        assert!(within_ns <= 20_000, "{within_ns}");
        assert!((line.drift + 20e-6).abs() < 2e-6, "{line:?}");
        for at in (0..SECONDS * 1_000_000_000).step_by(1_000_000_000) {
            let found = at + ahead(at) + line.at(at + ahead(at));
            assert!((found - at).abs() <= 20_000, "{} ns wrong", found - at);
        }
    }

    #[test]
    fn what_contradicts_itself_has_no_line() {
        let (mut there, mut back) = (Bounds::default(), Bounds::default());
        for at in 0..10 {
            there.add(at * 1000, if at % 2 == 0 { 500 } else { 0 });
            back.add(at * 1000, 0);
        }
        assert_eq!(drifting(&there, &back), None);
    }

    #[test]
    fn bounds_that_others_imply_are_left_out() {
        let mut many = Bounds::default();
        (0..3 * MOST_BOUNDS as i64).for_each(|at| many.add(at, -(at - 5000).pow(2) / 1000 - at % 3));
        let mut all: Vec<(i64, i64)> =
            (0..3 * MOST_BOUNDS as i64).map(|at| (at, -(at - 5000).pow(2) / 1000 - at % 3)).collect();
        all.sort_unstable();
        for drift in [-5.0, -0.1, 0.0, 2.5] {
            let most = |points: &[(i64, i64)]| {
                points.iter().map(|&(at, ns)| ns as f64 - drift * at as f64).fold(f64::NEG_INFINITY, f64::max)
            };
            assert_eq!(most(&many.points), most(&all));
        }
    }
}
