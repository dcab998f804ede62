//! Processors: CPU time of the whole tree, waiting for a processor, and hardware counters where there are any.

use super::{Totals, Watcher, Whole};
use crate::counters::Counters;
use crate::metrics::Metrics;
use crate::proc::{Reader, numbers_in, tick_ns};
use crate::sample::Field;
use crate::sys;
use crate::tree::Tree;

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
    delays: Vec<(i32, u64)>,
    delay_unseen: bool,
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
            metrics.either(name, "", value, "perf_event_open", &counters.why(field));
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
        let mut now = Vec::with_capacity(self.delays.len());
        for &pid in tree.living.keys() {
            for tid in numbers_in(&format!("/proc/{pid}/task")) {
                let text = self.reader.read(&format!("/proc/{pid}/task/{tid}/schedstat"));
                let waited = text.and_then(|text| text.split_ascii_whitespace().nth(1)?.parse().ok());
                now.push((tid, waited.unwrap_or(0)));
            }
        }
        now.sort_unstable();
        for &(tid, waited) in &self.delays {
            if now.binary_search_by_key(&tid, |&(tid, _)| tid).is_err() {
                self.delay_ns += waited;
            }
        }
        self.delays = now;
        self.delay_ns + self.delays.iter().map(|&(_, waited)| waited).sum::<u64>()
    }

    fn count(&mut self, totals: &mut Totals) {
        if let Some(counters) = &mut self.counters {
            for (field, value) in counters.read() {
                totals.set(field, value);
            }
        }
    }
}
