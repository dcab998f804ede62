//! A run folder: every thread of every process of one job, on one time axis.

mod balance;
mod events;
mod held;
mod meter;
mod nodes;
pub mod order;
mod origins;
mod queue;
mod segment;
mod starts;

pub use balance::{Balance, Balances, Before, Startup};
pub use meter::{MeasuredEvents, Measures};
pub use queue::{EventQueue, Fifo};
pub use segment::{Measured, Segment};
pub use starts::StartCosts;

use crate::calls::Call;
use crate::header::{self, Header};
use crate::pack;
use crate::reader::{Event, Events, ThreadTrace, TraceError};
use origins::{Origins, TickRates};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// How the file of a process image is called: `<pid>-<start, hexadecimal>.trace`.
pub const EXTENSION: &str = "trace";

/// Turns a thread's units into nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The header's start, nanoseconds since the start of the run.
    pub start_ns: f64,
    /// Nanoseconds in one unit.
    pub ns_per_unit: f64,
}

impl Clock {
    /// Nanoseconds since the start of the run.
    #[inline]
    pub fn ns(&self, units: u64) -> u64 {
        (self.start_ns + units as f64 * self.ns_per_unit) as u64
    }
}

/// One thread of a run.
#[derive(Debug)]
pub struct Thread {
    /// Its records.
    pub trace: ThreadTrace,
    /// Its time axis.
    pub clock: Clock,
    /// Which of [`Run::processes`] it belongs to.
    pub process: usize,
    /// What recording costs it.
    pub costs: Costs,
}

/// What recording costs a thread, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    /// Added between two calls: where the first of them has no text among its arguments, and where it has one (what a path
    /// leads to is looked at). Readers take it off every gap.
    pub gap_ns: [u64; 2],
    /// The same in a row of polls, whose code and data are in the caches.
    pub poll_gap_ns: u64,
    /// Added to a call; readers take it off every duration.
    pub call_ns: u64,
    /// A reading of the CPU clock.
    pub reading_ns: u64,
    /// From the start of the thread's recording until the recorder was ready.
    pub setup_ns: u64,
}

impl Costs {
    /// When a call returned, the cost of recording taken off.
    #[inline]
    pub fn end_ns(&self, started_ns: u64, returned_ns: u64) -> u64 {
        returned_ns.saturating_sub(self.call_ns).max(started_ns)
    }
}

impl Thread {
    /// The kernel's thread id.
    pub fn tid(&self) -> u32 {
        self.trace.header().tid
    }
    /// The events in the order in which their calls returned.
    pub fn events(&self) -> Events<'_> {
        self.trace.events()
    }
    /// When the thread ended and its CPU time then, where that is on record: nanoseconds since the start of the run, and
    /// nanoseconds.
    pub fn end(&self) -> Option<(u64, u64)> {
        let header = self.trace.header();
        let (ticks, cpu_ns) =
            (header.end_ticks.load(Ordering::Acquire), header.end_cpu_ns.load(Ordering::Relaxed));
        let since = ticks.checked_sub(header.start.ticks).filter(|_| ticks != 0)?;
        Some((self.clock.ns(since >> header.tick_shift), cpu_ns))
    }
    /// True for a thread that lived when its process ended or became another program, and did not bring that about itself.
    pub fn ended_with_process(&self) -> bool {
        let header = self.trace.header();
        let ended = header.end_ticks.load(Ordering::Acquire) != 0;
        ended && header.state.load(Ordering::Relaxed) == header::STATE_RECORDING
    }
    /// When the call was entered, nanoseconds since the start of the run.
    #[inline]
    pub fn start_ns(&self, event: &Event<'_>) -> u64 {
        self.clock.ns(event.start)
    }
    /// When the call returned, nanoseconds since the start of the run, the cost of recording taken off.
    #[inline]
    pub fn end_ns(&self, event: &Event<'_>) -> u64 {
        self.costs.end_ns(self.clock.ns(event.start), self.clock.ns(event.end))
    }

    /// When the recorder saw the call return, nanoseconds since the start of the run: no call that needed this one's
    /// result began before.
    #[inline]
    pub fn returned_ns(&self, event: &Event<'_>) -> u64 {
        self.clock.ns(event.end)
    }
}

/// How a process image ended, as far as its recorder saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By itself: it ended, or became another program.
    Ended,
    /// Recording stopped before.
    Stopped,
    /// It was killed, or still ran when the traces were copied.
    Killed,
}

