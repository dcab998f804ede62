//! Which of several runs others disturbed: threads that were ready to run had no processor for much longer than in the calmest run, or
//! took much more CPU time. Who shares a processor or its caches computes for longer, also where it mostly waits for a device and so gets
//! the processor as soon as it wants it. That only adds time, so such runs have no say in how long things take. A run that was slower by
//! less for another reason cannot be told from the rest: for it there is the median.

use super::recorded::Recorded;
use crate::notes::Notes;

/// A run was disturbed if its threads were ready without a processor for so much more of their time than in the calmest run,
const MORE: f64 = 0.05;
/// or took CPU time so many times as long.
const LONGER: f64 = 1.25;

/// Marks them, at most the lesser half: where all runs were disturbed, the calmest ones have to do.
pub fn find(runs: &mut [Recorded], notes: &mut Notes) {
    let least = |of: fn(&Recorded) -> f64| runs.iter().map(of).min_by(f64::total_cmp).unwrap_or(0.0);
    let (ready, used_ns) = (least(|run| run.preempted), least(|run| run.used_ns));
    // Of both together, in parts of what is too much.
    let more = |run: &Recorded| {
        [(run.preempted - ready) / MORE, (run.used_ns / used_ns.max(1.0) - 1.0) / (LONGER - 1.0)]
    };
    let worst = |run: &Recorded| more(run).into_iter().fold(0.0, f64::max);
    let mut by_calm: Vec<usize> = (0..runs.len()).collect();
    by_calm.sort_by(|&one, &other| worst(&runs[one]).total_cmp(&worst(&runs[other])));
    let disturbed: Vec<usize> =
        by_calm.into_iter().skip(runs.len().div_ceil(2)).filter(|&run| worst(&runs[run]) > 1.0).collect();
    let (mut waited, mut took) = (Vec::new(), Vec::new());
    for run in disturbed {
        let [more_ready, _] = more(&runs[run]);
        let run = &mut runs[run];
        run.is_disturbed = true;
        match more_ready > 1.0 {
            true => waited.push(format!("{} ({:.0} %)", run.name(), 100.0 * run.preempted)),
            false => {
                took.push(format!("{} ({:.2} times as much)", run.name(), run.used_ns / used_ns.max(1.0)))
            }
        }
    }
    if !waited.is_empty() {
        notes.tell(format!(
            "threads that were ready to run waited for a processor in {} for much more of their time than in the calmest run ({:.0} %): such runs tell of orders, not how long computation takes",
            waited.join(", "),
            100.0 * ready
        ));
    }
    if !took.is_empty() {
        notes.tell(format!(
            "threads took much more CPU time in {} than in the run where they took least: such runs tell of orders, not how long computation takes",
            took.join(", ")
        ));
    }
}
