//! Sockets that send and receive by address: which of them has which address, and what went from which to which.
//!
//! Addresses are told by `bind`, `getsockname` and `connect`. A socket that has just sent gets one from the kernel, which the
//! trace does not tell: it is that of the first receiver's answer to "from whom", where no second sender comes into question.

use crate::follow::connections::End;
use crate::graph::dependency::{Dependencies, Span};
use crate::rules::datagram::{self, Datagram};
use std::collections::{BTreeMap, HashMap};

/// A call that sent or received, and the address that it named.
#[derive(Debug)]
struct Message {
    datagram: Datagram,
    address: Option<u32>,
}

/// One socket.
#[derive(Debug)]
struct Socket {
    end: End,
    local: Option<u32>,
    /// Since when.
    local_since_ns: u64,
    peer: Option<u32>,
    last_ns: u64,
    sent: Vec<Message>,
    received: Vec<Message>,
}

/// The sockets of a run. Memory: 80 bytes for each message.
#[derive(Debug, Default)]
pub struct Datagrams {
    sockets: Vec<Socket>,
    current: HashMap<End, usize>,
    numbers: HashMap<Vec<u8>, u32>,
    addresses: Vec<Vec<u8>>,
    /// By address: the sockets that have had it, or one that takes what is sent to it; when all are known.
    holders: Vec<Vec<usize>>,
}

impl Datagrams {
    /// A socket was made. An inode may have been another's before.
    pub fn open(&mut self, end: End) {
        self.current.insert(end, self.sockets.len());
        self.sockets.push(Socket {
            end,
            local: None,
            local_since_ns: 0,
            peer: None,
            last_ns: 0,
            sent: Vec::new(),
            received: Vec::new(),
        });
    }

    fn at(&mut self, end: End) -> &mut Socket {
        if !self.current.contains_key(&end) {
            self.open(end);
        }
        &mut self.sockets[self.current[&end]]
    }

    fn number(&mut self, address: &[u8]) -> Option<u32> {
        let is_one = !address.is_empty() && address != b"unix:" && !address.ends_with(b":0");
        is_one.then(|| {
            if let Some(&number) = self.numbers.get(address) {
                return number;
            }
            self.addresses.push(address.to_vec());
            self.numbers.insert(address.to_vec(), self.addresses.len() as u32 - 1);
            self.addresses.len() as u32 - 1
        })
    }

    /// The socket's own address is known: it has had it since it was given one, or since it first sent.
    pub fn name(&mut self, end: End, local: &[u8], ns: u64) {
        let local = self.number(local);
        let socket = self.at(end);
        if socket.local != local && local.is_some() {
            let first_sent_ns = socket.sent.first().map(|message| message.datagram.span.enter.ns);
            let since_ns = first_sent_ns.filter(|_| socket.local.is_none()).unwrap_or(ns).min(ns);
            (socket.local, socket.local_since_ns) = (local, since_ns);
        }
    }

    /// It sends there, and receives from nobody else.
    pub fn connect(&mut self, end: End, peer: &[u8]) {
        let peer = self.number(peer);
        self.at(end).peer = peer;
    }

    /// A call sent, or received, so many messages.
    pub fn transfer(&mut self, end: End, span: Span, count: u64, sends: bool, address: &[u8]) {
        let address = self.number(address);
        let socket = self.at(end);
        socket.last_ns = socket.last_ns.max(span.leave.ns);
        let message = Message { datagram: Datagram { span, count }, address: address.or(socket.peer) };
        if sends { socket.sent.push(message) } else { socket.received.push(message) }
    }

    /// Finds out which sockets have which address: nobody wants to look at all of them for each message.
    fn find_holders(&mut self) {
        let mut by_local: HashMap<u32, Vec<usize>> = HashMap::new();
        for (index, socket) in self.sockets.iter().enumerate() {
            if let Some(local) = socket.local {
                by_local.entry(local).or_default().push(index);
            }
        }
        let holders = |address: &Vec<u8>| {
            let of = |address: &Vec<u8>| by_local.get(self.numbers.get(address)?);
            // The first that somebody has: a socket of version 6 takes what is sent by version 4 where none of version 4 does.
            let any = wildcards(address).into_iter().filter(|wildcard| wildcard != address);
            let any = any.filter_map(|wildcard| of(&wildcard)).next();
            of(address).into_iter().chain(any).flatten().copied().collect()
        };
        self.holders = self.addresses.iter().map(holders).collect();
    }

