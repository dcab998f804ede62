//! Executors: threads that do the steps. All atoms of a step start together, and the next step starts when the last has
//! ended: who ends last wakes those that have something to do in the next.

use super::memory::Memory;
use super::network::Network;
use super::steps::Step;
use super::storage::Storage;
use crate::kernels::{Kernel, Loop};
use rustix::thread::futex::{self, Flags};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use syn_replay::clock::{now_ns, sleep_until, thread_cpu_ns};
use syn_replay::sys::shared::SharedSlice;

/// What is shared by all executors of all processes.
pub struct Stage {
    /// One word an executor: the step that it may do, plus one. In lines of the cache of their own.
    turns: SharedSlice<AtomicU32>,
    control: SharedSlice<AtomicU64>,
}

/// Words of a line of the cache.
const LINE: usize = 16;
const ENDED_IN_STEP: usize = 0;
const READY: usize = 1;
const BEGUN_NS: usize = 2;
const OVER_NS: usize = 3;
const CPU_NS: usize = 4;
const FAILED: usize = 5;
const OWN_MEMORY: usize = 6;
const MOVED: usize = 7;

impl Stage {
    /// For so many executors.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(executors: usize) -> anyhow::Result<Stage> {
        Ok(Stage { turns: SharedSlice::new(executors * LINE)?, control: SharedSlice::new(MOVED + 5)? })
    }

    fn turn(&self, executor: usize) -> &AtomicU32 {
        &self.turns[executor * LINE]
    }

    /// How many executors are ready.
    pub fn ready(&self) -> u64 {
        self.control[READY].load(Ordering::Acquire)
    }

    /// True when one has failed, and said why.
    pub fn failed(&self) -> bool {
        self.control[FAILED].load(Ordering::Acquire) > 0
    }

    /// Begins the first step. `own_memory`: what the emulator's processes have themselves, bytes.
    pub fn start(&self, steps: &[Step], own_memory: u64) {
        self.control[OWN_MEMORY].store(own_memory, Ordering::Release);
        self.control[BEGUN_NS].store(now_ns(), Ordering::Release);
        self.begin(steps, 0);
    }

    fn begin(&self, steps: &[Step], number: usize) {
        if number == steps.len() {
            self.control[OVER_NS].store(now_ns(), Ordering::Release);
            let all = self.turns.len() / LINE;
            (0..all).for_each(|executor| self.wake(executor, number));
            return;
        }
        for executor in 0..steps[number].cpu_ns.len() {
            self.wake(executor, number);
        }
    }

    fn wake(&self, executor: usize, number: usize) {
        self.turn(executor).store(number as u32 + 1, Ordering::Release);
        let _ = futex::wake(self.turn(executor), Flags::empty(), 1);
    }

    fn wait(&self, executor: usize, number: usize) {
        loop {
            let turn = self.turn(executor).load(Ordering::Acquire);
            if turn > number as u32 {
                return;
            }
            let _ = futex::wait(self.turn(executor), Flags::empty(), turn, None);
        }
    }

    fn end(&self, steps: &[Step], number: usize) {
        if self.control[ENDED_IN_STEP].fetch_add(1, Ordering::AcqRel) + 1 == steps[number].cpu_ns.len() as u64
        {
            self.control[ENDED_IN_STEP].store(0, Ordering::Release);
            self.begin(steps, number + 1);
        }
    }

    /// What it all took.
    pub fn result(&self) -> Emulated {
        let get = |place: usize| self.control[place].load(Ordering::Acquire);
        Emulated {
            wall_ns: get(OVER_NS).saturating_sub(get(BEGUN_NS)),
            cpu_ns: get(CPU_NS),
            bytes: [get(MOVED), get(MOVED + 1)],
            network: [get(MOVED + 2), get(MOVED + 3), get(MOVED + 4)],
        }
    }
}

/// What an emulation has consumed.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Emulated {
    /// From the start of the first step to the end of the last, nanoseconds.
    pub wall_ns: u64,
    /// CPU time of the executors meanwhile, nanoseconds.
    pub cpu_ns: u64,
    /// Bytes read and written.
    pub bytes: [u64; 2],
    /// Bytes sent, received, sent to ourselves.
    pub network: [u64; 3],
}

