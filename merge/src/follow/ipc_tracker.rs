//! Follows locks of files, semaphores of System V and message queues: who waited, and who ended waits.

use crate::clocks::Clocks;
use crate::follow::file_ids::FileIds;
use crate::follow::pass::{Seen, Visitor};
use crate::follow::shared::images_before;
use crate::graph::dependency::{Dependencies, Moment, Span};
use crate::rules::file_lock::{FileLocks, Locking, Release};
use crate::rules::ipc::{Queue, Zero};
use crate::rules::process_join::ProcessEnd;
use crate::rules::waking::{Wake, Waking};
use crate::rules::{file_lock, ipc};
use std::collections::BTreeMap;
use std::ops::Range;
use syn_trace::calls::Fact;
use syn_trace::calls::effect::{Effect, Sync};
use syn_trace::descriptors::{Descriptors, OpenFile, OpenId, Touched};
use syn_trace::{Run, record};

/// `F_SETLK`, `F_SETLKW`, `F_OFD_SETLK`, `F_OFD_SETLKW`, which of them wait, and which lock for an open file.
const SET_LOCK: [i64; 4] = [6, 7, 37, 38];
const WAIT_FOR_LOCK: [i64; 2] = [7, 38];
const OF_OPEN_FILE: [i64; 2] = [37, 38];
const F_RDLCK: i64 = 0;
const F_UNLCK: i64 = 2;
/// Of `flock`.
const LOCK_SH: i64 = 1;
const LOCK_NB: i64 = 4;
const LOCK_UN: i64 = 8;
/// Of `lockf`.
const F_ULOCK: i64 = 0;
const F_LOCK: i64 = 1;

/// Who takes more at a time of a semaphore waits for so many that give at most.
const MOST_TAKEN: u64 = 16;

const WHOLE: Range<u64> = 0..u64::MAX;

/// What is waited for, on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Object {
    /// A semaphore of a set.
    Semaphore(usize, i64, i64),
    /// Room in a queue.
    Room(usize, QueueId),
}

/// A queue, on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum QueueId {
    OfSystemV(i64),
    /// One of POSIX, by its inode.
    Open(u64),
}

/// The locks of a file: its number, and whether they are of `flock`.
type Locked = (u32, bool);

/// A lock of some bytes that was taken.
#[derive(Clone, Debug)]
struct Lock {
    locked: Locked,
    bytes: Range<u64>,
    shared: bool,
    /// The call that took it, if that may have waited.
    waited: Option<Span>,
}

impl Lock {
    /// A call gives these of its bytes back.
    fn release(&self, span: Span, bytes: &Range<u64>) -> Release {
        let bytes = self.bytes.start.max(bytes.start)..self.bytes.end.min(bytes.end);
        Release { locking: Locking { span, bytes, shared: self.shared }, waited: self.waited }
    }
}

/// An open file that was locked, or that several processes have: `( flock 9; work ) 9> lock`. A lock of `flock`, or of
/// `F_OFD_SETLK`, is given back when the last of them has closed it (flock(2), fcntl_locking(2)).
#[derive(Debug, Default)]
struct Held {
    locks: Vec<Lock>,
    /// By process and number there: when it was closed.
    holders: BTreeMap<(u32, OpenId), Option<Span>>,
    /// It came from somebody whose records do not tell: when that one closes it is not known.
    has_others: bool,
}

/// What a call does with a lock.
#[derive(Clone, Copy)]
enum Change {
    Take { waits: bool, shared: bool },
    GiveBack,
}

impl Change {
    fn new(gives_back: bool, waits: bool, shared: bool) -> Change {
        if gives_back { Change::GiveBack } else { Change::Take { waits, shared } }
    }
}

/// Memory: 64 bytes for each call.
#[derive(Debug)]
pub struct IpcTracker {
    /// By process: its host.
    hosts: Vec<usize>,
    objects: BTreeMap<Object, Waking>,
    queues: BTreeMap<(usize, QueueId), Queue>,
    /// By host, set and number.
    zeros: BTreeMap<(usize, i64, i64), Zero>,
    files: BTreeMap<Locked, FileLocks>,
    /// By open file, as the process has it that opened it.
    held: BTreeMap<(u32, OpenId), Held>,
    numbers: FileIds,
    /// What processes have locked and not given back with `F_SETLK`, by file. Any close of the file gives it back, a child has nothing
    /// of it, and the next program of the process has it (fcntl_locking(2)).
    of_processes: BTreeMap<(u32, u32), Vec<Lock>>,
    /// By process image: the one before it of the same process.
    before: Vec<Option<usize>>,
    /// By thread and file: since when it has been refused a lock that it did not want to wait for in the call.
    refused: BTreeMap<(u32, Locked), Moment>,
}

