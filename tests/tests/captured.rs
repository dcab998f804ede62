//! Complete: what the kernel saw a program read and write is in its trace, call by call and byte by byte.
//!
//! Each program runs once, under the shim and under strace at the same time. Per thread, file and direction, the number
//! of calls and the number of bytes must be the same in both records. Launchers and shells are left out: of them only
//! process creation is recorded. So are programs that move bytes in other ways than by read and write (`cat` and `cp`
//! use copy_file_range(2)), and pipes and sockets, which have no path.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn_trace::Run;
use tests::{Direction, Dump, Job, Tally, mpirun, program, run_recorded, scripts, shim};

/// What is counted in both records.
type Moved = BTreeMap<(u32, Direction, String), Tally>;

/// What only strace may see, by what the call is about.
struct Allowed {
    because: &'static str,
    is: fn(&Transfer) -> bool,
}

/// The allowed differences. Whatever else differs is a fault of the recorder.
const ALLOWED: [Allowed; 3] = [
    Allowed {
        because: "the dynamic loader reads the ELF header of every library with system calls of its own",
        is: |call| call.name == "read" && call.path.contains(".so") && call.asked == 832,
    },
    Allowed {
        because: "and the program headers that did not fit into the first 832 bytes",
        is: |call| call.name == "pread64" && call.path.contains(".so") && call.asked <= 4096,
    },
    Allowed {
        because: "the shim itself reads the words of the command line and the boot id, once in every process",
        is: |call| ["/proc/self/cmdline", "/proc/sys/kernel/random/boot_id"].contains(&call.path.as_str()),
    },
];

/// A line of strace that moved bytes.
struct Transfer {
    name: String,
    path: String,
    asked: i64,
    result: i64,
}

/// What one thread did, as strace saw it.
enum Traced {
    Became(PathBuf),
    Made(u32),
    Moved(Transfer),
}

#[track_caller]
fn compare(job: &Job, launchers: &[&str]) {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let [strace, work] = ["strace", "work"].map(|name| scratch.path().join(name));
    std::fs::create_dir(&strace).expect("a folder in an empty one");
    std::fs::create_dir(&work).expect("a folder in an empty one");
    let folder = scratch.path().join("run");
    let calls = "trace=read,write,pread64,pwrite64,readv,writev,preadv,pwritev,preadv2,pwritev2,\
                 execve,execveat,fork,vfork,clone,clone3";
    let preload = |name: &str, value: &Path| ["-E".into(), format!("{name}={}", value.display())];
    let observed = Job::new("strace")
        .args(["-ff", "-y", "-a1", "-s16", "-e", "signal=none", "-e", calls, "-o"])
        .arg(strace.join("thread"))
        .args(preload("LD_PRELOAD", &shim()))
        .args(preload("SYN_RUN", &folder))
        .followed_by(job);
    let outcome = observed.run_in(&work).succeeded();
    let run = Run::open(&folder).unwrap_or_else(|error| panic!("{error}\n{}", outcome.stderr));
    check_launchers(&run, launchers);
    let kernel = seen_by_kernel(&strace, launchers);
    let recorded = seen_by_shim(&folder);
    assert!(!recorded.is_empty(), "something was recorded");
    let keys: BTreeSet<_> = kernel.keys().chain(recorded.keys()).collect();
    let differing = keys.into_iter().filter(|&key| kernel.get(key) != recorded.get(key));
    let report: Vec<String> = differing
        .map(|key| format!("{key:?}: kernel {:?}, trace {:?}", kernel.get(key), recorded.get(key)))
        .collect();
    assert!(report.is_empty(), "the records differ:\n{}", report.join("\n"));
}

/// Nothing was taken for a launcher that is none: its I/O would be missing from both sides of the comparison.
#[track_caller]
fn check_launchers(run: &Run, expected: &[&str]) {
    for process in run.processes.iter().filter(|process| process.process_only) {
        let name = process.exe.rsplit('/').next().unwrap_or_default();
        assert!(expected.contains(&name), "{name} was recorded as a launcher");
    }
}

fn seen_by_shim(folder: &Path) -> Moved {
    let mut moved = Moved::new();
    for seen in Dump::of(folder).0 {
        let (Some(direction), Some(path)) = (Direction::of(&seen.call), &seen.path) else { continue };
        if path.starts_with('/') {
            moved.entry((seen.tid, direction, same_name(path))).or_default().add(seen.result);
        }
    }
    moved
}

