//! What a process knows of itself: whether and where it records, and what stands in the header of its threads.
//!
//! Everything here is set once, at start (and again in a forked child), before any thread of the process records.

pub mod job;
pub mod machine;
mod program_path;
pub mod run_folder;
pub mod settings;

use crate::core::{clock, own_path, preemption, sys};
use crate::recording::process::machine::Machine;
use crate::recording::process::program_path::PATH_BYTES;
use crate::recording::process::run_folder::FOLDER_BYTES;
use crate::recording::thread::current;
use crate::recording::thread::state::State;
use crate::throttle;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use syn_trace::board;
use syn_trace::calls::{Call, Layer};
use syn_trace::header::{self, ClockPair, HEADER_BYTES, Header};
use syn_trace::policy::Policy;

const UNKNOWN: u8 = 0;
const STARTING: u8 = 1;
/// Every call is recorded.
const RECORDING: u8 = 2;
/// Of launchers, and of programs that the user leaves out, process creation alone is recorded.
const PROCESS_ONLY: u8 = 3;
const OFF: u8 = 4;

static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);
static LEFT_OUT: AtomicBool = AtomicBool::new(false);
static CAPABILITIES: AtomicU64 = AtomicU64::new(0);
static PID: AtomicU32 = AtomicU32::new(0);
static START_NS: AtomicU64 = AtomicU64::new(0);
/// The rank's complement: of a process that has none (-1), zero, and so in no page of its own.
static NOT_RANK: AtomicI32 = AtomicI32::new(0);
static RANKS: AtomicI32 = AtomicI32::new(0);
static MPI: AtomicU32 = AtomicU32::new(0);
static JOB: AtomicU64 = AtomicU64::new(0);
/// CPU time of the thread that found out what to record, when it began to; 0 in a forked child, which need not.
static SETUP_FROM_CPU_NS: AtomicU64 = AtomicU64::new(0);
static FOLDER_LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Bytes that are written once, before `MODE` says that they may be read.
struct Once<const N: usize>(core::cell::UnsafeCell<[u8; N]>);
// SAFETY: written only while MODE is STARTING, by the one thread that made it so; read only after that.
unsafe impl<const N: usize> Sync for Once<N> {}
impl<const N: usize> Once<N> {
    fn get(&self) -> &[u8; N] {
        // SAFETY: see above.
        unsafe { &*self.0.get() }
    }
    /// # Safety
    /// Only while nobody else can be here.
    #[allow(clippy::mut_from_ref)]
    unsafe fn get_mut(&self) -> &mut [u8; N] {
        // SAFETY: as the caller vouches.
        unsafe { &mut *self.0.get() }
    }
}
/// The path of the program's file, and right behind it that of the run folder: in one page as a rule.
#[unsafe(link_section = ".bss.paths")]
static PATHS: Once<{ PATH_BYTES + FOLDER_BYTES }> =
    Once(core::cell::UnsafeCell::new([0; PATH_BYTES + FOLDER_BYTES]));
static PROGRAM_LENGTH: AtomicUsize = AtomicUsize::new(0);
/// [`Machine`], once it is known.
static MACHINE: Once<{ Machine::BYTES }> = Once(core::cell::UnsafeCell::new([0; Machine::BYTES]));
static MACHINE_IS_KNOWN: AtomicBool = AtomicBool::new(false);
static HOST: Once<64> = Once(core::cell::UnsafeCell::new([0; 64]));

/// True when calls of this process are recorded; starts recording at the first call.
#[cold]
#[unsafe(link_section = ".text.startup")]
pub fn is_recording() -> bool {
    if MODE.load(Ordering::Acquire) == UNKNOWN {
        start();
    }
    matches!(MODE.load(Ordering::Acquire), RECORDING | PROCESS_ONLY)
}

/// True for calls that this process does not record. (One that does not know yet what it records leaves out none.)
#[inline(always)]
pub fn leaves_out(call: Call) -> bool {
    let mode = MODE.load(Ordering::Relaxed);
    mode != RECORDING && (mode == OFF || mode == PROCESS_ONLY && !matches!(call.layer(), Layer::Process))
}

/// True when the process's entries in libc are worth detouring.
pub fn records_everything() -> bool {
    MODE.load(Ordering::Relaxed) == RECORDING
}

/// The process id, as noted at start.
pub fn pid() -> u32 {
    PID.load(Ordering::Relaxed)
}

