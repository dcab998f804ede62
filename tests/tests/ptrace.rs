//! `syn record --backend=ptrace`: programs that the shim cannot enter, and system calls made by number.
//!
//! A program runs once under strace and once recorded. Per thread, file and direction, the number of calls and the
//! number of bytes must be the same; threads are paired by what they did, since their ids differ between two runs.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use syn_trace::reader::Ending;
use syn_trace::{Call, Run};
use tempfile::TempDir;
use tests::strace::{self, same_name};
use tests::workloads::LAUNCHERS;
use tests::{
    Direction, Dump, Job, Outcome, Seen, Tally, copy_program, has_go, program, program_static, run_recorded,
    shim, syn,
};

/// What one thread moved, by direction and file.
type Moved = BTreeMap<(Direction, String), Tally>;

/// Folders for one comparison.
struct Scratch(TempDir);

impl Scratch {
    fn new() -> Scratch {
        Scratch(tempfile::tempdir().expect("a folder for temporary files"))
    }
    /// A new folder.
    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.0.path().join(name);
        std::fs::create_dir(&folder).expect("a folder in an empty one");
        folder
    }
    /// The only run in the folder `name`.
    fn run(&self, name: &str) -> PathBuf {
        self.0.path().join(name).join("1")
    }
}

/// `syn record` with this backend, followed by the job.
fn recorder(backend: &str, runs: &Path, job: &Job) -> Job {
    let record = syn().args(["record", "--shim"]).arg(shim()).arg(format!("--backend={backend}"));
    record.arg("-o").arg(runs).arg("--").followed_by(job)
}

/// Records the job in a folder of its own: what it printed, and where the run is.
fn traced(scratch: &Scratch, name: &str, job: &Job) -> (Outcome, PathBuf) {
    let work = scratch.folder(name);
    let runs = scratch.0.path().join(format!("{name}-runs"));
    let outcome = recorder("ptrace", &runs, job).run_in(&work);
    (outcome, scratch.run(&format!("{name}-runs")))
}

/// A file's name that is the same in every run: relative where it lies in the folder of the run.
fn name_in(work: &Path, path: &str) -> String {
    let path = path.trim_end_matches("(deleted)").trim_end();
    let work = work.canonicalize().expect("the folder of a run");
    match Path::new(&same_name(path)).strip_prefix(&work) {
        Ok(inside) => inside.display().to_string(),
        Err(_) => same_name(path),
    }
}

fn is_nameless(path: &str) -> bool {
    let last = path.trim_end_matches("(deleted)").trim_end().rsplit('/').next().unwrap_or_default();
    path.starts_with("/memfd:") || last.strip_prefix('#').is_some_and(|rest| rest.parse::<u64>().is_ok())
}

/// Per thread, what the kernel saw.
fn seen_by_kernel(output: &Path, work: &Path) -> Vec<Moved> {
    let mut threads: BTreeMap<u32, Moved> = BTreeMap::new();
    strace::for_each_call(output, work, |caller, call| {
        let Some(direction) = Direction::of(&call.name) else { return };
        // Of launchers only process creation is recorded.
        if caller.program.file_name().is_some_and(|name| LAUNCHERS.iter().any(|launcher| name == *launcher)) {
            return;
        }
        let Some(object) = call.descriptor(0).map(|descriptor| descriptor.object) else { return };
        if object.starts_with('/') && !is_nameless(object) {
            let of_thread = threads.entry(caller.tid).or_default();
            of_thread.entry((direction, name_in(work, object))).or_default().add(call.result);
        }
    });
    in_order(threads)
}

/// Per thread, what was recorded.
fn recorded(run: &Path, work: &Path) -> Vec<Moved> {
    let mut threads: BTreeMap<u32, Moved> = BTreeMap::new();
    for seen in Dump::of(run).0 {
        let (Some(direction), Some(path)) = (Direction::of(&seen.call), &seen.path) else { continue };
        if path.starts_with('/') && !is_nameless(path) {
            let of_thread = threads.entry(seen.tid).or_default();
            of_thread.entry((direction, name_in(work, path))).or_default().add(seen.result);
        }
    }
    in_order(threads)
}