    /// Whose address it is at a time, as the host there has it; `None` where it may be several sockets'.
    fn owner(&self, address: u32, host: usize, ns: u64) -> Option<usize> {
        let holders = &self.holders[address as usize];
        let address = &self.addresses[address as usize];
        let stays =
            [&b"unix:"[..], b"inet:127.", b"inet6:[::1]"].iter().any(|start| address.starts_with(start));
        let might = |socket: &Socket| (!stays || socket.end.host == host) && socket.local_since_ns <= ns;
        let all = || holders.iter().copied().filter(|&index| might(&self.sockets[index]));
        let latest = all().max_by_key(|&index| (self.sockets[index].local_since_ns, index))?;
        let since_ns = self.sockets[latest].local_since_ns;
        let is_alone = all().all(|other| other == latest || self.sockets[other].last_ns < since_ns);
        is_alone.then_some(latest)
    }

    /// Finds the addresses that no call told. The kernel gives one to a socket after the other: who has come to its last message has it no
    /// more.
    fn learn(&mut self) {
        // By receiver: the messages from addresses that nobody has, and the sockets without an address by when they sent.
        let mut came: BTreeMap<usize, Vec<(u64, u32, u64)>> = BTreeMap::new();
        let mut went: BTreeMap<usize, BTreeMap<usize, Vec<u64>>> = BTreeMap::new();
        for (index, socket) in self.sockets.iter().enumerate() {
            for Message { datagram: Datagram { span, count }, address } in &socket.received {
                let Some(from) = *address else { continue };
                if self.owner(from, socket.end.host, span.leave.ns).is_none() {
                    came.entry(index).or_default().push((span.leave.ns, from, *count));
                }
            }
            if socket.local.is_some() {
                continue;
            }
            for Message { datagram: Datagram { span, count }, address } in &socket.sent {
                let to = address.and_then(|to| self.owner(to, socket.end.host, span.enter.ns));
                let Some(to) = to.filter(|_| *count > 0) else { continue };
                let times = went.entry(to).or_default().entry(index).or_default();
                times.extend((0..*count).map(|_| span.enter.ns));
            }
        }
        for (receiver, mut came) in came {
            came.sort_by_key(|&(ns, ..)| ns);
            let Some(went) = went.remove(&receiver) else { continue };
            for (sender, address, since_ns) in senders(came, went) {
                let socket = &mut self.sockets[sender];
                if socket.local.is_none() {
                    (socket.local, socket.local_since_ns) = (Some(address), since_ns);
                }
            }
        }
    }

    /// What was received was sent; `looks` are calls that saw that there is something. Not of sockets of which not
    /// all is known.
    pub fn finish(
        mut self,
        looks: impl Fn(End) -> Vec<Span>,
        is_known: impl Fn(End) -> bool,
        found: &mut Dependencies,
    ) {
        self.find_holders();
        self.learn();
        self.find_holders();
        // By receiver: who has sent to it.
        let mut sent: BTreeMap<usize, BTreeMap<usize, Vec<Datagram>>> = BTreeMap::new();
        for (index, socket) in self.sockets.iter().enumerate() {
            for message in &socket.sent {
                let at_ns = message.datagram.span.enter.ns;
                let to = message.address.and_then(|to| self.owner(to, socket.end.host, at_ns));
                let is_whole = |to: usize| is_known(socket.end) && is_known(self.sockets[to].end);
                if let Some(to) = to.filter(|&to| to != index && is_whole(to)) {
                    sent.entry(to).or_default().entry(index).or_default().push(message.datagram);
                }
            }
        }
        for (receiver, from) in sent {
            let socket = &self.sockets[receiver];
            let only = (from.len() == 1).then(|| from.keys().next().copied()).flatten();
            let sender = |message: &Message| match message.address {
                Some(address) => self.owner(address, socket.end.host, message.datagram.span.leave.ns),
                None => only,
            };
            let received =
                socket.received.iter().map(|message| (message.datagram, sender(message))).collect();
            let is_latest = self.current.get(&socket.end) == Some(&receiver);
            let looks = if is_latest { looks(socket.end) } else { Vec::new() };
            datagram::connect(from, received, looks, found);
        }
    }
}

