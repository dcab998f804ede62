//! What `syn dump --json` says of a run, for tests to count in.

use crate::job::Job;
use crate::programs::profile_folder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use syn_trace::loader::DESCRIPTOR;

/// The front end under test.
///
/// # Panics
/// When it is not there: cargo builds it before the tests of this package.
pub fn syn() -> Job {
    let program = profile_folder().join("syn-under-test");
    assert!(program.is_file(), "the front end under test is missing: {}", program.display());
    Job::new(program)
}

/// One line of the dump that is a call.
#[derive(Clone, Debug, Deserialize)]
pub struct Seen {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: Option<u32>,
    /// When it began, nanoseconds since the run's start.
    pub start_ns: u64,
    /// When it returned.
    pub end_ns: u64,
    /// The libc or MPI name.
    pub call: String,
    /// `posix`, `stdio`, `mmap` and the like.
    pub layer: String,
    /// 0 when the application made the call, 1 when a library did inside another call.
    pub depth: u32,
    /// Absolute path of the file it is about.
    #[serde(default)]
    pub path: Option<String>,
    /// Absolute path of the second file, of calls that are about two.
    #[serde(default)]
    pub second_path: Option<String>,
    /// Named as in the manual page.
    #[serde(default)]
    pub args: BTreeMap<String, serde_json::Value>,
    /// What it returned.
    #[serde(default)]
    pub result: i64,
    /// Only on failure.
    #[serde(default)]
    pub errno: Option<i32>,
    /// Written before the call, because it may not return.
    #[serde(default)]
    pub began: bool,
}

/// Bytes into a file, or out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// `read` and its kin.
    Read,
    /// `write` and its kin.
    Write,
}

/// Calls and the bytes that they moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many calls, failed ones among them.
    pub calls: u64,
    /// How many bytes.
    pub bytes: u64,
}

impl Tally {
    /// Counts a call with this result.
    pub fn add(&mut self, result: i64) {
        self.calls += 1;
        self.bytes += result.max(0) as u64;
    }
}

impl Direction {
    /// Of a call by its name in a trace or its name in the kernel; `None` if it moves no bytes.
    pub fn of(call: &str) -> Option<Direction> {
        match call {
            "read" | "pread" | "pread64" | "readv" | "preadv" | "preadv2" => Some(Direction::Read),
            "write" | "pwrite" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => Some(Direction::Write),
            _ => None,
        }
    }
}

/// Every call of a run, in the order of return.
#[derive(Clone, Debug)]
pub struct Dump(pub Vec<Seen>);

impl Dump {
    /// Dumps the run folder.
    ///
    /// # Panics
    /// When the front end finds fault with the run.
    #[track_caller]
    pub fn of(run: &Path) -> Dump {
        let said = syn().args(["dump", "--json"]).arg(run).run_in(Path::new("/")).succeeded();
        let lines = said.stdout.lines().filter(|line| !line.contains("\"call\":\"compute\""));
        Dump(lines.map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect())
    }

    /// The calls with this name.
    pub fn calls<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Seen> {
        self.0.iter().filter(move |seen| seen.call == name)
    }

    /// What went into files of this name, or out of them, in whichever folder.
    pub fn moved(&self, direction: Direction, name: &str) -> Tally {
        let mut tally = Tally::default();
        let about = |seen: &&Seen| Direction::of(&seen.call) == Some(direction) && seen.is_about(name);
        self.0.iter().filter(about).for_each(|seen| tally.add(seen.result));
        tally
    }

    /// What was written to files of this name: calls and bytes.
    pub fn written(&self, name: &str) -> (u64, u64) {
        let Tally { calls, bytes } = self.moved(Direction::Write, name);
        (calls, bytes)
    }
}

impl Seen {
    /// True when the call is about a file of this name.
    pub fn is_about(&self, name: &str) -> bool {
        let last = self.path.as_deref().and_then(|path| path.rsplit('/').next());
        last == Some(name)
    }

    /// True of what the kernel or the loader did to map a program or library (`trace/FORMAT.md`).
    pub fn is_of_loader(&self) -> bool {
        let is_its = |name: &str| self.args.get(name).and_then(serde_json::Value::as_i64) == Some(DESCRIPTOR);
        let is_opened = self.call == "openat" && self.result == DESCRIPTOR;
        self.call == "object-loaded" || is_its("fd") || is_its("dirfd") || is_opened
    }
}
