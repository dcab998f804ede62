//! Dependencies between programs: which rule found each, and why it is believed.

use crate::CallId;
use serde::{Deserialize, Serialize};

/// Why one thread waits for another: the rule that found the dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Rule {
    /// A process starts after the call that created it.
    ProcessCreate,
    /// A wait for a process returns after the process ended.
    ProcessJoin,
    /// A thread starts after the call that created it.
    ThreadCreate,
    /// A join returns after the thread ended.
    ThreadJoin,
    /// A receive completes after its send started.
    Message,
    /// A send of a long message completes after its receive was posted.
    Rendezvous,
    /// A collective completes as its kind demands.
    Collective,
    /// A name is found, or not, after the call that made it so, and before the next that changes it; an open file that threads
    /// share is used after its open, and closed after its uses.
    FileCreate,
    /// Bytes are read after they were written; a call at a position that threads share comes after the one before it.
    FileData,
    /// A mutex is taken after it was given back.
    Mutex,
    /// A read-write lock is taken after those who held it have given it back.
    Rwlock,
    /// A wait for a condition ends after the signal that ended it.
    Condition,
    /// A barrier lets nobody through before all have come.
    Barrier,
    /// A semaphore is taken after the post that let it.
    Semaphore,
    /// A wait for a futex ends after the wake that ended it.
    Futex,
    /// Bytes are taken out of a pipe after they were put in, and put in after there was room; its end is seen after the last writer has closed it.
    Pipe,
    /// Bytes of a connection, and messages, are received after they were sent; a connection is accepted after it was asked for.
    Socket,
    /// A counter of `eventfd` is read, or seen to be there, after it was added to.
    Eventfd,
    /// A signal arrives after it was sent.
    Signal,
    /// A file is locked after the lock that was waited for was given back.
    FileLock,
    /// Semaphores of System V are changed after what they waited for, and messages of queues received after they were sent.
    Ipc,
    /// A thread got no further while another one was held before a call, and went on after that call.
    Throttled,
    /// An epoch of a window is opened or closed after the others have come to it.
    Epoch,
    /// A sender that waited for room goes on after the receive at the other end that made some.
    Room,
    /// A thread waited until its process ended, and the end ended it: no dependency, but a part of the time balance.
    ProcessEnd,
    /// Who slept at one end of a pseudoterminal goes on after a write at the other end.
    Terminal,
    /// A call that made a process returns after that has become another program, or has ended: `vfork`, `posix_spawn`.
    ProcessExec,
    /// The same as `Pipe`, `Socket`, `Ipc` or `Barrier`, where calls of several threads overlap and which of them belong together is what the
    /// recording suggests.
    Contended,
    /// A wait for completions of asynchronous I/O ends after another thread submitted what it sees to be complete.
    Completion,
    /// Who slept again and again, as to look each time, goes on after another thread that was at work until then has stopped.
    Poll,
}

impl Rule {
    /// True for what a library for messages waits for; the rest waits in the kernel.
    pub const fn is_message(self) -> bool {
        matches!(self, Rule::Message | Rule::Rendezvous | Rule::Collective | Rule::Epoch)
    }

    /// True for what a library may wait for at work: messages, and locks and the like, before it goes to sleep for these.
    pub const fn may_spin(self) -> bool {
        let locks = matches!(
            self,
            Rule::Mutex | Rule::Rwlock | Rule::Condition | Rule::Barrier | Rule::Semaphore | Rule::Futex
        );
        self.is_message() || locks
    }

    /// True for what a thread waits for before its own time begins.
    pub const fn starts_a_thread(self) -> bool {
        matches!(self, Rule::ProcessCreate | Rule::ThreadCreate)
    }