/// So many sockets of which nobody knows which is which are looked at again.
const MOST_UNKNOWN: usize = 64;

/// Which of the sockets that sent to a receiver has which of the addresses from which messages came, and since when it has sent: where no
/// other one comes into question. `came`: when, from where, how many, by time; `went`: by socket, when it sent each.
fn senders(came: Vec<(u64, u32, u64)>, went: BTreeMap<usize, Vec<u64>>) -> Vec<(usize, u32, u64)> {
    let mut went: Vec<(usize, Vec<u64>)> = went.into_iter().collect();
    went.iter_mut().for_each(|(_, times)| times.sort_unstable());
    went.sort_by_key(|(_, times)| times[0]);
    let sent_by = |times: &[u64], ns: u64| times.partition_point(|&sent_ns| sent_ns <= ns) as u64;
    let mut next = 0;
    // By address: who has it, and how many of its messages have come. And those of which nobody knows, and how many may be theirs.
    let mut known: HashMap<u32, (usize, u64)> = HashMap::new();
    let (mut unknown, mut of_unknown): (Vec<usize>, u64) = (Vec::new(), 0);
    let mut found = Vec::new();
    for (ns, address, count) in came {
        while went.get(next).is_some_and(|(_, times)| times[0] <= ns) {
            unknown.push(next);
            next += 1;
        }
        if let Some((at, taken)) = known.get_mut(&address)
            && *taken + count <= sent_by(&went[*at].1, ns)
        {
            *taken += count;
            continue;
        }
        known.remove(&address);
        if let [at] = unknown[..] {
            let (socket, times) = &went[at];
            found.push((*socket, address, times[0]));
            known.insert(address, (at, count));
            unknown.clear();
            of_unknown = 0;
            continue;
        }
        of_unknown += count;
        // All that they sent has come: who sends now is another one, or sends again.
        if unknown.len() <= MOST_UNKNOWN
            && unknown.iter().map(|&at| sent_by(&went[at].1, ns)).sum::<u64>() <= of_unknown
        {
            unknown.retain(|&at| sent_by(&went[at].1, u64::MAX) > sent_by(&went[at].1, ns));
            of_unknown = unknown.iter().map(|&at| sent_by(&went[at].1, ns)).sum();
        }
    }
    found
}

