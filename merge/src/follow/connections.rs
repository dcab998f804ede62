//! Which two sockets are the ends of one connection: made as a pair, or by `connect` and `accept`. Over TCP the addresses at
//! both ends tell (also on two hosts), over a Unix socket its name and the process that asks.

use crate::graph::dependency::{Dependencies, Moment, Span};
use crate::rules::socket;
use std::collections::{HashMap, HashSet, VecDeque};

const SOCK_STREAM: i64 = 1;
const SOCK_SEQPACKET: i64 = 5;
/// `SOCK_NONBLOCK` and `SOCK_CLOEXEC` stand beside the type.
const TYPE: i64 = 0xf;

/// A pipe or socket: no two of a host have one inode at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// Which host.
    pub host: usize,
    /// It lies in a file system: its inode is that of a file.
    pub named: bool,
    /// The device of that file system; 0 for others.
    pub device: u32,
    /// Its inode.
    pub inode: u64,
}

/// What both sides know of a connection: its host unless it may go to another one, the address that was asked for, and who
/// asked.
type Name = (Option<usize>, Vec<u8>, Vec<u8>);

/// A connection that was asked for, and of which nobody has seen yet who accepts it.
#[derive(Debug)]
struct Asked {
    end: End,
    /// For this very name.
    is_exact: bool,
    at: Moment,
    /// When it was there, unless it was made in the background.
    connected: Option<Moment>,
}

/// One that was accepted, and of which nobody has seen yet who asked for it.
#[derive(Debug)]
struct Accepted {
    end: End,
    listener: Option<End>,
    /// Since when that listens.
    listening: Option<Moment>,
    at: Moment,
}

/// The connections of a run.
#[derive(Debug, Default)]
pub struct Connections {
    others: HashMap<End, End>,
    /// Sockets that keep messages apart.
    messages: HashSet<End>,
    /// Those of them that have connections.
    packets: HashSet<End>,
    /// Sockets that asked for a connection over a network, be it within their host.
    networked: HashSet<End>,
    /// Sockets that listen, and since when.
    listening: HashMap<End, Moment>,
    asked: HashMap<Name, VecDeque<Asked>>,
    accepted: HashMap<Name, VecDeque<Accepted>>,
    /// Since when a socket had listened, and when a connection to it was asked for, or made.
    listened: Vec<(Moment, Moment)>,
    /// By listening socket: when each of its connections was asked for, and accepted.
    listeners: HashMap<End, Vec<(Moment, Moment)>>,
}

impl Connections {
    /// The other end.
    pub fn other(&self, end: End) -> Option<End> {
        self.others.get(&end).copied()
    }

    /// Whether it moves messages, and not a stream of bytes.
    pub fn has_messages(&self, end: End) -> bool {
        self.messages.contains(&end)
    }

    /// Whether what goes to the other end goes over a network, be it within the host.
    pub fn is_networked(&self, end: End) -> bool {
        let asked = |end: End| self.networked.contains(&end);
        asked(end) || self.other(end).is_some_and(asked)
    }

    /// Whether it sends and receives by address.
    pub fn has_datagrams(&self, end: End) -> bool {
        self.has_messages(end) && !self.packets.contains(&end)
    }

    /// A socket was made. An inode may have been another's before.
    pub fn open(&mut self, end: End, kind: i64) {
        self.others.remove(&end);
        self.networked.remove(&end);
        self.listening.remove(&end);
        self.set_kind(end, kind & TYPE != SOCK_STREAM, kind & TYPE == SOCK_SEQPACKET);
    }

    fn set_kind(&mut self, end: End, has_messages: bool, has_packets: bool) {
        for (all, is_one) in [(&mut self.messages, has_messages), (&mut self.packets, has_packets)] {
            if is_one {
                all.insert(end);
            } else {
                all.remove(&end);
            }
        }
    }

    /// `socketpair` made both.
    pub fn pair(&mut self, one: End, two: End, kind: i64) {
        self.open(one, kind);
        self.open(two, kind);
        self.join(one, two);
    }

    fn join(&mut self, one: End, two: End) {
        self.others.insert(one, two);
        self.others.insert(two, one);
    }

    /// `listen`; again, for another number of connections that may wait.
    pub fn listen(&mut self, end: End, at: Moment) {
        self.listening.entry(end).or_insert(at);
    }

