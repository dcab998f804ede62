//! The watchdogs of a throttled run: one on this host, which leads, and one on each other host of the job.

use crate::output::complain;
use crate::watchdog::{self, ADDRESS_FILE, SECRET_FILE, Secret};
use anyhow::Context;
use std::net::IpAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use syn_trace::board::{BoardFile, Request, UNRANKED_OF_HOST};

/// The watchdog is to give a sign of life within this time.
const WATCHDOG_STARTS: Duration = Duration::from_secs(20);
/// A watchdog that was told to end may take so long.
const ENDS: Duration = Duration::from_secs(2);

/// How the other hosts are reached, and reach this one.
#[derive(Debug)]
pub struct Reach<'a> {
    /// An address of this host.
    pub address: IpAddr,
    /// A command that takes a host and a command line, as ssh(1) does.
    pub remote_shell: &'a str,
}

/// The watchdogs of a run, and the boards that they watch, this host's first.
pub struct Watchdogs {
    /// By host.
    pub boards: Vec<(String, BoardFile)>,
    leader: Child,
    others: Vec<Child>,
}

impl Watchdogs {
    /// Makes the boards in a run folder and starts the watchdogs. `hosts` are those of the plain run.
    pub fn start(
        run: &Path,
        plain: &Path,
        hosts: &[&str],
        request: &Request,
        reach: &Reach<'_>,
    ) -> anyhow::Result<Watchdogs> {
        let here = watchdog::host_name();
        let others: Vec<&str> = hosts.iter().copied().filter(|&host| host != here).collect();
        let boards: Vec<(String, BoardFile)> = std::iter::once(&here[..])
            .chain(others.iter().copied())
            .map(|host| board(run, host, hosts, request).map(|board| (host.to_owned(), board)))
            .collect::<Result<_, _>>()?;
        let mut command = command(run, plain)?;
        if !others.is_empty() {
            Secret::make(run)?;
            admit(run, &here)?;
            command.arg("--hosts").arg(others.join(",")).arg("--listen").arg(reach.address.to_string());
        }
        let leader = command.stdin(Stdio::piped()).spawn().context("cannot start the watchdog")?;
        let mut watchdogs = Watchdogs { boards, leader, others: Vec::new() };
        if !others.is_empty() && wait_until(|| run.join(ADDRESS_FILE).exists() || watchdogs.has_ended()) {
            for host in others {
                watchdogs.start_on(host, run, plain, reach)?;
            }
        }
        wait_until(|| watchdogs.boards[0].1.heartbeat.load(Ordering::Relaxed) > 0 || watchdogs.has_ended());
        Ok(watchdogs)
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.leader.try_wait(), Ok(None))
    }

    fn start_on(&mut self, host: &str, run: &Path, plain: &Path, reach: &Reach<'_>) -> anyhow::Result<()> {
        let mut words = reach.remote_shell.split_whitespace();
        let shell = words.next().context("--remote-shell is empty")?;
        let line = command_line(command(run, plain)?.arg("--join").arg("--host").arg(host));
        let mut remote = Command::new(shell);
        remote.args(words).arg(host).arg(line).stdin(Stdio::null());
        match remote.spawn() {
            Ok(child) => self.others.push(child),
            // The one that leads says who has not come.
            Err(error) => complain(&format!("warning: cannot start a watchdog on {host}: {shell}: {error}")),
        }
        Ok(())
    }

    /// Ends them; false if one had ended before.
    pub fn end(mut self, run: &Path) -> anyhow::Result<(Vec<(String, BoardFile)>, bool)> {
        drop(self.leader.stdin.take());
        let mut lived = self.leader.wait().context("cannot wait for the watchdog")?.success();
        for mut other in self.others {
            let mut status = None;
            let end = Instant::now() + ENDS;
            while status.is_none() && Instant::now() < end {
                status = other.try_wait().context("cannot wait for a watchdog")?;
                std::thread::sleep(Duration::from_millis(1));
            }
            if status.is_none() {
                other.kill().and_then(|()| other.wait()).context("cannot end a watchdog")?;
            }
            lived &= status.is_some_and(|status| status.success());
        }
        for name in [SECRET_FILE, ADDRESS_FILE] {
            // Of a single host there are none.
            let _ = std::fs::remove_file(run.join(name));
        }
        Ok((self.boards, lived))
    }
}

fn board(run: &Path, host: &str, hosts: &[&str], request: &Request) -> anyhow::Result<BoardFile> {
    let board = BoardFile::create(run, host, request)
        .with_context(|| format!("cannot make a board in {}", run.display()))?;
    let number = hosts.iter().position(|&other| other == host).unwrap_or(hosts.len());
    board.unranked.store(number as u32 * UNRANKED_OF_HOST, Ordering::Relaxed);
    Ok(board)
}

/// The folder is that of a launcher here: ranks on other hosts, which no environment of ours reaches, come in.
fn admit(run: &Path, here: &str) -> anyhow::Result<()> {
    let claim = run.join("job");
    std::fs::write(&claim, format!("\n{here} ")).with_context(|| format!("cannot write {}", claim.display()))
}

/// This program as a watchdog.
fn command(run: &Path, plain: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("watchdog").arg("--run").arg(run).arg("--learn").arg(plain);
    Ok(command)
}

/// As a shell takes it.
fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted = words.map(|word| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// False when it takes too long.
fn wait_until(mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + WATCHDOG_STARTS;
    while Instant::now() < end {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}
