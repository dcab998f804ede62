//! The machines' clocks: how fast they go, and where the run begins on each.

use crate::header::{self, ClockPair, Header};
use crate::reader::ThreadTrace;
use std::collections::HashMap;

/// Nanoseconds per tick of every machine in the run, from the longest pair of clock readings made there.
pub(super) struct TickRates(HashMap<([u8; 16], u32), (u64, f64)>);

impl TickRates {
    pub(super) fn of(traces: &[ThreadTrace]) -> TickRates {
        let mut rates = HashMap::new();
        for trace in traces {
            let (start, latest) = (trace.header().start, trace.latest());
            let ticks = latest.ticks.saturating_sub(start.ticks);
            let ns = latest.monotonic_ns.saturating_sub(start.monotonic_ns);
            if ticks == 0 || ns == 0 {
                continue;
            }
            let best = rates.entry((trace.header().boot_id, trace.header().clock)).or_insert((0, 1.0));
            if ns > best.0 {
                *best = (ns, ns as f64 / ticks as f64);
            }
        }
        TickRates(rates)
    }

    pub(super) fn ns_per_tick(&self, trace: &ThreadTrace) -> f64 {
        let header = trace.header();
        if header.clock == header::CLOCK_MONOTONIC {
            return 1.0;
        }
        self.0.get(&(header.boot_id, header.clock)).map_or(1.0, |&(_, rate)| rate)
    }
}

/// The start of the run on each machine's monotonic clock. Machines are aligned by their real-time clocks here;
/// whoever knows more (messages between them) corrects the difference later.
pub(super) struct Origins {
    start_realtime_ns: i128,
    machines: HashMap<[u8; 16], Machine>,
}

/// A machine's clocks, as its first trace has them.
struct Machine {
    clock: u32,
    start: ClockPair,
    realtime_minus_monotonic: i128,
}

/// Differences below this are the clocks' own.
const NAMESPACE_NS: i128 = 1_000_000_000;

impl Origins {
    pub(super) fn of(traces: &[ThreadTrace], rates: &TickRates) -> Origins {
        let mut origins = Origins { start_realtime_ns: i128::MAX, machines: HashMap::new() };
        for trace in traces {
            let header = trace.header();
            origins.machines.entry(header.boot_id).or_insert_with(|| Machine {
                clock: header.clock,
                start: header.start,
                realtime_minus_monotonic: realtime_minus_monotonic(header),
            });
            let started = i128::from(header.process_start_ns).min(origins.began(trace, rates));
            // It had been at work before its recording started.
            let started = started - i128::from(header.start_cpu_ns);
            let started = started + origins.to_realtime(trace, rates);
            origins.start_realtime_ns = origins.start_realtime_ns.min(started);
        }
        origins
    }

    /// What to add to the trace's monotonic clock.
    pub(super) fn to_realtime(&self, trace: &ThreadTrace, rates: &TickRates) -> i128 {
        let header = trace.header();
        let Some(machine) = self.machines.get(&header.boot_id) else { return 0 };
        let common = machine.realtime_minus_monotonic;
        // In a time namespace the monotonic clock is another one. A real-time clock that was set looks alike, but then
        // the machine's ticks go on as before.
        let ahead = common - realtime_minus_monotonic(header);
        let ticks = header.start.ticks as f64 - machine.start.ticks as f64;
        let by_ticks = ticks * rates.ns_per_tick(trace);
        let passed = i128::from(header.start.monotonic_ns) - i128::from(machine.start.monotonic_ns);
        let unexplained = passed - by_ticks as i128;
        let namespace = header.clock == header::CLOCK_TSC
            && machine.clock == header::CLOCK_TSC
            && ahead.abs() > NAMESPACE_NS
            && (unexplained - ahead).abs() < ahead.abs() / 2;
        if namespace { common - ahead } else { common }
    }

    /// When the trace began, on its monotonic clock. The threads of a machine share one counter, which tells it better
    /// than the clock that was read beside it: a thread may have lost its processor in between.
    pub(super) fn began(&self, trace: &ThreadTrace, rates: &TickRates) -> i128 {
        let header = trace.header();
        let by_clock = i128::from(header.start.monotonic_ns);
        let Some(machine) = self.machines.get(&header.boot_id) else { return by_clock };
        let ticks = header.start.ticks as f64 - machine.start.ticks as f64;
        let by_ticks = i128::from(machine.start.monotonic_ns) + (ticks * rates.ns_per_tick(trace)) as i128;
        let shared = header.clock == header::CLOCK_TSC && machine.clock == header::CLOCK_TSC;
        if shared && (by_clock - by_ticks).abs() < NAMESPACE_NS { by_ticks } else { by_clock }
    }

    pub(super) fn since(&self, trace: &ThreadTrace, rates: &TickRates) -> f64 {
        (self.began(trace, rates) + self.to_realtime(trace, rates) - self.start_realtime_ns) as f64
    }
}

fn realtime_minus_monotonic(header: &Header) -> i128 {
    i128::from(header.start_realtime_ns) - i128::from(header.start.monotonic_ns)
}
