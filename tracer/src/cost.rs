//! What recording a call costs, found out by recording some.

use crate::clock;
use crate::error::Error;
use crate::start::{Body, start};
use crate::thread::{Added, Costs};
use crate::tree::Tree;
use std::path::PathBuf;
use syn_trace::Run;
use syn_trace::calls::Effect;

/// How many calls are recorded for it.
const CALLS: u32 = 256;

/// So many children are recorded for it. Stops take more CPU time when child and recorder are on two processors, or others are busy
/// there: what the cheapest one tells is taken off, so that rather some of the recorder's time stays than some of the program's goes.
const TRIALS: usize = 3;

/// What a stop costs.
pub fn measure() -> Result<Costs, Error> {
    let trials = (0..TRIALS).map(|_| trial()).collect::<Result<Vec<Costs>, Error>>()?;
    let cheapest = trials.into_iter().min_by_key(|costs| costs.cpu.gap_ns.saturating_add(costs.cpu.call_ns));
    Ok(cheapest.unwrap_or_default())
}

/// Records a child that makes calls which fail at once, and takes what lies in the middle of their durations and of the
/// times between them. The first half does not count: it warms up.
fn trial() -> Result<Costs, Error> {
    let folder = Folder::make()?;
    let body = Body::Calls(CALLS);
    let child = start(body)?;
    let tree = Tree::new(&folder.0, Costs::default(), child.pid()).record_at_once();
    let released = child.release();
    let (_, unmade) = tree.follow(|| ())?;
    released?.succeeded(body)?;
    if let Some(unmade) = unmade {
        return Err(unmade.first);
    }
    let run = Run::open(&folder.0).map_err(|error| Error::System {
        doing: "read what was recorded for a measurement",
        cause: std::io::Error::other(error),
    })?;
    let (mut gaps, mut calls, mut behind) = (Vec::new(), Vec::new(), 0);
    let (mut gaps_cpu, mut calls_cpu) = (Vec::new(), Vec::new());
    for event in run
        .threads
        .iter()
        .flat_map(|thread| thread.events())
        .filter(|event| event.call.effect() == Effect::Close)
    {
        gaps.push((event.start - behind) << clock::SHIFT);
        calls.push((event.end - event.start) << clock::SHIFT);
        gaps_cpu.push(event.cpu_before.unwrap_or(0));
        calls_cpu.push(event.cpu_after.unwrap_or(0));
        behind = event.end;
    }
    if calls.len() != CALLS as usize {
        let cause = std::io::Error::other(format!("of {CALLS} calls for a trial, {} were seen", calls.len()));
        return Err(Error::Filter { cause });
    }
    let middle_of = |all: Vec<u64>| {
        let mut late = all[all.len() / 2..].to_vec();
        late.sort_unstable();
        late.get(late.len() / 2).copied().unwrap_or(0)
    };
    let untraced_ns = untraced();
    let narrow = |ns: u64| u32::try_from(ns).unwrap_or(u32::MAX);
    let added = |gaps, calls| {
        let call_ns = middle_of(calls).saturating_sub(untraced_ns);
        Added { gap_ns: narrow(middle_of(gaps)), call_ns: narrow(call_ns) }
    };
    Ok(Costs { wall: added(gaps, calls), cpu: added(gaps_cpu, calls_cpu) })
}

/// What such a call takes when nobody looks, nanoseconds.
fn untraced() -> u64 {
    let began = clock::now();
    for _ in 0..CALLS {
        // SAFETY: there is no such descriptor.
        unsafe { libc::syscall(libc::SYS_close, -1) };
    }
    (clock::now() - began) / u64::from(CALLS)
}

/// A folder for the measurement, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Folder, Error> {
        let path = std::env::temp_dir().join(format!("syn-cost-{}-{:x}", std::process::id(), clock::now()));
        std::fs::create_dir(&path).map_err(|cause| Error::File { path: path.clone(), cause })?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nobody can do anything about it if it stays.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