impl IpcTracker {
    /// For a run, with nothing seen yet.
    pub fn new(run: &Run, clocks: &Clocks) -> IpcTracker {
        IpcTracker {
            hosts: run.processes.iter().map(|process| clocks.host_of(&process.boot_id)).collect(),
            objects: BTreeMap::new(),
            queues: BTreeMap::new(),
            zeros: BTreeMap::new(),
            files: BTreeMap::new(),
            held: BTreeMap::new(),
            numbers: FileIds::default(),
            of_processes: BTreeMap::new(),
            before: images_before(run),
            refused: BTreeMap::new(),
        }
    }

    /// Who waited for whom. What a process had locked when it ended was given back then; where nobody knows when that was, nobody is said
    /// to have waited for it.
    pub fn finish(mut self, ends: &[Option<ProcessEnd>]) -> Dependencies {
        let end_of = |process: u32| ends[process as usize].as_ref().map(ProcessEnd::span);
        let mut found = Dependencies::default();
        for held in std::mem::take(&mut self.held).into_values().filter(|held| !held.has_others) {
            let end =
                |(&(process, _), closed): (&(u32, OpenId), &Option<Span>)| closed.or_else(|| end_of(process));
            let last = held.holders.iter().filter_map(end).max_by_key(|span| span.leave.ns);
            if let Some(span) = last {
                self.give_back(held.locks, span);
            }
        }
        for ((process, _), locks) in std::mem::take(&mut self.of_processes) {
            if let Some(span) = end_of(process) {
                self.give_back(locks, span);
            }
        }
        self.objects.into_values().for_each(|waking| ipc::connect(waking, &mut found));
        self.queues.into_values().for_each(|queue| ipc::connect_queue(queue, &mut found));
        self.zeros.into_values().for_each(|zero| ipc::connect_zero(zero, &mut found));
        self.files.into_values().for_each(|locks| file_lock::connect(locks, &mut found));
        found
    }

    fn wait(&mut self, object: Object, seen: &Seen<'_>) {
        take(self.objects.entry(object).or_default(), seen);
    }

    fn wake(&mut self, object: Object, span: Span, times: u32) {
        self.objects.entry(object).or_default().wakes.push(Wake { span, times });
    }

    /// A message goes into a queue, of this priority if there are some. Who slept waited for room; how much there was nobody knows.
    fn send(&mut self, host: usize, id: QueueId, priority: Option<i64>, seen: &Seen<'_>) {
        let queue = self.queues.entry((host, id)).or_default();
        queue.messages.wakes.push(Wake { span: seen.span(), times: 1 });
        priority.into_iter().for_each(|priority| queue.see(priority));
        if seen.event.waited_inside() {
            self.objects.entry(Object::Room(host, id)).or_default().waits.push(seen.span());
        }
    }

    /// One comes out.
    fn receive(&mut self, host: usize, id: QueueId, seen: &Seen<'_>) {
        let queue = self.queues.entry((host, id)).or_default();
        take(&mut queue.messages, seen);
        if let QueueId::OfSystemV(_) = id {
            let [_, _, kind, flags, ..] = seen.event.numbers;
            queue.ask(kind, flags);
        }
        self.wake(Object::Room(host, id), seen.span(), 1);
    }

