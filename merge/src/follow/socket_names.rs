//! Names of sockets. Two programs may name one in two ways: by a path from another folder or through a link, and by an address of
//! version 4 of IP, or of version 6 that stands for one (ipv6(7)).

use crate::follow::connections::End;
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use syn_trace::descriptors::Descriptors;

const UNIX: &[u8] = b"unix:";
const INET: &str = "inet:";
const INET6: &str = "inet6:";

/// A name that a program asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked {
    /// The name that the socket was given.
    pub name: Vec<u8>,
    /// It is what was asked for; otherwise only the last part of the path is.
    pub is_exact: bool,
}

/// The names that sockets were given.
#[derive(Debug, Default)]
pub struct SocketNames {
    of_sockets: HashMap<End, Vec<u8>>,
    /// By host and how it was given: the whole name, if that is one.
    given: HashMap<(usize, Vec<u8>), Option<Vec<u8>>>,
    /// By host and last part of a path: whole names.
    by_last_part: HashMap<(usize, Vec<u8>), Vec<Vec<u8>>>,
    /// By host and whole name: what it was before it was renamed.
    renamed: HashMap<(usize, Vec<u8>), Vec<u8>>,
}

impl SocketNames {
    /// A process has given a socket a name. The whole one.
    pub fn bind(&mut self, end: End, given: &[u8], descriptors: &Descriptors) -> &[u8] {
        let whole = address(given).map_or_else(|| whole(given, descriptors), text);
        if let Some(last_part) = last_part(&whole) {
            let names = self.by_last_part.entry((end.host, last_part.to_vec())).or_default();
            if !names.contains(&whole) {
                names.push(whole.clone());
            }
            let known = self.given.entry((end.host, given.to_vec())).or_insert_with(|| Some(whole.clone()));
            if known.as_ref() != Some(&whole) {
                *known = None;
            }
        }
        self.renamed.remove(&(end.host, whole.clone()));
        self.of_sockets.entry(end).insert_entry(whole).into_mut()
    }

    /// A file has another path, which may be that of a socket.
    pub fn rename(&mut self, host: usize, from: &str, to: &str) {
        if self.by_last_part.is_empty() {
            return;
        }
        let [from, to] = [from, to].map(|path| [UNIX, path.as_bytes()].concat());
        let known = |name: &Vec<u8>| {
            let names =
                last_part(name).and_then(|last_part| self.by_last_part.get(&(host, last_part.to_vec())));
            names.is_some_and(|names| names.contains(name))
        };
        let before = self.renamed.remove(&(host, from.clone())).or_else(|| known(&from).then_some(from));
        if let Some(before) = before {
            self.renamed.insert((host, to), before);
        }
    }

    /// The name of a Unix socket that was given one. Who listens by IP may have several addresses.
    pub fn of_unix(&self, end: End) -> Option<&[u8]> {
        self.of_sockets.get(&end).map(Vec::as_slice).filter(|name| name.starts_with(UNIX))
    }

    /// The whole name of a socket there, of which the kernel tells the name as it was given.
    pub fn told(&self, host: usize, name: &[u8]) -> Vec<u8> {
        if name.starts_with(UNIX) {
            let whole = self.given.get(&(host, name.to_vec())).and_then(Option::as_deref);
            return whole.unwrap_or(name).to_vec();
        }
        match address(name) {
            Some(address) => text(address),
            None => name.to_vec(),
        }
    }

    /// The socket that a process there wants to reach, by the name that it was given. Who asks for any address reaches the host itself.
    pub fn reached(&self, host: usize, name: &[u8], descriptors: &Descriptors) -> Vec<u8> {
        if let Some(mut address) = address(name) {
            if address.ip().is_unspecified() {
                address.set_ip(match address {
                    SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                    SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
                });
            }
            return text(address);
        }
        let name = whole(name, descriptors);
        self.renamed.get(&(host, name.clone())).cloned().unwrap_or(name)
    }

    /// The same of who asks for a connection. The path may lead through a link: then the only socket that has its last part is taken
    /// for the one, which who accepts confirms.
    pub fn asked(&self, host: usize, name: &[u8], descriptors: &Descriptors) -> Asked {
        let name = self.reached(host, name, descriptors);
        let alike = last_part(&name).and_then(|last_part| self.by_last_part.get(&(host, last_part.to_vec())));
        match alike.map(Vec::as_slice) {
            Some([only]) if *only != name => Asked { name: only.clone(), is_exact: false },
            _ => Asked { name, is_exact: true },
        }
    }
}

