//! Follows what all processes do to pipes and connected sockets: who put in what, took out what, waited for what, and closed
//! which end.

mod lifetimes;
mod traffic;
mod waits;

use crate::clocks::Clocks;
use crate::follow::connections::{Connections, End};
use crate::follow::datagrams::Datagrams;
use crate::follow::pass::{Seen, Visitor};
use crate::follow::ring_tracker::{Moving, RingTracker};
use crate::follow::socket_names::SocketNames;
use crate::graph::dependency::{Dependencies, Moment, Span};
use crate::rules::eventfd::Finding;
use crate::rules::pipe::{self, Opened};
use crate::rules::stream::Moved;
use lifetimes::Holder;
use std::collections::{BTreeMap, HashMap};
use syn_plan::Rule;
use syn_trace::calls::{Effect, Fact, Field};
use syn_trace::descriptors::{Descriptors, OpenId, Touched, Transfer, flags};
use syn_trace::reader::Event;
use syn_trace::{Run, record};
use traffic::{Kind, Traffic};

const F_SETPIPE_SZ: i64 = 1031;
const EFD_SEMAPHORE: i64 = 1;
const SHUT_RD: i64 = 0;
const SHUT_WR: i64 = 1;
const MSG_OOB: i64 = 1;
const MSG_PEEK: i64 = 2;
const MSG_ERRQUEUE: i64 = 0x2000;
/// `EPOLL_CTL_ADD`, `EPOLL_CTL_MOD`.
const ADDS: [i64; 2] = [1, 3];
/// `EPOLLIN`, `EPOLLHUP`, `EPOLLRDHUP`; those of `poll` are the same.
pub const READABLE: i64 = 0x2011;
const EPOLLOUT: i64 = 4;

/// A descriptor that is in a set of epoll.
#[derive(Clone, Copy, Debug)]
struct Watched {
    open: OpenId,
    /// When it was put in, or what is told of it was changed last.
    at: Moment,
    was_added: bool,
}

/// The pipes and sockets of a run. Memory: 56 bytes for each call that moves bytes through one.
#[derive(Debug)]
pub struct ChannelTracker {
    connections: Connections,
    datagrams: Datagrams,
    names: SocketNames,
    /// By process: its host, and its id there.
    processes: Vec<(usize, u32)>,
    /// By process: its parent's id.
    parents: Vec<u32>,
    /// By host and process id: when calls came back that had waited for its end.
    reaped: HashMap<(usize, u32), Vec<u64>>,
    traffic: BTreeMap<(Kind, End), Traffic>,
    /// By process: its last moment.
    last: Vec<Option<Moment>>,
    /// By process, set of epoll and what it tells.
    watched: HashMap<(u32, OpenId, i64), Watched>,
    rings: RingTracker,
    found: Dependencies,
}

impl ChannelTracker {
    /// For a run, with nothing seen yet.
    pub fn new(run: &Run, clocks: &Clocks) -> ChannelTracker {
        ChannelTracker {
            connections: Connections::default(),
            datagrams: Datagrams::default(),
            names: SocketNames::default(),
            processes: run
                .processes
                .iter()
                .map(|process| (clocks.host_of(&process.boot_id), process.pid))
                .collect(),
            parents: run.processes.iter().map(|process| process.ppid).collect(),
            reaped: HashMap::new(),
            traffic: BTreeMap::new(),
            last: vec![None; run.processes.len()],
            watched: HashMap::new(),
            rings: RingTracker::default(),
            found: Dependencies::default(),
        }
    }

    /// What an open file of a process is an end of.
    fn end_of(&self, process: u32, open: OpenId, descriptors: &Descriptors) -> Option<(Kind, End)> {
        let file = descriptors.open_file(open);
        if file.is_anonymous() {
            let (process, open) = file.twin.unwrap_or((process, open));
            let end = End { host: process as usize, named: false, device: 0, inode: u64::from(open) };
            return Some((Kind::Counter, end));
        }
        let kind = match file.st_mode & libc::S_IFMT {
            libc::S_IFIFO => Kind::Pipe,
            libc::S_IFSOCK => Kind::Socket,
            _ => return None,
        };
        let named = file.path.is_some();
        let device = if named { file.device } else { 0 };
        let host = self.processes[process as usize].0;
        (file.inode != 0).then_some((kind, End { host, named, device, inode: file.inode }))
    }

