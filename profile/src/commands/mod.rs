//! `syn profiles …` and `syn predict`: looking at what the store holds.

mod chosen;
mod compare;
mod part;
mod show;
mod words;

pub use chosen::{Chosen, tag, tags};

use crate::profile::Profile;
use crate::sample::{COLUMNS, Field};
use crate::screen::print;
use crate::stats::{Summary, outliers};
use crate::store::{Format, Store, default_path};
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use words::outcome;

/// Lists, shows, compares, exports, imports and removes profiles.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// One line a profile
    List(Chosen),
    /// All that is known of a profile: metrics, processes, sizes of calls
    Show(show::Args),
    /// Repeats of one command: mean, deviation, confidence, outliers
    Stats(Chosen),
    /// Two profiles side by side: totals and how alike they are over time
    Compare(compare::Args),
    /// Writes a profile into a file
    Export {
        /// The file; its ending says which kind it is: .json, .csv, .parquet.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// The kind, whatever the ending.
        #[arg(long)]
        format: Option<Format>,
        #[command(flatten)]
        chosen: Chosen,
    },
    /// Reads profiles from files that `export` has written
    Import {
        /// The store.
        #[arg(long, value_name = "FILE")]
        store: Option<PathBuf>,
        /// The kind, whatever the ending.
        #[arg(long)]
        format: Option<Format>,
        /// The files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Removes profiles
    Rm(Chosen),
    /// Looks through the whole store for damage
    Check(Chosen),
}

/// Runs the subcommand. Returns the exit code.
///
/// # Errors
/// When the store cannot be used, or nothing fits.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    match &args.action {
        Action::List(chosen) => list(chosen),
        Action::Show(args) => show::run(args),
        Action::Stats(chosen) => stats(chosen),
        Action::Compare(args) => compare::run(args),
        Action::Export { output, format, chosen } => {
            let (store, mut profiles) = chosen.find()?;
            let [profile] = profiles.as_mut_slice() else {
                bail!("{} profiles fit; name one by its number", profiles.len())
            };
            // Elsewhere nobody knows its machine.
            store.add_probes_to(profile)?;
            store.export(profile, kind(*format, output)?, output)?;
            Ok(0)
        }
        Action::Import { store, format, files } => {
            let mut store = Store::open(&store.clone().unwrap_or_else(default_path))?;
            for file in files {
                print(&format!("{}\n", store.import(kind(*format, file)?, file)?))?;
            }
            Ok(0)
        }
        Action::Rm(chosen) => {
            if !chosen.is_given() {
                bail!("say which profiles: a number, a command, or --tag");
            }
            let (store, profiles) = chosen.find()?;
            let mut removed = 0;
            for profile in profiles {
                if store.remove(profile.id)? {
                    print(&format!("profile {} ({})\n", profile.id, profile.command_line()))?;
                    removed += 1;
                }
            }
            print(&format!("removed {removed} of them\n"))?;
            Ok(0)
        }
        Action::Check(chosen) => {
            chosen.open()?.check()?;
            print("the store is whole\n")?;
            Ok(0)
        }
    }
}

fn kind(asked: Option<Format>, path: &std::path::Path) -> anyhow::Result<Format> {
    asked.or_else(|| Format::of(path)).with_context(|| {
        format!("the ending of {} says no kind: name it with --format json, csv or parquet", path.display())
    })
}

fn list(chosen: &Chosen) -> anyhow::Result<u8> {
    let store = chosen.open()?;
    let profiles = store.find(&chosen.selector()?)?;
    let mut out = String::new();
    writeln!(
        out,
        "{:>5} {:>12} {:>12} {:>10} {:<12} command",
        "id", "seconds", "cpu s", "samples", "outcome"
    )?;
    for profile in profiles {
        let tags: Vec<String> = profile.tags().map(|tag| format!("  {tag}")).collect();
        writeln!(
            out,
            "{:>5} {:>12.6} {:>12.6} {:>10} {:<12} {}{}",
            profile.id,
            profile.tail.wall_ns as f64 / 1e9,
            profile.total(Field::Cpu) as f64 / 1e9,
            store.sample_count(profile.id)?,
            outcome(profile.tail.outcome),
            profile.command_line(),
            tags.concat()
        )?;
    }
    print(&out)?;
    Ok(0)
}

