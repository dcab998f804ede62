//! Runs an emulation: chooses the profile, makes steps and a plan of it, has that replayed, reports.

use super::args::{Args, Which};
use super::steps::{Step, Tuning, WIDEST, steps};
use super::{load, plan};
use crate::machine::{cgroup_memory, fingerprint, speed};
use crate::metrics::ROOM;
use crate::profile::Profile;
use crate::sample::Field;
use crate::screen::print;
use crate::stats::Summary;
use anyhow::{Context, bail};
use rustix::fs::statvfs;
use std::fmt::Write;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;
use syn_replay::demands::kernels::Loop;
use syn_replay::demands::network::serve_all;
use syn_replay::{Consumed, DivergenceReport, NEEDS_A_LOOK};

/// Runs the subcommand. Returns the exit code: 3 when calls failed.
///
/// # Errors
/// When there is no such profile, or something that it did cannot be done here.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    if let Some(address) = &args.serve {
        serve_all(address)?;
    }
    if !args.chosen.is_given() && !args.load.is_empty() {
        return load::run(&args.load, Duration::from_secs_f64(args.seconds), &args.dir);
    }
    let (store, mut profiles) = args.chosen.find()?;
    for profile in &mut profiles {
        store.add_probes_to(profile)?;
    }
    let mut draw = Draw(args.seed.max(1));
    let folder = tempfile::tempdir().context("cannot make a folder for plans")?;
    let (mut emulated, mut plans) = (Vec::new(), Vec::new());
    for number in 0..args.n {
        let (profile, scale) = choose(&profiles, args, &mut draw)?;
        let mut tuning = tuning(profile, args, scale, &mut draw)?;
        let samples = store.all_samples(profile.id)?;
        let mut made = steps(profile, &samples, &tuning);
        if let Some(threads) = args.threads {
            let (processes, _) = plan::population(&made, args.processes, args.threads, share(args));
            tuning.width = Some((processes * threads).min(WIDEST));
            made = steps(profile, &samples, &tuning);
        }
        drop(samples);
        let steps = made;
        if steps.is_empty() {
            bail!("profile {} has no samples", profile.id);
        }
        check_memory(&steps)?;
        let files = Files::of(profile, &steps, args, tuning.factor("storage"))?;
        if let (Some(told), 0) = (files.told(args), number) {
            eprintln!("syn: warning: {told}");
        }
        let made = plan::plan(profile, &steps, &shape(&steps, args, files));
        if let Some(path) = &args.plan {
            made.save(path)?;
            print(&format!(
                "plan       {} ({} steps) of profile {}\n",
                path.display(),
                steps.len(),
                profile.id
            ))?;
            return Ok(0);
        }
        emulated.push((profile, Made::of(&steps, files)));
        plans.push((replay(args, folder.path().join(format!("{number}.syn"))), made));
    }
    let _background = load::Background::start(&args.load, &args.dir)?;
    let (consumed, divergences) = syn_replay::consume(plans)?;
    match (consumed.last(), emulated.last()) {
        (Some(&last), Some(&(profile, made))) => {
            let walls: Vec<f64> = consumed.iter().map(|one| one.wall_ns as f64 / 1e9).collect();
            tell(args, &profiles, profile, &walls, (last, &divergences), made)
        }
        // Another rank tells.
        _ => Ok(0),
    }
}

fn replay(args: &Args, plan: PathBuf) -> syn_replay::Args {
    syn_replay::Args {
        inject_delays: None,
        comm: Some(syn_replay::Comm::Order),
        mpi_io: None,
        plan,
        storage: args.dir.clone(),
        mode: syn_replay::Mode::Closed,
        repeat: NonZeroU32::MIN,
        report: None,
        html: None,
        against: Vec::new(),
        cold: args.cold,
        keep: false,
        cpu_scale: 1.0,
        peer: args.peer.clone(),
        wait: syn_replay::Waiting::Block,
    }
}

fn shape(steps: &[Step], args: &Args, files: Files) -> plan::Shape {
    let (processes, executors) = plan::population(steps, args.processes, args.threads, share(args));
    plan::Shape {
        ranks: ranks_together(args),
        processes,
        executors,
        kernel: args.kernel,
        efficiency: args.efficiency,
        keep: keep(args),
        cold: args.cold,
        write_limit: files.allowed.min(files.needed),
    }
}

/// How long the file is that a rank writes, bytes.
#[derive(Clone, Copy)]
struct Files {
    /// Its part of half of what is free.
    allowed: u64,
    /// As long as the program's were.
    needed: u64,
}

impl Files {
    /// `storage`: the part of the recorded storage that a rank takes.
    fn of(profile: &Profile, steps: &[Step], args: &Args, storage: f64) -> anyhow::Result<Files> {
        let free = statvfs(&args.dir).with_context(|| format!("cannot write in {}", args.dir.display()))?;
        let written = steps.iter().flat_map(|step| &step.calls).filter(|calls| calls.write);
        let written = written.map(|calls| calls.bytes.saturating_mul(calls.count));
        Ok(Files {
            allowed: ((free.f_bavail * free.f_frsize / 2) as f64 * share(args)) as u64,
            needed: ((room(profile) as f64 * storage) as u64).min(written.fold(0, u64::saturating_add)),
        })
    }

