//! What the trace holds.

use crate::steps::{Moved, OTHERS, Step, receives};
use std::collections::BTreeMap;
use syn_trace::descriptors::{Descriptors, OpenFile, Touched};
use syn_trace::record::BEGAN;
use syn_trace::{Call, Event, Run};

const S_IFMT: u32 = 0o170_000;
const S_IFSOCK: u32 = 0o140_000;

/// A socket that has a peer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// Its own address.
    pub local: String,
    /// The address at the other end.
    pub peer: String,
}

/// Every call of every thread.
pub fn steps(run: &Run) -> BTreeMap<u32, Vec<Step>> {
    let mut threads: BTreeMap<u32, Vec<Step>> = BTreeMap::new();
    for_each(run, |tid, event, touched, descriptors| {
        if let Some(step) = step(event, touched, descriptors) {
            threads.entry(tid).or_default().push(step);
        }
    });
    threads
}

fn step(event: &Event<'_>, touched: &Touched, descriptors: &Descriptors) -> Option<Step> {
    if event.has(BEGAN) {
        return None;
    }
    let bytes = match event.call {
        Call::Sendmmsg | Call::Recvmmsg => event.numbers[1],
        _ => event.result.max(0),
    };
    let name = transfer(event.call);
    let call = name.or_else(|| OTHERS.into_iter().find(|other| *other == event.call.name()))?;
    let mut step = Step { call: call.into(), socket: None, result: event.result, bytes: 0 };
    if name.is_some() {
        let file = socket(touched, descriptors)?;
        (step.socket, step.bytes) = (Some(file.inode), bytes);
    }
    Some(step)
}

/// The name in a [`Step`] of a call that moves data through a descriptor.
fn transfer(call: Call) -> Option<&'static str> {
    Some(match call {
        Call::Read | Call::Readv | Call::Preadv => "read",
        Call::Write | Call::Writev | Call::Pwritev => "write",
        Call::Recv | Call::Recvfrom | Call::Recvmsg => "receive",
        Call::Send | Call::Sendto | Call::Sendmsg => "send",
        Call::Sendmmsg => "sendmmsg",
        Call::Recvmmsg => "recvmmsg",
        _ => return None,
    })
}

fn socket<'a>(touched: &Touched, descriptors: &'a Descriptors) -> Option<&'a OpenFile> {
    let file = descriptors.open_file(touched.file?);
    (file.st_mode & S_IFMT == S_IFSOCK).then_some(file)
}

/// The ends of all connections.
pub fn connected(run: &Run) -> Vec<End> {
    let mut ends = Vec::new();
    for_each(run, |_, event, touched, descriptors| {
        let files = match event.call {
            Call::Connect | Call::Accept => vec![touched.file],
            Call::Socketpair => vec![touched.opened, touched.opened.map(|first| first + 1)],
            _ => return,
        };
        ends.extend(files.into_iter().flatten().filter_map(|file| end(descriptors.open_file(file))));
    });
    ends.sort();
    // A connect that goes on in the background may be asked about again.
    ends.dedup();
    ends
}

fn end(file: &OpenFile) -> Option<End> {
    Some(End { local: file.local.as_deref()?.into(), peer: file.peer.as_deref()?.into() })
}

/// What went from address to address.
pub fn moved_between(run: &Run) -> Moved {
    let mut moved = Moved::default();
    for_each(run, |_, event, touched, descriptors| {
        let Some(End { local, peer }) = socket(touched, descriptors).and_then(end) else { return };
        let Some(step) = step(event, touched, descriptors).filter(|step| step.socket.is_some()) else {
            return;
        };
        let into = if receives(&step.call) { &mut moved.received } else { &mut moved.sent };
        *into.entry((local, peer)).or_default() += step.bytes;
    });
    moved
}

/// Calls `with` for every event, as often as it happened, with its thread and what it was about.
fn for_each(run: &Run, mut with: impl FnMut(u32, &Event<'_>, &Touched, &Descriptors)) {
    for (index, process) in run.processes.iter().enumerate() {
        let mut descriptors = Descriptors::new(&process.cwd, process.threads.len());
        let mut last: BTreeMap<usize, (Event<'_>, Touched)> = BTreeMap::new();
        for (thread, event) in run.process_events(index) {
            let tid = run.threads[thread].tid();
            if event.call == Call::Repeats {
                let (repeated, touched) = &last[&thread];
                (0..event.numbers[0]).for_each(|_| with(tid, repeated, touched, &descriptors));
                continue;
            }
            let times = (run.threads[thread].start_ns(&event), run.threads[thread].returned_ns(&event));
            let touched = descriptors.apply(&event, times.0, times.1);
            with(tid, &event, &touched, &descriptors);
            last.insert(thread, (event, touched));
        }
    }
}
