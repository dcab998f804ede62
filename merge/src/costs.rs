//! What an MPI call costs its own thread, apart from waiting: packing, copying, protocol.
//!
//! The own cost of a call is the time from the last moment it waited for (or its entry) to its return. On a machine
//! with more ranks than processors this also holds the time until the waiting thread got a processor, which a replay
//! will have by itself. So an observed cost counts at most as much as is usual for its class.

use crate::dependency::Stage;
use crate::mpi::{CallLog, Class, TimedCall};
use crate::schedule::Schedule;

/// Which of the sorted observed costs of a class is taken as usual. The median: at most half of the calls of a class
/// may meet a busy processor before it is distorted, and a lower quantile would take real work away from classes
/// whose calls differ.
const USUAL: f64 = 0.5;

/// The usual own cost of every class of MPI calls.
#[derive(Debug)]
pub struct Costs {
    usual: Vec<(Class, u64)>,
}

impl Costs {
    /// From all calls of a run.
    pub fn of(log: &CallLog, schedule: &Schedule) -> Costs {
        let mut observed: Vec<(Class, u64)> = Vec::new();
        for (thread, calls) in log.threads.iter().enumerate() {
            let mut points = schedule.points(thread).iter().peekable();
            for call in calls {
                let mut awaited = None;
                while let Some(point) = points.next_if(|point| point.point.record <= call.record) {
                    if point.point.record == call.record && point.point.stage == Stage::Leave {
                        awaited = point.awaited_ns;
                    }
                }
                observed.push((call.class, own(call, awaited)));
            }
        }
        observed.sort_unstable();
        let usual = observed
            .chunk_by(|one, other| one.0 == other.0)
            .map(|class| class[((class.len() - 1) as f64 * USUAL) as usize])
            .collect();
        Costs { usual }
    }

    /// What `call` costs, nanoseconds of work, if it waited until `awaited_ns`.
    pub fn of_call(&self, call: &TimedCall, awaited_ns: Option<u64>) -> u64 {
        let usual = self.usual.binary_search_by_key(&call.class, |&(class, _)| class);
        let own = own(call, awaited_ns);
        usual.map_or(own, |index| own.min(self.usual[index].1))
    }
}

fn own(call: &TimedCall, awaited_ns: Option<u64>) -> u64 {
    call.end_ns.saturating_sub(call.start_ns.max(awaited_ns.unwrap_or(0)))
}