fn in_order(threads: BTreeMap<u32, Moved>) -> Vec<Moved> {
    let mut threads: Vec<Moved> = threads.into_values().collect();
    threads.sort_by_key(|moved| format!("{moved:?}"));
    threads
}

/// All threads together.
fn together(threads: Vec<Moved>) -> Moved {
    let mut all = Moved::new();
    for (key, tally) in threads.into_iter().flatten() {
        let sum = all.entry(key).or_default();
        (sum.calls, sum.bytes) = (sum.calls + tally.calls, sum.bytes + tally.bytes);
    }
    all
}

const TRANSFERS: &str = "read,write,pread64,pwrite64,readv,writev,preadv,pwritev,preadv2,pwritev2";

/// What strace and the recorder saw of a job, each in a run of its own.
fn both(job: &Job) -> [Vec<Moved>; 2] {
    let scratch = Scratch::new();
    let (output, work) = (scratch.folder("strace"), scratch.folder("plain"));
    let plain = strace::alone(&output, TRANSFERS).followed_by(job).run_in(&work).succeeded();
    let (outcome, run) = traced(&scratch, "traced", job);
    assert_eq!(outcome.clone().succeeded().stdout, plain.stdout, "what the program prints");
    let kernel = seen_by_kernel(&output, &work);
    [kernel, recorded(&run, &scratch.0.path().join("traced"))]
}

/// Compares thread by thread; the files are among what was recorded.
#[track_caller]
fn compare(job: &Job, files: &[&str]) {
    let [kernel, recorded] = both(job);
    for name in files {
        let is_there = recorded.iter().flatten().any(|((_, path), _)| path.rsplit('/').next() == Some(name));
        assert!(is_there, "{name} is among what was recorded");
    }
    same(&kernel, &recorded, ["strace", "recorded"]);
}

/// The elements of two lists in order are the same; otherwise tells those that only one of them has.
#[track_caller]
fn same<T: PartialEq + std::fmt::Debug>(left: &[T], right: &[T], names: [&str; 2]) {
    let only = |these: &[T], others: &[T], name: &str| -> Vec<String> {
        let mut others: Vec<&T> = others.iter().collect();
        let mut missing = Vec::new();
        for one in these {
            match others.iter().position(|other| *other == one) {
                Some(position) => drop(others.remove(position)),
                None => missing.push(format!("only {name}: {one:?}")),
            }
        }
        missing
    };
    let differing = [only(left, right, names[0]), only(right, left, names[1])].concat();
    assert!(differing.is_empty(), "the records differ:\n{}", differing.join("\n"));
    assert_eq!(left.len(), right.len());
}

#[test]
fn static_programs() {
    compare(&stdio_surface(program_static("stdio_surface")), &["stdio_surface.left"]);
    compare(&Job::new(program_static("raw_surface")), &["data", "child"]);
}

/// Processes, threads and images in all their ways; what writes from a handler does so as often as it happens to run.
#[test]
fn static_trees() {
    let parts = "fork vfork spawn wait daemon exec exec-fails exec-thread ends join detach cancel short-threads \
                 main-leaves thread-forks closefrom fd3";
    compare(
        &Job::new(program_static("process_surface")).args(parts.split_whitespace()),
        &["file", "chain", "daemon"],
    );
}

/// All parts but that whose files have other names in each run.
fn stdio_surface(program: PathBuf) -> Job {
    let parts = "characters formatted large buffering append update seek lines reopen commands errors ends";
    Job::new(program).args(parts.split_whitespace())
}

/// As above.
fn posix_surface() -> Job {
    let parts = "open transfers vectors positions sizes sync copies hints metadata names directories chdir duplicates flags \
                 locks pipes seals ioctl permissions times attributes special file-systems chroot trees memory \
                 bad-descriptors bad-addresses long-paths";
    Job::new(program("posix_surface")).args(parts.split_whitespace())
}

/// The dynamic loader's own calls are seen as well.
#[test]
fn dynamic_programs() {
    compare(&posix_surface(), &["file"]);
    let parts = "fork exec join thread-forks";
    compare(&Job::new(program("process_surface")).args(parts.split_whitespace()), &["file", "chain"]);
}

