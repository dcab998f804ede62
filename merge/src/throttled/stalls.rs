//! Who was stuck while somebody was held, in places of the base run.

use super::steps::{Hold, Step, Steps};
use crate::across::align::common;
use crate::graph::dependency::Moment;
use crate::load::Recorded;
use syn_trace::board::Release;

/// A stall that is shorter shows nothing: threads wait so long for a processor.
const LEAST_NS: u64 = 1_000_000;

/// A throttled run beside the base.
#[derive(Debug)]
pub struct Pairing<'a> {
    base: &'a Steps,
    steps: &'a Steps,
    /// By thread of the throttled run: its node, and its counterpart.
    threads: Vec<Option<(u32, usize)>>,
    /// By thread of the throttled run and step: the position of that step in the counterpart.
    places: Vec<Vec<Option<usize>>>,
}

/// A dependency that was seen, in places of the base run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The held call has returned.
    pub held: Moment,
    /// Where the thread that was held has come to when the other one goes on: that, or the entry of a call behind it.
    pub source: Moment,
    /// What waited.
    pub target: Moment,
}

/// What one throttled run shows.
#[derive(Debug, Default)]
pub struct Found {
    /// The dependencies.
    pub seen: Vec<Seen>,
    /// The returns of all calls whose hold could show some.
    pub held: Vec<Moment>,
    /// Holds that ended because of the time or the watchdog.
    pub without_verdict: usize,
}

impl<'a> Pairing<'a> {
    /// Threads are paired by their roles: node, place among the threads of the node, place among the images of the thread.
    pub fn of(base: &Recorded, of_base: &'a Steps, run: &Recorded, steps: &'a Steps) -> Pairing<'a> {
        let mut pairing = Pairing {
            base: of_base,
            steps,
            threads: vec![None; run.run.threads.len()],
            places: vec![Vec::new(); run.run.threads.len()],
        };
        let nodes = base.run.nodes();
        for (node, threads) in run.run.nodes() {
            let Ok(counterpart) = nodes.binary_search_by_key(&node, |&(node, _)| node) else { continue };
            for (mine, theirs) in threads.iter().zip(&nodes[counterpart].1) {
                for (&thread, &other) in mine.iter().zip(theirs) {
                    pairing.threads[thread] = Some((node, other));
                    pairing.places[thread] = align(&steps.of_thread[thread], &of_base.of_thread[other]);
                }
            }
        }
        pairing
    }

    fn in_base(&self, thread: usize, step: usize) -> Option<&'a Step> {
        let (_, other) = self.threads[thread]?;
        self.base.of_thread[other].get((*self.places[thread].get(step)?)?)
    }
}

/// For each step its like among the others.
fn align(steps: &[Step], others: &[Step]) -> Vec<Option<usize>> {
    let classes = |steps: &[Step]| steps.iter().map(|step| step.class).collect::<Vec<_>>();
    let mut places = vec![None; steps.len()];
    for (at, other_at, len) in common(&classes(steps), &classes(others)) {
        (0..len).for_each(|nth| places[at + nth] = Some(other_at + nth));
    }
    places
}

/// Everything that a throttled run shows.
pub fn stalls(pairing: &Pairing<'_>) -> Found {
    let mut found = Found::default();
    let holds = &pairing.steps.holds;
    for (place, hold) in holds.iter().enumerate() {
        if hold.release != Some(Release::Quiet) {
            found.without_verdict += 1;
            continue;
        }
        let Some((node, _)) = pairing.threads[hold.thread] else { continue };
        let Some(step) = hold.step else { continue };
        let Some(held) = pairing.in_base(hold.thread, step) else { continue };
        found.held.push(held.leave);
        let until_ns = holds[place + 1..].iter().map(|next| next.end_ns).find(|&end_ns| end_ns > hold.end_ns);
        for (thread, steps) in pairing.steps.of_thread.iter().enumerate() {
            if pairing.threads[thread].is_none_or(|(other, _)| other == node) {
                continue;
            }
            let stuck = steps.partition_point(|step| step.leave.ns <= hold.end_ns);
            let target = steps.get(stuck).and_then(|step| {
                let in_base = pairing.in_base(thread, stuck)?;
                let in_call = step.enter.ns <= hold.end_ns;
                // Whose end a process waits for is on record, and of several children any may end first.
                let is_open = !(in_call && step.awaits_process);
                (is_open && is_stuck(step, in_base, hold) && step.leave.ns < until_ns.unwrap_or(u64::MAX))
                    .then_some(if in_call { (in_base.leave, step) } else { (in_base.enter, step) })
            });
            if let Some((target, stuck)) = target {
                let source = source(pairing, hold, step, stuck).unwrap_or(held.leave);
                found.seen.push(Seen { held: held.leave, source, target });
            }
        }
    }
    found
}

/// The step was under way when the hold ended, and took longer than in the base by most of what it was stuck for.
fn is_stuck(step: &Step, in_base: &Step, hold: &Hold) -> bool {
    let stuck_ns = hold.end_ns.saturating_sub(hold.start_ns.max(step.behind_ns));
    let longer_ns = step.took_ns().saturating_sub(in_base.took_ns());
    step.behind_ns < hold.end_ns && stuck_ns >= LEAST_NS && longer_ns >= stuck_ns / 2
}

/// What the held thread did last before the other one's call returned, between this hold and the next: of the calls in between that
/// are not held, that is the likeliest. Of one that went on outside of calls it is not known when; for that the held call has to do.
fn source(pairing: &Pairing<'_>, hold: &Hold, step: usize, stuck: &Step) -> Option<Moment> {
    let went_on_ns = (stuck.enter.ns <= hold.end_ns).then_some(stuck.leave.ns)?;
    let mut later = pairing.steps.holds.iter().filter(|later| later.thread == hold.thread);
    let next = later.find_map(|later| later.step.filter(|&held| held > step)).unwrap_or(usize::MAX);
    let steps = pairing.steps.of_thread[hold.thread].iter().enumerate();
    let between = steps.take(next).skip(step + 1).take_while(|(_, step)| step.enter.ns <= went_on_ns);
    let (last, _) = between.last()?;
    Some(pairing.in_base(hold.thread, last)?.enter)
}
