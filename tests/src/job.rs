//! Runs a command in a folder, keeps what it prints, and ends it when it takes too long.

use crate::programs::program_for_mpich;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a job may take unless it says otherwise.
const LIMIT: Duration = Duration::from_secs(120);
/// How long a job that has been told to end may still take.
const GRACE: Duration = Duration::from_secs(5);

/// A command with its environment, to be run any number of times.
#[derive(Clone, Debug)]
pub struct Job {
    words: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    limit: Duration,
}

/// What a job left.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl Job {
    /// A job that runs this program.
    pub fn new(program: impl Into<OsString>) -> Job {
        Job { words: vec![program.into()], variables: Vec::new(), limit: LIMIT }
    }

    /// One more word on the command line.
    #[must_use]
    pub fn arg(mut self, word: impl Into<OsString>) -> Job {
        self.words.push(word.into());
        self
    }

    /// More words on the command line.
    #[must_use]
    pub fn args(mut self, words: impl IntoIterator<Item = impl Into<OsString>>) -> Job {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }

    /// One more variable in the environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Job {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// This job's words as the last ones of the command line, and its environment: for programs that start others.
    #[must_use]
    pub fn followed_by(mut self, job: &Job) -> Job {
        self.words.extend(job.words.iter().cloned());
        self.variables.extend(job.variables.iter().cloned());
        self
    }

    /// Another bound of its wall time than two minutes.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Job {
        self.limit = limit;
        self
    }

    /// Runs the job with `folder` as its current folder, nothing on its standard input, and no variable of the
    /// recorder or the loader but its own.
    ///
    /// # Panics
    /// When it cannot be started, or has not ended within its limit; it is ended then.
    pub fn run_in(&self, folder: &Path) -> Outcome {
        let started = Instant::now();
        let mut command = self.command_in(folder);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().unwrap_or_else(|error| panic!("cannot start {:?}: {error}", self.words));
        let group = child.id();
        let stdout = Printed::of(child.stdout.take().expect("stdout is a pipe"));
        let stderr = Printed::of(child.stderr.take().expect("stderr is a pipe"));
        let (report, ended) = channel();
        std::thread::spawn(move || report.send(child.wait()));

        let remaining = || self.limit.saturating_sub(started.elapsed());
        let status = match ended.recv_timeout(remaining()) {
            Ok(status) => status.expect("a child can be waited for"),
            Err(_) if end_group(group, &ended) => self.too_long("was ended", &stdout, &stderr),
            Err(_) => self.too_long("cannot be ended, not even by SIGKILL,", &stdout, &stderr),
        };
        // A process it left behind may still hold the pipes.
        if !(stdout.is_whole(remaining()) && stderr.is_whole(remaining())) {
            self.too_long("has ended, but a process it left behind has not", &stdout, &stderr);
        }
        Outcome { status, stdout: stdout.text(), stderr: stderr.text() }
    }

    /// The job as a command to be started in `folder`, in a process group of its own, with nothing on its standard input and
    /// no variable of the recorder or the loader but the job's own.
    pub fn command_in(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(folder).process_group(0).stdin(Stdio::null());
        // (Cargo has folders of its own looked in for libraries.)
        let is_ours = |name: &OsString| {
            name == "LD_PRELOAD" || name == "LD_LIBRARY_PATH" || name.as_encoded_bytes().starts_with(b"SYN_")
        };
        for name in std::env::vars_os().map(|(name, _)| name).filter(is_ours) {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().cloned());
        command
    }

    fn too_long(&self, what: &str, stdout: &Printed, stderr: &Printed) -> ! {
        panic!(
            "{:?} {what} after {:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.words,
            self.limit,
            stdout.text(),
            stderr.text()
        )
    }
}

