//! What went through one pipe, connection or counter.

use super::lifetimes::Lifetimes;
use crate::graph::dependency::{Dependencies, Moment, Span};
use crate::rules::eventfd::{Counter, Finding};
use crate::rules::pipe::{self, Opened};
use crate::rules::process_join::ProcessEnd;
use crate::rules::stream::{Closing, Moved};
use std::collections::BTreeMap;
use syn_plan::Rule;

/// What an open file is an end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Pipe,
    Socket,
    /// A counter of `eventfd`, by the first process that had it and its open file: it has no inode of its own.
    Counter,
}

/// How one process holds an end that can be written to.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub open_files: u32,
    pub since_ns: u64,
}

/// What happened at one socket, or to one pipe.
#[derive(Debug, Default)]
pub struct Traffic {
    pub writes: Vec<Moved>,
    pub reads: Vec<Moved>,
    /// Of a counter, but for what was added, which is written.
    pub counter: Counter,
    pub looks: Vec<Span>,
    /// Calls that waited until there was room to write.
    pub room: Vec<Span>,
    /// By process.
    pub holders: BTreeMap<u32, Held>,
    /// Those who hold it no more; a process may do so again.
    pub closings: Vec<Closing>,
    pub shut_down: Option<Moment>,
    /// Calls after which nothing is received there any more, nor connections accepted; ascending in time.
    receives_no_more: Vec<Moment>,
    pub accepts_in_vain: Vec<Span>,
    /// Something put in or took out nobody knows how much.
    pub is_unknown: bool,
    pub capacity: Option<u64>,
    /// Of a pipe: what is written stays apart (`O_DIRECT`, pipe(2)).
    pub keeps_packets: Option<bool>,
    /// Of a pipe with a name: the calls that opened an end of it, and how.
    pub opens: Vec<Opened>,
    /// Of a pipe with a name: what is in it is lost when nobody has it open.
    pub lifetimes: Lifetimes,
}

impl Traffic {
    /// A call shut the socket down for what comes.
    pub fn receive_no_more(&mut self, at: Moment) {
        let place = self.receives_no_more.partition_point(|other| other.ns <= at.ns);
        self.receives_no_more.insert(place, at);
    }

    /// Who waited to receive something, or for a connection, when another thread shut the socket down, went on for that.
    pub fn connect_shutdowns(&self, found: &mut Dependencies) {
        let during = |span: &Span| {
            let first = self.receives_no_more.partition_point(|at| at.ns <= span.enter.ns);
            self.receives_no_more.get(first).copied().filter(|&at| span.is_interrupted_at(at))
        };
        // Bytes may have come in the same moment.
        let looks = self.looks.iter().map(|span| (Rule::Contended, span));
        for (rule, span) in self.accepts_in_vain.iter().map(|span| (Rule::Socket, span)).chain(looks) {
            if let Some(at) = during(span) {
                found.add_one(rule, at, span.leave);
            }
        }
    }

    /// A process has one more open file that can be written to.
    pub fn hold(&mut self, process: u32, since_ns: u64) {
        let held = self.holders.entry(process).or_insert(Held { open_files: 0, since_ns });
        held.open_files += 1;
    }

    /// A process has one less; if nothing is on record of the first ones, it had them since then.
    pub fn let_go(&mut self, process: u32, since_ns: u64, at: Moment) {
        let held = self.holders.remove(&process).unwrap_or(Held { open_files: 1, since_ns });
        match held.open_files {
            0 | 1 => {
                self.closings.push(Closing { process, since_ns: held.since_ns, end: ProcessEnd::with(at) })
            }
            more => _ = self.holders.insert(process, Held { open_files: more - 1, ..held }),
        }
    }

    /// A call has seen that there is something to take out.
    pub fn look(&mut self, kind: Kind, span: Span, waited: bool) {
        match kind {
            Kind::Counter => self.counter.looks.push(Finding { span, waited }),
            Kind::Pipe | Kind::Socket => self.looks.push(span),
        }
    }

    /// What is written to a pipe stays apart, or does not. Where both come nobody knows what a read takes.
    pub fn keep_packets(&mut self, keeps: bool) {
        self.is_unknown |= self.keeps_packets.replace(keeps).is_some_and(|before| before != keeps);
    }

    /// What was put in; packets take a page each.
    pub fn take_writes(&mut self) -> Vec<Moved> {
        let mut writes = std::mem::take(&mut self.writes);
        if self.keeps_packets == Some(true) {
            writes
                .iter_mut()
                .for_each(|write| write.units = write.units.next_multiple_of(pipe::PACKET_BYTES));
        }
        writes
    }

    /// What was taken out; a read takes one packet, also where it wants less.
    pub fn take_reads(&mut self) -> Vec<Moved> {
        let mut reads = std::mem::take(&mut self.reads);
        if self.keeps_packets == Some(true) {
            reads.iter_mut().for_each(|read| read.units = pipe::PACKET_BYTES);
        }
        reads
    }
}
