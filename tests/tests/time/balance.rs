//! The balances that `syn info --json` gives of a run and of a plan, in seconds.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Of a run, or of one process in it.
#[derive(Clone, Debug, Deserialize)]
#[allow(clippy::missing_docs_in_private_items)]
pub struct Recorded {
    pub wall_s: f64,
    pub work_s: f64,
    pub calls_s: f64,
    pub waiting_s: f64,
    pub unexplained_s: f64,
    pub preempted_s: f64,
    pub recording_s: f64,
    pub startup_cpu_s: f64,
    pub open_percent: f64,
}

impl Recorded {
    /// CPU time.
    pub fn cpu(&self) -> f64 {
        self.startup_cpu_s + self.work_s + self.calls_s + self.recording_s
    }

    /// Blocked, inside calls and outside.
    pub fn blocked(&self) -> f64 {
        self.waiting_s + self.unexplained_s
    }
}

/// Of a plan, or of one thread in it.
#[derive(Clone, Debug, Deserialize)]
#[allow(clippy::missing_docs_in_private_items)]
pub struct Planned {
    pub wall_s: f64,
    pub work_s: f64,
    pub calls_cpu_s: f64,
    pub calls_wait_s: f64,
    pub sleep_s: f64,
    pub explained_s: BTreeMap<String, f64>,
    pub unexplained_calls_s: f64,
    pub unexplained_s: f64,
    pub preempted_s: f64,
    pub recording_s: f64,
    pub polling_cpu_s: f64,
    pub open_percent: f64,
}

impl Planned {
    /// CPU time.
    pub fn cpu(&self) -> f64 {
        self.work_s + self.calls_cpu_s + self.polling_cpu_s + self.recording_s
    }

    /// Blocked, however explained.
    pub fn blocked(&self) -> f64 {
        let explained: f64 = self.explained_s.values().sum();
        self.calls_wait_s + self.sleep_s + explained + self.unexplained_calls_s + self.unexplained_s
    }
}

/// One entry of `threads` of a plan.
#[derive(Clone, Debug, Deserialize)]
pub struct PlannedThread {
    /// Of the process as it was recorded.
    pub pid: u32,
    /// Of the thread as it was recorded.
    pub tid: u32,
    /// Its balance.
    #[serde(flatten)]
    pub balance: Planned,
}

/// Threads of a process that the plan leaves out.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct LeftOutThreads {
    /// Of the process as it was recorded.
    pub pid: u32,
    /// CPU time they used.
    pub cpu_s: f64,
}

/// This field of what `syn info --json` says.
///
/// # Errors
/// What is missing, or is not of that form.
pub fn field<T: for<'a> Deserialize<'a>>(info: &Value, name: &str) -> Result<T, String> {
    let value = info.get(name).ok_or_else(|| format!("syn info says nothing of `{name}`"))?;
    T::deserialize(value).map_err(|error| format!("`{name}` of syn info: {error}"))
}
