//! Opens the runs, looks through every file of several once, and says what is wrong with them.

mod disturbed;
mod looks;
mod recorded;

use crate::mpi::Worlds;
use crate::notes::Notes;
use anyhow::{Context, Result, bail, ensure};
pub use looks::Looks;
use recorded::OnHost;
pub use recorded::Recorded;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use syn_trace::reader::Ending;
use syn_trace::{Run, TraceError};

/// True for a run in which a node was throttled: it has a board.
pub fn is_throttled(run: &Path) -> bool {
    let entries = std::fs::read_dir(run).into_iter().flatten().flatten();
    entries
        .into_iter()
        .any(|entry| entry.file_name().to_string_lossy().starts_with(syn_trace::board::FILE_PREFIX))
}

/// Opens every run in `paths`. Looks through several, and puts `base` first, or the one that took the median time of those that
/// were neither disturbed nor throttled: the base of the merge. Throttled ones come last. What comes of it does not depend on their order.
///
/// # Errors
/// When one is no run, has files of another version, lacks ranks (and `partial` is not set), or is of another
/// application than the others.
pub fn load(
    paths: &[PathBuf],
    base: Option<&Path>,
    partial: bool,
    notes: &mut Notes,
) -> Result<Vec<Recorded>> {
    let mut runs = Vec::new();
    let mut paths = paths.to_vec();
    paths.sort();
    for path in &paths {
        // A run alone is looked at when it is gone through.
        runs.push(open(path, partial, paths.len() > 1, notes)?);
    }
    no_run_twice(&paths)?;
    let Some(first) = runs.first() else { bail!("no run was named; try: syn-merge runs/*") };
    for other in &runs[1..] {
        same_application(first, other)?;
    }
    leave_out_cut_short(&mut runs, base, notes);
    runs.sort_by_key(|run| (is_throttled(&run.run.path), run.elapsed_ns));
    let plain = runs.partition_point(|run| !is_throttled(&run.run.path));
    ensure!(plain > 0, "all runs were throttled: name the one that was recorded without that too");
    disturbed::find(&mut runs[..plain], notes);
    runs[..plain].sort_by_key(|run| run.is_disturbed);
    let calm = runs[..plain].partition_point(|run| !run.is_disturbed);
    let chosen = match base {
        None => (calm - 1) / 2,
        Some(base) => named(&runs, base)?,
    };
    ensure!(chosen < plain, "{} was throttled: its times are no base of a plan", runs[chosen].name());
    let base = runs.remove(chosen);
    runs.insert(0, base);
    Ok(runs)
}

/// What the command has left behind goes on: a plan ends with what is on record by now.
fn still_running(run: &Run, notes: &mut Notes) {
    let mut running = run.processes.iter().filter(|process| {
        process.threads.iter().any(|&thread| run.threads[thread].trace.is_being_recorded())
    });
    if let Some(first) = running.next() {
        let others = running.count();
        let others = if others > 0 { format!(" and {others} more still run") } else { " still runs".into() };
        notes.remark(format!(
            "process {} ({}){others}: what is done there from now on is not in the plan",
            first.pid,
            first.image()
        ));
    }
}

/// A run that was interrupted is not repeated by a plan, nor compared with whole ones: the command or ranks that others let end were
/// killed. Servers are killed in every run, and in throttled ones, where all takes longer, it may be too late for that.
fn leave_out_cut_short(runs: &mut Vec<Recorded>, base: Option<&Path>, notes: &mut Notes) {
    let is_plain = |run: &Recorded| !is_throttled(&run.run.path);
    let least = runs.iter().filter(|run| is_plain(run)).map(Recorded::killed).min().unwrap_or(0);
    let is_base = |run: &Recorded| base.is_some_and(|base| is_same_folder(&run.run.path, base));
    for run in runs.extract_if(.., |run| is_plain(run) && run.killed() > least && !is_base(run)) {
        notes.remark(format!(
            "left out: {}, which was cut short: of its ranks, or of the command itself, {} were killed, and {least} in the run with the fewest; --base {0} follows it all the same",
            run.name(),
            run.killed()
        ));
    }
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    id(one).is_ok_and(|one| id(other).is_ok_and(|other| one == other))
}

/// The file system's name of a folder.
fn id(path: &Path) -> std::io::Result<(u64, u64)> {
    std::fs::metadata(path).map(|about| (about.dev(), about.ino()))
}

/// Which of the runs is this folder.
fn named(runs: &[Recorded], folder: &Path) -> Result<usize> {
    let wanted = id(folder).with_context(|| format!("cannot open the run {}", folder.display()))?;
    let found = runs.iter().position(|run| id(&run.run.path).is_ok_and(|id| id == wanted));
    found.with_context(|| format!("--base {}: it is none of the runs to merge", folder.display()))
}

