//! Asynchronous I/O: requests go into queues of the engine that the application used, and are waited for by their number.
//!
//! Where the system refuses an engine, as containers do with io_uring, threads take its place, as in aio(7). Requests that are under
//! way when nobody waits for them any more are waited for before what they read into is given back.

mod context;
mod requests;
mod ring;
mod workers;

use super::transfer::Memory;
use context::Context;
pub use requests::What;
use requests::{Results, locked};
use ring::Ring;
use rustix::io::{Errno, Result};
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use syn_plan::{Io, QueueId};
use workers::{Pending, Workers};

/// A queue has room for no more than that in the kernel, whatever a plan says.
const MOST_ENTRIES: u32 = 32 << 10;
/// A process of a plan gets no more queues from the kernel than that; threads do for the rest.
const MOST_IN_KERNEL: u32 = 1024;

/// The queues of one process of the plan, by number. Its threads share them.
#[derive(Debug)]
pub struct Queues {
    slots: Box<[Mutex<Option<Arc<Queue>>>]>,
    memory: Arc<Memory>,
    workers: Workers,
    in_kernel: AtomicU32,
    /// Rings that were closed with requests under way.
    closed: Mutex<Vec<Arc<Queue>>>,
    /// Threads have done requests.
    has_worked: AtomicBool,
    /// Queues that the kernel has refused.
    pub refused: AtomicU64,
}

/// What the queues of some programs need.
#[derive(Clone, Copy, Debug, Default)]
pub struct Need {
    queues: usize,
    read: u64,
    write: u64,
}

impl Need {
    /// The need of a further operation.
    pub fn see(&mut self, call: &Io) {
        let queue = match *call {
            Io::SubmitRead { queue, bytes, .. } => {
                self.read = self.read.max(bytes);
                queue
            }
            Io::SubmitWrite { queue, bytes, .. } => {
                self.write = self.write.max(bytes);
                queue
            }
            Io::QueueSetup { queue, .. } | Io::SubmitSync { queue, .. } => queue,
            _ => return,
        };
        self.queues = self.queues.max(queue as usize + 1);
    }
}

impl Queues {
    /// With room for what is needed.
    pub fn new(need: Need) -> Queues {
        let slots = std::iter::repeat_with(|| Mutex::new(None)).take(need.queues);
        let memory = Arc::new(Memory::new(need.read, need.write));
        Queues {
            slots: slots.collect(),
            workers: Workers::new(memory.clone()),
            memory,
            in_kernel: AtomicU32::new(0),
            closed: Mutex::default(),
            has_worked: AtomicBool::new(false),
            refused: AtomicU64::new(0),
        }
    }

