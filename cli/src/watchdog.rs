//! `syn watchdog`: watches the board of this host while a job is throttled, and lets held calls go when every other node has exited
//! or is blocked.

pub mod learnt;
pub mod verdict;

use anyhow::Context;
use learnt::Learnt;
use rustix::thread::futex;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use syn_trace::board::{Board, BoardFile, hold};
use verdict::{Processor, Verdict, held};

/// Watches the threads of a throttled job on this host, and decides how long calls are held; `syn record --throttle` starts it
#[derive(clap::Args)]
pub struct Args {
    /// The run folder, with this host's board in it.
    #[arg(long, value_name = "DIR")]
    run: PathBuf,
    /// A run of the same without throttling: what is usual there.
    #[arg(long, value_name = "RUN")]
    learn: Option<PathBuf>,
    /// Another name than this host's, for its board.
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
}

/// Between two looks while somebody is held, and while nobody is.
const LOOK: Duration = Duration::from_micros(500);
const IDLE: Duration = Duration::from_millis(1);
/// A look that comes late counts for no more: this process, or the whole job, has stood still.
const MOST_PASSED: Duration = Duration::from_millis(2);

/// Runs the subcommand: until standard input ends.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let host = args.host.unwrap_or_else(host_name);
    let board = BoardFile::open(&args.run, &host)
        .with_context(|| format!("cannot use the board {}", BoardFile::path(&args.run, &host).display()))?;
    let learnt = match &args.learn {
        Some(run) => Learnt::of(run)?,
        None => Learnt::default(),
    };
    let over = Arc::new(AtomicBool::new(false));
    let told = over.clone();
    std::thread::spawn(move || {
        // Whoever started us closes it, or has ended.
        let mut rest = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut rest);
        told.store(true, Ordering::Relaxed);
    });
    watch(&board, Verdict::new(learnt), &over);
    Ok(crate::DONE)
}

fn watch(board: &Board, mut verdict: Verdict, over: &AtomicBool) {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut was_held = false;
    let mut before = Instant::now();
    while !over.load(Ordering::Relaxed) {
        board.heartbeat.fetch_add(1, Ordering::Relaxed);
        let is_held = held(board).next().is_some();
        if is_held && !was_held {
            verdict.begin();
            verdict.crowd = (board.slots().len() / processors).clamp(1, 16) as u32;
            before = Instant::now();
        }
        was_held = is_held;
        if !is_held {
            std::thread::sleep(IDLE);
            continue;
        }
        let passed = before.elapsed().min(MOST_PASSED);
        before = Instant::now();
        if verdict.look(board, passed, life) {
            held(board).for_each(|slot| {
                release(slot);
            });
            was_held = false;
        }
        std::thread::sleep(LOOK);
    }
}

/// Lets a held thread go, if it has not gone by itself.
fn release(slot: &syn_trace::board::Slot) {
    let (from, to) = (hold::HELD, hold::RELEASED);
    if slot.hold.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        let _ = futex::wake(&slot.hold, futex::Flags::empty(), 1);
    }
}

/// What the kernel says of a thread: `/proc/PID/task/TID/schedstat` (proc(5)) holds its time on a processor and its time waiting for
/// one, nanoseconds. Of a zombie there is no more to come.
fn life(pid: u32, tid: u32) -> Option<Processor> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    if tid == pid && is_zombie(pid) {
        return None;
    }
    let mut times = text.split(' ').map(|word| Duration::from_nanos(word.trim().parse().unwrap_or(0)));
    Some(Processor { used: times.next()?, delayed: times.next()? })
}

fn is_zombie(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']))
}

/// This host's name, as the recorder has it.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The board's counters, for the statement about a run.
pub fn holds(board: &Board) -> [u32; 3] {
    [0, 1, 2].map(|reason: usize| board.holds[reason].load(Ordering::Relaxed))
}
