//! `syn profile`, `syn profiles` and `syn emulate` on real programs.

mod emulated;
mod exact;
mod page;
mod robust;
mod stores;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use tempfile::TempDir;

/// The front end under test.
pub(crate) fn program() -> PathBuf {
    tests::profile_folder().join("syn-under-test")
}

/// A store of its own, and a folder to work in.
pub(crate) struct House(TempDir);

impl House {
    pub(crate) fn new() -> House {
        House(tempfile::tempdir().expect("a folder for temporary files"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// `syn WORDS`, in the folder.
    pub(crate) fn syn(&self, words: &[&str]) -> Output {
        let mut command = Command::new(program());
        command.args(words).current_dir(self.path()).env("SYN_PROFILES", self.path().join("profiles.db"));
        command.env("SYN_SHIM", tests::shim());
        command.output().expect("syn can be started")
    }

    /// The same; what it printed, when it went well.
    pub(crate) fn done(&self, words: &[&str]) -> String {
        let output = self.syn(words);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "syn {words:?}: {:?}\n{error}", output.status);
        String::from_utf8(output.stdout).expect("text")
    }

    /// Profiles a command without probes; how it ended.
    pub(crate) fn profile(&self, options: &[&str], command: &[&str]) -> ExitStatus {
        let words = [&["profile", "--no-probe"], options, &["--"], command].concat();
        self.syn(&words).status
    }

    /// A profile as `show --json` gives it.
    pub(crate) fn shown(&self, id: u32) -> serde_json::Value {
        let text = self.done(&["profiles", "show", "--json", &id.to_string()]);
        serde_json::from_str(&text).expect("an object")
    }
}

/// A metric of a profile as shown.
pub(crate) fn metric(profile: &serde_json::Value, name: &str) -> Option<f64> {
    let rows = profile["tail"]["metrics"]["rows"].as_array().expect("a table");
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("a row for {name}"))["value"]
        .as_f64()
}

/// Notes of a profile as shown, one behind the other.
pub(crate) fn notes(profile: &serde_json::Value) -> String {
    profile["tail"]["metrics"]["notes"].to_string()
}

/// The signal that ended a process.
pub(crate) fn signal(status: ExitStatus) -> Option<i32> {
    status.signal()
}
