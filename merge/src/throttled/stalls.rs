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
    /// The held call begins: it stands behind its hold.
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
    /// The entries of all calls whose hold could show some.
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

/// Everything that a throttled run shows. Each step is passed once, whatever the number of holds; for each hold each thread is
/// looked at once.
pub fn stalls(pairing: &Pairing<'_>) -> Found {
    let mut found = Found::default();
    let holds = &pairing.steps.holds;
    let held_steps = held_steps(holds, pairing.threads.len());
    // By thread: how many of its steps were over by then. Holds come by their ends.
    let mut over = vec![0; pairing.threads.len()];
    for (place, hold) in holds.iter().enumerate() {
        if hold.release != Some(Release::Quiet) {
            found.without_verdict += 1;
            continue;
        }
        let Some((node, _)) = pairing.threads[hold.thread] else { continue };
        let Some(step) = hold.step else { continue };
        let Some(held) = pairing.in_base(hold.thread, step) else { continue };
        found.held.push(held.enter);
        let until_ns = holds[place + 1..].iter().map(|next| next.end_ns).find(|&end_ns| end_ns > hold.end_ns);
        for (thread, steps) in pairing.steps.of_thread.iter().enumerate() {
            if pairing.threads[thread].is_none_or(|(other, _)| other == node) {
                continue;
            }
            let is_over = |step: &Step| step.leave.ns <= hold.end_ns;
            over[thread] += steps[over[thread]..].iter().take_while(|step| is_over(step)).count();
            let stuck = over[thread];
            let target = steps.get(stuck).and_then(|step| {
                let in_base = pairing.in_base(thread, stuck)?;
                let in_call = step.enter.ns <= hold.end_ns;
                // Whose end a process waits for is on record, and of several children any may end first.
                let is_open = !(in_call && step.awaits_process);
                (is_open && is_stuck(step, in_base, hold) && step.leave.ns < until_ns.unwrap_or(u64::MAX))
                    .then_some(if in_call { (in_base.leave, step) } else { (in_base.enter, step) })
            });
            if let Some((target, stuck)) = target {
                let source =
                    source(pairing, hold, step, stuck, &held_steps[hold.thread]).unwrap_or(held.leave);
                found.seen.push(Seen { held: held.enter, source, target });
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
/// `held_steps` are the steps of that thread before which it was held.
fn source(
    pairing: &Pairing<'_>,
    hold: &Hold,
    step: usize,
    stuck: &Step,
    held_steps: &[usize],
) -> Option<Moment> {
    let went_on_ns = (stuck.enter.ns <= hold.end_ns).then_some(stuck.leave.ns)?;
    let steps = &pairing.steps.of_thread[hold.thread];
    let next = held_steps.get(held_steps.partition_point(|&held| held <= step));
    let between = &steps[step + 1..next.copied().unwrap_or(steps.len())];
    let last = step + between.partition_point(|step| step.enter.ns <= went_on_ns);
    (last > step).then(|| pairing.in_base(hold.thread, last)).flatten().map(|step| step.enter)
}

/// By thread, rising: the steps before which it was held.
fn held_steps(holds: &[Hold], threads: usize) -> Vec<Vec<usize>> {
    let mut of_thread = vec![Vec::new(); threads];
    holds.iter().for_each(|hold| of_thread[hold.thread].extend(hold.step));
    of_thread.iter_mut().for_each(|steps| steps.sort_unstable());
    of_thread
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dependency::{Point, Stage};

    const MS: u64 = 1_000_000;

    fn step(thread: u32, record: u32, enter_ms: u64, leave_ms: u64, behind_ms: u64) -> Step {
        let moment = |stage, ms| Moment::new(Point { thread, record, stage }, ms * MS);
        let (enter, leave) = (moment(Stage::Enter, enter_ms), moment(Stage::Leave, leave_ms));
        Step { class: record, awaits_process: false, behind_ns: behind_ms * MS, enter, leave }
    }

    /// One thread that is held before each of so many steps, and one that waits for each of them.
    fn in_turn(steps: u32, held_ms: u64) -> Steps {
        let length_ms = held_ms + 2;
        let (mut of_thread, mut holds) = (vec![Vec::new(), Vec::new()], Vec::new());
        for record in 0..steps {
            let start_ms = u64::from(record) * length_ms;
            let end_ms = start_ms + held_ms;
            of_thread[0].push(step(0, record, end_ms, end_ms + 1, start_ms));
            of_thread[1].push(step(1, record, start_ms, end_ms + 2, start_ms));
            let (start_ns, end_ns) = (start_ms * MS, end_ms * MS);
            let release = Some(Release::Quiet);
            holds.push(Hold { thread: 0, step: Some(record as usize), start_ns, end_ns, release });
        }
        Steps { of_thread, holds, ..Steps::default() }
    }

    /// Looking at all holds for each would take minutes.
    #[test]
    fn a_long_run_takes_no_longer_than_its_length() {
        const STEPS: u32 = 300_000;
        let (base, steps) = (in_turn(STEPS, 0), in_turn(STEPS, 10));
        let places = vec![(0..STEPS as usize).map(Some).collect(); 2];
        let threads = vec![Some((0, 0)), Some((1, 1))];
        let found = stalls(&Pairing { base: &base, steps: &steps, threads, places });
        assert_eq!((found.held.len(), found.without_verdict), (STEPS as usize, 0));
        assert_eq!(found.seen.len(), STEPS as usize);
        let ends = |seen: &Seen| (seen.held.point().record, seen.target.point().record);
        assert!(found.seen.iter().all(|seen| ends(seen).0 == ends(seen).1));
    }
}
