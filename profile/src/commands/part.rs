//! A part of a profile: of one of `syn emulate`, what was consumed from the common start on.

use crate::profile::Profile;
use crate::sample::{Block, COLUMNS, Field, Sample, WIDTH, add_block};
use anyhow::{Context, ensure};
use std::ops::Range;
use std::path::Path;
use syn_replay::Preparation;

/// The part of a profile of `syn emulate` in which it emulated.
#[derive(Clone, Debug)]
pub struct Part {
    /// From the common start to the last end, nanoseconds since the start of the profile.
    pub span: Range<u64>,
    /// What had been used before it, where the emulator knows.
    pub preparation: Option<Preparation>,
}

/// The part in which the emulation of `report` ran.
pub fn emulated(report: &Path, profile: &Profile) -> anyhow::Result<Part> {
    let text =
        std::fs::read_to_string(report).with_context(|| format!("cannot read {}", report.display()))?;
    let report_is = || format!("{} is no report of `syn emulate`", report.display());
    let json: serde_json::Value = serde_json::from_str(&text).with_context(report_is)?;
    let number = |name: &str| json["consumed"][name].as_u64().with_context(report_is);
    let (start_ns, wall_ns) = (number("start_ns")?, number("wall_ns")?);
    let began_ns = profile.tail.metrics.start_ns();
    let began_ns = began_ns.with_context(|| format!("profile {} does not know its start", profile.id))?;
    let part = start_ns.checked_sub(began_ns).and_then(|start| Some(start..start.checked_add(wall_ns)?));
    let part = part.filter(|part| part.end <= profile.tail.wall_ns);
    let span = part.with_context(|| {
        format!("profile {} is not of the emulation of which {} tells", profile.id, report.display())
    })?;
    ensure!(wall_ns > 0, "the emulation of which {} tells took no time", report.display());
    let preparation = json["consumed"]["preparation"].clone();
    // Older reports lack it.
    Ok(Part { span, preparation: serde_json::from_value(preparation).unwrap_or_default() })
}

/// The samples of a part, from its start on. Of one in which it starts counts what was not used before; where nobody knows what was,
/// as much as of its time. What comes behind its end counts with the last one: the sums of processes that have ended are known when somebody has waited for them, and the emulator does next to nothing then.
pub fn within(samples: &[Sample], Part { span: part, preparation }: &Part) -> Vec<Sample> {
    let mut all: Vec<Sample> = Vec::new();
    let since = preparation.map(|used| exact(samples, part.start, used)).unwrap_or_default();
    for sample in samples.iter().filter(|sample| sample.end_ns > part.start) {
        let begin = sample.end_ns.saturating_sub(sample.span_ns);
        if let Some(last) = all.last_mut().filter(|_| begin >= part.end) {
            let before = last.clone();
            last.append(sample);
            (last.end_ns, last.span_ns) = (before.end_ns, before.span_ns);
            for (place, _) in COLUMNS.iter().enumerate().filter(|(_, column)| column.level) {
                last.values[place] = before.values[place];
            }
            continue;
        }
        let from = begin.max(part.start);
        let share = (sample.end_ns - from) as f64 / sample.span_ns.max(1) as f64;
        let scaled = |amount: u64| (amount as f64 * share).round() as u64;
        let to = sample.end_ns.min(part.end);
        let mut cut =
            Sample { end_ns: to - part.start, span_ns: to.saturating_sub(from), ..Sample::default() };
        cut.values = std::array::from_fn(|place| {
            let value = sample.values[place];
            // What it had when it ended it no longer has at the end of the sample.
            let before = all.last().filter(|_| sample.end_ns > part.end).and_then(|last| last.values[place]);
            let since = since.iter().find(|(field, _)| all.is_empty() && *field as usize == place);
            match since {
                _ if COLUMNS[place].level => value.max(before),
                Some(&(_, amount)) => value.map(|_| amount),
                None => value.map(scaled),
            }
        });
        let blocks = sample.blocks.iter();
        cut.blocks = blocks
            .map(|block| Block { count: scaled(block.count), bytes: scaled(block.bytes), ..*block })
            .collect();
        all.push(cut);
    }
    all
}

