//! Several runs of one application, and hosts whose clocks differ.

mod common;
mod place;

use place::Place;
use std::path::Path;
use syn_merge::{Merged, Options, merge};
use syn_plan::{Initial, Io, Op, Plan, Rule};

fn merged(runs: &[&Path]) -> anyhow::Result<Merged> {
    merge(&Options { runs: runs.iter().map(|&run| run.to_owned()).collect(), ..Options::default() })
}

/// One process that writes a file block by block, `pace` nanoseconds each; `blocks` of these sizes.
fn writer(pace: u64, blocks: &[u64]) -> String {
    let mut text = "thread pid=10\n  10 +5 open flags=0o101 st_mode=0o100644 pathname=/w/a = 3\n".to_owned();
    for (nth, bytes) in (1u64..).zip(blocks) {
        text += &format!("  {} +5 write fd=3 count={bytes}\n", nth * pace);
    }
    text
}

#[test]
fn the_run_with_the_median_time_is_the_base() {
    let place = Place::new();
    let blocks = [100; 10];
    let slow = place.run("slow", &writer(300, &blocks));
    let fast = place.run("fast", &writer(100, &blocks));
    let middle = place.run("middle", &writer(200, &blocks));
    let all = merged(&[&slow, &fast, &middle]).unwrap();
    assert_eq!(all.plan.about.recorded_ns, 2005);
    assert_eq!(all.plan.about.runs_ns, [2005, 1005, 3005]);
    assert!(all.alignment.is_empty(), "the runs did the same");
    assert_eq!(all.plan.programs, merged(&[&middle]).unwrap().plan.programs);
    let other_order = merged(&[&middle, &slow, &fast]).unwrap();
    assert_eq!(all.plan, other_order.plan, "the order of the arguments does not matter");
}

#[test]
fn a_run_that_was_interrupted_is_left_out_beside_whole_ones() {
    let place = Place::new();
    let ended = |text: String| text.replacen("thread pid=10", "thread pid=10 exited", 1);
    let whole = place.run("whole", &ended(writer(100, &[100; 10])));
    let cut = place.run("cut", &writer(100, &[100; 4]));
    let both = merged(&[&cut, &whole]).unwrap();
    assert_eq!(both.plan.programs, merged(&[&whole]).unwrap().plan.programs);
    assert_eq!(both.plan.about.runs_ns.len(), 1);
    let told = |merged: &Merged| merged.notes.remarks.iter().any(|remark| remark.contains("left out"));
    assert!(told(&both), "{:?}", both.notes);
    // What is killed in every run, as servers are, is no worse than the rest; and whoever wants to follows it.
    let other = place.run("other", &writer(100, &[100; 5]));
    assert_eq!(merged(&[&cut, &other]).unwrap().plan.about.runs_ns.len(), 2);
    let options = Options { runs: vec![cut.clone(), whole], base: Some(cut), ..Options::default() };
    let chosen = merge(&options).unwrap();
    assert!(chosen.plan.about.runs_ns.len() == 2 && !told(&chosen), "{:?}", chosen.notes);
}

#[test]
fn the_plan_does_not_depend_on_how_many_processors_there_are() {
    let place = Place::new();
    // Blocks of events of 512, and a thread without any.
    let runs = [(1, 511), (2, 512), (3, 513), (4, 1030)].map(|(nth, count)| {
        let text = writer(100 + nth, &vec![100; count]) + "thread pid=10 tid=11\n";
        place.run(&nth.to_string(), &text)
    });
    for some in 2..=runs.len() {
        let runs: Vec<&Path> = runs[..some].iter().map(|run| &**run).collect();
        // With one or two nobody reads ahead in the runs that are compared.
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| merged(&runs).unwrap())
        };
        let one = with(1);
        for threads in [2, 4] {
            let other = with(threads);
            assert_eq!(
                (&one.plan, &one.alignment),
                (&other.plan, &other.alignment),
                "{some} runs, {threads}"
            );
        }
    }
}

#[test]
fn what_differs_is_reported_and_not_rejected() {
    let place = Place::new();
    let base = place.run("base", &writer(100, &[100; 10]));
    let mut blocks = [100; 10];
    blocks[4] = 70;
    let other = place.run("other", &writer(110, &blocks));
    let both = merged(&[&base, &other]).unwrap();
    let [(run, thread)] = &both.alignment[..] else { panic!("{:?}", both.alignment) };
    assert!(run.ends_with("other"));
    // A process start, an open, ten writes: one of twelve events differs.
    assert_eq!((thread.alike, thread.of), (11, 12));
    assert!(
        both.plan.about.remarks.iter().any(|remark| remark.contains("91.67 %")),
        "{:?}",
        both.plan.about.remarks
    );
    assert!(both.notes.warnings.is_empty());
}

