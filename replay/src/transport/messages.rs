//! Edges as messages between MPI ranks: a signal is the edge's number, sent to every other rank that waits on it, or to the
//! edge's hub; from the hub it says that all signals have come.

#![allow(unsafe_code)]

use super::communicator::{PAUSE_NS, Shared, pause};
use super::listeners::{Audience, audiences};
use super::{POLLS, Transport, Waiter, looks_alone};
use crate::clock;
use crate::communicate::{Comm, Engine};
use crate::sys::processors_online;
use mpi::traits::{Communicator, Destination, Source};
use rustix::thread::futex::{self, Flags};
use rustix::thread::sched_yield;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use syn_plan::{Counted, EdgeId, Mpi, Op, Plan};

/// The tag of messages that carry an edge.
const EDGE: mpi::Tag = 1;
/// Pauses of a program of demands grow to this, and of a wait with a time limit: most of these threads have nothing to do most of the
/// time, and CPU time is what counts. A step ends so much later at most.
const LONGEST_PAUSE_NS: u64 = 500_000;
/// The same for looks, between which others have the processor: where many want it, each takes milliseconds.
const FEW_LOOKS: u32 = 2;
/// Looks of a rank that polls and has a processor of its own, before it gives that to others: each asks MPI.
const LOOKS_ALONE: u32 = 500;
/// A pause while nothing is looked for.
const LONG_PAUSE_NS: u64 = 1_000_000;
/// Looks before the first pause.
const LOOKS: u32 = 50;

/// The edges that are waited for inside calls of MPI on files, and signalled outside of such.
pub fn outside(plan: &Plan) -> Vec<EdgeId> {
    let (mut waits, mut signals) = (BTreeSet::new(), BTreeSet::new());
    for program in &plan.programs {
        let mut inside = false;
        for step in program.steps.iter() {
            match step.op {
                Op::Mpi { call: Mpi::FileEnter, .. } => inside = true,
                Op::Mpi { call, .. } if call.is_on_file() => inside = false,
                Op::Wait { edge, .. } if inside => drop(waits.insert(edge)),
                Op::Signal { edge } if !inside => drop(signals.insert(edge)),
                _ => {}
            }
        }
    }
    waits.intersection(&signals).copied().collect()
}

/// What a rank must know of the whole plan, in whose numbers everything here is.
#[derive(Debug, Default)]
pub struct RankEdges {
    /// The edges of the rank's programs; they rise.
    pub numbers: Vec<EdgeId>,
    /// Its programs.
    pub programs: Vec<usize>,
    /// The edges on which a rank waits inside a call of MPI on a file, and that somebody else signals; they rise.
    pub outside: Vec<EdgeId>,
    /// Whom it tells of which signals; see [`super::listeners`].
    pub listeners: Vec<u32>,
}

/// Who tells everybody that all signals of an edge have come; see [`super::listeners`].
struct Hub {
    rank: u32,
    /// How many all are.
    signals: u32,
    /// It has told them.
    told: AtomicBool,
}

/// One counter for each edge of a rank, and the ranks that want to know of its signals.
pub struct Messages<'a> {
    communicator: &'a Shared,
    rank: u32,
    /// See [`RankEdges::outside`].
    outside: &'a [EdgeId],
    /// The edges' numbers in the whole plan, which is how ranks speak of them.
    numbers: &'a [EdgeId],
    counts: Vec<AtomicU32>,
    polled: Vec<bool>,
    /// By edge: nobody but this rank signals it or waits on it.
    own: Vec<bool>,
    /// By edge: the ranks that this one has something to tell, if it signals it.
    listeners: Vec<&'a [u32]>,
    /// By edge that has one: its hub, and how many signals all are.
    hubs: HashMap<usize, Hub>,
    received: AtomicU64,
    /// See [`looks_alone`].
    alone: u32,
    /// Looks before the first pause, and what pauses grow up to, nanoseconds.
    looks: u32,
    longest_pause_ns: u64,
    /// Makes the calls of MPI, where they are made.
    engine: Option<&'a Engine<'a>>,
}

