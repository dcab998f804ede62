//! Artificial load: a part of all processors, of a disk's bandwidth, of the memory, held while something else runs.

use crate::machine::processors;
use crate::screen::print;
use anyhow::Context;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use syn_replay::clock::{ExactSleeps, now_ns, sleep_until, thread_cpu_ns};
use syn_replay::demands::kernels::{Kernel, Loop};
use syn_replay::demands::memory::Memory;
use syn_replay::sys::child::fork;

/// Which resource, and which part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    what: What,
    part: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Cpu,
    Disk,
    Memory,
}

/// `cpu=50%` and the like.
///
/// # Errors
/// When it is something else.
pub fn target(text: &str) -> Result<Target, String> {
    let wrong = "it is cpu=N%, disk=N% or memory=N%, N up to 100";
    let (name, percent) = text.split_once('=').ok_or(wrong)?;
    let what = match name {
        "cpu" => What::Cpu,
        "disk" => What::Disk,
        "memory" => What::Memory,
        _ => return Err(wrong.into()),
    };
    match percent.strip_suffix('%').and_then(|number| number.parse::<f64>().ok()) {
        Some(percent) if (0.0..=100.0).contains(&percent) => Ok(Target { what, part: percent / 100.0 }),
        _ => Err(wrong.into()),
    }
}

/// What the threads of a load tell each other.
#[derive(Debug, Default)]
struct Stage {
    /// How many loads are on.
    on: AtomicUsize,
    /// It is over.
    ended: AtomicBool,
}

impl Stage {
    fn is_over(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn is_on(&self) {
        self.on.fetch_add(1, Ordering::AcqRel);
    }
}

/// Load by itself, for so long from when all of it is on.
///
/// # Errors
/// When it cannot be put on.
pub fn run(targets: &[Target], time: Duration, folder: &Path) -> anyhow::Result<u8> {
    let stage = Stage::default();
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let stage = &stage;
        let all: Vec<_> =
            targets.iter().map(|&target| scope.spawn(move || hold(target, folder, stage))).collect();
        // An early end of one is a failure, and is told when all are over.
        let failed = || all.iter().any(|load| load.is_finished());
        let look = Duration::from_millis(20).min(time);
        while stage.on.load(Ordering::Acquire) < targets.len() && !failed() {
            std::thread::sleep(look);
        }
        let begun = Instant::now();
        while begun.elapsed() < time && !failed() {
            std::thread::sleep(look);
        }
        stage.ended.store(true, Ordering::Release);
        for (load, target) in all.into_iter().zip(targets) {
            let held = load.join().map_err(|_| anyhow::anyhow!("a thread has failed"))??;
            print(&format!(
                "load       {:?}: {:.2} % held of {:.2} % asked for\n",
                target.what,
                held * 100.0,
                target.part * 100.0
            ))?;
        }
        Ok(())
    })?;
    Ok(0)
}

/// Load while something else runs: a process of its own, ended with this value.
pub struct Background(Option<rustix::process::Pid>);

impl Background {
    /// Puts it on, if there is any.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub fn start(targets: &[Target], folder: &Path) -> anyhow::Result<Background> {
        if targets.is_empty() {
            return Ok(Background(None));
        }
        let body = || {
            let forever = Stage::default();
            std::thread::scope(|scope| {
                let forever = &forever;
                targets.iter().for_each(|&target| {
                    scope.spawn(move || {
                        if let Err(error) = hold(target, folder, forever) {
                            eprintln!("syn: no load on {:?}: {error:#}", target.what);
                        }
                    });
                });
            });
            0
        };
        Ok(Background(Some(fork(body)?)))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
        }
    }
}

/// Holds one load until it is over; what was really held.
fn hold(target: Target, folder: &Path, stage: &Stage) -> anyhow::Result<f64> {
    match target.what {
        What::Cpu => cpu(target.part, stage),
        What::Disk => disk(target.part, folder, stage),
        What::Memory => memory(target.part, stage),
    }
}

