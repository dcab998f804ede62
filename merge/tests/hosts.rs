//! Hosts whose clocks differ: nothing is concluded from that.

mod common;
mod place;

use place::Place;
use std::path::{Path, PathBuf};
use syn_merge::{Merged, Options, merge};
use syn_plan::Rule;

const MS: u64 = 1_000_000;

fn merged(runs: &[&Path]) -> Merged {
    merge(&Options { runs: runs.iter().map(|&run| run.to_owned()).collect(), ..Options::default() }).unwrap()
}

/// Two ranks on two hosts, the other host's clock ahead, that begin at once and send each other messages at these times; and
/// what else each does.
fn ranks(ahead: u64, meet: &[u64], also: [&dyn Fn(u64) -> String; 2]) -> String {
    let mut text = String::new();
    for rank in 0..2 {
        let (since, other) = (ahead * rank, 1 - rank);
        text += &format!("thread rank={rank}/2 pid={} host=h{rank} image={since}\n", 10 + rank);
        text += &format!("  {} +10 open flags=0o101 st_mode=0o100644 pathname=/w/{rank} = 3\n", since + 1000);
        for at in meet.iter().map(|at| at + since) {
            text += &format!("  {at} +1000 MPI_Isend bytes=8 dest={other} tag=1 comm=1 request=1\n");
            text += &format!(
                "  {} +20000 MPI_Recv bytes=8 source={other} tag=1 comm=1 matched_source={other} matched_tag=1 matched_bytes=8\n",
                at + 2000
            );
        }
        text += &also[rank as usize](since);
    }
    text
}

/// Ten meetings, one every `pace`.
fn meeting(ahead: u64, pace: u64) -> String {
    let nothing = |_| String::new();
    ranks(ahead, &(1..=10).map(|nth| nth * pace).collect::<Vec<_>>(), [&nothing, &nothing])
}

#[test]
fn how_long_a_run_took_does_not_depend_on_its_clocks() {
    let place = Place::new();
    let of = |name: &str, ahead: [u64; 3]| {
        let runs: Vec<PathBuf> = [(3, ahead[0]), (2, ahead[1]), (1, ahead[2])]
            .map(|(pace, ahead)| place.run(&format!("{name}{pace}"), &meeting(ahead, pace * MS)))
            .into();
        let all = merged(&runs.iter().map(|run| &**run).collect::<Vec<_>>());
        (all.plan.about.recorded_ns, all.plan.about.runs_ns)
    };
    let straight = of("straight", [0; 3]);
    assert_eq!(straight.0, 20 * MS + 22_000);
    assert_eq!(of("ahead", [0, 1000 * MS, 2000 * MS]), straight);
    let alone = place.run("alone", &meeting(500 * MS, 2 * MS));
    assert_eq!(merged(&[&alone]).plan.about.recorded_ns, straight.0);
}

/// Rank 1 syncs a file when rank 0 has written one: it looks at memory that they share until then. In a throttled run rank 0 is held
/// for 30 ms before.
fn spinning(ahead: u64, is_held: bool) -> String {
    let held = if is_held { 30 * MS } else { 0 };
    let writes = |since: u64| {
        let at = since + 10 * MS;
        let hold = format!("  {at} +{held} thread-held call=18 reason=1\n");
        (if is_held { hold } else { String::new() })
            + &format!("  {} +1000 write fd=3 count=100\n", at + held)
    };
    let syncs = |since: u64| format!("  {} +1000 fsync fd=3\n", since + 11 * MS + held);
    ranks(ahead, &[MS, 2 * MS, 3 * MS], [&writes, &syncs])
}

#[test]
fn who_waited_for_who_was_held_is_found_between_clocks_that_differ() {
    for (name, ahead) in [("alike", 0), ("ahead", 50 * MS)] {
        let place = Place::new();
        let base = place.run("base", &spinning(ahead, false));
        let throttled = place.run("throttled", &spinning(ahead, true));
        std::fs::write(throttled.join("board-h0"), "").unwrap();
        std::fs::write(throttled.join("throttle.json"), "{}").unwrap();
        let both = merged(&[&base, &throttled]);
        let found = both.counts.get(&Rule::Throttled).map(|count| count.found);
        assert_eq!(found, Some(1), "{name}: {:?}", both.notes);
    }
}

/// Rank 0 makes a file and writes, rank 1 reads what it finds under that name. Whether these are ordered.
fn reading(path: &str, inodes: [u64; 2]) -> bool {
    let does = |after_ms: u64, open: &'static str, inode: u64, call: &'static str| {
        move |since: u64| {
            let at = since + after_ms * MS;
            format!(
                "  {at} +10 open {open} st_ino={inode} pathname={path} = 4\n  {} +10 {call} fd=4 count=100\n",
                at + 100
            )
        }
    };
    let writes = does(5, "flags=0o101 st_mode=0o40000100644", inodes[0], "write");
    let reads = does(7, "flags=0o100 st_mode=0o100000100644 st_size=100", inodes[1], "read");
    let place = Place::new();
    let run = place.run("run", &ranks(0, &[MS, 2 * MS, 3 * MS], [&writes, &reads]));
    let merged = merged(&[&run]);
    let found =
        [Rule::FileCreate, Rule::FileData].map(|rule| merged.counts.get(&rule).map(|count| count.found));
    assert!(found == [None; 2] || found == [Some(1); 2], "{found:?}");
    found != [None; 2]
}

#[test]
fn hosts_with_a_file_of_their_own_under_one_name_do_not_wait_for_each_other() {
    assert!(reading("/home/u/x", [10, 10]));
    assert!(!reading("/tmp/x", [10, 11]));
    assert!(!reading("/dev/shm/x", [10, 10]));
}