/// One process image of a run: from start or `execve` to exit or the next `execve`.
#[derive(Clone, Debug)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Parent process id at the start of the image.
    pub ppid: u32,
    /// Host name.
    pub host: String,
    /// Which machine and boot: processes that share it share their clocks.
    pub boot_id: [u8; 16],
    /// When the image started, nanoseconds of the host's monotonic clock.
    pub start_monotonic_ns: u64,
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: Option<u32>,
    /// Size of `MPI_COMM_WORLD`, 0 without MPI.
    pub ranks: u32,
    /// Ranks with other numbers than this are of other jobs; 0 where that is not known.
    pub job: u64,
    /// Which MPI implementation.
    pub mpi: Option<&'static str>,
    /// The program file.
    pub exe: String,
    /// The current folder at the start.
    pub cwd: String,
    /// The command, its words separated by spaces.
    pub command: String,
    /// True for launchers and for programs left out by choice, of which only process creation is recorded.
    pub process_only: bool,
    /// True when libc's own calls were seen too.
    pub sees_libc_internal: bool,
    /// Its threads, by their start; indices into [`Run::threads`].
    pub threads: Vec<usize>,
}

impl Process {
    /// What it was called by, without a folder: `redis-server` also where that is another name of the program file, and `bash` for a login
    /// shell's `-bash`. Empty where nothing is known.
    pub fn image(&self) -> &str {
        called_by(&self.command, &self.exe)
    }
}

/// See [`Process::image`]. The command's words do not tell where the first one ends, unless it is the program file.
fn called_by<'a>(command: &'a str, exe: &'a str) -> &'a str {
    fn file_name(path: &str) -> &str {
        path.rsplit('/').next().unwrap_or_default()
    }
    let is_exe = command.strip_prefix(exe).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    let first = if is_exe { exe } else { command.split(' ').next().unwrap_or_default() };
    match file_name(first).trim_start_matches('-') {
        "" => file_name(exe),
        name => name,
    }
}

/// A run folder, opened.
#[derive(Debug)]
pub struct Run {
    /// The folder.
    pub path: PathBuf,
    /// Every process image, by start.
    pub processes: Vec<Process>,
    /// Every thread.
    pub threads: Vec<Thread>,
    /// Files in the folder that cannot be read as traces.
    pub unreadable: Vec<TraceError>,
    /// Files in which nothing has been written yet: a process has just begun, or was killed then.
    pub empty: Vec<PathBuf>,
    /// What recording added to the start of each process image unseen.
    pub start_costs: StartCosts,
}

impl Run {
    /// How process image `process` ended.
    ///
    /// # Panics
    /// When there is no such process.
    pub fn end_of(&self, process: usize) -> ProcessEnd {
        let threads = || self.processes[process].threads.iter().map(|&thread| &self.threads[thread].trace);
        let has = |state| threads().any(|trace| trace.header().state.load(Ordering::Relaxed) == state);
        match () {
            () if has(header::STATE_STOPPED) => ProcessEnd::Stopped,
            () if has(header::STATE_PROCESS_ENDED) || !has(header::STATE_RECORDING) => ProcessEnd::Ended,
            () => ProcessEnd::Killed,
        }
    }

