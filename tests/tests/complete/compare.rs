//! Runs a program without the shim, and once more under the shim and strace together, and compares.

use crate::allowed::ALLOWED;
use crate::objects::Names;
use crate::tally::Key;
use crate::{kernel, recorded};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use syn_trace::Run;
use tests::workloads::LAUNCHERS;
use tests::{Job, Tally, differences, strace};

/// Differences of a program and class that are shown one by one.
const SHOWN: usize = 5;

/// A program to be compared.
pub struct Program {
    /// How it is started.
    pub job: Job,
    /// Classes of calls that it makes: the comparison is worth nothing without them.
    pub makes: &'static [&'static str],
    /// Names of files that differ between any two runs.
    pub different: &'static [&'static str],
}

/// Complete and harmless.
#[track_caller]
pub fn check(program: &Program) {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let [plain_folder, strace, work, run_folder] =
        ["plain", "strace", "work", "run"].map(|name| scratch.path().join(name));
    let make = |folder| std::fs::create_dir(folder).expect("a folder in an empty one");
    make(&work);
    let plain = program.job.run_in(&work).succeeded();
    // Both times in the same folder, since programs write down where they are.
    std::fs::rename(&work, &plain_folder).expect("a folder is renamed");
    make(&work);
    make(&strace);
    let outcome = strace::job(&strace, &run_folder, &kernel::calls()).followed_by(&program.job).run_in(&work);
    assert_eq!(outcome.stderr, plain.stderr, "stderr with the shim (left) and without");
    assert_eq!(outcome.stdout, plain.stdout, "stdout with the shim (left) and without");
    assert_eq!(outcome.status, plain.status, "exit status with the shim (left) and without");
    let mut left = differences(&plain_folder, &work);
    left.retain(|difference| !program.different.iter().any(|name| difference.contains(name)));
    assert!(left.is_empty(), "the files left without and with the shim differ: {left:#?}");

    let run = Run::open(&run_folder).unwrap_or_else(|error| panic!("{error}"));
    check_run(&run);
    let mut names = Names::default();
    let kernel = kernel::counted(&strace, &work, &mut names);
    let trace = recorded::counted(&run, &mut names).renamed(&names);
    let kernel = kernel.renamed(&names);
    let differences = kernel.differences(&trace);
    let allowed = ALLOWED.map(|allowed| allowed.because).join("\n- ");
    assert!(
        differences.is_empty(),
        "the kernel and the trace differ:\n{}\nbesides what is allowed:\n- {allowed}",
        report(&run, &differences)
    );
    for class in program.makes {
        assert!(trace.calls(class) > 0, "the program made no call of the class \"{class}\"");
    }
}

/// Nothing was lost, and nothing was taken for a launcher that is none: its calls would be missing from both sides.
#[track_caller]
fn check_run(run: &Run) {
    assert!(run.unreadable.is_empty(), "unreadable traces: {:?}", run.unreadable);
    assert_eq!(run.dropped(), 0, "dropped records");
    for process in run.processes.iter().filter(|process| process.process_only) {
        let name = process.exe.rsplit('/').next().unwrap_or_default();
        assert!(LAUNCHERS.contains(&name), "{name} was recorded as a launcher");
    }
}

/// The sums by program and class, then the differences themselves.
fn report(run: &Run, differences: &[(Key, Tally, Tally)]) -> String {
    let programs: BTreeMap<u32, &str> =
        run.processes.iter().map(|process| (process.pid, process.exe.rsplit('/').next().unwrap_or_default())).collect();
    let program = |pid: u32| programs.get(&pid).copied().unwrap_or("(not in the trace)");
    let mut sums: BTreeMap<(&str, &str), [u64; 5]> = BTreeMap::new();
    for (key, kernel, trace) in differences {
        let sum = sums.entry((program(key.pid), key.class)).or_default();
        let numbers = [1, kernel.calls, trace.calls, kernel.bytes, trace.bytes];
        sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    let mut text = String::new();
    for ((program, class), [objects, kernel, trace, kernel_bytes, trace_bytes]) in sums {
        let _ = writeln!(
            text,
            "{program}: {class}: {objects} objects, {kernel} calls and {kernel_bytes} bytes in the kernel, {trace} and \
             {trace_bytes} in the trace"
        );
    }
    let mut shown: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (key, kernel, trace) in differences {
        let Key { pid, class, object } = key;
        let shown = shown.entry((program(*pid), class)).or_default();
        *shown += 1;
        if *shown <= SHOWN {
            let _ = writeln!(text, "  {pid} {} {class} {object}: kernel {kernel:?}, trace {trace:?}", program(*pid));
        }
    }
    text
}
