//! Between which calls edges go.

use crate::follow::pass::Seen;
use crate::graph::dependency::Stage;
use crate::graph::schedule::Schedule;
use std::collections::HashMap;
use syn_plan::{CallId, Edge, Op};
use syn_trace::Call;

/// The calls that signal and await each edge first, by the order in which events are seen.
#[derive(Debug)]
pub struct CallsOfEdges {
    /// By thread: the next of its points.
    next: Vec<usize>,
    /// By edge: the call that signals, the call that waits.
    edges: Vec<[Option<CallId>; 2]>,
    numbers: HashMap<Call, CallId>,
    names: Vec<String>,
}

impl CallsOfEdges {
    /// None is known of the edges of `schedule`, in a run with so many threads.
    pub fn new(schedule: &Schedule, threads: usize) -> CallsOfEdges {
        CallsOfEdges {
            next: vec![0; threads],
            edges: vec![[None; 2]; schedule.edges.len()],
            numbers: HashMap::new(),
            names: Vec::new(),
        }
    }

    /// Takes note of an event. A call that encloses others has a record of its own behind theirs.
    pub fn see(&mut self, seen: &Seen<'_>, schedule: &Schedule) {
        let points = schedule.points(seen.thread as usize);
        let next = &mut self.next[seen.thread as usize];
        while let Some(point) = points.get(*next).filter(|point| point.record <= seen.record) {
            let ops = schedule.ops(seen.thread as usize, *next);
            *next += 1;
            if point.record != seen.record || point.stage == Stage::Around {
                continue;
            }
            let call = seen.event.call;
            let number = *self.numbers.entry(call).or_insert_with(|| {
                self.names.push(call.name().to_owned());
                (self.names.len() - 1) as CallId
            });
            for op in ops {
                let place = match op {
                    Op::Signal { edge } => &mut self.edges[edge as usize][0],
                    Op::Wait { edge, .. } => &mut self.edges[edge as usize][1],
                    _ => continue,
                };
                place.get_or_insert(number);
            }
        }
    }

    /// Writes into `edges` what was found; returns the names of the calls.
    pub fn finish(self, edges: &mut [Edge]) -> Vec<String> {
        for (edge, [signalled_in, awaited_in]) in edges.iter_mut().zip(self.edges) {
            edge.evidence.signalled_in = signalled_in;
            edge.evidence.awaited_in = awaited_in;
        }
        self.names
    }
}