/// Which thread runs a goroutine is chance; what all of them do is not.
#[test]
fn a_go_program() {
    if !has_go() {
        return eprintln!("skipped: there is no compiler for Go here (Debian: golang-go)");
    }
    let of_program = |moved: &Moved| -> Moved {
        let own = moved.iter().filter(|((_, path), _)| path.starts_with("go."));
        own.map(|(key, tally)| (key.clone(), *tally)).collect()
    };
    let [kernel, recorded] = both(&Job::new(program("golang"))).map(together).map(|all| of_program(&all));
    assert_eq!(recorded[&(Direction::Write, "go.child".into())], Tally { calls: 3, bytes: 3000 });
    assert_eq!(recorded, kernel);
}

/// A Go program that libc is linked to is entered, and its system calls are not seen: that is said.
#[test]
fn a_go_program_with_libc() {
    if !has_go() {
        return eprintln!("skipped: there is no compiler for Go here (Debian: golang-go)");
    }
    let scratch = Scratch::new();
    let run = scratch.0.path().join("run");
    let (outcome, _) = run_recorded(&Job::new(program("cgo")), &scratch.folder("work"), &run);
    assert!(outcome.status.success(), "{}", outcome.stderr);
    let unobserved = Run::open(&run).expect("a run").unobserved();
    assert!(unobserved.iter().any(|(_, what)| what.contains("Go program")), "{unobserved:?}");
}

/// A program that was given more rights than its user has, and gives them back.
#[test]
fn a_privileged_program() {
    let scratch = Scratch::new();
    let program = scratch.0.path().join("privileged");
    copy_program(program_static("privileged"), &program);
    if chown(&program, Some(65534), None).is_err() {
        return eprintln!("skipped: only root can make a program of another user");
    }
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755))
        .expect("permissions of our own file");
    // The other user has to get into the folder.
    std::fs::set_permissions(scratch.0.path(), PermissionsExt::from_mode(0o755))
        .expect("permissions of our own folder");
    let work = scratch.folder("work");
    std::fs::set_permissions(&work, PermissionsExt::from_mode(0o777)).expect("permissions of our own folder");
    let runs = scratch.0.path().join("runs");
    let outcome = recorder("ptrace", &runs, &Job::new(&program)).run_in(&work).succeeded();
    if outcome.stdout.contains("no rights to drop") {
        return eprintln!("skipped: set-user-ID programs have no effect in {}", work.display());
    }
    assert_eq!(outcome.stdout, "privileged: dropped\n");
    let dump = Dump::of(&scratch.run("runs"));
    assert_eq!(dump.written("before"), (1, 11));
    assert_eq!(dump.written("after"), (1, 7));
    assert_eq!(std::fs::metadata(work.join("before")).expect("the file was written").uid(), 65534);
    let missing = not_entered(&scratch, &Job::new(&program), &work);
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(missing[0]["why"].as_str().is_some_and(|why| why.starts_with("set-user-ID")), "{missing:?}");
}

/// The calls between the opening of `begin` and that of `end`, without what is different each time.
fn raw_calls(run: &Path) -> Vec<String> {
    const DIFFERENT: [&str; 8] = ["st_ino", "first_ino", "second_ino", "addr", "uaddr", "peer", "pid", "sem"];
    // What each recorder says of shared memory, which is no call.
    const NOTES: [&str; 2] = ["pages-touched", "unobserved"];
    let is_about = |seen: &Seen, name: &str| seen.is_about(name) && seen.call == "openat";
    let calls = Dump::of(run).0.into_iter().skip_while(|seen| !is_about(seen, "begin"));
    let calls =
        calls.take_while(|seen| !is_about(seen, "end")).filter(|seen| !NOTES.contains(&seen.call.as_str()));
    let described = calls.map(|mut seen| {
        seen.args.retain(|name, _| !DIFFERENT.contains(&name.as_str()));
        let result = if seen.call == "mmap" { 0 } else { seen.result };
        format!("{} {:?} = {result} {:?}", seen.call, seen.args, seen.errno)
    });
    described.collect()
}

