//! A trial of what recording adds to the start of a process image unseen: [`StartCosts`]. The same short programs run with the
//! recorder's library and without it, one by the other; what they use more, beyond what the recording knows that it costs itself, would be
//! taken for the program's own. What the kernel does at a process's end, which merge learns of from who waits for it, is part of both.

use super::shim;
use crate::survey::program_file;
use std::path::Path;
use std::process::{Command, Stdio};
use syn_trace::run::StartCosts;
use syn_trace::{Run, shared_libc};

/// Programs that one measurement starts.
const STARTS: usize = 8;
/// Measurements of each kind; the median counts.
const ROUNDS: usize = 7;

/// Does nothing, and is started often.
const SHORT: &str = "true";

/// What it comes to in the run in `folder`, with traces there for as long as it takes. `None` where the programs are not there, or a
/// run fails.
pub fn start_costs(library: &Path, folder: &Path) -> Option<StartCosts> {
    let traces = tempfile::Builder::new().prefix("trial").tempdir_in(folder).ok()?;
    let shared = shared_libc::in_run(folder);
    // By its path: each folder in which a shell looks for it would be a call that fails, with what recording adds to that.
    let short = program_file(SHORT, "/")?;
    let short = short.to_str()?;
    // The shell's own `true` would be no process. Between fork and exec a child mostly has some calls to make, and what is new to it
    // takes longest.
    let script = format!("(exec '{short}' </dev/null >/dev/null);").repeat(STARTS) + ":";
    let spawned = (vec![short], STARTS);
    let forked = (vec!["sh", "-c", &script], 1);
    let added = |round: usize, (words, times): &(Vec<&str>, usize)| {
        let folder = traces.path().join(format!("{round}-{times}"));
        std::fs::create_dir(&folder).ok()?;
        // As most of the run's processes had it. Another user's cannot be linked, and would not be mapped.
        for (copy, name) in shared.iter().filter_map(|copy| Some((copy, copy.file_name()?))) {
            let _ = std::fs::hard_link(copy, folder.join(name));
        }
        Some(recorded(words, *times, library, &folder)? - bare(words, *times)?)
    };
    let median = |kind| {
        let mut all = (0..ROUNDS).map(|round| added(round, &kind)).collect::<Option<Vec<f64>>>()?;
        all.sort_by(f64::total_cmp);
        Some(all[ROUNDS / 2])
    };
    let (spawned_ns, forked_ns) = (median(spawned)?, median(forked)?);
    let starts = STARTS as f64;
    let image_ns = spawned_ns / starts;
    // The shell is an image, too.
    let forked_ns = (forked_ns - image_ns * (starts + 1.0)) / starts;
    Some(StartCosts { image_ns: image_ns.max(0.0) as u64, forked_ns: forked_ns.max(0.0) as u64 })
}

/// CPU time of a command that is run so many times, with its children and all their ends, nanoseconds.
fn bare(words: &[&str], times: usize) -> Option<f64> {
    let before_ns = children_ns();
    (0..times).try_for_each(|_| run(Command::new(words[0]).args(&words[1..])))?;
    Some((children_ns() - before_ns) as f64)
}

/// CPU time of all that this process has started and seen end, nanoseconds.
fn children_ns() -> u64 {
    let used = syn_profile::children();
    used.user_ns + used.system_ns
}

/// The same recorded, less what recording says that it took, nanoseconds.
fn recorded(words: &[&str], times: usize, library: &Path, folder: &Path) -> Option<f64> {
    let before_ns = children_ns();
    for _ in 0..times {
        let mut command = Command::new(words[0]);
        for other in ["SYN_OFF", "SYN_ONLY", "SYN_EXCEPT"] {
            command.env_remove(other);
        }
        command.env("LD_PRELOAD", shim::preload(&[library])).env("SYN_RUN", folder).env("SYN_JOB", folder);
        run(command.args(&words[1..]))?;
    }
    let used_ns = children_ns() - before_ns;
    let run = Run::open(folder).ok()?;
    let told = run.balances().threads;
    let recording_ns: u64 = told.iter().map(|thread| thread.startup.recording_ns + thread.recording_ns).sum();
    (run.threads.len() >= STARTS).then_some(used_ns as f64 - recording_ns as f64)
}

fn run(command: &mut Command) -> Option<()> {
    let (stdin, stdout, stderr) = (Stdio::null(), Stdio::null(), Stdio::null());
    let status = command.stdin(stdin).stdout(stdout).stderr(stderr).status().ok()?;
    status.success().then_some(())
}
