//! Sockets: bytes of each TCP connection of the tree, as the kernel counts them (sock_diag(7), `tcp_info`).

use super::{Totals, Watcher, Whole};
use crate::metrics::Metrics;
use crate::sample::Field;
use crate::tree::Tree;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// Between two looks, nanoseconds: a look takes longer than one at a file.
const EVERY_NS: u64 = 20_000_000;

/// One connection, seen from one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Ends {
    local: SocketAddr,
    remote: SocketAddr,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    ends: Ends,
    inode: u32,
    sent: u64,
    received: u64,
}

/// See the module.
#[derive(Default)]
pub struct Network {
    next_ns: u64,
    refused: Option<String>,
    ours: HashMap<Ends, [u64; 2]>,
    not_ours: HashSet<u32>,
    interfaces: [u64; 2],
}

impl Watcher for Network {
    fn pre(&mut self) {
        self.interfaces = interfaces();
    }

    fn sample(&mut self, tree: &mut Tree, now_ns: u64, totals: &mut Totals) {
        if now_ns >= self.next_ns && self.refused.is_none() {
            self.next_ns = now_ns + EVERY_NS;
            match connections() {
                Ok(seen) => self.take(&seen, tree),
                Err(error) => self.refused = Some(error.to_string()),
            }
        }
        if self.refused.is_none() {
            self.put(totals);
        }
    }

    fn finalize(&mut self, whole: &Whole<'_>, metrics: &mut Metrics) {
        let why = format!("sock_diag: {}", self.refused.as_deref().unwrap_or(""));
        let how = "TCP connections as last seen: what a connection moved after the last look at it is missing; use --shim for all";
        let get = |field| whole.totals.get(field).map(|bytes| bytes as f64);
        metrics.either("network.bytes_sent", "B", get(Field::SentBytes), how, &why);
        metrics.either("network.bytes_received", "B", get(Field::ReceivedBytes), how, &why);
        metrics.either("network.bytes_inner", "B", get(Field::InnerBytes), "both ends within the tree", &why);
        let now = interfaces();
        let moved = |direction: usize| now[direction].saturating_sub(self.interfaces[direction]) as f64;
        let all = "all interfaces of the network namespace meanwhile, whoever used them";
        metrics.measured("network.interfaces_received", "B", moved(0), all);
        metrics.measured("network.interfaces_sent", "B", moved(1), all);
        let ends: BTreeSet<String> =
            self.ours.keys().map(|ends| format!("{} to {}", ends.local, ends.remote)).collect();
        let listed: Vec<&str> = ends.iter().take(20).map(String::as_str).collect();
        metrics.measured("network.endpoints", "", ends.len() as f64, &listed.join(", "));
        metrics.missing("network.block_sent", "B", "sizes of messages are known from calls: use --shim");
        metrics.missing("network.block_received", "B", "sizes of messages are known from calls: use --shim");
    }
}

impl Network {
    fn take(&mut self, seen: &[Seen], tree: &Tree) {
        let unknown = |one: &Seen| {
            one.inode != 0 && !self.not_ours.contains(&one.inode) && !self.ours.contains_key(&one.ends)
        };
        if seen.iter().any(unknown) {
            let inodes = sockets_of(tree);
            for one in seen.iter().filter(|one| unknown(one)).copied().collect::<Vec<_>>() {
                if inodes.contains(&one.inode) {
                    self.ours.insert(one.ends, [0; 2]);
                } else {
                    self.not_ours.insert(one.inode);
                }
            }
        }
        for one in seen {
            if let Some(moved) = self.ours.get_mut(&one.ends) {
                *moved = [moved[0].max(one.sent), moved[1].max(one.received)];
            }
        }
    }

    fn put(&self, totals: &mut Totals) {
        let (mut sent, mut received, mut inner) = (0, 0, 0);
        for (ends, moved) in &self.ours {
            match self.ours.get(&Ends { local: ends.remote, remote: ends.local }) {
                // What one end has received the other has sent: counted at the receiving end.
                Some(_) => inner += moved[1],
                None => {
                    sent += moved[0];
                    received += moved[1];
                }
            }
        }
        totals.set(Field::SentBytes, sent);
        totals.set(Field::ReceivedBytes, received);
        totals.set(Field::InnerBytes, inner);
    }
}

/// Inodes of the sockets that the tree's processes have open.
fn sockets_of(tree: &Tree) -> HashSet<u32> {
    let mut inodes = HashSet::new();
    for pid in tree.living.keys() {
        for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            let Ok(target) = std::fs::read_link(entry.path()) else { continue };
            let inode: Option<u32> = target
                .to_str()
                .and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
            inodes.extend(inode);
        }
    }
    inodes
}

