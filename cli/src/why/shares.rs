//! What the time on a way was spent with.

use super::chain::Link;
use super::timeline::{Timed, Timeline, What};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A kind of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// On the processor.
    Work,
    /// Waiting that no rule explains.
    Unexplained,
    /// A sleep that the program asked for.
    Sleep,
    /// A call that is replayed.
    Call(&'static str),
    /// Ready to run, but without a processor, in between or when a wait was over; and the cost of recording.
    Between,
    /// From a signal until who waited for it went on.
    HandOver,
}

impl Kind {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Work => "computing",
            Kind::Unexplained => "waiting that no rule explains",
            Kind::Sleep => "sleeping",
            Kind::Call(name) => name,
            Kind::Between => "without a processor, or recording",
            Kind::HandOver => "going on after a wait",
        }
    }
}

/// The time that groups of programs ([`Timeline::group`]) spent with each kind of thing, nanoseconds.
pub type Shares = BTreeMap<(usize, Kind), u64>;

/// Of a whole way.
pub fn of(timeline: &Timeline<'_>, links: &[Link]) -> Shares {
    let mut shares = Shares::new();
    for link in links {
        match *link {
            Link::Ran { program, steps: (first, behind), from_ns, to_ns } => {
                let steps = &timeline.programs[program][first..behind];
                ran(timeline.group(program), steps, (from_ns, to_ns), &mut shares);
            }
            Link::Waited(cause) => {
                let ns = cause.until_ns.saturating_sub(cause.signalled_ns.max(cause.since_ns));
                *shares.entry((timeline.group(cause.wait.program), Kind::HandOver)).or_default() += ns;
            }
        }
    }
    shares.retain(|_, ns| *ns > 0);
    shares
}

/// The longest first.
pub fn sorted(shares: &Shares) -> Vec<((usize, Kind), u64)> {
    let mut sorted: Vec<_> = shares.iter().map(|(&key, &ns)| (key, ns)).collect();
    sorted.sort_by_key(|&(key, ns)| (Reverse(ns), key));
    sorted
}

fn ran(group: usize, steps: &[Timed], (from_ns, to_ns): (u64, u64), shares: &mut Shares) {
    let mut behind_ns = from_ns;
    let mut add = |kind, ns: u64| *shares.entry((group, kind)).or_default() += ns;
    for step in steps {
        let (start_ns, end_ns) = (step.start_ns.clamp(behind_ns, to_ns), step.end_ns.clamp(behind_ns, to_ns));
        add(Kind::Between, start_ns - behind_ns);
        for (kind, ns) in parts(step, end_ns - start_ns) {
            add(kind, ns);
        }
        behind_ns = end_ns;
    }
    add(Kind::Between, to_ns - behind_ns.min(to_ns));
}

/// A step's time, of which only so much counts.
pub fn parts(step: &Timed, took_ns: u64) -> impl Iterator<Item = (Kind, u64)> {
    let partly = |kind, cpu_ns: u64, idle_ns: u64| {
        let cpu_ns = cpu_ns.min(took_ns);
        [(kind, cpu_ns), (Kind::Unexplained, idle_ns.min(took_ns - cpu_ns))]
    };
    let [first, second] = match step.what {
        What::Compute(cpu_ns, idle_ns) => partly(Kind::Work, cpu_ns, idle_ns),
        What::Mpi(name, cpu_ns, idle_ns) => partly(Kind::Call(name), cpu_ns, idle_ns),
        What::Sleep => [(Kind::Sleep, took_ns), (Kind::Sleep, 0)],
        What::Call(name) => [(Kind::Call(name), took_ns), (Kind::Between, 0)],
        What::Signal(_) | What::Wait(..) => [(Kind::Between, took_ns), (Kind::Between, 0)],
    };
    [first, second, (Kind::Between, took_ns - first.1 - second.1)].into_iter()
}
