//! A run that was opened.

use crate::clocks::Clocks;
use crate::mpi::Worlds;
use std::collections::HashSet;
use syn_trace::Run;
use syn_trace::run::{Process, ProcessEnd};

/// A run and what a first look at it showed.
#[derive(Debug)]
pub struct Recorded {
    /// The run.
    pub run: Run,
    /// Its ranks.
    pub worlds: Worlds,
    /// Events of all threads.
    pub events: u64,
    /// Bytes of all traces.
    pub bytes: u64,
    /// Elapsed time of the application, nanoseconds: of the host where it took longest, or of all together if their clocks are aligned.
    pub elapsed_ns: u64,
    /// The application on each host.
    pub on_hosts: Vec<OnHost>,
    /// What part of the time in which its threads were ready to run the processor was another's, 0 to 1. Of a run alone nobody asks.
    pub preempted: f64,
    /// CPU time of its threads, nanoseconds. Of a run alone nobody asks.
    pub used_ns: f64,
    /// Of several runs, one that others disturbed much more than the rest: it tells in which order things happen, not how long they take.
    pub is_disturbed: bool,
}

/// The application on one host, by the clock of that.
#[derive(Clone, Copy, Debug)]
pub struct OnHost {
    /// One of its threads there.
    pub thread: usize,
    /// Its beginning, nanoseconds.
    pub first_ns: u64,
    /// Its end.
    pub last_ns: u64,
}

impl Recorded {
    /// Elapsed time of the application on these clocks, nanoseconds.
    pub fn elapsed_on(&self, clocks: &Clocks) -> u64 {
        let first_ns = self.on_hosts.iter().map(|host| clocks.ns(host.thread, host.first_ns)).min();
        let last_ns = self.on_hosts.iter().map(|host| clocks.ns(host.thread, host.last_ns)).max();
        last_ns.unwrap_or(0).saturating_sub(first_ns.unwrap_or(0))
    }

    /// The processes that are not launchers.
    pub fn application(&self) -> impl Iterator<Item = &Process> {
        self.run.processes.iter().filter(|process| !process.process_only)
    }

    /// How many of them were killed, or did not end before their traces were copied: of ranks, and of the command itself. Whether
    /// one that a process of the application made is killed in time may be chance.
    pub fn killed(&self) -> usize {
        let makers: HashSet<_> = self.application().map(|process| (process.boot_id, process.pid)).collect();
        let processes = self.run.processes.iter().enumerate().filter(|(_, process)| !process.process_only);
        let first = processes.filter(|(_, process)| !makers.contains(&(process.boot_id, process.ppid)));
        first.filter(|&(index, _)| self.run.end_of(index) == ProcessEnd::Killed).count()
    }

    /// The command of the first of them that has one.
    pub fn command(&self) -> &str {
        self.application().map(|process| &*process.command).find(|command| !command.is_empty()).unwrap_or("")
    }

    /// For messages.
    pub fn name(&self) -> String {
        self.run.path.display().to_string()
    }
}
