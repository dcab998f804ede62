//! Sockets: bytes of each TCP connection of the tree, as the kernel counts them (sock_diag(7), `tcp_info`).

use super::connections::{Endings, Ends, Seen, connections};
use super::watcher::{Totals, Watcher, Whole};
use crate::metrics::Metrics;
use crate::proc::{Kept, Reader};
use crate::profile::{FileRow, Tail};
use crate::sample::Field;
use crate::tree::Tree;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

/// Between two looks, nanoseconds: the kernel goes through its whole table of connections.
const EVERY_NS: u64 = 20_000_000;
/// The same where no connection was made since, and none of the tree's is open: such as were handed to it would be missed.
const IDLE_EVERY_NS: u64 = 2_000_000_000;

/// At the end, ends of connections are waited for so long.
const LAST_ENDS: Duration = Duration::from_millis(20);

/// So many connections are listed one by one.
const MOST_LISTED: usize = 10_000;

/// See the module.
#[derive(Default)]
pub struct Network {
    next_ns: u64,
    next_idle_ns: u64,
    /// Connections made so far, by whomever.
    made: Option<u64>,
    /// Those of ours that were open at the last look, and have not ended since.
    open: HashSet<Ends>,
    reader: Reader,
    snmp: Kept,
    refused: Option<String>,
    endings: Option<Endings>,
    ours: HashMap<Ends, [u64; 2]>,
    not_ours: HashSet<u32>,
    interfaces: [u64; 2],
}

impl Watcher for Network {
    fn pre(&mut self) {
        self.interfaces = interfaces();
        // Without it, what a connection moved after the last look at it is missing.
        self.endings = Endings::begin().ok();
    }

    fn sample(&mut self, tree: &mut Tree, now_ns: u64, totals: &mut Totals) {
        if now_ns >= self.next_ns && self.refused.is_none() {
            self.next_ns = now_ns + EVERY_NS;
            let made = self.made_so_far();
            if !self.open.is_empty() || made.is_none() || made != self.made || now_ns >= self.next_idle_ns {
                self.next_idle_ns = now_ns + IDLE_EVERY_NS;
                match connections() {
                    Ok(seen) => self.take(&seen, tree),
                    Err(error) => self.refused = Some(error.to_string()),
                }
            }
            self.made = made;
        }
        self.bury();
        if self.refused.is_none() {
            self.put(totals);
        }
    }

    fn post(&mut self, tree: &Tree, totals: &mut Totals) {
        self.wait_for_ends(tree);
        if self.refused.is_none() {
            self.put(totals);
        }
    }

    fn finalize(&mut self, whole: &Whole<'_>, metrics: &mut Metrics) {
        let why = format!("sock_diag: {}", self.refused.as_deref().unwrap_or(""));
        let how = match &self.endings {
            Some(endings) if endings.lost => {
                "TCP connections; of some, what they moved after the last look is missing: more ended at once than the kernel tells; use --shim for all"
            }
            Some(_) => {
                "TCP connections, to their ends; those that lived between two looks are missing: use --shim for all"
            }
            None => {
                "TCP connections as last seen: what a connection moved after the last look at it is missing; use --shim for all"
            }
        };
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

    fn details(&mut self, tail: &mut Tail) {
        let mut ours: Vec<_> = self.ours.iter().collect();
        ours.sort_unstable();
        tail.files.extend(ours.into_iter().take(MOST_LISTED).map(|(ends, &moved)| row(ends, moved)));
    }
}

/// A connection as a file: its ends, and bytes received and sent.
fn row(ends: &Ends, [sent, received]: [u64; 2]) -> FileRow {
    FileRow {
        path: format!("{} to {}", ends.local, ends.remote),
        system: "socket".into(),
        bytes: [received, sent],
        calls: [0; 2],
        blocks: Vec::new(),
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
        self.open = seen.iter().filter(|one| self.moved(one)).map(|one| one.ends).collect();
    }

    /// Takes in what a connection has moved; true when it is one of ours.
    fn moved(&mut self, one: &Seen) -> bool {
        let ours = self.ours.get_mut(&one.ends);
        ours.map(|moved| *moved = [moved[0].max(one.sent), moved[1].max(one.received)]).is_some()
    }

    /// Takes in what connections have moved that are gone.
    fn bury(&mut self) {
        let gone = self.endings.as_mut().map_or_else(Vec::new, Endings::take);
        for one in &gone {
            // A look tells a connection's state as it was before the counts: one that was closed between the
            // two has a byte more. The end is without it.
            if let Some(moved) = self.ours.get_mut(&one.ends) {
                *moved = [one.sent, one.received];
            }
            self.open.remove(&one.ends);
        }
    }

    /// The kernel tells of an end a moment after the process's. What lives on keeps its connections.
    fn wait_for_ends(&mut self, tree: &Tree) {
        let begun = Instant::now();
        self.bury();
        if !self.open.is_empty() && self.refused.is_none() {
            let kept = sockets_of(tree);
            for one in connections().unwrap_or_default() {
                if self.moved(&one) && kept.contains(&one.inode) {
                    self.open.remove(&one.ends);
                }
            }
        }
        while let (Some(endings), false) = (&self.endings, self.open.is_empty()) {
            let left = LAST_ENDS.saturating_sub(begun.elapsed());
            if left.is_zero() {
                break;
            }
            endings.wait(left);
            self.bury();
        }
    }

    /// What `/proc/net/snmp` says that this network namespace has opened and accepted.
    fn made_so_far(&mut self) -> Option<u64> {
        let text = self.snmp.read(&mut self.reader, || "/proc/net/snmp".into()).ok()?;
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
        let (names, figures) = (lines.next()?, lines.next()?);
        let of = |wanted: &str| {
            let place = names.split(' ').position(|name| name == wanted)?;
            figures.split(' ').nth(place)?.parse::<u64>().ok()
        };
        Some(of("ActiveOpens")? + of("PassiveOpens")?)
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
