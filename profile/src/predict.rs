//! How long a profiled command would take on this machine, from the probes of both alone.

use crate::machine::speed;
use crate::metrics::Metrics;
use crate::profile::Profile;
use crate::sample::{Field, Sample};
use syn_replay::demands::kernels::Kernel;

/// An expected time, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Most likely.
    pub expected: f64,
    /// Between these, as far as the kernels differ between the machines.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// Part of the recorded time that is neither computing nor moving data: it is taken to last as long.
    pub idle: f64,
}

/// Kernels that stand for what programs do; the matrix product is a library's own.
const COMMON: [Kernel; 4] = [Kernel::Mixed, Kernel::Integer, Kernel::Float, Kernel::Memory];

/// From the profile, its samples and the probes of this machine. None when one of them has no probes.
pub fn predict(profile: &Profile, samples: &[Sample], here: &Metrics) -> Option<Prediction> {
    let there = &profile.tail.metrics;
    let mut ratios: Vec<f64> = COMMON
        .iter()
        .map(|&kernel| Some(speed(kernel, there)? / speed(kernel, here)?))
        .collect::<Option<_>>()?;
    ratios.sort_by(f64::total_cmp);
    let typical = speed(Kernel::Mixed, there)? / speed(Kernel::Mixed, here)?;
    let time = |ratio: f64| samples.iter().map(|sample| sample_time(sample, ratio, there, here)).sum::<f64>();
    let idle =
        samples.iter().map(|sample| idle_ns(sample) as f64).sum::<f64>() / profile.tail.wall_ns.max(1) as f64;
    Some(Prediction {
        expected: time(typical),
        low: time(ratios[0]),
        high: time(ratios[ratios.len() - 1]),
        idle,
    })
}

/// Time in a sample in which fewer than one thread was computing, nanoseconds.
fn idle_ns(sample: &Sample) -> u64 {
    sample.span_ns.saturating_sub(sample.get(Field::Cpu))
}

fn sample_time(sample: &Sample, ratio: f64, there: &Metrics, here: &Metrics) -> f64 {
    let span = sample.span_ns as f64 / 1e9;
    let (cpu, delay) = (sample.get(Field::Cpu) as f64 / 1e9, sample.get(Field::Delay) as f64 / 1e9);
    if span <= 0.0 {
        return 0.0;
    }
    let wanted = ((cpu + delay) / span).max(1.0);
    let processors = here.get("probe.processors").unwrap_or(1.0).max(0.01);
    let computing = cpu * ratio / wanted.min(processors);
    // What is not computing waits for devices and for others; devices are as much slower as the probes say.
    let slower = |name: &str| match (there.get(name), here.get(name)) {
        (Some(there), Some(here)) if here > 0.0 => there / here,
        _ => 1.0,
    };
    let device = sample.get(Field::DeviceReadBytes) as f64 * slower("probe.device_read_bandwidth")
        + sample.get(Field::DeviceWriteBytes) as f64 * slower("probe.device_write_bandwidth");
    let moved = (sample.get(Field::DeviceReadBytes) + sample.get(Field::DeviceWriteBytes)) as f64;
    let waiting = idle_ns(sample) as f64 / 1e9 * if moved > 0.0 { device / moved } else { 1.0 };
    computing + waiting
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes(speed: f64, processors: f64) -> Metrics {
        let mut metrics = Metrics::default();
        COMMON
            .iter()
            .for_each(|kernel| metrics.measured(&crate::machine::speed_metric(*kernel), "", speed, ""));
        metrics.measured("probe.processors", "", processors, "");
        metrics
    }

    #[test]
    fn half_the_speed_takes_twice_as_long_and_idle_time_stays() {
        let mut busy = Sample { end_ns: 1_000_000_000, span_ns: 1_000_000_000, ..Sample::default() };
        busy.set(Field::Cpu, 1_000_000_000);
        let idle = Sample { end_ns: 1_500_000_000, span_ns: 500_000_000, ..Sample::default() };
        let (there, half) = (probes(2.0, 4.0), probes(1.0, 4.0));
        let time = |sample: &Sample, ratio| sample_time(sample, ratio, &there, &half);
        assert!((time(&busy, 2.0) - 2.0).abs() < 1e-9);
        assert!((time(&idle, 2.0) - 0.5).abs() < 1e-9);
        // With half a processor everything takes twice as long once more.
        assert!((sample_time(&busy, 1.0, &there, &probes(2.0, 0.5)) - 2.0).abs() < 1e-9);
    }
}
