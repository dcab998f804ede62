//! Locks of all kinds, in histories made by chance.

use crate::graph::dependency::{Dependencies, Point, Span};
use crate::random::Random;
use crate::rules::file_lock::{self, FileLocks, Locking};
use crate::rules::mutex::{self, Awaited, Mutex, Wait};
use crate::rules::rwlock::{self, Rwlock};
use crate::rules::waking::tests::span;
use std::collections::BTreeMap;

const TURNS: u32 = 20;
/// So that it is long until a lock is given back: then its order is not chance.
const UNIT_NS: u64 = 100_000;

/// A call that locks, and the one that gives the lock back.
#[derive(Clone, Copy, Debug)]
struct Turn {
    shared: bool,
    lock: Span,
    /// When the lock was asked for in it, and had.
    asked_ns: u64,
    had_ns: u64,
    unlock: Span,
    given_back_ns: u64,
    /// Somebody waited then.
    is_awaited: bool,
}

impl Turn {
    fn waited(&self) -> bool {
        self.asked_ns < self.had_ns
    }

    /// Whether `other` waited for this one to give the lock back, and that is on record. While who waited is on the way to ask again,
    /// nobody waits, and who has the lock in between leaves no record.
    fn kept_out(&self, other: &Turn) -> bool {
        let meanwhile = other.asked_ns < self.given_back_ns && self.given_back_ns < other.had_ns;
        meanwhile && self.is_awaited && !(self.shared && other.shared)
    }
}

/// A thread on its way: in the call that locks, in front of the one that gives back, or in front of the end of that.
#[derive(Clone, Copy)]
enum Way {
    Asks { enter_ns: u64, asked_ns: Option<u64>, shared: bool },
    Unlocks { turn: usize },
}

struct Thread {
    at_ns: u64,
    way: Way,
    is_blocked: bool,
    turns: u32,
}

/// Who shares the lock.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sharing {
    Nobody,
    /// Every second thread.
    Some,
    /// All threads, now and then.
    All,
}

/// Threads take a lock by turns, and whoever comes first when it is given back has it: in the order in which they got it.
fn history(random: &mut Random, threads: u64, sharing: Sharing) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut held: Vec<usize> = Vec::new();
    let asks = |random: &mut Random, number: usize, enter_ns, done| {
        let shared = match sharing {
            Sharing::Nobody => false,
            Sharing::Some => number.is_multiple_of(2),
            Sharing::All => random.below(2) == 0,
        };
        let way = Way::Asks { enter_ns, asked_ns: None, shared };
        Thread { at_ns: enter_ns + random.time_ns(), way, is_blocked: false, turns: done }
    };
    let mut all: Vec<Thread> =
        (0..threads as usize).map(|number| asks(random, number, number as u64, 0)).collect();
    while let Some(number) = (0..all.len())
        .filter(|&number| all[number].turns < TURNS && !all[number].is_blocked)
        .min_by_key(|&number| (all[number].at_ns, number))
    {
        let Thread { at_ns, way, turns: done, .. } = all[number];
        match way {
            Way::Asks { enter_ns, asked_ns, shared } => {
                let asked_ns = asked_ns.unwrap_or(at_ns);
                if held.iter().any(|&holder| !(shared && turns[holder].shared)) {
                    all[number].way = Way::Asks { enter_ns, asked_ns: Some(asked_ns), shared };
                    all[number].is_blocked = true;
                    continue;
                }
                let leave_ns = at_ns + random.time_ns();
                let unlock_ns = leave_ns + 1 + random.below(20);
                held.push(turns.len());
                all[number].way = Way::Unlocks { turn: turns.len() };
                all[number].at_ns = unlock_ns + random.time_ns();
                let lock = span(number as u32, 2 * done, enter_ns * UNIT_NS, leave_ns * UNIT_NS);
                // When it returns is known when it has given the lock back.
                let unlock = span(number as u32, 2 * done + 1, unlock_ns * UNIT_NS, u64::MAX);
                let given_back_ns = u64::MAX;
                turns.push(Turn {
                    shared,
                    lock,
                    asked_ns,
                    had_ns: at_ns,
                    unlock,
                    given_back_ns,
                    is_awaited: false,
                });
            }
            Way::Unlocks { turn } => {
                held.retain(|&holder| holder != turn);
                let leave_ns = at_ns + random.time_ns();
                let Turn { unlock, given_back_ns, is_awaited, .. } = &mut turns[turn];
                *given_back_ns = at_ns;
                unlock.leave.ns = leave_ns * UNIT_NS;
                *is_awaited = all.iter().any(|thread| thread.is_blocked);
                for thread in all.iter_mut().filter(|thread| thread.is_blocked) {
                    (thread.is_blocked, thread.at_ns) = (false, at_ns + 1 + random.below(10));
                }
                let enter_ns = leave_ns + 1 + random.below(20);
                all[number] = asks(random, number, enter_ns, done + 1);
            }
        }
    }
    turns
}