fn seen_by_kernel(folder: &Path, launchers: &[&str]) -> Moved {
    let mut threads = BTreeMap::new();
    for entry in folder.read_dir().expect("strace's folder").map(|entry| entry.expect("an entry").path()) {
        let tid = entry.extension().and_then(|tid| tid.to_str()?.parse().ok());
        let text = std::fs::read(&entry).expect("a file of strace");
        let lines: Vec<Traced> = String::from_utf8_lossy(&text).lines().filter_map(parse).collect();
        threads.insert(tid.expect("strace adds the thread's id"), lines);
    }
    let made: BTreeSet<u32> =
        threads.values().flatten().filter_map(|line| if let Traced::Made(tid) = line { Some(*tid) } else { None }).collect();
    let mut moved = Moved::new();
    let first: Vec<u32> = threads.keys().copied().filter(|tid| !made.contains(tid)).collect();
    let mut waiting: Vec<(u32, bool)> = first.into_iter().map(|tid| (tid, true)).collect();
    while let Some((tid, mut launches)) = waiting.pop() {
        for line in threads.get(&tid).into_iter().flatten() {
            match line {
                Traced::Became(program) => launches = is_launcher(program, launchers),
                Traced::Made(child) => waiting.push((*child, launches)),
                Traced::Moved(call) if launches || ALLOWED.iter().any(|allowed| (allowed.is)(call)) => {}
                Traced::Moved(call) => {
                    let direction = Direction::of(&call.name).expect("a transfer");
                    moved.entry((tid, direction, call.path.clone())).or_default().add(call.result);
                }
            }
        }
    }
    moved
}

fn is_launcher(program: &Path, launchers: &[&str]) -> bool {
    let program = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    program.file_name().is_some_and(|name| launchers.iter().any(|launcher| name == *launcher))
}

/// A line of strace: `name(arguments) = result explanation`.
fn parse(line: &str) -> Option<Traced> {
    let (call, result) = line.rsplit_once(" = ")?;
    let (name, arguments) = call.split_once('(')?;
    // A call that a signal interrupted, and that the kernel repeats, has a question mark here.
    let result: i64 = result.split(|c: char| c == ' ' || c == '<').next()?.parse().ok()?;
    match name {
        "execve" => (result == 0).then(|| Traced::Became(arguments.split('"').nth(1).unwrap_or_default().into())),
        "fork" | "vfork" | "clone" | "clone3" => u32::try_from(result).ok().map(Traced::Made),
        _ => {
            let (_, descriptor) = arguments.split_once('<')?;
            let (path, rest) = descriptor.split_once('>')?;
            let asked = rest.trim_end_matches(')').rsplit(", ").find_map(|word| word.parse().ok());
            let asked = if name == "pread64" { count_of_pread(rest)? } else { asked.unwrap_or(0) };
            let call = Transfer { name: name.into(), path: same_name(path), asked, result };
            path.starts_with('/').then_some(Traced::Moved(call))
        }
    }
}

/// The last but one argument.
fn count_of_pread(arguments: &str) -> Option<i64> {
    arguments.trim_end_matches(')').rsplit(", ").nth(1)?.parse().ok()
}

/// One name for a file whatever links led to it: the kernel tells the end of the way, the trace its beginning.
fn same_name(path: &str) -> String {
    let path = path.trim_end_matches("(deleted)").trim_end();
    let below_proc = path.strip_prefix("/proc/").and_then(|rest| rest.split_once('/'));
    if let Some((process, rest)) = below_proc
        && (process == "self" || process.parse::<u32>().is_ok())
    {
        return format!("/proc/self/{rest}");
    }
    if let Some(table @ ("mounts" | "net")) = path.strip_prefix("/proc/") {
        return format!("/proc/self/{table}");
    }
    let (whole, parent) = (Path::new(path), Path::new(path).parent().unwrap_or(Path::new("/")));
    let found = whole.canonicalize().or_else(|_| Ok::<_, std::io::Error>(parent.canonicalize()?.join(whole.file_name().unwrap_or_default())));
    found.map_or_else(|_| path.into(), |found| found.display().to_string())
}
