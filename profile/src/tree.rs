//! The process tree: the command and everything that it started, orphans included, since they become children of the
//! profiler (`PR_SET_CHILD_SUBREAPER`).

use crate::proc::{Io, Kept, Reader, Stat, numbers_in};
use std::collections::{BTreeMap, HashSet};

/// A process that was seen.
#[derive(Debug)]
pub struct Process {
    /// Process id.
    pub pid: i32,
    /// First and last time that it was seen, nanoseconds since the start of the command.
    pub seen_ns: [u64; 2],
    /// The latest of its files.
    pub stat: Stat,
    /// CPU time of itself, nanoseconds, at the last look.
    pub cpu_ns: u64,
    /// What it read and wrote, with waited-for children; none when it may not be looked at.
    pub io: Option<Io>,
    /// Most resident memory seen, bytes.
    pub peak_bytes: u64,
    /// Most threads seen.
    pub most_threads: u64,
    /// Its files `stat` and `io`.
    pub files: [Kept; 2],
}

/// All processes of the command.
#[derive(Debug)]
pub struct Tree {
    own: i32,
    /// Those alive (or ended and not waited for), by process id: parents mostly come before their children, so a child that
    /// is waited for between the two looks is missed once, and not counted twice.
    pub living: BTreeMap<i32, Process>,
    /// Those that are gone, as they were last seen; the first of them.
    pub gone: Vec<Process>,
    /// How many are gone.
    pub gone_count: u64,
    /// Children that the profiler has waited for.
    pub reaped: u64,
    /// Counts how often processes and threads may have come.
    pub births: u64,
    strangers: HashSet<i32>,
    reader: Reader,
    last_pid: (Kept, Option<u64>),
    listed_ns: Option<u64>,
}

/// All processes are listed at least this often, nanoseconds: in a container `/proc/loadavg` may not be the kernel's.
const LIST_EVERY_NS: u64 = 1_000_000_000;

/// So many of those that are gone are kept one by one.
const KEPT: usize = 2000;

impl Tree {
    /// Below the calling process.
    pub fn new() -> Tree {
        Tree {
            own: std::process::id() as i32,
            living: BTreeMap::new(),
            gone: Vec::new(),
            gone_count: 0,
            reaped: 0,
            births: 0,
            strangers: HashSet::new(),
            reader: Reader::default(),
            last_pid: Default::default(),
            listed_ns: None,
        }
    }

    /// Leaves out what is below the calling process by now: it is of a command that was run before.
    pub fn begin(&mut self) {
        self.list(0);
        self.strangers.extend(std::mem::take(&mut self.living).into_keys());
    }

    /// Looks at the processes of the tree, and for new ones where any may have come.
    pub fn refresh(&mut self, now_ns: u64) {
        let fresh = self.something_was_born(now_ns);
        for (pid, process) in &mut self.living {
            let text = process.files[0].read(&mut self.reader, || format!("/proc/{pid}/stat"));
            match text.ok().and_then(Stat::parse) {
                Some(stat) if process.stat.start_ticks == stat.start_ticks => process.seen(now_ns, stat),
                _ => {}
            }
        }
        self.bury(now_ns);
        if fresh {
            self.births += 1;
            self.list(now_ns);
            self.listed_ns = Some(now_ns);
        }
    }

    /// Whether the newest process or thread of the machine is another one than at the last look: the last figure of `/proc/loadavg`.
    fn something_was_born(&mut self, now_ns: u64) -> bool {
        let text = self.last_pid.0.read(&mut self.reader, || "/proc/loadavg".into());
        let last = text.ok().and_then(|text| text.split_ascii_whitespace().last()?.parse().ok());
        let before = std::mem::replace(&mut self.last_pid.1, last);
        last.is_none()
            || last != before
            || self.listed_ns.is_none_or(|listed| now_ns >= listed + LIST_EVERY_NS)
    }

    /// Looks for processes that were not there before.
    fn list(&mut self, now_ns: u64) {
        let mut there = numbers_in("/proc");
        there.sort_unstable();
        self.strangers.retain(|pid| there.binary_search(pid).is_ok());
        let mut fresh: Vec<(i32, Stat)> = Vec::new();
        for pid in there {
            if pid == self.own || self.strangers.contains(&pid) || self.living.contains_key(&pid) {
                continue;
            }
            let text = self.reader.read(&format!("/proc/{pid}/stat"));
            fresh.extend(text.and_then(Stat::parse).map(|stat| (pid, stat)));
        }
        // A child may have a lower number than its parent, where numbers have begun anew.
        loop {
            let before = fresh.len();
            fresh.retain(|(pid, stat)| {
                let ours = stat.ppid == self.own || self.living.contains_key(&stat.ppid);
                if ours {
                    self.living.insert(*pid, Process::new(*pid, now_ns, stat.clone()));
                }
                !ours
            });
            if fresh.len() == before {
                break;
            }
        }
        self.strangers.extend(fresh.iter().map(|(pid, _)| pid));
    }

    fn bury(&mut self, now_ns: u64) {
        let gone: Vec<i32> = self
            .living
            .values()
            .filter(|process| process.seen_ns[1] != now_ns)
            .map(|process| process.pid)
            .collect();
        for pid in gone {
            if let Some(mut process) = self.living.remove(&pid) {
                process.files = Default::default();
                self.gone_count += 1;
                if self.gone.len() < KEPT {
                    self.gone.push(process);
                }
            }
        }
    }

    /// Living threads.
    pub fn threads(&self) -> u64 {
        self.living.values().map(|process| process.stat.threads).sum()
    }
}

impl Process {
    fn new(pid: i32, now_ns: u64, stat: Stat) -> Process {
        let mut process = Process {
            pid,
            seen_ns: [now_ns; 2],
            stat: Stat::default(),
            cpu_ns: 0,
            io: None,
            peak_bytes: 0,
            most_threads: 0,
            files: Default::default(),
        };
        process.seen(now_ns, stat);
        process
    }

    fn seen(&mut self, now_ns: u64, stat: Stat) {
        self.seen_ns[1] = now_ns;
        self.peak_bytes = self.peak_bytes.max(stat.resident_pages * crate::proc::page_bytes());
        self.most_threads = self.most_threads.max(stat.threads);
        self.stat = stat;
    }
}
