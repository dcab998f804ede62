//! One time axis for threads on several hosts.
//!
//! Hosts that share a boot id share their clocks. For the others the recording gives real-time clocks, which may be
//! off by milliseconds; what cannot be is a message that arrives before it was sent. Every dependency that MPI
//! guarantees, and where that is not enough every byte of a connection, bounds the offset between two hosts from one side (Duda et al., "Estimating global time in distributed
//! systems", ICDCS'87); messages both ways leave an interval, whose middle is taken. Where no constant offset fits all of
//! them, a drift is found as well ([`offset`]).

mod offset;

use crate::graph::dependency::{Dependencies, Moment};
use crate::notes::Notes;
use offset::{Bounds as Side, Line, drifting};
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
    /// Added to its times; never negative while the run lasts.
    shift: Line,
}

impl Clocks {
    /// The clocks as they were recorded.
    pub fn recorded(run: &Run) -> Clocks {
        let mut clocks = Clocks { host_of_thread: Vec::new(), hosts: Vec::new(), by_boot_id: HashMap::new() };
        let first = run.processes.iter().find(|process| process.rank == Some(0));
        for process in first.into_iter().chain(&run.processes) {
            clocks.by_boot_id.entry(process.boot_id).or_insert_with(|| {
                clocks.hosts.push(Host { name: process.host.clone(), shift: Line::default() });
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

    /// The index of the host that a thread ran on.
    pub fn host(&self, thread: usize) -> usize {
        self.host_of_thread[thread]
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
        recorded_ns
            .saturating_add_signed(self.hosts[self.host_of_thread[thread]].shift.at(recorded_ns as i64))
    }

    /// Whether `dependencies` tell of every host how its clock stands.
    pub fn can_align(&self, dependencies: &Dependencies) -> bool {
        let offsets = Bounds::of(self, &[dependencies]).spread(self.hosts.len());
        offsets.iter().all(|offset| !matches!(offset.known, Known::OneSided | Known::Unknown))
    }

    /// Whether there are clocks by which everything in `dependencies` arrived after it was sent.
    pub fn might_fit(&self, dependencies: &Dependencies) -> bool {
        let bounds = Bounds::of(self, &[dependencies]);
        let fits = |&(from, to): &(usize, usize)| {
            !matches!(bounds.step(from, to), Some((.., Known::Contradicted(_))))
        };
        bounds.lower.keys().all(fits)
    }

    /// Moves the hosts' clocks so that nothing of `dependencies` arrives before it was sent.
    pub fn align(&mut self, dependencies: &[&Dependencies], notes: &mut Notes) {
        if self.shared() {
            return;
        }
        let bounds = Bounds::of(self, dependencies);
        let offsets = bounds.spread(self.hosts.len());
        let at_ends = offsets.iter().flat_map(|offset| [0, bounds.last_ns].map(|ns| offset.line.at(ns)));
        let lowest = at_ends.min().unwrap_or(0);
        for (host, offset) in self.hosts.iter_mut().zip(&offsets) {
            host.shift = offset.line.later(lowest.saturating_neg());
            let moved_us = offset.line.ns / 1000;
            let line = format!("clock of host {} moved by {moved_us} us {}", host.name, offset.known);
            match offset.known {
                Known::Reference => {}
                Known::Within(_) | Known::Drifts(..) => notes.tell(line),
                _ => notes.remark(line),
            }
        }
    }
}

/// How well the offset of a host is known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    /// The host of rank 0, which the others are compared with.
    Reference,
    /// From messages, or bytes of connections, both ways; half the interval, nanoseconds.
    Within(u64),
    /// It grows by so many parts per million; half the width between the bounds, nanoseconds.
    Drifts(f64, u64),
    /// The bounds contradict each other by so many nanoseconds, with any drift.
    Contradicted(u64),
    /// They went one way only.
    OneSided,
    /// Nothing that tells went there.
    Unknown,
}

impl std::fmt::Display for Known {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Known::Reference => write!(out, "(the reference)"),
            Known::Within(ns) => write!(out, "(+- {:.3} us, from traffic both ways)", *ns as f64 / 1e3),
            Known::Drifts(ppm, ns) => write!(
                out,
                "at first, and {ppm:+.2} ppm (+- {:.3} us, from traffic both ways; the clocks drifted)",
                *ns as f64 / 1e3
            ),
            Known::Contradicted(ns) => write!(
                out,
                "(the clocks drifted: no offset with a constant drift fits all traffic, the closest constant one misses by {:.3} us)",
                *ns as f64 / 1e3
            ),
            Known::OneSided => write!(out, "(traffic went one way only: a bound, not an interval)"),
            Known::Unknown => write!(out, "(no traffic that tells: real-time clocks as recorded)"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Offset {
    line: Line,
    known: Known,
}

/// By (a, b): the offset of b is at least the offset of a plus this, at times of a.
struct Bounds {
    lower: HashMap<(usize, usize), Side>,
    /// The latest time, nanoseconds.
    last_ns: i64,
}

impl Bounds {
    fn of(clocks: &Clocks, dependencies: &[&Dependencies]) -> Bounds {
        let mut bounds = Bounds { lower: HashMap::new(), last_ns: 0 };
        dependencies.iter().for_each(|dependencies| bounds.add(clocks, dependencies));
        bounds
    }

    fn add(&mut self, clocks: &Clocks, dependencies: &Dependencies) {
        let host = |moment: &Moment| clocks.host_of_thread[moment.point().thread as usize];
        let (mut latest, mut earliest) = (BTreeMap::new(), BTreeMap::new());
        let certain = |rule| matches!(rule, Rule::Message | Rule::Collective | Rule::Socket);
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
                    self.lower.entry((from, to)).or_default().add(source as i64, least);
                    self.last_ns = self.last_ns.max(source as i64);
                }
            }
        }
    }

    /// From the first host outwards, always over the pair whose interval is narrowest (Prim's algorithm).
    fn spread(&self, hosts: usize) -> Vec<Offset> {
        let unknown = Offset { line: Line::default(), known: Known::Unknown };
        let mut offsets = vec![unknown; hosts];
        offsets[0].known = Known::Reference;
        // By host that has no place yet: class and width of its narrowest interval, from where, and the offset by it.
        let mut nearest: Vec<Option<(u8, u64, usize, Offset)>> = vec![None; hosts];
        let mut left: Vec<usize> = (1..hosts).collect();
        let mut placed = 0;
        loop {
            for &to in &left {
                let Some((class, width, line, known)) = self.step(placed, to) else { continue };
                if nearest[to].is_none_or(|(c, w, from, _)| (class, width, placed) < (c, w, from)) {
                    let line = offsets[placed].line.beyond(line);
                    nearest[to] = Some((class, width, placed, Offset { line, known }));
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
    fn step(&self, from: usize, to: usize) -> Option<(u8, u64, Line, Known)> {
        let least = |one, other| self.lower.get(&(one, other)).and_then(Side::most);
        let constant = |ns| Line { ns, drift: 0.0 };
        match (least(from, to), least(to, from)) {
            (Some(least), Some(back)) => {
                let most = back.saturating_neg();
                let middle = least.midpoint(most);
                let width = most.abs_diff(least);
                if least <= most {
                    return Some((0, width, constant(middle), Known::Within(width / 2)));
                }
                let fitting = drifting(&self.lower[&(from, to)], &self.lower[&(to, from)]);
                Some(
                    fitting.map_or(
                        (0, width, constant(middle), Known::Contradicted(width / 2)),
                        |(line, half)| (0, 2 * half, line, Known::Drifts(line.drift * 1e6, half)),
                    ),
                )
            }
            (Some(least), None) => Some((1, 0, constant(least.max(0)), Known::OneSided)),
            (None, Some(back)) => Some((1, 0, constant(back.saturating_neg().min(0)), Known::OneSided)),
            (None, None) => None,
        }
    }
}
