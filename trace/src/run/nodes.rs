//! Who can be throttled: the nodes of a run, and the calls that count as steps of a thread.

use super::{Process, Run};
use crate::board::{UNRANKED, UNRANKED_OF_HOST};
use crate::calls::{Call, Fact};
use crate::reader::Event;
use crate::record;

impl Run {
    /// The names of the hosts on which something was recorded that can be throttled, in the order of their numbers.
    pub fn hosts(&self) -> Vec<&str> {
        let mut hosts: Vec<&str> = self.nodes_processes().map(|process| process.host.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    fn nodes_processes(&self) -> impl Iterator<Item = &Process> {
        self.processes.iter().filter(|process| !process.process_only)
    }

    /// The nodes of the run: a rank with all its processes, or a process without one, numbered as on the board
    /// ([`crate::board`]), by number: those without a rank by host, and there in the order in which they were made, which is that
    /// of their process ids, since forked siblings may begin in any order. Of each its threads in the order in which they began, as
    /// indices into [`Run::threads`]: those of one kernel thread, of which an exec makes several, together.
    pub fn nodes(&self) -> Vec<(u32, Vec<Vec<usize>>)> {
        let mut nodes: Vec<(u32, Vec<Vec<usize>>)> = Vec::new();
        let hosts = self.hosts();
        let place_of =
            |process: &Process| (hosts.partition_point(|&host| host < &process.host[..]), process.pid);
        let mut unranked: Vec<(usize, u32)> =
            self.nodes_processes().filter(|process| process.rank.is_none()).map(place_of).collect();
        unranked.sort_unstable();
        unranked.dedup();
        for process in self.nodes_processes() {
            let number = || {
                let of_process = place_of(process);
                let first = unranked.partition_point(|&(host, _)| host < of_process.0);
                let place = unranked.partition_point(|&other| other < of_process) - first;
                UNRANKED | (of_process.0 as u32 * UNRANKED_OF_HOST + place as u32)
            };
            let node = process.rank.unwrap_or_else(number);
            let place = nodes.iter().position(|&(known, _)| known == node).unwrap_or_else(|| {
                nodes.push((node, Vec::new()));
                nodes.len() - 1
            });
            let threads = &mut nodes[place].1;
            for &thread in &process.threads {
                let tid = self.threads[thread].tid();
                match threads.iter_mut().find(|images| self.threads[images[0]].tid() == tid) {
                    Some(images) => images.push(thread),
                    None => threads.push(vec![thread]),
                }
            }
        }
        nodes.sort();
        nodes
    }
}

impl Event<'_> {
    /// True for a call of the thread's own that got it somewhere; the board counts the same ([`crate::board::Doing::progress`]).
    pub fn is_step(&self) -> bool {
        let failed = self.has(record::FAILED);
        let outcome = if failed { i64::from(self.errno) } else { self.result };
        let is_mark =
            matches!(self.call, Call::Repeats | Call::ProcessStart | Call::ThreadStart | Call::ThreadEnd);
        !self.has(record::INNER)
            && !self.has(record::BEGAN)
            && !is_mark
            && !self.call.has(Fact::Note)
            && self.call.advances(failed, outcome, &self.numbers)
    }
}
