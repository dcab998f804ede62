//! The machine: what it has, and how busy it was.

use super::watcher::{Totals, Watcher, Whole};
use crate::machine::cgroup_processors;
use crate::metrics::Metrics;
use crate::proc::field;
use crate::tree::Tree;
use std::collections::BTreeMap;

/// See the module.
#[derive(Default)]
pub struct System {
    before: Busy,
}

/// What `/proc/stat` and `/proc/diskstats` have counted.
#[derive(Debug, Default)]
struct Busy {
    /// Clock ticks of all processors: in use, in all.
    ticks: [u64; 2],
    /// By disk: milliseconds in which it had something to do.
    disks_ms: BTreeMap<String, u64>,
}

impl Watcher for System {
    fn pre(&mut self) {
        self.before = Busy::now();
    }

    fn sample(&mut self, _tree: &mut Tree, _now_ns: u64, _totals: &mut Totals) {}

    fn finalize(&mut self, whole: &Whole<'_>, metrics: &mut Metrics) {
        let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        metrics.measured(
            "system.run_time",
            "s",
            whole.wall_ns as f64 / 1e9,
            "monotonic clock, start to end of the command",
        );
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        metrics.measured("system.cores", "", cores as f64, "processors this process may use");
        metrics.either(
            "system.cgroup_processors",
            "",
            cgroup_processors(),
            "cpu.max of the control group",
            "the control group sets no limit",
        );
        let frequency =
            text("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").trim().parse::<f64>().ok();
        metrics.either(
            "system.max_frequency",
            "Hz",
            frequency.map(|khz| khz * 1000.0),
            "cpufreq",
            "no cpufreq here, as on most virtual machines",
        );
        let governor = text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
        match governor.trim() {
            "" => metrics.missing("system.governor", "", "no cpufreq here, as on most virtual machines"),
            name => metrics.measured("system.governor", "", 1.0, name),
        }
        let nodes = std::fs::read_dir("/sys/devices/system/node").map(|folder| {
            folder.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("node")).count()
        });
        metrics.either(
            "system.numa_nodes",
            "",
            nodes.ok().map(|nodes| nodes as f64),
            "/sys/devices/system/node",
            "no such folder",
        );
        let memory = field::<u64>(&text("/proc/meminfo"), "MemTotal:");
        metrics.either(
            "system.memory",
            "B",
            memory.map(|kib| kib as f64 * 1024.0),
            "MemTotal",
            "not in /proc/meminfo",
        );
        let free = field::<u64>(&text("/proc/meminfo"), "MemAvailable:");
        let used = memory.zip(free).map(|(all, free)| 1.0 - free as f64 / all.max(1) as f64);
        metrics.either(
            "system.load_memory",
            "",
            used,
            "1 - MemAvailable / MemTotal, at the end",
            "not in /proc/meminfo",
        );
        let (now, before) = (Busy::now(), std::mem::take(&mut self.before));
        let ticks = |place: usize| now.ticks[place].saturating_sub(before.ticks[place]) as f64;
        let busy = (ticks(1) > 0.0).then(|| ticks(0) / ticks(1));
        metrics.either(
            "system.load_cpu",
            "",
            busy,
            "/proc/stat, all processors meanwhile, whoever used them",
            "too short for a clock tick",
        );
        let disk_ms = now.busiest_disk_ms(&before);
        let disk = disk_ms as f64 * 1e6 / whole.wall_ns.max(1) as f64;
        metrics.measured(
            "system.load_disk",
            "",
            disk.min(1.0),
            "/proc/diskstats: time that the busiest disk was busy",
        );
        metrics.measured("system.kernel", "", 1.0, text("/proc/sys/kernel/osrelease").trim());
    }
}

impl Busy {
    fn now() -> Busy {
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_ascii_whitespace().skip(1).take(8).filter_map(|text| text.parse().ok()).collect();
        let all: u64 = ticks.iter().sum();
        let idle = ticks.get(3).copied().unwrap_or(0) + ticks.get(4).copied().unwrap_or(0);
        let disks = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
        Busy { ticks: [all - idle, all], disks_ms: disks.lines().filter_map(busy).collect() }
    }

    /// Of the disk that had the most to do meanwhile.
    fn busiest_disk_ms(&self, before: &Busy) -> u64 {
        let since = |(name, ms): (&String, &u64)| ms.saturating_sub(*before.disks_ms.get(name).unwrap_or(ms));
        self.disks_ms.iter().map(since).max().unwrap_or(0)
    }
}

/// The name of a disk, and how long it was busy, milliseconds: a line of `/proc/diskstats` (proc_diskstats(5)).
fn busy(line: &str) -> Option<(String, u64)> {
    let mut words = line.split_ascii_whitespace().skip(2);
    Some((words.next()?.to_owned(), words.nth(9)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_disk_is_that_of_this_time() {
        let of = |lines: [&str; 2]| Busy {
            ticks: [0; 2],
            disks_ms: lines.iter().copied().filter_map(busy).collect(),
        };
        let old = "8 0 sda 1 2 3 4 5 6 7 8 9 1000000 11";
        let before = of([old, "259 0 nvme0n1 1 2 3 4 5 6 7 8 9 100 11"]);
        let now = of([old, "259 0 nvme0n1 1 2 3 4 5 6 7 8 9 900 11"]);
        assert_eq!(now.busiest_disk_ms(&before), 800);
    }
}
