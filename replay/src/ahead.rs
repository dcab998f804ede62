//! Steps, decoded some at a time.
//!
//! Behind a system call the processor has to learn again where branches lead, and a decoder has many of them. The replay of a
//! shell's loop of small calls took 3 % less when steps were decoded in a row.

use syn_plan::{Step, Steps, Unrolled};

/// So many steps are decoded at once: few enough for the nearest cache.
const STEPS: usize = 32;

/// The steps in the order in which they are done.
#[derive(Debug)]
pub struct Ahead<'a> {
    steps: Unrolled<'a>,
    decoded: [Step; STEPS],
    /// How many of these are decoded.
    filled: usize,
    next: usize,
}

impl Ahead<'_> {
    /// Nothing is decoded yet.
    pub fn of(steps: &Steps) -> Ahead<'_> {
        Ahead { steps: steps.unrolled(), decoded: [Step::NOTHING; STEPS], filled: 0, next: 0 }
    }

    /// The next step.
    #[inline]
    pub fn next(&mut self) -> Option<&Step> {
        if self.next == self.filled {
            self.refill();
        }
        let step = self.decoded[..self.filled].get(self.next);
        self.next += usize::from(step.is_some());
        step
    }

    /// The step that [`Ahead::next`] gives next.
    pub fn peek(&mut self) -> Option<&Step> {
        if self.next == self.filled {
            self.refill();
        }
        self.decoded[..self.filled].get(self.next)
    }

    #[inline(never)]
    fn refill(&mut self) {
        (self.next, self.filled) = (0, self.steps.fill(&mut self.decoded));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn_plan::Op;

    #[test]
    fn every_step_comes_once_and_in_order() {
        for count in [0, 1, STEPS, STEPS + 1, 3 * STEPS] {
            let step = |number| Step { start_ns: number as u64, took_ns: 0, op: Op::Sleep { ns: 1 } };
            let steps = (0..count).map(step).collect();
            let mut ahead = Ahead::of(&steps);
            let starts: Vec<u64> = std::iter::from_fn(|| {
                let next = ahead.peek().copied();
                assert_eq!(ahead.next().copied(), next);
                next.map(|step| step.start_ns)
            })
            .collect();
            assert_eq!(starts, (0..count as u64).collect::<Vec<_>>());
            assert!(ahead.next().is_none(), "the end stays the end");
        }
    }
}