/// The hook of `syscall` and the recorder from outside tell the same.
#[test]
fn calls_by_number_are_the_same_in_both_recorders() {
    let scratch = Scratch::new();
    let work = scratch.folder("shim");
    let job = Job::new(program("raw_surface"));
    let run = scratch.0.path().join("run");
    let (outcome, opened) = run_recorded(&job, &work, &run);
    assert_eq!(outcome.succeeded().stdout, "raw_surface: all passed\n");
    // Itself, the children by fork and clone, and what the second became.
    assert_eq!(opened.processes.len(), 4);
    let with_shim = raw_calls(&run);
    let (outcome, run) = traced(&scratch, "traced", &job);
    let _ = outcome.succeeded();
    let traced = raw_calls(&run);
    assert!(with_shim.len() > 100, "{with_shim:#?}");
    for (number, (shim, traced)) in with_shim.iter().zip(&traced).enumerate() {
        assert_eq!(shim, traced, "call {number}, by the shim (left) and from outside");
    }
    assert_eq!(with_shim.len(), traced.len());
}

/// What the kernel was asked to do with the files of the program, in order: of a file the calls that move its bytes or
/// its position.
fn kernel_calls(run: &Path, work: &Path) -> BTreeMap<(String, u32), Vec<String>> {
    const CALLS: [&str; 17] = [
        "read",
        "write",
        "pread",
        "pwrite",
        "readv",
        "writev",
        "preadv",
        "pwritev",
        "lseek",
        "fsync",
        "fdatasync",
        "ftruncate",
        "fallocate",
        "posix_fallocate",
        "copy_file_range",
        "sendfile",
        "sync_file_range",
    ];
    let work = work.canonicalize().expect("the folder of a run");
    let dump = Dump::of(run);
    // Processes in the order in which they appear.
    let mut processes: BTreeMap<u32, u32> = BTreeMap::new();
    let mut found: BTreeMap<(String, u32), Vec<String>> = BTreeMap::new();
    for seen in &dump.0 {
        let next = processes.len() as u32;
        let process = *processes.entry(seen.pid).or_insert(next);
        let named = seen.path.as_deref().filter(|path| !is_nameless(path));
        let inside = named.and_then(|path| Path::new(path).strip_prefix(&work).ok());
        if let (true, Some(path)) = (CALLS.contains(&seen.call.as_str()), inside) {
            let calls = found.entry((path.display().to_string(), process)).or_default();
            // It returns its error, and goes on to the other.
            let (call, errno) = match (seen.call.as_str(), seen.result) {
                ("posix_fallocate", 0) => ("fallocate", None),
                ("posix_fallocate", error) => ("fallocate", Some(error as i32)),
                (call, _) => (call, seen.errno),
            };
            let result = if errno.is_some() { -1 } else { seen.result };
            calls.push(format!("{call} = {result} {errno:?}"));
        }
    }
    found
}

/// One program, recorded from inside and from outside.
#[test]
fn both_recorders_tell_the_same_of_a_dynamic_program() {
    for job in [posix_surface(), stdio_surface(program("stdio_surface"))] {
        let scratch = Scratch::new();
        let (work, run) = (scratch.folder("shim"), scratch.0.path().join("run"));
        let (outcome, _) = run_recorded(&job, &work, &run);
        let _ = outcome.succeeded();
        let with_shim = kernel_calls(&run, &work);
        let (outcome, run) = traced(&scratch, "traced", &job);
        let _ = outcome.succeeded();
        let traced = kernel_calls(&run, &scratch.0.path().join("traced"));
        assert!(with_shim.len() > 5, "{with_shim:#?}");
        let lists = [with_shim, traced].map(|calls| calls.into_iter().collect::<Vec<_>>());
        same(&lists[0], &lists[1], ["by the shim", "from outside"]);
    }
}

/// What `syn info` says of processes that the shim did not enter, after a run with it; `syn record` has said so too.
#[track_caller]
fn not_entered(scratch: &Scratch, job: &Job, work: &Path) -> Vec<serde_json::Value> {
    let runs = scratch.0.path().join("shim-runs");
    let shell = Job::new("sh").args(["-c", "\"$0\" \"$@\"; true"]).followed_by(job);
    let outcome = recorder("shim", &runs, &shell).run_in(work).succeeded();
    for part in ["not recorded: process", "--backend=ptrace"] {
        assert!(outcome.stderr.contains(part), "{part:?} in {}", outcome.stderr);
    }
    let info = syn().args(["info", "--json"]).arg(scratch.run("shim-runs")).run_in(Path::new("/"));
    assert_eq!(info.status.code(), Some(3), "{}", info.stderr);
    let info: serde_json::Value = serde_json::from_str(&info.stdout).expect("an object");
    info["not_entered"].as_array().expect("a list").clone()
}