#[test]
fn runs_in_folders_of_their_own_are_alike() {
    let place = Place::new();
    let run = |cwd: &str| {
        let text = format!(
            "thread pid=10 cwd={cwd}
             10 +5 openat dirfd=-100 pathname=data/in = 3
             20 +5 read fd=3 count=100
             30 +5 open pathname=/etc/limits = 4
             40 +5 unlink pathname={cwd}/data/out
             50 +5 unlink pathname={cwd}s/data/out\n"
        );
        place.run(&cwd.replace('/', "-"), &text)
    };
    for (one, other) in [("/jobs/1", "/jobs/2"), ("/jobs/3", "/")] {
        let runs = [run(one), run(other)];
        let both = merged(&runs.each_ref().map(|run| &**run)).unwrap();
        let [(_, thread)] = &both.alignment[..] else { panic!("{:?}", both.alignment) };
        // `/jobs/1s` is no part of `/jobs/1`.
        assert_eq!((thread.alike, thread.of), (5, 6));
    }
}

/// A rank that sends ten messages, and looks after others in those of these numbers.
fn looking(inside: &[u64]) -> String {
    let mut text = "thread rank=0/1 pid=10\n 0 +50 MPI_Init rank=0 size=1 library=crafted\n".to_owned();
    for nth in 0..10 {
        let at = 1_000_000 * (nth + 1);
        if inside.contains(&nth) {
            text += &format!("{at} +0 call-entered call=136\n {} +5 poll nfds=3 = 0 ; inner\n", at + 10);
        }
        text += &format!("{at} +50 MPI_Send bytes=100 dest=0 tag={nth} comm=1\n");
    }
    text
}

#[test]
fn what_a_library_does_to_wait_is_not_compared() {
    let place = Place::new();
    let runs =
        [&[0, 1, 2, 7][..], &[5], &[8, 9]].map(|inside| place.run(&format!("{inside:?}"), &looking(inside)));
    let all = merged(&runs.each_ref().map(|run| &**run)).unwrap();
    assert!(all.alignment.is_empty(), "{:?}", all.alignment);
    let alone = merged(&[&runs[1]]).unwrap();
    assert_eq!(computed(&all.plan), computed(&alone.plan), "all compute as long");
}

/// One rank, and a thread that MPI makes for itself, which looks around `looks` times.
fn with_progress_thread(looks: u64) -> String {
    let mut text = "thread rank=0/1 pid=10
        900 +0 call-entered call=128
        1000 +50 pthread_create thread=9 ; inner
        900 +500 MPI_Init rank=0 size=1 library=crafted
        2000 +10 MPI_Barrier root=-2 comm=1
        thread rank=0/1 pid=10 tid=11 starts=1020
        1020 +0 thread-start thread=9 creator=10\n"
        .to_owned();
    for nth in 0..looks {
        text += &format!("{} +5 open flags=0 pathname=/proc/{nth} !2\n", 1030 + 10 * nth);
    }
    text
}

#[test]
fn what_a_librarys_own_threads_do_is_not_compared() {
    let place = Place::new();
    let one = place.run("one", &with_progress_thread(5));
    let other = place.run("other", &with_progress_thread(9));
    let both = merged(&[&one, &other]).unwrap();
    assert!(both.alignment.is_empty(), "{:?}", both.alignment);
    assert_eq!(both.plan.programs.len(), 1, "nor is it in the plan");
}

#[test]
fn runs_of_different_sizes_or_commands_are_refused() {
    let place = Place::new();
    let rank = |rank, ranks, pid| {
        format!("thread rank={rank}/{ranks} pid={pid}\n  100 +10 MPI_Barrier root=-2 comm=1\n")
    };
    let one = place.run("one", &rank(0, 1, 10));
    let two = place.run("two", &(rank(0, 2, 10) + &rank(1, 2, 11)));
    let error = merged(&[&one, &two]).unwrap_err().to_string();
    assert!(error.contains("has 1 ranks") && error.contains("has 2"), "{error}");
    let app = place.run("app", "thread pid=10\n  100 +10 sync\n");
    let tool = place.run("tool", "thread pid=10 command=tool\n  100 +10 sync\n");
    let error = merged(&[&app, &tool]).unwrap_err().to_string();
    assert!(error.contains("`app`") && error.contains("`tool`"), "{error}");
}

/// Ranks on three hosts send to each other in a ring, both ways; the clocks are off by `skew` nanoseconds and the
/// messages take 20 microseconds.
fn ring(skew: [i64; 3], drift: i64) -> String {
    let mut text = String::new();
    for rank in 0..3i64 {
        text += &format!("thread rank={rank}/3 pid={} host=h{rank}\n", 10 + rank);
        for round in 0..20i64 {
            let at = 20_000_000
                + round * 1_000_000
                + skew[rank as usize]
                + if rank == 1 { drift * round } else { 0 };
            let (right, left) = ((rank + 1) % 3, (rank + 2) % 3);
            text += &format!("  {at} +1000 MPI_Isend bytes=8 dest={right} tag=1 comm=1 request=1\n");
            text += &format!("  {} +1000 MPI_Isend bytes=8 dest={left} tag=2 comm=1 request=2\n", at + 2000);
            for (peer, tag, end) in [(left, 1, at + 21_000), (right, 2, at + 23_000)] {
                text += &format!(
                    "  {} +{} MPI_Recv bytes=8 source={peer} tag={tag} comm=1 matched_source={peer} matched_tag={tag} matched_bytes=8\n",
                    at + 5000,
                    end - at - 5000
                );
            }
        }
    }
    text
}

