//! What stands in the folders: in the output folder which command it is of, in each throttled run how it was throttled and what came
//! of it.

use crate::watchdog;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use syn_trace::board::{Board, Request};

/// In a throttled run that is whole; the merge leaves out those without it.
const WHOLE: &str = "throttle.json";
/// In one whose command failed.
const FAILED: &str = "throttle-failed.json";
/// In the output folder; `DIR/*` names the run folders alone.
const JOB: &str = ".throttle.json";

/// The command, and its plain run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    /// Its words.
    pub command: Vec<String>,
    /// The name of the run's folder.
    pub plain: String,
    /// How long that took.
    pub seconds: f64,
}

impl Job {
    /// What an earlier call has left.
    pub fn read(output: &Path) -> anyhow::Result<Option<Job>> {
        read(&output.join(JOB))
    }

    /// For a later call.
    pub fn write(&self, output: &Path) -> anyhow::Result<()> {
        write(&output.join(JOB), self)
    }
}

/// How a run was throttled, and what came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Statement {
    node: u32,
    name: String,
    period: u32,
    kinds: u32,
    bound_s: f64,
    /// Holds that ended because all others had exited or were blocked, because of their bound, for want of a watchdog.
    holds: [u32; 3],
    held_s: f64,
    /// Elapsed time of the command.
    pub seconds: f64,
    /// Of the plain run.
    plain_seconds: f64,
    exit_code: u8,
    watchdog_lost: bool,
    /// Threads that found no room on the board.
    unpublished_threads: u32,
}

impl Statement {
    /// Of a run that is over.
    pub fn of(
        board: &Board,
        request: &Request,
        seconds: f64,
        plain_seconds: f64,
        exit_code: u8,
        watchdog_ended: bool,
    ) -> Statement {
        Statement {
            node: request.node,
            name: watchdog::verdict::name(request.node),
            period: request.period,
            kinds: request.kinds,
            bound_s: request.bound.as_secs_f64(),
            holds: watchdog::holds(board),
            held_s: board.held_ns.load(Ordering::Relaxed) as f64 / 1e9,
            seconds,
            plain_seconds,
            exit_code,
            watchdog_lost: !watchdog_ended || board.lost.load(Ordering::Relaxed) != 0,
            unpublished_threads: board.missed.load(Ordering::Relaxed),
        }
    }

    /// Those of the throttled runs in an output folder that are whole.
    pub fn all(output: &Path) -> anyhow::Result<Vec<(PathBuf, Statement)>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(output)? {
            let folder = entry?.path();
            if !folder.is_dir() {
                continue;
            }
            if let Some(statement) = read(&folder.join(WHOLE))? {
                found.push((folder, statement));
            }
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(found)
    }

    /// True when it was throttled like this.
    pub fn is_of(&self, request: &Request) -> bool {
        (self.node, self.period, self.kinds) == (request.node, request.period, request.kinds)
    }

    /// True when the command succeeded.
    pub fn is_whole(&self) -> bool {
        self.exit_code == 0
    }

    /// Into the run's folder.
    pub fn write(&self, run: &Path) -> anyhow::Result<()> {
        write(&run.join(if self.is_whole() { WHOLE } else { FAILED }), self)
    }

    /// One line.
    pub fn text(&self) -> String {
        let [quiet, bound, lost] = self.holds;
        let mut text = format!(
            "every {}. call: {quiet} holds until all others were blocked or gone, {bound} until the bound of {} s; {:.2} s, {:.1} times the plain run",
            self.period,
            self.bound_s,
            self.seconds,
            self.seconds / self.plain_seconds,
        );
        if self.watchdog_lost {
            text += &format!(
                "; warning: the watchdog was lost, {lost} holds ended by that, and no call was held from then on"
            );
        }
        if self.unpublished_threads > 0 {
            text += &format!("; warning: {} threads were not watched", self.unpublished_threads);
        }
        text
    }
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> anyhow::Result<Option<T>> {
    let doing = || format!("cannot read {}", path.display());
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes).with_context(doing)?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(doing),
    }
}

fn write(path: &Path, what: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(what)?;
    std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}
