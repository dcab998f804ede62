//! Which of several runs others disturbed: threads that were ready to run had no processor for much longer than in the calmest run.
//! Who shares a processor also computes for longer, since the caches are shared as well. That only adds time, so such runs have no
//! say in how long things take. A run that was slow for another reason cannot be told from the rest: for it there is the median.

use super::recorded::Recorded;
use crate::notes::Notes;

/// A run was disturbed if its threads were ready without a processor for so much more of their time than in the calmest run.
const MORE: f64 = 0.05;

/// Marks them, at most the lesser half: where all runs were disturbed, the calmest ones have to do.
pub fn find(runs: &mut [Recorded], notes: &mut Notes) {
    let mut by_calm: Vec<usize> = (0..runs.len()).collect();
    by_calm.sort_by(|&one, &other| runs[one].preempted.total_cmp(&runs[other].preempted));
    let Some(&calmest) = by_calm.first() else { return };
    let least = runs[calmest].preempted;
    let mut told = Vec::new();
    for &run in &by_calm[runs.len().div_ceil(2)..] {
        let run = &mut runs[run];
        if run.preempted > least + MORE {
            run.is_disturbed = true;
            told.push(format!("{} ({:.0} %)", run.name(), 100.0 * run.preempted));
        }
    }
    if !told.is_empty() {
        notes.tell(format!(
            "threads that were ready to run waited for a processor in {} for much more of their time than in the calmest run ({:.0} %): such runs tell of orders, not how long computation takes",
            told.join(", "),
            100.0 * least
        ));
    }
}
