//! A profile as steps: what all atoms do from one start together to the next.

mod sizes;
pub mod step;
mod tuning;

use crate::profile::Profile;
use crate::sample::{Field, Sample};
use sizes::Sizes;
pub use step::{Calls, Step};
pub use tuning::Tuning;

/// Most executors at once.
pub const WIDEST: usize = 256;

/// The steps of a profile.
pub fn steps(profile: &Profile, samples: &[Sample], tuning: &Tuning) -> Vec<Step> {
    let tuning = &Tuning { processors: processors(profile), ..tuning.clone() };
    let mut sizes = Sizes::of(profile, samples, tuning);
    let mut steps = Vec::new();
    let mut open: Option<Sample> = None;
    let mut highest = 0;
    for sample in samples {
        // A level that falls within a step was there all the same.
        highest = highest.max(sample.get(Field::Resident));
        match &mut open {
            Some(open) => open.append(sample),
            None => open = Some(sample.clone()),
        }
        if open.as_ref().is_some_and(|open| open.span_ns >= tuning.least_ns)
            && let Some(done) = open.take()
        {
            steps.push(step(&done, std::mem::take(&mut highest), &mut sizes, tuning));
        }
    }
    if let Some(last) = open {
        steps.push(step(&last, highest, &mut sizes, tuning));
    }
    // What no sample saw: a program may be over before the first look, and its peak between two.
    if let Some(most) = steps.iter_mut().max_by_key(|step| step.resident) {
        most.resident = most.resident.max((profile.peak_bytes() as f64 * tuning.factor("memory")) as u64);
    }
    steps
}

fn step(sample: &Sample, resident: u64, sizes: &mut Sizes, tuning: &Tuning) -> Step {
    let scaled = |resource: &str, amount: u64| (amount as f64 * tuning.factor(resource)).round() as u64;
    Step {
        span_ns: sample.span_ns,
        cpu_ns: shares(sample, tuning),
        calls: sizes.calls(sample, tuning),
        resident: scaled("memory", resident),
        touched: scaled("memory", sample.get(Field::Faults) * crate::proc::page_bytes()),
        network: sizes.network(sample).map(|bytes| scaled("network", bytes)),
        message: sizes.message,
        as_files: sizes.as_files,
        allocations: sizes.allocations(sample, tuning),
        idle_ns: idle_ns(sample, tuning),
        syncs: scaled("storage", sample.get(Field::Syncs)),
        seeks: scaled("storage", sample.get(Field::Seeks)),
        opens: scaled("storage", sample.get(Field::Opens)),
        stats: scaled("storage", sample.get(Field::Stats)),
        names: scaled("storage", sample.get(Field::Names)),
        population: [Field::Processes, Field::Threads].map(|field| sample.get(field)),
    }
}

/// Processors that the command could have used on its machine: those that it and nobody used.
fn processors(profile: &Profile) -> f64 {
    let get = |name| profile.tail.metrics.get(name);
    let (Some(cores), Some(busy), Some(own)) =
        (get("system.cores"), get("system.load_cpu"), get("cpu.utilization"))
    else {
        return 0.0;
    };
    let others = (busy * cores - own).max(0.0);
    get("system.cgroup_processors").unwrap_or(cores).min(cores - others).max(0.0)
}

/// Whether there was hardly a processor left. Otherwise who waited for one waited for a moment, next to others of the command on the
/// same one: that makes no more threads that could have gone on at once.
fn is_saturated(sample: &Sample, tuning: &Tuning) -> bool {
    sample.get(Field::Cpu) as f64 >= 0.9 * sample.span_ns as f64 * tuning.processors
}

/// Time in which fewer than one thread computed, or waited for a processor that others had, nanoseconds.
fn idle_ns(sample: &Sample, tuning: &Tuning) -> u64 {
    let alone = sample.get(Field::Threads) <= 1;
    let waited = if alone || is_saturated(sample, tuning) { sample.get(Field::Delay) } else { 0 };
    sample.span_ns.saturating_sub(sample.get(Field::Cpu) + waited)
}

/// CPU time by executor. How many threads wanted a processor at once is what they used and what they waited for one; they
/// are packed as tightly as the length of the sample allows, so that what came one after the other is not done at once.
fn shares(sample: &Sample, tuning: &Tuning) -> Vec<u64> {
    let cpu_ns = (sample.get(Field::Cpu) as f64 * tuning.factor("cpu") * tuning.cpu_ratio) as u64;
    if let Some(width) = tuning.width {
        return vec![cpu_ns / width as u64; if cpu_ns == 0 { 1 } else { width }];
    }
    let (cpu, delay) = (sample.get(Field::Cpu) as f64, sample.get(Field::Delay) as f64);
    // A little waiting is what any machine has.
    let delay = if delay < 0.1 * cpu || !is_saturated(sample, tuning) { 0.0 } else { delay };
    // A rank has its part of the threads.
    let demand = (cpu + delay) / sample.span_ns.max(1) as f64 * tuning.share;
    let most = (sample.get(Field::Threads) as usize).clamp(1, WIDEST);
    let width = ((demand - 0.1).ceil() as usize)
        .clamp(1, most.max((cpu * tuning.share / sample.span_ns.max(1) as f64).ceil() as usize).min(WIDEST));
    let each = ((cpu_ns as f64 / demand.max(1.0)) as u64).max(cpu_ns / width as u64);
    let mut left = cpu_ns;
    (0..width)
        .map(|place| {
            let mine = if place + 1 == width { left } else { each.min(left) };
            left -= mine;
            mine
        })
        // Nobody is woken for nothing.
        .enumerate()
        .filter(|&(place, mine)| place == 0 || mine > 0)
        .map(|(_, mine)| mine)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(span_ns: u64, fields: &[(Field, u64)]) -> Sample {
        let mut sample = Sample { end_ns: span_ns, span_ns, ..Sample::default() };
        fields.iter().for_each(|&(field, value)| sample.set(field, value));
        sample
    }

    #[test]
    fn what_came_one_after_the_other_is_not_done_at_once() {
        let tuning = Tuning::default();
        let serial = sample(100, &[(Field::Cpu, 100), (Field::Threads, 8)]);
        assert_eq!(shares(&serial, &tuning), [100], "eight threads in turn");
        let crowded = sample(100, &[(Field::Cpu, 200), (Field::Delay, 200), (Field::Threads, 4)]);
        assert_eq!(shares(&crowded, &tuning), [50; 4], "four threads on two processors");
        let half = sample(100, &[(Field::Cpu, 150), (Field::Threads, 2)]);
        assert_eq!(shares(&half, &tuning), [100, 50]);
        // Of two processors one was free: they waited because they were put on the same one.
        let two = Tuning { processors: 2.0, ..Tuning::default() };
        let unlucky = sample(100, &[(Field::Cpu, 100), (Field::Delay, 90), (Field::Threads, 4)]);
        assert_eq!(shares(&unlucky, &two), [100]);
        let calm = sample(100, &[(Field::Cpu, 20), (Field::Delay, 50), (Field::Threads, 4)]);
        assert_eq!(
            (idle_ns(&calm, &two), idle_ns(&calm, &tuning)),
            (80, 30),
            "and not because others had it"
        );
        let wide = Tuning { width: Some(3), ..Tuning::default() };
        assert_eq!(shares(&sample(100, &[(Field::Cpu, 90)]), &wide), [30; 3]);
    }
}