/// Addresses that take what is sent to this one.
fn wildcards(address: &[u8]) -> Vec<Vec<u8>> {
    let Some(colon) = address.iter().rposition(|&byte| byte == b':') else { return Vec::new() };
    let port = &address[colon..];
    match address {
        _ if address.starts_with(b"inet6:") => vec![[b"inet6:[::]", port].concat()],
        _ if address.starts_with(b"inet:") => {
            vec![[b"inet:0.0.0.0", port].concat(), [b"inet6:[::]", port].concat()]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::tests::{records, span};

    #[test]
    fn a_socket_for_each_version_of_ip() {
        let end = |inode: u64| End { host: 0, named: false, device: 0, inode };
        let found = |locals: &[&str]| {
            let mut all = Datagrams::default();
            for (inode, local) in (1..).zip(locals) {
                all.name(end(inode), local.as_bytes(), 0);
            }
            all.name(end(9), b"inet:127.0.0.1:99", 0);
            all.transfer(end(9), span(1, 7, 10, 11), 1, true, b"inet:127.0.0.1:53");
            all.transfer(end(1), span(0, 1, 12, 13), 1, false, b"inet:127.0.0.1:99");
            let mut found = Dependencies::default();
            all.finish(|_| Vec::new(), |_| true, &mut found);
            records(&found)
        };
        assert_eq!(found(&["inet:0.0.0.0:53", "inet6:[::]:53"]), [(7, 1)]);
        assert_eq!(found(&["inet6:[::]:53"]), [(7, 1)]);
    }

    #[test]
    fn a_port_is_given_to_one_socket_after_the_other() {
        const COUNT: u64 = 1000;
        let end = |inode: u64| End { host: 0, named: false, device: 0, inode };
        let server = b"inet:127.0.0.1:53";
        let mut all = Datagrams::default();
        all.name(end(0), server, 0);
        for number in 1..=COUNT {
            let (record, ns) = (number as u32, number * 100);
            let client = format!("inet:127.0.0.1:{}", 1000 + number % 7);
            all.transfer(end(number), span(1, 2 * record, ns, ns + 1), 1, true, server);
            all.transfer(end(0), span(0, 2 * record, ns - 50, ns + 10), 1, false, client.as_bytes());
            all.transfer(end(0), span(0, 2 * record + 1, ns + 20, ns + 21), 1, true, client.as_bytes());
            all.transfer(end(number), span(1, 2 * record + 1, ns + 5, ns + 30), 1, false, server);
        }
        // sendmmsg(2) of nothing.
        all.transfer(end(COUNT + 1), span(2, 1, 5, 6), 0, true, server);
        let mut found = Dependencies::default();
        all.finish(|_| Vec::new(), |_| true, &mut found);
        assert_eq!(found.len() as u64, 2 * COUNT);
    }

    #[test]
    fn who_sends_at_the_same_time_keeps_others_unknown_no_longer_than_that() {
        let went = BTreeMap::from([(1, vec![10]), (2, vec![11]), (3, vec![30]), (4, vec![50, 60])]);
        let came = vec![(20, 71, 1), (21, 72, 1), (31, 71, 1), (51, 72, 1), (61, 72, 1)];
        assert_eq!(senders(came, went), [(3, 71, 30), (4, 72, 50)]);
    }

    #[test]
    fn who_asks_for_its_address_behind_its_messages_had_it_before() {
        let end = |inode: u64| End { host: 0, named: false, device: 0, inode };
        let (server, client) = (b"inet:127.0.0.1:53", b"inet:127.0.0.1:99");
        let mut all = Datagrams::default();
        all.name(end(1), server, 0);
        all.transfer(end(2), span(0, 1, 10, 11), 1, true, server);
        all.transfer(end(1), span(1, 1, 5, 12), 1, false, client);
        all.transfer(end(1), span(1, 2, 20, 21), 1, true, client);
        all.transfer(end(2), span(0, 2, 15, 22), 1, false, server);
        all.name(end(2), client, 30);
        let mut found = Dependencies::default();
        all.finish(|_| Vec::new(), |_| true, &mut found);
        assert_eq!(records(&found), [(1, 1), (2, 2)]);
    }

    #[test]
    fn addresses_are_looked_up_among_many() {
        const COUNT: u32 = 20_000;
        let end = |inode: u32| End { host: 0, named: false, device: 0, inode: inode.into() };
        let address = |number: u32| format!("inet:127.0.0.1:{}", number + 1).into_bytes();
        let mut all = Datagrams::default();
        all.name(end(0), b"inet:0.0.0.0:1", 0);
        for number in 1..=COUNT {
            all.name(end(number), &address(number), 0);
            let at_ns = u64::from(number) * 10;
            all.transfer(end(number), span(1, number, at_ns, at_ns + 1), 1, true, &address(0));
            all.transfer(end(0), span(0, number, at_ns, at_ns + 5), 1, false, &address(number));
        }
        let mut found = Dependencies::default();
        all.finish(|_| Vec::new(), |_| true, &mut found);
        assert_eq!(records(&found), (1..=COUNT).map(|number| (number, number)).collect::<Vec<_>>());
    }
}
