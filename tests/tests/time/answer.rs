//! What a program printed of its own time, as `tests/programs/time/time.h` has it.

use std::collections::BTreeMap;

/// Nanoseconds as seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// One thread, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// CPU time of its life, all but the last print.
    pub cpu: u64,
    /// Computed outside every call.
    pub work: u64,
    /// Blocked for at least this long, in calls that another released.
    pub wait: u64,
}

/// One process, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// User and system time at its end, of all its threads and all programs that it has been.
    pub cpu: u64,
    /// Those of its threads that printed, by thread id.
    pub threads: BTreeMap<u32, Thread>,
}

impl Process {
    /// Computed outside every call.
    pub fn work(&self) -> u64 {
        self.threads.values().map(|thread| thread.work).sum()
    }

    /// Blocked for at least this long.
    pub fn wait(&self) -> u64 {
        self.threads.values().map(|thread| thread.wait).sum()
    }
}

/// Every process that printed, by its id.
///
/// # Panics
/// When a line is none of a program's, or nobody printed.
pub fn answers(stdout: &str) -> BTreeMap<u32, Process> {
    let mut processes: BTreeMap<u32, Process> = BTreeMap::new();
    for line in stdout.lines() {
        let words = line.split_whitespace().map(|word| {
            let (name, value) = word.split_once('=').unwrap_or_else(|| panic!("not an answer: {line}"));
            (name, value.parse().unwrap_or_else(|e| panic!("{e}: {line}")))
        });
        let words: BTreeMap<&str, u64> = words.collect();
        let process = processes.entry(words["pid"] as u32).or_default();
        match words.get("tid") {
            None => process.cpu = words["cpu_user_sys_ns"],
            Some(&tid) => {
                let thread = Thread { cpu: words["cpu_ns"], work: words["work_ns"], wait: words["wait_ns"] };
                process.threads.insert(tid as u32, thread);
            }
        }
    }
    assert!(!processes.is_empty(), "nobody printed an answer");
    for (pid, process) in &processes {
        assert!(process.cpu > 0, "process {pid} did not print its CPU time:\n{stdout}");
    }
    processes
}

#[test]
fn answers_are_read() {
    let printed = "pid=7 tid=8 cpu_ns=30 wall_ns=90 work_ns=20 inside_ns=1 wait_ns=40\n\
                   pid=7 tid=7 cpu_ns=10 wall_ns=99 work_ns=5 inside_ns=0 wait_ns=2\npid=7 cpu_user_sys_ns=41\n";
    let process = &answers(printed)[&7];
    assert_eq!((process.cpu, process.work(), process.wait()), (41, 25, 42));
    assert_eq!(process.threads[&8], Thread { cpu: 30, work: 20, wait: 40 });
}
