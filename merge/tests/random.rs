//! Runs made at random, in which everything that MPI guarantees holds: whatever comes of them can be replayed, and no
//! message is lost, also when the clocks of the hosts make no sense.

mod common;

use std::fmt::Write;
use syn_merge::{Options, merge};
use syn_plan::Rule;

/// A linear congruential generator (Knuth, MMIX): the same runs everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A run under construction: what every rank has done, and its own time.
struct Play {
    ranks: Vec<(u64, String)>,
    messages: u64,
}

impl Play {
    fn act(&mut self, rank: usize, took_ns: u64, call: &str) -> u64 {
        let (now, text) = &mut self.ranks[rank];
        *now += 100;
        let start = *now;
        writeln!(text, "  {start} +{took_ns} {call}").unwrap();
        *now += took_ns;
        start
    }

    fn message(&mut self, dice: &mut Dice, from: usize, to: usize) {
        let (tag, long) = (dice.below(3), dice.below(4) == 0);
        let bytes = if long { 100_000 } else { 8 };
        let wild = dice.below(2) == 0;
        let posted = self.ranks[to].0 + 100;
        let sent = self.ranks[from].0 + 100;
        // A long send may return before its receive is posted, or after.
        let send_took = if long && dice.below(2) == 0 { posted.saturating_sub(sent) + 50 } else { 20 };
        self.act(from, send_took, &format!("MPI_Send bytes={bytes} dest={to} tag={tag} comm=1"));
        let (source, asked) = if wild { (-1, -1) } else { (from as i64, tag as i64) };
        let took = sent.saturating_sub(posted) + 30;
        let matched = format!("matched_source={from} matched_tag={tag} matched_bytes={bytes}");
        self.act(to, took, &format!("MPI_Recv bytes={bytes} source={source} tag={asked} comm=1 {matched}"));
        self.messages += 1;
    }

    fn barrier(&mut self) {
        let last = self.ranks.iter().map(|rank| rank.0).max().unwrap() + 100;
        for rank in 0..self.ranks.len() {
            let took = last - (self.ranks[rank].0 + 100) + 10;
            self.act(rank, took, "MPI_Barrier root=-2 comm=1");
        }
    }
}

fn play(seed: u64, ranks: usize, skews: &[u64]) -> (String, u64) {
    let mut dice = Dice(seed);
    let mut play = Play { ranks: vec![(0, String::new()); ranks], messages: 0 };
    for rank in 0..ranks {
        play.act(rank, 10, "open flags=0o102 mode=0o600 st_mode=0o100600 pathname=/w/shared = 3");
    }
    for _ in 0..200 {
        let rank = dice.below(ranks as u64) as usize;
        let other = (rank + 1 + dice.below(ranks as u64 - 1) as usize) % ranks;
        let offset = dice.below(8) * 64;
        match dice.below(8) {
            0..=3 => play.message(&mut dice, rank, other),
            4 => drop(play.act(rank, 30, &format!("pwrite fd=3 count=64 offset={offset}"))),
            5 | 6 => drop(play.act(rank, 30, &format!("pread fd=3 count=64 offset={offset}"))),
            _ => play.barrier(),
        }
    }
    let mut text = String::new();
    for (rank, (_, calls)) in play.ranks.iter().enumerate() {
        let skew = skews[rank % skews.len()];
        writeln!(text, "thread rank={rank}/{ranks} pid={} host=h{}", 10 + rank, rank % skews.len()).unwrap();
        for line in calls.lines() {
            let (start, rest) = line.trim().split_once(' ').unwrap();
            writeln!(text, "  {} {rest}", start.parse::<u64>().unwrap() + skew).unwrap();
        }
    }
    (text, play.messages)
}

fn check(seed: u64, ranks: usize, skews: &[u64]) {
    let (text, messages) = play(seed, ranks, skews);
    let folder = tempfile::tempdir().unwrap();
    common::write_run(&text, folder.path());
    let merged = merge(&Options { runs: vec![folder.path().to_owned()], ..Options::default() }).unwrap();
    merged.plan.check().unwrap_or_else(|fault| panic!("seed {seed}, {ranks} ranks: {fault}"));
    let found = merged.counts.get(&Rule::Message).map_or(0, |count| count.found);
    assert_eq!(found, messages, "seed {seed}: every message is matched once");
    let lost = merged
        .notes
        .remarks
        .iter()
        .find(|remark| remark.contains("messages were") || remark.contains("operations were"));
    assert_eq!(lost, None, "seed {seed}");
}

#[test]
fn plans_of_random_runs_can_be_replayed() {
    for seed in 0..60 {
        check(seed, 2 + seed as usize % 5, &[0]);
    }
}

#[test]
fn also_with_clocks_that_differ() {
    for seed in 0..40 {
        check(seed, 2 + seed as usize % 5, &[5_000_000, 0, 9_000_000]);
    }
}

/// Whatever stands in a damaged trace, the merge ends with an error or with a plan that can be replayed.
#[test]
fn damaged_traces_do_no_harm() {
    for seed in 0..150 {
        let (text, _) = play(seed, 3, &[0]);
        let folder = tempfile::tempdir().unwrap();
        common::write_run(&text, folder.path());
        let mut dice = Dice(seed);
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let mut bytes = std::fs::read(&path).unwrap();
            for _ in 0..1 + dice.below(6) {
                // The magic and the version stay as they are.
                let place = 16 + dice.below(bytes.len() as u64 - 16) as usize;
                bytes[place] = dice.below(256) as u8;
            }
            std::fs::write(&path, bytes).unwrap();
        }
        let options = Options { runs: vec![folder.path().to_owned()], partial: true, ..Options::default() };
        if let Ok(merged) = merge(&options) {
            merged.plan.check().unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
        }
    }
}
