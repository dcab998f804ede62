//! Runs a job without and with the shim: nothing may differ but the run folder.

use crate::job::{Job, Outcome};
use crate::programs::profile_folder;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use syn_trace::Run;
use tempfile::TempDir;

/// The library under test, as it was built for the running test.
///
/// # Panics
/// When it is not there: `cargo test` builds it only where it is a dependency of the tests.
pub fn shim() -> PathBuf {
    let library = profile_folder().join("deps").join("libsynshim.so");
    assert!(
        library.is_file(),
        "the library under test is missing: {}; build the crate synshim",
        library.display()
    );
    library
}

/// A job that was run without and with the shim, and what the shim recorded.
#[derive(Debug)]
pub struct Recorded {
    /// The outcome without the shim.
    pub plain: Outcome,
    /// The outcome with the shim.
    pub recorded: Outcome,
    /// What was recorded.
    pub run: Run,
    scratch: TempDir,
}

impl Recorded {
    /// The current folder of the run without the shim.
    pub fn plain_folder(&self) -> PathBuf {
        self.scratch.path().join("plain")
    }
    /// The run folder.
    pub fn run_folder(&self) -> PathBuf {
        self.scratch.path().join("run")
    }
    /// The current folder of the run with the shim.
    pub fn recorded_folder(&self) -> PathBuf {
        self.scratch.path().join("recorded")
    }
}

/// Runs the job twice, each time in an empty folder of its own.
///
/// # Panics
/// When the two runs differ in what they print, how they end or which files they leave; when a file of the run folder
/// cannot be read; and as [`Job::run_in`].
#[track_caller]
pub fn record(job: &Job) -> Recorded {
    Comparison::of(job).run()
}

/// The same for a job whose files of these names are different each time.
///
/// # Panics
/// As [`record`].
#[track_caller]
pub fn record_but(job: &Job, different: &[&str]) -> Recorded {
    Comparison::of(job).but(different).run()
}

/// A job that is to be run without and with the shim, beside other preloaded libraries.
#[derive(Clone, Debug)]
#[must_use]
pub struct Comparison<'a> {
    job: &'a Job,
    different: &'a [&'a str],
    before: Vec<PathBuf>,
    behind: Vec<PathBuf>,
}

impl<'a> Comparison<'a> {
    /// With nothing else than the shim.
    pub fn of(job: &'a Job) -> Comparison<'a> {
        Comparison { job, different: &[], before: Vec::new(), behind: Vec::new() }
    }

    /// The files of these names are different each time.
    pub fn but(self, different: &'a [&'a str]) -> Comparison<'a> {
        Comparison { different, ..self }
    }

    /// This library is preloaded in both runs; with the shim, in front of it.
    pub fn before(mut self, library: impl Into<PathBuf>) -> Comparison<'a> {
        self.before.push(library.into());
        self
    }

    /// This library is preloaded in both runs; with the shim, behind it.
    pub fn behind(mut self, library: impl Into<PathBuf>) -> Comparison<'a> {
        self.behind.push(library.into());
        self
    }

    /// Runs the job twice, each time in an empty folder of its own.
    ///
    /// # Panics
    /// As [`record`].
    #[track_caller]
    pub fn run(&self) -> Recorded {
        let scratch = tempfile::tempdir().expect("a folder for temporary files");
        let [plain_folder, recorded_folder] = ["plain", "recorded"].map(|name| {
            let folder = scratch.path().join(name);
            std::fs::create_dir(&folder).expect("a folder in an empty one");
            folder
        });
        let others = self.before.iter().chain(&self.behind);
        let plain = match others.clone().next() {
            None => self.job.run_in(&plain_folder),
            Some(_) => self.job.clone().env("LD_PRELOAD", preload(others)).run_in(&plain_folder),
        };
        let shim = shim();
        let libraries = self.before.iter().chain([&shim]).chain(&self.behind);
        let (recorded, run) =
            run_preloaded(self.job, &recorded_folder, &scratch.path().join("run"), preload(libraries));
        assert_eq!(recorded.stderr, plain.stderr, "stderr with the shim (left) and without");
        assert_eq!(recorded.stdout, plain.stdout, "stdout with the shim (left) and without");
        assert_eq!(recorded.status, plain.status, "exit status with the shim (left) and without");
        let mut differences = differences(&plain_folder, &recorded_folder);
        differences
            .retain(|found| !self.different.iter().any(|name| *found == is_not_the_same(Path::new(name))));
        assert!(differences.is_empty(), "the files left without and with the shim differ: {differences:#?}");
        Recorded { plain, recorded, run, scratch }
    }
}

/// The value of `LD_PRELOAD` for these libraries.
fn preload<'a>(libraries: impl Iterator<Item = &'a PathBuf>) -> OsString {
    let paths: Vec<&OsStr> = libraries.map(|library| library.as_os_str()).collect();
    paths.join(OsStr::new(":"))
}

/// Runs the job with the shim, in `folder`, recording into `run`.
///
/// # Panics
/// When the run folder is missing or a file of it cannot be read; and as [`Job::run_in`].
#[track_caller]
pub fn run_recorded(job: &Job, folder: &Path, run: &Path) -> (Outcome, Run) {
    run_preloaded(job, folder, run, shim().into())
}

#[track_caller]
fn run_preloaded(job: &Job, folder: &Path, run: &Path, libraries: OsString) -> (Outcome, Run) {
    let outcome = job.clone().env("LD_PRELOAD", libraries).env("SYN_RUN", run).run_in(folder);
    let opened =
        Run::open(run).unwrap_or_else(|error| panic!("{error}\n--- stderr of the job\n{}", outcome.stderr));
    assert!(opened.unreadable.is_empty(), "unreadable traces: {:?}", opened.unreadable);
    (outcome, opened)
}

/// What is below only one of two folders, or in both with another content; paths relative to the folders.
///
/// # Panics
/// When one of them cannot be read.
pub fn differences(one: &Path, other: &Path) -> Vec<String> {
    let (left, mut right) = (entries(one), entries(other));
    let mut found = Vec::new();
    for (path, entry) in left {
        match right.remove(&path) {
            None => found.push(format!("{} is only in {}", path.display(), one.display())),
            Some(same) if same == entry => {}
            Some(_) => found.push(is_not_the_same(&path)),
        }
    }
    found.extend(right.keys().map(|path| format!("{} is only in {}", path.display(), other.display())));
    found
}

fn is_not_the_same(path: &Path) -> String {
    format!("{} is not the same in both", path.display())
}

#[derive(PartialEq, Eq)]
enum Entry {
    Folder,
    File(Vec<u8>),
    Link(PathBuf),
}

fn entries(root: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let listed =
            std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("cannot list {}: {e}", folder.display()));
        for path in listed.map(|entry| entry.expect("an entry of a folder").path()) {
            let kind = path.symlink_metadata().expect("a file that was listed").file_type();
            let entry = if kind.is_dir() {
                folders.push(path.clone());
                Entry::Folder
            } else if kind.is_symlink() {
                Entry::Link(std::fs::read_link(&path).expect("a link"))
            } else {
                Entry::File(
                    std::fs::read(&path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display())),
                )
            };
            found.insert(path.strip_prefix(root).expect("a path below its root").to_owned(), entry);
        }
    }
    found
}