/// What all executors go by.
pub struct Script<'a> {
    /// The steps.
    pub steps: &'a [Step],
    /// What computation does.
    pub kernel: Kernel,
    /// The part of it that is not spent waiting for memory.
    pub efficiency: f64,
    /// No step ends earlier than it did.
    pub keep_time: bool,
}

/// The atoms of one executor beside computation; of others than the first, none.
#[derive(Default)]
pub struct Atoms {
    /// Files.
    pub storage: Option<Storage>,
    /// Memory.
    pub memory: Option<Memory>,
    /// Sockets.
    pub network: Option<Network>,
}

/// Atoms take turns in slices of about this CPU time, nanoseconds.
const SLICE_NS: u64 = 1_000_000;
/// And of at most so many.
const SLICES: u64 = 64;

/// Does all steps as executor `number`. Failures are said on standard error.
pub fn play(stage: &Stage, script: &Script<'_>, number: usize, mut atoms: Atoms) {
    let mut work = Loop::new(script.kernel);
    let mut stalls = (script.efficiency < 1.0).then(|| Loop::new(Kernel::Memory));
    stage.control[READY].fetch_add(1, Ordering::AcqRel);
    let (begun, mut due) = (thread_cpu_ns(), 0);
    for (place, step) in script.steps.iter().enumerate() {
        let Some(&cpu_ns) = step.cpu_ns.get(number) else { continue };
        stage.wait(number, place);
        let own_memory = stage.control[OWN_MEMORY].load(Ordering::Acquire);
        let until = now_ns() + step.span_ns;
        let before = due;
        due += cpu_ns;
        let slices = (cpu_ns / SLICE_NS).clamp(1, SLICES);
        for slice in 0..slices {
            if let Err(error) = atoms.slice(step, own_memory, slice, slices) {
                if stage.control[FAILED].fetch_add(1, Ordering::AcqRel) == 0 {
                    eprintln!("syn: the emulation has failed: {error:#}");
                }
                return;
            }
            // What the other atoms have used counts, and so do steps before that took more than they should.
            let due = before + cpu_ns * (slice + 1) / slices;
            let left = due.saturating_sub(thread_cpu_ns() - begun);
            work.burn_ns((left as f64 * script.efficiency) as u64);
            if let Some(stalls) = &mut stalls {
                stalls.burn_ns((left as f64 * (1.0 - script.efficiency)) as u64);
            }
        }
        if script.keep_time && number == 0 {
            sleep_until(until);
        }
        stage.end(script.steps, place);
    }
    stage.control[CPU_NS].fetch_add(thread_cpu_ns() - begun, Ordering::AcqRel);
    let bytes = atoms.storage.as_ref().map_or([0; 2], |storage| storage.moved);
    let network = atoms.network.as_ref().map_or([0; 3], |network| network.moved);
    for (place, bytes) in bytes.into_iter().chain(network).enumerate() {
        stage.control[MOVED + place].fetch_add(bytes, Ordering::AcqRel);
    }
    // Those that have nothing to do are there to the end, as threads that wait are.
    stage.wait(number, script.steps.len());
}

impl Atoms {
    /// One of `slices` parts of what they do in a step.
    fn slice(&mut self, step: &Step, own_memory: u64, slice: u64, slices: u64) -> anyhow::Result<()> {
        let part = |all: u64| all * (slice + 1) / slices - all * slice / slices;
        if let Some(memory) = &mut self.memory {
            let (held, goal) = (memory.held(), step.resident.saturating_sub(own_memory));
            let next = if slice + 1 == slices {
                goal
            } else {
                (held as i128 + (goal as i128 - held as i128) / i128::from(slices - slice)) as u64
            };
            memory.hold(next);
            memory.pass(part(step.touched).saturating_sub(next.saturating_sub(held)));
        }
        if let Some(storage) = &mut self.storage {
            for &calls in &step.calls {
                storage.perform(calls, part(calls.count))?;
            }
        }
        if let Some(network) = &mut self.network {
            network.perform(step.network.map(part))?;
        }
        Ok(())
    }
}