/// The new image has not begun yet when the command has ended.
#[test]
fn who_is_left_behind_and_becomes_another_program_is_not_missing() {
    let scratch = Scratch::new();
    let work = scratch.folder("work");
    for number in 0..5 {
        let runs = scratch.0.path().join(format!("left-{number}"));
        let leaves = Job::new("sh").args(["-c", "(exec sleep 0.5) >/dev/null 2>&1 &"]);
        let outcome = recorder("shim", &runs, &leaves).run_in(&work).succeeded();
        assert!(!outcome.stderr.contains("not recorded"), "{}", outcome.stderr);
    }
}

#[test]
fn what_the_shim_did_not_enter_is_told_with_the_reason() {
    let scratch = Scratch::new();
    let work = scratch.folder("work");
    let static_program =
        Job::new(program_static("survivor")).args(["--threads", "1", "--writes", "3", "--end", "exit"]);
    let missing = not_entered(&scratch, &static_program, &work);
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert_eq!(missing[0]["why"], "statically linked");
    assert_eq!(missing[0]["program"], program_static("survivor").display().to_string());
    let alone =
        recorder("shim", &scratch.0.path().join("alone"), &static_program).run_in(&scratch.folder("other"));
    for part in ["nothing was recorded", "statically linked", "--backend=ptrace"] {
        assert!(alone.stderr.contains(part), "{part:?} in {}", alone.stderr);
    }
}

/// A call with which the kernel goes on behind a handler is one record; one that fails is one, and its repetition
/// another.
#[test]
fn interrupted_calls() {
    for (words, expected) in [(&["--restart"][..], &[(1, None)][..]), (&[], &[(-1, Some(4)), (1, None)])] {
        let scratch = Scratch::new();
        let (outcome, run) = traced(&scratch, "traced", &Job::new(program_static("interrupted")).args(words));
        assert_eq!(outcome.succeeded().stdout, "interrupted: passed\n");
        let dump = Dump::of(&run);
        let reader = dump.0[0].pid;
        let of_reader = |call| dump.calls(call).filter(move |seen| seen.pid == reader);
        let reads: Vec<_> = of_reader("read").map(|seen| (seen.result, seen.errno)).collect();
        assert_eq!(reads, expected, "{words:?}");
        let delivered: Vec<&Seen> = of_reader("signal-delivered").collect();
        assert_eq!(delivered.len(), 1, "{delivered:?}");
        let last = of_reader("read").last().expect("it has read");
        assert_eq!(
            last.start_ns < delivered[0].start_ns,
            !words.is_empty(),
            "the read began before the signal came"
        );
    }
}

/// What a thread computes between calls comes out however short it is. The band is wide: what a stop costs a thread's own clock was
/// measured at the start, and differs where the processors are busy.
#[test]
fn short_pieces_of_computation() {
    let scratch = Scratch::new();
    let (outcome, run) = traced(&scratch, "traced", &Job::new(program_static("grain")));
    let printed = outcome.succeeded().stdout;
    let known_ns: f64 = printed.split(' ').next().unwrap_or("").parse().expect("nanoseconds");
    let run = Run::open(&run).expect("the run");
    let work_ns = run.balances().threads[0].work_ns as f64;
    assert!((1.6..2.8).contains(&(work_ns / known_ns)), "{work_ns} of twice {known_ns}");
}

/// The exit code is the command's; a command that does not start leaves nothing.
#[test]
fn how_the_command_ended() {
    let scratch = Scratch::new();
    let work = scratch.folder("work");
    let runs = scratch.0.path().join("runs");
    let end = |words: &[&str]| {
        let outcome = recorder("ptrace", &runs, &Job::new(words[0]).args(&words[1..])).run_in(&work);
        (outcome.status.code(), outcome.stderr)
    };
    assert_eq!(end(&["sh", "-c", "exit 42"]).0, Some(42));
    assert_eq!(end(&["sh", "-c", "kill -9 $$"]).0, Some(128 + 9));
    assert_eq!(end(&["sh", "-c", "me=$$; (kill -STOP $me; kill -CONT $me) & wait; exit 5"]).0, Some(5));
    let (code, said) = end(&["no-such-command-anywhere"]);
    assert_eq!(code, Some(127));
    assert!(said.contains("cannot run no-such-command-anywhere"), "{said}");
    assert_eq!(end(&["/etc/passwd"]).0, Some(126));
    assert!(!runs.join("4").exists(), "a command that did not start leaves no folder");
}

