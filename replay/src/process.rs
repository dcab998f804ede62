//! The end of a replayed process. In the recording a process exits, and threads that still live end with it.

use crate::clock::sleep_while;
use rustix::thread::futex::{self, Flags};
use std::sync::atomic::{AtomicU32, Ordering};
use syn_plan::{Op, Program, Step, Steps, Thread};

/// When one process of the plan is over: with the last of its programs that end by themselves. A process without
/// such a program was killed; its programs run to the end of their steps.
#[derive(Debug)]
pub struct ProcessEnd {
    /// Programs that end by themselves and have not ended.
    running: AtomicU32,
    /// 1 when the process is over.
    over: AtomicU32,
}

impl ProcessEnd {
    /// Of the process that `programs` make up.
    pub fn of<'a>(programs: impl IntoIterator<Item = &'a Program>) -> ProcessEnd {
        let by_themselves = programs.into_iter().filter(|program| !program.thread.ends_with_process);
        ProcessEnd { running: AtomicU32::new(by_themselves.count() as u32), over: AtomicU32::new(0) }
    }

    /// True once the process is over.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire) != 0
    }

    /// The program of `thread` has ended.
    pub fn ended(&self, thread: &Thread) {
        if thread.ends_with_process || self.running.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        self.over.store(1, Ordering::Release);
        // Waking fails for addresses only that are not mapped.
        let _ = futex::wake(&self.over, Flags::PRIVATE, i32::MAX as u32);
    }

    /// Sleeps until the monotonic clock shows `deadline_ns`, or the process is over.
    pub fn sleep_until(&self, deadline_ns: u64) {
        while !self.is_over() && sleep_while(&self.over, Flags::PRIVATE, 0, deadline_ns) {}
    }
}

/// The number of steps, repeats followed, up to the last one that others may see: I/O, or a signal. A program that
/// ends with its process does at least these, without computing and sleeping once the process is over: in the
/// recording they came before the exit, and others may wait for them.
pub fn steps_others_see(steps: &Steps) -> u64 {
    last_seen(&mut steps.iter(), steps.len()).1
}

/// How many steps the next `left` recorded ones are, repeats followed, and up to which of them others may see something.
fn last_seen(steps: &mut dyn Iterator<Item = Step>, mut left: u64) -> (u64, u64) {
    let (mut done, mut seen) = (0u64, 0);
    while left > 0 {
        let Some(step) = steps.next() else { break };
        left -= 1;
        let Op::Repeat { count, steps: body } = step.op else {
            done = done.saturating_add(1);
            seen = if others_see(&step.op) { done } else { seen };
            continue;
        };
        let (inside, last) = last_seen(steps, u64::from(body).min(left));
        left = left.saturating_sub(body.into());
        if let (1.., Some(before)) = (last, u64::from(count).checked_sub(1)) {
            seen = done.saturating_add(before.saturating_mul(inside)).saturating_add(last);
        }
        done = done.saturating_add(u64::from(count).saturating_mul(inside));
    }
    (done, seen)
}

fn others_see(op: &Op) -> bool {
    matches!(op, Op::Io { .. } | Op::Signal { .. } | Op::Mpi { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn_plan::{Balance, Io};

    fn program(ends_with_process: bool) -> Program {
        let thread = Thread { process: 0, rank: None, pid: 1, tid: 1, ends_with_process };
        Program { thread, balance: Balance::default(), steps: Steps::default() }
    }

    #[test]
    fn a_process_is_over_with_the_last_that_ends_by_itself() {
        let programs = [program(false), program(true), program(false)];
        let end = ProcessEnd::of(&programs);
        end.ended(&programs[1].thread);
        end.ended(&programs[0].thread);
        assert!(!end.is_over());
        end.ended(&programs[2].thread);
        assert!(end.is_over());
        // Returns: the process is over.
        end.sleep_until(u64::MAX);
    }

    #[test]
    fn a_killed_process_is_never_over() {
        let programs = [program(true), program(true)];
        let end = ProcessEnd::of(&programs);
        programs.iter().for_each(|program| end.ended(&program.thread));
        assert!(!end.is_over());
    }

    #[test]
    fn steps_behind_the_last_that_others_see_may_be_left_out() {
        let (compute, sync) = (Op::Compute { cpu_ns: 1, idle_ns: 0 }, Op::Io { call: Io::SyncFs, result: 0 });
        let seen = |ops: &[Op]| {
            steps_others_see(&ops.iter().map(|&op| Step { start_ns: 0, took_ns: 0, op }).collect())
        };
        assert_eq!(seen(&[]), 0);
        assert_eq!(seen(&[compute, Op::Sleep { ns: 1 }]), 0);
        assert_eq!(seen(&[sync, compute, Op::Signal { edge: 0 }, compute]), 3);
        let repeat = |count| Op::Repeat { count, steps: 2 };
        assert_eq!(seen(&[repeat(3), sync, compute, compute]), 5);
        assert_eq!(seen(&[repeat(3), compute, compute, sync, compute]), 7);
        assert_eq!(seen(&[repeat(0), sync, sync, compute]), 0);
        assert_eq!(seen(&[repeat(u32::MAX), compute, sync]), 2 * u64::from(u32::MAX));
        let around = Op::Repeat { count: 2, steps: 4 };
        assert_eq!(seen(&[compute, around, repeat(3), sync, compute, compute]), 1 + 7 + 5);
    }
}