impl<'a> Messages<'a> {
    /// For the edges of `plan`, the part that rank `rank` replays.
    pub fn new(
        plan: &Plan,
        edges: &'a RankEdges,
        polls: bool,
        demands: bool,
        communicator: &'a Shared,
        rank: u32,
        engine: Option<&'a Engine<'a>>,
    ) -> Messages<'a> {
        let numbers = &edges.numbers[..];
        let signals = own_signals(plan);
        let (mut listeners, mut hubs) = (vec![&[][..]; plan.edges.len()], HashMap::new());
        for Audience { edge, hub, ranks } in audiences(&edges.listeners) {
            let Ok(mine) = numbers.binary_search(&edge) else { continue };
            listeners[mine] = ranks;
            if let Some(hub) = hub {
                let (signals, told) = (plan.edges[mine].signals, AtomicBool::new(false));
                hubs.insert(mine, Hub { rank: hub, signals, told });
            }
        }
        Messages {
            communicator,
            rank,
            outside: &edges.outside,
            numbers,
            counts: plan.edges.iter().map(|_| AtomicU32::new(0)).collect(),
            own: (0..plan.edges.len())
                .map(|edge| {
                    let others = listeners[edge].iter().any(|&other| other != rank);
                    !others && signals[edge] == u64::from(plan.edges[edge].signals)
                })
                .collect(),
            polled: plan.edges.iter().map(|edge| polls && edge.rule.is_message()).collect(),
            listeners,
            hubs,
            received: AtomicU64::new(0),
            // A rank may be bound to one of the machine's processors.
            alone: looks_alone(LOOKS_ALONE, communicator.lock().size() as usize, processors_online()),
            looks: if demands { FEW_LOOKS } else { LOOKS },
            longest_pause_ns: if demands { LONGEST_PAUSE_NS } else { PAUSE_NS },
            engine,
        }
    }

    /// Takes in what has come, unless another thread is just doing so.
    fn receive(&self) {
        let Ok(communicator) = self.communicator.0.try_lock() else { return };
        if self.is_called_elsewhere() {
            return;
        }
        while let Some((message, _)) = communicator.any_process().immediate_matched_probe_with_tag(EDGE) {
            let (edge, _) = message.matched_receive::<u32>();
            // Nobody sends what this rank does not wait for.
            if let Ok(mine) = self.numbers.binary_search(&edge) {
                match self.other_hub(mine) {
                    Some(hub) => self.counts[mine].store(hub.signals, Ordering::Release),
                    None => drop(self.counts[mine].fetch_add(1, Ordering::Release)),
                }
            }
            self.received.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The hub of an edge, if that is another rank.
    fn other_hub(&self, edge: usize) -> Option<&Hub> {
        self.hubs.get(&edge).filter(|hub| hub.rank != self.rank)
    }

    /// All signals of an edge have come: its hub tells the others, once.
    fn pass_on(&self, edge: usize) {
        let hub = self.hubs.get(&edge).filter(|hub| hub.rank == self.rank);
        if hub.is_some_and(|hub| !hub.told.swap(true, Ordering::Relaxed)) {
            self.listeners[edge].iter().for_each(|&rank| self.send(rank, self.numbers[edge]));
        }
    }

    /// Whether another thread may be in a call of MPI, and this MPI does not let two in at once. Asked with the communicator
    /// locked: then no other thread begins to.
    fn is_called_elsewhere(&self) -> bool {
        self.engine.is_some_and(Engine::is_called_elsewhere)
    }

    fn send(&self, rank: u32, number: EdgeId) {
        loop {
            let communicator = self.communicator.lock();
            if !self.is_called_elsewhere() {
                return communicator.process_at_rank(rank as mpi::Rank).send_with_tag(&number, EDGE);
            }
            drop(communicator);
            clock::sleep_until(clock::now_ns() + LONG_PAUSE_NS);
        }
    }

    /// Takes in the messages that no wait of this rank needed, so that none is left for the next replay.
    pub fn finish(&self, plan: &Plan, comm: Comm) {
        // All signals of the edges that this rank waits on, less its own.
        let (mut waits, own) = (vec![false; plan.edges.len()], own_signals(plan));
        for step in plan.programs.iter().flat_map(|program| program.steps.iter()) {
            if let Op::Wait { edge, .. } = step.op {
                waits[edge as usize] = true;
            }
        }
        let of_edge = |edge: usize| match waits[edge] && comm.follows(&plan.edges[edge]) {
            true if self.other_hub(edge).is_some() => 1,
            true => u64::from(plan.edges[edge].signals).saturating_sub(own[edge]),
            false => 0,
        };
        let expected: u64 = (0..plan.edges.len()).map(of_edge).sum();
        while self.received.load(Ordering::Relaxed) < expected {
            self.receive();
            pause();
        }
    }
}

/// How many signals the programs of `plan` give each edge.
fn own_signals(plan: &Plan) -> Vec<u64> {
    let mut own = vec![0u64; plan.edges.len()];
    for Counted { step, times, .. } in plan.programs.iter().flat_map(|program| program.steps.counted()) {
        if let Op::Signal { edge } = step.op {
            own[edge as usize] = own[edge as usize].saturating_add(times);
        }
    }
    own
}

impl Transport for Messages<'_> {
    fn signal(&self, edge: EdgeId) {
        if self.own[edge as usize] {
            let count = &self.counts[edge as usize];
            count.fetch_add(1, Ordering::SeqCst);
            // Waking fails for addresses only that are not mapped.
            let _ = futex::wake(count, Flags::PRIVATE, i32::MAX as u32);
            return;
        }
        if self.hubs.get(&(edge as usize)).is_some_and(|hub| hub.rank == self.rank) {
            self.counts[edge as usize].fetch_add(1, Ordering::Release);
            return;
        }
        let number = self.numbers[edge as usize];
        for &rank in self.listeners[edge as usize] {
            if rank == self.rank {
                self.counts[edge as usize].fetch_add(1, Ordering::Release);
            } else {
                self.send(rank, number);
            }
        }
    }

    fn wait(&self, edge: EdgeId, count: u32, who: Waiter) {
        let mut pause_ns = PAUSE_NS;
        let (alone, most) = match who {
            _ if self.polled[edge as usize] => (self.alone, POLLS),
            // Nothing would wake one that waits for another rank.
            Waiter::Slept if self.own[edge as usize] => (0, 0),
            _ => (0, self.looks),
        };
        let mut looks = 0;
        while self.counts[edge as usize].load(Ordering::Acquire) < count {
            if self.own[edge as usize] && looks == most {
                let now = self.counts[edge as usize].load(Ordering::SeqCst);
                if now < count {
                    // Returns at once when the counter has changed.
                    let _ = futex::wait(&self.counts[edge as usize], Flags::PRIVATE, now, None);
                }
                continue;
            }
            self.receive();
            if self.is_called_elsewhere() {
                clock::sleep_until(clock::now_ns() + LONG_PAUSE_NS);
            } else if looks < most {
                looks += 1;
                if looks > alone {
                    sched_yield();
                }
            } else {
                clock::sleep_until(clock::now_ns() + pause_ns);
                pause_ns = (pause_ns + pause_ns / 8).min(self.longest_pause_ns);
            }
        }
        self.pass_on(edge as usize);
    }

    fn wait_until(&self, edge: EdgeId, count: u32, deadline_ns: u64) -> bool {
        let counter = &self.counts[edge as usize];
        let mut pause_ns = PAUSE_NS;
        loop {
            let now = counter.load(Ordering::SeqCst);
            if now >= count {
                self.pass_on(edge as usize);
                return true;
            }
            if self.own[edge as usize] {
                if !clock::sleep_while(counter, Flags::PRIVATE, now, deadline_ns) {
                    return false;
                }
                continue;
            }
            self.receive();
            let now_ns = clock::now_ns();
            if now_ns >= deadline_ns {
                return false;
            }
            clock::sleep_until(deadline_ns.min(now_ns + pause_ns));
            pause_ns = (pause_ns + pause_ns / 8).min(LONGEST_PAUSE_NS);
        }
    }

    fn ended(&self) {
        if let Some(engine) = self.engine {
            engine.rest();
        }
    }

    fn comes_from_outside(&self, edge: EdgeId) -> bool {
        self.outside.binary_search(&self.numbers[edge as usize]).is_ok()
    }

    fn call(&self, program: usize, call: &Mpi) {
        if let Some(engine) = self.engine {
            engine.call(program, call);
        }
    }
}
