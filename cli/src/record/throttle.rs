//! The execution manager of `syn record --throttle`: a run without throttling, then those with it that are worth their time, each
//! into a folder of its own. Run again on the same output folder it goes on where it was interrupted.

mod doubt;
mod statement;
mod watchdogs;

use super::args::Args;
use super::choice::{Budget, Mode};
use super::folder::Folder;
use super::once::record;
use super::signals::Relay;
use crate::output::complain;
use crate::watchdog;
use anyhow::{Context, ensure};
use statement::{Job, Statement};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use syn_merge::{Merged, Options};
use syn_plan::Rule;
use syn_trace::board::{Request, check_host};
use syn_trace::{Run, record as flags};
use watchdogs::{Reach, Watchdogs};

/// A node that can be throttled, and how many calls of it can be held.
#[derive(Clone, Copy, Debug)]
struct Node {
    number: u32,
    calls: u64,
}

/// In auto mode each thread is held about so often at first; each further round holds ten times as many calls.
const FIRST_HOLDS: u64 = 100;
/// Said when a signal comes between two runs.
const GOES_ON: &str = "interrupted; the same command goes on from there";

/// The jobs of the manager, in an output folder.
struct Manager<'a> {
    args: &'a Args,
    shim: &'a Path,
    relay: &'a Relay,
    plain: PathBuf,
    plain_time: Duration,
    /// Those of the plain run.
    hosts: Vec<String>,
    done: Vec<(PathBuf, Statement)>,
}

/// Runs the plain run and the throttled ones.
pub fn run(args: &Args, mode: Mode, shim: &Path, relay: &Relay) -> anyhow::Result<u8> {
    let job = match Job::read(&args.output)? {
        Some(job) => {
            let same = job.command == args.words();
            ensure!(
                same,
                "{} holds runs of another command: {}",
                args.output.display(),
                job.command.join(" ")
            );
            complain(&format!("goes on in {}: the plain run is {}", args.output.display(), job.plain));
            job
        }
        None => {
            let folder = Folder::make(&args.output)?;
            let unfinished = format!(
                "interrupted: the plain run {} is not finished, and merge leaves it out beside a whole one; the same command starts anew",
                folder.path.display()
            );
            relay.advise(&unfinished);
            let began = Instant::now();
            let code = record(&args.command, shim, &folder, relay, false)?;
            if code != 0 {
                if relay.was_interrupted() {
                    complain(&unfinished);
                }
                return Ok(code);
            }
            let plain = folder.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let job = Job { command: args.words(), plain, seconds: began.elapsed().as_secs_f64() };
            job.write(&args.output)?;
            job
        }
    };
    relay.advise(GOES_ON);
    let plain = args.output.canonicalize()?.join(&job.plain);
    let plain_time = Duration::from_secs_f64(job.seconds);
    let done = Statement::all(&args.output)?;
    let hosts: Vec<String> = Run::open(&plain)?.hosts().into_iter().map(str::to_owned).collect();
    for host in &hosts {
        check_host(host).with_context(|| format!("cannot throttle what ran in {}", plain.display()))?;
    }
    let mut manager = Manager { args, shim, relay, plain, plain_time, hosts, done };
    manager.rounds(mode)
}

