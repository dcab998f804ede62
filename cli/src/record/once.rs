//! One recorded run, and what is said of it.

use super::folder::{self, Folder};
use super::shim;
use super::signals::Relay;
use super::trial;
use crate::exit_code::FAILED;
use crate::info::statement;
use crate::output::complain;
use crate::survey::{NotEntered, Reason, Survey};
use anyhow::Context;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};
use syn_trace::policy::Choice;
use syn_trace::reader::thread_state;
use syn_trace::{Run, board};
use syn_tracer::{Ended, Unmade};

/// As shells have it: the command was not found, or could not be run.
const NOT_FOUND: u8 = 127;
const NOT_RUNNABLE: u8 = 126;

/// Records with the shim.
pub fn record(
    words: &[OsString],
    shim: &Path,
    folder: &Folder,
    relay: &Relay,
    throttled: bool,
) -> anyhow::Result<u8> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env("LD_PRELOAD", shim::preload(&[shim])).env("SYN_RUN", &folder.path);
    // There may be something in the folder already.
    if folder.joined || throttled {
        command.env("SYN_JOB", &folder.path);
    } else {
        shim::leave_outer_job(&mut command, &folder.path);
    }
    if throttled {
        command.env(board::VARIABLE, "1");
    }
    syn_tracer::hand_down(&mut command);
    let mut child = match relay.spawn(&mut command) {
        Ok(child) => child,
        Err(error) => return Ok(not_run(folder, &words[0].to_string_lossy(), &error)),
    };
    let begun = Instant::now();
    let status =
        relay.wait(&mut child).with_context(|| format!("cannot wait for {}", words[0].to_string_lossy()))?;
    let took = begun.elapsed();
    let run = tell(folder, words, None);
    let code = relay.told(exit_code(status));
    let images = run.map_or(0, |run| run.processes.len());
    if !throttled && images >= FEW_PROCESSES && images as u32 * WORTH_A_TRIAL > took {
        let costs = trial::start_costs(shim, &folder.path);
        let written = costs.map_or(Ok(()), |costs| costs.write(&folder.path));
        written.unwrap_or_else(|error| complain(&format!("warning: {error}")));
    }
    Ok(code)
}

/// Records through ptrace.
pub fn trace(words: &[OsString], folder: &Folder, relay: &Relay) -> anyhow::Result<u8> {
    let ended = syn_tracer::run(words, &folder.path, |pid| relay.begin(pid), || relay.end());
    relay.end();
    match ended {
        Ok((ended, unmade)) => {
            tell(folder, words, unmade.as_ref());
            Ok(relay.told(match ended {
                Ended::Code(code) => code as u8,
                Ended::Signal(signal) => 128u8.saturating_add(signal as u8),
            }))
        }
        Err(syn_tracer::Error::Command { program, cause }) => Ok(not_run(folder, &program, &cause)),
        Err(error) => {
            // It stays when something was recorded.
            let _ = std::fs::remove_dir(&folder.path);
            Err(error.into())
        }
    }
}

/// Says that the command could not be started. An empty run folder would only be in the way.
fn not_run(folder: &Folder, program: &str, error: &std::io::Error) -> u8 {
    let _ = std::fs::remove_dir(&folder.path);
    complain(&format!("cannot run {program}: {error}"));
    if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_RUNNABLE }
}

pub fn exit_code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => 128u8.saturating_add(signal as u8),
        (None, None) => FAILED,
    }
}

/// With fewer process images than this, what their starts cost is not much.
const FEW_PROCESSES: usize = 8;
/// In a run that has less time than this for each of its process images, what recording adds to their starts, some 0.2 ms, is more
/// than half a percent.
const WORTH_A_TRIAL: Duration = Duration::from_millis(40);

