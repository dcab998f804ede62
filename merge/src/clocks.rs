//! One time axis for threads on several hosts.
//!
//! Hosts that share a boot id share their clocks. For the others the recording gives real-time clocks, which may be
//! off by milliseconds; what cannot be is a message that arrives before it was sent. Every dependency that MPI
//! guarantees bounds the offset between two hosts from one side (Duda et al., "Estimating global time in distributed
//! systems", ICDCS'87); messages both ways leave an interval, whose middle is taken.

use crate::graph::dependency::{Dependencies, Moment};
use crate::notes::Notes;
use std::collections::{BTreeMap, HashMap};
use syn_plan::Rule;
use syn_trace::Run;

/// Which host every thread ran on, and how its clock is moved.
#[derive(Debug)]
pub struct Clocks {
    host_of_thread: Vec<usize>,
    hosts: Vec<Host>,
    by_boot_id: HashMap<[u8; 16], usize>,
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Added to its times, nanoseconds; never negative.
    shift_ns: i64,
}

impl Clocks {
    /// The clocks as they were recorded.
    pub fn recorded(run: &Run) -> Clocks {
        let mut clocks = Clocks { host_of_thread: Vec::new(), hosts: Vec::new(), by_boot_id: HashMap::new() };
        let first = run.processes.iter().find(|process| process.rank == Some(0));
        for process in first.into_iter().chain(&run.processes) {
            clocks.by_boot_id.entry(process.boot_id).or_insert_with(|| {
                clocks.hosts.push(Host { name: process.host.clone(), shift_ns: 0 });
                clocks.hosts.len() - 1
            });
        }
        clocks.host_of_thread =
            run.threads.iter().map(|thread| clocks.host_of(&run.processes[thread.process].boot_id)).collect();
        clocks
    }

    /// The hosts, first the one of rank 0.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// True when all threads share one clock.
    pub fn shared(&self) -> bool {
        self.hosts.len() <= 1
    }

    /// The index of the host with this boot id.
    pub fn host_of(&self, boot_id: &[u8; 16]) -> usize {
        self.by_boot_id.get(boot_id).copied().unwrap_or(0)
    }

    /// A thread's time on the common axis.
    #[inline]
    pub fn ns(&self, thread: usize, recorded_ns: u64) -> u64 {
        recorded_ns.saturating_add_signed(self.hosts[self.host_of_thread[thread]].shift_ns)
    }

    /// Moves the hosts' clocks so that no message of `dependencies` arrives before it was sent.
    pub fn align(&mut self, dependencies: &Dependencies, notes: &mut Notes) {
        if self.shared() {
            return;
        }
        let offsets = Bounds::of(self, dependencies).spread(self.hosts.len());
        let lowest = offsets.iter().map(|offset| offset.ns).min().unwrap_or(0);
        for (host, offset) in self.hosts.iter_mut().zip(&offsets) {
            host.shift_ns = offset.ns.saturating_sub(lowest);
            let line =
                format!("clock of host {} moved by {} us {}", host.name, offset.ns / 1000, offset.known);
            match offset.known {
                Known::Reference => {}
                Known::Within(_) => notes.tell(line),
                _ => notes.remark(line),
            }
        }
    }
}

/// How well the offset of a host is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// The host of rank 0, which the others are compared with.
    Reference,
    /// From messages both ways; half the interval, nanoseconds.
    Within(u64),
    /// The bounds contradict each other by so many nanoseconds: the clocks drifted.
    Contradicted(u64),
    /// Messages went one way only.
    OneSided,
    /// No message went there.
    Unknown,
}

