use super::*;
use crate::graph::dependency::Point;
use crate::random::Random;
use crate::rules::waking::tests::{records, span};
use std::collections::BTreeMap;

/// With more threads more of them are preempted behind a change at a time.
const THREADS: [usize; 2] = [4, 24];
const TURNS: u32 = 30;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Lock,
    Unlock,
    Look,
    /// Renames a file of its own over it.
    Replace,
    Open,
}

/// A thread on its way: what it does next, and when.
struct Thread {
    enter_ns: u64,
    at_ns: u64,
    act: Act,
    record: u32,
    turns: u32,
}

/// A call, and which file the name led to when it took effect; 0 if none.
#[derive(Clone, Copy, Debug)]
struct Done {
    act: Act,
    span: Span,
    found: Inode,
    /// Where it puts a file there, which one.
    puts: Inode,
}

impl Done {
    fn changes(&self) -> bool {
        matches!(self.act, Act::Unlock | Act::Replace) || self.act == Act::Lock && self.found == 0
    }

    /// What the name leads to behind it.
    fn leaves(&self) -> Inode {
        match self.act {
            Act::Unlock => 0,
            _ if self.changes() => self.puts,
            _ => self.found,
        }
    }

    /// Whether it would have found what it found.
    fn finds(&self, there: Inode) -> bool {
        match self.act {
            Act::Open => there == self.found,
            Act::Replace => true,
            _ => (there == 0) == (self.found == 0),
        }
    }
}

/// Threads use a name as a lock; some look at it in between. In the order of their effects, which is the true one.
fn history(random: &mut Random, threads: usize, exists: bool, looks: bool) -> Vec<Done> {
    let mut history: Vec<Done> = Vec::new();
    let start = |_| {
        // Calls that overlap at the very beginning do not show which came first: one is over before others begin.
        let enter_ns = if exists { 2 } else { 0 };
        Thread { enter_ns, at_ns: enter_ns + random.time_ns(), act: Act::Lock, record: 0, turns: 0 }
    };
    let mut threads: Vec<Thread> = (0..threads).map(start).collect();
    let mut there = Inode::from(exists);
    if exists {
        threads[0] = Thread { enter_ns: 0, at_ns: 1, act: Act::Unlock, record: 0, turns: 0 };
    }
    while let Some((number, thread)) = (0..)
        .zip(&mut threads)
        .filter(|(_, thread)| thread.turns < TURNS)
        .min_by_key(|(_, thread)| thread.at_ns)
    {
        let Thread { enter_ns, at_ns, act, record, .. } = *thread;
        let is_first = act == Act::Unlock && record == 0;
        let leave_ns = at_ns + if is_first { 1 } else { random.time_ns() };
        let puts = history.len() as Inode + 2;
        let done = Done { act, span: span(number, record, enter_ns, leave_ns), found: there, puts };
        there = done.leaves();
        history.push(done);
        thread.act = match act {
            Act::Lock if !done.changes() => Act::Lock,
            Act::Lock => Act::Unlock,
            _ if looks && random.below(4) == 0 => Act::Look,
            _ => Act::Lock,
        };
        thread.turns += u32::from(act == Act::Unlock);
        thread.record += 1;
        thread.enter_ns = leave_ns + 1 + random.below(8);
        thread.at_ns = thread.enter_ns + random.time_ns();
    }
    history
}

/// What is found of calls that are seen in the order of their returns.
fn followed(history: &[Done], threads: usize) -> (Dependencies, EndedPolls, Option<bool>) {
    let mut by_return: Vec<&Done> = history.iter().collect();
    by_return.sort_by_key(|done| done.span.leave.ns);
    let (mut polls, mut found) = (Polls::new(threads), Dependencies::default());
    let (mut existence, mut asking) = (Existence::default(), vec![false; threads]);
    for done in by_return {
        let asks = &mut asking[done.span.enter.point().thread as usize];
        match (done.act, done.found != 0) {
            (Act::Lock, true) => {
                if !std::mem::replace(asks, true) {
                    polls.begin(done.span.enter, &mut found);
                }
                existence.find(done.span, true, 0, &mut polls, &mut found);
            }
            (Act::Lock, false) => {
                if std::mem::take(asks) {
                    polls.succeed(done.span.enter);
                }
                existence.change(done.span, Some(false), true, 0, &mut polls, &mut found);
            }
            (Act::Unlock, _) => {
                existence.change(done.span, Some(true), false, 0, &mut polls, &mut found);
            }
            (Act::Look, exists) => existence.find(done.span, exists, 0, &mut polls, &mut found),
            (Act::Open, exists) => existence.find(done.span, exists, done.found, &mut polls, &mut found),
            (Act::Replace, _) => {
                existence.change(done.span, None, true, done.puts, &mut polls, &mut found);
            }
        }
    }
    let ended = polls.finish(&mut found);
    (found, ended, existence.corrected())
}

