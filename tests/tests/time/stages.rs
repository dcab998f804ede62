//! A program by itself, recorded, merged, and replayed.

use crate::answer::{Process, answers, seconds};
use crate::check::{self, Slack};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tests::{Job, run_recorded, syn};

/// Replays of one plan: the fastest and the slowest are compared.
const REPLAYS: &str = "3";
/// The replay takes at least this part of what a thread is known to have computed and waited; a recording that was held up
/// by others says less of that.
const LEAST: f64 = 0.6;
/// The replay takes at most so many times what the recording took, and so many seconds.
const MOST: (f64, f64) = (1.6, 0.05);

/// What became of one program.
pub struct Stages {
    folder: TempDir,
    answers: BTreeMap<u32, Process>,
}

impl Stages {
    /// Runs the job by itself, then records it.
    ///
    /// # Panics
    /// When it fails either time.
    #[track_caller]
    pub fn of(job: &Job) -> Stages {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let [plain, work, _] = ["plain", "work", "storage"].map(|name| {
            let made = folder.path().join(name);
            std::fs::create_dir(&made).expect("a folder in an empty one");
            made
        });
        let by_itself = job.run_in(&plain).succeeded();
        let (recorded, _) = run_recorded(job, &work, &folder.path().join("run"));
        let recorded = recorded.succeeded();
        let answers = [&by_itself, &recorded].map(|outcome| answers(&outcome.stdout));
        assert_eq!(answers[0].len(), answers[1].len(), "processes by themselves (left) and recorded");
        let [_, answers] = answers;
        Stages { folder, answers }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What is wrong with the recording and with the plan.
    pub fn check_recorded(&self, slack: Slack) -> Vec<String> {
        let mut failures = match info(&self.file("run")) {
            Ok(run) => check::run(&self.answers, &run, slack),
            Err(failure) => vec![failure],
        };
        let merge = syn().arg("merge").arg(self.file("run")).arg("-o").arg(self.file("app.syn"));
        let merged = merge.run_in(Path::new("/"));
        if !merged.status.success() {
            failures.push(format!("syn merge: {}", merged.stderr.trim()));
            return failures;
        }
        match info(&self.file("app.syn")) {
            Ok(plan) => failures.extend(check::plan(&self.answers, &plan, slack)),
            Err(failure) => failures.push(failure),
        }
        failures
    }

    /// What is wrong with the replay; after [`Stages::check_recorded`].
    pub fn check_replay(&self) -> Vec<String> {
        let report = self.file("report.json");
        let replay = syn().arg("replay").arg(self.file("app.syn")).args(["--repeat", REPLAYS, "--storage"]);
        let outcome = replay.arg(self.file("storage")).arg("--report").arg(&report).run_in(Path::new("/"));
        if !outcome.status.success() {
            return vec![format!("syn replay: {}: {}{}", outcome.status, outcome.stdout, outcome.stderr)];
        }
        let report: Value = match std::fs::read(&report).map(|text| serde_json::from_slice(&text)) {
            Ok(Ok(report)) => report,
            wrong => return vec![format!("the report of syn replay: {wrong:?}")],
        };
        let recorded = report["recorded_s"].as_f64().expect("recorded_s of the report");
        let replayed: Vec<f64> = match &report["replayed_s"] {
            Value::Array(all) => all.iter().filter_map(Value::as_f64).collect(),
            one => one.as_f64().into_iter().collect(),
        };
        let fastest = replayed.iter().copied().fold(f64::INFINITY, f64::min);
        let slowest = replayed.iter().copied().fold(0.0, f64::max);
        let mut failures = Vec::new();
        let threads = self.answers.values().flat_map(|process| process.threads.values());
        let known = seconds(threads.map(|thread| thread.work + thread.wait).max().unwrap_or(0));
        if fastest > recorded * MOST.0 + MOST.1 || slowest < known * LEAST {
            failures.push(format!(
                "recorded in {recorded:.3} s, of which {known:.3} s are known, replayed in {fastest:.3} to {slowest:.3} s"
            ));
        }
        failures
    }
}

/// What `syn info --json` says.
pub fn info(of: &Path) -> Result<Value, String> {
    let outcome = syn().args(["info", "--json"]).arg(of).run_in(Path::new("/"));
    serde_json::from_str(&outcome.stdout)
        .map_err(|error| format!("syn info --json {}: {error}: {}", of.display(), outcome.stderr))
}
