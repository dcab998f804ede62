//! Hosts whose clocks differ and drift: all that a recorder has read from the clocks of one host is changed to what a clock that is
//! ahead and goes faster would have said. The dependencies are those that are found without, and the clocks are known well enough.

use super::{Turns, unordered};
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use syn_merge::{Merged, Options, merge};
use syn_plan::Rule;
use syn_trace::header::{ClockPair, HEADER_BYTES, Header, MAGIC};
use tests::{hosts, mpirun, program, record, shim, writes};

/// By how much the other clock is ahead, nanoseconds, and how much faster it goes.
const AHEAD_NS: u64 = 50_000_000;
const DRIFT: f64 = 20e-6;
/// How well the difference of the clocks is to be known, microseconds.
const KNOWN_TO_US: f64 = 20.0;
/// Of each side: they take long enough for a drift to tell.
const TURNS: &str = "10000";
/// What host two has of its own: a clock since its start.
const OTHER_CLOCKS: [&str; 5] = ["--time", "--monotonic", "1000", "--boottime", "1000"];
const TWO_ENDS: &str = r#"
echo "cd $PWD; LD_PRELOAD=$LIBRARY SYN_RUN=$PWD/run PMIX_NAMESPACE=job $TWO_ENDS connect 10.77.0.1 7000 $TURNS; echo \$? >answers" >requests
LD_PRELOAD=$LIBRARY SYN_RUN=$PWD/run PMIX_NAMESPACE=job $TWO_ENDS listen 10.77.0.1 7000 $TURNS
read -r code <answers
exit $code
"#;

fn merged(run: &Path) -> Merged {
    merge(&Options { runs: vec![run.to_owned()], ..Options::default() }).expect("a plan")
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Where the headers of a file's threads are. (The file begins with the same eight bytes.)
fn headers(bytes: &[u8]) -> Vec<usize> {
    let size = (HEADER_BYTES as u32).to_ne_bytes();
    let is_header = |&at: &usize| {
        bytes[at..].starts_with(&MAGIC) && bytes[at + offset_of!(Header, header_bytes)..].starts_with(&size)
    };
    (0..bytes.len().saturating_sub(size_of::<Header>())).step_by(8).filter(is_header).collect()
}

/// The files of the processes that ran on a host; or of one process.
fn files(run: &Path, is_meant: impl Fn(&Path, &[u8], usize) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(run).expect("the run folder").flatten().map(|entry| entry.path());
    let found = entries.filter(|path| {
        let bytes = std::fs::read(path).expect("a file");
        headers(&bytes).iter().any(|&at| is_meant(path, &bytes, at))
    });
    found.collect()
}

/// Another machine's name and clock for what is in these files.
fn change_clocks(files: &[PathBuf]) {
    assert!(!files.is_empty());
    for file in files {
        let mut bytes = std::fs::read(file).expect("a trace");
        // As a clock that has gone faster since the machine was started.
        let gained = |ns: u64| (ns as f64 * DRIFT) as u64;
        let pair = offset_of!(ClockPair, monotonic_ns);
        let (start, latest) = (offset_of!(Header, start) + pair, offset_of!(Header, latest) + pair);
        let monotonic =
            [start, latest, latest + size_of::<ClockPair>(), offset_of!(Header, process_start_ns)];
        let found = headers(&bytes);
        let started = found.iter().map(|at| number(&bytes, at + start)).filter(|&ns| ns > 0);
        let began_ns = started.min().expect("a thread");
        for at in found {
            let since_ns = number(&bytes, at + start).saturating_sub(began_ns);
            let mut change = |field: usize, later: &dyn Fn(u64) -> u64| {
                let ns = number(&bytes, at + field);
                let later = ns + later(ns);
                bytes[at + field..at + field + 8].copy_from_slice(&later.to_ne_bytes());
            };
            change(offset_of!(Header, start_realtime_ns), &|_| AHEAD_NS + gained(since_ns));
            monotonic.into_iter().for_each(|field| change(field, &gained));
            let boot_id = at + offset_of!(Header, boot_id);
            bytes[boot_id..boot_id + 16].copy_from_slice(b"the other host's");
            let host = at + offset_of!(Header, host);
            bytes[host..host + 4].copy_from_slice(b"two\0");
        }
        std::fs::write(file, bytes).expect("written");
    }
}

/// What merge says of the other host's clock: how well it is known, microseconds.
#[track_caller]
fn known_to_us(merged: &Merged) -> f64 {
    assert_eq!(merged.plan.about.hosts.len(), 2);
    let fact = merged.notes.facts.iter().find(|fact| fact.contains("clock of host two moved"));
    let fact = fact.unwrap_or_else(|| panic!("{:?}", merged.notes.remarks));
    println!("{fact}");
    let told = fact.split_once("+- ").and_then(|(_, rest)| rest.split_once(" us"));
    told.and_then(|(number, _)| number.parse().ok()).expect("a number")
}

#[track_caller]
fn are_as_before(before: &Merged, after: &Merged, rules: &[Rule]) {
    for rule in rules {
        let count = |merged: &Merged| merged.counts.get(rule).map(|count| count.found);
        assert_eq!(count(before), count(after), "{rule}");
    }
    let turns: Turns = writes(&after.plan);
    assert_eq!(unordered(&turns, "a", "b"), [] as [usize; 0]);
    assert!(known_to_us(after) <= KNOWN_TO_US);
}

#[test]
fn ranks_on_hosts_whose_clocks_drift_are_in_order() {
    let recorded = record(&mpirun(2).arg(program("comm/turns")).args(["message", TURNS]));
    let run = recorded.run_folder();
    let before = merged(&run);
    let other = recorded.run.processes.iter().find(|process| process.rank == Some(1)).expect("rank 1").pid;
    let name = format!("{other}-");
    change_clocks(&files(&run, |path, _, _| {
        path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&name))
    }));
    are_as_before(&before, &merged(&run), &[Rule::Message, Rule::Rendezvous, Rule::Collective]);
}

/// Two network namespaces with host names of their own, the second one with another boot and a clock that counts from there.
#[test]
fn the_ends_of_a_connection_between_hosts_whose_clocks_drift_are_in_order() {
    if !hosts::are_allowed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("job"), TWO_ENDS).expect("a script");
    std::fs::create_dir(folder.path().join("run")).expect("a folder");
    let job = hosts::on_two(folder.path(), &OTHER_CLOCKS).args(["sh", "job"]);
    let job = job.env("LIBRARY", shim()).env("TWO_ENDS", program("two_ends")).env("TURNS", TURNS);
    let _ = job.run_in(folder.path()).succeeded();
    let run = folder.path().join("run");
    let before = merged(&run);
    known_to_us(&before);
    let host = offset_of!(Header, host);
    change_clocks(&files(&run, |_, bytes, at| bytes[at + host..].starts_with(b"two\0")));
    let after = merged(&run);
    are_as_before(&before, &after, &[Rule::Socket]);
    // Nothing else orders them.
    let options = Options { runs: vec![run], without: vec![Rule::Socket], ..Options::default() };
    let without = writes(&merge(&options).expect("a plan").plan);
    assert!(!unordered(&without, "a", "b").is_empty());
}
