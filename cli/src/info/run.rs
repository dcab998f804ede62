//! What a run holds.

use super::common::{Common, Counts};
use super::run_balance::{self, Seconds};
use super::statement::Observed;
use super::table::{self, row};
use crate::survey::{Survey, describe_end};
use serde::Serialize;
use std::fmt::Write;
use syn_plan::figures::seconds;
use syn_trace::Run;
use syn_trace::header::{HEADER_BYTES, VERSION};
use syn_trace::run::{Balance, Balances};

/// `syn info --json` for a run.
#[derive(Serialize)]
pub struct Info {
    #[serde(flatten)]
    pub common: Common,
    /// Bytes in use per record, headers included.
    bytes_per_event: f64,
    /// Records per interface.
    layers: Counts,
    /// Records per call.
    calls: Counts,
    /// Where the time of all threads went.
    balance: Seconds,
    /// What about it cannot be.
    doubt: Option<String>,
    /// The process images, by start.
    process_list: Vec<ProcessInfo>,
}

#[derive(Serialize)]
struct ProcessInfo {
    pid: u32,
    ppid: u32,
    host: String,
    rank: Option<u32>,
    threads: usize,
    events: u64,
    bytes: u64,
    command: String,
    /// Only process creation was recorded: a launcher, or a program left out by choice.
    launcher: bool,
    end: &'static str,
    /// Where the time of its threads went.
    balance: Seconds,
    /// CPU time that the kernel counted, from the image's start to its end; none where the end is not on record.
    cpu_s: Option<f64>,
    #[serde(flatten)]
    observed: Observed,
}

impl Info {
    pub fn of(run: &Run) -> Info {
        let survey = Survey::of(run);
        let application =
            run.processes.iter().find(|process| !process.process_only).or(run.processes.first());
        let mut hosts: Vec<String> = run.processes.iter().map(|process| process.host.clone()).collect();
        hosts.sort();
        hosts.dedup();
        let (mut layers, mut calls) = (Counts::new(), Counts::new());
        for &(call, count) in &survey.calls {
            *layers.entry(call.layer().name()).or_default() += count;
            calls.insert(call.name(), count);
        }
        let (events, bytes) = (survey.events(), survey.bytes());
        let balances = run.balances();
        let mut all = Balance::default();
        for (thread, balance) in run.threads.iter().zip(&balances.threads) {
            if !run.processes[thread.process].process_only {
                all += balance;
            }
        }
        let elapsed_ns = run.application_span_ns().map_or(0, |(start, end)| end.saturating_sub(start));
        Info {
            balance: Seconds::from(&all),
            doubt: run_balance::too_much(run, &all, elapsed_ns),
            process_list: process_list(run, &survey, &balances),
            common: Common {
                kind: "run",
                format: VERSION,
                command: application.map_or(String::new(), |process| process.command.clone()),
                host: application.map_or(String::new(), |process| process.host.clone()),
                hosts,
                mpi: run.processes.iter().find_map(|process| process.mpi).map(str::to_owned),
                processes: run.processes.len() as u64,
                threads: run.threads.len() as u64,
                ranks: run.processes.iter().map(|process| process.ranks).max().unwrap_or(0),
                events,
                bytes,
                elapsed_s: seconds(elapsed_ns),
                complete: survey.complete(),
                dropped: survey.dropped,
                not_entered: survey.not_entered,
                unobserved: survey.unobserved,
            },
            bytes_per_event: bytes as f64 / events.max(1) as f64,
            layers,
            calls,
        }
    }
}

fn process_list(run: &Run, survey: &Survey, balances: &Balances) -> Vec<ProcessInfo> {
    let describe = |(index, process): (usize, &syn_trace::run::Process)| {
        let threads: Vec<_> = process.threads.iter().map(|&thread| &run.threads[thread]).collect();
        let sum = |count: fn(&crate::survey::ThreadSurvey) -> u64| {
            process.threads.iter().map(|&thread| count(&survey.threads[thread])).sum()
        };
        let mut balance = Balance::default();
        process.threads.iter().for_each(|&thread| balance += &balances.threads[thread]);
        ProcessInfo {
            balance: Seconds::from(&balance),
            cpu_s: balances.kernel_cpu_ns[index].map(seconds),
            pid: process.pid,
            ppid: process.ppid,
            host: process.host.clone(),
            rank: process.rank,
            threads: threads.len(),
            events: sum(|thread| thread.events),
            bytes: sum(|thread| thread.bytes),
            command: process.command.clone(),
            launcher: process.process_only,
            end: describe_end(run.end_of(index)),
            observed: Observed::of(run, index, survey),
        }
    };
    run.processes.iter().enumerate().map(describe).collect()
}

/// One screen about a run.
pub fn screen(run: &Run, info: &Info, rows: usize) -> String {
    let mut out = String::new();
    let common = &info.common;
    row(&mut out, "run", format_args!("{} (format {})", run.path.display(), common.format));
    table::heading(&mut out, common);
    let headers = common.threads * HEADER_BYTES as u64;
    let per_record = common.bytes.saturating_sub(headers) as f64 / common.events.max(1) as f64;
    row(&mut out, "events", format_args!("{}, dropped {}", common.events, common.dropped));
    row(
        &mut out,
        "bytes",
        format_args!(
            "{}: {:.1} an event, {per_record:.1} without the headers",
            common.bytes, info.bytes_per_event
        ),
    );
    info.balance.screen(&mut out);
    if let Some(doubt) = &info.doubt {
        row(&mut out, "", doubt);
    }
    table::counts(&mut out, "layers", &info.layers);
    let mut lines = vec![format!(
        "{:>8} {:>5} {:>7} {:>10}  {:<17}  {}",
        "pid", "rank", "threads", "events", "end", "command"
    )];
    for process in &info.process_list {
        let rank = process.rank.map_or("-".into(), |rank| rank.to_string());
        let mut line = format!(
            "{:>8} {rank:>5} {:>7} {:>10}  {:<17}  {}",
            process.pid,
            process.threads,
            process.events,
            process.end,
            shorten(&process.command)
        );
        if process.launcher {
            let _ = write!(line, " (process creation only)");
        }
        if process.observed.dropped > 0 || !process.observed.unobserved.is_empty() {
            line += " (not all seen)";
        } else if process.observed.not_understood > 0 {
            line += " (some system calls known by number only)";
        }
        lines.push(line);
    }
    table::list(&mut out, "process images", &lines, rows.saturating_add(1));
    table::missing(&mut out, common, rows);
    out
}

/// A command on one line of a table.
fn shorten(command: &str) -> String {
    const LONGEST: usize = 48;
    let line: String = command.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.chars().count() <= LONGEST {
        return line;
    }
    line.chars().take(LONGEST - 1).chain(['…']).collect()
}
