//! Who made which process and thread, and who waited for their ends: the facts, as they go by.

use crate::clocks::Clocks;
use crate::follow::pass::{Seen, Visitor};
use crate::follow::scope::Scope;
use crate::graph::dependency::{Moment, Point, Stage};
use std::collections::{BTreeSet, HashMap, HashSet};
use syn_trace::calls::{Effect, Fact};
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::{Call, Layer, Run, header, record};

/// A process image that has at least one event.
#[derive(Clone, Debug)]
pub struct Image {
    /// Its start.
    pub first: Moment,
    /// Its last event.
    pub last: Moment,
    /// Its call of `execve`, if that did not fail.
    pub exec: Option<Moment>,
    /// CPU time of the children whose end this image and those before it have seen, nanoseconds.
    pub children_ns: u64,
    /// The last event of its parent before its own first one: which process, when.
    pub parent_before: Option<(u32, Moment)>,
}

/// The clocks of processes of one host are apart by far less, nanoseconds.
const APART_NS: u64 = 1_000_000;

/// Whether a process or thread whose last moment was `last` may be the one of which a call said at `told` that it had ended.
pub fn may_be_over(last: Moment, told: Moment) -> bool {
    last.ns <= told.ns.saturating_add(APART_NS)
}

/// How a process was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// By a call that tells the new process's id.
    Returned(u32),
    /// By `system`, which returned then.
    System(u64),
    /// By `popen`, whose stream has this descriptor.
    Popen(i64),
}

/// A call that created a process.
#[derive(Clone, Copy, Debug)]
pub struct Creation {
    /// How.
    pub how: How,
    /// Index of the process that made the call.
    pub process: u32,
    /// When.
    pub enter: Moment,
    /// When it returned, if not before the new process had become another program, or had ended.
    pub awaited_exec: Option<Moment>,
}

/// Whose end a call waited for.
#[derive(Clone, Copy, Debug)]
pub enum Whom {
    /// This process id.
    Process(u32),
    /// Every child that started since then.
    ChildrenSince(u64),
    /// The child at the other end of this stream of `popen`.
    Stream(i64),
}

/// A call that saw processes end.
#[derive(Clone, Copy, Debug)]
pub struct Join {
    /// Whose end.
    pub whom: Whom,
    /// Index of the process that made the call.
    pub process: u32,
    /// When it returned.
    pub leave: Moment,
    /// The signal that ended them, if it says.
    pub signal: Option<i64>,
    /// It slept until they had ended.
    pub waited: bool,
    /// CPU time that the kernel counted for them, and for those whose end they saw, nanoseconds.
    pub used_ns: Option<u64>,
}

/// A call that sent a signal to a process, or to a group of them.
#[derive(Clone, Copy, Debug)]
pub struct Kill {
    /// The host of who sent it.
    pub host: usize,
    /// The process; `None` for a group: who is in it is not on record.
    pub pid: Option<u32>,
    /// Which.
    pub signal: i64,
    /// Index of the process that sent it.
    pub process: u32,
    /// When it was sent.
    pub enter: Moment,
    /// When the call returned.
    pub leave_ns: u64,
    /// The group, by the id of its leader, if the call names one.
    pub group: Option<u32>,
}

/// A thread other than the first of its process.
#[derive(Clone, Copy, Debug)]
pub struct FurtherThread {
    /// Index of its process.
    pub process: u32,
    /// Its `pthread_t`, if its first record said.
    pub handle: Option<i64>,
    /// The id of the thread that has created it, if its first record said.
    pub creator: Option<i64>,
    /// Its start.
    pub first: Moment,
    /// Its last event.
    pub last: Moment,
    /// The last event of its process before its own first one.
    pub process_before: Option<Moment>,
}

/// On whose behalf a call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// The application's own.
    Application,
    /// A library's, inside a call that is not MPI's: an allocator, a resolver, the constructor of a loaded library.
    Library,
    /// A library's, inside a call of MPI.
    Mpi,
    /// The C library's, for the requests of aio(7).
    Requests,
}

