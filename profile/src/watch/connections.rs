//! The kernel's table of TCP connections (sock_diag(7)).

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, netlink, recv, send, socket_with,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// One connection, seen from one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ends {
    /// Its address here.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
}

/// A connection and what it has moved.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Its ends.
    pub ends: Ends,
    /// Inode of the socket; 0 when no process has it any more.
    pub inode: u32,
    /// Bytes that the other end has acknowledged.
    pub sent: u64,
    /// Bytes that came.
    pub received: u64,
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
/// The other end has closed it: its FIN counts as a byte that came. `CLOSE_WAIT`, `LAST_ACK`, `CLOSING`.
const CLOSED_BY_OTHER: u32 = 1 << 8 | 1 << 9 | 1 << 11;
const BYTES_ACKED: usize = 120;
const BYTES_RECEIVED: usize = 128;

/// All TCP connections of this network namespace.
pub fn connections() -> rustix::io::Result<Vec<Seen>> {
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
        if len == 0 || take(&buffer[..len], seen)? {
            return Ok(());
        }
    }
}

/// The connections in what the kernel has sent; true at the end of a list.
fn take(mut messages: &[u8], seen: &mut Vec<Seen>) -> rustix::io::Result<bool> {
    while messages.len() >= HEADER {
        let size = (u32_at(messages, 0) as usize).clamp(HEADER, messages.len());
        match u16_at(messages, 4) {
            DONE => return Ok(true),
            ERROR => {
                let code = -(u32_at(&messages[..size], HEADER) as i32);
                return if code == 0 { Ok(true) } else { Err(rustix::io::Errno::from_raw_os_error(code)) };
            }
            _ => seen.extend(connection(&messages[HEADER..size])),
        }
        messages = &messages[size.next_multiple_of(4).min(messages.len())..];
    }
    Ok(false)
}

/// Tells of connections of this network namespace that are gone, with what they have moved.
#[derive(Debug)]
pub struct Endings {
    socket: OwnedFd,
    /// There were more than the kernel keeps.
    pub lost: bool,
}

impl Endings {
    /// From now on.
    pub fn begin() -> rustix::io::Result<Endings> {
        /// SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY (linux/sock_diag.h).
        const GROUPS: u32 = 1 | 1 << 2;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::SOCK_DIAG))?;
        bind(&socket, &netlink::SocketAddrNetlink::new(0, GROUPS))?;
        Ok(Endings { socket, lost: false })
    }

    /// Waits until there is one, for a time that ends.
    pub fn wait(&self, longest: Duration) {
        let limit = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
        // A signal only makes it shorter.
        let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&limit));
    }

    /// Those that came to an end since this was asked before.
    pub fn take(&mut self) -> Vec<Seen> {
        let (mut seen, mut buffer) = (Vec::new(), vec![0; 1 << 13]);
        loop {
            match recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                // A message of another kind is none of a connection.
                Ok((len, _)) => {
                    let _ = take(&buffer[..len], &mut seen);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::NOBUFS) => self.lost = true,
                Err(_) => break,
            }
        }
        // The closing of each direction counts as a byte, where it came.
        for one in &mut seen {
            (one.sent, one.received) = (one.sent.saturating_sub(1), one.received.saturating_sub(1));
        }
        seen
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
            let of_end = u64::from(CLOSED_BY_OTHER >> (answer[1] & 31) & 1);
            return Some(Seen {
                ends: Ends { local, remote },
                inode: u32_at(answer, 68),
                sent: u64_at(BYTES_ACKED)?,
                received: u64_at(BYTES_RECEIVED)?.saturating_sub(of_end),
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
    use rustix::net::sockopt::set_socket_recv_buffer_size;
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
        client.shutdown(std::net::Shutdown::Write).expect("connected");
        assert_eq!(server.read(&mut [0]).expect("the end"), 0);
        let seen = connections().expect("sock_diag is there");
        let closed = seen.iter().find(|one| one.ends.local == ends.remote && one.ends.remote == ends.local);
        assert_eq!(closed.expect("the server's end is still there").received, 5000, "an end is no byte");
        let mut endings = Endings::begin().expect("whoever asks is told");
        drop((client, server));
        // The kernel tells when it has removed them, which is a moment later.
        let begun = std::time::Instant::now();
        let mut gone = Vec::new();
        while !gone.iter().any(|one: &Seen| one.received == 5000 && one.ends.remote == ends.local) {
            endings.wait(Duration::from_secs(1));
            gone.extend(endings.take());
            assert!(begun.elapsed().as_secs() < 20, "{gone:?}");
        }
    }

    #[test]
    fn more_ends_than_the_kernel_keeps_are_noticed() {
        let mut endings = Endings::begin().expect("whoever asks is told");
        set_socket_recv_buffer_size(&endings.socket, 1).expect("the least that there is");
        // The kernel tells everybody at once, a while after an end: who has room shows when that was.
        let mut roomy = Endings::begin().expect("whoever asks is told");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        for _ in 0..50 {
            let client = std::net::TcpStream::connect(address).expect("loopback");
            drop((client, listener.accept().expect("a connection")));
        }
        let begun = std::time::Instant::now();
        let mut told = 0;
        while told < 100 {
            roomy.wait(Duration::from_secs(1));
            told += roomy
                .take()
                .iter()
                .filter(|one| [one.ends.local, one.ends.remote].contains(&address))
                .count();
            assert!(begun.elapsed().as_secs() < 60, "{told} of 100 ends were told");
        }
        assert!(!roomy.lost, "100 ends fit");
        endings.take();
        assert!(endings.lost, "100 ends do not fit");
    }
}