impl Outcome {
    /// Itself, if the exit code is 0.
    ///
    /// # Panics
    /// Otherwise, with all that was printed.
    #[must_use]
    #[track_caller]
    pub fn succeeded(self) -> Outcome {
        let Outcome { status, stdout, stderr } = &self;
        assert!(status.success(), "the job failed: {status}\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
        self
    }
}

/// A job of `ranks` processes; its first argument is the program.
///
/// Everything that is particular to an MPI library stands in the environment, where the others do not mind it.
pub fn mpirun(ranks: u32) -> Job {
    launched("mpirun", ranks)
}

/// The same with another MPI's launcher.
pub fn launched(launcher: impl Into<OsString>, ranks: u32) -> Job {
    let job = Job::new(launcher).arg("-n").arg(ranks.to_string());
    let settings = [
        // Several jobs at once, none of them bound to the first processors.
        ("OMPI_MCA_hwloc_base_binding_policy", "none"),
        ("PRTE_MCA_hwloc_default_binding_policy", "none"),
        // Containers often forbid process_vm_readv.
        ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
        // Open MPI 5 complains where there is no network besides, and of a component for windows that wants one.
        ("OMPI_MCA_btl_tcp_if_include", "lo"),
        ("OMPI_MCA_osc", "^ucx"),
    ];
    let common = include_str!("../../scripts/mpi/environment").lines();
    let common = common.filter_map(|line| line.strip_prefix("export ")?.split_once('='));
    common.chain(settings).fold(job, |job, (name, value)| job.env(name, value))
}

/// The job of `program` under MPICH; none where `scripts/test` has found none that works.
///
/// # Panics
/// As [`crate::program`].
pub fn mpich(ranks: u32, program: &str) -> Option<Job> {
    let is_there = !is_missing("MPICH");
    is_there.then(|| launched("mpiexec.hydra", ranks).arg(program_for_mpich(program)))
}

/// Whether `scripts/test` has found on this machine that `what` is not there, or does not work, and that tests are to do without it:
/// then `SYN_TEST_WITHOUT_<WHAT>` is set. Says so in the test's output.
pub fn is_missing(what: &str) -> bool {
    let is_missing = std::env::var_os(format!("SYN_TEST_WITHOUT_{what}")).is_some();
    if is_missing {
        eprintln!("not tested: what needs {what}, since there is none that works");
    }
    is_missing
}

/// Whether the default Open MPI has this component for windows: version 5 has none that sends messages, `pt2pt`.
///
/// # Panics
/// When it cannot tell.
pub fn has_component(osc: &str) -> bool {
    let all = Job::new("ompi_info").run_in(Path::new("/")).succeeded().stdout;
    all.lines().any(|line| line.trim_start().starts_with(&format!("MCA osc: {osc} ")))
}

/// Tells the processes to end, the launcher first so that it takes its ranks with it, then leaves them no choice; true when
/// the first process of the group has ended.
fn end_group(group: u32, ended: &Receiver<std::io::Result<ExitStatus>>) -> bool {
    ["TERM", "KILL"].into_iter().any(|signal| {
        let kill = format!("kill -s {signal} -- -{group}");
        let told = Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status();
        told.expect("sh can be started");
        ended.recv_timeout(GRACE).is_ok()
    })
}

/// One output of a running job.
struct Printed {
    bytes: Arc<Mutex<Vec<u8>>>,
    closed: Receiver<()>,
}

impl Printed {
    fn of(mut pipe: impl Read + Send + 'static) -> Printed {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (close, closed) = channel();
        let collected = Arc::clone(&bytes);
        std::thread::spawn(move || {
            let mut block = vec![0; 1 << 16];
            while let Ok(length @ 1..) = pipe.read(&mut block) {
                collected.lock().expect("no reader panics").extend_from_slice(&block[..length]);
            }
            drop(close);
        });
        Printed { bytes, closed }
    }

    /// True when all who could write have closed it, within `limit`.
    fn is_whole(&self, limit: Duration) -> bool {
        self.closed.recv_timeout(limit) == Err(RecvTimeoutError::Disconnected)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().expect("no reader panics")).into_owned()
    }
}