impl std::fmt::Display for Known {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Known::Reference => write!(out, "(the reference)"),
            Known::Within(ns) => write!(out, "(+- {:.3} us, from messages both ways)", *ns as f64 / 1e3),
            Known::Contradicted(ns) => write!(
                out,
                "(the clocks drifted: no constant offset fits all messages, the closest misses by {:.3} us)",
                *ns as f64 / 1e3
            ),
            Known::OneSided => write!(out, "(messages went one way only: a bound, not an interval)"),
            Known::Unknown => write!(out, "(no messages: real-time clocks as recorded)"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Offset {
    ns: i64,
    known: Known,
}

/// By (a, b): the offset of b is at least the offset of a plus this, nanoseconds.
struct Bounds {
    lower: HashMap<(usize, usize), i64>,
}

impl Bounds {
    fn of(clocks: &Clocks, dependencies: &Dependencies) -> Bounds {
        let mut bounds = Bounds { lower: HashMap::new() };
        let host = |moment: &Moment| clocks.host_of_thread[moment.point().thread as usize];
        let (mut latest, mut earliest) = (BTreeMap::new(), BTreeMap::new());
        let certain = |rule| matches!(rule, Rule::Message | Rule::Collective);
        for index in (0..dependencies.len()).filter(|&index| certain(dependencies.rule(index))) {
            latest.clear();
            earliest.clear();
            for source in dependencies.sources(index) {
                let ns = latest.entry(host(source)).or_insert(source.ns);
                *ns = source.ns.max(*ns);
            }
            for target in dependencies.targets(index) {
                let ns = earliest.entry(host(target)).or_insert(target.ns);
                *ns = target.ns.min(*ns);
            }
            for (&from, &source) in &latest {
                for (&to, &target) in earliest.iter().filter(|&(&to, _)| to != from) {
                    let least = (source as i64).wrapping_sub(target as i64);
                    let bound = bounds.lower.entry((from, to)).or_insert(least);
                    *bound = least.max(*bound);
                }
            }
        }
        bounds
    }

    /// From the first host outwards, always over the pair whose interval is narrowest (Prim's algorithm).
    fn spread(&self, hosts: usize) -> Vec<Offset> {
        let unknown = Offset { ns: 0, known: Known::Unknown };
        let mut offsets = vec![unknown; hosts];
        offsets[0].known = Known::Reference;
        // By host that has no place yet: class and width of its narrowest interval, from where, and the offset by it.
        let mut nearest: Vec<Option<(u8, u64, usize, Offset)>> = vec![None; hosts];
        let mut left: Vec<usize> = (1..hosts).collect();
        let mut placed = 0;
        loop {
            for &to in &left {
                let Some((class, width, ns, known)) = self.step(placed, to) else { continue };
                if nearest[to].is_none_or(|(c, w, from, _)| (class, width, placed) < (c, w, from)) {
                    let ns = offsets[placed].ns.saturating_add(ns);
                    nearest[to] = Some((class, width, placed, Offset { ns, known }));
                }
            }
            let found =
                left.iter().filter_map(|&to| nearest[to].map(|(class, width, ..)| (class, width, to)));
            let Some((_, _, host)) = found.min() else { return offsets };
            if let Some((.., offset)) = nearest[host] {
                offsets[host] = offset;
            }
            left.retain(|&other| other != host);
            placed = host;
        }
    }

    /// The offset of `to` relative to `from`, with the width of its interval; intervals come before single bounds.
    fn step(&self, from: usize, to: usize) -> Option<(u8, u64, i64, Known)> {
        let least = |one, other| self.lower.get(&(one, other)).copied();
        match (least(from, to), least(to, from)) {
            (Some(least), Some(back)) => {
                let most = back.saturating_neg();
                let middle = least.midpoint(most);
                let width = most.abs_diff(least);
                let known =
                    if least <= most { Known::Within(width / 2) } else { Known::Contradicted(width / 2) };
                Some((0, width, middle, known))
            }
            (Some(least), None) => Some((1, 0, least.max(0), Known::OneSided)),
            (None, Some(back)) => Some((1, 0, back.saturating_neg().min(0), Known::OneSided)),
            (None, None) => None,
        }
    }
}