/// `CLOCK_MONOTONIC` when the process image started, nanoseconds.
pub fn start_ns() -> u64 {
    START_NS.load(Ordering::Relaxed)
}

/// Finds out whether and where to record. Runs once, in the constructor or at the first hooked call before it.
#[unsafe(link_section = ".text.startup")]
fn start() {
    if MODE.compare_exchange(UNKNOWN, STARTING, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return;
    }
    // The decision comes first: a process that is not to be recorded may be under a filter that lets nothing else pass.
    let decision = settings::decide(note_program);
    if !decision.record {
        MODE.store(OFF, Ordering::Release);
        return;
    }
    SETUP_FROM_CPU_NS.store(clock::thread_cpu_ns(), Ordering::Relaxed);
    note_identity();
    FOLDER_LENGTH.store(decision.folder_length, Ordering::Relaxed);
    if decision.policy.is_process_only() {
        CAPABILITIES.fetch_or(header::PROCESS_ONLY, Ordering::Relaxed);
    }
    LEFT_OUT.store(decision.policy == Policy::LeftOut, Ordering::Relaxed);
    clock::choose();
    // SAFETY: MODE is STARTING.
    machine::host_name(unsafe { HOST.get_mut() });
    if preemption::find() {
        CAPABILITIES.fetch_or(header::SEES_PREEMPTION, Ordering::Relaxed);
    }
    if !decision.policy.is_process_only() && settings::may_be_throttled() {
        find_board();
    }
    own_path::note();
    let mode = if decision.policy.is_process_only() { PROCESS_ONLY } else { RECORDING };
    MODE.store(mode, Ordering::Release);
}

/// What the process knows of its machine, as another has left it or it finds it now.
#[unsafe(link_section = ".text.startup")]
pub fn machine() -> Machine {
    if !MACHINE_IS_KNOWN.load(Ordering::Acquire) {
        know_machine(&Machine::find().to_bytes());
    }
    Machine::of_bytes(MACHINE.get())
}

/// Another process of the run has found this. To be called before the first thread is recorded, which looks for itself otherwise.
#[unsafe(link_section = ".text.startup")]
pub fn know_machine(found: &[u8; Machine::BYTES]) {
    // SAFETY: until it is known the process has one thread, which is here.
    unsafe { MACHINE.get_mut().copy_from_slice(found) };
    MACHINE_IS_KNOWN.store(true, Ordering::Release);
}

/// Finds out the path of the program's file (a forked child has the same); and room for that of the run folder.
fn note_program() -> (&'static [u8], &'static mut [u8]) {
    // SAFETY: MODE is STARTING.
    let paths = unsafe { PATHS.get_mut() };
    let length = paths.first_chunk_mut().map_or(0, |room| program_path::find(settings::arguments(), room));
    PROGRAM_LENGTH.store(length, Ordering::Relaxed);
    let (program, behind) = paths.split_at_mut(length);
    (program, &mut behind[..FOLDER_BYTES])
}

/// The path of the program's file.
pub fn program() -> &'static [u8] {
    &PATHS.get()[..PROGRAM_LENGTH.load(Ordering::Relaxed)]
}

/// The script that was started, if the program is its interpreter.
#[unsafe(link_section = ".text.startup")]
pub fn script() -> Option<&'static [u8]> {
    program_path::script(settings::arguments())
}

/// That of the run folder.
fn folder() -> &'static [u8] {
    &PATHS.get()[PROGRAM_LENGTH.load(Ordering::Relaxed)..][..FOLDER_LENGTH.load(Ordering::Relaxed)]
}

fn note_identity() {
    // SAFETY: no arguments.
    PID.store(unsafe { sys::getpid() } as u32, Ordering::Relaxed);
    START_NS.store(sys::clock_ns(libc::CLOCK_MONOTONIC), Ordering::Relaxed);
}

/// Maps the board on which the threads of a throttled job publish what they do, if this host has one.
fn find_board() {
    let mut name = [0; 80];
    let host = HOST.get().iter().copied().take_while(|&byte| byte != 0);
    for (to, from) in name.iter_mut().zip(board::FILE_PREFIX.bytes().chain(host)) {
        *to = from;
    }
    let mut path = [0; FOLDER_BYTES + 80];
    let _ = with_path(&mut path, &name, |path| throttle::open(path, settings::rank()));
}

/// In a forked child: another process, of the same run.
#[unsafe(link_section = ".text.startup")]
pub fn start_in_forked_child() {
    note_identity();
    SETUP_FROM_CPU_NS.store(0, Ordering::Relaxed);
}