/// The name with its whole path, if it is one.
fn whole(name: &[u8], descriptors: &Descriptors) -> Vec<u8> {
    match descriptors.socket_path(name) {
        Some(path) => [UNIX, path.as_bytes()].concat(),
        None => name.to_vec(),
    }
}

fn last_part(name: &[u8]) -> Option<&[u8]> {
    let path = name.strip_prefix(UNIX).filter(|path| !path.is_empty() && !path.starts_with(b"@"))?;
    path.rsplit(|&byte| byte == b'/').next()
}

/// The address of a name of IP that goes by another name, too: of version 4 where it stands for one.
fn address(name: &[u8]) -> Option<SocketAddr> {
    const WITH_OTHERS: [&[u8]; 3] = [b"inet6:[::ffff:", b"inet6:[::]:", b"inet:0.0.0.0:"];
    let name = WITH_OTHERS.iter().any(|start| name.starts_with(start)).then_some(name)?;
    let name = str::from_utf8(name).ok()?;
    let mut address: SocketAddr =
        name.strip_prefix(INET).or_else(|| name.strip_prefix(INET6))?.parse().ok()?;
    address.set_ip(address.ip().to_canonical());
    Some(address)
}

fn text(address: SocketAddr) -> Vec<u8> {
    let family = if address.is_ipv4() { INET } else { INET6 };
    format!("{family}{address}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: End = End { host: 1, named: false, device: 0, inode: 7 };

    fn asked(names: &SocketNames, name: &str, folder: &str) -> (String, bool) {
        let Asked { name, is_exact } = names.asked(1, name.as_bytes(), &Descriptors::new(folder, 1));
        (String::from_utf8(name).unwrap(), is_exact)
    }

    #[test]
    fn addresses_of_both_versions() {
        let names = SocketNames::default();
        let told = |name: &str| String::from_utf8(names.told(1, name.as_bytes())).unwrap();
        let asked = |name| asked(&names, name, "/").0;
        assert_eq!(told("inet6:[::ffff:127.0.0.1]:80"), "inet:127.0.0.1:80");
        assert_eq!(told("inet6:[::]:80"), "inet6:[::]:80");
        assert_eq!(told("inet6:[fe80::1%2]:80"), "inet6:[fe80::1%2]:80");
        assert_eq!(told("family:16"), "family:16");
        assert_eq!(asked("inet:0.0.0.0:80"), "inet:127.0.0.1:80");
        assert_eq!(asked("inet6:[::]:80"), "inet6:[::1]:80");
        assert_eq!(asked("inet6:[::ffff:0.0.0.0]:80"), "inet:127.0.0.1:80");
        assert_eq!(asked("inet6:[fe80::1%2]:80"), "inet6:[fe80::1%2]:80");
    }

    #[test]
    fn paths_from_other_folders_and_through_links() {
        let mut names = SocketNames::default();
        names.bind(END, b"unix:s", &Descriptors::new("/a", 1));
        let known = "unix:/a/s".to_owned();
        assert_eq!(names.of_unix(END), Some(known.as_bytes()));
        assert_eq!(names.told(1, b"unix:s"), known.as_bytes());
        assert_eq!(asked(&names, "unix:../a/./s", "/b"), (known.clone(), true));
        assert_eq!(asked(&names, "unix:link/s", "/b"), (known.clone(), false));
        assert_eq!(asked(&names, "unix:t", "/b"), ("unix:/b/t".into(), true));
        assert_eq!(asked(&names, "unix:@s", "/b"), ("unix:@s".into(), true));
        names.rename(1, "/a/s", "/a/now");
        names.rename(1, "/a/now", "/b/later");
        names.rename(1, "/a/else", "/b/other");
        assert_eq!(asked(&names, "unix:later", "/b"), (known.clone(), true));
        assert_eq!(asked(&names, "unix:other", "/b"), ("unix:/b/other".into(), true));
        names.bind(End { inode: 8, ..END }, b"unix:s", &Descriptors::new("/c", 1));
        assert_eq!(asked(&names, "unix:link/s", "/b"), ("unix:/b/link/s".into(), true), "it may be either");
        assert_eq!(asked(&names, "unix:s", "/a"), (known, true));
        assert_eq!(names.told(1, b"unix:s"), b"unix:s", "it may be either");
    }
}
