//! Processes and threads.

use super::watcher::{Totals, Watcher, Whole};
use crate::metrics::Metrics;
use crate::proc::{Kept, Reader};
use crate::sample::Field;
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// Highest numbers seen, and whose the processes were.
#[derive(Default)]
pub struct Processes {
    most: [u64; 2],
    reader: Reader,
    users: BTreeMap<u32, BTreeSet<String>>,
    known: BTreeMap<i32, (u64, Kept)>,
}

/// Between two looks at whose a process is, nanoseconds.
const USERS_EVERY_NS: u64 = 250_000_000;

impl Watcher for Processes {
    fn sample(&mut self, tree: &mut Tree, now_ns: u64, totals: &mut Totals) {
        let now = [tree.living.len() as u64, tree.threads()];
        totals.set(Field::Processes, now[0]);
        totals.set(Field::Threads, now[1]);
        self.most = [self.most[0].max(now[0]), self.most[1].max(now[1])];
        self.known.retain(|pid, _| tree.living.contains_key(pid));
        for (&pid, process) in &tree.living {
            let (next_ns, file) = self.known.entry(pid).or_default();
            if now_ns >= *next_ns {
                *next_ns = now_ns + USERS_EVERY_NS;
                let status = file.read(&mut self.reader, || format!("/proc/{pid}/status"));
                if let Some(user) = status.ok().and_then(|text| crate::proc::field(text, "\nUid:")) {
                    self.users.entry(user).or_default().insert(process.stat.name.clone());
                }
            }
        }
    }

    fn finalize(&mut self, whole: &Whole<'_>, metrics: &mut Metrics) {
        let seen = whole.tree.gone_count + whole.tree.living.len() as u64;
        metrics.measured(
            "processes.seen",
            "",
            seen as f64,
            "samples; those that lived between two are in the sums only",
        );
        metrics.measured("processes.most", "", self.most[0] as f64, "samples");
        if self.users.len() > 1 {
            let list = |(user, names): (&u32, &BTreeSet<String>)| {
                format!(
                    "{user} ({})",
                    names.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(", ")
                )
            };
            let all: Vec<String> = self.users.iter().map(list).collect();
            metrics.notes.push(format!("processes of several users: {}", all.join("; ")));
        }
        let left = whole.tree.living.values().filter(|process| process.stat.state != 'Z');
        let left: Vec<String> =
            left.map(|process| format!("{} ({})", process.stat.name, process.pid)).collect();
        if !left.is_empty() {
            let first = left.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(", ");
            metrics
                .notes
                .push(format!("{} processes lived on when the command had ended: {first}", left.len()));
        }
        metrics.measured(
            "processes.threads",
            "",
            self.most[1] as f64,
            "highest number at once in any sample",
        );
    }
}
