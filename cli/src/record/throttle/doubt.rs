//! How much of the plain run's time throttling could explain: waiting that no rule explains, and long computations of processes that
//! share memory, which may be spinning.

use std::path::Path;
use syn_merge::Options;
use syn_trace::calls::Effect;
use syn_trace::run::Measured;
use syn_trace::{Event, Run, record};

/// A computation that is shorter is taken for one.
const LONG_NS: u64 = 500_000;
/// Less than this share of all threads' time is not worth a run, percent.
const WORTH_PERCENT: f64 = 1.0;

/// Where a run's time is in doubt, nanoseconds of all threads.
#[derive(Clone, Copy, Debug)]
pub struct Doubt {
    wall_ns: u64,
    unexplained_ns: u64,
    maybe_spinning_ns: u64,
}

/// Of a run.
pub fn of(plain: &Path) -> anyhow::Result<Doubt> {
    let merged = syn_merge::merge(&Options { runs: vec![plain.to_owned()], ..Options::default() })?;
    let balance = &merged.balance;
    let run = Run::open(plain)?;
    let shares = |thread: &syn_trace::run::Thread| {
        let is_shared = |flags: i64, protection: i64| {
            flags & i64::from(MAP_SHARED) != 0 && protection & i64::from(PROT_WRITE) != 0
        };
        thread.events().any(|event| {
            event.call.effect() == Effect::Map
                && !event.has(record::INNER)
                && is_shared(event.number("flags").unwrap_or(0), event.number("prot").unwrap_or(0))
        })
    };
    // Who has mapped it may have handed it to its children.
    let maybe_spinning_ns = match run.threads.iter().any(shares) {
        true => run.threads.iter().map(long_gaps_ns).sum(),
        false => 0,
    };
    let unexplained_ns = balance.unexplained_calls_ns + balance.unexplained_ns;
    Ok(Doubt { wall_ns: balance.wall_ns, unexplained_ns, maybe_spinning_ns })
}

/// `mman.h`.
const MAP_SHARED: i32 = 1;
const PROT_WRITE: i32 = 2;

fn long_gaps_ns(thread: &syn_trace::run::Thread) -> u64 {
    let mut measures = thread.measures_among(1);
    let (mut room, mut measured, mut sum) = (Event::NOTHING, Measured::NOTHING, 0);
    while measures.next_with(&mut room, &mut measured) {
        if measured.before.inside.is_none() && measured.before.cpu_ns >= LONG_NS {
            sum += measured.before.cpu_ns;
        }
    }
    sum
}

impl Doubt {
    fn percent(&self, ns: u64) -> f64 {
        if self.wall_ns == 0 { 0.0 } else { ns as f64 * 100.0 / self.wall_ns as f64 }
    }

    /// Whether throttled runs are worth their time.
    pub fn is_worth_it(&self) -> bool {
        self.percent(self.unexplained_ns + self.maybe_spinning_ns) >= WORTH_PERCENT
    }

    /// One line.
    pub fn text(&self) -> String {
        format!(
            "of {:.3} s in all threads nothing explains {:.3} s of waiting, and {:.3} s of long computations beside shared memory may be spinning{}",
            self.wall_ns as f64 / 1e9,
            self.unexplained_ns as f64 / 1e9,
            self.maybe_spinning_ns as f64 / 1e9,
            if self.is_worth_it() { "" } else { ": no throttled run is needed" },
        )
    }
}