/// What the sample in which a part starts has of it: all up to its end, less what was used before.
fn exact(samples: &[Sample], start_ns: u64, used: Preparation) -> Vec<(Field, u64)> {
    let number = samples.partition_point(|sample| sample.end_ns <= start_ns);
    let until = samples.iter().take(number + 1);
    let [read, written] = used.bytes;
    let [reads, writes] = used.calls;
    let before = [
        (Field::Cpu, used.cpu_ns),
        (Field::ReadBytes, read),
        (Field::WriteBytes, written),
        (Field::Reads, reads),
        (Field::Writes, writes),
    ];
    let left = |(field, used): (Field, u64)| {
        let all: u64 = until.clone().map(|sample| sample.get(field)).sum();
        (field, all.saturating_sub(used))
    };
    before.into_iter().map(left).collect()
}

/// Makes a profile one of a part of it: `samples`, of `all` that it has.
pub fn restrict(profile: &mut Profile, all: &[Sample], samples: &[Sample], part: &Part) {
    let (Part { span: part, preparation }, tail) = (part, &mut profile.tail);
    tail.wall_ns = part.end - part.start;
    let mut totals: [Option<u64>; WIDTH] = [None; WIDTH];
    for (place, total) in totals.iter_mut().enumerate() {
        let values = samples.iter().filter_map(|sample| sample.values[place]);
        *total = if COLUMNS[place].level { values.max() } else { values.reduce(|sum, more| sum + more) };
    }
    tail.totals = totals;
    // A peak that no sample saw is of the part, unless as much was seen or used outside.
    let outside = all.iter().filter(|sample| sample.end_ns <= part.start || sample.end_ns > part.end);
    let seen = totals[Field::Resident as usize].unwrap_or(0);
    let outside = outside.map(|sample| sample.get(Field::Resident)).max();
    let before = preparation.map(|used| used.peak_bytes);
    if outside.max(before) >= Some(seen) {
        tail.metrics.measured("memory.peak", "B", seen as f64, "highest of the samples compared");
    }
    // Sizes of the whole run alone stay as they are.
    if samples.iter().any(|sample| !sample.blocks.is_empty()) {
        tail.blocks.clear();
        let blocks = samples.iter().flat_map(|sample| &sample.blocks);
        blocks.for_each(|&block| add_block(&mut tail.blocks, block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_before_is_left_out_and_what_comes_late_counts() {
        let sample = |end_ns, cpu, resident| {
            let mut sample = Sample { end_ns, span_ns: 100, ..Sample::default() };
            sample.set(Field::Cpu, cpu);
            sample.set(Field::Resident, resident);
            sample
        };
        let spans = [(100, 7, 90), (200, 40, 10), (300, 50, 20), (400, 8, 5), (500, 1, 0)];
        let all = spans.map(|(end_ns, cpu, resident)| sample(end_ns, cpu, resident));
        let mut part = Part { span: 150..320, preparation: None };
        let cut = within(&all, &part);
        let seen: Vec<_> = cut
            .iter()
            .map(|sample| {
                (sample.end_ns, sample.span_ns, sample.get(Field::Cpu), sample.get(Field::Resident))
            })
            .collect();
        assert_eq!(seen, [(50, 50, 20, 10), (150, 100, 50, 20), (170, 20, 9, 20)]);
        part.preparation = Some(Preparation { cpu_ns: 45, ..Preparation::default() });
        let used: Vec<u64> = within(&all, &part).iter().map(|sample| sample.get(Field::Cpu)).collect();
        assert_eq!(used, [2, 50, 9], "of 47 until then");
    }
}
