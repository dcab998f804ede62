//! Runs an emulation: chooses the profile, makes steps of it, forks the processes, reports.

use super::args::{Args, Which};
use super::executor::{Atoms, Emulated, Script, Stage, play};
use super::load;
use super::memory::Memory;
use super::network::{Network, serve, serve_all};
use super::steps::{Step, Tuning, WIDEST, cpu_ratio, steps};
use super::storage::Storage;
use crate::kernels::Loop;
use crate::machine::fingerprint;
use crate::proc::{Reader, Stat, page_bytes};
use crate::profile::{Outcome, Profile};
use crate::sample::Field;
use crate::stats::Summary;
use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::net::TcpListener;
use std::time::Duration;
use syn_replay::sys::child::{fork, require_one_thread};
use syn_replay::sys::signals::Signals;

/// Most processes of an emulation.
const MOST_PROCESSES: usize = 64;

/// Runs the subcommand. Returns the exit code.
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
    let (store, profiles) = args.chosen.find()?;
    let mut draw = Draw(args.seed.max(1));
    let mut walls = Vec::new();
    let mut last = None;
    for _ in 0..args.n {
        let (profile, scale) = choose(&profiles, args, &mut draw)?;
        let tuning = tuning(profile, args, scale, &mut draw)?;
        let samples = store.all_samples(profile.id)?;
        let steps = steps(profile, &samples, &tuning);
        drop(samples);
        if steps.is_empty() {
            bail!("profile {} has no samples", profile.id);
        }
        let done = emulate(profile, &steps, args)?;
        walls.push(done.wall_ns as f64 / 1e9);
        last = Some((profile, done, steps.len()));
    }
    let (profile, done, steps) = last.context("nothing was emulated")?;
    tell(args, &profiles, profile, &walls, done, steps)
}