/// The length of every wait, thread by thread.
fn waits(merged: &Merged) -> Vec<Vec<u64>> {
    let of = |program: &syn_plan::Program| {
        let waits = program.steps.iter().filter(|step| matches!(step.op, Op::Wait { .. }));
        waits.map(|step| step.took_ns).collect()
    };
    merged.plan.programs.iter().map(of).collect()
}

#[test]
fn skewed_clocks_are_aligned_by_messages() {
    let place = Place::new();
    let straight = merged(&[&place.run("straight", &ring([0; 3], 0))]).unwrap();
    let skewed = merged(&[&place.run("skewed", &ring([0, 7_000_000, -3_000_000], 0))]).unwrap();
    assert_eq!(waits(&straight), waits(&skewed));
    assert_eq!(straight.counts, skewed.counts);
    let facts = skewed.notes.facts.join("\n");
    assert!(facts.contains("host h1 moved by -7000 us (+- 21.000 us"), "{facts}");
    assert!(facts.contains("host h2 moved by 3000 us (+- 21.000 us"), "{facts}");
    // The plan without I/O is remarked, and nothing else.
    assert!(skewed.notes.warnings.is_empty() && skewed.notes.remarks.len() == 1);
}

#[test]
fn drifting_clocks_are_said_to_drift_and_give_a_plan_all_the_same() {
    let place = Place::new();
    let drifting = merged(&[&place.run("drifting", &ring([0; 3], 10_000))]).unwrap();
    assert!(
        drifting.plan.about.remarks.iter().any(|remark| remark.contains("h1") && remark.contains("drifted"))
    );
    drifting.plan.check().unwrap();
}

#[test]
fn messages_one_way_give_a_bound_only() {
    let place = Place::new();
    let one_way = "
thread rank=0/2 pid=10 host=a
  5000 +100 MPI_Send bytes=8 dest=1 tag=5 comm=1
thread rank=1/2 pid=11 host=b
  1000 +1000 MPI_Recv bytes=8 source=0 tag=5 comm=1 matched_source=0 matched_tag=5 matched_bytes=8
";
    let merged = merged(&[&place.run("run", one_way)]).unwrap();
    assert!(
        merged.plan.about.remarks.iter().any(|remark| remark.contains("moved by 3 us (traffic went one way"))
    );
}

#[test]
fn files_of_the_system_are_taken_when_asked_for() {
    let place = Place::new();
    let text = "thread pid=10\n  10 +5 open st_mode=0o100644 st_size=9 pathname=/usr/share/x = 3\n  20 +5 read fd=3 count=9\n";
    let run = place.run("run", text);
    let files = |all_files| {
        let options = Options { runs: vec![run.clone()], all_files, ..Options::default() };
        merge(&options).unwrap().plan.files.len()
    };
    assert_eq!((files(false), files(true)), (0, 1));
}

/// What lies elsewhere is in no plan, and says all the same who waited for whom. What gets a name in one of the folders, or had one, is in
/// the plan by its other name, too.
#[test]
fn only_files_of_some_folders_are_taken() {
    let place = Place::new();
    let run = place.run(
        "run",
        "thread pid=10 command=first\n\
         \x20 10 +5 open st_mode=0o100644 st_size=9 pathname=/usr/share/app/x = 3\n\
         \x20 20 +5 open flags=0o301 mode=0o600 st_mode=0o100600 pathname=/tmp/lock = 4\n\
         \x20 30 +5 rename oldpath=/tmp/made newpath=/data/in/made\n\
         \x20 40 +5 open flags=0 st_mode=0o100644 st_size=70 pathname=/data/in/made = 5\n\
         \x20 50 +5 open flags=0o301 mode=0o600 st_mode=0o100600 pathname=/data/inner = 6\n\
         \x20 60 +5 rename oldpath=/data/in/made newpath=/tmp/gone\n\
         \x20 70 +5 symlink target=/home/in linkpath=/data/in/link\n\
         \x20 80 +5 open flags=0 st_mode=0o100644 st_size=30 pathname=/data/in/link = 7\n\
         thread pid=11 starts=1 command=second\n\
         \x20 100 +5 open flags=0 st_mode=0o100600 pathname=/tmp/lock = 3\n",
    );
    let only = |folders: &[&str]| {
        let only = folders.iter().map(|&folder| folder.to_owned()).collect();
        merge(&Options { runs: vec![run.clone()], only, ..Options::default() }).unwrap()
    };
    let merged = only(&["/data/in", "/usr/share/app", "/nowhere"]);
    let plan = merged.plan;
    plan.check().unwrap();
    let files: Vec<(&str, Initial)> = plan.files.iter().map(|file| (&*file.path, file.initial)).collect();
    assert_eq!(
        files,
        [
            ("/usr/share/app/x", Initial::Regular { bytes: 9 }),
            ("/data/in/made", Initial::Absent),
            ("/tmp/made", Initial::Regular { bytes: 70 }),
            ("/tmp/gone", Initial::Absent),
            ("/data/in/link", Initial::Absent),
            ("/home/in", Initial::Regular { bytes: 30 }),
        ]
    );
    let left_out: Vec<(&str, u64)> =
        plan.about.left_out.iter().map(|left| (&*left.call, left.count)).collect();
    assert_eq!(left_out, [("open (elsewhere)", 3)]);
    let names = plan.programs[0].steps.iter().filter_map(|step| match step.op {
        Op::Io { call: call @ (Io::Rename { .. } | Io::Symlink { .. }), .. } => Some(call),
        _ => None,
    });
    let expected =
        [Io::Rename { from: 2, to: 1 }, Io::Rename { from: 1, to: 3 }, Io::Symlink { target: 5, link: 4 }];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    assert_eq!(evidence(&plan, Rule::FileCreate), [(1, 1)]);
    let warnings = merged.notes.warnings;
    assert!(matches!(&warnings[..], [one] if one.starts_with("no file of the plan is below /nowhere")));
    assert_eq!(only(&[]).plan.files.len(), 7, "of the system, one is only read");
}

