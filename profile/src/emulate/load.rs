//! Artificial load: a part of all processors, of a disk's bandwidth, of the memory, held while something else runs.

use crate::machine::processors;
use anyhow::Context;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Load by itself, for so long.
///
/// # Errors
/// When it cannot be put on.
pub fn run(targets: &[Target], time: Duration, folder: &Path) -> anyhow::Result<u8> {
    let ended = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let begun = Instant::now();
        let all: Vec<_> = targets
            .iter()
            .map(|&target| {
                let ended = ended.clone();
                scope.spawn(move || hold(target, folder, &ended))
            })
            .collect();
        // An early end of one is a failure, and is told when all are over.
        while begun.elapsed() < time && !all.iter().any(|load| load.is_finished()) {
            std::thread::sleep(Duration::from_millis(20).min(time));
        }
        ended.store(true, Ordering::Release);
        for (load, target) in all.into_iter().zip(targets) {
            let held = load.join().map_err(|_| anyhow::anyhow!("a thread has failed"))??;
            println!(
                "load       {:?}: {:.2} % held of {:.2} % asked for",
                target.what,
                held * 100.0,
                target.part * 100.0
            );
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
            let forever = AtomicBool::new(false);
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
fn hold(target: Target, folder: &Path, ended: &AtomicBool) -> anyhow::Result<f64> {
    match target.what {
        What::Cpu => cpu(target.part, ended),
        What::Disk => disk(target.part, folder, ended),
        What::Memory => memory(target.part, ended),
    }
}

/// A thread per processor, each of which uses `part` of the time that has passed.
fn cpu(part: f64, ended: &AtomicBool) -> anyhow::Result<f64> {
    /// Short against what schedulers and users feel.
    const PERIOD_NS: u64 = 20_000_000;
    let all = processors();
    let threads = all.ceil().max(1.0) as usize;
    let part_of_thread = part * all / threads as f64;
    let one = || {
        let _exact = ExactSleeps::begin();
        let mut work = Loop::new(Kernel::Mixed);
        let (begun, cpu_begun) = (now_ns(), thread_cpu_ns());
        let mut next = begun;
        while !ended.load(Ordering::Acquire) {
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

/// Writes and syncs, at `part` of the bandwidth that it measures first.
fn disk(part: f64, folder: &Path, ended: &AtomicBool) -> anyhow::Result<f64> {
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
    let whole = FILE as f64 / begun.elapsed().as_secs_f64();
    let (begun, mut busy) = (Instant::now(), Duration::ZERO);
    while !ended.load(Ordering::Acquire) {
        let now = Instant::now();
        if busy.as_secs_f64() < begun.elapsed().as_secs_f64() * part {
            write(&mut file)?;
            busy += now.elapsed();
        } else {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    debug_assert!(whole > 0.0);
    Ok(busy.as_secs_f64() / begun.elapsed().as_secs_f64().max(1e-9))
}

/// Holds so much that `part` of all memory is in use, by whomever.
fn memory(part: f64, ended: &AtomicBool) -> anyhow::Result<f64> {
    let figure = |name: &str| -> anyhow::Result<f64> {
        let text = std::fs::read_to_string("/proc/meminfo")?;
        let kib: u64 = crate::proc::field(&text, name).context("no such line in /proc/meminfo")?;
        Ok(kib as f64 * 1024.0)
    };
    let all = figure("MemTotal:")?;
    let mut own = Memory::new((all * part) as u64)?;
    while !ended.load(Ordering::Acquire) {
        let missing = all * part - (all - figure("MemAvailable:")?);
        if missing.abs() > 0.002 * all {
            own.hold((own.held() as f64 + missing).max(0.0) as u64);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(1.0 - figure("MemAvailable:")? / all)
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
