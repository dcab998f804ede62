//! Follows asynchronous I/O on files: which requests went into which queue, what became of them, and which calls waited for them.
//!
//! A request of `io_submit` or of an io_uring is in the queue of its context or ring. One of aio(7) is in a queue of its own: who waits for
//! such a one waits for no other. A replay is told of a request where it is submitted, with the result that is known only later.

use crate::follow::pass::{Seen, Visitor};
use crate::follow::ring_tracker::{Entry, UnderWay, ring};
use crate::follow::scope::Scope;
use foldhash::HashMap;
use std::collections::HashSet;
use std::rc::Rc;
use syn_plan::QueueId;
use syn_trace::calls::Effect;
use syn_trace::descriptors::{Descriptors, OpenId, Touched};
use syn_trace::{Run, record};

/// Index into [`syn_plan::ENGINES`].
const CONTEXT: u32 = 0;
const RING: u32 = 1;
/// `LIO_WAIT`.
const LIO_WAIT: i64 = 0;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It reads so many bytes from a place on; below 0, from the position.
    Read(u64, i64),
    /// It writes them.
    Write(u64, i64),
    /// It syncs the file, or only its data.
    Sync { data: bool },
}

impl Asked {
    /// What the control block of `io_submit`, the entry of a ring, or the call of aio(7) asks for; `None` for what is not on files.
    fn of(seen: &Seen<'_>) -> Option<Asked> {
        let numbers = &seen.event.numbers;
        let bytes = |number: i64| number.max(0) as u64;
        let asked = match (seen.event.call.effect(), numbers[1]) {
            // `enum iocb_cmd`: PREAD, PREADV; PWRITE, PWRITEV; FSYNC, FDSYNC.
            (Effect::BlockEntry, 0 | 7) => Asked::Read(bytes(numbers[2]), numbers[3]),
            (Effect::BlockEntry, 1 | 8) => Asked::Write(bytes(numbers[2]), numbers[3]),
            (Effect::BlockEntry, command @ (2 | 3)) => Asked::Sync { data: command == 3 },
            // `enum io_uring_op`: READV, READ_FIXED, READ, READV_FIXED; their like; FSYNC with `IORING_FSYNC_DATASYNC`.
            (Effect::RingEntry, 1 | 4 | 22 | 60) => Asked::Read(bytes(numbers[4]), numbers[5]),
            (Effect::RingEntry, 2 | 5 | 23 | 61) => Asked::Write(bytes(numbers[4]), numbers[5]),
            (Effect::RingEntry, 3) => Asked::Sync { data: numbers[4] & 1 != 0 },
            (Effect::AsynchronousRead, count) => Asked::Read(bytes(count), numbers[2]),
            (Effect::AsynchronousWrite, count) => Asked::Write(bytes(count), numbers[2]),
            (Effect::AsynchronousSync, how) => Asked::Sync { data: how == i64::from(libc::O_DSYNC) },
            _ => return None,
        };
        Some(asked)
    }

    /// So many bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Asked::Read(bytes, _) | Asked::Write(bytes, _) => bytes,
            Asked::Sync { .. } => 0,
        }
    }
}

/// One request. Its result is not known while nobody has seen it.
#[derive(Clone, Debug)]
struct Request {
    process: u32,
    queue: QueueId,
    path: Rc<str>,
    asked: Asked,
    result: Option<i64>,
    /// It is one of aio(7).
    of_libc: bool,
    /// Some call has waited for it.
    awaited: bool,
}

/// What a call has to do with queues, as it went by.
#[derive(Clone, Copy, Debug)]
enum Note {
    SetUp {
        process: u32,
        queue: QueueId,
        engine: u32,
        entries: u32,
    },
    Destroy {
        process: u32,
        queue: QueueId,
    },
    Submit {
        request: usize,
    },
    Complete {
        request: usize,
    },
    /// It has handed over this one, among others.
    HandOver {
        request: usize,
    },
}