/// Whether every call finds what it found where threads go on in any order that dependencies allow, and the name is at first as
/// the first call to return has found it, if that is not corrected.
fn replayed(
    history: &[Done],
    (found, ended, corrected): &(Dependencies, EndedPolls, Option<bool>),
    random: &mut Random,
) -> bool {
    let mut calls: Vec<Vec<&Done>> = vec![Vec::new(); ended.len()];
    history.iter().for_each(|done| calls[done.span.enter.point().thread as usize].push(done));
    let mut awaited: BTreeMap<Point, Vec<Point>> = BTreeMap::new();
    for index in 0..found.len() {
        awaited.entry(found.targets(index)[0].point()).or_default().push(found.sources(index)[0].point());
    }
    let first = history.iter().min_by_key(|done| done.span.leave.ns).expect("there are calls").found;
    let mut there = corrected.map_or(first, Inode::from);
    let mut next = vec![0; calls.len()];
    loop {
        let is_left = |&thread: &usize| next[thread] < calls[thread].len();
        let can_go_on = |&thread: &usize| {
            let sources = awaited.get(&calls[thread][next[thread]].span.enter.point());
            let is_over = |source: &Point| (source.record as usize) < next[source.thread as usize];
            sources.is_none_or(|sources| sources.iter().all(is_over))
        };
        let left: Vec<usize> = (0..calls.len()).filter(is_left).collect();
        let ready: Vec<usize> = left.iter().copied().filter(can_go_on).collect();
        if ready.is_empty() {
            return left.is_empty();
        }
        let thread = ready[random.below(ready.len() as u64) as usize];
        let done = calls[thread][next[thread]];
        next[thread] += 1;
        if is_failed_poll(&ended[thread], done.span.enter.point().record) {
            continue;
        }
        if !done.finds(there) {
            return false;
        }
        if done.changes() {
            there = done.leaves();
        }
    }
}

#[test]
fn calls_find_again_what_they_found_however_late_they_return() {
    for seed in 0..400 {
        let mut random = Random(seed);
        let threads = THREADS[usize::from(seed % 20 == 0)];
        let history = history(&mut random, threads, seed % 2 == 1, seed % 3 == 0);
        let followed = followed(&history, threads);
        for _ in 0..5 {
            assert!(replayed(&history, &followed, &mut random), "seed {seed}");
        }
    }
}

/// One thread renames files over a name that others open. In the order of their effects.
fn replacements(random: &mut Random) -> Vec<Done> {
    // The first open is over before the others begin: what was there is known.
    let mut history = vec![Done { act: Act::Open, span: span(1, 0, 0, 1), found: 1, puts: 0 }];
    let mut calls: Vec<(u64, Act, Span)> = Vec::new();
    for (number, act) in (0..).zip([Act::Replace, Act::Open, Act::Open, Act::Open]) {
        let mut enter_ns = 2 + random.below(8);
        // The first one of thread 1 is that from before.
        let first = u32::from(number == 1);
        for record in first..first + TURNS {
            let at_ns = enter_ns + random.time_ns();
            let leave_ns = at_ns + random.time_ns();
            calls.push((at_ns, act, span(number, record, enter_ns, leave_ns)));
            enter_ns = leave_ns + 1 + random.below(8);
        }
    }
    calls.sort_by_key(|(at_ns, ..)| *at_ns);
    for (_, act, span) in calls {
        let found = history[history.len() - 1].leaves();
        history.push(Done { act, span, found, puts: history.len() as Inode + 2 });
    }
    history
}

#[test]
fn opens_find_again_the_file_that_was_renamed_there_however_late_renames_return() {
    for seed in 0..400 {
        let mut random = Random(seed);
        let history = replacements(&mut random);
        let followed = followed(&history, 4);
        for _ in 0..5 {
            assert!(replayed(&history, &followed, &mut random), "seed {seed}");
        }
    }
}

#[test]
fn what_the_first_calls_to_return_found_may_have_been_made_or_removed_by_one_that_returns_later() {
    for exists in [false, true] {
        let changes = if exists { Act::Unlock } else { Act::Lock };
        let change = Done { act: changes, span: span(0, 1, 10, 50), found: exists.into(), puts: 2 };
        let other = Done { act: Act::Look, span: span(1, 7, 30, 35), found: (!exists).into(), puts: 3 };
        let (found, _, corrected) = followed(&[change, other], 2);
        assert_eq!(records(&found), [(1, 7)]);
        assert_eq!(corrected, Some(exists));
    }
}
