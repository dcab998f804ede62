//! Backwards from an effect to its causes: along a thread to the wait that ended last, from there to whoever ended it, and so
//! on. From the end of the run, that is the critical path (Yang and Miller, ICDCS'88).

use super::timeline::{Act, Cause, Timeline};

/// A piece of the way, the latest first.
#[derive(Clone, Copy, Debug)]
pub enum Link {
    /// A program did these steps.
    Ran {
        /// Which program.
        program: usize,
        /// The first step, and the one behind the last.
        steps: (usize, usize),
        /// When this piece begins and ends, nanoseconds since the start of the run.
        from_ns: u64,
        /// See there.
        to_ns: u64,
    },
    /// It had waited.
    Waited(Cause),
}

/// The way back from the end of a step to `until_ns`, over at most so many waits.
pub fn back(timeline: &Timeline<'_>, from: Act, until_ns: u64, most: usize) -> Vec<Link> {
    let mut links = Vec::new();
    let (mut act, mut at_ns) = (from, timeline.get(from).end_ns);
    for _ in 0..=most {
        let cause = (0..=act.step).rev().find_map(|step| {
            let timed = timeline.programs[act.program][step];
            if timed.end_ns < until_ns {
                return Some(None);
            }
            timeline.cause(Act { step, ..act }).map(Some)
        });
        let first = cause.flatten().map_or(0, |cause| last_wait(timeline, cause) + 1);
        let begins_ns = timeline.programs[act.program][0].start_ns;
        let from_ns = cause.flatten().map_or(begins_ns, |cause| cause.until_ns).max(until_ns).min(at_ns);
        links.push(Link::Ran { program: act.program, steps: (first, act.step + 1), from_ns, to_ns: at_ns });
        let Some(cause) = cause.flatten().filter(|_| at_ns > until_ns) else { break };
        links.push(Link::Waited(cause));
        if cause.signalled_ns <= until_ns {
            break;
        }
        (act, at_ns) = (cause.signal, cause.signalled_ns);
    }
    links
}

/// The step before what a thread did next.
fn last_wait(timeline: &Timeline<'_>, cause: Cause) -> usize {
    let steps = &timeline.programs[cause.wait.program][cause.wait.step..];
    let further = steps.iter().take_while(|step| matches!(step.what, super::timeline::What::Wait(..)));
    cause.wait.step + further.count() - 1
}

/// How far back a place is explained: a wait to its beginning, since what came before did not make it longer; anything else
/// without a limit.
pub fn since(timeline: &Timeline<'_>, act: Act) -> u64 {
    timeline.cause(act).map_or(0, |cause| cause.since_ns)
}
