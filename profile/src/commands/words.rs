//! What several commands print.

use crate::profile::Outcome;
use crate::sample::{COLUMNS, Resource};

/// How the command ended, in two words.
pub fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Unfinished => "unfinished".into(),
        Outcome::Exited(code) => format!("exit {code}"),
        Outcome::Killed(signal) => format!("signal {signal}"),
        Outcome::Unknown => "-".into(),
    }
}

/// The columns of a resource that say how much of it was used.
pub fn amounts(resource: Resource) -> impl Iterator<Item = (usize, &'static str)> {
    COLUMNS
        .iter()
        .enumerate()
        .filter(move |(_, column)| column.resource == resource)
        .map(|(place, column)| (place, column.name))
}
