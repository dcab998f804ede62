//! `syn profiles compare`: two profiles side by side, for instance of a program and of its emulation.

use super::part::{emulated, restrict, within};
use super::words::amounts;
use crate::profile::Profile;
use crate::sample::{BlockKind, COLUMNS, Resource, Sample};
use crate::screen::print;
use crate::stats::correlation;
use crate::store::{Selector, Store, default_path};
use anyhow::Context;
use std::fmt::Write;
use std::path::PathBuf;

/// Which two.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The store.
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// The profile that counts as 100 %.
    first: i64,
    /// The other one.
    second: i64,
    /// The other one is of `syn emulate`, which has written this report: its own start is left out.
    #[arg(long, value_name = "REPORT")]
    emulation: Option<PathBuf>,
}

/// Points of time at which two profiles are compared.
const POINTS: usize = 100;

/// Runs it.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let store = Store::existing(&args.store.clone().unwrap_or_else(default_path))?;
    let get = |id: i64| -> anyhow::Result<(Profile, Vec<Sample>)> {
        let found = store.find(&Selector { id: Some(id), ..Selector::default() })?.into_iter().next();
        Ok((found.with_context(|| format!("there is no profile {id}"))?, store.all_samples(id)?))
    };
    let ((first, first_samples), (mut second, mut second_samples)) = (get(args.first)?, get(args.second)?);
    if let Some(report) = &args.emulation {
        let part = emulated(report, &second)?;
        let samples = within(&second_samples, &part);
        restrict(&mut second, &second_samples, &samples, &part);
        second_samples = samples;
    }
    let mut out = String::new();
    writeln!(
        out,
        "{:<22} {:>18} {:>18} {:>10} {:>12}",
        "", args.first, args.second, "change %", "correlation"
    )?;
    let mut line = |name: &str, a: f64, b: f64, over_time: Option<f64>| {
        let change = if a == 0.0 { "-".into() } else { format!("{:+.2}", (b - a) / a * 100.0) };
        let over_time = over_time.map_or_else(|| "-".into(), |value| format!("{value:.4}"));
        writeln!(out, "{name:<22} {a:>18.6} {b:>18.6} {change:>10} {over_time:>12}")
    };
    line("run_time_s", first.tail.wall_ns as f64 / 1e9, second.tail.wall_ns as f64 / 1e9, None)?;
    line("peak_bytes", first.peak_bytes() as f64, second.peak_bytes() as f64, None)?;
    for resource in
        [Resource::Cpu, Resource::Memory, Resource::Storage, Resource::Network, Resource::Processes]
    {
        for (place, name) in amounts(resource) {
            if let (Some(a), Some(b)) = (first.tail.totals[place], second.tail.totals[place]) {
                let over_time = correlation(&curve(&first_samples, place), &curve(&second_samples, place));
                line(name, a as f64, b as f64, over_time)?;
            }
        }
    }
    for kind in BlockKind::ALL {
        for bin in 0..=64 {
            let bytes = |profile: &Profile| {
                let block = profile.tail.blocks.iter().find(|block| (block.kind, block.bin) == (kind, bin));
                block.map_or(0.0, |block| block.bytes as f64)
            };
            if bytes(&first) + bytes(&second) > 0.0 {
                line(&format!("{} < 2^{bin} B", kind.name()), bytes(&first), bytes(&second), None)?;
            }
        }
    }
    print(&out)?;
    Ok(0)
}

/// A column over the time of the run, stretched to the same number of points: levels, amounts added up. Between two looks either changes
/// evenly, and at the start there is nothing.
pub fn curve(samples: &[Sample], place: usize) -> Vec<f64> {
    let end = samples.last().map_or(1, |sample| sample.end_ns.max(1)) as f64;
    let is_level = COLUMNS[place].level;
    let (mut next, mut reached, mut before) = (0, 0.0, 0.0);
    (1..=POINTS)
        .map(|point| {
            let until = end * point as f64 / POINTS as f64;
            while next < samples.len() && samples[next].end_ns as f64 <= until + 0.5 {
                let value = samples[next].values[place].unwrap_or(0) as f64;
                (reached, before) =
                    (if is_level { value } else { reached + value }, samples[next].end_ns as f64);
                next += 1;
            }
            let within = samples.get(next).map_or(0.0, |sample| {
                let value = sample.values[place].unwrap_or(0) as f64;
                let more = if is_level { value - reached } else { value };
                more * (until - before).max(0.0) / sample.span_ns.max(1) as f64
            });
            reached + within
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Field;

    #[test]
    fn amounts_add_up_over_the_time_of_the_run() {
        let sample = |end_ns, span_ns, cpu| {
            let mut sample = Sample { end_ns, span_ns, ..Sample::default() };
            sample.set(Field::Cpu, cpu);
            sample
        };
        let curve = curve(&[sample(500, 500, 50), sample(1000, 500, 0)], Field::Cpu as usize);
        assert_eq!(curve.len(), POINTS);
        assert!(
            (curve[24] - 25.0).abs() < 1e-9
                && (curve[49] - 50.0).abs() < 1e-9
                && (curve[99] - 50.0).abs() < 1e-9
        );
    }

    #[test]
    fn levels_change_evenly_from_one_look_to_the_next() {
        let sample = |end_ns, span_ns, resident| {
            let mut sample = Sample { end_ns, span_ns, ..Sample::default() };
            sample.set(Field::Resident, resident);
            sample
        };
        let curve = curve(&[sample(500, 500, 50), sample(1000, 500, 20)], Field::Resident as usize);
        let expected = [(9, 10.0), (49, 50.0), (59, 44.0), (99, 20.0)];
        assert!(expected.iter().all(|&(place, level)| (curve[place] - level).abs() < 1e-9), "{curve:?}");
    }
}
