//! `syn why`: what a wait, a call or a slow stretch was due to, and what made the whole run as long as it was.

mod chain;
mod export;
mod shares;
mod simulate;
mod text;
mod timeline;

use crate::exit_code::{DONE, LOOK};
use crate::output::{self, complain};
use anyhow::{Context, bail};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use syn_merge::{Options, merge};
use syn_plan::Plan;
use timeline::{Act, Timeline};

/// Tells what a place in a run had waited for, and what the run's end had: the critical path, and what would shorten it.
#[derive(clap::Args)]
pub struct Args {
    /// Plan, or a run folder.
    path: PathBuf,
    /// The first thread of this rank.
    #[arg(long, value_name = "N", conflicts_with = "program", allow_negative_numbers = true)]
    rank: Option<u32>,
    /// The program with this number, as `syn dump` of a plan names them (p0, p1, …).
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    program: Option<usize>,
    /// When in the run, as in `3.4s` or `250ms`; without it, that program's longest wait.
    #[arg(long, value_name = "TIME", value_parser = nanoseconds, allow_hyphen_values = true)]
    at: Option<u64>,
    /// Tells at most so many steps back, waits, and lines of a table.
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true, default_value_t = 12)]
    most: usize,
    /// Writes what led there as a graph for Graphviz; of the run's end, if no place is named.
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Writes all steps, and arrows from cause to effect, as a Chrome trace, which Perfetto shows.
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
}

/// Prints the answer.
///
/// # Errors
/// When there is no plan and no run, or no such place in it.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let (plan, warnings) = open(&args.path)?;
    for warning in &warnings {
        complain(&format!("warning: {warning}"));
    }
    let timeline = Timeline::of(&plan);
    let place = place(args, &timeline)?;
    let end = timeline.end().context("nothing is recorded in it")?;
    let chain = match place {
        Some(act) => chain::back(&timeline, act, chain::since(&timeline, act), args.most),
        None => chain::back(&timeline, end, 0, usize::MAX),
    };
    if let Some(path) = &args.dot {
        write_to(path, |out| export::dot(out, &timeline, &chain, args.most))?;
    }
    if let Some(path) = &args.perfetto {
        let critical = chain::back(&timeline, end, 0, usize::MAX);
        write_to(path, |out| export::perfetto(out, &timeline, &critical))?;
    }
    output::on_stdout(|out| {
        match place {
            Some(act) => text::place(out, &timeline, act, &chain, args.most),
            None => text::whole(out, &timeline, &chain, args.most),
        }
        .context(output::WRITING)?;
        Ok(if warnings.is_empty() { DONE } else { LOOK })
    })
}

/// A plan, or that of a run, and what is wrong with that.
fn open(path: &Path) -> anyhow::Result<(Plan, Vec<String>)> {
    let about = std::fs::metadata(path).with_context(|| format!("cannot open {}", path.display()))?;
    if about.is_dir() {
        let merged = merge(&Options { runs: vec![path.to_owned()], ..Options::default() })?;
        return Ok((merged.plan, merged.notes.warnings));
    }
    Ok((Plan::load(path)?, Vec::new()))
}

/// The act that was asked about, if any was.
fn place(args: &Args, timeline: &Timeline<'_>) -> anyhow::Result<Option<Act>> {
    let (ranks, programs) = (timeline.plan.about.ranks, timeline.programs.len());
    let program = match (args.rank, args.program) {
        (None, None) if args.at.is_none() => return Ok(None),
        (None, None) => bail!("--at tells when; --rank or --program is to tell who"),
        (Some(_), _) if ranks == 0 => {
            bail!("it has no ranks; --program N names one of its {programs} programs, counted from 0")
        }
        (Some(rank), _) => timeline
            .first_of_rank(rank)
            .with_context(|| format!("rank {rank} is not in it; there are {ranks}"))?,
        (None, Some(program)) if program < programs => program,
        (None, Some(program)) => bail!("program {program} is not in it; there are {programs}"),
    };
    let found = match args.at {
        Some(at_ns) => timeline.at(program, at_ns).with_context(|| {
            let (from, to) = timeline.extent(program);
            let name = timeline.name(program);
            format!("{name} was there from {:.6} to {:.6} s", text::seconds(from), text::seconds(to))
        })?,
        None => {
            let waits = timeline.waits(Some(program));
            waits.first().copied().with_context(|| format!("{} waited for nobody", timeline.name(program)))?
        }
    };
    Ok(Some(found))
}

fn write_to(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let written = File::create(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    });
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// A number of things on the command line.
fn count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected a whole number, 0 or more".into())
}

/// A time on the command line: seconds, unless a unit follows.
fn nanoseconds(text: &str) -> Result<u64, String> {
    let units = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("", 1e9)];
    let parsed = units.iter().find_map(|(unit, ns)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some((number * ns).round() as u64)
    });
    parsed.ok_or_else(|| "expected a time, such as 3.4s or 250ms".into())
}

#[cfg(test)]
mod tests {
    use super::nanoseconds;

    #[test]
    fn times_have_units() {
        for (text, ns) in
            [("3.4s", 3_400_000_000), ("250ms", 250_000_000), ("7us", 7_000), ("2", 2_000_000_000)]
        {
            assert_eq!(nanoseconds(text), Ok(ns), "{text}");
        }
        assert!(nanoseconds("soon").is_err() && nanoseconds("-1s").is_err());
    }
}
