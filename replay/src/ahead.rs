//! Steps, decoded some at a time.
//!
//! Behind a system call the processor has forgotten where branches lead. Decoding one step there takes some 40 ns, and in a row
//! of them a quarter of that.

use syn_plan::Step;

/// So many steps are decoded at once: few enough for the nearest cache.
const STEPS: usize = 32;

/// The same steps in the same order.
#[derive(Debug)]
pub struct Ahead<I> {
    steps: I,
    decoded: Vec<Step>,
    next: usize,
}

impl<I: Iterator<Item = Step>> Ahead<I> {
    /// Nothing is decoded yet.
    pub fn of(steps: I) -> Ahead<I> {
        Ahead { steps, decoded: Vec::with_capacity(STEPS), next: 0 }
    }

    /// The next step.
    #[inline]
    pub fn next(&mut self) -> Option<&Step> {
        if self.next == self.decoded.len() {
            self.refill();
        }
        let step = self.decoded.get(self.next);
        self.next += usize::from(step.is_some());
        step
    }

    #[inline(never)]
    fn refill(&mut self) {
        self.next = 0;
        self.decoded.clear();
        self.decoded.extend(self.steps.by_ref().take(STEPS));
    }
}