/// The replay has no blocks to share: a clone becomes a copy, which the plan says.
#[test]
fn clones_become_copies() {
    let place = Place::new();
    let run = place.run(
        "clone",
        "thread pid=10\n\
         \x20 10 +5 open flags=0 st_mode=0o100644 st_size=100 pathname=/w/a = 3\n\
         \x20 20 +5 open flags=0o101 st_mode=0o100644 pathname=/w/b = 4\n\
         \x20 30 +5 ioctl_ficlonerange src_fd=3 dest_fd=4 src_offset=10 dest_offset=20 count=50\n",
    );
    let plan = merged(&[&run]).unwrap().plan;
    let moved =
        plan.programs.iter().flat_map(|program| program.steps.iter()).filter_map(|step| match step.op {
            Op::Io { call: Io::ReadAt { bytes, offset, .. }, .. } => Some(("read", bytes, offset)),
            Op::Io { call: Io::WriteAt { bytes, offset, .. }, .. } => Some(("written", bytes, offset)),
            _ => None,
        });
    assert_eq!(moved.collect::<Vec<_>>(), [("read", 50, 10), ("written", 50, 20)]);
    let remarks = plan.about.remarks;
    assert!(remarks.iter().any(|remark| remark.starts_with("50 bytes of files were cloned")), "{remarks:?}");
}

/// A rank that waits 1 ms for a message: `flags` say what became of its processor meanwhile.
fn busy_waiting(flags: &str) -> f64 {
    let place = Place::new();
    let text = format!(
        "thread rank=0/2 pid=10\n\
         \x20 1000 +1000000 MPI_Recv bytes=8 source=1 tag=1 comm=1 matched_source=1 matched_tag=1 matched_bytes=8 ; {flags}\n\
         thread rank=1/2 pid=11\n\
         \x20 1000900 +10 MPI_Send bytes=8 dest=0 tag=1 comm=1\n"
    );
    merged(&[&place.run("run", &text)]).unwrap().plan.about.busy_waiting
}

/// Ranks that poll on one processor have a small part of it each; they wait with the processor nevertheless.
#[test]
fn what_others_take_of_the_processor_is_no_waiting_without_it() {
    assert_eq!(busy_waiting("cpu=0/1000000"), 1.0);
    assert_eq!(busy_waiting("lost cpu=0/200000"), 1.0);
    let blocked = busy_waiting("waited cpu=0/5000");
    assert!(blocked < 0.01, "{blocked}");
}

/// Two processes that read a file, and one that writes it, at these times; all three are there from the start.
fn one_writer(write: u64, reads: [u64; 2]) -> String {
    let mut text = format!(
        "thread pid=10 command=writer\n  10 +5 open flags=0o1 st_mode=0o100644 st_size=100 pathname=/w/a = 3\n  {write} +5 write fd=3 count=100\n"
    );
    for (pid, read) in (11..).zip(reads) {
        text += &format!(
            "thread pid={pid} starts=1 command=reader{pid}\n  20 +5 open flags=0 st_mode=0o100644 st_size=100 pathname=/w/a = 3\n  {read} +5 read fd=3 count=100\n"
        );
    }
    text
}

/// Of every wait by this rule: in how many runs it was seen, and could have been.
fn evidence(plan: &Plan, rule: Rule) -> Vec<(u16, u16)> {
    let edges = plan.edges.iter().filter(|edge| edge.rule == rule);
    edges.map(|edge| (edge.evidence.seen, edge.evidence.possible)).collect()
}

