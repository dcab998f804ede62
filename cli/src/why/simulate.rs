//! How long the run would have taken if something had taken no time: every program goes through its steps with their recorded
//! durations, and waits for whom it waited for.

use super::shares::{Kind, parts};
use super::timeline::{Timeline, What};
use std::collections::VecDeque;

/// A program on its way.
#[derive(Clone, Debug, Default)]
struct Walker {
    step: usize,
    now_ns: u64,
}

/// When the run would be over, nanoseconds since its start: without the time that one group of programs spends with one kind of thing, or
/// with all that there was. It is over with the program that ended it, and those that nobody in it made: others have a say where they were
/// waited for, but not as threads that end with their process, or processes that are killed.
pub fn end_ns(timeline: &Timeline<'_>, without: Option<(usize, Kind)>) -> u64 {
    let mut walkers = vec![Walker::default(); timeline.programs.len()];
    let mut signals: Vec<Vec<u64>> = vec![Vec::new(); timeline.plan.edges.len()];
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); timeline.plan.edges.len()];
    let mut ready: VecDeque<usize> = (0..walkers.len()).collect();
    while let Some(program) = ready.pop_front() {
        let mut walker = std::mem::take(&mut walkers[program]);
        let steps = &timeline.programs[program];
        while let Some(step) = steps.get(walker.step) {
            let before_ns = match walker.step {
                0 => 0,
                nth => steps[nth - 1].end_ns,
            };
            let gap_ns = step.start_ns.saturating_sub(before_ns);
            let is_left_out = |kind: Kind| without == Some((timeline.group(program), kind));
            let took_ns = |ns: u64| {
                parts(step, ns).filter(|&(kind, _)| !is_left_out(kind)).map(|(_, ns)| ns).sum::<u64>()
            };
            match step.what {
                What::Wait(edge, count) => {
                    let Some(&signal_ns) = signals[edge as usize].get(count as usize - 1) else {
                        waiting[edge as usize].push(program);
                        break;
                    };
                    let begins = walker.step == 0 && timeline.edge(edge).rule.starts_a_thread();
                    let arrived_ns = if begins { 0 } else { walker.now_ns + gap_ns };
                    let act = super::Act { program, step: walker.step };
                    let late_ns = timeline
                        .cause(act)
                        .filter(|cause| cause.wait == act && !is_left_out(Kind::HandOver))
                        .map_or(0, |cause| cause.until_ns.saturating_sub(cause.signalled_ns));
                    walker.now_ns = arrived_ns.max(signal_ns + late_ns);
                }
                What::Signal(edge) => {
                    walker.now_ns += gap_ns;
                    let given = &mut signals[edge as usize];
                    let place = given.partition_point(|&ns| ns <= walker.now_ns);
                    given.insert(place, walker.now_ns);
                    ready.extend(waiting[edge as usize].drain(..));
                }
                _ => {
                    let gap_ns = if walker.step > 0 && is_left_out(Kind::Between) { 0 } else { gap_ns };
                    walker.now_ns += gap_ns + took_ns(step.end_ns - step.start_ns);
                }
            }
            walker.step += 1;
        }
        walkers[program] = walker;
    }
    let last = timeline.end().map(|act| act.program);
    let ends = (0..walkers.len()).filter(|&program| last == Some(program) || !timeline.was_made(program));
    ends.map(|program| walkers[program].now_ns).max().unwrap_or(0)
}
