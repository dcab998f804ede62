//! Profiles a command: starts it, looks at its processes again and again, waits for all that became its orphans.

mod looker;
mod options;

use crate::profile::{Head, Source};
use crate::rate::Rate;
use crate::store::{Live, Store};
use anyhow::Context;
use looker::Looker;
pub use options::{Launch, Options};
use rustix::process::set_child_subreaper;
use std::io;
use std::process::{Command, ExitStatus};
use std::time::SystemTime;

/// A finished profile.
#[derive(Debug)]
pub struct Done {
    /// Its number in the store.
    pub id: i64,
    /// How the command ended.
    pub status: ExitStatus,
    /// What the store could not take, if anything.
    pub lost: Option<String>,
}

/// Profiles `words` into `store`. None when the command could not be started, with the reason.
///
/// # Errors
/// When the store cannot be used.
pub fn profile(
    words: &[String],
    command: &mut Command,
    options: &Options,
    store: &mut Store,
    launch: &dyn Launch,
) -> anyhow::Result<Result<Done, io::Error>> {
    let head = Head {
        command: words.to_vec(),
        tags: options.tags.clone(),
        started_ns: SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as i64),
        rate: match options.rate {
            Rate::Auto => "auto".into(),
            Rate::Fixed(hertz) => hertz.to_string(),
        },
        source: Source::Sampled,
        machine: crate::machine::fingerprint(),
    };
    let mut live = Live::begin(store, &head)?;
    // Orphans of the command become ours, so that what they used is ours to know.
    set_child_subreaper(Some(rustix::process::getpid()))
        .context("cannot become the parent of the command's orphans")?;
    let mut looker = Looker::new(options);
    looker.begin();
    let mut child = match launch.start(command) {
        Ok(child) => child,
        Err(error) => {
            live.give_up();
            return Ok(Err(error));
        }
    };
    let status = looker.follow(&mut child, launch, &mut live)?;
    let (id, tail) = (live.id(), looker.finish(status));
    let lost = live.finish(&tail).err().map(|error| format!("{error:#}"));
    Ok(Ok(Done { id, status, lost }))
}