/// A run beside itself would count as one that came out exactly alike.
fn no_run_twice(paths: &[PathBuf]) -> Result<()> {
    let mut seen: BTreeMap<(u64, u64), &Path> = BTreeMap::new();
    for path in paths {
        let about =
            std::fs::metadata(path).with_context(|| format!("cannot open the run {}", path.display()))?;
        if let Some(before) = seen.insert((about.dev(), about.ino()), path) {
            bail!("{} and {} are the same run folder: name each run once", before.display(), path.display());
        }
    }
    Ok(())
}

fn open(path: &Path, partial: bool, look: bool, notes: &mut Notes) -> Result<Recorded> {
    let metadata =
        std::fs::metadata(path).with_context(|| format!("cannot open the run {}", path.display()))?;
    ensure!(
        metadata.is_dir(),
        "{} is a file; a run is a folder, as `syn record` leaves it: name the folder",
        path.display()
    );
    let run = Run::open(path)?;
    let name = path.display();
    for error in &run.unreadable {
        match error {
            TraceError::Older { .. } | TraceError::Newer { .. } => bail!("{error}"),
            error => notes.warn(format!("left out: {error}")),
        }
    }
    run.about_empty().into_iter().for_each(|about| notes.warn(about));
    if run.threads.is_empty() {
        let hint = match run.unreadable.is_empty() {
            true if !run.empty.is_empty() => {
                "its *.trace files hold nothing: its processes were killed as they began".into()
            }
            true => format!("no *.trace file is in it{}", runs_inside(path)),
            false => format!(
                "none of its {} *.trace files can be read; the first: {}",
                run.unreadable.len(),
                run.unreadable[0]
            ),
        };
        bail!("{name} is not a run folder: {hint}");
    }
    still_running(&run, notes);
    let worlds = Worlds::of(&run);
    missing_ranks(&run, &worlds, partial, notes)?;
    let bytes = run.threads.iter().map(|thread| thread.trace.bytes()).sum();
    let mut recorded = Recorded {
        run,
        worlds,
        events: 0,
        bytes,
        elapsed_ns: 0,
        on_hosts: Vec::new(),
        preempted: 0.0,
        used_ns: 0.0,
        is_disturbed: false,
    };
    if look {
        let mut looks = Looks::new(&recorded.run);
        looks.read(&recorded.run);
        (recorded.used_ns, recorded.preempted) = looks.processor(&recorded.run);
        recorded.judge(&looks, notes)?;
    }
    ensure!(
        recorded.application().next().is_some(),
        "{name} holds nothing but process creation: its programs are launchers, or SYN_ONLY or SYN_EXCEPT leaves them out ({}); \
         an application that is missing here is a static binary or clears LD_PRELOAD, or is to be named in SYN_ONLY",
        programs(&recorded.run)
    );
    Ok(recorded)
}

