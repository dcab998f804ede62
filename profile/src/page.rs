//! A page about a profile: one file, charts drawn as SVG by the library `plotters`.

use crate::profile::Profile;
use crate::sample::{BlockKind, COLUMNS, Field, Sample};
use crate::stats::Summary;
use crate::store::{Selector, Store};
use anyhow::Context;
use plotters::prelude::*;
use std::fmt::Write;
use syn_replay::page::{beginning, escape};

/// Most points of a line: more are not seen.
const POINTS: usize = 600;
/// Width and height of a chart.
const SIZE: (u32, u32) = (900, 260);

/// What a chart over time shows: its title, unit, factor from the column's unit, and column. Amounts become rates.
const CHARTS: [(&str, &str, f64, Field); 9] = [
    ("Processors in use", "processors", 1e-9, Field::Cpu),
    ("Resident memory", "MiB", 1.0 / 1048576.0, Field::Resident),
    ("Read", "MiB/s", 1.0 / 1048576.0, Field::ReadBytes),
    ("Written", "MiB/s", 1.0 / 1048576.0, Field::WriteBytes),
    ("Sent", "MiB/s", 1.0 / 1048576.0, Field::SentBytes),
    ("Received", "MiB/s", 1.0 / 1048576.0, Field::ReceivedBytes),
    ("Sent within", "MiB/s", 1.0 / 1048576.0, Field::InnerBytes),
    ("Processes", "processes", 1.0, Field::Processes),
    ("Threads", "threads", 1.0, Field::Threads),
];

/// The page of the last of `profiles`; the others are repeats, `over` is laid over it.
///
/// # Errors
/// When samples cannot be read or a chart cannot be drawn.
pub fn page(store: &Store, profiles: &[Profile], over: Option<i64>) -> anyhow::Result<String> {
    let profile = profiles.last().context("no profile to show")?;
    let mut lines = vec![(format!("profile {}", profile.id), store.all_samples(profile.id)?)];
    if let Some(id) = over {
        let other = store.find(&Selector { id: Some(id), ..Selector::default() })?;
        let other = other.first().with_context(|| format!("there is no profile {id}"))?;
        lines.push((format!("{} ({})", id, other.command_line()), store.all_samples(id)?));
    }
    let mut out = beginning(&profile.command_line(), "");
    write!(
        out,
        "<p>profile {}, {:.6} s, CPU {:.6} s, {} samples, {}</p>",
        profile.id,
        profile.tail.wall_ns as f64 / 1e9,
        profile.total(Field::Cpu) as f64 / 1e9,
        lines[0].1.len(),
        escape(&profile.head.machine)
    )?;
    for note in &profile.tail.metrics.notes {
        write!(out, "<p class=note>{}</p>", escape(note))?;
    }
    for (name, unit, factor, field) in CHARTS {
        let used = lines.iter().any(|(_, samples)| samples.iter().any(|sample| sample.get(field) > 0));
        if used {
            write!(out, "<h2>{name}</h2>{}", over_time(&lines, unit, factor, field)?)?;
        }
    }
    if !profile.tail.processes.is_empty() {
        write!(out, "<h2>Processes over time</h2>{}", processes(profile)?)?;
    }
    for kind in BlockKind::ALL {
        if profile.tail.blocks.iter().any(|block| block.kind == kind) {
            write!(out, "<h2>Sizes: {}</h2>{}", kind.name(), sizes(profile, kind)?)?;
        }
    }
    if profiles.len() > 1 {
        write!(out, "<h2>Repeats</h2>{}", repeats(profiles)?)?;
    }
    table(&mut out, profile)?;
    Ok(out)
}

/// Values over time; neighbours are put together until there are few enough.
fn points(samples: &[Sample], factor: f64, field: Field) -> Vec<(f64, f64)> {
    let level = COLUMNS[field as usize].level;
    let together = samples.len().div_ceil(POINTS).max(1);
    samples
        .chunks(together)
        .map(|chunk| {
            let span: u64 = chunk.iter().map(|sample| sample.span_ns).sum();
            let value = if level {
                chunk.iter().map(|sample| sample.get(field)).max().unwrap_or(0) as f64
            } else {
                let sum: u64 = chunk.iter().map(|sample| sample.get(field)).sum();
                sum as f64 / span.max(1) as f64 * 1e9
            };
            (chunk[chunk.len() - 1].end_ns as f64 / 1e9, value * factor)
        })
        .collect()
}

fn drawn(
    draw: impl FnOnce(&DrawingArea<SVGBackend<'_>, plotters::coord::Shift>) -> Result<(), String>,
) -> anyhow::Result<String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let done = area.fill(&WHITE).map_err(|error| error.to_string()).and_then(|()| draw(&area));
        done.and_then(|()| area.present().map_err(|error| error.to_string()))
            .map_err(|error| anyhow::anyhow!("cannot draw a chart: {error}"))?;
    }
    Ok(text)
}

fn told(error: impl ToString) -> String {
    error.to_string()
}

const COLORS: [RGBColor; 2] = [RGBColor(31, 92, 168), RGBColor(214, 93, 14)];