#[test]
fn an_order_that_was_the_other_way_round_is_weak() {
    let place = Place::new();
    // The second reader comes before the writer in one run.
    let base = place.run("base", &one_writer(1000, [2000, 3000]));
    let same = place.run("same", &one_writer(1000, [2500, 3500]));
    let other = place.run("other", &one_writer(1000, [2000, 500]));
    let alone = merged(&[&base]).unwrap();
    assert_eq!(evidence(&alone.plan, Rule::FileData), [(1, 1), (1, 1)]);
    let options = |weak| Options {
        runs: vec![base.clone(), same.clone(), other.clone()],
        base: Some(base.clone()),
        weak,
        ..Options::default()
    };
    let all = merge(&options(false)).unwrap();
    assert_eq!(evidence(&all.plan, Rule::FileData), [(3, 3)]);
    assert_eq!(all.weak.get(&Rule::FileData), Some(&1));
    let facts = all.notes.facts.join("\n");
    assert!(facts.contains("the other way round in another run (1 file-data)"), "{facts}");
    let kept = merge(&options(true)).unwrap();
    assert_eq!(evidence(&kept.plan, Rule::FileData), [(3, 3), (2, 3)]);
    assert!(alone.weak.is_empty());
}

/// A process that sleeps until one of its two threads adds to a counter, and again; they add at these times.
fn one_counter(adds: [u64; 2]) -> String {
    let mut text = String::from(
        "thread pid=10\n  10 +5 eventfd initval=0 flags=0 = 3\n  100 +10 pthread_create thread=77\n  120 +10 pthread_create thread=78\n",
    );
    for since in [500, 1500] {
        text += &format!("  {since} +600 read fd=3 count=8 = 8 ; waited\n");
    }
    for (tid, at) in (11..).zip(adds) {
        text += &format!(
            "thread pid=10 tid={tid} starts=150\n  200 +0 thread-start thread={}\n  {at} +90 write fd=3 count=8 = 8\n  3000 +0 thread-end\n",
            tid + 66
        );
    }
    text
}

#[test]
fn who_was_let_go_on_by_another_in_other_runs_still_waits() {
    let place = Place::new();
    let base = place.run("base", &one_counter([1000, 2000]));
    let other = place.run("other", &one_counter([2000, 1000]));
    let all =
        merge(&Options { runs: vec![base.clone(), other], base: Some(base.clone()), ..Options::default() })
            .unwrap();
    assert_eq!(evidence(&all.plan, Rule::Eventfd), [(1, 2), (1, 2)]);
    assert!(all.weak.is_empty(), "{:?}", all.weak);
}

#[test]
fn certain_orders_are_counted_and_never_weak() {
    let place = Place::new();
    let ranks = |late: u64| {
        format!(
            "thread rank=0/2 pid=10\n  100 +10 MPI_Send bytes=8 dest=1 tag=5 comm=1\n\
             thread rank=1/2 pid=11\n  50 +{late} MPI_Recv bytes=8 source=0 tag=5 comm=1 matched_source=0 matched_tag=5 matched_bytes=8\n"
        )
    };
    let runs =
        [place.run("one", &ranks(100)), place.run("two", &ranks(200)), place.run("three", &ranks(300))];
    let all = merged(&runs.each_ref().map(|run| run.as_path())).unwrap();
    assert_eq!(evidence(&all.plan, Rule::Message), [(3, 3)]);
}

/// A process whose two threads, made one after the other, start in either order; each writes a file of its own.
fn two_threads(first_starts: u64, second_starts: u64) -> String {
    let mut text = "thread pid=10\n  100 +10 pthread_create thread=7\n  120 +10 pthread_create thread=8\n  900 +10 sync\n".to_owned();
    for (tid, handle, starts) in [(11, 7, first_starts), (12, 8, second_starts)] {
        text += &format!(
            "thread pid=10 tid={tid} starts={starts}\n  {starts} +0 thread-start thread={handle} creator=10\n  {} +5 open flags=0o101 st_mode=0o100644 pathname=/w/{handle} = 3\n",
            starts + 5
        );
    }
    text
}

#[test]
fn threads_are_paired_by_who_made_them() {
    let place = Place::new();
    let one = place.run("one", &two_threads(200, 300));
    let other = place.run("other", &two_threads(310, 210));
    let both = merged(&[&one, &other]).unwrap();
    assert!(both.alignment.is_empty(), "{:?}", both.alignment);
    assert_eq!(evidence(&both.plan, Rule::ThreadCreate), [(2, 2), (2, 2)]);
}

/// Computation of every program, nanoseconds.
fn computed(plan: &Plan) -> Vec<u64> {
    let of = |program: &syn_plan::Program| {
        let of_step =
            |step: syn_plan::Step| if let Op::Compute { cpu_ns, .. } = step.op { cpu_ns } else { 0 };
        program.steps.iter().map(of_step).sum()
    };
    plan.programs.iter().map(of).collect()
}

/// A process that computes for these milliseconds, with a call behind each stretch.
fn computing<const N: usize>(stretches: [u64; N]) -> String {
    let (mut text, mut at) = ("thread pid=10\n".to_owned(), 0);
    for ms in stretches {
        at += ms * 1_000_000;
        text += &format!("  {at} +10 sync\n");
        at += 10;
    }
    text
}