fn tell(
    args: &Args,
    profiles: &[Profile],
    profile: &Profile,
    walls: &[f64],
    done: Emulated,
    steps: usize,
) -> anyhow::Result<u8> {
    let recorded: Vec<f64> = profiles.iter().map(|profile| profile.tail.wall_ns as f64 / 1e9).collect();
    let recorded = if args.which == Which::Mean { recorded } else { vec![profile.tail.wall_ns as f64 / 1e9] };
    let (there, here) = (Summary::of(&recorded), Summary::of(walls));
    let change = (here.mean - there.mean) / there.mean.max(1e-9) * 100.0;
    println!("profile    {} ({}), {steps} steps", profile.id, profile.command_line());
    println!("recorded   {:.6} s, CPU {:.6} s", there.mean, profile.total(Field::Cpu) as f64 / 1e9);
    println!("emulated   {:.6} s, CPU {:.6} s, change {change:+.2} %", here.mean, done.cpu_ns as f64 / 1e9);
    if walls.len() > 1 {
        println!("           {} times, deviation {:.6} s", walls.len(), here.deviation);
    }
    let [read, written] = done.bytes;
    println!(
        "moved      {read} bytes read, {written} written, {} sent, {} received, {} within",
        done.network[0], done.network[1], done.network[2]
    );
    if let Some(path) = &args.report {
        let report = serde_json::json!({
            "profile": profile.id,
            "recorded_s": recorded,
            "emulated_s": walls,
            "change_percent": change,
            "steps": steps,
            "consumed": done,
        });
        std::fs::write(path, format!("{report:#}\n"))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(0)
}

/// The profile to emulate, and factors that give it other totals.
fn choose<'a>(
    profiles: &'a [Profile],
    args: &Args,
    draw: &mut Draw,
) -> anyhow::Result<(&'a Profile, Vec<(&'static str, f64)>)> {
    let newest = profiles.last().context("no profile fits")?;
    Ok(match args.which {
        Which::Last => (newest, Vec::new()),
        Which::Drawn => {
            (&profiles[(draw.uniform() * profiles.len() as f64) as usize % profiles.len()], Vec::new())
        }
        Which::Mean => {
            let mean = |value: &dyn Fn(&Profile) -> f64| {
                profiles.iter().map(value).sum::<f64>() / profiles.len() as f64
            };
            let wall = |profile: &Profile| profile.tail.wall_ns as f64;
            let middle = mean(&wall);
            let near = |profile: &&Profile| (wall(profile) - middle).abs();
            let nearest = profiles.iter().min_by(|a, b| near(a).total_cmp(&near(b))).unwrap_or(newest);
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
        match cpu_ratio(profile, args.kernel, here) {
            Some(ratio) => tuning.cpu_ratio = ratio,
            None => eprintln!(
                "syn: warning: profile {} is of another machine and has no probes of it: its CPU time is taken for this machine's",
                profile.id
            ),
        }
    }
    if args.threads.is_some() {
        tuning.width = Some((args.processes.unwrap_or(1) * args.threads.unwrap_or(1)).clamp(1, WIDEST));
    }
    if let Some(ranks) = ranks() {
        tuning.share = 1.0 / ranks;
    }
    if profile.tail.outcome == Outcome::Unfinished {
        eprintln!("syn: warning: profile {} was never finished: only its samples are emulated", profile.id);
    }
    Ok(tuning)
}

/// Ranks of the MPI job that this process is one of: each emulates its part.
fn ranks() -> Option<f64> {
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]
        .iter()
        .find_map(|name| std::env::var(name).ok()?.parse().ok())
        .filter(|&n| n >= 1.0)
}

struct Children(Vec<Pid>);

impl Drop for Children {
    fn drop(&mut self) {
        for &pid in &self.0 {
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

fn emulate(profile: &Profile, steps: &[Step], args: &Args) -> anyhow::Result<Emulated> {
    require_one_thread()?;
    let signals = Signals::block();
    let width = steps.iter().map(|step| step.cpu_ns.len()).max().unwrap_or(1);
    let recorded = (profile.total(Field::Processes) as usize, profile.total(Field::Threads) as usize);
    // This process is one of them, and does nothing.
    let processes = args.processes.unwrap_or(recorded.0.saturating_sub(1)).clamp(1, MOST_PROCESSES);
    let threads = match args.threads {
        Some(threads) => processes * threads,
        None => recorded.1.saturating_sub(1),
    };
    let executors = threads.clamp(width.max(processes), WIDEST.max(width));
    let stage = Stage::new(executors)?;
    let script =
        Script { steps, kernel: args.kernel, efficiency: args.efficiency, keep_time: args.keep_time };
    let mut children = Children(Vec::new());
    let (partner, _partner_child) = partner(steps, args)?;
    let background = load::Background::start(&args.load, &args.dir)?;
    for process in 0..processes {
        let numbers: Vec<usize> = (process..executors).step_by(processes).collect();
        let body = || match atoms(process, steps, args, partner.as_deref()) {
            Ok(atoms) => {
                all(&stage, &script, &numbers, atoms);
                0
            }
            Err(error) => {
                eprintln!("syn: cannot emulate: {error:#}");
                1
            }
        };
        children.0.push(fork(body)?);
    }
    let mut started = false;
    while !children.0.is_empty() {
        if !started && stage.ready() == executors as u64 {
            stage.start(steps, resident(&children.0));
            started = true;
        }
        signals.wait(if started { Duration::from_millis(100) } else { Duration::from_micros(500) });
        if signals.interrupted() {
            bail!("interrupted");
        }
        if stage.failed() {
            bail!("an atom failed");
        }
        let mut ended = None;
        for (place, &pid) in children.0.iter().enumerate() {
            if let Some((_, status)) = waitpid(Some(pid), WaitOptions::NOHANG)? {
                ended = Some((place, status));
                break;
            }
        }
        if let Some((place, status)) = ended {
            children.0.remove(place);
            if status.exit_status() != Some(0) {
                bail!("an emulating process has failed");
            }
        }
    }
    drop(background);
    Ok(stage.result())
}

fn atoms(process: usize, steps: &[Step], args: &Args, partner: Option<&str>) -> anyhow::Result<Atoms> {
    if process > 0 {
        return Ok(Atoms::default());
    }
    let most = steps.iter().map(|step| step.resident).max().unwrap_or(0);
    let inner = steps.iter().any(|step| step.network[2] > 0);
    Ok(Atoms {
        storage: Some(Storage::new(&args.dir, steps, args.cold)?),
        memory: Some(Memory::new(most)?),
        network: Some(Network::new(partner, inner)?),
    })
}

fn all(stage: &Stage, script: &Script<'_>, numbers: &[usize], atoms: Atoms) {
    std::thread::scope(|scope| {
        for &number in numbers.iter().skip(1) {
            let start = move || play(stage, script, number, Atoms::default());
            if std::thread::Builder::new().spawn_scoped(scope, start).is_err() {
                eprintln!("syn: cannot start a thread");
            }
        }
        play(stage, script, numbers[0], atoms);
    });
}

/// The address of the other side, and the child that is it, if somebody is sent something.
fn partner(steps: &[Step], args: &Args) -> anyhow::Result<(Option<String>, Option<Children>)> {
    if steps.iter().all(|step| step.network[0] + step.network[1] == 0) {
        return Ok((None, None));
    }
    if let Some(peer) = &args.peer {
        return Ok((Some(peer.clone()), None));
    }
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen on loopback")?;
    let address = listener.local_addr()?.to_string();
    let child = fork(|| i32::from(listener.accept().and_then(|(stream, _)| serve(stream)).is_err()))?;
    Ok((Some(address), Some(Children(vec![child]))))
}

/// Resident memory of the emulator's processes, bytes.
fn resident(children: &[Pid]) -> u64 {
    let mut reader = Reader::default();
    let own = rustix::process::getpid();
    let mut sum = 0;
    for pid in children.iter().chain([&own]) {
        let text = reader.read(&format!("/proc/{}/stat", pid.as_raw_nonzero())).and_then(Stat::parse);
        sum += text.map_or(0, |stat| stat.resident_pages * page_bytes());
    }
    sum
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