fn over_time(
    lines: &[(String, Vec<Sample>)],
    unit: &str,
    factor: f64,
    field: Field,
) -> anyhow::Result<String> {
    let all: Vec<Vec<(f64, f64)>> = lines.iter().map(|(_, samples)| points(samples, factor, field)).collect();
    let highest = |part: fn(&(f64, f64)) -> f64| all.iter().flatten().map(part).fold(1e-9, f64::max);
    // Names stand above the lines.
    let room = if lines.len() > 1 { 1.4 } else { 1.05 };
    let (end, top) = (highest(|point| point.0), highest(|point| point.1) * room);
    drawn(|area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .x_label_area_size(32)
            .y_label_area_size(70)
            .build_cartesian_2d(0.0..end, 0.0..top)
            .map_err(told)?;
        chart.configure_mesh().light_line_style(WHITE).x_desc("s").y_desc(unit).draw().map_err(told)?;
        for ((points, color), (name, _)) in all.iter().zip(COLORS).zip(lines) {
            let line = LineSeries::new(points.iter().copied(), color.stroke_width(2));
            let series = chart.draw_series(line).map_err(told)?;
            series
                .label(name.clone())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
        }
        if lines.len() > 1 {
            let labels = chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperRight)
                .background_style(WHITE.mix(0.8))
                .border_style(BLACK.mix(0.2))
                .draw();
            labels.map_err(told)?;
        }
        Ok(())
    })
}

/// Most processes that are drawn: those that used most.
const DRAWN: usize = 24;

fn processes(profile: &Profile) -> anyhow::Result<String> {
    let mut rows: Vec<_> = profile.tail.processes.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.cpu_ns));
    rows.truncate(DRAWN);
    rows.sort_by_key(|row| row.seen_ns[0]);
    let (end, count) = (profile.tail.wall_ns.max(1) as f64 / 1e9, rows.len() as f64);
    drawn(|area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .x_label_area_size(32)
            .build_cartesian_2d(0.0..end, 0.0..count)
            .map_err(told)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(WHITE)
            .x_desc("s")
            .draw()
            .map_err(told)?;
        for (place, row) in rows.iter().enumerate() {
            let (low, [from, to]) = (count - 1.0 - place as f64, row.seen_ns.map(|ns| ns as f64 / 1e9));
            let bar = Rectangle::new(
                [(from, low + 0.1), (to.max(from + end / 500.0), low + 0.9)],
                COLORS[0].mix(0.35).filled(),
            );
            chart.draw_series([bar]).map_err(told)?;
            let text = format!(
                "{} {}: CPU {:.3} s, {} MiB, {} threads",
                row.name,
                row.pid,
                row.cpu_ns as f64 / 1e9,
                row.peak_bytes >> 20,
                row.threads
            );
            // Names stand within the chart: what begins late has its own to the left.
            let at = if from < end / 2.0 { from } else { from - end * 0.45 };
            let font = ("sans-serif", (200.0 / count).clamp(6.0, 13.0)).into_font();
            chart.draw_series([Text::new(text, (at.max(0.0), low + 0.75), font)]).map_err(told)?;
        }
        Ok(())
    })
}

fn sizes(profile: &Profile, kind: BlockKind) -> anyhow::Result<String> {
    let blocks: Vec<_> = profile.tail.blocks.iter().filter(|block| block.kind == kind).collect();
    let most = blocks.iter().map(|block| block.bytes).max().unwrap_or(1).max(1) as f64 / 1048576.0;
    let bins = blocks.iter().map(|block| i32::from(block.bin)).max().unwrap_or(0) + 1;
    drawn(|area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .x_label_area_size(32)
            .y_label_area_size(70)
            .build_cartesian_2d(-1..bins, 0.0..most * 1.05)
            .map_err(told)?;
        // A bar stands between its bounds.
        let label = |&bin: &i32| if bin < 0 { "0".into() } else { format!("2^{bin}") };
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_desc("bytes of a call")
            .y_desc("MiB")
            .x_label_formatter(&label)
            .draw()
            .map_err(told)?;
        for block in &blocks {
            let bin = i32::from(block.bin);
            let bar = Rectangle::new(
                [(bin - 1, 0.0), (bin, block.bytes as f64 / 1048576.0)],
                COLORS[0].mix(0.6).filled(),
            );
            chart.draw_series([bar]).map_err(told)?;
        }
        Ok(())
    })
}

/// Run times of all repeats, with the band of one standard deviation around the mean.
fn repeats(profiles: &[Profile]) -> anyhow::Result<String> {
    let values: Vec<f64> = profiles.iter().map(|profile| profile.tail.wall_ns as f64 / 1e9).collect();
    let summary = Summary::of(&values);
    let top = values.iter().copied().fold(summary.mean + summary.deviation, f64::max) * 1.1;
    let count = values.len() as f64;
    drawn(|area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .x_label_area_size(32)
            .y_label_area_size(70)
            .build_cartesian_2d(0.0..count + 1.0, 0.0..top)
            .map_err(told)?;
        chart.configure_mesh().light_line_style(WHITE).x_desc("repeat").y_desc("s").draw().map_err(told)?;
        let (low, high) = (summary.mean - summary.deviation, summary.mean + summary.deviation);
        let band = Rectangle::new([(0.0, low.max(0.0)), (count + 1.0, high)], COLORS[1].mix(0.2).filled());
        chart.draw_series([band]).map_err(told)?;
        let dots = values
            .iter()
            .enumerate()
            .map(|(place, &value)| Circle::new((place as f64 + 1.0, value), 4, COLORS[0].filled()));
        chart.draw_series(dots).map_err(told)?;
        Ok(())
    })
}

fn table(out: &mut String, profile: &Profile) -> std::fmt::Result {
    write!(out, "<h2>Metrics</h2><table><tr><th>metric<th>value<th>unit<th>how")?;
    for metric in &profile.tail.metrics.rows {
        let value = metric.value.map_or_else(|| "not known".into(), |value| format!("{value:.6}"));
        write!(
            out,
            "<tr><td>{}<td class=n>{value}<td>{}<td>{}",
            escape(&metric.name),
            escape(&metric.unit),
            escape(&metric.how)
        )?;
    }
    write!(out, "</table></html>")
}
