//! How long the next sample is.

use crate::sample::{Field, Sample};
use std::str::FromStr;

/// Shortest sample, nanoseconds.
const SHORTEST_NS: u64 = 1_000_000;
/// Longest sample of the automatic rate, nanoseconds.
const LONGEST_NS: u64 = 100_000_000;
/// A calm stretch makes samples longer by this.
const GROWTH: f64 = 1.1;
/// Part of a processor that looking may take with the automatic rate, once the start is over.
const SHARE: f64 = 0.008;
/// The start, in which samples may be short whatever they cost, nanoseconds.
const START_NS: u64 = 50_000_000;

/// What was asked for: `auto`, or samples a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// 1000 a second at the start; then fewer while nothing changes, and never less than 10.
    Auto,
    /// So many a second.
    Fixed(f64),
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        match (text, text.parse::<f64>()) {
            ("auto", _) => Ok(Rate::Auto),
            (_, Ok(hertz)) if (0.01..=1000.0).contains(&hertz) => Ok(Rate::Fixed(hertz)),
            _ => Err("it is `auto`, or samples a second from 0.01 to 1000".into()),
        }
    }
}

/// Follows the signal.
#[derive(Debug)]
pub struct Pace {
    rate: Rate,
    span_ns: u64,
    before: Option<[f64; 4]>,
}

impl Pace {
    /// At the start.
    pub fn new(rate: Rate) -> Pace {
        let span_ns = match rate {
            Rate::Auto => SHORTEST_NS,
            Rate::Fixed(hertz) => (1e9 / hertz) as u64,
        };
        Pace { rate, span_ns, before: None }
    }

    /// How long the next sample is, nanoseconds.
    pub fn span_ns(&self) -> u64 {
        self.span_ns
    }

    /// Takes in a sample: what looking has cost so far, of how long a time, nanoseconds.
    pub fn follow(&mut self, sample: &Sample, cost_ns: u64, wall_ns: u64) {
        if self.rate != Rate::Auto {
            return;
        }
        let rates = rates(sample);
        let changed = self.before.is_none_or(|before| before.iter().zip(rates).any(|(&a, b)| differs(a, b)));
        // Short samples are noisy: they move the picture of the signal a little only.
        self.before = Some(match self.before {
            Some(before) if !changed => std::array::from_fn(|place| 0.7 * before[place] + 0.3 * rates[place]),
            _ => rates,
        });
        let dear = wall_ns > START_NS && cost_ns as f64 > SHARE * wall_ns as f64;
        self.span_ns = match (changed, dear) {
            (_, true) => (self.span_ns as f64 * 1.5) as u64,
            (true, false) => self.span_ns / 4,
            (false, false) => (self.span_ns as f64 * GROWTH) as u64,
        }
        .clamp(SHORTEST_NS, LONGEST_NS);
    }
}

/// The signal: processors in use, bytes moved a second, resident bytes, processes.
fn rates(sample: &Sample) -> [f64; 4] {
    let span = sample.span_ns.max(1) as f64;
    let moved = [Field::ReadBytes, Field::WriteBytes, Field::SentBytes, Field::ReceivedBytes];
    [
        sample.get(Field::Cpu) as f64 / span,
        moved.map(|field| sample.get(field)).iter().sum::<u64>() as f64 / span * 1e9 / 4e6,
        sample.get(Field::Resident) as f64 / 16e6,
        sample.get(Field::Processes) as f64 / 4.0,
    ]
}

/// More than a quarter apart, and not both next to nothing (the unit of each rate is chosen so that 0.25 is little).
fn differs(a: f64, b: f64) -> bool {
    (a - b).abs() > 0.25 * a.max(b).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(span_ns: u64, cpu_ns: u64) -> Sample {
        let mut sample = Sample { end_ns: span_ns, span_ns, ..Sample::default() };
        sample.set(Field::Cpu, cpu_ns);
        sample
    }

    #[test]
    fn a_calm_signal_is_looked_at_less_often_and_a_change_more_often() {
        let mut pace = Pace::new(Rate::Auto);
        assert_eq!(pace.span_ns(), SHORTEST_NS, "1000 a second at the start");
        for _ in 0..100 {
            pace.follow(&sample(1_000_000, 1_000_000), 0, 1_000_000_000);
        }
        assert_eq!(pace.span_ns(), LONGEST_NS, "never less than 10 a second");
        pace.follow(&sample(1_000_000, 0), 0, 1_000_000_000);
        assert_eq!(pace.span_ns(), LONGEST_NS / 4);
    }

    #[test]
    fn what_costs_too_much_is_done_less_often_unless_it_was_asked_for() {
        let mut pace = Pace::new(Rate::Auto);
        for _ in 0..100 {
            pace.follow(&sample(1_000_000, 1_000_000), 20_000_000, 1_000_000_000);
        }
        assert_eq!(pace.span_ns(), LONGEST_NS);
        let mut fixed = Pace::new(Rate::Fixed(1000.0));
        fixed.follow(&sample(1_000_000, 0), 900_000_000, 1_000_000_000);
        assert_eq!(fixed.span_ns(), 1_000_000);
        assert_eq!("auto".parse(), Ok(Rate::Auto));
        assert_eq!("20".parse(), Ok(Rate::Fixed(20.0)));
        assert!("0".parse::<Rate>().is_err() && "often".parse::<Rate>().is_err());
    }
}
