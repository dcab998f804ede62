//! Looks at the processes of a command until it has ended, one sample after the other.

use super::options::{Launch, Options};
use crate::metrics::Metrics;
use crate::profile::{Outcome, ProcessRow, Tail};
use crate::rate::Pace;
use crate::sample::{COLUMNS, Field, Sample, WIDTH};
use crate::store::Live;
use crate::sys;
use crate::tree::Tree;
use crate::watch::{Totals, WATCHERS, Watcher, Whole};
use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, WaitOptions, pidfd_open, waitid, waitpid};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Instant;
use syn_replay::clock::{now_ns, thread_cpu_ns};

/// Between two lines about how things stand, nanoseconds.
const LIVE_NS: u64 = 1_000_000_000;

/// See the module.
pub struct Looker {
    watchers: Vec<Box<dyn Watcher>>,
    tree: Tree,
    pace: Pace,
    start: Instant,
    start_ns: u64,
    cost_before_ns: u64,
    before: Totals,
    before_ns: u64,
    peak_bytes: u64,
    most: [u64; WIDTH],
    samples: u64,
    live: bool,
    told_ns: u64,
}

impl Looker {
    /// Before the command starts.
    pub fn new(options: &Options) -> Looker {
        Looker {
            watchers: WATCHERS.iter().map(|row| (row.make)(options)).collect(),
            tree: Tree::new(),
            pace: Pace::new(options.rate),
            start: Instant::now(),
            start_ns: 0,
            cost_before_ns: thread_cpu_ns(),
            before: Totals::default(),
            before_ns: 0,
            peak_bytes: 0,
            most: [0; WIDTH],
            samples: 0,
            live: options.live,
            told_ns: 0,
        }
    }

    /// The command starts now.
    pub fn begin(&mut self) {
        self.tree.begin();
        self.watchers.iter_mut().for_each(|watcher| watcher.pre());
        (self.start, self.start_ns) = (Instant::now(), now_ns());
    }

    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Until the command has ended; what becomes of its orphans is not waited for.
    pub fn follow(
        &mut self,
        child: &mut Child,
        launch: &dyn Launch,
        live: &mut Live<'_>,
    ) -> anyhow::Result<ExitStatus> {
        let main = Pid::from_child(child);
        // Without it (before Linux 5.3) the end is seen at the end of a sample.
        let end = pidfd_open(main, PidfdFlags::empty()).ok();
        loop {
            self.sleep(end.as_ref());
            if self.reap(main) {
                break;
            }
            let sample = self.look();
            self.pace.follow(&sample, thread_cpu_ns() - self.cost_before_ns, self.before_ns);
            live.add(sample);
            self.tell();
        }
        // Whatever it has left in its own process is still to be seen.
        let wall_ns = self.now_ns();
        let levels = self.before.clone();
        let mut last = self.look_at(wall_ns);
        // A process that has ended has no memory. It had until then.
        for (place, _) in COLUMNS.iter().enumerate().filter(|(_, column)| column.level) {
            last.values[place] = last.values[place].max(levels.0[place]);
        }
        launch.ended();
        let status = child.wait().context("cannot wait for the command")?;
        while let Ok(Some(_)) = waitpid(None, WaitOptions::NOHANG) {}
        // Only what lives on is still in the tree: what ended is in the figures of those who waited for it.
        self.tree.refresh(wall_ns + 1);
        self.exact(&mut last);
        live.add(last);
        self.before_ns = wall_ns;
        Ok(status)
    }

