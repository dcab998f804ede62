//! Operations on files, and whether they went as in the recording.

use super::Runner;
use crate::delays::Performed;
use crate::measure::moves_bytes;
use crate::meter::Part;
use syn_plan::{Io, Mpi};

impl Runner<'_> {
    /// An operation.
    // In line where most come from: a further call takes some nanoseconds of each.
    #[inline(always)]
    pub(super) fn io(&mut self, call: &Io, expected: i64) {
        self.work_ends();
        let found = self.target.perform(&mut self.prepared.buffers, call, expected);
        let (took_ns, used_ns) = self.meter.lap_of_io();
        if self.job.delays.is_some() {
            let end_ns = self.meter.now_ns.saturating_sub(self.start_ns);
            let start_ns = end_ns.saturating_sub(took_ns);
            self.performed.push(Performed { step: self.step - 1, start_ns, end_ns });
        }
        let moves = moves_bytes(call);
        let agrees = agree(expected, found, moves);
        // What stands for the state that a process found the application did not do.
        if call.is_call() || !agrees {
            let class = self.classes.of(call);
            class.record(took_ns, found, moves);
            class.divergent += u64::from(!agrees);
        }
        if call.is_computation() {
            self.ahead_ns += used_ns as f64;
        }
        if !agrees {
            self.diverged(call, expected, found);
        }
    }

    fn diverged(&mut self, call: &Io, expected: i64, found: i64) {
        let target = self.target;
        let cause = match target.cause_of(call) {
            Some(cause) => {
                self.divergences.consequence(cause, call);
                cause
            }
            None => self.divergences.cause(self.step - 1, call, || target.path_of(call), expected, found),
        };
        if expected >= 0 && found < 0 {
            target.failed(call, cause);
        }
    }

    /// A call of MPI on a file.
    pub(super) fn on_file(&mut self, call: &Mpi) {
        self.work_ends();
        self.transport.call(self.number, call);
        let took_ns = self.meter.lap(Part::Io);
        if *call != Mpi::FileLeave {
            let (sent, received) = call.bytes();
            self.classes.numbered(call.number(), call.name()).record(took_ns, (sent + received) as i64, true);
        }
        for edge in self.in_file_call.take().into_iter().flatten() {
            self.transport.signal(edge);
        }
    }
}

/// Transfers agree in their bytes, everything else in success; failures in their errno.
fn agree(expected: i64, found: i64, moves_bytes: bool) -> bool {
    if moves_bytes || expected < 0 || found < 0 { expected == found } else { true }
}