fn as_file_locks(turns: &[Turn], found: &mut Dependencies) {
    let locking = |span, turn: &Turn| Locking { span, bytes: 0..1, shared: turn.shared };
    let release =
        |turn: &Turn| file_lock::Release { locking: locking(turn.unlock, turn), waited: Some(turn.lock) };
    let waits = turns.iter().map(|turn| locking(turn.lock, turn)).collect();
    file_lock::connect(FileLocks { waits, releases: turns.iter().map(release).collect() }, found);
}

/// Only what somebody waited for is on record.
fn as_rwlock(turns: &[Turn], found: &mut Dependencies) {
    let mut calls: Vec<(Span, &Turn, bool)> = Vec::new();
    calls.extend(turns.iter().filter(|turn| turn.waited()).map(|turn| (turn.lock, turn, true)));
    calls.extend(turns.iter().filter(|turn| turn.is_awaited).map(|turn| (turn.unlock, turn, false)));
    calls.sort_by_key(|(span, ..)| span.leave.ns);
    let mut lock = Rwlock::default();
    for (span, turn, locks) in calls {
        match (locks, turn.shared) {
            (true, true) => lock.read(span),
            (true, false) => lock.write(span),
            (false, _) => lock.release(span),
        }
    }
    rwlock::connect(lock, found);
}

fn as_mutex(turns: &[Turn], found: &mut Dependencies) {
    let waits = turns.iter().filter(|turn| turn.waited());
    let waits = waits.map(|turn| Wait { span: turn.lock, awaited: Awaited::Mutex }).collect();
    let releases = turns.iter().filter(|turn| turn.is_awaited).map(|turn| mutex::Release {
        span: turn.unlock,
        behind_ns: 0,
        behind_sync: false,
        awaits_condition: false,
    });
    mutex::connect(Mutex { waits, releases: releases.collect() }, &mutex::Woken::new(), found);
}

/// A rule, given what is on record of some turns.
type Connect = fn(&[Turn], &mut Dependencies);

