//! The command line of `syn emulate`.

use super::plan::MOST_PROCESSES;
use crate::commands::Chosen;
use clap::builder::RangedU64ValueParser;
use std::path::PathBuf;
use syn_replay::demands::kernels::Kernel;

/// Consumes what a profiled command consumed: CPU, memory, storage and network in the same order, without the command.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Which profile.
    #[command(flatten)]
    pub chosen: Chosen,
    /// Of several profiles that fit: the last one, one that is drawn, or the one next to the mean, made to have the mean's totals.
    #[arg(long, value_enum, default_value_t = Which::Last)]
    pub which: Which,
    /// Emulates N times, each reported.
    #[arg(short, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub n: u32,
    /// Puts samples together until there are at most so many a second.
    #[arg(long, value_name = "HZ", default_value_t = 100.0, value_parser = hertz)]
    pub rate: f64,
    /// The folder in which files are read and written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// What is read is not in memory at first.
    #[arg(long)]
    pub cold: bool,
    /// Size of all reads and writes, bytes; without it as recorded.
    #[arg(long, value_name = "BYTES")]
    pub block: Option<u64>,
    /// What computation does.
    #[arg(long, value_enum, default_value_t = Kernel::Mixed)]
    pub kernel: Kernel,
    /// Part of computation that is not spent waiting for memory.
    #[arg(long, value_name = "PART", default_value_t = 1.0)]
    pub efficiency: f64,
    /// Multiplies a resource: cpu, memory, storage, network.
    #[arg(long, value_name = "RESOURCE=FACTOR", value_parser = pair)]
    pub scale: Vec<(String, f64)>,
    /// Draws a factor for a resource each time, from a normal distribution around 1 with this deviation.
    #[arg(long, value_name = "RESOURCE=DEVIATION", value_parser = pair)]
    pub vary: Vec<(String, f64)>,
    /// Where draws begin; the same seed, the same draws.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Number of processes, at most 64; without it as recorded.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_PROCESSES as u64))]
    pub processes: Option<usize>,
    /// Threads of each process, at most 4096; all take an equal part of the CPU time.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=4096))]
    pub threads: Option<usize>,
    /// No step ends earlier than it did: the time that the command spent idle is kept.
    #[arg(long)]
    pub keep_time: bool,
    /// Time in which the command computed nothing passes here as well; what it computed takes as long as it takes here.
    #[arg(long, conflicts_with = "keep_time")]
    pub keep_idle: bool,
    /// The other side of connections, started there with `syn emulate --serve`; without it a thread here.
    #[arg(long, value_name = "HOST:PORT")]
    pub peer: Option<String>,
    /// Ranks that go through the samples in step, each doing its part; without it those of the MPI job.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub ranks: Option<u32>,
    /// Writes the plan that the profile becomes, and emulates nothing; `syn replay` replays it, `syn dump` shows it.
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Is the other side of others' connections, until it is ended.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["which", "load"])]
    pub serve: Option<String>,
    /// Puts load on this machine meanwhile: cpu=50% of all processors, disk=20% of the bandwidth of DIR, memory=30% of all memory.
    #[arg(long, value_name = "RESOURCE=PERCENT", value_parser = super::load::target)]
    pub load: Vec<super::load::Target>,
    /// Without a profile: how long the load lasts.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub seconds: f64,
    /// Writes the results as JSON.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

/// Which of several profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Which {
    /// The newest
    Last,
    /// One that is drawn
    Drawn,
    /// The one whose run time is next to the mean, scaled to the mean's totals
    Mean,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=1e9).contains(&number) => Ok(number),
        _ => Err("it is a number of seconds, not negative".into()),
    }
}

fn hertz(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("it is a number of samples a second, more than 0".into()),
    }
}

fn pair(text: &str) -> Result<(String, f64), String> {
    let (name, number) = text.split_once('=').ok_or("it is RESOURCE=NUMBER")?;
    let known = ["cpu", "memory", "storage", "network"];
    match (known.contains(&name), number.parse::<f64>()) {
        (true, Ok(number)) if number >= 0.0 && number.is_finite() => Ok((name.into(), number)),
        _ => Err(format!("it is one of {}, and a number that is not negative", known.join(", "))),
    }
}
