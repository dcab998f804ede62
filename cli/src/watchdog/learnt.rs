//! What the run without throttling tells: how long each thread went without getting anywhere, call by call.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;
use syn_trace::Layer;
use syn_trace::calls::{Call, Effect, Fact};
use syn_trace::run::Measured;
use syn_trace::{Run, TraceError};

/// Runs differ by a few calls: the longest of so many before and behind counts.
const AROUND: usize = 4;

/// By node and by thread of the node, in the order in which they began: what lay between two calls that got the thread somewhere, and
/// the second of them, nanoseconds.
#[derive(Debug, Default)]
pub struct Learnt {
    threads: HashMap<(u32, usize), Vec<u32>>,
}

impl Learnt {
    /// From a run folder.
    pub fn of(run: &Path) -> Result<Learnt, TraceError> {
        let run = Run::open(run)?;
        let mut learnt = Learnt::default();
        for (node, threads) in run.nodes() {
            for (ordinal, images) in threads.into_iter().enumerate() {
                let steps = images.iter().flat_map(|&thread| steps(&run, thread)).collect();
                learnt.threads.insert((node, ordinal), steps);
            }
        }
        Ok(learnt)
    }

    /// How long the thread took there: it has made so many calls that got it somewhere, and is on its way to the next one.
    pub fn at(&self, node: u32, ordinal: usize, progress: u64) -> Duration {
        let Some(steps) = self.threads.get(&(node, ordinal)) else { return Duration::ZERO };
        let place = (progress as usize).min(steps.len());
        let around = place.saturating_sub(AROUND)..(place + AROUND + 1).min(steps.len());
        Duration::from_nanos(steps[around].iter().copied().max().unwrap_or(0).into()) * UNIT_NS
    }
}

/// Times are kept in units of so many nanoseconds.
const UNIT_NS: u32 = 1000;

/// From one call that got the thread somewhere to the end of the next, in units. What lies inside calls that wait for others is left
/// out, and so is waiting for a processor: the watchdog does the same.
fn steps(run: &Run, thread: usize) -> Vec<u32> {
    let (mut steps, mut took_ns) = (Vec::new(), 0);
    let mut events = run.threads[thread].measured();
    let (mut event, mut measured) = (syn_trace::Event::NOTHING, Measured::NOTHING);
    while events.next_into(&mut event, &mut measured) {
        let Measured { before, call } = &measured;
        let waited_ns = if waits(event.call) { 0 } else { call.waited_ns };
        took_ns += before.cpu_ns + before.waited_ns + call.cpu_ns + waited_ns;
        if event.is_step() {
            steps.push((took_ns / u64::from(UNIT_NS)).min(u64::from(u32::MAX)) as u32);
            took_ns = 0;
        }
    }
    steps
}

/// Whether the call may wait for another thread or process. Of `read` and `write` the board does not tell what they are on: they are
/// taken to end by themselves.
pub fn waits(call: Call) -> bool {
    match call.layer() {
        Layer::Mpi | Layer::Socket | Layer::Sync => true,
        Layer::Process => {
            use Effect::{AwaitProcess, AwaitProcessById, JoinThread, RunCommand};
            matches!(call.effect(), AwaitProcess | AwaitProcessById | JoinThread | RunCommand)
        }
        Layer::Stdio => matches!(call.effect(), Effect::CloseProcessStream),
        _ => call.has(Fact::Waits) && matches!(call.effect(), Effect::LockFile | Effect::LockFileAtPosition),
    }
}