    fn sleep(&self, end: Option<&rustix::fd::OwnedFd>) {
        let left = (self.before_ns + self.pace.span_ns()).saturating_sub(self.now_ns());
        let limit =
            Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 };
        let mut ends: Vec<PollFd<'_>> = end.iter().map(|fd| PollFd::new(*fd, PollFlags::IN)).collect();
        // A signal only makes the sample shorter.
        let _ = poll(&mut ends, Some(&limit));
    }

    /// Waits for orphans that have ended. True when the command itself has; that is left to be looked at.
    fn reap(&mut self, main: Pid) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match waitid(WaitId::Pid(main), look) {
            // Somebody else has waited for it.
            Ok(Some(_)) | Err(rustix::io::Errno::CHILD) => return true,
            _ => {}
        }
        for process in self.tree.living.values().filter(|process| process.stat.state == 'Z') {
            let pid = Pid::from_raw(process.pid).filter(|&pid| pid != main);
            // Of others than our own children this fails, and changes nothing.
            let reaped = pid.map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
            self.tree.reaped += u64::from(matches!(reaped, Some(Ok(Some(_)))));
        }
        false
    }

    fn look(&mut self) -> Sample {
        self.look_at(self.now_ns())
    }

    fn look_at(&mut self, now_ns: u64) -> Sample {
        self.tree.refresh(now_ns);
        let mut totals = self.before.clone();
        for watcher in &mut self.watchers {
            watcher.sample(&mut self.tree, now_ns, &mut totals);
        }
        self.peak_bytes = self.peak_bytes.max(totals.get(Field::Resident).unwrap_or(0));
        for (most, value) in self.most.iter_mut().zip(totals.0) {
            *most = (*most).max(value.unwrap_or(0));
        }
        self.samples += 1;
        let mut sample = Sample { end_ns: now_ns, span_ns: now_ns - self.before_ns, ..Sample::default() };
        self.step(&mut sample, totals);
        self.before_ns = now_ns;
        sample
    }

    /// What was added since the totals before. A child on its way from its own figures to its parent's may be missing in
    /// between: nothing is ever taken back.
    fn step(&mut self, sample: &mut Sample, totals: Totals) {
        for (place, column) in COLUMNS.iter().enumerate() {
            let (before, now) = (self.before.0[place], totals.0[place]);
            sample.values[place] = match now {
                Some(now) if !column.level => {
                    self.before.0[place] = Some(now.max(before.unwrap_or(0)));
                    Some(now.saturating_sub(before.unwrap_or(0)))
                }
                level => {
                    self.before.0[place] = level;
                    level
                }
            };
        }
    }

    /// The exact totals; what they have more than the samples belongs to the last one.
    fn exact(&mut self, last: &mut Sample) {
        let seen = self.before.clone();
        let mut totals = self.before.clone();
        for watcher in &mut self.watchers {
            watcher.post(&self.tree, &mut totals);
        }
        for (place, column) in COLUMNS.iter().enumerate() {
            if let (false, Some(exact)) = (column.level, totals.0[place]) {
                let more = exact.saturating_sub(seen.0[place].unwrap_or(0));
                last.values[place] = Some(last.values[place].unwrap_or(0) + more);
            }
        }
        self.before = totals;
    }

    /// What is known at the end.
    pub fn finish(mut self, status: ExitStatus) -> Tail {
        let mut metrics = Metrics::default();
        let whole = Whole {
            totals: &self.before,
            tree: &self.tree,
            wall_ns: self.before_ns,
            peak_bytes: self.peak_bytes,
        };
        for watcher in &mut self.watchers {
            watcher.finalize(&whole, &mut metrics);
        }
        metrics.started(self.start_ns);
        let cost = (thread_cpu_ns() - self.cost_before_ns) as f64 / 1e9;
        metrics.measured("profiler.cpu", "s", cost, "CPU time of looking and storing");
        metrics.measured(
            "profiler.share",
            "",
            cost / (self.before_ns as f64 / 1e9).max(1e-9),
            "of one processor",
        );
        metrics.measured("profiler.peak", "B", sys::own_peak_bytes() as f64, "most resident memory");
        metrics.measured("profiler.samples", "", self.samples as f64, "");
        let outcome = match (status.code(), status.signal()) {
            (_, Some(signal)) => Outcome::Killed(signal),
            (code, _) => Outcome::Exited(code.unwrap_or(-1)),
        };
        if let Outcome::Killed(signal) = outcome {
            metrics.notes.insert(
                0,
                format!("the command was ended by signal {signal}: the profile holds what it did until then"),
            );
        }
        let mut totals = self.before.0;
        for (place, column) in COLUMNS.iter().enumerate() {
            if column.level {
                totals[place] = totals[place].map(|_| self.most[place]);
            }
        }
        let processes = self.tree.gone.iter().chain(self.tree.living.values());
        let mut processes: Vec<ProcessRow> = processes.map(row).collect();
        processes.sort_by_key(|process| (process.seen_ns[0], process.pid));
        let left_out = (self.tree.gone_count as usize).saturating_sub(self.tree.gone.len());
        if left_out > 0 {
            metrics.notes.push(format!("{left_out} more processes were seen than are listed"));
        }
        let mut tail = Tail {
            wall_ns: self.before_ns,
            outcome,
            totals,
            metrics,
            processes,
            blocks: Vec::new(),
            files: Vec::new(),
        };
        self.watchers.iter_mut().for_each(|watcher| watcher.details(&mut tail));
        tail
    }

    fn tell(&mut self) {
        if self.live && self.before_ns >= self.told_ns + LIVE_NS {
            self.told_ns = self.before_ns;
            let get = |field| self.before.get(field).unwrap_or(0) as f64;
            eprintln!(
                "syn: {:6.0} s  cpu {:.1} s  resident {:.0} MiB  read {:.1} MiB  written {:.1} MiB  {} processes, {} threads",
                self.before_ns as f64 / 1e9,
                get(Field::Cpu) / 1e9,
                get(Field::Resident) / f64::from(1 << 20),
                get(Field::ReadBytes) / f64::from(1 << 20),
                get(Field::WriteBytes) / f64::from(1 << 20),
                get(Field::Processes),
                get(Field::Threads)
            );
        }
    }
}

fn row(process: &crate::tree::Process) -> ProcessRow {
    ProcessRow {
        pid: process.pid,
        ppid: process.stat.ppid,
        name: process.stat.name.clone(),
        seen_ns: process.seen_ns,
        cpu_ns: process.cpu_ns,
        bytes: process.io.map(|io| io.bytes),
        peak_bytes: process.peak_bytes,
        threads: process.most_threads,
    }
}
