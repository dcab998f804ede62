//! Edges as messages between MPI ranks: a signal is the edge's number, sent to every other rank that waits on it.
//!
//! A barrier of m ranks is m (m - 1) messages. Passing them on through one rank would take fewer, but that rank
//! would have to stop what it replays to do so, or keep a thread polling.

#![allow(unsafe_code)]

use super::{POLLS, Transport, is_message};
use crate::clock;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use rustix::thread::sched_yield;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use syn_plan::{EdgeId, Op, Plan};

/// The tag of messages that carry an edge.
const EDGE: mpi::Tag = 1;
/// Between two looks of a rank that is not to take processor time while it waits.
const PAUSE_NS: u64 = 20_000;
/// Looks before the first pause.
const LOOKS: u32 = 50;

/// A communicator that the threads of a rank use one at a time.
pub struct Shared(pub(crate) Mutex<SimpleCommunicator>);

// SAFETY: a communicator is a handle that means the same in every thread. MPI is initialised with at least
// MPI_THREAD_SERIALIZED wherever a rank has more than one thread, and the lock lets one call in at a time.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Shares `communicator` among threads.
    pub fn new(communicator: SimpleCommunicator) -> Shared {
        Shared(Mutex::new(communicator))
    }

    /// The communicator, for one call.
    pub fn lock(&self) -> MutexGuard<'_, SimpleCommunicator> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One counter per edge, and the ranks that want to know of its signals.
pub struct Messages<'a> {
    communicator: &'a Shared,
    rank: u32,
    counts: Vec<AtomicU32>,
    polled: Vec<bool>,
    /// Ranks that wait on an edge, edge after edge.
    listeners: Vec<u32>,
    /// Where each edge's listeners begin; one more at the end.
    starts: Vec<usize>,
    received: AtomicU64,
}

impl<'a> Messages<'a> {
    /// For the edges of `plan` as rank `rank` sees them. `rank_of` gives the rank that runs a program.
    pub fn new(
        plan: &Plan,
        polls: bool,
        communicator: &'a Shared,
        rank: u32,
        rank_of: &dyn Fn(usize) -> u32,
    ) -> Messages<'a> {
        let mut pairs: Vec<(EdgeId, u32)> = Vec::new();
        for (index, program) in plan.programs.iter().enumerate() {
            pairs.extend(program.steps.iter().filter_map(|step| match step.op {
                Op::Wait { edge, .. } => Some((edge, rank_of(index))),
                _ => None,
            }));
        }
        pairs.sort_unstable();
        pairs.dedup();
        let starts =
            (0..=plan.edges.len()).map(|edge| pairs.partition_point(|&(other, _)| (other as usize) < edge));
        Messages {
            communicator,
            rank,
            counts: plan.edges.iter().map(|_| AtomicU32::new(0)).collect(),
            polled: plan.edges.iter().map(|edge| polls && is_message(edge.rule)).collect(),
            starts: starts.collect(),
            listeners: pairs.into_iter().map(|(_, rank)| rank).collect(),
            received: AtomicU64::new(0),
        }
    }

    fn listeners(&self, edge: EdgeId) -> &[u32] {
        let edge = edge as usize;
        let range: Range<usize> = self.starts[edge]..self.starts[edge + 1];
        &self.listeners[range]
    }

    /// Takes in what has come, unless another thread is just doing so.
    fn receive(&self) {
        let Ok(communicator) = self.communicator.0.try_lock() else { return };
        while let Some((message, _)) = communicator.any_process().immediate_matched_probe_with_tag(EDGE) {
            let (edge, _) = message.matched_receive::<u32>();
            self.counts[edge as usize].fetch_add(1, Ordering::Release);
            self.received.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes in the messages that no wait of this rank needed, so that none is left for the next replay.
    pub fn finish(&self, plan: &Plan, rank_of: &dyn Fn(usize) -> u32) {
        let mut expected = 0;
        for (index, program) in plan.programs.iter().enumerate() {
            let from_elsewhere = rank_of(index) != self.rank;
            expected += program
                .steps
                .iter()
                .filter(|step| match step.op {
                    Op::Signal { edge } => {
                        from_elsewhere && self.listeners(edge).binary_search(&self.rank).is_ok()
                    }
                    _ => false,
                })
                .count() as u64;
        }
        while self.received.load(Ordering::Relaxed) < expected {
            self.receive();
            pause();
        }
    }
}

/// Leaves the processor to others for a moment.
pub fn pause() {
    clock::sleep_until(clock::now_ns() + PAUSE_NS);
}

impl Transport for Messages<'_> {
    fn signal(&self, edge: EdgeId) {
        for &rank in self.listeners(edge) {
            if rank == self.rank {
                self.counts[edge as usize].fetch_add(1, Ordering::Release);
            } else {
                self.communicator.lock().process_at_rank(rank as mpi::Rank).send_with_tag(&edge, EDGE);
            }
        }
    }

    fn wait(&self, edge: EdgeId, count: u32) {
        let (mut looks, most) = (0, if self.polled[edge as usize] { POLLS } else { LOOKS });
        while self.counts[edge as usize].load(Ordering::Acquire) < count {
            self.receive();
            if looks < most {
                looks += 1;
                sched_yield();
            } else {
                pause();
            }
        }
    }
}
