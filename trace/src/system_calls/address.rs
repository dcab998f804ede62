//! Addresses of sockets as texts: `inet:127.0.0.1:80`, `inet6:[::1]:80`, `unix:/path`, `unix:@abstract`, `unix:`
//! (unnamed), `family:16` (any other); empty where there is none.
//!
//! Source: the structures in `include/uapi` of the kernel; ip(7), ipv6(7), unix(7).

use core::fmt::{self, Write};
use core::net::{Ipv4Addr, Ipv6Addr};
use libc::{c_int, sa_family_t};

/// Room for the longest: `unix:` and 108 bytes of path.
const ROOM: usize = 120;

/// How the addresses of Unix sockets begin.
const UNIX: &[u8] = b"unix:";

/// One address.
#[derive(Clone, Copy)]
pub struct Address {
    bytes: [u8; ROOM],
    length: usize,
}

impl Address {
    /// There is none.
    pub const NONE: Address = Address { bytes: [0; ROOM], length: 0 };

    /// Reads a `struct sockaddr` of the length that the kernel gave or took it with.
    pub fn of(raw: &[u8]) -> Address {
        let mut address = Address::NONE;
        // What does not fit is left out, which is nothing.
        let _ = address.describe(raw);
        address
    }

    /// The text.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// True for a Unix socket's, whether it has a name or not.
    pub fn is_unix(&self) -> bool {
        self.bytes().starts_with(UNIX)
    }

    fn describe(&mut self, raw: &[u8]) -> fmt::Result {
        let Some((family, rest)) = raw.split_first_chunk() else { return Ok(()) };
        let family = sa_family_t::from_ne_bytes(*family);
        match c_int::from(family) {
            libc::AF_UNSPEC => Ok(()),
            libc::AF_UNIX => {
                self.put(UNIX);
                match rest {
                    [] => {}
                    [0, name @ ..] => {
                        self.put(b"@");
                        self.put(name);
                    }
                    path => self.put(path.split(|&byte| byte == 0).next().unwrap_or_default()),
                }
                Ok(())
            }
            libc::AF_INET => self.write_inet(rest).unwrap_or(Ok(())),
            libc::AF_INET6 => self.write_inet6(rest).unwrap_or(Ok(())),
            _ => write!(self, "family:{family}"),
        }
    }

    /// Behind the family of a `sockaddr_in`: port 2, address 4.
    fn write_inet(&mut self, rest: &[u8]) -> Option<fmt::Result> {
        let (port, rest) = rest.split_first_chunk()?;
        let (address, _) = rest.split_first_chunk::<4>()?;
        Some(write!(self, "inet:{}:{}", Ipv4Addr::from(*address), u16::from_be_bytes(*port)))
    }

    /// Behind the family of a `sockaddr_in6`: port 2, flow 4, address 16, scope 4.
    fn write_inet6(&mut self, rest: &[u8]) -> Option<fmt::Result> {
        let (port, rest) = rest.split_first_chunk()?;
        let (_flow, rest) = rest.split_first_chunk::<4>()?;
        let (address, rest) = rest.split_first_chunk::<16>()?;
        let scope = rest.first_chunk().map_or(0, |scope| u32::from_ne_bytes(*scope));
        let (address, port) = (Ipv6Addr::from(*address), u16::from_be_bytes(*port));
        Some(match scope {
            0 => write!(self, "inet6:[{address}]:{port}"),
            _ => write!(self, "inet6:[{address}%{scope}]:{port}"),
        })
    }

    fn put(&mut self, bytes: &[u8]) {
        let length = bytes.len().min(ROOM - self.length);
        self.bytes[self.length..][..length].copy_from_slice(&bytes[..length]);
        self.length += length;
    }
}

impl Write for Address {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    fn text(raw: &[u8]) -> String {
        String::from_utf8(Address::of(raw).bytes().to_vec()).unwrap()
    }

    fn with_family(family: c_int, rest: &[u8]) -> Vec<u8> {
        [&(family as sa_family_t).to_ne_bytes()[..], rest].concat()
    }

    #[test]
    fn internet() {
        assert_eq!(
            text(&with_family(libc::AF_INET, &[0x1f, 0x90, 127, 0, 0, 1, 0, 0])),
            "inet:127.0.0.1:8080"
        );
        let mut rest = [0; 26];
        rest[1] = 80;
        rest[21] = 1;
        assert_eq!(text(&with_family(libc::AF_INET6, &rest)), "inet6:[::1]:80");
        rest[22] = 2;
        assert_eq!(text(&with_family(libc::AF_INET6, &rest)), "inet6:[::1%2]:80");
        let longest = [&[0xff; 2][..], &[0; 4], &[0xff; 16], &[0xff; 4]].concat();
        let full = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
        assert_eq!(text(&with_family(libc::AF_INET6, &longest)), format!("inet6:[{full}%4294967295]:65535"));
    }

    #[test]
    fn local() {
        assert_eq!(text(&with_family(libc::AF_UNIX, b"")), "unix:");
        assert_eq!(text(&with_family(libc::AF_UNIX, b"/tmp/s\0garbage")), "unix:/tmp/s");
        assert_eq!(text(&with_family(libc::AF_UNIX, b"\0name\0more")), "unix:@name\0more");
        assert_eq!(text(&with_family(libc::AF_UNIX, &[b'p'; 126])).len(), ROOM);
    }

    #[test]
    fn what_is_cut_or_unknown() {
        assert_eq!(text(&[]), "");
        assert_eq!(text(&[2]), "");
        assert_eq!(text(&with_family(libc::AF_INET, &[0, 80, 127])), "");
        assert_eq!(text(&with_family(libc::AF_INET6, &[0; 20])), "");
        assert_eq!(text(&with_family(libc::AF_UNSPEC, &[1; 14])), "");
        assert_eq!(text(&with_family(libc::AF_NETLINK, &[0; 10])), "family:16");
    }
}
