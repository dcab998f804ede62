//! What processes take to end, behind their last records: the kernel gives their memory back and closes their files before it tells
//! who waits. And what those took that were killed, behind their last calls.
//!
//! Who has seen a process end is told what that has used in all (wait(2), getrusage(2)); what is on record of it is less.

use crate::follow::process_tree::{Join, ProcessTree};
use crate::graph::dependency::Point;
use crate::rules::process_join::ProcessEnd;
use std::collections::HashMap;
use syn_trace::Run;
use syn_trace::run::Before;

/// The end of a process.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// Its last record.
    pub record: u32,
    /// CPU time that is on no record, nanoseconds.
    pub cpu_ns: u64,
    /// It was at work behind its last record, until a signal ended it.
    pub killed: bool,
    /// When that was, on the time axis of the merge, if it was of its own making and somebody slept until then.
    pub until_ns: Option<u64>,
}

/// The ends of a run's processes, by the thread that has the last record.
#[derive(Debug, Default)]
pub struct Exits(HashMap<u32, Exit>);

impl Exits {
    /// Given which processes each join saw end, and when they were over.
    pub fn of(
        run: &Run,
        process_tree: &ProcessTree,
        ended: &[Vec<u32>],
        ends: &[Option<ProcessEnd>],
    ) -> Exits {
        let before = run.cpu_before();
        let of_join = |(join, ended): (&Join, &Vec<u32>)| {
            // Behind the end of a process that only its launcher waited for there is nothing of the application.
            let by_application = !process_tree.is_launcher(join.process);
            let &process = ended.last().filter(|_| by_application)?;
            let pid = process_tree.host_and_pid(process);
            let is_one = ended.iter().all(|&other| process_tree.host_and_pid(other) == pid);
            let image = process_tree.images[process as usize].as_ref().filter(|_| is_one)?;
            let last = image.last;
            let told_ns = run.process_cpu_ns(process as usize);
            let known_ns = told_ns.or_else(|| on_record(run, process as usize, &before));
            let cpu_ns = join.used_ns.zip(known_ns).map(|(used_ns, known_ns)| {
                let cpu_ns = used_ns.saturating_sub(known_ns).saturating_sub(image.children_ns);
                // What recording has added to a fork; of one that became another program, that image's start has it.
                let added_ns = if run.is_forked(process as usize) { run.start_costs.forked_ns } else { 0 };
                // No more than one processor can do until it is seen.
                cpu_ns.saturating_sub(added_ns).min(join.leave.ns.saturating_sub(last.ns))
            });
            let end = ends[process as usize].filter(|end| end.is_behind(last) && end.by_ns > end.at.ns);
            let until_ns = end.map(|end| end.by_ns);
            if cpu_ns.is_none() && until_ns.is_none() {
                return None;
            }
            let Point { thread, record, .. } = last.point();
            let killed = told_ns.is_none();
            Some((thread, Exit { record, cpu_ns: cpu_ns.unwrap_or(0), killed, until_ns }))
        };
        Exits(process_tree.joins.iter().zip(ended).filter_map(of_join).collect())
    }

    /// The end of the process of which this thread has the last record.
    pub fn of_thread(&self, thread: u32) -> Option<&Exit> {
        self.0.get(&thread)
    }
}

/// CPU time of a process that did not come to say what it has used, nanoseconds: if it had one thread, as that has it on record.
fn on_record(run: &Run, process: usize, before: &[Before]) -> Option<u64> {
    let [thread] = run.processes[process].threads[..] else { return None };
    let balance = run.threads[thread].balance(run.startup(thread, before));
    Some(balance.cpu_ns().saturating_add(before[process].process_ns))
}
