//! Follows locks of files, semaphores of System V and message queues: who waited, and who ended waits.

use crate::clocks::Clocks;
use crate::follow::pass::{Seen, Visitor};
use crate::graph::dependency::{Dependencies, Moment};
use crate::rules::file_lock::{FileLocks, Locking};
use crate::rules::open_file::Span;
use crate::rules::waking::{Wake, Waking};
use crate::rules::{file_lock, ipc};
use std::collections::BTreeMap;
use std::ops::Range;
use syn_trace::calls::Fact;
use syn_trace::calls::effect::{Effect, Sync};
use syn_trace::descriptors::{Descriptors, OpenId, Touched};
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

const WHOLE: Range<u64> = 0..u64::MAX;

/// What is waited for, on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Object {
    /// A semaphore of a set.
    Semaphore(usize, i64, i64),
    /// That it is 0.
    Zero(usize, i64, i64),
    /// A queue of System V.
    Queue(usize, i64),
    /// A queue of POSIX, by its inode.
    OpenQueue(usize, u64),
    /// Room in a queue of System V.
    Room(usize, i64),
    /// Room in one of POSIX.
    OpenRoom(usize, u64),
}

/// The locks of a file: its host and inode, and whether they are of `flock`.
type Locked = (usize, u64, bool);

/// A lock of some bytes that was taken.
#[derive(Clone, Debug)]
struct Lock {
    locked: Locked,
    bytes: Range<u64>,
    shared: bool,
    /// It is of an open file that another process has as well: `( flock 9; work ) 9> lock`. When the last one gives it back by closing
    /// the file or by ending is not followed.
    outlives: bool,
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
    /// By process: its last moment.
    last: Vec<Option<Moment>>,
    objects: BTreeMap<Object, Waking>,
    files: BTreeMap<Locked, FileLocks>,
    /// What processes have locked and not given back, by their open files.
    held: BTreeMap<(u32, OpenId), Vec<Lock>>,
    /// By thread and file: since when it has been refused a lock that it did not want to wait for in the call.
    refused: BTreeMap<(u32, Locked), Moment>,
}

impl IpcTracker {
    /// For a run, with nothing seen yet.
    pub fn new(run: &Run, clocks: &Clocks) -> IpcTracker {
        IpcTracker {
            hosts: run.processes.iter().map(|process| clocks.host_of(&process.boot_id)).collect(),
            last: vec![None; run.processes.len()],
            objects: BTreeMap::new(),
            files: BTreeMap::new(),
            held: BTreeMap::new(),
            refused: BTreeMap::new(),
        }
    }

    /// Who waited for whom. What a process had locked when it ended was given back then.
    pub fn finish(mut self) -> Dependencies {
        let mut found = Dependencies::default();
        for ((process, _), locks) in std::mem::take(&mut self.held) {
            let Some(last) = self.last[process as usize] else { continue };
            for Lock { locked, bytes, shared, .. } in locks.into_iter().filter(|lock| !lock.outlives) {
                let span = Span { enter: last, leave: last };
                self.files.entry(locked).or_default().releases.push(Locking { span, bytes, shared });
            }
        }
        self.objects.into_values().for_each(|waking| ipc::connect(waking, &mut found));
        self.files.into_values().for_each(|locks| file_lock::connect(locks, &mut found));
        found
    }

    fn wait(&mut self, object: Object, seen: &Seen<'_>) {
        let object = self.objects.entry(object).or_default();
        let calls = if seen.may_have_slept() { &mut object.waits } else { &mut object.taken };
        calls.push(span_of(seen));
    }

    fn wake(&mut self, object: Object, span: Span, times: u32) {
        self.objects.entry(object).or_default().wakes.push(Wake { span, times });
    }

    /// A message goes into a queue. Who slept waited for room; how much there was nobody knows.
    fn send(&mut self, queue: Object, room: Object, seen: &Seen<'_>) {
        self.wake(queue, span_of(seen), 1);
        if seen.event.has(record::WAITED_AFTER) {
            self.objects.entry(room).or_default().waits.push(span_of(seen));
        }
    }

    /// One comes out.
    fn receive(&mut self, queue: Object, room: Object, seen: &Seen<'_>) {
        self.wait(queue, seen);
        self.wake(room, span_of(seen), 1);
    }

