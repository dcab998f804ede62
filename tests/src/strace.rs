//! strace: how it is asked, and what it answers.
//!
//! Every thread has a file of its own, and every line in it is one system call with the instruction that made it. From
//! the instruction it is known whose call it was: the program's (or libc's on its behalf), the dynamic loader's, or the
//! shim's own.

mod caller;
mod line;

pub use caller::{Caller, Maker};
pub use line::{Descriptor, Made, Syscall};

use crate::{Job, shim};
use line::Line;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// strace with the shim in the job that follows: one file per thread in `output`, and the recorder's folder in `run`.
/// Of all calls it tells those named in `calls`, and those that make processes and programs.
pub fn job(output: &Path, run: &Path, calls: &str) -> Job {
    let preload = |name: &str, value: &Path| ["-E".into(), format!("{name}={}", value.display())];
    alone(output, calls).args(preload("LD_PRELOAD", &shim())).args(preload("SYN_RUN", run))
}

/// The same without the shim.
pub fn alone(output: &Path, calls: &str) -> Job {
    // mmap tells where code lies, chdir what paths start from.
    let calls = format!("trace={calls},mmap,chdir,fchdir,execve,execveat,fork,vfork,clone,clone3");
    Job::new("strace")
        .args(["-ff", "-y", "-i", "-a1", "-s16", "--seccomp-bpf", "-e", "signal=none", "-e"])
        .arg(calls)
        .arg("-o")
        .arg(output.join("thread"))
}

/// Calls `with` for every system call of a job that was started in `folder`, if it has returned or ended the process, with
/// who made it. Threads are followed from their makers, so that it is known which program and whose memory they ran in;
/// within a thread the order is that of time.
///
/// # Panics
/// When a file in `output` is not one of strace's, or a line of it is not understood.
pub fn for_each_call(output: &Path, folder: &Path, mut with: impl FnMut(&Caller, &Syscall)) {
    let threads = read(output);
    let made: BTreeSet<u32> = threads
        .values()
        .flatten()
        .filter_map(|line| line.call()?.made_thread().map(|made| made.tid))
        .collect();
    let first = threads.keys().copied().filter(|tid| !made.contains(tid));
    let mut waiting: Vec<(u32, Caller)> = first.map(|tid| (tid, Caller::first(tid, folder))).collect();
    while let Some((tid, mut caller)) = waiting.pop() {
        for call in threads.get(&tid).into_iter().flatten().filter_map(Line::call) {
            caller.notice(call);
            with(&caller, call);
            if let Some(child) = call.made_thread() {
                waiting.push((child.tid, caller.child(&child)));
            }
            caller.follow(call);
        }
    }
}

fn read(output: &Path) -> BTreeMap<u32, Vec<Line>> {
    let files = output.read_dir().expect("strace's folder").map(|entry| entry.expect("an entry").path());
    let threads = files.map(|file| {
        let tid = file.extension().and_then(|tid| tid.to_str()?.parse().ok());
        let text = std::fs::read(&file).expect("a file of strace");
        let text = String::from_utf8_lossy(&text);
        let lines =
            text.lines().map(|line| Line::parse(line).unwrap_or_else(|| panic!("not understood: {line}")));
        (tid.expect("strace adds the thread's id"), lines.collect())
    });
    let mut threads: BTreeMap<u32, Vec<Line>> = threads.collect();
    let moved = |(&tid, lines): (&u32, &Vec<Line>)| match lines.last() {
        Some(Line::Moved(call)) => Some((tid, call.clone())),
        _ => None,
    };
    let moved: BTreeMap<u32, Syscall> = threads.iter().filter_map(moved).collect();
    for line in threads.values_mut().flatten() {
        if let Line::Superseded(maker) = line {
            *line = moved.get(maker).map_or(Line::Other, |call| Line::Returned(call.clone()));
        }
    }
    threads
}

/// One name for a file whatever links led to it: the kernel tells the end of the way, the trace its beginning.
pub fn same_name(path: &str) -> String {
    let path = path.trim_end_matches("(deleted)").trim_end();
    if let Some(rest) = path.strip_prefix("/proc/") {
        let (first, behind) = rest.split_once('/').unwrap_or((rest, ""));
        return match first {
            "mounts" | "net" => format!("/proc/self/{rest}"),
            _ if first.bytes().all(|byte| byte.is_ascii_digit()) => format!("/proc/self/{behind}"),
            _ => path.into(),
        };
    }
    // What has been removed since is still in its folder by name.
    let path = Path::new(path);
    let in_folder = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    let found = path.canonicalize().ok().or_else(in_folder);
    found.unwrap_or_else(|| path.to_owned()).display().to_string()
}