#[test]
fn computation_takes_as_long_as_usual() {
    let place = Place::new();
    // Every run was disturbed for a while; the base, whose time is in the middle, as well.
    let names = ["a", "b", "c"];
    let stretches = [[10, 90, 10, 10], [10, 10, 10, 80], [70, 10, 10, 10]];
    let runs: Vec<_> =
        names.iter().zip(stretches).map(|(name, ms)| place.run(name, &computing(ms))).collect();
    let all = merged(&[&runs[0], &runs[1], &runs[2]]).unwrap();
    let [ns] = computed(&all.plan)[..] else { panic!("{:?}", all.plan.programs) };
    assert!((39_990_000..40_010_000).contains(&ns), "{ns}");
    let balance = all.plan.balance();
    assert_eq!(balance.wall_ns, balance.accounted_ns(), "{balance:?}");
    let other_order = merged(&[&runs[2], &runs[0], &runs[1]]).unwrap();
    assert_eq!(all.plan, other_order.plan);
}

#[test]
fn what_a_short_program_has_once_in_every_run_is_usual() {
    let place = Place::new();
    let runs = [3, 9, 15].map(|slow: usize| {
        let mut stretches = [10; 20];
        stretches[slow] = 15;
        place.run(&slow.to_string(), &computing(stretches))
    });
    let all = merged(&runs.each_ref().map(|run| &**run)).unwrap();
    let [ns] = computed(&all.plan)[..] else { panic!("{:?}", all.plan.programs) };
    assert!((204_900_000..205_100_000).contains(&ns), "{ns}");
}

#[test]
fn what_disturbs_every_run_now_and_then_is_usual() {
    let place = Place::new();
    // Of 200 stretches of 10 ms each run has some slow ones, and one run a long disturbance.
    let runs = [(0, 4), (1, 5), (2, 6)].map(|(own, slow)| {
        let mut stretches = [10; 200];
        (0..slow).for_each(|nth| stretches[30 * nth + own] = 20);
        stretches[199] = if own == 1 { 700 } else { 10 };
        place.run(&own.to_string(), &computing(stretches))
    });
    let all = merged(&runs.each_ref().map(|run| &**run)).unwrap();
    let [ns] = computed(&all.plan)[..] else { panic!("{:?}", all.plan.programs) };
    // Four of them in the first hundred stretches of each, and none, one or two in the other.
    assert!((2_049_000_000..2_061_000_000).contains(&ns), "{ns}");
}

#[test]
fn what_is_done_in_another_order_each_time_takes_as_long_as_usual_in_all() {
    let place = Place::new();
    // 10 ms in front of each of six calls that all runs have in common, and then four calls that come as they come.
    let run = |order: &str, ms: u64| {
        let (mut text, mut at) = (computing([10; 6]), 60_000_100);
        for name in order.chars() {
            at += ms * 1_000_000;
            text += &format!("  {at} +10 unlink pathname=/w/{name}\n");
        }
        place.run(order, &text)
    };
    let runs = [run("abcd", 10), run("dcba", 20), run("badc", 15)];
    let options = Options { base: Some(runs[0].clone()), runs: runs.to_vec(), ..Options::default() };
    let ns = computed(&merge(&options).unwrap().plan);
    assert!((119_000_000..121_000_000).contains(&ns[0]), "{ns:?}");
}

/// Two ranks that compute for so long, each on its own.
fn side_by_side(ms: [u64; 2]) -> String {
    let rank = |(rank, ms): (usize, u64)| {
        let pid = 10 + rank;
        format!(
            "thread rank={rank}/2 pid={pid}\n 0 +1000 MPI_Init rank={rank} size=2 library=crafted\n {} +10 sync\n",
            ms * 1_000_000
        )
    };
    ms.into_iter().enumerate().map(rank).collect()
}

#[test]
fn neighbours_take_as_long_as_usual_together() {
    let place = Place::new();
    // The median of each rank alone would be 30 and 20 ms, from different runs.
    let runs = [[20, 20], [30, 10], [30, 30]].map(|ms| place.run(&format!("{ms:?}"), &side_by_side(ms)));
    let options = Options { base: Some(runs[0].clone()), runs: runs.to_vec(), ..Options::default() };
    let ns = computed(&merge(&options).unwrap().plan);
    assert!(ns.iter().all(|ns| (19_900_000..20_100_000).contains(ns)), "{ns:?}");
    // All took longer in the others.
    let runs = [[20, 10], [30, 16], [31, 15]].map(|ms| place.run(&format!("{ms:?}"), &side_by_side(ms)));
    let options = Options { base: Some(runs[0].clone()), runs: runs.to_vec(), ..Options::default() };
    let ns = computed(&merge(&options).unwrap().plan);
    assert!((30_000_000..31_100_000).contains(&ns[0]), "{ns:?}");
    assert!((15_000_000..16_100_000).contains(&ns[1]), "{ns:?}");
}