impl Manager<'_> {
    fn rounds(&mut self, mode: Mode) -> anyhow::Result<u8> {
        let nodes = self.nodes()?;
        let mut chosen = nodes.clone();
        let mut period = self.args.period.unwrap_or(1);
        match mode {
            Mode::All => {}
            Mode::Some(count) => chosen.truncate(count),
            Mode::Auto => {
                let doubt = doubt::of(&self.plain)?;
                complain(&doubt.text());
                if !doubt.is_worth_it() {
                    return Ok(crate::exit_code::DONE);
                }
                let most = nodes.iter().map(|node| node.calls).max().unwrap_or(1);
                period = self.args.period.unwrap_or((most / FIRST_HOLDS).max(1) as u32);
            }
        }
        ensure!(!chosen.is_empty(), "no process of the run makes a call that could be held; see --hold");
        loop {
            let before = self.merged()?;
            for node in &chosen {
                if self.is_spent() {
                    complain("the budget is spent");
                    return self.finish();
                }
                let code = self.throttle(node.number, period, nodes.len())?;
                if code != 0 {
                    return Ok(code);
                }
            }
            let found = edges(&self.merged()?) > edges(&before);
            if mode != Mode::Auto || self.args.period.is_some() || period == 1 || !found {
                return self.finish();
            }
            period = (period / 10).max(1);
        }
    }

    /// The nodes that make calls which can be held, the busiest first.
    fn nodes(&self) -> anyhow::Result<Vec<Node>> {
        let run = Run::open(&self.plain)?;
        let kinds = self.kinds();
        let calls = |thread: &usize| {
            let held = |event: &syn_trace::Event<'_>| {
                !event.has(flags::INNER) && kinds & u32::from(event.call.hold_kind()) != 0
            };
            run.threads[*thread].events().filter(held).count() as u64
        };
        let count = |threads: &[Vec<usize>]| threads.iter().flatten().map(calls).sum();
        let mut nodes: Vec<Node> = run
            .nodes()
            .iter()
            .map(|(number, threads)| Node { number: *number, calls: count(threads) })
            .collect();
        nodes.retain(|node| node.calls > 0);
        nodes.sort_by_key(|node| (std::cmp::Reverse(node.calls), node.number));
        Ok(nodes)
    }

    fn kinds(&self) -> u32 {
        self.args.hold.iter().fold(0, |kinds, held| kinds | held.bit())
    }

    fn is_spent(&self) -> bool {
        match self.args.budget {
            None => false,
            Some(Budget::Runs(runs)) => self.done.len() >= runs,
            Some(Budget::Time(time)) => self.spent() >= time,
        }
    }

    fn spent(&self) -> Duration {
        self.done.iter().map(|(_, statement)| Duration::from_secs_f64(statement.seconds)).sum()
    }

    /// One throttled run, unless it was done before.
    fn throttle(&mut self, node: u32, period: u32, of: usize) -> anyhow::Result<u8> {
        let request = Request { node, period, kinds: self.kinds(), bound: self.args.bound };
        if self.done.iter().any(|(_, done)| done.is_of(&request)) {
            return Ok(0);
        }
        let folder = Folder::make(&self.args.output)?;
        let name = watchdog::verdict::name(node);
        let unfinished = format!(
            "interrupted: run {}, with {name} throttled, is not finished, and merge leaves it out; the same command goes on from there",
            folder.path.display()
        );
        self.relay.advise(&unfinished);
        let reach = Reach { address: self.args.watchdog_address, remote_shell: &self.args.remote_shell };
        let hosts: Vec<&str> = self.hosts.iter().map(String::as_str).collect();
        let watchdogs = Watchdogs::start(&folder.path, &self.plain, &hosts, &request, &reach)?;
        let began = Instant::now();
        let code = record(&self.args.command, self.shim, &folder, self.relay, true);
        let seconds = began.elapsed().as_secs_f64();
        let (boards, lived) = watchdogs.end(&folder.path)?;
        let code = code?;
        let seconds = [seconds, self.plain_time.as_secs_f64()];
        let statement = Statement::of(&boards, &request, seconds, code, lived);
        statement.write(&folder.path)?;
        if code == 0 {
            self.relay.advise(GOES_ON);
        }
        if code != 0 && self.relay.was_interrupted() {
            complain(&unfinished);
        } else {
            complain(&format!("throttled {name} of {of} nodes, {}", statement.text()));
        }
        self.done.push((folder.path, statement));
        Ok(code)
    }

    /// The plan of all runs so far.
    fn merged(&self) -> anyhow::Result<Merged> {
        let whole = self.done.iter().filter(|(_, statement)| statement.is_whole());
        let runs = std::iter::once(self.plain.clone()).chain(whole.map(|(run, _)| run.clone())).collect();
        syn_merge::merge(&Options { runs, ..Options::default() })
    }

    fn finish(&self) -> anyhow::Result<u8> {
        let merged = self.merged()?;
        let unexplained = merged.balance.unexplained_calls_ns + merged.balance.unexplained_ns;
        complain(&format!(
            "{} throttled run{} in {:.1} s, {:.1} times the plain run: {} waits that nothing else explains; unexplained waiting {:.3} s of {:.3} s in all threads",
            self.done.len(),
            if self.done.len() == 1 { "" } else { "s" },
            self.spent().as_secs_f64(),
            self.spent().as_secs_f64() / self.plain_time.as_secs_f64(),
            edges(&merged),
            unexplained as f64 / 1e9,
            merged.balance.wall_ns as f64 / 1e9,
        ));
        Ok(crate::exit_code::DONE)
    }
}

/// Waits by throttling that the plan needs.
fn edges(merged: &Merged) -> u64 {
    merged.counts.get(&Rule::Throttled).map_or(0, |count| count.kept)
}
