//! strace: how it is asked, and what it answers.

use crate::{Job, shim};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Everything that reads or writes through a descriptor, and what tells who does it in which program.
const CALLS: &str = "trace=read,write,pread64,pwrite64,readv,writev,preadv,pwritev,preadv2,pwritev2,\
                     execve,execveat,fork,vfork,clone,clone3";

/// A call that moved bytes.
pub struct Transfer {
    /// The kernel's name of it.
    pub name: String,
    /// The file, as [`same_name`] has it.
    pub path: String,
    /// How many bytes were asked for.
    pub asked: i64,
    /// What it returned; -1 for a failure.
    pub result: i64,
}

/// What one thread did.
enum Traced {
    Became(PathBuf),
    Made(u32),
    Moved(Transfer),
}

/// strace with the shim in the job that follows: one file per thread in `output`, and the recorder's folder in `run`.
pub fn job(output: &Path, run: &Path) -> Job {
    let preload = |name: &str, value: &Path| ["-E".into(), format!("{name}={}", value.display())];
    Job::new("strace")
        .args(["-ff", "-y", "-a1", "-s16", "-e", "signal=none", "-e", CALLS, "-o"])
        .arg(output.join("thread"))
        .args(preload("LD_PRELOAD", &shim()))
        .args(preload("SYN_RUN", run))
}

/// Calls `with` for every transfer between memory and a file that has a path, with its thread, in no order. Threads are
/// followed from their makers, so that it is known which of them run launchers: those are left out.
pub fn for_each_transfer(output: &Path, launchers: &[&str], mut with: impl FnMut(u32, &Transfer)) {
    let threads = read(output);
    let made: BTreeSet<u32> = threads
        .values()
        .flatten()
        .filter_map(|line| if let Traced::Made(tid) = line { Some(*tid) } else { None })
        .collect();
    let first = threads.keys().copied().filter(|tid| !made.contains(tid));
    let mut waiting: Vec<(u32, bool)> = first.map(|tid| (tid, true)).collect();
    while let Some((tid, mut launches)) = waiting.pop() {
        for line in threads.get(&tid).into_iter().flatten() {
            match line {
                Traced::Became(program) => launches = is_one_of(launchers, program),
                Traced::Made(child) => waiting.push((*child, launches)),
                Traced::Moved(call) if !launches => with(tid, call),
                Traced::Moved(_) => {}
            }
        }
    }
}

fn read(output: &Path) -> BTreeMap<u32, Vec<Traced>> {
    let files = output.read_dir().expect("strace's folder").map(|entry| entry.expect("an entry").path());
    let threads = files.map(|file| {
        let tid = file.extension().and_then(|tid| tid.to_str()?.parse().ok());
        let text = std::fs::read(&file).expect("a file of strace");
        let lines = String::from_utf8_lossy(&text).lines().filter_map(parse).collect();
        (tid.expect("strace adds the thread's id"), lines)
    });
    threads.collect()
}

fn is_one_of(launchers: &[&str], program: &Path) -> bool {
    let program = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    program.file_name().is_some_and(|name| launchers.iter().any(|launcher| name == *launcher))
}

/// A line of strace: `name(arguments) = result explanation`.
fn parse(line: &str) -> Option<Traced> {
    let (call, result) = line.rsplit_once(" = ")?;
    let (name, arguments) = call.split_once('(')?;
    // A call that a signal interrupted, and that the kernel repeats, has a question mark here.
    let result: i64 = result.split([' ', '<']).next()?.parse().ok()?;
    match name {
        "execve" => {
            (result == 0).then(|| Traced::Became(arguments.split('"').nth(1).unwrap_or_default().into()))
        }
        // fexecve(3): the program is the descriptor's file.
        "execveat" => (result == 0)
            .then(|| Traced::Became(arguments.split(['<', '>']).nth(1).unwrap_or_default().into())),
        "fork" | "vfork" | "clone" | "clone3" => u32::try_from(result).ok().map(Traced::Made),
        _ => {
            let (_, descriptor) = arguments.split_once('<')?;
            let (path, rest) = descriptor.split_once('>')?;
            let asked = rest.trim_end_matches(')').rsplit(", ").find_map(|word| word.parse().ok());
            let asked = if name == "pread64" { count_of_pread(rest)? } else { asked.unwrap_or(0) };
            let call = Transfer { name: name.into(), path: same_name(path), asked, result };
            (path.starts_with('/') && !is_nameless(path)).then_some(Traced::Moved(call))
        }
    }
}

/// The last but one argument.
fn count_of_pread(arguments: &str) -> Option<i64> {
    arguments.trim_end_matches(')').rsplit(", ").nth(1)?.parse().ok()
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

/// A file that never had a name: memfd_create(2), `O_TMPFILE`.
fn is_nameless(path: &str) -> bool {
    let number = path.rsplit('/').next().and_then(|name| name.strip_prefix('#'));
    path.starts_with("/memfd:") || number.is_some_and(|number| number.parse::<u64>().is_ok())
}