/// One line about what was recorded, and what was not. The run, if it can be read: whether it can does not change how the command
/// has ended.
fn tell(folder: &Folder, words: &[OsString], unmade: Option<&Unmade>) -> Option<Run> {
    let unmade = unmade
        .map(|Unmade { traces, first }| format!("{traces} traces could not be made; the first: {first}"));
    if let Some(unmade) = &unmade {
        complain(&format!("warning: {unmade}"));
    }
    let run = Run::open(&folder.path).inspect_err(|error| complain(&format!("warning: {error}"))).ok()?;
    let (folder, before) = (&folder.path, folder.traces);
    if run.threads.len() + run.unreadable.len() == before {
        let (why, hint) = why_nothing(&words[0].to_string_lossy(), unmade.is_some());
        complain(&format!(
            "warning: nothing was recorded: {why}; {} {}{hint}",
            folder.display(),
            if before == 0 { "is empty" } else { "is as it was" }
        ));
        return Some(run);
    }
    let launchers = run.processes.iter().filter(|process| process.process_only).count();
    let mut line = format!(
        "recorded {} processes ({launchers} of them launchers or left out), {} threads in {}",
        run.processes.len(),
        run.threads.len(),
        folder.display()
    );
    let (dropped, unreadable) = (run.dropped(), run.unreadable.len());
    if dropped + unreadable as u64 > 0 {
        line += &format!("; warning: {dropped} records dropped, {unreadable} files unreadable");
    }
    complain(&line);
    let (run, survey) = settled(run, folder);
    let statement = folder.join(statement::FILE);
    if let Err(error) = std::fs::write(&statement, statement::text(&run, &survey, unmade.as_deref())) {
        complain(&format!("warning: cannot write {}: {error}", statement.display()));
    }
    tell_not_entered(&run, &survey.not_entered);
    if run.processes.len() >= MANY_PROCESSES && !folder::is_in_memory(folder) {
        complain(
            "many processes: where making files is slow, a run folder on tmpfs (-o /dev/shm/…) makes their starts cheaper",
        );
    }
    Some(run)
}

/// What a run has. A process that the command left behind may just become another program: the image before is over, and the new one is
/// not there yet. So as long as one of those that seem to be missing runs, the run is looked at again, some times.
fn settled(mut run: Run, folder: &Path) -> (Run, Survey) {
    let mut survey = Survey::of(&run);
    for pause_ms in [10, 50, 250] {
        let mut missing = survey.not_entered.iter().filter_map(|process| process.pid);
        if !missing.any(|pid| thread_state(pid, pid).is_some()) {
            break;
        }
        std::thread::sleep(Duration::from_millis(pause_ms));
        let Ok(later) = Run::open(folder) else { break };
        (survey, run) = (Survey::of(&later), later);
    }
    (run, survey)
}

/// Why the command `name` has left no trace, and what helps.
fn why_nothing(name: &str, unmade: bool) -> (String, &'static str) {
    let is_off = std::env::var_os("SYN_OFF").is_some_and(|value| {
        Choice::of(|name| (name == b"SYN_OFF").then_some(value.as_encoded_bytes())).is_off()
    });
    if is_off {
        return ("SYN_OFF is set, which switches recording off".into(), "");
    }
    if unmade {
        return ("no trace could be made".into(), "");
    }
    let why = Reason::of(name, ".");
    (format!("{name} is {}", why.text()), if why.ptrace_helps() { HINT } else { "" })
}

/// From so many process images on, what it costs to make their files is worth a hint.
const MANY_PROCESSES: usize = 300;

const HINT: &str = ". `syn record --backend=ptrace` records such programs too";

/// Which processes left no trace, and why.
fn tell_not_entered(run: &Run, missing: &[NotEntered]) {
    const LISTED: usize = 8;
    let lines = NotEntered::describe(missing);
    for line in lines.iter().take(LISTED) {
        complain(&format!("warning: not recorded: {line}"));
    }
    if lines.len() > LISTED {
        let more = lines.len() - LISTED;
        complain(&format!(
            "warning: not recorded: {more} more; `syn info --all {}` lists them",
            run.path.display()
        ));
    }
    if missing.iter().any(|process| process.ptrace_helps) {
        complain("`syn record --backend=ptrace` records programs that the shim cannot enter");
    }
}
