//! As after a power cut: the run folder as it is at some moment, while the program goes on writing into it.

use crate::{Victim, moments, nothing_is_lost, readable};
use rustix::time::{ClockId, clock_gettime};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;
use syn_trace::Run;
use tests::{Job, mpirun, program, workloads};

#[test]
fn copies_made_while_writing() {
    let mut victim = Victim::start(&Job::new(program("survivor")));
    for (number, moment) in moments(2).take(10).enumerate() {
        let so_far: u64 = victim.counters().values().sum();
        victim.wait_for_writes(so_far + (moment * 20_000.0) as u64);
        let completed = victim.counters();
        let copy = victim.folder.path().join(format!("copy.{number}"));
        copy_folder(&victim.run_folder(), &copy);
        nothing_is_lost(&completed, &readable(&copy));
    }
    victim.kill();
}

/// What is in the folder now; a file may go meanwhile.
fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("a new folder");
    for entry in from.read_dir().into_iter().flatten().map(|entry| entry.expect("an entry")) {
        let copied = std::fs::copy(entry.path(), to.join(entry.file_name()));
        let gone = copied.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        assert!(copied.is_ok() || gone, "{}: {copied:?}", entry.path().display());
    }
}

/// `CLOCK_MONOTONIC`, as it stands in the headers.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Copies the run folder at random moments between the job's start and a little after its usual end, a few in each run.
fn copy_at_any_time(job: &Job, seed: u64, times: usize) {
    const IN_ONE_RUN: usize = 5;
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let started = Instant::now();
    let _ = job.run_in(folder.path()).succeeded();
    let whole = started.elapsed();
    let mut moments: Vec<f64> = moments(seed).take(times).collect();
    for moments in moments.chunks_mut(IN_ONE_RUN) {
        moments.sort_by(f64::total_cmp);
        let started = Instant::now();
        let mut victim = Victim::start(job);
        let copies: Vec<(u64, PathBuf)> = (0..)
            .zip(moments.iter())
            .map(|(number, moment)| {
                // Not to wait for anything: this is the random moment.
                std::thread::sleep(whole.mul_f64(moment * 1.1).saturating_sub(started.elapsed()));
                let copy = victim.folder.path().join(format!("copy.{number}"));
                let began = now_ns();
                copy_folder(&victim.run_folder(), &copy);
                (began, copy)
            })
            .collect();
        assert!(victim.child.wait().expect("a child can be waited for").success());
        let whole = Run::open(victim.run_folder()).expect("the run folder can be listed");
        for (began, copy) in copies {
            readable(&copy);
            holds_what_had_completed(&whole, began, &copy);
        }
    }
}

/// How far apart the clock of a record and `CLOCK_MONOTONIC` may be.
const CLOCK_ERROR_NS: u64 = 500_000;

/// Every call that had returned to the program when the copy was begun is in it, and the copy says of it what the whole
/// trace says. A call's end is noted when the kernel returns, and its record follows: the last one may be on its way.
#[track_caller]
fn holds_what_had_completed(whole: &Run, began: u64, copy: &Path) {
    let copy = Run::open(copy).expect("a copy can be listed");
    for thread in &whole.threads {
        let name = thread.trace.name();
        let copied = copy.threads.iter().find(|copied| copied.trace.name() == name);
        let copied: Vec<_> =
            copied.iter().flat_map(|copied| copied.events()).map(|event| (event.call, event.end)).collect();
        let all: Vec<_> = thread.events().map(|event| (event.call, event.end)).collect();
        assert!(all.starts_with(&copied), "{name}: the copy is not the beginning of the trace");
        let start = thread.trace.header().start.monotonic_ns;
        let returned_ns = |end: u64| start + (end as f64 * thread.clock.ns_per_unit) as u64;
        let returned = all.iter().take_while(|(_, end)| returned_ns(*end) + CLOCK_ERROR_NS < began);
        let last_end = returned.clone().last().map_or(0, |&(_, end)| end);
        let completed = returned.filter(|(_, end)| *end < last_end).count();
        assert!(
            copied.len() >= completed,
            "{name}: {completed} calls had completed, the copy has {}",
            copied.len()
        );
    }
}

#[test]
fn copies_at_any_time() {
    copy_at_any_time(&survivor_that_ends(), 11, 10);
    copy_at_any_time(&mpirun(3).arg(program("quake")), 12, 5);
    copy_at_any_time(&workloads::lammps(2, 6, 40), 13, 5);
    copy_at_any_time(&workloads::python(), 14, 5);
    copy_at_any_time(&workloads::tools(), 15, 5);
}

/// The program whose threads do nothing but write; it ends by itself.
fn survivor_that_ends() -> Job {
    Job::new(program("survivor")).args(["--writes", "100000", "--end", "execv"])
}

#[test]
#[ignore = "a thousand copies take minutes"]
fn a_thousand_copies() {
    copy_at_any_time(&survivor_that_ends(), 21, 200);
    copy_at_any_time(&mpirun(3).arg(program("quake")), 22, 200);
    copy_at_any_time(&workloads::lammps(2, 6, 40), 23, 200);
    copy_at_any_time(&workloads::python(), 24, 200);
    copy_at_any_time(&workloads::tools(), 25, 200);
}