/// What a call has to do with queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It makes one.
    SetUp { queue: QueueId, engine: u32, entries: u32 },
    /// It gives one up.
    Destroy { queue: QueueId },
    /// It puts a request in, which has had this result; `None` where nobody has seen that.
    Submit { queue: QueueId, asked: Asked, result: Option<i64> },
    /// So many requests were complete behind it, which moved so many bytes; with 0, it only handed some over.
    Complete { queue: QueueId, count: u32, bytes: i64 },
}

/// By thread: the record of each call that has to do with queues, and what it does there; ascending.
pub type Deeds = Vec<Vec<(u32, Deed)>>;

/// A completion that was seen before the call that had submitted it came back.
#[derive(Clone, Copy, Debug)]
struct Early {
    thread: u32,
    record: u32,
    result: i64,
    ns: u64,
}

/// A thread's calls, as far as others refer to them.
#[derive(Clone, Debug, Default)]
struct Thread {
    /// Its last `io_submit`: record, entry, context.
    submitting: Option<(u32, u64, i64)>,
    /// A request of a ring that it is about to hand over.
    handing_over: Option<usize>,
    /// When it came back from a ring, and the record that shows a completion if that came with it.
    returned: Option<(u32, u32)>,
    /// Its last `aio_suspend`, until a result was asked for that this has waited for.
    suspended: Option<(u32, Vec<i64>)>,
    /// Queues of requests of aio(7) that it has seen the end of.
    free: Vec<QueueId>,
    notes: Vec<(u32, Note)>,
}

/// The requests of a run. Memory: 72 bytes for each, and 40 for each call that submits or completes one.
#[derive(Debug, Default)]
pub struct RequestTracker {
    requests: Vec<Request>,
    threads: Vec<Thread>,
    /// By process and context.
    contexts: HashMap<(u32, i64), QueueId>,
    /// By process and ring.
    rings: HashMap<(u32, OpenId), QueueId>,
    /// By process: the next number of a queue.
    next: Vec<QueueId>,
    /// By process and control block of `io_submit`.
    blocks: HashMap<(u32, i64), usize>,
    early: HashMap<(u32, i64), Early>,
    entries: UnderWay<Option<usize>>,
    /// Files that only a ring has open, where they are registered: no handle of the plan stands for them.
    closed: HashSet<(u32, OpenId)>,
    /// By process and control block of aio(7).
    asked: HashMap<(u32, i64), usize>,
    /// Processes whose requests of aio(7) are done by threads of the plan; where there is MPI, it may have made them for its own.
    by_threads: HashSet<u32>,
}

impl RequestTracker {
    /// For a run, with nothing seen yet.
    pub fn new(run: &Run) -> RequestTracker {
        RequestTracker {
            requests: Vec::new(),
            threads: vec![Thread::default(); run.threads.len()],
            contexts: HashMap::default(),
            rings: HashMap::default(),
            next: vec![0; run.processes.len()],
            blocks: HashMap::default(),
            early: HashMap::default(),
            entries: UnderWay::default(),
            closed: HashSet::default(),
            asked: HashMap::default(),
            by_threads: (0..)
                .zip(&run.processes)
                .filter(|(_, process)| process.mpi.is_some() || process.rank.is_some())
                .map(|(number, _)| number)
                .collect(),
        }
    }

    /// The threads that do the requests of aio(7) of this process are in the plan, and do them.
    pub fn leave_to_threads(&mut self, process: u32) {
        self.by_threads.insert(process);
    }