    fn at(&mut self, process: u32, open: OpenId, descriptors: &Descriptors) -> Option<&mut Traffic> {
        let end = self.end_of(process, open, descriptors)?;
        Some(self.traffic.entry(end).or_default())
    }

    /// A process has one more open file of an end, or one less.
    fn hold(&mut self, seen: &Seen<'_>, open: OpenId, descriptors: &Descriptors, closes: bool) {
        let file = descriptors.open_file(open);
        let Some((kind, end)) = self.end_of(seen.process, open, descriptors) else { return };
        let pid = self.processes[seen.process as usize].1;
        let traffic = self.traffic.entry((kind, end)).or_default();
        // Who begins with it has it from another one that had it: of a pipe without a name, from who made it.
        let mut since_ns = if file.inherited && !end.named { 0 } else { seen.start_ns };
        if kind == Kind::Pipe && end.named {
            let holder = Holder { process: seen.process, pid };
            let span = seen.span();
            match (closes, file.inherited) {
                (true, _) => traffic.lifetimes.close(holder, span),
                (false, false) => traffic.lifetimes.open(holder, span),
                (false, true) => {
                    since_ns = traffic.lifetimes.inherit(holder, self.parents[seen.process as usize], span);
                }
            }
        }
        if kind == Kind::Pipe && file.flags & flags::O_ACCMODE == 0 {
            return;
        }
        match closes {
            true => traffic.let_go(seen.process, since_ns, seen.enter()),
            false => traffic.hold(seen.process, since_ns),
        }
    }

    /// An end of a pipe with a name is opened, if the file is one.
    fn open_named_pipe(&mut self, seen: &Seen<'_>, open: OpenId, descriptors: &Descriptors) {
        let Some((Kind::Pipe, end)) = self.end_of(seen.process, open, descriptors) else { return };
        let flags = descriptors.open_file(open).flags;
        let waits = seen.may_have_slept() && flags & flags::O_NONBLOCK == 0;
        let access = flags & flags::O_ACCMODE;
        let span = seen.span();
        self.traffic.entry((Kind::Pipe, end)).or_default().opens.push(Opened { span, access, waits });
    }

    /// A counter is made.
    fn open_counter(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let Some(opened) = touched.opened else { return };
        let takes_one = seen.event.field(Field::Flags).unwrap_or(0) & EFD_SEMAPHORE != 0;
        let is_zero = seen.event.numbers[0] == 0;
        if let Some(traffic) = self.at(seen.process, opened, descriptors) {
            traffic.counter.is_emptied = is_zero && !takes_one;
        }
    }

    /// A call puts in or takes out; it took nothing out at the end.
    fn transfer(
        &mut self,
        seen: &Seen<'_>,
        open: OpenId,
        bytes: u64,
        moving: Moving,
        descriptors: &Descriptors,
    ) {
        let span = seen.span();
        self.transfer_during(seen, (span, seen.may_have_slept()), open, bytes, moving, descriptors);
    }

    fn transfer_during(
        &mut self,
        seen: &Seen<'_>,
        (span, waited): (Span, bool),
        open: OpenId,
        bytes: u64,
        moving: Moving,
        descriptors: &Descriptors,
    ) {
        let Some((kind, end)) = self.end_of(seen.process, open, descriptors) else { return };
        if let Moving::Nothing | Moving::Unknown = moving {
            let traffic = self.traffic.entry((kind, end)).or_default();
            if moving == Moving::Unknown {
                traffic.is_unknown = true;
            } else if bytes as i64 & READABLE != 0 {
                traffic.look(kind, span, waited);
            }
            return;
        }
        let units = match kind == Kind::Socket && self.connections.has_messages(end) {
            true if bytes > 0 => messages(seen.event),
            _ => bytes,
        };
        if kind == Kind::Socket
            && self.connections.has_datagrams(end)
            && self.connections.other(end).is_none()
        {
            let names_address =
                matches!(seen.event.call.effect(), Effect::SendMessage | Effect::ReceiveMessage);
            let sends = moving == Moving::In;
            let address = match (&seen.event.texts[0].bytes()[..], sends) {
                (address, true) if names_address => self.names.reached(end.host, address, descriptors),
                (address, false) if names_address => self.names.told(end.host, address),
                _ => Vec::new(),
            };
            self.datagrams.transfer(end, span, messages(seen.event), sends, &address);
            return;
        }
        let traffic = self.traffic.entry((kind, end)).or_default();
        if kind == Kind::Pipe {
            traffic.capacity.get_or_insert(pipe::CAPACITY_BYTES);
            if moving == Moving::In && units > 0 {
                let keeps = descriptors.open_file(open).flags & libc::O_DIRECT != 0;
                traffic.keep_packets(keeps);
                // Pages that move keep their sizes.
                let effect = seen.event.call.effect();
                traffic.is_unknown |=
                    keeps && matches!(effect, Effect::Transfer | Effect::Tee | Effect::MoveMemory);
            }
        }
        match (moving, units) {
            (Moving::In, 0) => {}
            (Moving::In, units) => {
                traffic.writes.push(Moved::new(span, units));
                // Of a pipe it is known how much it holds.
                if kind == Kind::Socket && seen.event.waited_inside() {
                    traffic.room.push(span);
                }
            }
            (Moving::Out, _) if kind == Kind::Counter => traffic.counter.reads.push(Finding { span, waited }),
            (_, 0) => traffic.looks.push(span),
            (_, units) => traffic.reads.push(Moved::new(span, units)),
        }
    }

