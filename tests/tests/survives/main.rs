//! Whatever ends a process, and whenever: its traces are readable, and every write that had completed is in them.

mod copies;

use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use syn_trace::reader::Ending;
use syn_trace::{Call, Run, TraceError};
use tempfile::TempDir;
use tests::{Job, mpirun, program, shim, workloads};

/// A job under way, recorded.
struct Victim {
    folder: TempDir,
    child: Child,
}

impl Victim {
    fn start(job: &Job) -> Victim {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let recorded = job.clone().env("LD_PRELOAD", shim()).env("SYN_RUN", folder.path().join("run"));
        let mut command: Command = recorded.command_in(folder.path());
        let child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the job can be started");
        Victim { folder, child }
    }

    fn run_folder(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// What the threads of `survivor` say they have completed, by thread id.
    fn counters(&self) -> BTreeMap<u32, u64> {
        let bytes = std::fs::read(self.folder.path().join("counters")).unwrap_or_default();
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
        let pairs = bytes.chunks_exact(16).map(|pair| (word(&pair[..8]) as u32, word(&pair[8..])));
        pairs.filter(|&(tid, _)| tid != 0).collect()
    }

    /// Returns when this many writes have completed.
    fn wait_for_writes(&mut self, writes: u64) {
        let limit = Instant::now() + Duration::from_secs(30);
        while self.counters().values().sum::<u64>() < writes {
            assert!(self.child.try_wait().expect("a child").is_none(), "survivor ended by itself");
            assert!(Instant::now() < limit, "survivor has not written {writes} times in 30 s");
            std::thread::yield_now();
        }
    }

    /// Ends every process of the job at once, wherever it is: they are known by their run folder.
    fn kill(&mut self) {
        let mark = [b"SYN_RUN=", self.run_folder().as_os_str().as_encoded_bytes()].concat();
        loop {
            let all: Vec<Pid> = processes_with(&mark).collect();
            if all.is_empty() {
                break;
            }
            for pid in all {
                // It may have ended in the meantime.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        self.child.wait().expect("a child can be waited for");
    }
}

/// The processes with this entry in their environment.
fn processes_with(entry: &[u8]) -> impl Iterator<Item = Pid> {
    let folders = std::fs::read_dir("/proc").expect("the list of processes").flatten();
    let pids = folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok());
    pids.filter_map(move |pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        environment.split(|&byte| byte == 0).any(|found| found == entry).then(|| Pid::from_raw(pid))?
    })
}

/// Everything in the run folder can be read to its end. Returns the completed `pwrite`s of every thread.
#[track_caller]
fn readable(run: &Path) -> BTreeMap<u32, u64> {
    let mut writes = BTreeMap::new();
    if !run.exists() {
        return writes; // The job was killed before its first process got so far.
    }
    let run = Run::open(run).expect("the run folder can be listed");
    // Between the two calls that make a file and give it its length it has none: whoever looks just then finds nothing in it.
    let is_new = |error: &TraceError| matches!(error, TraceError::Short { bytes: 0, .. });
    assert!(run.unreadable.iter().all(is_new), "unreadable traces: {:?}", run.unreadable);
    for thread in &run.threads {
        let mut events = thread.events();
        let completed =
            events.by_ref().filter(|event| event.call == Call::Pwrite && event.result >= 0).count();
        assert_eq!(events.ending(), Some(Ending::Whole), "{}", thread.trace.path().display());
        *writes.entry(thread.tid()).or_default() += completed as u64;
    }
    let dropped = |thread: &&syn_trace::run::Thread| thread.trace.header().dropped.load(Relaxed) > 0;
    let losers: Vec<_> = run
        .threads
        .iter()
        .filter(dropped)
        .map(|thread| (run.processes[thread.process].command.clone(), thread.tid(), thread.events().count()))
        .collect();
    assert_eq!(run.dropped(), 0, "{losers:?}");
    writes
}

/// Every write that was counted as completed is in the trace.
#[track_caller]
fn nothing_is_lost(completed: &BTreeMap<u32, u64>, recorded: &BTreeMap<u32, u64>) {
    for (tid, &completed) in completed {
        let recorded = recorded.get(tid).copied().unwrap_or(0);
        assert!(recorded >= completed, "thread {tid} completed {completed} writes, {recorded} are on record");
    }
}

/// And no other: a thread may have been stopped between the write and its counter.
#[track_caller]
fn nothing_is_invented(completed: &BTreeMap<u32, u64>, recorded: &BTreeMap<u32, u64>) {
    for (tid, &recorded) in recorded {
        let completed = completed.get(tid).copied().unwrap_or(0);
        assert!(
            recorded <= completed + 1,
            "thread {tid} completed {completed} writes, {recorded} are on record"
        );
    }
}

/// The same sequence of numbers from 0 to 1 every time (splitmix64).
fn moments(seed: u64) -> impl Iterator<Item = f64> {
    (1..).map(move |n: u64| {
        let mut word = seed.wrapping_add(n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ (word >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    })
}

#[test]
fn kill_after_any_number_of_writes() {
    kill_survivor(20);
}

fn kill_survivor(times: usize) {
    let survivor = Job::new(program("survivor"));
    for moment in moments(1).take(times) {
        let mut victim = Victim::start(&survivor);
        // Few and many: traces of one page, and such as have grown several times.
        victim.wait_for_writes((moment * moment * 200_000.0) as u64);
        victim.kill();
        let (completed, recorded) = (victim.counters(), readable(&victim.run_folder()));
        nothing_is_lost(&completed, &recorded);
        nothing_is_invented(&completed, &recorded);
    }
}

#[test]
fn kill_jobs_of_several_ranks_at_any_time() {
    let pseudo = mpirun(3).arg(program("pseudosyncdat")).args(["--steps", "3", "--compute", "50"]);
    kill_at_any_time(&pseudo, 3, 10);
    kill_at_any_time(&mpirun(3).arg(program("quake")).arg("--per-rank"), 4, 10);
}

/// Kills the job at random moments between its start and a little after its usual end.
fn kill_at_any_time(job: &Job, seed: u64, times: usize) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let started = Instant::now();
    let _ = job.run_in(folder.path()).succeeded();
    let whole = started.elapsed();
    for moment in moments(seed).take(times) {
        let mut victim = Victim::start(job);
        // Not to wait for anything: this is the random moment.
        std::thread::sleep(whole.mul_f64(moment * 1.1));
        victim.kill();
        readable(&victim.run_folder());
    }
}

#[test]
#[ignore = "a thousand jobs take minutes"]
fn a_thousand_moments() {
    kill_survivor(200);
    kill_at_any_time(&mpirun(3).arg(program("pseudosync")), 5, 200);
    kill_at_any_time(&mpirun(3).arg(program("quake")), 6, 200);
    kill_at_any_time(&workloads::lammps(2, 6, 40), 7, 200);
    kill_at_any_time(&workloads::python(), 8, 200);
}

/// Each of them needs longer and longer parts of the file, which has to grow for all of them at the same times.
#[test]
fn many_threads_that_write_at_once() {
    let job = Job::new(program("survivor")).args(["--threads", "32", "--writes", "20000", "--end", "_exit"]);
    let mut victim = Victim::start(&job);
    assert_eq!(victim.child.wait().expect("a child can be waited for").to_string(), "exit status: 3");
    let (completed, recorded) = (victim.counters(), readable(&victim.run_folder()));
    assert_eq!(completed.len(), 32);
    nothing_is_lost(&completed, &recorded);
    nothing_is_invented(&completed, &recorded);
}

/// The last thread, which is the first of the process, ends it while the others are writing.
#[test]
fn every_way_to_end() {
    let ways = [
        ("exit", "exit status: 6"),
        ("_exit", "exit status: 3"),
        ("exit_group", "exit status: 4"),
        ("quick_exit", "exit status: 5"),
        ("execv", "exit status: 0"),
        ("abort", "signal: 6 (SIGABRT)"),
        ("overflow", "signal: 11 (SIGSEGV)"),
        ("raise", "signal: 9 (SIGKILL)"),
    ];
    for (way, status) in ways {
        let mut victim = Victim::start(&Job::new(program("survivor")).args(["--threads", "8", "--end", way]));
        let ended = victim.child.wait().expect("a child can be waited for").to_string();
        assert_eq!(ended.trim_end_matches(" (core dumped)"), status, "{way}");
        let (completed, recorded) = (victim.counters(), readable(&victim.run_folder()));
        assert_eq!(completed.len(), 8, "{way}");
        nothing_is_lost(&completed, &recorded);
        nothing_is_invented(&completed, &recorded);
    }
}
