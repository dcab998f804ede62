//! What a machine can do: a few seconds of probes, kept with its profiles, so that work can be told from seconds.

use crate::metrics::Metrics;
use crate::stats::median;
use anyhow::Context;
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Instant;
use syn_replay::demands::kernels::{Kernel, Loop};

/// What tells machines apart: processor, number of them, memory. Not its name.
pub fn fingerprint() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let mib = crate::proc::field::<u64>(&memory, "MemTotal:").unwrap_or(0) / 1024;
    let cores = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    format!("{}, {cores} processors, {mib} MiB", model.map_or("unknown processor", |(_, name)| name.trim()))
}

/// Processors that the control group allows, if it limits them: `cpu.max`, or `cpu.cfs_quota_us` of version 1.
pub fn cgroup_processors() -> Option<f64> {
    lowest_limit("cpu", |read| {
        let both = [read("cpu.max"), read("cpu.cfs_quota_us") + " " + &read("cpu.cfs_period_us")];
        let limits = both.iter().filter_map(|text| {
            let mut words = text.split_ascii_whitespace().map(str::parse::<f64>);
            // Without a limit the quota is `max`, or -1.
            let (quota, period) = (words.next()?.ok()?, words.next()?.ok()?);
            (quota > 0.0).then_some(quota / period)
        });
        limits.reduce(f64::min)
    })
}

/// Bytes that the control group still allows, if it limits memory: `memory.max`, or `memory.limit_in_bytes` of version 1.
pub fn cgroup_memory() -> Option<u64> {
    lowest_limit("memory", |read| free_memory(read).map(|bytes| bytes as f64)).map(|bytes| bytes as u64)
}

/// Of one group. What its files have in memory and do not use gives way.
fn free_memory(read: &dyn Fn(&str) -> String) -> Option<u64> {
    let number = |names: [&str; 2]| names.iter().find_map(|name| read(name).trim().parse::<u64>().ok());
    // Without a limit it is `max`, or more than there can be: no machine has so much.
    let limit = number(["memory.max", "memory.limit_in_bytes"])?;
    let used = number(["memory.current", "memory.usage_in_bytes"])?;
    let stat = read("memory.stat");
    let names = ["\ntotal_inactive_file ", "\ninactive_file "];
    let gives_way = names.iter().find_map(|name| crate::proc::field::<u64>(&stat, name)).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(gives_way)))
}

/// The lowest of what `limit` finds in the control group of this process and in those above it. It is given what reads a file there;
/// what is not there is empty.
fn lowest_limit(controller: &str, limit: impl Fn(&dyn Fn(&str) -> String) -> Option<f64>) -> Option<f64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut limits = Vec::new();
    for line in groups.lines() {
        let Some((controllers, path)) = line.split_once(':').and_then(|(_, rest)| rest.split_once(':'))
        else {
            continue;
        };
        let root = match controllers {
            "" => Path::new("/sys/fs/cgroup").to_owned(),
            _ if controllers.split(',').any(|name| name == controller) => {
                Path::new("/sys/fs/cgroup").join(controller)
            }
            _ => continue,
        };
        let mut folder = root.join(path.trim_start_matches('/'));
        while folder.starts_with(&root) {
            limits.extend(limit(&|name| std::fs::read_to_string(folder.join(name)).unwrap_or_default()));
            folder.pop();
        }
    }
    limits.into_iter().reduce(f64::min)
}

/// Processors that are here to be used at once.
pub fn processors() -> f64 {
    let allowed = std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
    cgroup_processors().unwrap_or(allowed).min(allowed)
}

/// The metric of a kernel's speed, iterations a nanosecond.
pub fn speed_metric(kernel: Kernel) -> String {
    format!("probe.{}", kernel.name())
}

/// A kernel's speed on the machine that `metrics` are of.
pub fn speed(kernel: Kernel, metrics: &Metrics) -> Option<f64> {
    metrics.get(&speed_metric(kernel))
}

/// The metric of how much a probe varied: half of what lies between its quartiles, as a part of the median.
pub fn spread_metric(probe: &str) -> String {
    format!("{probe}_spread")
}

/// Bytes that a file system is given in one round of a probe.
const FILE_BYTES: usize = 32 << 20;
/// Rounds of it.
const FILE_ROUNDS: usize = 5;
/// Small writes that are timed one by one.
const SMALL: u32 = 64;
/// Bytes copied to measure the memory.
const COPY_BYTES: usize = 64 << 20;

/// Runs all probes; files are made in `folder`.
///
/// # Errors
/// When the folder cannot be written to, or loopback not be used.
pub fn probe(folder: &Path) -> anyhow::Result<Metrics> {
    let mut metrics = Metrics::default();
    for kernel in Kernel::ALL {
        let rounds = Loop::new(kernel).rounds();
        put(&mut metrics, &speed_metric(kernel), "iterations/ns", rounds, "median of 15 rounds of 4 ms");
    }
    metrics.measured("probe.memory_bandwidth", "B/s", memory_bandwidth(), "copies of 64 MiB, best of 5");
    metrics.measured("probe.processors", "", processors(), "affinity and control group");
    files(folder, &mut metrics).with_context(|| format!("cannot probe files in {}", folder.display()))?;
    loopback(&mut metrics).context("cannot probe loopback")?;
    Ok(metrics)
}

/// A probe's median, and how much it varied.
fn put(metrics: &mut Metrics, name: &str, unit: &str, mut rounds: Vec<f64>, how: &str) {
    rounds.sort_by(f64::total_cmp);
    let (middle, quarter) = (median(&rounds), rounds.len() / 4);
    let spread = (rounds[rounds.len() - 1 - quarter] - rounds[quarter]) / 2.0 / middle.max(1e-300);
    metrics.measured(name, unit, middle, how);
    metrics.measured(
        &spread_metric(name),
        "",
        spread,
        "half of what lies between its quartiles, as a part of it",
    );
}

