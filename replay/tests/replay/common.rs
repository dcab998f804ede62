//! Plans made by hand, and `syn-replay` as a program.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use syn_plan::{About, Balance, Edge, File, Initial, Io, Op, Plan, Program, Rule, Step, Thread};
use tempfile::TempDir;

pub const O_RDONLY: i32 = 0;
pub const O_WRONLY: i32 = 1;
pub const O_APPEND: i32 = 0o2000;
pub const O_RDWR: i32 = 2;
pub const O_CREAT: i32 = 0o100;
pub const O_EXCL: i32 = 0o200;

/// A plan under construction: steps follow each other at intervals of a microsecond.
pub struct Draft(pub Plan);

impl Draft {
    pub fn new() -> Draft {
        let about = About { command: "./app".into(), recorded_ns: 1_000_000, ..About::default() };
        Draft(Plan { about, ..Plan::default() })
    }

    pub fn file(&mut self, path: &str, initial: Initial) -> u32 {
        self.0.files.push(File { path: path.into(), initial });
        self.0.files.len() as u32 - 1
    }

    pub fn absent(&mut self, path: &str) -> u32 {
        self.file(path, Initial::Absent)
    }

    pub fn regular(&mut self, path: &str, bytes: u64) -> u32 {
        self.file(path, Initial::Regular { bytes })
    }

    pub fn edge(&mut self, signals: u32) -> u32 {
        self.0.edges.push(Edge::new(Rule::Message, signals));
        self.0.edges.len() as u32 - 1
    }

    /// A program in a process of its own, or in the one of the programs with the same number.
    pub fn program(&mut self, process: u32, rank: Option<u32>, ops: &[Op]) {
        let ops = (0..).zip(ops);
        let steps = ops.map(|(number, &op)| Step { start_ns: number * 1000, took_ns: 500, op }).collect();
        let tid = 1000 + self.0.programs.len() as u32;
        let thread = Thread { process, rank, pid: 1000 + process, tid, ends_with_process: false };
        self.0.programs.push(Program { thread, balance: Balance::default(), steps });
        self.0.about.ranks = self.0.about.ranks.max(rank.map_or(0, |rank| rank + 1));
    }

    /// A further program that the end of its process cuts off.
    pub fn cut_program(&mut self, process: u32, ops: &[Op]) {
        self.program(process, None, ops);
        self.last().thread.ends_with_process = true;
    }

    /// The program that was added last.
    pub fn last(&mut self) -> &mut Program {
        self.0.programs.last_mut().expect("a program")
    }

    /// Runs `syn-replay` with this plan on a fresh folder.
    pub fn replay(&self, options: &[&str]) -> Replay {
        let storage = tempfile::tempdir().expect("a temporary folder");
        self.replay_on(storage, options)
    }

    pub fn replay_on(&self, storage: TempDir, options: &[&str]) -> Replay {
        let plan = tempfile::tempdir().expect("a temporary folder");
        let (file, report) = (plan.path().join("app.syn"), plan.path().join("report.json"));
        self.0.save(&file).expect("the plan is written");
        let output = replay(storage.path(), &file)
            .args(options)
            .arg("--report")
            .arg(&report)
            .output()
            .expect("syn-replay starts");
        let report = std::fs::read(&report).ok().map(|text| serde_json::from_slice(&text).expect("a report"));
        Replay { output, report, storage }
    }
}

/// `syn-replay` with the given storage and plan, as if no launcher had started it.
pub fn replay(storage: &Path, plan: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_syn-replay"));
    command.arg("--storage").arg(storage).arg(plan);
    command.env_remove("OMPI_COMM_WORLD_SIZE").env_remove("PMI_SIZE");
    command
}

/// What a replay left.
pub struct Replay {
    pub output: Output,
    report: Option<Value>,
    pub storage: TempDir,
}

impl Replay {
    pub fn code(&self) -> i32 {
        self.output.status.code().expect("an exit code")
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    pub fn report(&self) -> &Value {
        self.report.as_ref().unwrap_or_else(|| panic!("no report; {}", self.stderr()))
    }

    /// The exit code is 0 and the folder is gone; returns the report.
    pub fn went_well(&self) -> &Value {
        assert_eq!(self.code(), 0, "{}{}", String::from_utf8_lossy(&self.output.stdout), self.stderr());
        assert!(self.left().is_empty(), "{:?}", self.left());
        self.report()
    }

    /// Exit code 1 with a message that holds every one of `words`; nothing is left on the storage.
    pub fn failed_saying(&self, words: &[&str]) {
        assert_eq!(self.code(), 1, "{}", self.stderr());
        for word in words {
            assert!(self.stderr().contains(word), "{word:?} not in {}", self.stderr());
        }
        assert!(self.left().is_empty(), "{:?}", self.left());
    }

    /// What is on the storage.
    pub fn left(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.storage.path())
            .expect("the storage")
            .map(|entry| entry.expect("one").path())
            .collect()
    }

    /// A file of a kept replay.
    pub fn kept(&self, recorded: &str) -> PathBuf {
        let left = self.left();
        assert_eq!(left.len(), 1, "{left:?}");
        left[0].join(recorded.trim_start_matches('/'))
    }
}

/// An operation that went well, or moved `result` bytes, or failed with the errno `-result`.
pub fn io(call: Io, result: i64) -> Op {
    Op::Io { call, result }
}

pub fn open(file: u32, handle: u32, flags: i32) -> Op {
    io(Io::Open { file, handle, flags, mode: 0o644 }, 0)
}

pub fn close(handle: u32) -> Op {
    io(Io::Close { handle }, 0)
}

pub fn write(handle: u32, bytes: u64) -> Op {
    io(Io::Write { handle, bytes }, bytes as i64)
}

pub fn read(handle: u32, bytes: u64) -> Op {
    io(Io::Read { handle, bytes }, bytes as i64)
}

/// Longer than any test.
pub const HOUR_NS: u64 = 3_600_000_000_000;

pub fn signal(edge: u32) -> Op {
    Op::Signal { edge }
}

pub fn wait(edge: u32, count: u32) -> Op {
    Op::Wait { edge, count, stride: 0 }
}