/// What a thread did, as far as it tells whether the application can do without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deeds {
    /// No call is on record.
    #[default]
    Nothing,
    /// Calls, none of them on files of a plan and none of MPI.
    Calls,
    /// I/O on files, or MPI.
    Work,
}

/// A call that names a thread: `pthread_create` when entered, `pthread_join` when returned.
#[derive(Clone, Copy, Debug)]
pub struct ThreadCall {
    /// On whose behalf.
    pub maker: Maker,
    /// Index of the process.
    pub process: u32,
    /// The `pthread_t`.
    pub handle: i64,
    /// When.
    pub at: Moment,
}

/// The facts of a run. Memory: about 100 bytes for each process, thread, and call that creates, ends or joins one.
#[derive(Debug)]
pub struct ProcessTree {
    /// By index of the process; `None` for one without events.
    pub images: Vec<Option<Image>>,
    /// Process creations by time of return.
    pub creations: Vec<Creation>,
    /// Waits by time of return.
    pub joins: Vec<Join>,
    /// Signals that were sent, by time of return.
    pub kills: Vec<Kill>,
    /// By index of the thread.
    pub threads: Vec<Option<FurtherThread>>,
    /// Thread creations by time of return.
    pub thread_creations: Vec<ThreadCall>,
    /// Joins by time of return.
    pub thread_joins: Vec<ThreadCall>,
    /// By index of the thread: its id.
    pub thread_ids: Vec<u32>,
    /// By index of the thread.
    pub deeds: Vec<Deeds>,
    /// By index of the thread: whether a call of its own is on record, and not only such as libc makes inside of others.
    pub makes_calls: Vec<bool>,
    /// The files on which I/O is the application's. Those of MPI never are: it is asked of threads that MPI has made.
    scope: Scope,
    /// By index of the thread: the calls under way inside which something is on record, the outermost first.
    under_way: Vec<Vec<Call>>,
    /// Host, pid and parent's pid of every process.
    identity: Vec<(usize, u32, u32)>,
    launchers: Vec<bool>,
    thread_start_ns: Vec<u64>,
    /// By index of the thread.
    from_outside: Vec<bool>,
    latest_image: HashMap<(usize, u32), u32>,
    /// Children of `vfork` that could not become a program, by host and process id: they ended without a trace.
    became_nothing: HashSet<(usize, u32)>,
}

impl ProcessTree {
    /// For a run, with nothing seen yet.
    pub fn new(run: &Run, clocks: &Clocks) -> ProcessTree {
        let start_ns = |(index, thread): (usize, &syn_trace::run::Thread)| {
            clocks.ns(index, thread.clock.start_ns.max(0.0) as u64)
        };
        ProcessTree {
            images: vec![None; run.processes.len()],
            creations: Vec::new(),
            joins: Vec::new(),
            kills: Vec::new(),
            threads: vec![None; run.threads.len()],
            thread_creations: Vec::new(),
            thread_joins: Vec::new(),
            thread_ids: run.threads.iter().map(syn_trace::run::Thread::tid).collect(),
            deeds: vec![Deeds::default(); run.threads.len()],
            makes_calls: vec![false; run.threads.len()],
            scope: Scope { has_mpi: true, ..Scope::default() },
            under_way: vec![Vec::new(); run.threads.len()],
            identity: run
                .processes
                .iter()
                .map(|process| (clocks.host_of(&process.boot_id), process.pid, process.ppid))
                .collect(),
            launchers: run.processes.iter().map(|process| process.process_only).collect(),
            thread_start_ns: run.threads.iter().enumerate().map(start_ns).collect(),
            from_outside: run.threads.iter().map(|thread| thread.has_capability(header::BY_PTRACE)).collect(),
            latest_image: HashMap::new(),
            became_nothing: HashSet::new(),
        }
    }

