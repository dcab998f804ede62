//! What an MPI call costs its own thread, apart from waiting: packing, copying, protocol.
//!
//! The own cost of a call is the time from the last moment it waited for (or its entry) to its return, where the thread
//! kept its processor all the while. Other calls also contain the time until the woken thread got a processor, which a
//! replay has by itself. Their own cost is what is usual for their class among those that kept it.

use crate::graph::dependency::Stage;
use crate::graph::schedule::Schedule;
use crate::mpi::{CallLog, Class, TimedCall};

/// Which of the sorted observed costs of a class is taken as usual: the median, among calls that kept their processor.
const USUAL: f64 = 0.5;
/// The same where no call of the class did: most of them hold the time until the thread got a processor.
const USUAL_OF_LOST: f64 = 0.1;

/// The usual own cost of every class of MPI calls.
#[derive(Debug)]
pub struct Costs {
    usual: Vec<(Class, u64)>,
}

impl Costs {
    /// From all calls of a run.
    pub fn of(log: &CallLog, schedule: &Schedule) -> Costs {
        let mut observed: Vec<(Class, bool, u64)> = Vec::new();
        for (thread, calls) in log.threads.iter().enumerate() {
            let mut points = schedule.points(thread).iter().peekable();
            for call in calls.iter() {
                let mut awaited = None;
                while let Some(point) = points.next_if(|point| point.record <= call.record) {
                    if point.record == call.record && point.stage == Stage::Leave {
                        awaited = point.awaited_ns();
                    }
                }
                observed.push((call.class, !call.kept, own(&call, awaited)));
            }
        }
        observed.sort_unstable();
        let usual = observed
            .chunk_by(|one, other| one.0 == other.0)
            .map(|class| {
                let kept = class.partition_point(|&(_, lost, _)| !lost);
                let (from, quantile) =
                    if kept > 0 { (&class[..kept], USUAL) } else { (class, USUAL_OF_LOST) };
                let (class, _, ns) = from[((from.len() - 1) as f64 * quantile) as usize];
                (class, ns)
            })
            .collect();
        Costs { usual }
    }

    /// What `call` costs, nanoseconds of work, if it waited until `awaited_ns`.
    pub fn of_call(&self, call: &TimedCall, awaited_ns: Option<u64>) -> u64 {
        let usual = self.usual.binary_search_by_key(&call.class, |&(class, _)| class);
        let own = own(call, awaited_ns);
        if call.kept {
            return own;
        }
        usual.map_or(own, |index| own.min(self.usual[index].1))
    }
}

fn own(call: &TimedCall, awaited_ns: Option<u64>) -> u64 {
    call.end_ns.saturating_sub(call.start_ns.max(awaited_ns.unwrap_or(0)))
}