    fn are_short(self) -> bool {
        self.allowed < self.needed
    }

    fn told(self, args: &Args) -> Option<String> {
        self.are_short().then(|| {
            format!(
                "what is written would take {} bytes, and half of what is free in {} is {}: the file begins anew at that length",
                self.needed,
                args.dir.display(),
                self.allowed
            )
        })
    }
}

fn keep(args: &Args) -> plan::Keep {
    match (args.keep_time, args.keep_idle) {
        (true, _) => plan::Keep::Time,
        (false, true) => plan::Keep::Idle,
        (false, false) => plan::Keep::Nothing,
    }
}

/// How much was written to different places, bytes: what the profile found out. Where there was a device the kernel tells, which
/// counts pages that wait for it once.
fn room(profile: &Profile) -> u64 {
    let found = profile.tail.metrics.get(ROOM).map_or(u64::MAX, |bytes| bytes as u64);
    let to_device = profile.total(Field::DeviceWriteBytes);
    if to_device > 0 { found.min(to_device) } else { found }
}

/// Ranks that go through the samples together, in this plan.
fn ranks_together(args: &Args) -> u32 {
    let job = syn_replay::started_by_mpi().filter(|_| syn_replay::RANKS_TOGETHER);
    args.ranks.or(job).unwrap_or(1)
}

/// What was emulated.
#[derive(Clone, Copy)]
struct Made {
    steps: usize,
    /// Time in which the command did not compute, nanoseconds.
    idle_ns: u64,
    files: Files,
}

impl Made {
    fn of(steps: &[Step], files: Files) -> Made {
        Made { steps: steps.len(), idle_ns: steps.iter().map(|step| step.idle_ns).sum(), files }
    }
}

/// From this part of the recorded time on it is told that idle time is left out.
const LEAST_IDLE: f64 = 0.02;

fn tell(
    args: &Args,
    profiles: &[Profile],
    profile: &Profile,
    walls: &[f64],
    (done, divergences): (Consumed, &DivergenceReport),
    made: Made,
) -> anyhow::Result<u8> {
    let finished = profiles.iter().filter(|profile| profile.is_finished());
    let recorded: Vec<f64> = finished.map(|profile| profile.tail.wall_ns as f64 / 1e9).collect();
    let recorded = if args.which == Which::Mean && !recorded.is_empty() {
        recorded
    } else {
        vec![profile.tail.wall_ns as f64 / 1e9]
    };
    let (there, here) = (Summary::of(&recorded), Summary::of(walls));
    let change = (here.mean - there.mean) / there.mean.max(1e-9) * 100.0;
    let mut out = String::new();
    writeln!(out, "profile    {} ({}), {} steps", profile.id, profile.command_line(), made.steps)?;
    writeln!(out, "recorded   {:.6} s, CPU {:.6} s", there.mean, profile.total(Field::Cpu) as f64 / 1e9)?;
    writeln!(
        out,
        "emulated   {:.6} s, CPU {:.6} s, change {change:+.2} %",
        here.mean,
        done.cpu_ns as f64 / 1e9
    )?;
    if walls.len() > 1 {
        writeln!(out, "           {} times, deviation {:.6} s", walls.len(), here.deviation)?;
    }
    let idle_s = if keep(args) == plan::Keep::Nothing { made.idle_ns as f64 / 1e9 } else { 0.0 };
    if idle_s > LEAST_IDLE * there.mean {
        writeln!(
            out,
            "idle       {idle_s:.6} s, left out but for what files and the network take here; --keep-idle keeps it"
        )?;
    }
    let [read, written] = done.bytes;
    writeln!(
        out,
        "moved      {read} bytes read, {written} written, {} sent, {} received, {} within",
        done.network[0], done.network[1], done.network[2]
    )?;
    if made.files.are_short() {
        let Files { allowed, needed } = made.files;
        writeln!(out, "files      {allowed} bytes long in the place of {needed}: no more is free here")?;
    }
    if let Some(path) = &args.report {
        let report = serde_json::json!({
            "profile": profile.id,
            "recorded_s": recorded,
            "emulated_s": walls,
            "change_percent": change,
            "steps": made.steps,
            "left_out_idle_s": idle_s,
            "files_bytes": made.files.allowed.min(made.files.needed),
            "recorded_files_bytes": made.files.needed,
            "consumed": done,
            "divergences": divergences,
        });
        std::fs::write(path, format!("{report:#}\n"))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    // Who did less than the profile says took less time for it.
    out += &divergences.text();
    print(&out)?;
    Ok(if divergences.total > 0 { NEEDS_A_LOOK } else { 0 })
}

/// Who would need more memory than there is would be ended without a word.
fn check_memory(steps: &[Step]) -> anyhow::Result<()> {
    let most = steps.iter().map(|step| step.resident).max().unwrap_or(0);
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = crate::proc::field::<u64>(&text, "MemAvailable:").map(|kib| kib * 1024);
    let free = available.into_iter().chain(cgroup_memory()).min();
    match free.filter(|&free| most > free) {
        Some(free) => bail!(
            "the profile holds {} MiB of memory, and {} MiB are free here: --scale memory=FACTOR makes it less",
            most >> 20,
            free >> 20
        ),
        None => Ok(()),
    }
}

/// The profile to emulate, and factors that give it other totals.
fn choose<'a>(
    profiles: &'a [Profile],
    args: &Args,
    draw: &mut Draw,
) -> anyhow::Result<(&'a Profile, Vec<(&'static str, f64)>)> {
    let newest = profiles.last().context("no profile fits")?;
    // What was never finished has no totals; it is emulated if there is nothing else.
    let finished: Vec<&Profile> = profiles.iter().filter(|profile| profile.is_finished()).collect();
    let profiles = if finished.is_empty() { vec![newest] } else { finished };
    let newest = profiles[profiles.len() - 1];
    Ok(match args.which {
        Which::Last => (newest, Vec::new()),
        Which::Drawn => {
            (profiles[(draw.uniform() * profiles.len() as f64) as usize % profiles.len()], Vec::new())
        }
        Which::Mean => {
            let mean = |value: &dyn Fn(&Profile) -> f64| {
                profiles.iter().map(|profile| value(profile)).sum::<f64>() / profiles.len() as f64
            };
            let wall = |profile: &Profile| profile.tail.wall_ns as f64;
            let middle = mean(&wall);
            let near = |profile: &Profile| (wall(profile) - middle).abs();
            let nearest =
                profiles.iter().copied().min_by(|a, b| near(a).total_cmp(&near(b))).unwrap_or(newest);
            let factor = |fields: &[Field]| {
                let value =
                    |profile: &Profile| fields.iter().map(|&field| profile.total(field)).sum::<u64>() as f64;
                if value(nearest) > 0.0 { mean(&value) / value(nearest) } else { 1.0 }
            };
            let peak = |profile: &Profile| profile.peak_bytes() as f64;
            let memory = if peak(nearest) > 0.0 { mean(&peak) / peak(nearest) } else { 1.0 };
            let factors = vec![
                ("cpu", factor(&[Field::Cpu])),
                ("memory", memory),
                ("storage", factor(&[Field::ReadBytes, Field::WriteBytes])),
                ("network", factor(&[Field::SentBytes, Field::ReceivedBytes, Field::InnerBytes])),
            ];
            (nearest, factors)
        }
    })
}