    /// What there is for a replay, of requests on files of the plan, and without those that failed; and for how many of them nobody has waited.
    pub fn finish(self, scope: &Scope) -> (Deeds, usize) {
        let RequestTracker { requests, threads, by_threads, .. } = self;
        let is_replayed = |request: usize| {
            let Request { path, result, of_libc, process, .. } = &requests[request];
            let is_other = *of_libc && by_threads.contains(process);
            !is_other && result.is_none_or(|result| result >= 0) && scope.contains(path)
        };
        let used: HashSet<(u32, QueueId)> = (0..requests.len())
            .filter(|&request| is_replayed(request))
            .map(|request| (requests[request].process, requests[request].queue))
            .collect();
        let deeds = |mut thread: Thread| {
            thread.notes.sort_by_key(|&(record, _)| record);
            let mut deeds: Vec<(u32, Deed)> = Vec::new();
            for (record, note) in thread.notes {
                let deed = match note {
                    Note::SetUp { process, queue, engine, entries } if used.contains(&(process, queue)) => {
                        Deed::SetUp { queue, engine, entries }
                    }
                    Note::Destroy { process, queue } if used.contains(&(process, queue)) => {
                        Deed::Destroy { queue }
                    }
                    Note::Submit { request } if is_replayed(request) => {
                        let Request { queue, asked, result, .. } = requests[request];
                        Deed::Submit { queue, asked, result }
                    }
                    Note::HandOver { request } | Note::Complete { request } if is_replayed(request) => {
                        let Request { queue, asked, result, .. } = requests[request];
                        let more = u32::from(matches!(note, Note::Complete { .. }));
                        let moved = if more > 0 { result.unwrap_or(asked.bytes() as i64) } else { 0 };
                        if let Some((_, Deed::Complete { count, bytes, .. })) =
                            deeds.iter_mut().rev().take_while(|(at, _)| *at == record).find(
                                |(_, deed)| matches!(deed, Deed::Complete { queue: same, .. } if *same == queue),
                            )
                        {
                            (*count, *bytes) = (*count + more, bytes.saturating_add(moved));
                            continue;
                        }
                        Deed::Complete { queue, count: more, bytes: moved }
                    }
                    _ => continue,
                };
                deeds.push((record, deed));
            }
            deeds
        };
        let unseen =
            (0..requests.len()).filter(|&request| !requests[request].awaited && is_replayed(request));
        let unseen = unseen.count();
        (threads.into_iter().map(deeds).collect(), unseen)
    }

    fn note(&mut self, seen: &Seen<'_>, record: u32, note: Note) {
        self.threads[seen.thread as usize].notes.push((record, note));
    }

    fn new_queue(&mut self, process: u32) -> QueueId {
        let next = &mut self.next[process as usize];
        *next += 1;
        *next - 1
    }

    /// A request on a file, which the call submits, in this queue.
    fn submit(
        &mut self,
        seen: &Seen<'_>,
        touched: &Touched,
        descriptors: &Descriptors,
        queue: impl FnOnce(&mut RequestTracker) -> QueueId,
    ) -> Option<usize> {
        let asked = Asked::of(seen)?;
        let open = touched.file.filter(|&open| !self.closed.contains(&(seen.process, open)))?;
        let file = descriptors.open_file(open);
        let path = file.path.clone().filter(|_| Scope::contains_type(file.st_mode))?;
        let queue = queue(self);
        let request = self.requests.len();
        let process = seen.process;
        let of_libc = !matches!(seen.event.call.effect(), Effect::BlockEntry | Effect::RingEntry);
        self.requests.push(Request { process, queue, path, asked, result: None, of_libc, awaited: false });
        self.note(seen, seen.record, Note::Submit { request });
        Some(request)
    }

    /// It is known what became of a request, by a call that has waited for it.
    fn complete(&mut self, thread: u32, record: u32, request: usize, result: i64) {
        self.requests[request].result = Some(result);
        self.wait_for(thread, record, request);
    }

    fn wait_for(&mut self, thread: u32, record: u32, request: usize) {
        if !std::mem::replace(&mut self.requests[request].awaited, true) {
            self.threads[thread as usize].notes.push((record, Note::Complete { request }));
        }
    }

