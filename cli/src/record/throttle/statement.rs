//! What stands in the folders: in the output folder which command it is of, in each throttled run how it was throttled and what came
//! of it.

use crate::watchdog;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use syn_trace::board::{BoardFile, Request};

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
    /// Hosts of the job, as far as the plain run tells, on which no watchdog has come.
    #[serde(default)]
    unwatched_hosts: Vec<String>,
    /// Hosts on which it was lost.
    #[serde(default)]
    lost_hosts: Vec<String>,
    /// Threads that found no room on the board.
    unpublished_threads: u32,
}

impl Statement {
    /// Of a run that is over.
    pub fn of(
        boards: &[(String, BoardFile)],
        request: &Request,
        [seconds, plain_seconds]: [f64; 2],
        exit_code: u8,
        watchdogs_lived: bool,
    ) -> Statement {
        let hosts = |is_such: fn(&BoardFile) -> bool| {
            let such = boards.iter().filter(|(_, board)| is_such(board));
            such.map(|(host, _)| host.clone()).collect::<Vec<_>>()
        };
        let sum =
            |counter: fn(&BoardFile) -> u64| boards.iter().map(|(_, board)| counter(board)).sum::<u64>();
        let lost_hosts = hosts(|board| board.lost.load(Ordering::Relaxed) != 0);
        Statement {
            node: request.node,
            name: watchdog::verdict::name(request.node),
            period: request.period,
            kinds: request.kinds,
            bound_s: request.bound.as_secs_f64(),
            holds: boards.iter().fold([0; 3], |sum, (_, board)| {
                let holds = watchdog::holds(board);
                [0, 1, 2].map(|reason: usize| sum[reason] + holds[reason])
            }),
            held_s: sum(|board| board.held_ns.load(Ordering::Relaxed)) as f64 / 1e9,
            seconds,
            plain_seconds,
            exit_code,
            watchdog_lost: !watchdogs_lived || !lost_hosts.is_empty(),
            unwatched_hosts: hosts(|board| board.heartbeat.load(Ordering::Relaxed) == 0),
            lost_hosts,
            unpublished_threads: sum(|board| board.missed.load(Ordering::Relaxed).into()) as u32,
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
        let every = match self.period {
            1 => "every call".to_owned(),
            period => format!("every {period}. call"),
        };
        let mut text = format!(
            "{every}: {quiet} holds until all others were blocked or gone, {bound} until the bound of {} s; {:.2} s, {:.1} times the plain run",
            self.bound_s,
            self.seconds,
            self.seconds / self.plain_seconds,
        );
        if !self.unwatched_hosts.is_empty() {
            let names = self.unwatched_hosts.join(", ");
            text += &format!("; warning: without a watchdog, and so not waited for: {names}");
        }
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
