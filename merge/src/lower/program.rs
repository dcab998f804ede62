//! One thread's steps in the making.

use syn_plan::{HandleId, Io, Op, Step, Steps};

/// A stretch of computation, on the time axis of the merge.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Work in it.
    pub cpu_ns: u64,
    /// Waiting in it that nobody observed.
    pub idle_ns: u64,
}

impl Stretch {
    /// Takes off what lies before `at_ns`, with its share of work and waiting.
    pub fn split_at(&mut self, at_ns: u64) -> Stretch {
        let at_ns = at_ns.clamp(self.start_ns, self.end_ns);
        let share = match self.end_ns - self.start_ns {
            0 => 0.0,
            length => (at_ns - self.start_ns) as f64 / length as f64,
        };
        let (cpu_ns, idle_ns) = ((self.cpu_ns as f64 * share) as u64, (self.idle_ns as f64 * share) as u64);
        let before = Stretch { start_ns: self.start_ns, end_ns: at_ns, cpu_ns, idle_ns };
        self.start_ns = at_ns;
        self.cpu_ns -= cpu_ns;
        self.idle_ns -= idle_ns;
        before
    }
}

/// Entries that were read from one directory, one call after the other.
#[derive(Clone, Copy, Debug)]
struct Listing {
    start_ns: u64,
    end_ns: u64,
    handle: HandleId,
    entries: u32,
}

/// Steps so far, with what may still be fused with the next.
#[derive(Debug, Default)]
pub struct Program {
    origin_ns: u64,
    steps: Steps,
    stretch: Option<Stretch>,
    listing: Option<Listing>,
    /// Work in all its steps, nanoseconds.
    pub cpu_ns: u64,
    /// Unobserved waiting in all its steps, nanoseconds.
    pub idle_ns: u64,
}

impl Program {
    /// Steps count their time from `origin_ns`.
    pub fn new(origin_ns: u64) -> Program {
        Program { origin_ns, ..Program::default() }
    }

    /// Appends computation; what follows on computation becomes one step with it.
    #[inline]
    pub fn compute(&mut self, stretch: Stretch) {
        if stretch.cpu_ns == 0 && stretch.idle_ns == 0 {
            return;
        }
        self.cpu_ns = self.cpu_ns.saturating_add(stretch.cpu_ns);
        self.idle_ns = self.idle_ns.saturating_add(stretch.idle_ns);
        match &mut self.stretch {
            Some(before) => {
                before.end_ns = before.end_ns.max(stretch.end_ns);
                before.cpu_ns = before.cpu_ns.saturating_add(stretch.cpu_ns);
                before.idle_ns = before.idle_ns.saturating_add(stretch.idle_ns);
            }
            None => self.stretch = Some(stretch),
        }
    }

    /// Appends any other step.
    pub fn step(&mut self, start_ns: u64, end_ns: u64, op: Op) {
        if let Op::Io { call: Io::ReadDir { handle, entries }, .. } = op {
            return self.list(Listing { start_ns, end_ns, handle, entries });
        }
        self.flush();
        self.push(start_ns, end_ns, op);
    }

    /// What is computed between two entries of a directory comes after both.
    fn list(&mut self, next: Listing) {
        match &mut self.listing {
            Some(listing) if listing.handle == next.handle => {
                listing.end_ns = next.end_ns;
                listing.entries = listing.entries.saturating_add(next.entries);
            }
            _ => {
                self.flush();
                self.listing = Some(next);
            }
        }
    }

    fn flush(&mut self) {
        let mut at = 0;
        if let Some(Listing { start_ns, end_ns, handle, entries }) = self.listing.take() {
            at = end_ns;
            self.push(start_ns, end_ns, Op::Io { call: Io::ReadDir { handle, entries }, result: 0 });
        }
        if let Some(Stretch { start_ns, end_ns, cpu_ns, idle_ns }) = self.stretch.take() {
            self.push(start_ns.max(at), end_ns.max(at), Op::Compute { cpu_ns, idle_ns });
        }
    }

    fn push(&mut self, start_ns: u64, end_ns: u64, op: Op) {
        let start = start_ns.saturating_sub(self.origin_ns);
        self.steps.push(&Step { start_ns: start, took_ns: end_ns.saturating_sub(start_ns), op });
    }

    /// All steps.
    pub fn finish(mut self) -> Steps {
        self.flush();
        self.steps
    }
}
