//! Follows asynchronous I/O on files: which requests went into which queue, what became of them, and which calls waited for them.
//!
//! A request of `io_submit` or of an io_uring is in the queue of its context or ring. One of aio(7) is in a queue of its own: who waits for
//! such a one waits for no other. A replay is told of a request where it is submitted, with the result that is known only later.

use crate::follow::pass::{Seen, Visitor};
use crate::follow::ring_tracker::{Entry, UnderWay, ring};
use crate::follow::scope::Scope;
use crate::graph::dependency::{Dependencies, Moment, Point};
use foldhash::HashMap;
use std::collections::{HashSet, VecDeque};
use std::rc::Rc;
use syn_plan::{MAX_QUEUES, QueueId, Rule};
use syn_trace::calls::Effect;
use syn_trace::descriptors::{Descriptors, OpenId, Touched};
use syn_trace::{Run, record};

/// Index into [`syn_plan::ENGINES`].
const CONTEXT: u32 = 0;
const RING: u32 = 1;
/// `IOSQE_IO_DRAIN`, `IOSQE_IO_LINK`, `IOSQE_IO_HARDLINK`.
const SQE_IN_ORDER: i64 = 2 | 4 | 8;
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
    pub fn of(seen: &Seen<'_>) -> Option<Asked> {
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
    /// When it was submitted, if it is one of aio(7).
    of_libc: Option<Moment>,
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

/// A queue of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kernel {
    /// A context, by its number.
    Context(i64),
    Ring(OpenId),
}

/// A control block that is under way, and the request if it is one on a file.
#[derive(Clone, Copy, Debug)]
struct Block {
    at: Moment,
    request: Option<usize>,
}

/// A completion that was seen before the call that had submitted it came back.
#[derive(Clone, Copy, Debug)]
struct Early {
    leave: Moment,
    result: i64,
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
    notes: Vec<(u32, Note)>,
}

/// An `aio_suspend` for several requests of which nobody has said so far which it has waited for.
#[derive(Clone, Debug)]
struct Suspended {
    leave: Moment,
    blocks: Vec<i64>,
}

/// What a process has to do with aio(7), and its queues.
#[derive(Clone, Debug, Default)]
struct Process {
    /// The next number of a queue.
    next: QueueId,
    /// Queues of requests of aio(7) that are over.
    free: Vec<QueueId>,
    suspended: VecDeque<Suspended>,
}

/// So many of them are remembered.
const MOST_SUSPENDED: usize = 64;

/// The requests of a run. Memory: 88 bytes for each, 32 each time that one is submitted, handed over or complete, and 56 in its place when that is told.
#[derive(Debug, Default)]
pub struct RequestTracker {
    requests: Vec<Request>,
    threads: Vec<Thread>,
    /// By process and what it is to the kernel.
    queues: HashMap<(u32, Kernel), QueueId>,
    /// There are rings among them.
    has_rings: bool,
    processes: Vec<Process>,
    /// By process and control block of `io_submit`.
    blocks: HashMap<(u32, i64), Block>,
    early: HashMap<(u32, i64), Early>,
    entries: UnderWay<Option<usize>>,
    /// Files that only a ring has open, where they are registered: no handle of the plan stands for them.
    closed: HashSet<(u32, OpenId)>,
    /// By process and control block of aio(7).
    asked: HashMap<(u32, i64), usize>,
    /// Entries of rings that are in an order with others.
    linked: u64,
    found: Dependencies,
    /// Processes whose requests of aio(7) are done by threads of the plan; where there is MPI, it may have made them for its own.
    by_threads: HashSet<u32>,
}

