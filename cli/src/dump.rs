//! `syn dump`: every event of a run in time order, or every step of a plan, one a line.

mod constants;
mod errno;
mod json;
mod plan;
mod symbols;
mod text;
mod timeline;

use crate::exit_code::{DONE, LOOK};
use crate::input::Input;
use crate::output::{self, WRITING};
use crate::survey::describe_ending;
use anyhow::Context;
use std::path::PathBuf;
use syn_trace::Run;
use syn_trace::reader::Ending;

/// Prints every event of a run in the order of return, or every step of a plan, one a line.
///
/// In paths and other texts, bytes that are not UTF-8 appear as \xNN, and a backslash that would read like that as \x5c.
#[derive(clap::Args)]
pub struct Args {
    /// Run folder, trace or plan.
    path: PathBuf,
    /// Prints one JSON object a line.
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    output::on_stdout(|out| match Input::open(&args.path)? {
        Input::Run(run) => {
            let hosts = run.processes.iter().any(|process| process.host != run.processes[0].host);
            let endings = if args.json {
                timeline::for_each_line(&run, |line| json::write(out, line, hosts))
            } else {
                timeline::for_each_line(&run, |line| text::write(out, line, hosts))
            };
            Ok(complain_of(&run, &endings.context(WRITING)?))
        }
        Input::Plan(plan) => {
            plan::write(out, &plan, args.json).context(WRITING)?;
            Ok(DONE)
        }
    })
}

/// Says what could not be printed.
fn complain_of(run: &Run, endings: &[(usize, Ending)]) -> u8 {
    for error in &run.unreadable {
        output::complain(&error.to_string());
    }
    if let Some(about) = run.about_empty() {
        output::complain(&about);
    }
    for &(thread, ending) in endings {
        if let Some(fault) = describe_ending(ending) {
            let path = run.threads[thread].trace.path().display();
            output::complain(&format!("{path}: {fault}; what precedes was printed"));
        }
    }
    if run.unreadable.is_empty() && endings.is_empty() { DONE } else { LOOK }
}