    /// A control block of the `io_submit` before.
    fn submit_block(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let Some((submit, since_ns, context)) = self.threads[seen.thread as usize].submitting else { return };
        let key = (seen.process, context);
        let queue = |tracker: &mut RequestTracker| match tracker.contexts.get(&key) {
            Some(&queue) => queue,
            None => {
                let queue = tracker.new_queue(key.0);
                tracker.contexts.insert(key, queue);
                queue
            }
        };
        let block = (seen.process, seen.event.numbers[4]);
        // A block is used again when it is over: who looks into the memory of a context for completions shows none.
        if let Some(over) = self.blocks.remove(&block) {
            self.wait_for(seen.thread, submit, over);
        }
        let Some(request) = self.submit(seen, touched, descriptors, queue) else { return };
        self.note(seen, submit, Note::HandOver { request });
        // The kernel may have been done with it, and another thread have seen that, before this one came back.
        match self.early.remove(&block).filter(|early| early.ns >= since_ns) {
            Some(Early { thread, record, result, .. }) => self.complete(thread, record, request, result),
            None => drop(self.blocks.insert(block, request)),
        }
    }

    fn submit_entry(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let Some(ring) = ring(seen, descriptors) else { return };
        let key = (seen.process, ring);
        let queue = |tracker: &mut RequestTracker| match tracker.rings.get(&key) {
            Some(&queue) => queue,
            None => {
                let queue = tracker.new_queue(key.0);
                tracker.rings.insert(key, queue);
                queue
            }
        };
        let request = self.submit(seen, touched, descriptors, queue);
        if request.is_some() {
            self.threads[seen.thread as usize].handing_over = request;
        }
        if let Some(entry) = Entry::of(seen) {
            self.entries.submit(seen.process, ring, entry, request);
        }
    }

    fn return_from_ring(&mut self, seen: &Seen<'_>) {
        let thread = &mut self.threads[seen.thread as usize];
        thread.returned = Some((seen.record, seen.record + 1));
        if let Some(request) = thread.handing_over.take() {
            self.note(seen, seen.record, Note::HandOver { request });
        }
    }

    fn complete_entry(&mut self, seen: &Seen<'_>, descriptors: &Descriptors) {
        let returned = &mut self.threads[seen.thread as usize].returned;
        let record = match returned {
            Some((record, next)) if *next == seen.record => {
                *next += 1;
                *record
            }
            _ => seen.record,
        };
        let Some(ring) = ring(seen, descriptors) else { return };
        if let Some(Some(request)) = self.entries.complete(seen, ring) {
            self.complete(seen.thread, record, request, seen.event.numbers[1]);
        }
    }

    /// Of aio(7).
    fn ask(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors, block: i64) {
        let (thread, process) = (seen.thread as usize, seen.process);
        let queue = |tracker: &mut RequestTracker| match tracker.threads[thread].free.pop() {
            Some(free) => free,
            None => tracker.new_queue(process),
        };
        if let Some(request) = self.submit(seen, touched, descriptors, queue) {
            self.asked.insert((process, block), request);
        }
    }

    /// By a call of this thread it is known that a request of aio(7) is over. Who has waited for it before has waited there.
    fn end(&mut self, seen: &Seen<'_>, block: i64) -> Option<usize> {
        let request = *self.asked.get(&(seen.process, block))?;
        let suspended =
            self.threads[seen.thread as usize].suspended.take_if(|(_, blocks)| blocks.contains(&block));
        let record = suspended.map_or(seen.record, |(record, _)| record);
        self.wait_for(seen.thread, record, request);
        Some(request)
    }

    /// `lio_listio`, whose requests have records inside of it.
    fn ask_for_list(&mut self, seen: &Seen<'_>) {
        let waits = seen.event.numbers[0] == LIO_WAIT;
        let thread = &self.threads[seen.thread as usize];
        let inside = thread.notes.iter().rev().take_while(|(record, _)| *record >= seen.first_inside);
        let inside: Vec<usize> = inside
            .filter_map(|&(_, note)| match note {
                Note::Submit { request } => Some(request),
                _ => None,
            })
            .collect();
        for request in inside {
            match waits {
                true => self.wait_for(seen.thread, seen.record, request),
                false => self.note(seen, seen.record, Note::HandOver { request }),
            }
        }
    }

