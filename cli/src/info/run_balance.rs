//! Where the time of a run went, on the screen and as JSON.

use super::table::row;
use serde::Serialize;
use std::fmt::Write;
use syn_plan::figures::{is_too_much_work, seconds};
use syn_trace::Run;
use syn_trace::run::Balance;

/// More of the time than this without an explanation is worth a word, percent.
const MUCH_PERCENT: f64 = 2.0;

/// A balance in seconds; see [`Balance`] for what each part is.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Seconds {
    wall_s: f64,
    work_s: f64,
    calls_s: f64,
    waiting_s: f64,
    unexplained_s: f64,
    preempted_s: f64,
    recording_s: f64,
    unmeasured_s: f64,
    startup_cpu_s: f64,
    open_percent: f64,
}

impl From<&Balance> for Seconds {
    fn from(balance: &Balance) -> Seconds {
        Seconds {
            wall_s: seconds(balance.wall_ns),
            work_s: seconds(balance.work_ns),
            calls_s: seconds(balance.calls_ns),
            waiting_s: seconds(balance.waiting_ns),
            unexplained_s: seconds(balance.unexplained_ns),
            preempted_s: seconds(balance.preempted_ns),
            recording_s: seconds(balance.recording_ns),
            unmeasured_s: seconds(balance.unmeasured_ns),
            startup_cpu_s: seconds(balance.startup.all_ns()),
            open_percent: balance.open_percent(),
        }
    }
}

impl Seconds {
    /// Some lines: the parts, and what to think of them.
    pub fn screen(&self, out: &mut String) {
        let mut parts = String::new();
        for (name, seconds) in [
            ("work", self.work_s),
            ("calls", self.calls_s),
            ("waiting in calls", self.waiting_s),
            ("waiting elsewhere", self.unexplained_s),
            ("preempted", self.preempted_s),
            ("recording", self.recording_s),
            ("unmeasured", self.unmeasured_s),
        ] {
            let separator = if parts.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(parts, "{separator}{name} {seconds:.3}");
        }
        row(out, "time", format_args!("{:.3} s of all threads: {parts}", self.wall_s));
        let unknown = (self.unexplained_s + self.unmeasured_s) / self.wall_s.max(f64::MIN_POSITIVE) * 100.0;
        if unknown > MUCH_PERCENT {
            row(
                out,
                "",
                format_args!("{unknown:.1} % is time without the processor that no recorded call explains"),
            );
        }
        if self.open_percent > 0.1 {
            row(out, "", format_args!("{:.2} % is not accounted for", self.open_percent));
        }
    }
}

/// Says so when more was computed than the processors could have done.
pub fn too_much(run: &Run, balance: &Balance, elapsed_ns: u64) -> Option<String> {
    let (count, work_ns) = (run.processors(), balance.work_ns.saturating_add(balance.calls_ns));
    is_too_much_work(work_ns, elapsed_ns, count).then(|| {
        format!(
            "{:.3} s of CPU time in {:.3} s on {count} processors cannot be: the times of this run are not to be trusted",
            seconds(work_ns),
            seconds(elapsed_ns)
        )
    })
}