/// A thread per processor, each of which uses `part` of the time that has passed.
fn cpu(part: f64, stage: &Stage) -> anyhow::Result<f64> {
    /// Short against what schedulers and users feel.
    const PERIOD_NS: u64 = 20_000_000;
    let all = processors();
    let threads = all.ceil().max(1.0) as usize;
    let part_of_thread = part * all / threads as f64;
    stage.is_on();
    let one = || {
        let _exact = ExactSleeps::begin();
        let mut work = Loop::new(Kernel::Mixed);
        let (begun, cpu_begun) = (now_ns(), thread_cpu_ns());
        let mut next = begun;
        while !stage.is_over() {
            next = (next + PERIOD_NS).max(now_ns());
            // What is missing of all the time, so that no error adds up.
            let due = ((next - begun) as f64 * part_of_thread) as u64;
            let missing = due.saturating_sub(thread_cpu_ns() - cpu_begun);
            work.burn_ns(missing.min(2 * PERIOD_NS));
            sleep_until(next);
        }
        (thread_cpu_ns() - cpu_begun) as f64 / (now_ns() - begun).max(1) as f64
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        let mut sum = 0.0;
        for thread in started {
            sum += thread.join().map_err(|_| anyhow::anyhow!("a thread has failed"))?;
        }
        Ok(sum / all)
    })
}

/// Writes and syncs, at `part` of the bandwidth that it measures first; what it wrote, as a part of that.
fn disk(part: f64, folder: &Path, stage: &Stage) -> anyhow::Result<f64> {
    const BLOCK: usize = 1 << 20;
    const FILE: u64 = 64 << 20;
    let mut file =
        tempfile::tempfile_in(folder).with_context(|| format!("cannot write in {}", folder.display()))?;
    let block = vec![0x5a; BLOCK];
    let write = |file: &mut File| -> std::io::Result<()> {
        if file.stream_position()? >= FILE {
            file.seek(SeekFrom::Start(0))?;
        }
        file.write_all(&block)?;
        file.sync_data()
    };
    for _ in 0..FILE / BLOCK as u64 {
        write(&mut file)?;
    }
    // The file is there now: what follows overwrites it, as the load does.
    let begun = Instant::now();
    for _ in 0..FILE / BLOCK as u64 {
        write(&mut file)?;
    }
    let bytes_a_second = FILE as f64 / begun.elapsed().as_secs_f64().max(1e-9);
    stage.is_on();
    let (begun, mut written) = (Instant::now(), 0.0);
    while !stage.is_over() {
        // Blocks are due at their middle, so that as much is early as is late.
        if written + BLOCK as f64 / 2.0 <= begun.elapsed().as_secs_f64() * bytes_a_second * part {
            write(&mut file)?;
            written += BLOCK as f64;
        } else {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(written / (begun.elapsed().as_secs_f64() * bytes_a_second).max(1.0))
}

/// Holds so much that `part` of all memory is in use, by whomever; the mean of what was in use since it first was so much.
fn memory(part: f64, stage: &Stage) -> anyhow::Result<f64> {
    /// At once, so that an end is noticed.
    const PIECE: u64 = 256 << 20;
    let figure = |name: &str| -> anyhow::Result<f64> {
        let text = std::fs::read_to_string("/proc/meminfo")?;
        let kib: u64 = crate::proc::field(&text, name).context("no such line in /proc/meminfo")?;
        Ok(kib as f64 * 1024.0)
    };
    let all = figure("MemTotal:")?;
    let mut own = Memory::in_large_pages((all * part) as u64)?;
    let (mut sum, mut looks) = (0.0, 0_u32);
    loop {
        let used = 1.0 - figure("MemAvailable:")? / all;
        // Where others use more already, there is nothing to hold.
        let reached = (used - part).abs() < 0.005 || own.held() == 0 && used > part;
        if looks == 0 && reached {
            stage.is_on();
        }
        if looks > 0 || reached {
            (sum, looks) = (sum + used, looks + 1);
        }
        if stage.is_over() {
            return Ok(sum / f64::from(looks.max(1)));
        }
        let missing = all * (part - used);
        if missing.abs() > 0.002 * all {
            let wanted = (own.held() as f64 + missing).max(0.0) as u64;
            own.hold(wanted.min(own.held() + PIECE));
        }
        if looks > 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_percents() {
        assert_eq!(target("cpu=50%"), Ok(Target { what: What::Cpu, part: 0.5 }));
        for wrong in ["cpu=50", "cpu=101%", "heat=5%", "cpu"] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }
}