#[test]
fn a_slow_neighbour_takes_as_long_as_usual() {
    let place = Place::new();
    let runs = [("slow", [20, 10]), ("one", [10, 10]), ("other", [10, 10])];
    let runs = runs.map(|(name, ms)| place.run(name, &side_by_side(ms)));
    let options = Options { base: Some(runs[0].clone()), runs: runs.to_vec(), ..Options::default() };
    let ns = computed(&merge(&options).unwrap().plan);
    assert!(ns.iter().all(|ns| (9_900_000..10_100_000).contains(ns)), "{ns:?}");
}

/// [`computing`] with calls that make others.
fn flushing(stretches: [u64; 4]) -> String {
    let (mut text, mut at) = ("thread pid=10\n".to_owned(), 0);
    for ms in stretches {
        at += ms * 1_000_000;
        text += &format!("  {at} +0 call-entered call=67\n  {} +5 write fd=1 count=8 = 8 ; inner\n", at + 1);
        text += &format!("  {at} +10 fflush fd=1\n");
        at += 10;
    }
    text
}

#[test]
fn computation_before_calls_with_others_inside_takes_as_long_as_usual() {
    let place = Place::new();
    let stretches = [("a", [10, 90, 10, 10]), ("b", [10, 10, 10, 80]), ("c", [70, 10, 10, 10])];
    let runs = stretches.map(|(name, ms)| place.run(name, &flushing(ms)));
    let [ns] = computed(&merged(&runs.each_ref().map(|run| &**run)).unwrap().plan)[..] else { panic!() };
    assert!((39_990_000..40_010_000).contains(&ns), "{ns}");
}

/// The same beside others that take the processor for as long as it does, which makes it compute for longer, too.
fn disturbed(stretches: [u64; 4]) -> String {
    let (mut text, mut at) = ("thread pid=10\n".to_owned(), 0);
    for ms in stretches {
        at += 2 * ms * 1_000_000;
        text += &format!("  {at} +10 sync ; cpu={}/-\n", ms * 1_000_000);
        at += 10;
    }
    text
}

#[test]
fn runs_beside_others_do_not_say_how_long_computation_takes() {
    let place = Place::new();
    // Three of five took longer: two beside others, and one of the rest for a reason that does not show.
    let texts = [
        computing([10, 10, 10, 10]),
        disturbed([15, 15, 16, 15]),
        computing([14, 14, 14, 14]),
        disturbed([13, 14, 13, 13]),
        computing([10, 10, 10, 10]),
    ];
    let runs: Vec<_> =
        texts.iter().enumerate().map(|(nth, text)| place.run(&nth.to_string(), text)).collect();
    let all = merged(&runs.iter().map(|run| &**run).collect::<Vec<_>>()).unwrap();
    let [ns] = computed(&all.plan)[..] else { panic!("{:?}", all.plan.programs) };
    assert!((39_990_000..40_010_000).contains(&ns), "{ns}");
    assert_eq!(all.plan.about.runs_ns.len(), 5, "they are counted nevertheless");
    let told = all.notes.facts.iter().find(|fact| fact.contains("waited for a processor"));
    assert!(told.is_some_and(|told| told.contains("(50 %)") && told.contains("(0 %)")), "{:?}", all.notes);
    // So it was where the processor was there at once, and all took half as long again: the rest of the time a device is waited for.
    let runs = [1.0, 1.5, 1.01, 1.6, 1.02].map(|times: f64| {
        let text = (1..=20).fold("thread pid=10\n".to_owned(), |text, nth| {
            let (at, cpu) = (nth * 20_000_000, (times * 1e7) as u64);
            text + &format!("  {at} +10 sync ; cpu={cpu}/- waited\n")
        });
        place.run(&format!("device {times}"), &text)
    });
    let all = merged(&runs.each_ref().map(|run| &**run)).unwrap();
    let [ns] = computed(&all.plan)[..] else { panic!("{:?}", all.plan.programs) };
    assert!((200_000_000..203_000_000).contains(&ns), "{ns}");
    let told = all.notes.facts.iter().find(|fact| fact.contains("much more CPU time"));
    assert!(
        told.is_some_and(|told| told.contains("(1.50 times") && told.contains("(1.60 times")),
        "{:?}",
        all.notes
    );
    // Where all were disturbed, nobody knows better.
    let all = merged(&[&runs[1], &runs[3]]).unwrap();
    assert!(all.notes.facts.iter().all(|fact| !fact.contains("waited for a processor")), "{:?}", all.notes);
}

#[test]
fn the_base_can_be_chosen() {
    let place = Place::new();
    let runs = [100, 200, 300].map(|pace| place.run(&pace.to_string(), &writer(pace, &[100; 10])));
    let options = Options { runs: runs.to_vec(), base: Some(runs[2].clone()), ..Options::default() };
    assert_eq!(merge(&options).unwrap().plan.about.recorded_ns, 3005);
    let options = Options { runs: runs[..2].to_vec(), base: Some(runs[2].clone()), ..Options::default() };
    let error = merge(&options).unwrap_err().to_string();
    assert!(error.contains("none of the runs"), "{error}");
}