    fn use_object(&mut self, seen: &Seen<'_>, sync: Sync, touched: &Touched, descriptors: &Descriptors) {
        let (event, span) = (seen.event, span_of(seen));
        let (host, id) = (self.hosts[seen.process as usize], event.numbers[0]);
        let inode = || touched.file.map_or(0, |file| descriptors.open_file(file).inode);
        match sync {
            Sync::ChangeSemaphores => {
                let mut list = event.list.iter();
                while let (Some(number), Some(change), Some(_)) = (list.next(), list.next(), list.next()) {
                    match change {
                        0 => self.wait(Object::Zero(host, id, number), seen),
                        1.. => self.wake(Object::Semaphore(host, id, number), span, change as u32),
                        _ => {
                            self.wait(Object::Semaphore(host, id, number), seen);
                            self.wake(Object::Zero(host, id, number), span, u32::MAX);
                        }
                    }
                }
            }
            Sync::SendToQueue => self.send(Object::Queue(host, id), Object::Room(host, id), seen),
            Sync::ReceiveFromQueue => self.receive(Object::Queue(host, id), Object::Room(host, id), seen),
            Sync::SendToOpenQueue => {
                self.send(Object::OpenQueue(host, inode()), Object::OpenRoom(host, inode()), seen);
            }
            Sync::ReceiveFromOpenQueue => {
                self.receive(Object::OpenQueue(host, inode()), Object::OpenRoom(host, inode()), seen);
            }
            _ => {}
        }
    }

    /// A call locks bytes of an open file, or gives them back.
    fn lock(
        &mut self,
        seen: &Seen<'_>,
        (open, outlives): (OpenId, bool),
        locked: Locked,
        bytes: Range<u64>,
        change: Change,
    ) {
        let mut span = span_of(seen);
        if seen.event.has(record::FAILED) {
            self.refused.entry((seen.thread, locked)).or_insert(span.enter);
            return;
        }
        let (file, held) =
            (self.files.entry(locked).or_default(), self.held.entry((seen.process, open)).or_default());
        match change {
            Change::Take { waits, shared } => {
                held.push(Lock { locked, bytes: bytes.clone(), shared, outlives });
                let refused = self.refused.remove(&(seen.thread, locked));
                span.enter = refused.unwrap_or(span.enter);
                if waits || refused.is_some() {
                    file.waits.push(Locking { span, bytes, shared });
                }
            }
            Change::GiveBack => {
                let is_of_it = |lock: &&Lock| {
                    lock.locked == locked && lock.bytes.start < bytes.end && bytes.start < lock.bytes.end
                };
                // What was taken where nobody saw it may have kept out all others.
                let shared = held.iter().any(|lock| is_of_it(&lock))
                    && held.iter().filter(is_of_it).all(|lock| lock.shared);
                held.retain(|lock| {
                    lock.locked != locked || lock.bytes.start < bytes.start || bytes.end < lock.bytes.end
                });
                file.releases.push(Locking { span, bytes, shared });
            }
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
        let (host, inode, inherited) = (self.hosts[seen.process as usize], file.inode, file.inherited);
        let operation = event.numbers[1];
        match event.call.effect() {
            _ if inode == 0 => {}
            Effect::LockFile => {
                let (waits, shared) = (operation & LOCK_NB == 0, operation & LOCK_SH != 0);
                let change = Change::new(operation & LOCK_UN != 0, waits, shared);
                self.lock(seen, (open, inherited), (host, inode, true), WHOLE, change);
            }
            // From the position on, which is not followed here.
            Effect::LockFileAtPosition => {
                let change = Change::new(operation == F_ULOCK, operation == F_LOCK, false);
                self.lock(seen, (open, false), (host, inode, false), WHOLE, change);
            }
            Effect::Control if SET_LOCK.contains(&operation) => {
                let lock: Vec<i64> = event.list.iter().collect();
                let &[kind, whence, start, length] = &lock[..] else { return };
                let waits = WAIT_FOR_LOCK.contains(&operation);
                let change = Change::new(kind == F_UNLCK, waits, kind == F_RDLCK);
                let bytes = if whence == 0 { range(start, length) } else { WHOLE };
                // Others are of the process.
                let outlives = inherited && OF_OPEN_FILE.contains(&operation);
                self.lock(seen, (open, outlives), (host, inode, false), bytes, change);
            }
            _ => {}
        }
    }
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

fn span_of(seen: &Seen<'_>) -> Span {
    Span { enter: seen.enter(), leave: seen.leave() }
}

impl Visitor for IpcTracker {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        self.last[seen.process as usize] = Some(seen.leave());
        for &released in &touched.released {
            let locks = self.held.remove(&(seen.process, released)).into_iter().flatten();
            for Lock { locked, bytes, shared, .. } in locks.filter(|lock| !lock.outlives) {
                let locking = Locking { span: span_of(seen), bytes, shared };
                self.files.entry(locked).or_default().releases.push(locking);
            }
        }
        if !self.refused.is_empty() {
            self.end_asking(seen);
        }
        let failed = seen.event.has(record::FAILED);
        if failed && ![libc::EAGAIN, libc::EACCES].contains(&seen.event.errno) {
            return;
        }
        match (seen.event.call.effect(), touched.file) {
            // It may have been refused.
            (Effect::LockFile | Effect::LockFileAtPosition | Effect::Control, Some(open)) => {
                self.lock_file(seen, open, descriptors);
            }
            (Effect::Sync(sync), _) if !failed => self.use_object(seen, sync, touched, descriptors),
            _ => {}
        }
    }
}