    /// `send`, `recv` and their kin.
    fn transfer_messages(&mut self, seen: &Seen<'_>, open: OpenId, descriptors: &Descriptors) {
        let event = seen.event;
        let moved = event.call.has(Fact::MovesAll).then(|| event.field(Field::Bytes)).flatten();
        let bytes = moved.unwrap_or(event.result).max(0) as u64;
        match event.field(Field::Flags).unwrap_or(0) {
            flags if flags & MSG_ERRQUEUE != 0 => {}
            // The last byte may come out beside the others, or among them (tcp(7)).
            flags if flags & MSG_OOB != 0 => {
                self.transfer(seen, open, bytes, Moving::Unknown, descriptors);
            }
            flags if flags & MSG_PEEK != 0 => {
                if let Some(traffic) = self.at(seen.process, open, descriptors) {
                    traffic.looks.push(seen.span());
                }
            }
            _ => {
                let sends = event.call.effect() == Effect::SendMessage;
                let moving = if sends { Moving::In } else { Moving::Out };
                self.transfer(seen, open, bytes, moving, descriptors);
            }
        }
    }

    /// The open files that a call has found ready, and for what: of a set of epoll, whose number is what the program chose, or by
    /// their own.
    pub fn ready(
        &self,
        seen: &Seen<'_>,
        touched: &Touched,
        descriptors: &Descriptors,
        mut found: impl FnMut(OpenId, i64),
    ) {
        let mut ready = seen.event.list.iter();
        while let (Some(what), Some(how)) = (ready.next(), ready.next()) {
            let open = match touched.file {
                Some(set) => self.watched.get(&(seen.process, set, what)).map(|watched| watched.open),
                None => i32::try_from(what).ok().and_then(|fd| descriptors.descriptor(fd)),
            };
            if let Some(open) = open {
                found(open, how);
            }
        }
    }

    /// What is found ready in a set was put in before; who waited meanwhile waited for that, and may have waited for what was changed.
    fn look_at_set(&mut self, seen: &Seen<'_>, set: OpenId, descriptors: &Descriptors) {
        let span = seen.span();
        let mut ready = seen.event.list.iter();
        while let (Some(what), Some(_)) = (ready.next(), ready.next()) {
            let Some(&Watched { open, at, was_added }) = self.watched.get(&(seen.process, set, what)) else {
                continue;
            };
            if !span.is_interrupted_at(at) {
                continue;
            }
            let rule = match self.end_of(seen.process, open, descriptors) {
                Some(_) if !was_added => Rule::Contended,
                Some((Kind::Pipe, _)) => Rule::Pipe,
                Some((Kind::Socket, _)) => Rule::Socket,
                Some((Kind::Counter, _)) => Rule::Eventfd,
                None => continue,
            };
            self.found.add_one(rule, at, span.leave);
        }
    }

    /// A call has found descriptors ready.
    fn look(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let mut ready = Vec::new();
        self.ready(seen, touched, descriptors, |open, how| ready.push((open, how)));
        let (span, waited) = (seen.span(), seen.event.waited_inside());
        if let Some(set) = touched.file {
            self.look_at_set(seen, set, descriptors);
        }
        for (open, how) in ready {
            let Some(end) = self.end_of(seen.process, open, descriptors) else { continue };
            let traffic = self.traffic.entry(end).or_default();
            if how & READABLE != 0 {
                traffic.look(end.0, span, seen.may_have_slept());
            }
            if how & EPOLLOUT != 0 && waited {
                traffic.room.push(span);
            }
        }
    }