    fn use_object(&mut self, seen: &Seen<'_>, sync: Sync, touched: &Touched, descriptors: &Descriptors) {
        let (event, span) = (seen.event, seen.span());
        let (host, id) = (self.hosts[seen.process as usize], event.numbers[0]);
        let open = || QueueId::Open(touched.file.map_or(0, |file| descriptors.open_file(file).inode));
        match sync {
            Sync::ChangeSemaphores => {
                let mut list = event.list.iter();
                while let (Some(number), Some(change), Some(_)) = (list.next(), list.next(), list.next()) {
                    let semaphore = (host, id, number);
                    match change {
                        0 if seen.may_have_slept() => {
                            self.zeros.entry(semaphore).or_default().waits.push(span);
                        }
                        0 => {}
                        1.. => self.wake(Object::Semaphore(host, id, number), span, change as u32),
                        _ => {
                            self.zeros.entry(semaphore).or_default().taken.push(span);
                            // Each of several may come of another one's giving.
                            for _ in 0..change.unsigned_abs().min(MOST_TAKEN) {
                                self.wait(Object::Semaphore(host, id, number), seen);
                            }
                        }
                    }
                }
            }
            Sync::SendToQueue => self.send(host, QueueId::OfSystemV(id), None, seen),
            Sync::ReceiveFromQueue => self.receive(host, QueueId::OfSystemV(id), seen),
            Sync::SendToOpenQueue => self.send(host, open(), Some(event.numbers[2]), seen),
            Sync::ReceiveFromOpenQueue => self.receive(host, open(), seen),
            _ => {}
        }
    }

    fn give_back(&mut self, locks: Vec<Lock>, span: Span) {
        for lock in locks {
            self.files.entry(lock.locked).or_default().releases.push(lock.release(span, &WHOLE));
        }
    }

    fn number(&mut self, process: u32, file: &OpenFile) -> Option<u32> {
        self.numbers.of(self.hosts[process as usize], file)
    }

    /// The open file, as all processes know it that have it.
    fn open_file(&mut self, process: u32, open: OpenId, file: &OpenFile) -> &mut Held {
        let held = self.held.entry(file.twin.unwrap_or((process, open))).or_default();
        held.holders.entry((process, open)).or_insert(None);
        held.has_others |= file.inherited && file.twin.is_none();
        held
    }

    /// A process has found a file open: also who opened it has it, and what the program before has locked is this one's.
    fn inherit(&mut self, process: u32, open: OpenId, file: &OpenFile) {
        let Some(opened) = file.twin else { return };
        self.open_file(process, open, file).holders.entry(opened).or_insert(None);
        if let Some(before) = self.before[process as usize]
            && let Some(number) = self.number(process, file)
            && let Some(locks) = self.of_processes.remove(&(before as u32, number))
        {
            self.of_processes.entry((process, number)).or_default().extend(locks);
        }
    }

    /// A call closes descriptors.
    fn close(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let (process, span) = (seen.process, seen.span());
        for &open in &touched.released {
            let opened = descriptors.open_file(open).twin.unwrap_or((process, open));
            let Some(held) = self.held.get_mut(&opened) else { continue };
            held.holders.insert((process, open), Some(span));
            // Without locks nobody asks any more. With some, a child that has it may not have told so yet.
            if held.locks.is_empty() && held.holders.values().all(Option::is_some) {
                self.held.remove(&opened);
            }
        }
        if self.of_processes.is_empty() {
            return;
        }
        let is_close = matches!(seen.event.call.effect(), Effect::Close | Effect::CloseStream);
        let one_of_several = touched.file.filter(|_| is_close);
        for &open in touched.released.iter().chain(&touched.loosened).chain(&one_of_several) {
            let Some(number) = self.number(process, descriptors.open_file(open)) else { continue };
            let locks = self.of_processes.remove(&(process, number)).unwrap_or_default();
            self.give_back(locks, span);
        }
    }

    /// A call locks bytes of an open file, or for the whole process, or gives them back.
    fn lock(
        &mut self,
        seen: &Seen<'_>,
        (open, opened): (Option<OpenId>, &OpenFile),
        locked: Locked,
        bytes: Range<u64>,
        change: Change,
    ) {
        let span = seen.span();
        if seen.event.has(record::FAILED) {
            self.refused.entry((seen.thread, locked)).or_insert(span.enter);
            return;
        }
        let refused = match change {
            Change::Take { .. } => self.refused.remove(&(seen.thread, locked)),
            Change::GiveBack => None,
        };
        let held = match open {
            Some(open) => &mut self.open_file(seen.process, open, opened).locks,
            None => self.of_processes.entry((seen.process, locked.0)).or_default(),
        };
        let is_of_it = |lock: &Lock| {
            lock.locked == locked && lock.bytes.start < bytes.end && bytes.start < lock.bytes.end
        };
        let before: Vec<Lock> = held.iter().filter(|&lock| is_of_it(lock)).cloned().collect();
        // A lock takes the place of one that the owner has already (flock(2), fcntl_locking(2)).
        held.retain(|lock| !is_of_it(lock) || lock.bytes.start < bytes.start || bytes.end < lock.bytes.end);
        let given_back = before.iter().map(|lock| lock.release(span, &bytes));
        match change {
            Change::Take { waits, shared } => {
                let asked = Span { enter: refused.unwrap_or(span.enter), ..span };
                let waited = (waits || refused.is_some()).then_some(asked);
                held.push(Lock { locked, bytes: bytes.clone(), shared, waited });
                let locks = self.files.entry(locked).or_default();
                // It had them alone.
                locks.releases.extend(given_back.filter(|release| shared && !release.locking.shared));
                locks.waits.extend(waited.map(|span| Locking { span, bytes, shared }));
            }
            // What was taken where nobody saw it may have kept out all others.
            Change::GiveBack if before.is_empty() => {
                let release = Release { locking: Locking { span, bytes, shared: false }, waited: None };
                self.files.entry(locked).or_default().releases.push(release);
            }
            Change::GiveBack => self.files.entry(locked).or_default().releases.extend(given_back),
        }
    }