#[test]
fn who_waits_until_its_process_ends_waits_for_that() {
    let place = Place::new();
    let text = |cpu: u64| {
        format!(
            "thread pid=10
            100 +10 pthread_create thread=77
            200 +10 pthread_create thread=78
            100000 +0 _exit
            thread pid=10 tid=11 starts=150 ended=100000/{cpu}
            200 +0 thread-start thread=77 ; cpu=20/-"
        )
    };
    let run = place.run("waits", &text(50));
    let last = merged(&[&run]).unwrap().plan.programs[1].steps.unrolled().last().expect("what it did");
    assert!(last.start_ns + last.took_ns < 1000, "the waiting is no part of a step: {last:?}");
    let balance = |merged: Merged| merged.plan.programs[1].balance.clone();
    let waits = balance(merged(&[&run]).unwrap());
    assert_eq!((waits.explained_by(Rule::ProcessEnd), waits.unexplained_ns), (99_770, 0), "{waits:?}");
    assert_eq!(waits.open_ns(), 0);
    let without = Options { runs: vec![run], without: vec![Rule::ProcessEnd], ..Options::default() };
    assert_eq!(balance(merge(&without).unwrap()).unexplained_ns, 99_770);
    // One that was at work may have had no processor.
    let worked = balance(merged(&[&place.run("worked", &text(50_000))]).unwrap());
    assert_eq!((worked.explained_by(Rule::ProcessEnd), worked.unexplained_ns), (0, 49_820), "{worked:?}");
}

#[test]
fn temporary_files_have_other_names_in_every_run() {
    let place = Place::new();
    let run = |name: &str, temporary: &str| {
        let text = format!(
            "thread pid=10
            10 +5 open flags=0o302 mode=0o600 st_mode=0o100600 pathname=/w/{temporary}.s = 3
            20 +5 write fd=3 count=100
            30 +5 close fd=3
            40 +5 stat pathname=/w/{temporary}.s
            50 +5 unlink pathname=/w/{temporary}.s"
        );
        place.run(name, &text)
    };
    let both = merged(&[&run("one", "ccAbCdEf"), &run("other", "cc012345")]).unwrap();
    assert!(both.alignment.is_empty(), "{:?}", both.alignment);
}

/// Two hosts, the clock of the other ahead by so much, that ask and answer over TCP.
fn over_tcp(ahead: u64) -> String {
    let mut text = "thread pid=10 host=h0
        200 +0 socket domain=2 type=1 st_ino=30 = 3
        230 +20 connect fd=3 local=inet:10.0.0.1:999 addr=inet:10.0.0.2:80\n"
        .to_owned();
    for at in [1000, 5000, 9000] {
        text += &format!("{at} +10 write fd=3 count=8\n{} +900 read fd=3 count=8 = 8 ; waited\n", at + 20);
    }
    text += "thread pid=11 host=h1\n";
    text += &format!(
        "{} +10 accept fd=9 st_ino=21 local=inet:10.0.0.2:80 peer=inet:10.0.0.1:999 = 4\n",
        250 + ahead
    );
    for at in [1000, 5000, 9000] {
        let at = at + ahead;
        text += &format!("{} +600 read fd=4 count=8 = 8 ; waited\n", at - 100);
        text += &format!("{} +10 write fd=4 count=8\n", at + 600);
    }
    text
}

#[test]
fn clocks_of_hosts_without_mpi_are_aligned_by_what_goes_over_tcp() {
    let place = Place::new();
    let edges = |merged: &Merged| merged.counts.get(&Rule::Socket).map(|count| (count.found, count.kept));
    let exact = merged(&[&place.run("exact", &over_tcp(0))]).unwrap();
    let ahead = merged(&[&place.run("ahead", &over_tcp(50_000_000))]).unwrap();
    assert_eq!((edges(&exact), edges(&ahead)), (Some((6, 6)), Some((6, 6))), "{:?}", ahead.notes);
    let told = ahead.notes.facts.iter().any(|fact| fact.contains("h1 moved by -50000 us"));
    assert!(told, "{:?}", ahead.notes);
}

/// A direction with more received than sent tells nothing, and neither does a connection whose directions contradict each other.
#[test]
fn connections_with_bytes_that_are_not_on_record_do_not_move_clocks() {
    let place = Place::new();
    let without = |text: &str, line: &str| {
        assert_eq!(text.matches(line).count(), 1);
        text.replacen(line, "", 1)
    };
    let a_write = without(&over_tcp(50_000_000), "1000 +10 write fd=3 count=8\n");
    let a_read = without(&a_write, "50008900 +600 read fd=4 count=8 = 8 ; waited\n");
    for (name, text, told) in [("write", a_write, "traffic went one way"), ("both", a_read, "no traffic")] {
        let merged = merged(&[&place.run(name, &text)]).unwrap();
        let remarks = &merged.plan.about.remarks;
        let is_told = |remark: &String| remark.contains("clock of host h1") && remark.contains(told);
        assert!(remarks.iter().any(is_told), "{name}: {remarks:?}");
    }
}