    /// Host and id of a process.
    pub fn host_and_pid(&self, process: u32) -> (usize, u32) {
        let (host, pid, _) = self.identity[process as usize];
        (host, pid)
    }

    /// Host of a process and id of its parent.
    pub fn host_and_parent(&self, process: u32) -> (usize, u32) {
        let (host, _, ppid) = self.identity[process as usize];
        (host, ppid)
    }

    /// True for launchers and programs left out by choice, which are not part of a plan.
    pub fn is_launcher(&self, process: u32) -> bool {
        self.launchers[process as usize]
    }

    /// True for a thread that was recorded from outside: what a process does before it becomes another program is on record.
    pub fn is_from_outside(&self, thread: u32) -> bool {
        self.from_outside[thread as usize]
    }

    /// The ids of processes that were started, or that became another program, of which the run has no trace from then on. (A process
    /// whose parent is in another PID namespace knows itself by another id: each is taken for one of these.)
    pub fn without_trace(&self) -> Vec<u32> {
        let seen: HashSet<(usize, u32)> = self.identity.iter().map(|&(host, pid, _)| (host, pid)).collect();
        let on_host = |process: u32, pid: u32| (self.host_and_pid(process).0, pid);
        let started = self.creations.iter().filter_map(|creation| match creation.how {
            How::Returned(pid) => Some(on_host(creation.process, pid)),
            How::System(_) | How::Popen(_) => None,
        });
        let is_missing =
            |started: &(usize, u32)| !seen.contains(started) && !self.became_nothing.contains(started);
        let mut missing: BTreeSet<(usize, u32)> = started.filter(is_missing).collect();
        // The first process may have been started from outside, too.
        let apart = self.identity.iter().skip(1).filter(|&&(_, _, ppid)| ppid == 0).count();
        for _ in 0..apart {
            missing.pop_last();
        }
        let latest = self.latest_image.iter().filter(|&(_, &process)| {
            self.images[process as usize].as_ref().is_some_and(|image| image.exec.is_some())
        });
        missing.extend(latest.map(|(&host_and_pid, _)| host_and_pid));
        missing.into_iter().map(|(_, pid)| pid).collect()
    }

    /// Every thread with events that is not the first of its process.
    pub fn further_threads(&self) -> impl Iterator<Item = &FurtherThread> {
        self.threads.iter().flatten()
    }

    /// Keeps the books on who was there first and last.
    fn live(&mut self, seen: &Seen<'_>) {
        let point = Point { thread: seen.thread, record: 0, stage: Stage::Around };
        let first = Moment::new(point, self.thread_start_ns[seen.thread as usize]);
        let last = seen.leave();
        let process_before = match &mut self.images[seen.process as usize] {
            Some(image) => Some(std::mem::replace(&mut image.last, last)),
            None => {
                self.arrive(seen, first, last);
                None
            }
        };
        match &mut self.threads[seen.thread as usize] {
            Some(thread) => thread.last = last,
            // The first thread of a process has nothing of its process before it.
            none if seen.record == 0 && process_before.is_some() => {
                let told = |number: usize| {
                    (seen.event.call == Call::ThreadStart).then_some(seen.event.numbers[number])
                };
                let (handle, creator) = (told(0), told(1).filter(|&creator| creator > 0));
                let process = seen.process;
                *none = Some(FurtherThread { process, handle, creator, first, last, process_before });
            }
            None => {}
        }
    }

    fn arrive(&mut self, seen: &Seen<'_>, first: Moment, last: Moment) {
        let (host, pid, ppid) = self.identity[seen.process as usize];
        let parent = self.latest_image.get(&(host, ppid)).copied();
        // What becomes another program keeps what its children have used.
        let before =
            self.latest_image.get(&(host, pid)).and_then(|&before| self.images[before as usize].as_ref());
        let children_ns =
            before.filter(|before| before.exec.is_some()).map_or(0, |before| before.children_ns);
        let parent_before = parent.and_then(|parent| {
            let image = self.images[parent as usize].as_ref()?;
            Some((parent, image.last))
        });
        self.latest_image.insert((host, pid), seen.process);
        self.images[seen.process as usize] =
            Some(Image { first, last, exec: None, children_ns, parent_before });
    }