fn memory_bandwidth() -> f64 {
    let (from, mut to) = (vec![1_u8; COPY_BYTES], vec![0_u8; COPY_BYTES]);
    let one = |_| {
        let begun = Instant::now();
        to.copy_from_slice(std::hint::black_box(&from));
        std::hint::black_box(&mut to);
        COPY_BYTES as f64 / begun.elapsed().as_secs_f64()
    };
    (0..5).map(one).fold(0.0, f64::max)
}

fn files(folder: &Path, metrics: &mut Metrics) -> anyhow::Result<()> {
    let mut file = tempfile::tempfile_in(folder)?;
    let block = vec![0x5a_u8; 1 << 20];
    let mut rounds: [Vec<f64>; 4] = Default::default();
    for _ in 0..FILE_ROUNDS {
        // Each round finds an empty file, as a program does that makes one.
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        let written = timed(|| (0..FILE_BYTES / block.len()).try_for_each(|_| file.write_all(&block)))?;
        let synced = timed(|| file.sync_data())?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
        let device_read = timed(|| read_through(&mut file))?;
        let read = timed(|| read_through(&mut file))?;
        for (all, seconds) in rounds.iter_mut().zip([written, read, written + synced, device_read]) {
            all.push(FILE_BYTES as f64 / seconds);
        }
    }
    let hows = [
        ("probe.write_bandwidth", "32 MiB in calls of 1 MiB, into the page cache, median of 5 rounds"),
        ("probe.read_bandwidth", "the same, from the page cache"),
        ("probe.device_write_bandwidth", "written and synced"),
        ("probe.device_read_bandwidth", "read after the cache was dropped"),
    ];
    for ((name, how), rounds) in hows.into_iter().zip(rounds) {
        put(metrics, name, "B/s", rounds, how);
    }
    file.seek(SeekFrom::Start(0))?;
    let small = timed(|| (0..SMALL * 64).try_for_each(|_| file.write_all(&block[..1])))?;
    metrics.measured(
        "probe.call_latency",
        "s",
        small / f64::from(SMALL * 64),
        "write of 1 byte into the page cache",
    );
    let synced = timed(|| {
        (0..SMALL / 4).try_for_each(|_| {
            file.write_all(&block[..4096])?;
            file.sync_data()
        })
    })?;
    metrics.measured(
        "probe.sync_latency",
        "s",
        synced / f64::from(SMALL / 4),
        "write of 4 KiB and fdatasync",
    );
    Ok(())
}

fn read_through(file: &mut File) -> std::io::Result<()> {
    let mut block = vec![0; 1 << 20];
    file.seek(SeekFrom::Start(0))?;
    while file.read(&mut block)? > 0 {}
    Ok(())
}

fn loopback(metrics: &mut Metrics) -> anyhow::Result<()> {
    const ROUNDS: u32 = 200;
    const BLOCKS: usize = 256;
    const BLOCK: usize = 1 << 16;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let answering = std::thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        let mut byte = [0];
        for _ in 0..ROUNDS {
            stream.read_exact(&mut byte)?;
            stream.write_all(&byte)?;
        }
        let mut block = vec![0; BLOCK];
        for _ in 0..BLOCKS {
            stream.read_exact(&mut block)?;
        }
        stream.write_all(&byte)
    });
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut byte = [1];
    let round_trips = timed(|| {
        (0..ROUNDS).try_for_each(|_| {
            stream.write_all(&byte)?;
            stream.read_exact(&mut byte)
        })
    })?;
    let block = vec![0; BLOCK];
    let moved = timed(|| {
        (0..BLOCKS).try_for_each(|_| stream.write_all(&block))?;
        stream.read_exact(&mut byte)
    })?;
    answering.join().map_err(|_| anyhow::anyhow!("the answering thread failed"))??;
    metrics.measured(
        "probe.loopback_latency",
        "s",
        round_trips / f64::from(ROUNDS) / 2.0,
        "half a round trip of 1 byte",
    );
    metrics.measured(
        "probe.loopback_bandwidth",
        "B/s",
        (BLOCK * BLOCKS) as f64 / moved,
        "16 MiB in blocks of 64 KiB",
    );
    Ok(())
}

fn timed(work: impl FnOnce() -> std::io::Result<()>) -> std::io::Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64().max(1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_control_group_allows_is_its_limit_without_what_it_uses() {
        let free = |files: &[(&str, &str)]| {
            let read = |name: &str| files.iter().find(|file| file.0 == name).map_or("", |file| file.1).into();
            free_memory(&read)
        };
        let stat = ("memory.stat", "anon 500\ninactive_file 200\n");
        assert_eq!(free(&[("memory.max", "1000\n"), ("memory.current", "700\n"), stat]), Some(500));
        assert_eq!(free(&[("memory.max", "max\n"), ("memory.current", "700\n"), stat]), None);
        let older = [("memory.limit_in_bytes", "1000\n"), ("memory.usage_in_bytes", "1100\n")];
        assert_eq!(free(&older), Some(0));
        assert_eq!(free(&[]), None);
    }

    #[test]
    fn every_probe_has_a_result() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let metrics = probe(folder.path()).expect("probes run anywhere");
        assert!(metrics.rows.len() >= 14);
        for metric in &metrics.rows {
            // A spread may be nothing.
            let least = if metric.name.ends_with("_spread") { 0.0 } else { f64::MIN_POSITIVE };
            assert!(metric.value.is_some_and(|value| value >= least), "{}: {:?}", metric.name, metric.value);
        }
        assert!(fingerprint().contains("processors"));
        assert!(processors() > 0.0);
    }
}