    /// Opens every trace in the folder at `path`, puts threads into processes, and all on one time axis.
    ///
    /// # Errors
    /// [`TraceError::Io`] when the folder cannot be listed. A file that cannot be read is not an error: it stands
    /// in [`Run::unreadable`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Run, TraceError> {
        let path = path.into();
        let io = |cause| TraceError::Io { path: path.clone(), cause };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&path).map_err(io)? {
            let file = entry.map_err(io)?.path();
            if is_of_run(&file) {
                files.push(file);
            }
        }
        files.sort();
        Ok(Run::of_files(path, files))
    }

    /// One file of traces, packed or not, as a run of its own, for looking into it.
    ///
    /// # Errors
    /// [`TraceError`] when it cannot be read as that, or holds none.
    pub fn open_file(file: impl Into<PathBuf>) -> Result<Run, TraceError> {
        let file = file.into();
        let mut run = Run::of_files(file.clone(), vec![file]);
        match (run.unreadable.pop(), run.threads.is_empty()) {
            (Some(error), _) => Err(error),
            (None, true) => Err(TraceError::Short { path: run.path, bytes: 0 }),
            (None, false) => Ok(run),
        }
    }

    fn of_files(path: PathBuf, files: Vec<PathBuf>) -> Run {
        let (mut traces, mut unreadable, mut empty) = (Vec::new(), Vec::new(), Vec::new());
        for file in files {
            let opened = ThreadTrace::open_all(&file).unwrap_or_else(|error| vec![Err(error)]);
            if opened.is_empty() {
                empty.push(file);
            }
            for trace in opened {
                match trace {
                    Ok(trace) => traces.push(trace),
                    Err(error) => unreadable.push(error),
                }
            }
        }
        // Where packing was interrupted, a trace is there twice, and the longer one holds all of it.
        let identity = |trace: &ThreadTrace| {
            let Header { boot_id, pid, tid, start, .. } = *trace.header();
            (boot_id, pid, tid, start.monotonic_ns)
        };
        traces.sort_by(|one, other| {
            identity(one).cmp(&identity(other)).then_with(|| other.bytes().cmp(&one.bytes()))
        });
        traces.dedup_by_key(|trace| identity(trace));
        let start_costs = StartCosts::read(&path);
        let mut run =
            Run { path, processes: Vec::new(), threads: Vec::new(), unreadable, empty, start_costs };
        run.arrange(traces);
        run
    }

    /// What is to be said of [`Run::empty`]: `None` if there is nothing.
    pub fn about_empty(&self) -> Option<String> {
        let first = self.empty.first()?.display();
        Some(match self.empty.len() {
            1 => format!(
                "{first}: nothing has been written to it: its process had just begun, or was killed then"
            ),
            files => format!(
                "{files} trace files to which nothing has been written: their processes had just begun, or were killed then; the first: {first}"
            ),
        })
    }

    /// True when `path` looks like a run folder: a folder with at least one file named like a trace, or packed ones.
    pub fn is_run(path: &Path) -> bool {
        std::fs::read_dir(path).is_ok_and(|entries| entries.flatten().any(|entry| is_of_run(&entry.path())))
    }

    fn arrange(&mut self, mut traces: Vec<ThreadTrace>) {
        traces.sort_by_key(|trace| (trace.header().start.monotonic_ns, trace.header().tid));
        let rates = TickRates::of(&traces);
        let origin = Origins::of(&traces, &rates);
        let mut by_image: HashMap<([u8; 16], u32, u64), usize> = HashMap::new();
        for trace in traces {
            let header = trace.header();
            let image = (header.boot_id, header.pid, header.process_start_ns);
            let process = *by_image.entry(image).or_insert_with(|| {
                self.processes.push(describe(&trace));
                self.processes.len() - 1
            });
            let ns_per_tick = rates.ns_per_tick(&trace);
            let clock = Clock {
                start_ns: origin.since(&trace, &rates),
                ns_per_unit: ns_per_tick * (1u64 << header.tick_shift) as f64,
            };
            let cost = |ticks: u32| (f64::from(ticks) * ns_per_tick) as u64;
            // What was seen of the work behind calls stands for what was found at the start, on warm caches.
            let gap_cost = |behind: &header::Behind| {
                let seen =
                    behind.mean().map(|ticks| ticks.saturating_add(to_enter(ticks, header.call_cost_ticks)));
                cost(seen.unwrap_or(header.gap_cost_ticks))
            };
            let gap_ns = header.behind.each_ref().map(gap_cost);
            let call_ns = cost(header.call_cost_ticks);
            let reading_ns = cost(header.readings.mean().unwrap_or(header.reading_cost_ticks));
            self.processes[process].threads.push(self.threads.len());
            self.complete(process, &trace);
            let setup_ns = (header.setup_ticks.load(Ordering::Relaxed) as f64 * ns_per_tick) as u64;
            let poll_gap_ns = cost(header.gap_cost_ticks);
            let costs = Costs { gap_ns, poll_gap_ns, call_ns, reading_ns, setup_ns };
            self.threads.push(Thread { trace, clock, process, costs });
        }
    }

    /// Takes from a further thread what the first one of its process did not know.
    fn complete(&mut self, process: usize, trace: &ThreadTrace) {
        let process = &mut self.processes[process];
        let rank = trace.header().rank.load(Ordering::Relaxed);
        if rank >= 0 {
            process.rank = Some(rank as u32);
            process.ranks = trace.header().ranks.load(Ordering::Relaxed).max(0) as u32;
            process.job = trace.header().job.load(Ordering::Relaxed);
            process.mpi = header::mpi_name(trace.header().mpi.load(Ordering::Relaxed));
        }
        for event in trace.events().take(8) {
            if event.call == Call::ProcessStart {
                let text = |index: usize| String::from_utf8_lossy(&event.texts[index].bytes()).into_owned();
                (process.exe, process.cwd, process.command) = (text(0), text(1), text(2));
            }
        }
    }

    /// Processors, all machines together; 0 where one did not say.
    pub fn processors(&self) -> u32 {
        let mut machines = std::collections::BTreeMap::new();
        for thread in &self.threads {
            let header = thread.trace.header();
            let most: &mut u32 = machines.entry(header.boot_id).or_default();
            *most = header.processors.max(*most);
        }
        if machines.values().all(|&count| count > 0) { machines.values().sum() } else { 0 }
    }

    /// Records that the shim could not write, all threads together.
    pub fn dropped(&self) -> u64 {
        self.threads.iter().map(|thread| thread.trace.header().dropped.load(Ordering::Relaxed)).sum()
    }

    /// What could not be observed, as the shim noted it: process id and reason.
    pub fn unobserved(&self) -> Vec<(u32, String)> {
        let mut found = Vec::new();
        for thread in &self.threads {
            for event in thread.events().filter(|event| event.call == Call::Unobserved) {
                let what = String::from_utf8_lossy(&event.texts[0].bytes()).into_owned();
                found.push((self.processes[thread.process].pid, what));
            }
        }
        found
    }

    /// From the first process's start to the last event of a process that is not a launcher, nanoseconds: the
    /// application's own time, without the launcher's before and after it. Of several hosts, whose clocks differ, on the one where that
    /// is longest. `None` for a run without any event.
    pub fn application_span_ns(&self) -> Option<(u64, u64)> {
        let mut spans: HashMap<[u8; 16], (u64, u64)> = HashMap::new();
        let before = self.cpu_before();
        for process in self.processes.iter().filter(|process| !process.process_only) {
            for &index in &process.threads {
                let thread = &self.threads[index];
                let first = self.began_ns(index, &before);
                let last = thread.events().last().map_or(first, |event| thread.end_ns(&event));
                let span = spans.entry(process.boot_id).or_insert((first, last));
                *span = (span.0.min(first), span.1.max(last));
            }
        }
        spans.into_values().max_by_key(|&(start, end)| (end.saturating_sub(start), start))
    }
}

