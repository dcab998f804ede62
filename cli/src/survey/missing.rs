//! What a run does not have, in words.

use serde::Serialize;
use std::collections::HashMap;

/// A process that the shim could not enter.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct NotEntered {
    /// Its process id, when known.
    pub pid: Option<u32>,
    /// Its rank, when that is what is known.
    pub rank: Option<u32>,
    /// The program, when known.
    pub program: Option<String>,
    /// Which process started it.
    pub started_by: Option<u32>,
    /// Through which call.
    pub call: Option<&'static str>,
    /// Why the shim is not in it, when the program is known.
    pub why: Option<String>,
    /// Whether it can be recorded by way of ptrace.
    #[serde(skip)]
    pub ptrace_helps: bool,
}

impl NotEntered {
    /// What it has in common with others, for [`grouped`].
    fn kind(&self) -> String {
        if self.rank.is_some() {
            return "its trace is not in the folder".into();
        }
        let why = self.why.as_deref().unwrap_or("its program is not known; perhaps it ended at once");
        self.program.as_ref().map_or_else(|| why.to_owned(), |program| format!("{program} ({why})"))
    }

    fn who(&self) -> String {
        let who = match (self.pid, self.rank) {
            (_, Some(rank)) => format!("rank {rank}"),
            (Some(pid), _) => format!("process {pid}"),
            (None, _) => "a process".into(),
        };
        match (self.started_by, self.call) {
            (Some(by), Some(call)) => format!("{who} ({call} by process {by})"),
            _ => who,
        }
    }

    /// All of them; those that are alike in one line.
    pub fn describe(missing: &[NotEntered]) -> Vec<String> {
        grouped(missing.iter().map(|process| (process.kind(), process.who())))
    }
}

/// Something that could not be seen.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Unobserved {
    /// In which process; `None` when even that is unknown.
    pub pid: Option<u32>,
    /// What, and why.
    pub reason: String,
}

impl Unobserved {
    /// All of them; those that are alike in one line.
    pub fn describe(unobserved: &[Unobserved]) -> Vec<String> {
        let who = |pid: Option<u32>| pid.map_or(String::new(), |pid| format!("process {pid}"));
        grouped(unobserved.iter().map(|missed| (missed.reason.clone(), who(missed.pid))))
    }
}

/// What is told of each kind, in the order of their first: `who: kind`, with how many there are and a few examples where there
/// are several. Without a name for who it is, the kind alone.
pub fn grouped(entries: impl Iterator<Item = (String, String)>) -> Vec<String> {
    const EXAMPLES: usize = 3;
    let mut groups: Vec<(String, Vec<String>, u64)> = Vec::new();
    let mut place: HashMap<String, usize> = HashMap::new();
    for (kind, who) in entries {
        let index = *place.entry(kind).or_insert_with_key(|kind| {
            groups.push((kind.clone(), Vec::new(), 0));
            groups.len() - 1
        });
        let (_, examples, count) = &mut groups[index];
        *count += 1;
        if examples.len() <= EXAMPLES && !examples.contains(&who) {
            examples.push(who);
        }
    }
    let line = |(kind, mut examples, count): (String, Vec<String>, u64)| {
        let others = if examples.len() > EXAMPLES { " and others" } else { "" };
        examples.truncate(EXAMPLES);
        match (&*examples.join(", "), count) {
            ("", _) => kind,
            (examples, 1) => format!("{examples}: {kind}"),
            (examples, _) => format!("{examples}{others} ({count} times): {kind}"),
        }
    };
    groups.into_iter().map(line).collect()
}