/// True in a program whose calls the user leaves out.
pub fn is_left_out() -> bool {
    LEFT_OUT.load(Ordering::Relaxed)
}

/// True in a process that a fork has made, and no exec since.
pub fn is_forked() -> bool {
    SETUP_FROM_CPU_NS.load(Ordering::Relaxed) == 0
}

/// Calls `then` with the path of the run folder.
pub fn with_folder<T>(then: impl FnOnce(&[u8]) -> T) -> T {
    then(folder())
}

/// Calls `then` with the path of the file `name` in the run folder, ending with a zero byte.
pub fn with_path<T>(buffer: &mut [u8], name: &[u8], then: impl FnOnce(*const u8) -> Option<T>) -> Option<T> {
    let folder = folder();
    let name = &name[..name.iter().position(|&byte| byte == 0).unwrap_or(name.len())];
    if folder.len() + name.len() + 2 > buffer.len() {
        return None;
    }
    buffer[..folder.len()].copy_from_slice(folder);
    buffer[folder.len()] = b'/';
    buffer[folder.len() + 1..][..name.len()].copy_from_slice(name);
    buffer[folder.len() + 1 + name.len()] = 0;
    then(buffer.as_ptr())
}

/// Fills in the header of a new thread. `started_cpu_ns` is the thread's CPU time so far.
pub fn fill_header(to: &mut Header, tid: u32, began: ClockPair, started_cpu_ns: u64) {
    let (clock, tick_shift) = clock::description();
    to.version = header::VERSION;
    to.header_bytes = HEADER_BYTES as u32;
    to.pid = pid();
    to.tid = tid;
    // SAFETY: no arguments.
    to.ppid = unsafe { sys::getppid() } as u32;
    (to.clock, to.tick_shift) = (clock, tick_shift);
    to.rank.store(!NOT_RANK.load(Ordering::Relaxed), Ordering::Relaxed);
    to.ranks.store(RANKS.load(Ordering::Relaxed), Ordering::Relaxed);
    to.mpi.store(MPI.load(Ordering::Relaxed), Ordering::Relaxed);
    to.job.store(JOB.load(Ordering::Relaxed), Ordering::Relaxed);
    let machine = machine();
    [to.gap_cost_ticks, to.call_cost_ticks, to.reading_cost_ticks] = machine.costs;
    to.processors = machine.processors;
    to.start_cpu_ns = started_cpu_ns;
    // The thread that set up is the first one of its process.
    to.setup_cpu_ns = match SETUP_FROM_CPU_NS.load(Ordering::Relaxed) {
        from if from != 0 && tid == pid() => started_cpu_ns.saturating_sub(from),
        _ => 0,
    };
    to.capabilities.store(CAPABILITIES.load(Ordering::Relaxed), Ordering::Relaxed);
    to.process_start_ns = start_ns();
    to.start = began;
    to.latest = [began; 2];
    to.start_realtime_ns = (sys::clock_ns(libc::CLOCK_REALTIME) as i64
        - (sys::clock_ns(libc::CLOCK_MONOTONIC) as i64 - began.monotonic_ns as i64))
        as u64;
    to.boot_id = machine.boot_id;
    to.host = *HOST.get();
    to.magic = header::MAGIC;
}

/// Notes what has turned out to be observable, in the headers to come and in that of this thread.
pub fn add_capability(bit: u64) {
    CAPABILITIES.fetch_or(bit, Ordering::Relaxed);
    if let Some(state) = current::state() {
        state.header().capabilities.fetch_or(bit, Ordering::Relaxed);
    }
}

/// `MPI_Init` has told who we are.
pub fn set_world(state: &State, rank: i32, ranks: i32, mpi: u32) {
    NOT_RANK.store(!rank, Ordering::Relaxed);
    RANKS.store(ranks, Ordering::Relaxed);
    MPI.store(mpi, Ordering::Relaxed);
    JOB.store(job::number(settings::variable_at_start), Ordering::Relaxed);
    let header = state.header();
    header.rank.store(rank, Ordering::Relaxed);
    header.ranks.store(ranks, Ordering::Relaxed);
    header.mpi.store(mpi, Ordering::Relaxed);
    header.job.store(JOB.load(Ordering::Relaxed), Ordering::Relaxed);
    header.capabilities.fetch_or(header::SEES_MPI, Ordering::Relaxed);
}
