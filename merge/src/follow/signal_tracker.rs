//! Follows signals between processes and threads of a run: who sent which to whom, and where they arrived: at a handler, at who
//! waits for them, or at a descriptor of `signalfd`, of which is known for which signals it is. The end of a process sends `SIGCHLD` to
//! its parent (exit(3)). A descriptor of `pidfd_open` tells of it to whoever has it.

use crate::clocks::Clocks;
use crate::follow::interruptions::Interruptions;
use crate::follow::pass::{Seen, Visitor};
use crate::graph::dependency::{Dependencies, Moment};
use crate::rules::signal::{self, Ends, Signals};
use std::collections::{BTreeMap, HashMap};
use syn_plan::Rule;
use syn_trace::calls::{Call, Effect};
use syn_trace::descriptors::{Descriptors, OpenId, Touched};
use syn_trace::{Run, record};

/// Whom a signal is for: a process by host and id, or a thread by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whom {
    Process(usize, u32),
    Thread(u32),
}

/// How a process ended.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// The id of its parent.
    parent: u32,
    /// Its last moment.
    moment: Option<Moment>,
    /// It said that it ends. One that a signal ended has not come to do so.
    exits: bool,
}

/// The signals of a run. Memory: 48 bytes for each that was sent, 24 for each that arrived.
#[derive(Debug)]
pub struct SignalTracker {
    /// By process: its host and its id.
    processes: Vec<(usize, u32)>,
    /// By process and `pthread_t`: the thread that has it.
    threads: HashMap<(u32, i64), u32>,
    signals: BTreeMap<(Whom, i64), Signals>,
    /// By the process that made it and its open file: for which signals a descriptor is, a bit each, 1 for the first.
    descriptors: HashMap<(u32, OpenId), i64>,
    /// By the process that made it and its open file: the id of the process whose end a descriptor tells of.
    subjects: HashMap<(u32, OpenId), u32>,
    /// By process.
    ends: Vec<Last>,
    /// Where `SIGCHLD` arrived.
    interruptions: Interruptions,
    /// Calls that a descriptor has told of the end of a process, and of which.
    told_ends: Vec<((usize, u32), Moment)>,
}

impl SignalTracker {
    /// For a run, with nothing seen yet.
    pub fn new(run: &Run, clocks: &Clocks) -> SignalTracker {
        let host = |process: &syn_trace::run::Process| clocks.host_of(&process.boot_id);
        let no_end =
            |process: &syn_trace::run::Process| Last { parent: process.ppid, moment: None, exits: false };
        SignalTracker {
            processes: run.processes.iter().map(|process| (host(process), process.pid)).collect(),
            threads: HashMap::new(),
            signals: BTreeMap::new(),
            descriptors: HashMap::new(),
            subjects: HashMap::new(),
            ends: run.processes.iter().map(no_end).collect(),
            interruptions: Interruptions::new(run.threads.len()),
            told_ends: Vec::new(),
        }
    }

    /// What arrived because it was sent.
    pub fn finish(mut self) -> Dependencies {
        let mut found = Dependencies::default();
        self.connect_ends(&mut found);
        self.signals.into_values().for_each(|signals| signal::connect(signals, &mut found));
        found
    }

    fn connect_ends(&mut self, found: &mut Dependencies) {
        let mut parents: BTreeMap<(usize, u32), Ends> = BTreeMap::new();
        let interruptions = std::mem::replace(&mut self.interruptions, Interruptions::new(0));
        for arrival in interruptions.finish() {
            let parent = self.processes[arrival.process as usize];
            parents.entry(parent).or_default().arrived.push((arrival.moment, arrival.awaited));
        }
        // A process ends with its last image.
        let last_images: BTreeMap<(usize, u32), usize> =
            self.processes.iter().enumerate().map(|(image, &process)| (process, image)).collect();
        for (&(host, _), &image) in &last_images {
            let Last { parent, moment, exits } = self.ends[image];
            if let (Some(ends), Some(end), true) = (parents.get_mut(&(host, parent)), moment, exits) {
                ends.ended.push(end);
            }
        }
        for (&(host, pid), ends) in &mut parents {
            let sent = self.signals.get(&(Whom::Process(host, pid), i64::from(libc::SIGCHLD)));
            ends.sent.extend(sent.iter().flat_map(|signals| &signals.sent).map(|call| call.enter));
        }
        for (process, told) in std::mem::take(&mut self.told_ends) {
            let end = last_images.get(&process).and_then(|&image| self.ends[image].moment);
            if let Some(end) =
                end.filter(|end| end.ns <= told.ns && end.point().thread != told.point().thread)
            {
                found.add_one(Rule::ProcessJoin, end, told);
            }
        }
        parents.into_values().for_each(|ends| signal::connect_ends(ends, found));
    }

