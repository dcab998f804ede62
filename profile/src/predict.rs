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
    /// Between these: as far as the kernels differ between the machines, and as far as the probes vary.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// How far kernels differ: from the slowest to the fastest ratio of speeds, as a part of the typical one.
    pub kernels: f64,
    /// How far probes vary, both machines' together, as a part.
    pub probes: f64,
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
    let probes = varies(&crate::machine::speed_metric(Kernel::Mixed), there, here);
    let device = varies("probe.device_write_bandwidth", there, here).max(varies(
        "probe.device_read_bandwidth",
        there,
        here,
    ));
    let (lowest, highest) = (ratios[0], ratios[ratios.len() - 1]);
    // Probes that vary make both parts of a sample's time shorter or longer.
    let time = |ratio: f64, sign: f64| {
        let parts = samples.iter().map(|sample| sample_time(sample, ratio, there, here));
        let [computing, devices, idle] =
            parts.fold([0.0; 3], |sum, part| std::array::from_fn(|place| sum[place] + part[place]));
        computing * (1.0 + sign * probes) + devices * (1.0 + sign * device) + idle
    };
    let idle =
        samples.iter().map(|sample| idle_ns(sample) as f64).sum::<f64>() / profile.tail.wall_ns.max(1) as f64;
    Some(Prediction {
        expected: time(typical, 0.0),
        low: time(lowest, -1.0),
        high: time(highest, 1.0),
        kernels: (highest - lowest) / typical,
        probes: probes.max(device),
        idle,
    })
}

/// How much a probe varied on both machines together, as a part of it; 0 where nobody measured that.
fn varies(probe: &str, there: &Metrics, here: &Metrics) -> f64 {
    let name = crate::machine::spread_metric(probe);
    [there, here]
        .map(|metrics| metrics.get(&name).unwrap_or(0.0))
        .iter()
        .map(|part| part * part)
        .sum::<f64>()
        .sqrt()
        .min(1.0)
}

/// Time in a sample in which fewer than one thread was computing, nanoseconds.
fn idle_ns(sample: &Sample) -> u64 {
    sample.span_ns.saturating_sub(sample.get(Field::Cpu))
}

/// Time here of computing, of waiting for devices, and of other waiting, seconds.
fn sample_time(sample: &Sample, ratio: f64, there: &Metrics, here: &Metrics) -> [f64; 3] {
    let span = sample.span_ns as f64 / 1e9;
    let (cpu, delay) = (sample.get(Field::Cpu) as f64 / 1e9, sample.get(Field::Delay) as f64 / 1e9);
    if span <= 0.0 {
        return [0.0; 3];
    }
    let wanted = ((cpu + delay) / span).max(1.0);
    let processors = here.get("probe.processors").unwrap_or(1.0).max(0.01);
    let computing = cpu * ratio / wanted.min(processors);
    // What is not computing waits for devices, which are as much slower as the probes say, or for others.
    let slower = |name: &str| match (there.get(name), here.get(name)) {
        (Some(there), Some(here)) if here > 0.0 => there / here,
        _ => 1.0,
    };
    let device = sample.get(Field::DeviceReadBytes) as f64 * slower("probe.device_read_bandwidth")
        + sample.get(Field::DeviceWriteBytes) as f64 * slower("probe.device_write_bandwidth");
    let moved = (sample.get(Field::DeviceReadBytes) + sample.get(Field::DeviceWriteBytes)) as f64;
    let idle = idle_ns(sample) as f64 / 1e9;
    if moved > 0.0 { [computing, idle * device / moved, 0.0] } else { [computing, 0.0, idle] }
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
        let sum = |parts: [f64; 3]| parts.iter().sum::<f64>();
        let time = |sample: &Sample, ratio| sum(sample_time(sample, ratio, &there, &half));
        assert!((time(&busy, 2.0) - 2.0).abs() < 1e-9);
        assert!((time(&idle, 2.0) - 0.5).abs() < 1e-9);
        // With half a processor everything takes twice as long once more.
        assert!((sum(sample_time(&busy, 1.0, &there, &probes(2.0, 0.5))) - 2.0).abs() < 1e-9);
    }

    /// Probes that varied by 3 % there and 4 % here leave 5 % open; idle time is in no doubt.
    #[test]
    fn what_probes_varied_by_is_the_uncertainty() {
        let (mut there, mut here) = (probes(1.0, 1.0), probes(1.0, 1.0));
        there.measured("probe.mixed_spread", "", 0.03, "");
        here.measured("probe.mixed_spread", "", 0.04, "");
        let mut sample = Sample { end_ns: 3_000_000_000, span_ns: 3_000_000_000, ..Sample::default() };
        sample.set(Field::Cpu, 2_000_000_000);
        let tail = crate::profile::Tail {
            wall_ns: 3_000_000_000,
            outcome: crate::profile::Outcome::Exited(0),
            totals: [None; crate::sample::WIDTH],
            metrics: there,
            processes: Vec::new(),
            blocks: Vec::new(),
            files: Vec::new(),
        };
        let head = crate::profile::Head {
            command: Vec::new(),
            tags: Default::default(),
            started_ns: 0,
            rate: "10".into(),
            source: crate::profile::Source::Sampled,
            machine: String::new(),
        };
        let found = predict(&Profile { id: 1, head, tail }, &[sample], &here).expect("both have probes");
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} and {b}");
        near(found.expected, 3.0);
        near(found.low, 2.9);
        near(found.high, 3.1);
        near(found.probes, 0.05);
        near(found.kernels, 0.0);
    }
}