    /// Every rule.
    pub const ALL: [Rule; 30] = [
        Rule::ProcessCreate,
        Rule::ProcessJoin,
        Rule::ThreadCreate,
        Rule::ThreadJoin,
        Rule::Message,
        Rule::Rendezvous,
        Rule::Collective,
        Rule::FileCreate,
        Rule::FileData,
        Rule::Mutex,
        Rule::Rwlock,
        Rule::Condition,
        Rule::Barrier,
        Rule::Semaphore,
        Rule::Futex,
        Rule::Pipe,
        Rule::Socket,
        Rule::Eventfd,
        Rule::Signal,
        Rule::FileLock,
        Rule::Ipc,
        Rule::Throttled,
        Rule::Epoch,
        Rule::Room,
        Rule::ProcessEnd,
        Rule::Terminal,
        Rule::ProcessExec,
        Rule::Contended,
        Rule::Completion,
        Rule::Poll,
    ];
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::ProcessCreate => "process-create",
            Rule::ProcessJoin => "process-join",
            Rule::ThreadCreate => "thread-create",
            Rule::ThreadJoin => "thread-join",
            Rule::Message => "message",
            Rule::Rendezvous => "rendezvous",
            Rule::Collective => "collective",
            Rule::FileCreate => "file-create",
            Rule::FileData => "file-data",
            Rule::Mutex => "mutex",
            Rule::Rwlock => "rwlock",
            Rule::Condition => "condition",
            Rule::Barrier => "barrier",
            Rule::Semaphore => "semaphore",
            Rule::Futex => "futex",
            Rule::Pipe => "pipe",
            Rule::Socket => "socket",
            Rule::Eventfd => "eventfd",
            Rule::Signal => "signal",
            Rule::FileLock => "file-lock",
            Rule::Ipc => "ipc",
            Rule::Throttled => "throttled",
            Rule::Epoch => "epoch",
            Rule::Room => "room",
            Rule::ProcessEnd => "process-end",
            Rule::Terminal => "terminal",
            Rule::ProcessExec => "process-exec",
            Rule::Contended => "contended",
            Rule::Completion => "completion",
            Rule::Poll => "poll",
        }
    }

    /// What its dependencies hold by. What the kernel, libc or a standard orders is certain; that a name was found because of the
    /// call before it, or bytes read because of the write before, or that one thread got a lock after another, is what the
    /// recording shows.
    pub const fn guarantee(self) -> Guarantee {
        match self {
            Rule::ProcessCreate
            | Rule::ProcessJoin
            | Rule::ThreadCreate
            | Rule::ThreadJoin
            | Rule::Message
            | Rule::Collective
            | Rule::Barrier
            | Rule::Pipe
            | Rule::Socket
            | Rule::ProcessEnd
            | Rule::ProcessExec
            | Rule::Completion => Guarantee::Certain,
            Rule::Rendezvous
            | Rule::FileCreate
            | Rule::FileData
            | Rule::Mutex
            | Rule::Rwlock
            | Rule::Condition
            | Rule::Semaphore
            | Rule::Futex
            | Rule::Eventfd
            | Rule::Signal
            | Rule::FileLock
            | Rule::Ipc
            | Rule::Throttled
            | Rule::Epoch
            | Rule::Room
            | Rule::Terminal
            | Rule::Contended
            | Rule::Poll => Guarantee::Observed,
        }
    }
}

impl Guarantee {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Guarantee::Certain => "certain",
            Guarantee::Observed => "observed",
        }
    }
}

/// What a dependency holds by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guarantee {
    /// The kernel or a standard says so: it holds in every run.
    #[default]
    Certain,
    /// It held in the recording, and may not in another one.
    Observed,
}

/// One dependency, as a counter; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Which rule found it.
    pub rule: Rule,
    /// How many signals it gets in all; no wait may ask for more.
    pub signals: u32,
    /// Why it is believed.
    pub evidence: Evidence,
}

impl Edge {
    /// Found by `rule` in the only run, with so many signals.
    pub fn new(rule: Rule, signals: u32) -> Edge {
        Edge { rule, signals, evidence: Evidence { guarantee: rule.guarantee(), ..Evidence::default() } }
    }
}

/// Why a dependency is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What it holds by.
    pub guarantee: Guarantee,
    /// In how many of the merged runs it was seen.
    pub seen: u16,
    /// In how many it could have been.
    pub possible: u16,
    /// The call that signals it first; `None` where that is not known.
    pub signalled_in: Option<CallId>,
    /// The call that waits for it first.
    pub awaited_in: Option<CallId>,
}

impl Default for Evidence {
    fn default() -> Evidence {
        Evidence { guarantee: Guarantee::Certain, seen: 1, possible: 1, signalled_in: None, awaited_in: None }
    }
}
