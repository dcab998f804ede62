//! `syn check`: reads everything and says what is wrong, and where.

use crate::exit_code::{DONE, LOOK};
use crate::input::Input;
use crate::output::{self, WRITING};
use crate::survey::{Survey, describe_ending};
use anyhow::Context;
use std::io::Write;
use std::path::PathBuf;
use syn_trace::Run;

/// Reads every byte of run folders, traces or plans and says what is wrong, and where.
#[derive(clap::Args)]
pub struct Args {
    /// Run folders, traces or plans.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
}

/// Runs the subcommand. The worst finding decides the exit code.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    output::on_stdout(|out| {
        let (mut code, mut unreadable) = (DONE, false);
        for path in &args.paths {
            match Input::open(path) {
                Ok(Input::Run(run)) => code = code.max(check_run(out, &run).context(WRITING)?),
                Ok(Input::Plan(plan)) => {
                    // Loading it has compared every checksum and followed every wait.
                    let steps: u64 = plan.programs.iter().map(|program| program.steps.len()).sum();
                    let (programs, edges) = (plan.programs.len(), plan.edges.len());
                    writeln!(
                        out,
                        "{}: whole, {programs} programs, {steps} steps, {edges} edges",
                        path.display()
                    )
                    .context(WRITING)?;
                    for doubt in plan.balance_doubts() {
                        writeln!(out, "{}: {doubt}", path.display()).context(WRITING)?;
                    }
                }
                Err(error) => {
                    unreadable = true;
                    output::complain(&format!("{error:#}"));
                }
            }
        }
        Ok(if unreadable { crate::exit_code::FAILED } else { code })
    })
}

fn check_run(out: &mut impl Write, run: &Run) -> std::io::Result<u8> {
    let survey = Survey::of(run);
    let mut faults = run.unreadable.len();
    for error in &run.unreadable {
        writeln!(out, "{error}")?;
    }
    if let Some(about) = run.about_empty() {
        writeln!(out, "{about}")?;
    }
    for (thread, found) in run.threads.iter().zip(&survey.threads) {
        if let Some(fault) = describe_ending(found.ending) {
            faults += 1;
            writeln!(out, "{}: {fault}; {} records precede it", thread.trace.path().display(), found.events)?;
        }
    }
    let (threads, events) = (run.threads.len(), survey.events());
    let verdict = match faults {
        0 => "whole".into(),
        1 => "1 fault".into(),
        _ => format!("{faults} faults"),
    };
    writeln!(out, "{}: {verdict}, {threads} threads, {events} records", run.path.display())?;
    Ok(if faults == 0 { DONE } else { LOOK })
}