    /// `connect` from `local` by process `pid`, also one that goes on in the background: not `connected` yet. `is_exact`: to this very
    /// name.
    pub fn connect(
        &mut self,
        end: End,
        local: &[u8],
        (address, is_exact): (&[u8], bool),
        pid: u32,
        (at, connected): (Moment, Option<Moment>),
    ) {
        if local.is_empty() || self.has_datagrams(end) {
            return;
        }
        if address.starts_with(b"inet") {
            self.networked.insert(end);
        }
        let name = name(end.host, address, local, i64::from(pid));
        let side = Asked { end, is_exact, at, connected };
        match self.accepted.get_mut(&name).and_then(VecDeque::pop_front) {
            Some(accepted) => self.connected(side, accepted),
            None => self.asked.entry(name).or_default().push_back(side),
        }
    }

    /// `accept` made `end` of a connection from `peer`, or from a process, to `listener`.
    pub fn accept(
        &mut self,
        end: End,
        listener: Option<End>,
        (local, peer): (&[u8], &[u8]),
        pid: i64,
        at: Moment,
    ) {
        self.others.remove(&end);
        let has_packets = listener.is_some_and(|listener| self.packets.contains(&listener));
        self.set_kind(end, has_packets, has_packets);
        let name = name(end.host, local, peer, pid);
        let listening = listener.and_then(|listener| self.listening.get(&listener).copied());
        let side = Accepted { end, listener, listening, at };
        let first = |asked: &mut VecDeque<Asked>| {
            // What was asked of one that listened there before, and was never accepted, went with it.
            let is_gone = |side: &Asked| {
                side.connected
                    .zip(listening)
                    .is_some_and(|(connected, listening)| connected.ns < listening.ns)
            };
            while asked.front().is_some_and(is_gone) {
                asked.pop_front();
            }
            let exact = asked.iter().position(|side| side.is_exact);
            asked.remove(exact.unwrap_or(0))
        };
        match self.asked.get_mut(&name).and_then(first) {
            Some(asked) => self.connected(asked, side),
            None => self.accepted.entry(name).or_default().push_back(side),
        }
    }

    fn connected(&mut self, asked: Asked, accepted: Accepted) {
        self.join(asked.end, accepted.end);
        if let Some(listening) = accepted.listening {
            // Refused connections are asked for again: what succeeds was entered behind it, if it was not under way.
            let is_behind = listening.ns <= asked.at.ns;
            let connected = if is_behind { Some(asked.at) } else { asked.connected };
            self.listened.extend(connected.map(|connected| (listening, connected)));
        }
        if let Some(listener) = accepted.listener {
            self.listeners.entry(listener).or_default().push((asked.at, accepted.at));
        }
    }

    /// Connections were made after somebody listened, and accepted after they were asked for. Calls that have seen that there is one
    /// come after the next that was accepted.
    pub fn finish(&mut self, looks: impl Fn(End) -> Vec<Span>, found: &mut Dependencies) {
        for (listening, connected) in std::mem::take(&mut self.listened) {
            socket::listen(listening, connected, found);
        }
        let mut listeners: Vec<_> = std::mem::take(&mut self.listeners).into_iter().collect();
        listeners.sort_unstable_by_key(|(listener, _)| *listener);
        for (listener, mut connections) in listeners {
            connections.sort_unstable_by_key(|(_, accepted)| (accepted.ns, accepted.point()));
            let accepted_by = |ns: u64| connections.partition_point(|(_, accepted)| accepted.ns <= ns);
            for look in looks(listener) {
                let next = accepted_by(look.leave.ns);
                if let Some(&(asked, _)) = connections.get(next) {
                    socket::accept(asked, look.leave, accepted_by(look.enter.ns) == next, found);
                }
            }
            connections.iter().for_each(|&(asked, accepted)| socket::accept(asked, accepted, true, found));
        }
    }
}

/// Unix sockets that ask have no address of their own, as a rule: the process is known.
fn name(host: usize, address: &[u8], from: &[u8], pid: i64) -> Name {
    let starts = |with: &[u8]| address.starts_with(with);
    if starts(b"unix:") {
        return (Some(host), address.to_vec(), pid.to_string().into_bytes());
    }
    let stays = starts(b"inet:127.") || starts(b"inet6:[::1]");
    (stays.then_some(host), address.to_vec(), from.to_vec())
}