/// The file names of a run's programs, each once.
fn programs(run: &Run) -> String {
    let mut names: Vec<&str> = run.processes.iter().map(|process| process.image()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

fn runs_inside(path: &Path) -> String {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    match entries.map(|entry| entry.path()).find(|entry| Run::is_run(entry)) {
        Some(_) => format!(", but runs are: name them, as in syn-merge {}/*", path.display()),
        None => String::new(),
    }
}

fn missing_ranks(run: &Run, worlds: &Worlds, partial: bool, notes: &mut Notes) -> Result<()> {
    for &index in &worlds.impossible {
        let process = &run.processes[index as usize];
        notes.warn(format!(
            "{}: process {} says that it is rank {} of {}, which cannot be: its header is damaged, and it is taken as one without a rank",
            run.path.display(),
            process.pid,
            process.rank.unwrap_or_default(),
            process.ranks
        ));
    }
    let guesses = worlds.worlds.iter().filter(|world| world.is_guess).count();
    if guesses > 0 {
        notes.warn(format!(
            "{}: {guesses} MPI programs of the same sizes ran at the same time, and nothing on record tells which process is of which: \
             nobody is said to wait for anybody by MPI in them",
            run.path.display()
        ));
    }
    for world in &worlds.worlds {
        let missing = world.missing();
        if missing.is_empty() {
            continue;
        }
        let unreadable: Vec<String> = run.unreadable.iter().map(|error| name_of(path_of(error))).collect();
        let empty: Vec<String> = run.empty.iter().map(|path| name_of(path)).collect();
        let files =
            [("files that could not be read", unreadable), ("files to which nothing was written", empty)];
        let files = files.iter().filter(|(_, files)| !files.is_empty());
        let files: Vec<String> =
            files.map(|(what, files)| format!(" ({what}: {})", files.join(", "))).collect();
        let what = format!(
            "{}: no trace of {} of {} ranks: {}{}",
            run.path.display(),
            missing.len(),
            world.members.len(),
            list(&missing),
            files.concat()
        );
        ensure!(partial, "{what}; record the run again, or go on without them: --partial");
        notes.warn(what);
    }
    Ok(())
}

fn path_of(error: &TraceError) -> &Path {
    let (TraceError::Io { path, .. }
    | TraceError::Short { path, .. }
    | TraceError::NotOurs { path, .. }
    | TraceError::Older { path, .. }
    | TraceError::Packed { path, .. }
    | TraceError::NoRoom { path, .. }
    | TraceError::Several { path, .. }
    | TraceError::Newer { path, .. }
    | TraceError::BadHeader { path, .. }) = error;
    path
}

/// The last part of a path.
fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Numbers for a message, at most twenty.
fn list(numbers: &[usize]) -> String {
    let shown: Vec<String> = numbers.iter().take(20).map(usize::to_string).collect();
    let more = if numbers.len() > shown.len() {
        format!(" and {} more", numbers.len() - shown.len())
    } else {
        String::new()
    };
    format!("{}{more}", shown.join(", "))
}

impl Recorded {
    /// Takes over what was seen, and says what is wrong with it.
    ///
    /// # Errors
    /// When a thread has more events than can be counted.
    pub fn judge(&mut self, looks: &Looks, notes: &mut Notes) -> Result<()> {
        let run = &self.run;
        let mut on_hosts: BTreeMap<[u8; 16], OnHost> = BTreeMap::new();
        let mut unobserved: BTreeMap<&str, u64> = BTreeMap::new();
        for (index, (thread, look)) in run.threads.iter().zip(&looks.0).enumerate() {
            ensure!(
                look.events < u64::from(u32::MAX),
                "{}: more than 4 294 967 294 events",
                thread.trace.path().display()
            );
            self.events += look.events;
            let process = &run.processes[thread.process];
            if !process.process_only {
                let here = OnHost { thread: index, first_ns: look.first_ns, last_ns: look.last_ns };
                let host = on_hosts.entry(process.boot_id).or_insert(here);
                host.first_ns = host.first_ns.min(look.first_ns);
                host.last_ns = host.last_ns.max(look.last_ns);
            }
            for what in &look.unobserved {
                *unobserved.entry(what).or_default() += 1;
            }
            note_ending(thread, look.ending, notes);
        }
        for (what, count) in unobserved {
            notes.remark(format!("not observed: {what} ({count} times)"));
        }
        if run.dropped() > 0 {
            notes.warn(format!(
                "{}: {} records could not be written while recording",
                run.path.display(),
                run.dropped()
            ));
        }
        self.on_hosts = on_hosts.into_values().collect();
        // The clocks of two hosts may differ by more than all takes.
        let spans = self.on_hosts.iter().map(|host| host.last_ns.saturating_sub(host.first_ns));
        self.elapsed_ns = spans.max().unwrap_or(0);
        Ok(())
    }
}

fn note_ending(thread: &syn_trace::run::Thread, ending: Option<Ending>, notes: &mut Notes) {
    let path = thread.trace.path().display();
    match ending {
        Some(Ending::CutBetween { bytes }) => notes
            .warn(format!("{path}: cut off at byte {bytes}, between two records; what precedes was used")),
        Some(Ending::CutOff { offset }) => {
            notes.warn(format!("{path}: cut off inside the record at byte {offset}; what precedes was used"));
        }
        Some(Ending::Damaged { offset, fault }) => {
            notes.warn(format!("{path}: damaged at byte {offset} ({fault:?}); what precedes was used"));
        }
        _ => {}
    }
}

fn same_application(first: &Recorded, other: &Recorded) -> Result<()> {
    let sizes =
        |run: &Recorded| run.worlds.worlds.iter().map(|world| world.members.len()).collect::<Vec<_>>();
    ensure!(
        sizes(first) == sizes(other),
        "{} has {} ranks, {} has {}: merge runs of one application of one size",
        first.name(),
        first.worlds.ranks(),
        other.name(),
        other.worlds.ranks()
    );
    ensure!(
        first.command() == other.command(),
        "{} ran `{}`, {} ran `{}`: the runs of a merge are repetitions of one application. Programs that work together, as a server and its clients do, are recorded into one run folder (`syn record --join -o {0} -- command`), which is merged alone",
        first.name(),
        first.command(),
        other.name(),
        other.command()
    );
    Ok(())
}