    /// `aio_return`.
    fn tell(&mut self, seen: &Seen<'_>) {
        let event = seen.event;
        let Some(request) = self.end(seen, event.numbers[1]) else { return };
        self.asked.remove(&(seen.process, event.numbers[1]));
        let result = if event.has(record::FAILED) { -i64::from(event.errno) } else { event.result };
        self.requests[request].result = Some(result);
        self.threads[seen.thread as usize].free.push(self.requests[request].queue);
    }
}

impl Visitor for RequestTracker {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let has_rings = !self.rings.is_empty();
        for &open in touched.released.iter().filter(|_| has_rings) {
            self.closed.insert((seen.process, open));
            if let Some(queue) = self.rings.remove(&(seen.process, open)) {
                self.note(seen, seen.record, Note::Destroy { process: seen.process, queue });
            }
        }
        let (event, process) = (seen.event, seen.process);
        let numbers = &event.numbers;
        match event.call.effect() {
            Effect::RingEntry => self.submit_entry(seen, touched, descriptors),
            Effect::RingCompletion => self.complete_entry(seen, descriptors),
            Effect::AwaitRing => self.return_from_ring(seen),
            Effect::AsynchronousResult => self.tell(seen),
            _ if event.has(record::FAILED) => {}
            Effect::OpenRing => {
                let Some(open) = touched.opened else { return };
                let (queue, entries) = (self.new_queue(process), numbers[0].clamp(1, i64::from(u32::MAX)));
                self.rings.insert((process, open), queue);
                let entries = entries as u32;
                self.note(seen, seen.record, Note::SetUp { process, queue, engine: RING, entries });
            }
            Effect::SetUpBlocks => {
                let (queue, entries) = (self.new_queue(process), numbers[0].clamp(1, i64::from(u32::MAX)));
                self.contexts.insert((process, numbers[1]), queue);
                let entries = entries as u32;
                self.note(seen, seen.record, Note::SetUp { process, queue, engine: CONTEXT, entries });
            }
            Effect::DestroyBlocks => {
                if let Some(queue) = self.contexts.remove(&(process, numbers[0])) {
                    self.note(seen, seen.record, Note::Destroy { process, queue });
                }
            }
            Effect::SubmitBlocks => {
                let thread = &mut self.threads[seen.thread as usize];
                thread.submitting = Some((seen.record, seen.start_ns, numbers[0]));
            }
            Effect::BlockEntry => self.submit_block(seen, touched, descriptors),
            Effect::AwaitBlocks => {
                let mut completed = event.list.iter();
                while let (Some(block), Some(result)) = (completed.next(), completed.next()) {
                    let key = (process, block);
                    if let Some(request) = self.blocks.remove(&key) {
                        self.complete(seen.thread, seen.record, request, result);
                    } else {
                        let (thread, record, ns) = (seen.thread, seen.record, seen.returned_ns);
                        self.early.insert(key, Early { thread, record, result, ns });
                    }
                }
            }
            Effect::AsynchronousRead | Effect::AsynchronousWrite => {
                self.ask(seen, touched, descriptors, numbers[3]);
            }
            Effect::AsynchronousSync => self.ask(seen, touched, descriptors, numbers[2]),
            Effect::AsynchronousError if event.result != i64::from(libc::EINPROGRESS) => {
                self.end(seen, numbers[1]);
            }
            Effect::AsynchronousList => self.ask_for_list(seen),
            Effect::AwaitAsynchronous => {
                let blocks = event.list.iter().collect();
                self.threads[seen.thread as usize].suspended = Some((seen.record, blocks));
            }
            _ => {}
        }
    }
}