    fn slot(&self, queue: QueueId) -> Result<MutexGuard<'_, Option<Arc<Queue>>>> {
        self.slots.get(queue as usize).map(locked).ok_or(Errno::INVAL)
    }

    /// Makes a queue of this engine, an index of [`syn_plan::ENGINES`].
    ///
    /// # Errors
    /// When there is no such number. What the system refuses is counted.
    pub fn set_up(&self, queue: QueueId, engine: u32, entries: u32) -> Result<()> {
        let mut slot = self.slot(queue)?;
        let entries = entries.clamp(1, MOST_ENTRIES);
        let made = match self.in_kernel.fetch_add(1, Ordering::Relaxed) {
            MOST_IN_KERNEL.. => Err(Errno::AGAIN),
            _ if engine == 0 => Context::new(entries).map(Engine::Context),
            _ => Ring::new(entries).map(|ring| Engine::Ring(Box::new(ring))),
        };
        if made.is_err() {
            self.in_kernel.fetch_sub(1, Ordering::Relaxed);
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        let before = slot.replace(Queue::of(made.unwrap_or_default()));
        drop(slot);
        self.end(before);
        Ok(())
    }

    /// Gives a queue up, when all of its requests are complete; those of a ring go on, as those of one that is closed do.
    ///
    /// # Errors
    /// When there is no such number.
    pub fn destroy(&self, queue: QueueId) -> Result<()> {
        let taken = self.slot(queue)?.take();
        match taken {
            Some(ring)
                if matches!(ring.engine, Engine::Ring(_)) && ring.in_flight.load(Ordering::Acquire) > 0 =>
            {
                locked(&self.closed).push(ring);
            }
            taken => self.end(taken),
        }
        Ok(())
    }

    fn end(&self, queue: Option<Arc<Queue>>) {
        let Some(queue) = queue else { return };
        queue.drain(&self.workers);
        if !matches!(queue.engine, Engine::Workers(_)) {
            self.in_kernel.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Hands over a request of which `expected` is the recorded result.
    ///
    /// # Errors
    /// The engine's.
    pub fn submit(&self, queue: QueueId, file: BorrowedFd<'_>, what: What, expected: i64) -> Result<()> {
        let queue = self.slot(queue)?.get_or_insert_with(|| Queue::of(Engine::default())).clone();
        let file = file.as_raw_fd();
        match &queue.engine {
            Engine::Context(context) => context.submit(file, what, &self.memory, expected)?,
            Engine::Ring(ring) => ring.submit(file, what, &self.memory, expected)?,
            Engine::Workers(requests) => {
                self.has_worked.store(true, Ordering::Relaxed);
                locked(requests).push_back(self.workers.submit(file, what, expected));
            }
        }
        queue.in_flight.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Waits for so many requests. Returns by how much their results differ from the recorded ones together.
    ///
    /// # Errors
    /// That of the first request that failed; `EAGAIN` if there were not so many requests.
    pub fn complete(&self, queue: QueueId, count: u32) -> Result<i64> {
        if count == 0 {
            return Ok(0);
        }
        let queue = self.slot(queue)?.clone().ok_or(Errno::AGAIN)?;
        queue.complete(count.into(), &self.workers)
    }

    /// Before a descriptor is closed, or becomes another file's: threads may still have requests on it.
    #[inline]
    pub fn leave(&self, file: RawFd) {
        if self.has_worked.load(Ordering::Relaxed) {
            self.workers.leave(file);
        }
    }

    /// Waits for whatever is under way.
    pub fn drain(&self) {
        let taken: Vec<_> = std::mem::take(&mut *locked(&self.closed));
        taken.into_iter().for_each(|queue| self.end(Some(queue)));
        let taken: Vec<_> = self.slots.iter().map(|slot| locked(slot).take()).collect();
        taken.into_iter().for_each(|queue| self.end(queue));
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        self.drain();
        self.workers.end();
    }
}

/// One queue.
#[derive(Debug)]
struct Queue {
    engine: Engine,
    /// Requests that nobody waits for so far.
    in_flight: AtomicU64,
}

#[derive(Debug)]
enum Engine {
    Context(Context),
    Ring(Box<Ring>),
    /// The oldest first: that is their order of completion for requests on one file.
    Workers(Mutex<VecDeque<Pending>>),
}

impl Default for Engine {
    fn default() -> Engine {
        Engine::Workers(Mutex::default())
    }
}

impl Queue {
    fn of(engine: Engine) -> Arc<Queue> {
        Arc::new(Queue { engine, in_flight: AtomicU64::new(0) })
    }

    fn complete(&self, count: u64, workers: &Workers) -> Result<i64> {
        let take = |in_flight: u64| Some(in_flight.saturating_sub(count));
        let before = self.in_flight.fetch_update(Ordering::Acquire, Ordering::Relaxed, take);
        // Each of these completes, and no other thread waits for it.
        let claimed = before.unwrap_or(0).min(count);
        let mut results = Results::default();
        match &self.engine {
            Engine::Context(context) => context.complete(claimed, &mut results)?,
            Engine::Ring(ring) => ring.complete(claimed, &mut results)?,
            Engine::Workers(requests) => {
                for _ in 0..claimed {
                    let Some(pending) = locked(requests).pop_front() else { break };
                    results.see(pending.expected, workers.finish(&pending));
                }
            }
        }
        match results.failed {
            Some(error) => Err(error),
            None if claimed < count => Err(Errno::AGAIN),
            None => Ok(results.deviation),
        }
    }

    fn drain(&self, workers: &Workers) {
        let left = self.in_flight.load(Ordering::Acquire);
        if left > 0 {
            // What becomes of them nobody asks any more.
            let _ = self.complete(left, workers);
        }
    }
}
