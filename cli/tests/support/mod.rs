//! Crafted run folders, and `syn` run on them.

#![allow(dead_code)] // Each test program uses a part of it.

use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use syn_trace::builder::TraceBuilder;
use syn_trace::chunks::{CHUNK_HEAD_BYTES, UNIT_BYTES};
use syn_trace::record::{BEGAN, INNER};
use syn_trace::{Call, header};

/// What `syn` said.
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn of(output: Output) -> Said {
        Said {
            code: output.status.code().expect("syn was not killed"),
            out: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            err: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }

    #[track_caller]
    pub fn code(self, expected: i32) -> Said {
        assert_eq!(self.code, expected, "exit code; out {:?}, err {:?}", self.out, self.err);
        self
    }

    /// Standard output, a JSON object a line.
    #[track_caller]
    pub fn json(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    #[track_caller]
    pub fn err_has(self, parts: &[&str]) -> Said {
        for part in parts {
            assert!(self.err.contains(part), "{part:?} in {:?}", self.err);
        }
        self
    }
}

pub fn syn() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_syn"));
    command.stdin(Stdio::null()).env_remove("SYN_SHIM").env_remove("LD_PRELOAD");
    command
}

pub fn run<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(args: I) -> Said {
    Said::of(syn().args(args).output().expect("syn runs"))
}

pub fn on(subcommand: &str, path: &Path) -> Said {
    run([OsStr::new(subcommand), path.as_os_str()])
}

pub fn json_on(subcommand: &str, path: &Path) -> Said {
    run([OsStr::new(subcommand), OsStr::new("--json"), path.as_os_str()])
}

/// A folder that is removed at the end.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }
    pub fn path(&self) -> &Path {
        self.0.path()
    }
    pub fn add(&self, builder: &TraceBuilder) -> PathBuf {
        builder.write(self.path()).expect("the trace is written")
    }
}

/// Where in the file of a thread its records end, bytes.
pub fn end_of_records(thread: &TraceBuilder) -> usize {
    UNIT_BYTES + CHUNK_HEAD_BYTES + thread.contiguous().len()
}

/// The launcher, pid 100, which starts `children`.
pub fn launcher(children: &[i64]) -> TraceBuilder {
    let launcher = TraceBuilder::new(100, 100)
        .header(|header| *header.capabilities.get_mut() = header::PROCESS_ONLY)
        .process_start("/usr/bin/mpirun", "/home/u", "mpirun -np 2 app");
    let spawn = |launcher: TraceBuilder, (at, &pid): (u64, &i64)| {
        launcher.call(Call::PosixSpawn, at * 1_000, 500, 0, &[pid], &[b"/bin/app"], &[])
    };
    (1..).zip(children).fold(launcher, spawn)
}

/// Rank `rank` of 2, pid 101 + `rank`: opens a file, computes, writes, and closes it through a stream.
pub fn rank(rank: i32) -> TraceBuilder {
    let pid = 101 + rank as u32;
    let open = [0o1101, 0o644, 0o100_644, 0, 77];
    TraceBuilder::new(pid, pid)
        .image(5_000)
        .rank(rank, 2)
        .header(|header| {
            header.ppid = 100;
            *header.state.get_mut() = header::STATE_PROCESS_ENDED;
        })
        .process_start("/bin/app", "/home/u", "app -n 4")
        .call(Call::MpiInit, 10_000, 5_000, 0, &[rank.into(), 2, 0], &[b"Open MPI 4.1"], &[])
        .flags(INNER)
        .call(Call::Open, 20_000, 1_000, 3, &open, &[b"sub/../out\xff"], &[])
        .call(Call::Fopen, 19_000, 3_000, 0, &[3, 0o100_644, 0, 77], &[b"sub/../out\xff", b"w"], &[])
        .cpu(Some(900_000), None)
        .call(Call::Write, 1_022_000, 2_000, 512, &[3, 512], &[], &[])
        .fail(Call::Fsync, 1_030_000, 100, 28, &[3], &[])
        .call(Call::MpiWaitall, 1_040_000, 100, 0, &[2, 1], &[], &[0x7000, 1, -1, 8])
        .flags(INNER)
        .call(Call::Close, 1_050_000, 100, 0, &[3], &[], &[])
        .call(Call::Fclose, 1_049_000, 2_000, 0, &[3], &[], &[])
        .flags(BEGAN)
        .call(Call::Exit, 1_060_000, 0, 0, &[0], &[], &[])
}

/// A whole run: a launcher and two ranks.
pub fn whole_run() -> Folder {
    let folder = Folder::new();
    folder.add(&launcher(&[101, 102]));
    folder.add(&rank(0));
    folder.add(&rank(1));
    folder
}