    /// Who does something else between two questions than sleep does not wait for the lock.
    fn end_asking(&mut self, seen: &Seen<'_>) {
        let event = seen.event;
        let asks =
            matches!(event.call.effect(), Effect::LockFile | Effect::LockFileAtPosition | Effect::Control);
        if !(asks || event.sleeps() || event.call.has(Fact::Note)) {
            self.refused.retain(|&(thread, _), _| thread != seen.thread);
        }
    }

    fn lock_file(&mut self, seen: &Seen<'_>, open: OpenId, descriptors: &Descriptors) {
        let event = seen.event;
        let file = descriptors.open_file(open);
        let Some(number) = self.number(seen.process, file) else { return };
        let operation = event.numbers[1];
        match event.call.effect() {
            Effect::LockFile => {
                let (waits, shared) = (operation & LOCK_NB == 0, operation & LOCK_SH != 0);
                let change = Change::new(operation & LOCK_UN != 0, waits, shared);
                self.lock(seen, (Some(open), file), (number, true), WHOLE, change);
            }
            // From the position on, which is not followed here.
            Effect::LockFileAtPosition => {
                let change = Change::new(operation == F_ULOCK, operation == F_LOCK, false);
                self.lock(seen, (None, file), (number, false), WHOLE, change);
            }
            Effect::Control if SET_LOCK.contains(&operation) => {
                let lock: Vec<i64> = event.list.iter().collect();
                let &[kind, whence, start, length] = &lock[..] else { return };
                let waits = WAIT_FOR_LOCK.contains(&operation);
                let change = Change::new(kind == F_UNLCK, waits, kind == F_RDLCK);
                let bytes = if whence == 0 { range(start, length) } else { WHOLE };
                let open = Some(open).filter(|_| OF_OPEN_FILE.contains(&operation));
                self.lock(seen, (open, file), (number, false), bytes, change);
            }
            _ => {}
        }
    }
}

/// A call takes of something: what was there, if it did not wait.
fn take(waking: &mut Waking, seen: &Seen<'_>) {
    let calls = if seen.may_have_slept() { &mut waking.waits } else { &mut waking.taken };
    calls.push(seen.span());
}

/// Bytes as `struct flock` has them: a length of 0 is all behind the start, a negative one lies in front of it.
fn range(start: i64, length: i64) -> Range<u64> {
    let start = start.max(0) as u64;
    match length {
        0 => start..u64::MAX,
        1.. => start..start.saturating_add(length as u64),
        _ => start.saturating_sub(length.unsigned_abs())..start,
    }
}

impl Visitor for IpcTracker {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        if !(self.held.is_empty() && self.of_processes.is_empty()) {
            self.close(seen, touched, descriptors);
        }
        if !self.refused.is_empty() {
            self.end_asking(seen);
        }
        let failed = seen.event.has(record::FAILED);
        if failed && ![libc::EAGAIN, libc::EACCES].contains(&seen.event.errno) {
            return;
        }
        match (seen.event.call.effect(), touched.file) {
            (Effect::Inherit, Some(open)) => self.inherit(seen.process, open, descriptors.open_file(open)),
            // It may have been refused.
            (Effect::LockFile | Effect::LockFileAtPosition | Effect::Control, Some(open)) => {
                self.lock_file(seen, open, descriptors);
            }
            (Effect::Sync(sync), _) if !failed => self.use_object(seen, sync, touched, descriptors),
            _ => {}
        }
    }
}
