//! One thread's steps in the making.

use syn_plan::{Balance, HandleId, Io, Mpi, Op, Rule, Step, Steps, turns};

/// A stretch of computation, on the time axis of the merge.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Work in it.
    pub cpu_ns: u64,
    /// Waiting in it that no rule explains.
    pub idle_ns: u64,
    /// It is inside a recorded call.
    pub in_call: bool,
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
        let before = Stretch { end_ns: at_ns, cpu_ns, idle_ns, ..*self };
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
    /// Where its time went.
    pub balance: Balance,
}

impl Program {
    /// Steps count their time from `origin_ns`.
    pub fn new(origin_ns: u64) -> Program {
        Program { origin_ns, ..Program::default() }
    }

    /// Appends computation; what follows on computation becomes one step with it, unless what waited when would be lost.
    #[inline]
    pub fn compute(&mut self, stretch: Stretch) {
        if stretch.cpu_ns == 0 && stretch.idle_ns == 0 {
            return;
        }
        self.account_computation(&stretch);
        if let Some(before) = &mut self.stretch {
            let cpu_ns = before.cpu_ns.saturating_add(stretch.cpu_ns);
            let idle_ns = before.idle_ns.saturating_add(stretch.idle_ns);
            if turns(cpu_ns, idle_ns) == 0 {
                before.end_ns = before.end_ns.max(stretch.end_ns);
                (before.cpu_ns, before.idle_ns) = (cpu_ns, idle_ns);
                return;
            }
            self.flush();
        }
        self.stretch = Some(stretch);
    }

    /// The stretch that is not appended yet ended by then, or where it began; returns when it has ended, or `ns` without one.
    pub fn end_stretch_by(&mut self, ns: u64) -> u64 {
        let Some(stretch) = &mut self.stretch else { return ns };
        stretch.end_ns = stretch.end_ns.min(ns).max(stretch.start_ns);
        stretch.end_ns.max(ns)
    }

    fn account_computation(&mut self, stretch: &Stretch) {
        let balance = &mut self.balance;
        balance.work_ns = balance.work_ns.saturating_add(stretch.cpu_ns);
        let idle =
            if stretch.in_call { &mut balance.unexplained_calls_ns } else { &mut balance.unexplained_ns };
        *idle = idle.saturating_add(stretch.idle_ns);
    }

    /// Appends a call of MPI, and what it cost besides waiting for others.
    pub fn communicate(&mut self, call: Mpi, behind: Stretch) {
        let Stretch { start_ns, end_ns, cpu_ns, idle_ns, .. } = behind;
        self.account_computation(&behind);
        self.step(start_ns, end_ns, Op::Mpi { call, cpu_ns, idle_ns });
    }

    /// Accounts for waiting until the process ended, which is not part of the program. `explained` if it was for that.
    pub fn leave_out_waiting(&mut self, ns: u64, explained: bool) {
        match explained && ns > 0 {
            true => self.balance.explain(Rule::ProcessEnd, ns),
            false => self.balance.unexplained_ns += ns,
        }
    }

    /// Accounts for waiting that a rule explains. On the processor for `cpu_ns` of it: a library that polls.
    pub fn explain(&mut self, rule: Option<Rule>, ns: u64, cpu_ns: u64) {
        match rule {
            Some(rule) => self.balance.explain(rule, ns),
            None => self.balance.unexplained_calls_ns += ns,
        }
        self.balance.polling_cpu_ns += cpu_ns;
    }

    /// The time from what the thread had waited for until it asked again, if it `slept` between.
    pub fn ask_again(&mut self, start_ns: u64, end_ns: u64, idle_ns: u64, slept: bool) {
        if !slept {
            return self.compute(Stretch { start_ns, end_ns, cpu_ns: 0, idle_ns, in_call: false });
        }
        if idle_ns > 0 {
            self.step(start_ns, end_ns, Op::Sleep { ns: idle_ns });
            self.balance.sleep_ns += idle_ns;
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
        if let Some(Stretch { start_ns, end_ns, cpu_ns, idle_ns, .. }) = self.stretch.take() {
            self.push(start_ns.max(at), end_ns.max(at), Op::Compute { cpu_ns, idle_ns });
        }
    }

    fn push(&mut self, start_ns: u64, end_ns: u64, op: Op) {
        let start = start_ns.saturating_sub(self.origin_ns);
        self.steps.push(&Step { start_ns: start, took_ns: end_ns.saturating_sub(start_ns), op });
    }

    /// All steps, and where the time went.
    pub fn finish(mut self) -> (Steps, Balance) {
        self.flush();
        (self.steps, self.balance)
    }
}