    /// The rarer calls on one open file.
    fn use_it(&mut self, seen: &Seen<'_>, open: OpenId, descriptors: &Descriptors) {
        let event = seen.event;
        let end = self.end_of(seen.process, open, descriptors);
        match (event.call.effect(), end) {
            (Effect::Shutdown, Some(end)) => {
                let (how, traffic) = (event.numbers[1], self.traffic.entry(end).or_default());
                if how != SHUT_RD {
                    traffic.shut_down.get_or_insert(seen.enter());
                }
                if how != SHUT_WR {
                    traffic.receive_no_more(seen.enter());
                }
            }
            (Effect::Control, Some((Kind::Pipe, _))) if event.numbers[1] == F_SETPIPE_SZ => {
                if let Some(traffic) = self.at(seen.process, open, descriptors) {
                    // What was written before may have had more room.
                    let is_fresh = traffic.writes.is_empty();
                    let before = if is_fresh { 0 } else { traffic.capacity.unwrap_or(pipe::CAPACITY_BYTES) };
                    traffic.capacity = Some(before.max(event.result.max(0) as u64));
                }
            }
            (Effect::WatchDescriptor, _) if ADDS.contains(&event.numbers[1]) => {
                let watched = i32::try_from(event.numbers[2]).ok().and_then(|fd| descriptors.descriptor(fd));
                if let Some(watched) = watched {
                    let was_added = event.numbers[1] == ADDS[0];
                    let watched = Watched { open: watched, at: seen.enter(), was_added };
                    self.watched.insert((seen.process, open, event.numbers[4]), watched);
                }
            }
            _ => {}
        }
    }

    /// The socket listens no more (accept(2), `EINVAL`).
    fn accept_in_vain(&mut self, seen: &Seen<'_>, descriptors: &Descriptors) {
        let listener = i32::try_from(seen.event.numbers[0]).ok().and_then(|fd| descriptors.descriptor(fd));
        if let Some(traffic) = listener.and_then(|listener| self.at(seen.process, listener, descriptors)) {
            traffic.accepts_in_vain.push(seen.span());
        }
    }

    fn follow_connection(&mut self, seen: &Seen<'_>, open: OpenId, descriptors: &Descriptors) {
        let event = seen.event;
        let end_of = |open| self.end_of(seen.process, open, descriptors).map(|(_, end)| end);
        let Some(end) = end_of(open) else { return };
        match event.call.effect() {
            Effect::OpenSocketPair => {
                let other = descriptors.open_file(open + 1).inode;
                self.connections.pair(end, End { inode: other, ..end }, event.numbers[3]);
            }
            Effect::OpenSocket => {
                self.connections.open(end, event.numbers[1]);
                if self.connections.has_datagrams(end) {
                    self.datagrams.open(end);
                }
            }
            Effect::Connect => {
                let local = self.names.told(end.host, &event.texts[0].bytes());
                let address = event.texts[1].bytes();
                if self.connections.has_datagrams(end) {
                    self.datagrams.name(end, &local, seen.start_ns);
                    self.datagrams.connect(end, &self.names.reached(end.host, &address, descriptors));
                } else {
                    let asked = self.names.asked(end.host, &address, descriptors);
                    let (_, pid) = self.processes[seen.process as usize];
                    let address = (&asked.name[..], asked.is_exact);
                    let connected = (!event.has(record::FAILED)).then(|| seen.leave());
                    self.connections.connect(end, &local, address, pid, (seen.enter(), connected));
                }
            }
            Effect::Listen => self.connections.listen(end, seen.enter()),
            Effect::BindSocket => {
                let name = self.names.bind(end, &event.texts[0].bytes(), descriptors);
                if self.connections.has_datagrams(end) {
                    self.datagrams.name(end, name, seen.start_ns);
                }
            }
            Effect::TellLocalAddress if self.connections.has_datagrams(end) => {
                let name = self.names.told(end.host, &event.texts[0].bytes());
                self.datagrams.name(end, &name, seen.start_ns);
            }
            Effect::Accept => {
                let listener = i32::try_from(event.numbers[0]).ok().and_then(|fd| descriptors.descriptor(fd));
                let listener = listener.and_then(end_of);
                let [local, peer] = [0, 1].map(|at| self.names.told(end.host, &event.texts[at].bytes()));
                let bound = listener.and_then(|listener| self.names.of_unix(listener));
                let local = bound.unwrap_or(&local);
                self.connections.accept(end, listener, (local, &peer), event.numbers[3], seen.leave());
            }
            _ => {}
        }
    }
}