fn tuning(
    profile: &Profile,
    args: &Args,
    scale: Vec<(&'static str, f64)>,
    draw: &mut Draw,
) -> anyhow::Result<Tuning> {
    let mut tuning =
        Tuning { least_ns: (1e9 / args.rate.max(1e-3)) as u64, block: args.block, ..Tuning::default() };
    let mut times = |name: &str, factor: f64| *tuning.scale.entry(name.into()).or_insert(1.0) *= factor;
    scale.iter().for_each(|&(name, factor)| times(name, factor));
    args.scale.iter().for_each(|(name, factor)| times(name, *factor));
    args.vary.iter().for_each(|(name, deviation)| times(name, (1.0 + deviation * draw.normal()).max(0.0)));
    if !(0.0..=1.0).contains(&args.efficiency) {
        bail!("--efficiency is a part, from 0 to 1");
    }
    if profile.head.machine != fingerprint() {
        let here = Loop::new(args.kernel).measure();
        match speed(args.kernel, &profile.tail.metrics) {
            Some(there) => tuning.cpu_ratio = there / here,
            None => eprintln!(
                "syn: warning: profile {} is of another machine and has no probes of it: its CPU time is taken for this machine's",
                profile.id
            ),
        }
    }
    tuning.share = share(args);
    if !profile.is_finished() {
        eprintln!("syn: warning: profile {} was never finished: only its samples are emulated", profile.id);
    }
    Ok(tuning)
}

/// The part of all consumption that one rank is.
fn share(args: &Args) -> f64 {
    let alone = syn_replay::started_by_mpi().filter(|_| !syn_replay::RANKS_TOGETHER && args.ranks.is_none());
    1.0 / f64::from(alone.unwrap_or(ranks_together(args)).max(1))
}

/// Draws that are the same for the same seed (xorshift64*).
struct Draw(u64);

impl Draw {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal (Box and Muller).
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform().max(1e-300), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_mean_and_deviation_that_they_should() {
        let mut draw = Draw(7);
        let drawn: Vec<f64> = (0..20_000).map(|_| draw.normal()).collect();
        let summary = Summary::of(&drawn);
        assert!(summary.mean.abs() < 0.05 && (summary.deviation - 1.0).abs() < 0.05, "{summary:?}");
    }
}