    /// Keeps the list of the calls under way. Number 0 of a `call-entered` says that all of them were left by a jump.
    fn follow_entries(&mut self, seen: &Seen<'_>) {
        let under_way = &mut self.under_way[seen.thread as usize];
        let event = seen.event;
        if event.call == Call::Entered {
            match Call::from_id(event.numbers[0] as u64) {
                Some(call) => under_way.push(call),
                None => under_way.clear(),
            }
        } else if !event.has(record::INNER) && !event.call.has(Fact::Note) && event.call != Call::Repeats {
            under_way.clear();
        } else if let Some(at) = under_way.iter().rposition(|&call| call == event.call) {
            under_way.truncate(at);
        }
    }

    fn maker(&self, seen: &Seen<'_>) -> Maker {
        let around = || self.under_way[seen.thread as usize].iter();
        match seen.event.has(record::INNER) {
            false => Maker::Application,
            true if around().any(|call| call.layer().is_mpi()) => Maker::Mpi,
            true if around().any(|call| call.layer() == Layer::Aio) => Maker::Requests,
            true => Maker::Library,
        }
    }

    fn judge(&mut self, seen: &Seen<'_>, touched: &Touched) {
        let deeds = &mut self.deeds[seen.thread as usize];
        let call = seen.event.call;
        let is_call = !call.has(Fact::Note) && !matches!(call, Call::ThreadStart | Call::ThreadEnd);
        self.makes_calls[seen.thread as usize] |= is_call && !seen.event.has(record::INNER);
        if *deeds == Deeds::Work || !is_call {
            return;
        }
        let on_file = touched.path.as_deref().is_some_and(|path| self.scope.contains(path));
        let works = call.layer().is_mpi() || on_file && touched.peer.is_none();
        *deeds = (*deeds).max(if works { Deeds::Work } else { Deeds::Calls });
    }

    fn create(&mut self, seen: &Seen<'_>, how: How) {
        let event = seen.event;
        let stands_still = || event.numbers[0] & i64::from(libc::CLONE_VFORK) != 0;
        let awaits_exec =
            event.call.has(Fact::AwaitsExec) || event.call.effect() == Effect::Clone && stands_still();
        let awaited_exec = awaits_exec.then(|| seen.leave());
        self.creations.push(Creation { how, process: seen.process, enter: seen.enter(), awaited_exec });
    }

    /// In the child `fork` returns 0: nothing was created there.
    fn create_by_pid(&mut self, seen: &Seen<'_>, pid: i64) {
        if let Some(pid) = u32::try_from(pid).ok().filter(|&pid| pid > 0) {
            self.create(seen, How::Returned(pid));
        }
    }

    fn join_by_pid(&mut self, seen: &Seen<'_>, pid: i64, status: i64) {
        if let Some(pid) = u32::try_from(pid).ok().filter(|&pid| pid > 0) {
            self.join(seen, Whom::Process(pid), status);
        }
    }

    fn join(&mut self, seen: &Seen<'_>, whom: Whom, status: i64) {
        let signal = Some(status & 0x7f).filter(|&signal| signal != 0);
        let leave = seen.leave();
        let waited = seen.event.waited_inside();
        self.joins.push(Join { whom, process: seen.process, leave, signal, waited, used_ns: None });
    }