/// True for the names of traces and of packed files.
fn is_of_run(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == EXTENSION || extension == pack::EXTENSION)
}

fn describe(trace: &ThreadTrace) -> Process {
    let header = trace.header();
    let capabilities = header.capabilities.load(Ordering::Relaxed);
    Process {
        pid: header.pid,
        ppid: header.ppid,
        host: trace.host(),
        boot_id: header.boot_id,
        start_monotonic_ns: header.process_start_ns,
        rank: None,
        ranks: 0,
        job: 0,
        mpi: None,
        exe: String::new(),
        cwd: String::new(),
        command: String::new(),
        process_only: capabilities & header::PROCESS_ONLY != 0,
        sees_libc_internal: capabilities & header::SEES_LIBC_INTERNAL != 0,
        threads: Vec::new(),
    }
}

/// What recording does before a call's start, which it cannot measure, ticks. On warm caches it is about what recording adds to the
/// call's duration; where the work behind calls takes long, so does this, up to four times as long.
fn to_enter(behind: u32, call_cost: u32) -> u32 {
    (behind / 2).clamp(call_cost, call_cost.saturating_mul(4))
}

#[cfg(test)]
mod tests {
    use super::{called_by, to_enter};

    #[test]
    fn programs_go_by_the_name_they_were_called_by() {
        for (command, exe, name) in [
            ("redis-server --port 0", "/usr/bin/redis-check-rdb", "redis-server"),
            ("/bin/sh -c ls /tmp", "/usr/bin/dash", "sh"),
            ("-bash", "/bin/bash", "bash"),
            ("/opt/my app/run fast", "/opt/my app/run", "run"),
            ("", "/bin/true", "true"),
            ("tool", "", "tool"),
            ("", "", ""),
        ] {
            assert_eq!(called_by(command, exe), name, "{command:?} {exe:?}");
        }
    }

    #[test]
    fn to_enter_a_call_takes_longer_where_the_work_behind_it_does() {
        assert_eq!([0, 15, 40, 60, 3000].map(|behind| to_enter(behind, 8)), [8, 8, 20, 30, 32]);
    }
}