/// How many messages a call on a socket that keeps them apart has moved.
fn messages(event: &Event<'_>) -> u64 {
    if event.call.has(Fact::MovesAll) { event.result.max(0) as u64 } else { 1 }
}

impl Visitor for ChannelTracker {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        self.last[seen.process as usize] = Some(seen.leave());
        let event = seen.event;
        let effect = event.call.effect();
        // Of an entry that failed it is over, and a call that failed may show completions.
        if let Effect::RingEntry | Effect::RingCompletion | Effect::AwaitRing = effect
            && let Some(done) = self.rings.see(seen, touched, descriptors)
        {
            self.transfer_during(seen, (done.span, true), done.open, done.bytes, done.moving, descriptors);
        }
        if event.has(record::FAILED) && effect != Effect::Connect {
            if effect == Effect::Accept && event.errno == libc::EINVAL {
                self.accept_in_vain(seen, descriptors);
            }
            return;
        }
        if let Some(opened) = touched.opened {
            self.hold(seen, opened, descriptors, false);
            if matches!(effect, Effect::Open | Effect::OpenStream) {
                self.open_named_pipe(seen, opened, descriptors);
            }
            if matches!(effect, Effect::Pipe | Effect::OpenSocketPair) {
                self.hold(seen, opened + 1, descriptors, false);
            }
        }
        for &released in &touched.released {
            self.hold(seen, released, descriptors, true);
        }
        let moved = event.result.max(0) as u64;
        match (effect, touched.file) {
            (Effect::Read(_), Some(open)) => self.transfer(seen, open, moved, Moving::Out, descriptors),
            (Effect::Write(_), Some(open)) => self.transfer(seen, open, moved, Moving::In, descriptors),
            (Effect::SendMessage | Effect::ReceiveMessage, Some(open)) => {
                self.transfer_messages(seen, open, descriptors);
            }
            (Effect::MoveMemory, Some(open)) => {
                let is_read = descriptors.open_file(open).flags & flags::O_ACCMODE == 0;
                let moving = if is_read { Moving::Out } else { Moving::In };
                self.transfer(seen, open, moved, moving, descriptors);
            }
            (Effect::Transfer | Effect::Tee, _) => {
                let bytes = Transfer::of(event).map_or(moved, |transfer| transfer.bytes);
                if let Some(open) = touched.file {
                    if effect == Effect::Transfer {
                        self.transfer(seen, open, bytes, Moving::Out, descriptors);
                    } else if let Some(from) = self.at(seen.process, open, descriptors) {
                        // What it has seen stays there.
                        from.looks.push(seen.span());
                    }
                }
                if let Some(open) = touched.second_file {
                    self.transfer(seen, open, bytes, Moving::In, descriptors);
                    // From a file it waits for room alone.
                    let from = touched.file.and_then(|open| self.end_of(seen.process, open, descriptors));
                    if bytes > 0 && seen.may_have_slept() && from.is_some() {
                        let last =
                            self.at(seen.process, open, descriptors).and_then(|to| to.writes.last_mut());
                        last.into_iter().for_each(|write| write.passes_on = true);
                    }
                }
            }
            (Effect::AwaitProcess, _) => {
                if let Some(pid) = u32::try_from(event.result).ok().filter(|&pid| pid > 0) {
                    let (host, _) = self.processes[seen.process as usize];
                    self.reaped.entry((host, pid)).or_default().push(seen.returned_ns);
                }
            }
            (Effect::AwaitReadiness, _) => self.look(seen, touched, descriptors),
            (Effect::Rename, _) => {
                if let (Some(from), Some(to)) = (&touched.path, &touched.second_path) {
                    self.names.rename(self.processes[seen.process as usize].0, from, to);
                }
            }
            (Effect::OpenCounter, _) => self.open_counter(seen, touched, descriptors),
            (
                Effect::OpenSocket
                | Effect::OpenSocketPair
                | Effect::Connect
                | Effect::Accept
                | Effect::BindSocket
                | Effect::Listen
                | Effect::TellLocalAddress,
                Some(open),
            ) => self.follow_connection(seen, open, descriptors),
            (Effect::Shutdown | Effect::Control | Effect::WatchDescriptor, Some(open)) => {
                self.use_it(seen, open, descriptors);
            }
            _ => {}
        }
    }
}