fn stats(chosen: &Chosen) -> anyhow::Result<u8> {
    let (_, profiles) = chosen.find()?;
    let (finished, unfinished): (Vec<&Profile>, Vec<&Profile>) =
        profiles.iter().partition(|profile| profile.is_finished());
    let mut commands: BTreeMap<(String, String), Vec<&Profile>> = BTreeMap::new();
    for profile in finished {
        commands.entry((profile.command_line(), profile.head.machine.clone())).or_default().push(profile);
    }
    let mut out = String::new();
    for ((command, machine), repeats) in commands {
        writeln!(out, "{command}\n{} profiles on {machine}", repeats.len())?;
        writeln!(out, "{:<22} {:>18} {:>14} {:>16}  outliers", "", "mean", "deviation", "95 % +-")?;
        let mut line = |name: &str, values: &[f64]| {
            let Summary { count, mean, deviation, confidence } = Summary::of(values);
            // Of one value nobody knows.
            let known = |value: f64| if count > 1 { format!("{value:.6}") } else { "-".into() };
            let far: Vec<String> =
                outliers(values).into_iter().map(|place| repeats[place].id.to_string()).collect();
            let (deviation, confidence) = (known(deviation), known(confidence));
            writeln!(out, "{name:<22} {mean:>18.6} {deviation:>14} {confidence:>16}  {}", far.join(" "))
        };
        line(
            "run_time_s",
            &repeats.iter().map(|profile| profile.tail.wall_ns as f64 / 1e9).collect::<Vec<_>>(),
        )?;
        for (place, column) in COLUMNS.iter().enumerate() {
            let values: Option<Vec<f64>> =
                repeats.iter().map(|profile| profile.tail.totals[place].map(|value| value as f64)).collect();
            if let Some(values) = values {
                line(column.name, &values)?;
            }
        }
    }
    if !unfinished.is_empty() {
        let ids: Vec<String> = unfinished.iter().map(|profile| profile.id.to_string()).collect();
        writeln!(out, "left out, since they never ended: {}", ids.join(" "))?;
    }
    print(&out)?;
    Ok(0)
}

/// Says how long a profiled command would take on this machine, from probes alone.
#[derive(clap::Args, Debug)]
pub struct PredictArgs {
    /// The folder whose file system is probed.
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    #[command(flatten)]
    chosen: Chosen,
}

/// Runs `syn predict`. Returns the exit code.
///
/// # Errors
/// When there is no such profile, or its machine was not probed.
pub fn predict(args: &PredictArgs) -> anyhow::Result<u8> {
    let (store, profiles) = args.chosen.find()?;
    let here = crate::machine::probe(&args.dir)?;
    for mut profile in profiles {
        store.add_probes_to(&mut profile)?;
        let samples = store.all_samples(profile.id)?;
        let prediction = crate::predict::predict(&profile, &samples, &here).with_context(|| {
            format!(
                "profile {} has no probes of its machine; profile anything there with --probe",
                profile.id
            )
        })?;
        print(&format!(
            "profile {} ({}): recorded {:.6} s, expected here {:.6} s ({:.6} to {:.6}: kernels differ by {:.1} %, probes varied by {:.1} %); idle {:.1} %, taken to last as long\n",
            profile.id,
            profile.command_line(),
            profile.tail.wall_ns as f64 / 1e9,
            prediction.expected,
            prediction.low,
            prediction.high,
            prediction.kernels * 100.0,
            prediction.probes * 100.0,
            prediction.idle * 100.0
        ))?;
    }
    Ok(0)
}
