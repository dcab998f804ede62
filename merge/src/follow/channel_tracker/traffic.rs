//! What went through one pipe, connection or counter.

use crate::graph::dependency::Moment;
use crate::rules::eventfd::Taken;
use crate::rules::open_file::Span;
use crate::rules::pipe::Opened;
use crate::rules::stream::Moved;
use std::collections::BTreeMap;

/// What an open file is an end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Pipe,
    Socket,
    /// A counter of `eventfd`, by the first process that had it and its open file: it has no inode of its own.
    Counter,
}

/// How one process holds an end that can be written to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    pub open_files: u32,
    pub closed: Option<Moment>,
}

/// What happened at one socket, or to one pipe.
#[derive(Debug, Default)]
pub struct Traffic {
    pub writes: Vec<Moved>,
    pub reads: Vec<Moved>,
    /// Reads of a counter.
    pub taken: Vec<Taken>,
    pub looks: Vec<Span>,
    /// Calls that waited until there was room to write.
    pub room: Vec<Span>,
    /// By process.
    pub holders: BTreeMap<u32, Held>,
    pub shut_down: Option<Moment>,
    /// Something put in or took out nobody knows how much.
    pub is_unknown: bool,
    pub capacity: Option<u64>,
    /// Of a pipe with a name: the calls that opened an end of it, and how.
    pub opens: Vec<Opened>,
}