impl RequestTracker {
    /// For a run, with nothing seen yet.
    pub fn new(run: &Run) -> RequestTracker {
        RequestTracker {
            requests: Vec::new(),
            threads: vec![Thread::default(); run.threads.len()],
            queues: HashMap::default(),
            has_rings: false,
            processes: vec![Process::default(); run.processes.len()],
            blocks: HashMap::default(),
            early: HashMap::default(),
            entries: UnderWay::default(),
            closed: HashSet::default(),
            asked: HashMap::default(),
            linked: 0,
            found: Dependencies::default(),
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

    /// What there is for a replay, of requests on files of the plan, and without those that failed; and what to tell about them.
    pub fn finish(self, scope: &Scope) -> (Deeds, Vec<String>) {
        let RequestTracker { requests, threads, by_threads, linked, .. } = self;
        let is_replayed = |request: usize| {
            let Request { path, result, of_libc, process, .. } = &requests[request];
            let is_other = of_libc.is_some() && by_threads.contains(process);
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
        let (unseen, mut remarks) = (unseen.count(), Vec::new());
        if unseen > 0 {
            remarks.push(format!(
                "for {unseen} asynchronous requests nobody is seen to wait: completions that a program finds in the memory it shares with the kernel, or \
                 never asks for, are not on record, and no step of the plan waits for these requests"
            ));
        }
        if linked > 0 {
            remarks.push(format!(
                "{linked} entries of rings were in an order with others (IOSQE_IO_LINK, IOSQE_IO_DRAIN), in which a replay does not do them"
            ));
        }
        (threads.into_iter().map(deeds).collect(), remarks)
    }

    fn note(&mut self, seen: &Seen<'_>, record: u32, note: Note) {
        self.threads[seen.thread as usize].notes.push((record, note));
    }

    /// A number for a further queue, while there are some.
    fn new_queue(&mut self, process: u32) -> Option<QueueId> {
        let next = &mut self.processes[process as usize].next;
        let queue = Some(*next).filter(|&queue| queue < MAX_QUEUES)?;
        *next += 1;
        Some(queue)
    }

    fn set_up(&mut self, seen: &Seen<'_>, kernel: Kernel) {
        let process = seen.process;
        let Some(queue) = self.new_queue(process) else { return };
        let engine = match kernel {
            Kernel::Context(_) => CONTEXT,
            Kernel::Ring(_) => RING,
        };
        let entries = seen.event.numbers[0].clamp(1, i64::from(u32::MAX)) as u32;
        self.has_rings |= engine == RING;
        self.queues.insert((process, kernel), queue);
        self.note(seen, seen.record, Note::SetUp { process, queue, engine, entries });
    }

    fn destroy(&mut self, seen: &Seen<'_>, kernel: Kernel) {
        let process = seen.process;
        if let Some(queue) = self.queues.remove(&(process, kernel)) {
            self.note(seen, seen.record, Note::Destroy { process, queue });
        }
    }

    /// The queue of a context or ring, also of one that was there before.
    fn queue_of(&mut self, process: u32, kernel: Kernel) -> Option<QueueId> {
        if let Some(&queue) = self.queues.get(&(process, kernel)) {
            return Some(queue);
        }
        let queue = self.new_queue(process)?;
        self.queues.insert((process, kernel), queue);
        Some(queue)
    }

    /// A request on a file, which the call submits, in this queue.
    fn submit(
        &mut self,
        seen: &Seen<'_>,
        touched: &Touched,
        descriptors: &Descriptors,
        queue: impl FnOnce(&mut RequestTracker) -> Option<QueueId>,
    ) -> Option<usize> {
        let asked = Asked::of(seen)?;
        let open = touched.file.filter(|&open| !self.closed.contains(&(seen.process, open)))?;
        let file = descriptors.open_file(open);
        let path = file.path.clone().filter(|_| Scope::contains_type(file.st_mode))?;
        let queue = queue(self)?;
        let request = self.requests.len();
        let process = seen.process;
        let is_of_kernel = matches!(seen.event.call.effect(), Effect::BlockEntry | Effect::RingEntry);
        let of_libc = (!is_of_kernel).then(|| seen.leave());
        self.requests.push(Request { process, queue, path, asked, result: None, of_libc, awaited: false });
        self.note(seen, seen.record, Note::Submit { request });
        Some(request)
    }

    /// It is known what became of a request, by a call that has waited for it.
    fn complete(&mut self, leave: Moment, request: usize, result: i64) {
        self.requests[request].result = Some(result);
        self.wait_for(leave, request);
    }

    /// The call that returned then has waited for it.
    fn wait_for(&mut self, leave: Moment, request: usize) {
        let Request { of_libc, awaited, .. } = &mut self.requests[request];
        if std::mem::replace(awaited, true) {
            return;
        }
        if let Some(submitted) = *of_libc {
            self.order(submitted, leave);
        }
        let Point { thread, record, .. } = leave.point();
        self.threads[thread as usize].notes.push((record, Note::Complete { request }));
    }

    /// Who waited for whom; of rings, [`super::ring_tracker`] tells.
    pub fn dependencies(&mut self) -> Dependencies {
        std::mem::take(&mut self.found)
    }

    /// A control block of the `io_submit` before.
    fn submit_block(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let Some((submit, since_ns, context)) = self.threads[seen.thread as usize].submitting else { return };
        let queue = |tracker: &mut RequestTracker| tracker.queue_of(seen.process, Kernel::Context(context));
        let (block, leave) = ((seen.process, seen.event.numbers[4]), seen.leave().point());
        // A block is used again when it is over: who looks into the memory of a context for completions shows none.
        if let Some(over) = self.blocks.remove(&block) {
            let point = Point { record: submit, ..leave };
            self.complete_block(over, Moment::new(point, seen.returned_ns), None);
        }
        let request = self.submit(seen, touched, descriptors, queue);
        if let Some(request) = request {
            self.note(seen, submit, Note::HandOver { request });
        }
        // A replay submits it here. The kernel may have been done with it, and another thread have seen that, before this one came back.
        let submitted = Block { at: Moment::new(leave, since_ns), request };
        match self.early.remove(&block).filter(|early| early.leave.ns >= since_ns) {
            Some(Early { leave, result }) => self.complete_block(submitted, leave, Some(result)),
            None => drop(self.blocks.insert(block, submitted)),
        }
    }

    /// The call that returned then has seen it complete, whatever it was about.
    fn complete_block(&mut self, Block { at, request }: Block, leave: Moment, result: Option<i64>) {
        self.order(at, leave);
        if let Some(request) = request {
            self.requests[request].result = result;
            self.wait_for(leave, request);
        }
    }

    /// Who sees the end of what another thread has submitted comes after that.
    fn order(&mut self, submitted: Moment, leave: Moment) {
        if submitted.point().thread != leave.point().thread && submitted.ns <= leave.ns {
            self.found.add_one(Rule::Completion, submitted, leave);
        }
    }

    fn submit_entry(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let Some(ring) = ring(seen, descriptors) else { return };
        let queue = |tracker: &mut RequestTracker| tracker.queue_of(seen.process, Kernel::Ring(ring));
        let request = self.submit(seen, touched, descriptors, queue);
        if request.is_some() {
            self.threads[seen.thread as usize].handing_over = request;
            self.linked += u64::from(seen.event.numbers[2] & SQE_IN_ORDER != 0);
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
            let point = Point { record, ..seen.leave().point() };
            self.complete(Moment::new(point, seen.returned_ns), request, seen.event.numbers[1]);
        }
    }

    /// Of aio(7).
    fn ask(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors, block: i64) {
        let process = seen.process;
        // It is over, though nobody has asked for its result.
        if let Some(over) = self.asked.remove(&(process, block)) {
            self.wait_for(seen.leave(), over);
            self.processes[process as usize].free.push(self.requests[over].queue);
        }
        let queue = |tracker: &mut RequestTracker| {
            tracker.processes[process as usize].free.pop().or_else(|| tracker.new_queue(process))
        };
        if let Some(request) = self.submit(seen, touched, descriptors, queue) {
            self.asked.insert((process, block), request);
        }
    }

    /// By a call of this thread it is known that a request of aio(7) is over. Who has waited for it before has waited there.
    fn end(&mut self, seen: &Seen<'_>, block: i64) -> Option<usize> {
        let request = *self.asked.get(&(seen.process, block))?;
        let suspended = &mut self.processes[seen.process as usize].suspended;
        let place = suspended.iter().position(|suspended| suspended.blocks.contains(&block));
        let suspended =
            place.filter(|_| !self.requests[request].awaited).and_then(|place| suspended.remove(place));
        self.wait_for(suspended.map_or(seen.leave(), |suspended| suspended.leave), request);
        Some(request)
    }

    /// `aio_suspend`, which one of these has ended.
    fn suspend(&mut self, seen: &Seen<'_>) {
        let asked = |block: &i64| self.asked.get(&(seen.process, *block)).copied();
        let is_open = |block: &i64| asked(block).is_some_and(|request| !self.requests[request].awaited);
        let blocks: Vec<i64> = seen.event.list.iter().filter(is_open).collect();
        if let &[only] = &blocks[..] {
            if let Some(request) = asked(&only) {
                self.wait_for(seen.leave(), request);
            }
            return;
        }
        let suspended = &mut self.processes[seen.process as usize].suspended;
        if suspended.len() == MOST_SUSPENDED {
            suspended.pop_front();
        }
        suspended.push_back(Suspended { leave: seen.leave(), blocks });
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
                true => self.wait_for(seen.leave(), request),
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
        self.processes[seen.process as usize].free.push(self.requests[request].queue);
    }
}

impl Visitor for RequestTracker {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        if self.has_rings {
            for &open in &touched.released {
                self.closed.insert((seen.process, open));
                self.destroy(seen, Kernel::Ring(open));
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
                if let Some(open) = touched.opened {
                    self.set_up(seen, Kernel::Ring(open));
                }
            }
            Effect::SetUpBlocks => self.set_up(seen, Kernel::Context(numbers[1])),
            Effect::DestroyBlocks => self.destroy(seen, Kernel::Context(numbers[0])),
            Effect::SubmitBlocks => {
                let thread = &mut self.threads[seen.thread as usize];
                thread.submitting = Some((seen.record, seen.start_ns, numbers[0]));
            }
            Effect::BlockEntry => self.submit_block(seen, touched, descriptors),
            Effect::AwaitBlocks => {
                let mut completed = event.list.iter();
                while let (Some(block), Some(result)) = (completed.next(), completed.next()) {
                    let key = (process, block);
                    match self.blocks.remove(&key) {
                        Some(submitted) => self.complete_block(submitted, seen.leave(), Some(result)),
                        None => drop(self.early.insert(key, Early { leave: seen.leave(), result })),
                    }
                }
            }
            Effect::AsynchronousRead | Effect::AsynchronousWrite => {
                self.ask(seen, touched, descriptors, numbers[3]);
            }
            Effect::AsynchronousSync => self.ask(seen, touched, descriptors, numbers[2]),
            Effect::AsynchronousError if event.result != i64::from(libc::EINPROGRESS) => {
                if event.result == 0 {
                    self.end(seen, numbers[1]);
                } else if let Some(&failed) = self.asked.get(&(process, numbers[1])) {
                    self.complete(seen.leave(), failed, -event.result);
                }
            }
            Effect::AsynchronousList => self.ask_for_list(seen),
            Effect::AwaitAsynchronous => self.suspend(seen),
            _ => {}
        }
    }
}
