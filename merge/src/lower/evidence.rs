//! Between which calls edges go.

use crate::follow::pass::Seen;
use crate::graph::dependency::Stage;
use crate::graph::schedule::{Points, Schedule};
use std::collections::HashMap;
use syn_plan::{CallId, Edge, Op};
use syn_trace::Call;

/// In place of a call that is not known.
const NONE: CallId = CallId::MAX;

/// The calls that signal and await each edge first.
#[derive(Debug)]
pub struct FirstCalls {
    /// By edge: the call that signals, the call that waits.
    edges: Vec<[CallId; 2]>,
    names: Vec<String>,
}

/// Finds them, by the order in which events are seen.
#[derive(Debug)]
pub struct CallsOfEdges<'a> {
    /// By thread: its points that are still to come.
    points: Vec<Points<'a>>,
    found: FirstCalls,
    numbers: HashMap<Call, CallId>,
}

impl<'a> CallsOfEdges<'a> {
    /// None is known of the edges of `schedule`, in a run with so many threads.
    pub fn new(schedule: &'a Schedule, threads: usize) -> CallsOfEdges<'a> {
        CallsOfEdges {
            points: (0..threads).map(|thread| schedule.points(thread)).collect(),
            found: FirstCalls { edges: vec![[NONE; 2]; schedule.edges.len()], names: Vec::new() },
            numbers: HashMap::new(),
        }
    }

    /// Takes note of an event. A call that encloses others has a record of its own behind theirs.
    pub fn see(&mut self, seen: &Seen<'_>) {
        let points = &mut self.points[seen.thread as usize];
        while let Some(&point) = points.peek_if(|point| point.record <= seen.record) {
            if point.record != seen.record || point.stage == Stage::Around {
                points.pass(|_| ());
                continue;
            }
            let call = seen.event.call;
            let names = &mut self.found.names;
            let number = *self.numbers.entry(call).or_insert_with(|| {
                names.push(call.name().to_owned());
                (names.len() - 1) as CallId
            });
            let edges = &mut self.found.edges;
            points.pass(|op| {
                let (edge, side) = match op {
                    Op::Signal { edge } => (edge, 0),
                    Op::Wait { edge, .. } => (edge, 1),
                    _ => return,
                };
                let place = &mut edges[edge as usize][side];
                if *place == NONE {
                    *place = number;
                }
            });
        }
    }

    /// What was found.
    pub fn finish(self) -> FirstCalls {
        self.found
    }
}

impl FirstCalls {
    /// Writes into `edges` what was found; returns the names of the calls.
    pub fn write(self, edges: &mut [Edge]) -> Vec<String> {
        let known = |call: CallId| (call != NONE).then_some(call);
        for (edge, [signalled_in, awaited_in]) in edges.iter_mut().zip(self.edges) {
            edge.evidence.signalled_in = known(signalled_in);
            edge.evidence.awaited_in = known(awaited_in);
        }
        self.names
    }
}