/// Bytes received and sent by all interfaces.
fn interfaces() -> [u64; 2] {
    let text = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let mut sums = [0; 2];
    for line in text.lines() {
        let Some((_, figures)) = line.split_once(':') else { continue };
        let figures: Vec<u64> =
            figures.split_ascii_whitespace().filter_map(|text| text.parse().ok()).collect();
        if let (Some(received), Some(sent)) = (figures.first(), figures.get(8)) {
            sums[0] += received;
            sums[1] += sent;
        }
    }
    sums
}

// Layout of the messages: netlink(7), sock_diag(7), linux/inet_diag.h, linux/tcp.h.
const HEADER: usize = 16;
const REQUEST: usize = 56;
const ANSWER: usize = 72;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const DUMP: u16 = 0x301;
const DONE: u16 = 3;
const ERROR: u16 = 2;
const IPPROTO_TCP: u8 = 6;
const INET_DIAG_INFO: u16 = 2;
/// Established, and on its way to being closed.
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
const BYTES_ACKED: usize = 120;
const BYTES_RECEIVED: usize = 128;

fn connections() -> rustix::io::Result<Vec<Seen>> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::SOCK_DIAG))?;
    let mut seen = Vec::new();
    for family in [2, 10] {
        ask(&socket, family, &mut seen)?;
    }
    Ok(seen)
}

fn ask(socket: &OwnedFd, family: u8, seen: &mut Vec<Seen>) -> rustix::io::Result<()> {
    let mut request = Vec::with_capacity(HEADER + REQUEST);
    request.extend(((HEADER + REQUEST) as u32).to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(DUMP.to_ne_bytes());
    request.extend([0; 8]);
    request.extend([family, IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), 0]);
    request.extend(STATES.to_ne_bytes());
    request.resize(HEADER + REQUEST, 0);
    send(socket, &request, SendFlags::empty())?;
    let mut buffer = vec![0; 1 << 15];
    loop {
        let (len, _) = recv(socket, &mut buffer[..], RecvFlags::empty())?;
        let mut rest = &buffer[..len];
        if rest.is_empty() {
            return Ok(());
        }
        while rest.len() >= HEADER {
            let size = (u32_at(rest, 0) as usize).clamp(HEADER, rest.len());
            match u16_at(rest, 4) {
                DONE => return Ok(()),
                ERROR => {
                    let code = -(u32_at(&rest[..size], HEADER) as i32);
                    return if code == 0 { Ok(()) } else { Err(rustix::io::Errno::from_raw_os_error(code)) };
                }
                _ => seen.extend(connection(&rest[HEADER..size])),
            }
            rest = &rest[size.next_multiple_of(4).min(rest.len())..];
        }
    }
}

/// An answer: the two ends, and `tcp_info` among its attributes.
fn connection(answer: &[u8]) -> Option<Seen> {
    let address = |at: usize| -> Option<IpAddr> {
        let bytes = answer.get(at..at + 16)?;
        Some(match answer[0] {
            2 => Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into(),
            _ => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical(),
        })
    };
    let port = |at: usize| u16::from_be_bytes([answer[at], answer[at + 1]]);
    if answer.len() < ANSWER {
        return None;
    }
    let local = SocketAddr::new(address(8)?, port(4));
    let remote = SocketAddr::new(address(24)?, port(6));
    let mut rest = &answer[ANSWER..];
    while rest.len() >= 4 {
        let size = usize::from(u16_at(rest, 0)).clamp(4, rest.len());
        if u16_at(rest, 2) == INET_DIAG_INFO {
            let u64_at = |at: usize| Some(u64::from_ne_bytes(rest.get(4 + at..12 + at)?.try_into().ok()?));
            return Some(Seen {
                ends: Ends { local, remote },
                inode: u32_at(answer, 68),
                sent: u64_at(BYTES_ACKED)?,
                received: u64_at(BYTES_RECEIVED)?,
            });
        }
        rest = &rest[size.next_multiple_of(4).min(rest.len())..];
    }
    None
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |two| u16::from_ne_bytes([two[0], two[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |four| u32::from_ne_bytes([four[0], four[1], four[2], four[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn the_kernel_counts_what_a_connection_moved() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let mut client =
            std::net::TcpStream::connect(listener.local_addr().expect("bound")).expect("loopback");
        let (mut server, _) = listener.accept().expect("a connection");
        client.write_all(&[7; 5000]).expect("loopback");
        server.read_exact(&mut [0; 5000]).expect("as many");
        let ends = Ends {
            local: client.local_addr().expect("bound"),
            remote: client.peer_addr().expect("connected"),
        };
        let seen = connections().expect("sock_diag is there");
        let received = seen.iter().find(|one| one.ends.local == ends.remote && one.ends.remote == ends.local);
        assert_eq!(received.expect("the server's end is listed").received, 5000);
    }
}