    /// A call that waits for signals got this one.
    fn receive(&mut self, seen: &Seen<'_>, signal: i64) {
        self.arrive(seen, signal, seen.leave());
        if signal == i64::from(libc::SIGCHLD) {
            self.interruptions.receive(seen);
        }
    }

    fn send(&mut self, whom: Whom, signal: i64, seen: &Seen<'_>) {
        let span = seen.span();
        self.signals.entry((whom, signal)).or_default().sent.push(span);
    }

    /// It may have been sent to the thread or to its process.
    fn arrive(&mut self, seen: &Seen<'_>, signal: i64, moment: Moment) {
        let (host, pid) = self.processes[seen.process as usize];
        for whom in [Whom::Thread(seen.thread), Whom::Process(host, pid)] {
            self.signals.entry((whom, signal)).or_default().arrived.push(moment);
        }
    }

    /// A call has found this file ready to read, or has read from it: if signals arrive there, some have, and if it tells of the
    /// end of a process, that has ended.
    pub fn read(&mut self, seen: &Seen<'_>, open: OpenId, descriptors: &Descriptors) {
        let origin = origin(seen, open, descriptors);
        if let Some(&pid) = self.subjects.get(&origin) {
            let (host, _) = self.processes[seen.process as usize];
            self.told_ends.push(((host, pid), seen.leave()));
        }
        let Some(&mask) = self.descriptors.get(&origin) else { return };
        for bit in (0..i64::BITS).filter(|bit| mask >> bit & 1 != 0) {
            self.receive(seen, i64::from(bit) + 1);
        }
    }
}

/// The process that made an open file, and its number there.
pub fn origin(seen: &Seen<'_>, open: OpenId, descriptors: &Descriptors) -> (u32, OpenId) {
    descriptors.open_file(open).twin.unwrap_or((seen.process, open))
}

impl Visitor for SignalTracker {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let event = seen.event;
        let last = &mut self.ends[seen.process as usize];
        last.moment = Some(seen.leave());
        last.exits |= event.call.effect() == Effect::Exit;
        self.interruptions.see(seen);
        match event.call.effect() {
            _ if event.has(record::FAILED) => {}
            _ if event.call == Call::SignalDelivered => self.arrive(seen, event.numbers[0], seen.leave()),
            _ if event.call == Call::ThreadStart => {
                self.threads.insert((seen.process, event.numbers[0]), seen.thread);
            }
            Effect::SendSignal => {
                let (host, _) = self.processes[seen.process as usize];
                // 0 and less stand for groups of processes.
                if let Some(pid) = u32::try_from(event.numbers[0]).ok().filter(|&pid| pid > 0) {
                    self.send(Whom::Process(host, pid), event.numbers[1], seen);
                }
            }
            Effect::SendSignalToThread if event.result == 0 => {
                if let Some(&thread) = self.threads.get(&(seen.process, event.numbers[0])) {
                    self.send(Whom::Thread(thread), event.numbers[1], seen);
                }
            }
            Effect::OpenSignals => {
                if let Some(open) = touched.opened.or(touched.file) {
                    self.descriptors.insert(origin(seen, open, descriptors), event.numbers[1]);
                }
            }
            Effect::OpenProcess => {
                if let (Some(open), Ok(pid)) = (touched.opened, u32::try_from(event.numbers[0])) {
                    self.subjects.insert(origin(seen, open, descriptors), pid);
                }
            }
            Effect::AwaitProcessById if event.numbers[0] == i64::from(libc::P_PIDFD) => {
                let ends = event.numbers[2] & i64::from(libc::WEXITED) != 0;
                let fd = i32::try_from(event.numbers[1]).ok().filter(|_| ends);
                let open = fd.and_then(|fd| descriptors.descriptor(fd));
                open.into_iter().for_each(|open| self.read(seen, open, descriptors));
            }
            Effect::Read(_) if !self.descriptors.is_empty() => {
                touched.file.into_iter().for_each(|open| self.read(seen, open, descriptors));
            }
            Effect::AwaitSignal => self.receive(seen, event.result),
            _ => {}
        }
    }
}
