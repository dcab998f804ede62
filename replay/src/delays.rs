//! Random delays, to test a plan: its edges have to keep the recorded order of what must be in order, however fast or slow each
//! program is.

use crate::clock::sleep_until;
use serde::{Deserialize, Serialize};

/// The longest delay, nanoseconds. One of two steps is delayed, by up to this, each length as likely.
const LONGEST_NS: u64 = 2_000_000;

/// When an operation of a program was done: which step, nanoseconds since the common start.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Performed {
    /// Which of the program's steps, repeats unrolled.
    pub step: u64,
    /// When it began.
    pub start_ns: u64,
    /// When it was over.
    pub end_ns: u64,
}

/// The delays of one replay; the same seed gives the same.
#[derive(Clone, Copy, Debug)]
pub struct Delays(pub u64);

impl Delays {
    /// How long a step is delayed, nanoseconds.
    fn of(self, program: usize, step: u64) -> u64 {
        let random = mixed(mixed(mixed(self.0) ^ program as u64) ^ step);
        if random & 1 == 0 { 0 } else { (random >> 1) % LONGEST_NS }
    }

    /// Delays a step of a program from now on.
    pub fn delay(self, program: usize, step: u64, now_ns: u64) {
        let ns = self.of(program, step);
        if ns > 0 {
            sleep_until(now_ns.saturating_add(ns));
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA'14): every bit depends on every one.
fn mixed(value: u64) -> u64 {
    let mut value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_depend_on_the_seed_and_are_bounded() {
        let all = |seed| (0..1000).map(|step| Delays(seed).of(step as usize % 3, step)).collect::<Vec<_>>();
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
        let delayed = all(1).into_iter().filter(|&ns| ns > 0).count();
        assert!((400..600).contains(&delayed), "{delayed}");
        assert!(all(1).into_iter().all(|ns| ns < LONGEST_NS));
    }
}