/// The threads of a process image share a file, as under the shim; what each of them has written is whole.
#[test]
fn one_file_for_each_image() {
    let scratch = Scratch::new();
    let threads = Job::new(program_static("process_surface")).args(["join", "short-threads", "main-leaves"]);
    let (outcome, run) = traced(&scratch, "traced", &threads);
    let _ = outcome.succeeded();
    let run = Run::open(run).expect("a run folder");
    assert!(run.unreadable.is_empty(), "unreadable traces: {:?}", run.unreadable);
    let files = run.path.read_dir().expect("a run folder").flatten();
    let traces = files.filter(|file| file.path().extension() == Some("trace".as_ref())).count();
    assert!(run.threads.len() > traces, "{} threads in {traces} files", run.threads.len());
    let images =
        run.threads.iter().filter(|thread| thread.events().any(|event| event.call == Call::ProcessStart));
    assert_eq!(images.count(), traces);
    for thread in &run.threads {
        let mut events = thread.events();
        assert!(events.by_ref().count() > 0);
        assert_eq!(events.ending(), Some(Ending::Whole), "thread {}", thread.tid());
    }
}

/// A tracer that is killed leaves readable traces with everything that had completed, and nobody running.
#[test]
fn a_killed_tracer_leaves_whole_traces() {
    let scratch = Scratch::new();
    let work = scratch.folder("work");
    let runs = scratch.0.path().join("runs");
    let job = recorder("ptrace", &runs, &Job::new(program_static("survivor")));
    let mut command = job.command_in(&work);
    let mut tracer = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("syn can be started");
    let limit = Instant::now() + Duration::from_secs(60);
    let written = |counters: &BTreeMap<u32, u64>| counters.values().sum::<u64>();
    while written(&counters(&work)) < 2000 {
        assert!(tracer.try_wait().expect("a child").is_none(), "survivor ended by itself");
        assert!(Instant::now() < limit, "survivor has not written 2000 times in 60 s");
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&tracer), Signal::KILL).expect("our own child");
    tracer.wait().expect("a child can be waited for");
    let completed = settled(&work, limit);
    assert_eq!(completed.len(), 4);
    let run = Run::open(scratch.run("runs")).expect("the run folder can be listed");
    assert!(run.unreadable.is_empty(), "unreadable traces: {:?}", run.unreadable);
    for thread in &run.threads {
        let mut events = thread.events();
        let recorded =
            events.by_ref().filter(|event| event.call == Call::Pwrite && event.result >= 0).count() as u64;
        assert_eq!(events.ending(), Some(Ending::Whole), "{}", thread.trace.path().display());
        let completed = completed.get(&thread.tid()).copied().unwrap_or(0);
        // The tracer may have been killed behind the record, or the thread in front of its counter.
        assert!(
            (completed..=completed + 1).contains(&recorded),
            "{completed} completed, {recorded} on record"
        );
    }
}

/// What the threads of `survivor` say they have completed, by thread id.
fn counters(work: &Path) -> BTreeMap<u32, u64> {
    let bytes = std::fs::read(work.join("counters")).unwrap_or_default();
    let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
    let pairs = bytes.chunks_exact(16).map(|pair| (word(&pair[..8]) as u32, word(&pair[8..])));
    pairs.filter(|&(tid, _)| tid != 0).collect()
}

/// The counters once all threads that they name have ended, as they do with their tracer.
fn settled(work: &Path, limit: Instant) -> BTreeMap<u32, u64> {
    loop {
        let counters = counters(work);
        if counters.keys().all(|tid| !Path::new(&format!("/proc/{tid}")).exists()) {
            return counters;
        }
        assert!(Instant::now() < limit, "a program has outlived its tracer");
        std::thread::yield_now();
    }
}