/// Whether all that gave the lock back while somebody waited for it do so first, where threads go on in any order that dependencies
/// allow.
fn stays_in_order(turns: &[Turn], found: &Dependencies, threads: u64, random: &mut Random) -> bool {
    let mut awaited: BTreeMap<Point, Vec<Point>> = BTreeMap::new();
    let mut by_chance = Vec::new();
    for index in 0..found.len() {
        let (source, target) = (found.sources(index)[0].point(), found.targets(index)[0].point());
        match found.is_chance(index) {
            true => by_chance.push(target),
            false => awaited.entry(target).or_default().push(source),
        }
    }
    let mut calls: Vec<Vec<(usize, Span)>> = vec![Vec::new(); threads as usize];
    for (index, turn) in turns.iter().enumerate() {
        let of_thread = &mut calls[turn.lock.enter.point().thread as usize];
        of_thread.extend([(index, turn.lock), (index, turn.unlock)]);
    }
    // By thread: how many calls are entered, and how many are over.
    let mut entered = vec![0; calls.len()];
    let mut over = entered.clone();
    let mut is_given_back = vec![false; turns.len()];
    loop {
        let can_go_on = |&thread: &usize| {
            let Some((_, call)) = calls[thread].get(over[thread]) else { return false };
            let has_begun = |source: &Point| (source.record as usize) < entered[source.thread as usize];
            let sources = awaited.get(&call.leave.point()).filter(|_| entered[thread] > over[thread]);
            sources.is_none_or(|sources| sources.iter().all(has_begun))
        };
        let ready: Vec<usize> = (0..calls.len()).filter(can_go_on).collect();
        if ready.is_empty() {
            return over.iter().zip(&calls).all(|(&over, calls)| over == calls.len());
        }
        let thread = ready[random.below(ready.len() as u64) as usize];
        let (turn, call) = calls[thread][over[thread]];
        let is_unlock = over[thread] % 2 == 1;
        if entered[thread] == over[thread] {
            entered[thread] += 1;
            is_given_back[turn] |= is_unlock;
            continue;
        }
        over[thread] += 1;
        let waits = !is_unlock && !by_chance.contains(&call.leave.point());
        let is_missing =
            |(other, is_given_back): (&Turn, &bool)| other.kept_out(&turns[turn]) && !is_given_back;
        if waits && turns.iter().zip(&is_given_back).any(is_missing) {
            return false;
        }
    }
}

#[test]
fn who_waited_for_a_lock_waits_for_all_that_had_it_meanwhile() {
    // What a thread does that reads and writes under a read-write lock is not known to be the one or the other: README's Limits.
    let kinds: [(&str, Sharing, Connect); 4] = [
        ("file lock", Sharing::Nobody, as_file_locks),
        ("shared file lock", Sharing::All, as_file_locks),
        ("read-write lock", Sharing::Some, as_rwlock),
        ("mutex", Sharing::Nobody, as_mutex),
    ];
    for (kind, sharing, connect) in kinds {
        let (mut orders, mut waits) = (0, 0);
        for seed in 0..300 {
            let mut random = Random(seed);
            let threads = [2, 4, 9][seed as usize % 3];
            let mut turns = history(&mut random, threads, sharing);
            // Every call about a file is on record.
            turns.iter_mut().for_each(|turn| turn.is_awaited |= kind.ends_with("file lock"));
            let mut found = Dependencies::default();
            connect(&turns, &mut found);
            orders += (0..found.len()).filter(|&index| !found.is_chance(index)).count();
            waits += turns.iter().filter(|turn| turn.waited()).count();
            for _ in 0..3 {
                assert!(stays_in_order(&turns, &found, threads, &mut random), "{kind}, seed {seed}");
            }
        }
        assert!(waits > 0 && orders < 2 * waits, "{kind}: {orders} dependencies for {waits} waits");
    }
}

#[test]
fn who_is_overtaken_very_often_comes_behind_the_last() {
    const COUNT: u32 = 200_000;
    let lock = |nth: u32| Turn {
        shared: false,
        lock: span(1 + nth % 2, 2 * nth, u64::from(nth) * 10 + 1, u64::from(nth) * 10 + 15),
        asked_ns: 0,
        had_ns: 0,
        unlock: span(1 + nth % 2, 2 * nth + 1, u64::from(nth) * 10 + 20, u64::from(nth) * 10 + 22),
        given_back_ns: 0,
        is_awaited: true,
    };
    let turns: Vec<Turn> = (0..COUNT).map(lock).collect();
    let starved = span(0, 1, 0, u64::from(COUNT) * 10 + 50);
    let mut locks = FileLocks::default();
    locks.waits.push(Locking { span: starved, bytes: 0..1, shared: false });
    locks.releases.extend(turns.iter().map(|turn| file_lock::Release {
        locking: Locking { span: turn.unlock, bytes: 0..1, shared: false },
        waited: Some(turn.lock),
    }));
    let mut found = Dependencies::default();
    file_lock::connect(locks, &mut found);
    assert_eq!(found.len(), 1, "all others come before that one");
}
