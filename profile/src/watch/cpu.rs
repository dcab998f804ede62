//! Processors: CPU time of the whole tree, waiting for a processor, and hardware counters where there are any.

use super::watcher::{Totals, Watcher, Whole};
use crate::counters::Counters;
use crate::metrics::Metrics;
use crate::proc::{Kept, Reader, numbers_in, tick_ns};
use crate::sample::Field;
use crate::sys;
use crate::tree::{Process, Tree};
use std::collections::BTreeMap;

/// With more threads than this, waiting for a processor is not looked at: it takes a file per thread.
const THREADS_LOOKED_AT: u64 = 64;

/// CPU time is that of the living processes' clocks, of the children that they have waited for, and of those that the
/// profiler has.
#[derive(Default)]
pub struct Cpu {
    before: sys::Usage,
    counters: Option<Counters>,
    reader: Reader,
    /// Waiting of threads that have ended since.
    delay_ns: u64,
    threads: BTreeMap<i32, Threads>,
    delay_unseen: bool,
}

/// The threads of a process that are looked at one by one.
#[derive(Default)]
struct Threads {
    /// When they were listed, in births of the tree.
    listed: u64,
    all: Vec<Waiting>,
}

/// How long a thread has waited for a processor.
#[derive(Default)]
struct Waiting {
    tid: i32,
    ns: u64,
    file: Kept,
}

impl Watcher for Cpu {
    fn pre(&mut self) {
        self.before = sys::children();
        self.counters = Some(Counters::open());
    }

    fn sample(&mut self, tree: &mut Tree, _now_ns: u64, totals: &mut Totals) {
        let (mut cpu_ns, mut system_ns) = self.reaped();
        for process in tree.living.values_mut() {
            process.cpu_ns = sys::process_cpu_ns(process.pid)
                .unwrap_or(process.cpu_ns.max(process.stat.ticks[0] * tick_ns()));
            cpu_ns += process.cpu_ns + process.stat.ticks[1] * tick_ns();
            system_ns += process.stat.system_ticks.iter().sum::<u64>() * tick_ns();
        }
        totals.set(Field::Cpu, cpu_ns);
        totals.set(Field::System, system_ns);
        if tree.threads() <= THREADS_LOOKED_AT {
            totals.set(Field::Delay, self.delay(tree));
        } else {
            self.delay_unseen = true;
        }
        self.count(totals);
    }

    fn post(&mut self, tree: &Tree, totals: &mut Totals) {
        let (mut cpu_ns, mut system_ns) = self.reaped();
        for process in tree.living.values() {
            cpu_ns += process.cpu_ns + process.stat.ticks[1] * tick_ns();
            system_ns += process.stat.system_ticks.iter().sum::<u64>() * tick_ns();
        }
        totals.set(Field::Cpu, cpu_ns);
        totals.set(Field::System, system_ns);
        self.count(totals);
    }

    fn finalize(&mut self, whole: &Whole<'_>, metrics: &mut Metrics) {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let get = |field| whole.totals.get(field);
        let (cpu, system) = (get(Field::Cpu).unwrap_or(0), get(Field::System).unwrap_or(0));
        let exact = "CPU clocks of living processes, rusage of the reaped";
        metrics.measured("cpu.time", "s", seconds(cpu), exact);
        metrics.measured("cpu.user", "s", seconds(cpu.saturating_sub(system)), exact);
        metrics.measured("cpu.system", "s", seconds(system), exact);
        metrics.either(
            "cpu.waiting",
            "s",
            (!self.delay_unseen).then(|| get(Field::Delay)).flatten().map(seconds),
            "schedstat of the threads seen: runnable without a processor",
            "more threads than are looked at one by one",
        );
        let wall = seconds(whole.wall_ns).max(1e-9);
        metrics.measured("cpu.utilization", "processors", seconds(cpu) / wall, "CPU time / run time");
        let counters = self.counters.take().unwrap_or_default();
        for (name, field) in [
            ("cpu.cycles", Field::Cycles),
            ("cpu.instructions", Field::Instructions),
            ("cpu.stalled_front", Field::StalledFront),
            ("cpu.stalled_back", Field::StalledBack),
        ] {
            let value = get(field).map(|value| value as f64);
            metrics.either(name, "", value, "perf_event_open, outside the kernel", &counters.why(field));
        }
        let used = get(Field::Cycles).map(|cycles| cycles as f64);
        let wasted =
            get(Field::StalledFront).zip(get(Field::StalledBack)).map(|(front, back)| (front + back) as f64);
        metrics.either(
            "cpu.efficiency",
            "",
            used.zip(wasted).map(|(cycles, wasted)| (cycles - wasted).max(0.0) / cycles.max(1.0)),
            "cycles used / (used + wasted); wasted: stalled",
            &format!("needs cycles and stalls: {}", counters.why(Field::Cycles)),
        );
        let flops =
            "no counter that all processors have: floating-point operations are model-specific events";
        metrics.missing("cpu.flops", "", flops);
        metrics.missing("cpu.flops_per_second", "1/s", flops);
    }
}

impl Cpu {
    /// CPU time and the kernel's part of it, of what the profiler has waited for, nanoseconds.
    fn reaped(&self) -> (u64, u64) {
        let now = sys::children();
        let system = now.system_ns - self.before.system_ns;
        (now.user_ns - self.before.user_ns + system, system)
    }

    fn delay(&mut self, tree: &Tree) -> u64 {
        self.threads.retain(|pid, threads| {
            let stays = tree.living.contains_key(pid);
            self.delay_ns += if stays { 0 } else { threads.waited_ns() };
            stays
        });
        let mut now_ns = 0;
        for (&pid, process) in &tree.living {
            let threads = self.threads.entry(pid).or_default();
            if threads.listed != tree.births || threads.all.len() as u64 != process.stat.threads {
                self.delay_ns += threads.list(process);
                threads.listed = tree.births;
            }
            for thread in &mut threads.all {
                let path = || format!("/proc/{pid}/task/{}/schedstat", thread.tid);
                let text = thread.file.read(&mut self.reader, path).ok();
                let waited = text.and_then(|text| text.split_ascii_whitespace().nth(1)?.parse().ok());
                thread.ns = waited.unwrap_or(thread.ns);
            }
            now_ns += threads.waited_ns();
        }
        self.delay_ns + now_ns
    }

    fn count(&mut self, totals: &mut Totals) {
        if let Some(counters) = &mut self.counters {
            for (field, value) in counters.read() {
                totals.set(field, value);
            }
        }
    }
}

impl Threads {
    fn waited_ns(&self) -> u64 {
        self.all.iter().map(|thread| thread.ns).sum()
    }

    /// Finds those that are there; how long those waited that are not there any more.
    fn list(&mut self, process: &Process) -> u64 {
        let pid = process.pid;
        let tids =
            if process.stat.threads == 1 { vec![pid] } else { numbers_in(&format!("/proc/{pid}/task")) };
        let before = self.waited_ns();
        self.all.retain(|thread| tids.contains(&thread.tid));
        let gone_ns = before - self.waited_ns();
        for tid in tids {
            if self.all.iter().all(|thread| thread.tid != tid) {
                self.all.push(Waiting { tid, ..Waiting::default() });
            }
        }
        gone_ns
    }
}
