//! A profile: a run of a command, sample by sample, and what is known about it.

use crate::metrics::Metrics;
use crate::sample::{Block, WIDTH, WIDTHS};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// How the samples came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Looked at from outside.
    Sampled,
    /// From the calls in a run folder.
    Recorded,
}

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The profiler did not live to see it.
    Unfinished,
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// Nobody asked: a recorded run.
    Unknown,
}

/// What is known when a profile begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The words of the command.
    pub command: Vec<String>,
    /// What it is found by, beside the command.
    pub tags: BTreeMap<String, String>,
    /// When it started, nanoseconds since 1970.
    pub started_ns: i64,
    /// `auto`, or samples a second.
    pub rate: String,
    /// How the samples came to be.
    pub source: Source,
    /// What tells its machine from others.
    pub machine: String,
}

/// One process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessRow {
    /// Process id.
    pub pid: i32,
    /// Its parent, as last seen.
    pub ppid: i32,
    /// Name of the program, as last seen.
    pub name: String,
    /// First and last time it was seen, nanoseconds since the start.
    pub seen_ns: [u64; 2],
    /// CPU time when it was last looked at, nanoseconds.
    pub cpu_ns: u64,
    /// Bytes read and written, waited-for children included; none when it may not be looked at.
    pub bytes: Option<[u64; 2]>,
    /// Most resident memory seen, bytes.
    pub peak_bytes: u64,
    /// Most threads seen.
    pub threads: u64,
}

/// What is known when it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// Start to end, nanoseconds.
    pub wall_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Exact totals; of levels, the highest.
    #[serde(deserialize_with = "as_far_as_known")]
    pub totals: [Option<u64>; WIDTH],
    /// Metrics, the machine's probes among them, and notes.
    pub metrics: Metrics,
    /// The processes that were seen.
    pub processes: Vec<ProcessRow>,
    /// Sizes of all calls, where they are known.
    pub blocks: Vec<Block>,
    /// Files by name, where they are known.
    pub files: Vec<FileRow>,
}

/// Totals of an older version are fewer.
fn as_far_as_known<'de, D: Deserializer<'de>>(from: D) -> Result<[Option<u64>; WIDTH], D::Error> {
    let known = Vec::<Option<u64>>::deserialize(from)?;
    padded(&known).ok_or_else(|| {
        D::Error::invalid_length(known.len(), &"as many as there are columns, or were in the version before")
    })
}

/// Values of all columns, or of those of the version before; the others were not observed. None when there are as many in no version.
pub fn padded(values: &[Option<u64>]) -> Option<[Option<u64>; WIDTH]> {
    let mut all = [None; WIDTH];
    WIDTHS.contains(&values.len()).then_some(())?;
    all.get_mut(..values.len())?.copy_from_slice(values);
    Some(all)
}

/// One file or connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileRow {
    /// Its path; of a connection, its ends.
    pub path: String,
    /// The file system it lies on, `socket` of connections.
    pub system: String,
    /// Bytes read and written.
    pub bytes: [u64; 2],
    /// Calls that did so.
    pub calls: [u64; 2],
    /// Their sizes, where calls were recorded.
    #[serde(default)]
    pub blocks: Vec<Block>,
}

/// A word as it is shown: quoted, if it is empty, or has blanks or what a terminal would take for commands in it.
fn quoted(word: &str) -> String {
    let plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"');
    if plain { word.to_owned() } else { format!("{word:?}") }
}

/// A profile in the store, without its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Its number in the store.
    pub id: i64,
    /// How it began.
    pub head: Head,
    /// How it ended; the outcome is `Unfinished` when nobody saw it.
    pub tail: Tail,
}

impl Profile {
    /// The command as one line; words with blanks are quoted.
    pub fn command_line(&self) -> String {
        self.head.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// The tags, as they are shown: `KEY=VALUE`.
    pub fn tags(&self) -> impl Iterator<Item = String> {
        self.head.tags.iter().map(|(key, value)| format!("{}={}", quoted(key), quoted(value)))
    }

    /// True when somebody saw how it ended; until then its totals are not known.
    pub fn is_finished(&self) -> bool {
        self.tail.outcome != Outcome::Unfinished
    }

    /// A total; 0 where it was not observed.
    pub fn total(&self, field: crate::sample::Field) -> u64 {
        self.tail.totals[field as usize].unwrap_or(0)
    }

    /// Highest resident memory, bytes.
    pub fn peak_bytes(&self) -> u64 {
        self.tail.metrics.get("memory.peak").map_or(0, |bytes| bytes as u64)
    }
}