    /// The children whose end the process has seen have used so much in all: what is more than before, those of the record before.
    fn used_by_children(&mut self, seen: &Seen<'_>, all_ns: u64) {
        let Some(image) = &mut self.images[seen.process as usize] else { return };
        let before_ns = image.children_ns;
        image.children_ns = all_ns.max(before_ns);
        let is_its = |join: &&mut Join| {
            let Point { thread, record, .. } = join.leave.point();
            thread == seen.thread && record + 1 == seen.record
        };
        if let Some(join) = self.joins.iter_mut().rev().take(LATEST_JOINS).find(is_its) {
            join.used_ns = Some(all_ns.saturating_sub(before_ns));
        }
    }

    fn kill(&mut self, seen: &Seen<'_>, pid: i64, signal: i64) {
        let (host, _) = self.host_and_pid(seen.process);
        let positive = |pid: i64| u32::try_from(pid).ok().filter(|&pid| pid > 0);
        // kill(2): -1 is everybody.
        let (pid, group) = (positive(pid), positive(pid.wrapping_neg()).filter(|&leader| leader > 1));
        let (enter, leave_ns) = (seen.enter(), seen.leave().ns);
        self.kills.push(Kill { host, pid, group, signal, process: seen.process, enter, leave_ns });
    }
}

/// Between a call and what is told of it, no more calls of other threads that see processes end.
const LATEST_JOINS: usize = 64;

/// `wait(2)`: neither stopped nor continued. The low seven bits are the signal that ended a process.
fn has_ended(status: i64) -> bool {
    status & 0x7f != 0x7f
}

impl Visitor for ProcessTree {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, _: &Descriptors) {
        self.live(seen);
        self.judge(seen, touched);
        let maker = self.maker(seen);
        self.follow_entries(seen);
        let event = seen.event;
        let effect = event.call.effect();
        if event.has(record::FAILED) && effect != Effect::Exec {
            if effect == Effect::ChildExec {
                let (host, _) = self.host_and_pid(seen.process);
                self.became_nothing.extend(u32::try_from(event.numbers[0]).map(|pid| (host, pid)));
            }
            return;
        }
        let thread = |at| ThreadCall { maker, process: seen.process, handle: event.numbers[0], at };
        match effect {
            Effect::Fork => self.create_by_pid(seen, event.result),
            // What a recorder from outside sees of `pthread_create`: there, a thread's id is its handle.
            Effect::Clone if event.numbers[0] & i64::from(libc::CLONE_THREAD) != 0 => {
                let created = ThreadCall { handle: event.result, ..thread(seen.enter()) };
                self.thread_creations.push(created);
            }
            Effect::Clone => self.create_by_pid(seen, event.result),
            Effect::Spawn if event.result == 0 => self.create_by_pid(seen, event.numbers[0]),
            Effect::OpenProcessStream => self.create(seen, How::Popen(event.numbers[0])),
            Effect::RunCommand => {
                self.create(seen, How::System(seen.end_ns));
                self.join(seen, Whom::ChildrenSince(seen.start_ns), 0);
            }
            Effect::CloseProcessStream => self.join(seen, Whom::Stream(event.numbers[0]), 0),
            Effect::AwaitProcess if has_ended(event.numbers[1]) => {
                self.join_by_pid(seen, event.result, event.numbers[1])
            }
            Effect::UsedByChildren => self.used_by_children(seen, event.numbers[0].max(0) as u64),
            Effect::SendSignal => self.kill(seen, event.numbers[0], event.numbers[1]),
            Effect::AwaitProcessById => {
                let ends = event.numbers[2] & i64::from(libc::WEXITED) != 0;
                if ends && event.numbers[0] != i64::from(libc::P_PIDFD) {
                    self.join_by_pid(seen, event.numbers[1], 0);
                }
            }
            Effect::Exec => {
                if let Some(image) = &mut self.images[seen.process as usize] {
                    image.exec = event.has(record::BEGAN).then(|| seen.enter());
                }
            }
            Effect::CreateThread if event.result == 0 => self.thread_creations.push(thread(seen.enter())),
            Effect::JoinThread if event.result == 0 => self.thread_joins.push(thread(seen.leave())),
            _ => {}
        }
    }
}
