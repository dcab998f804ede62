//! Programs whose threads or processes are ordered by one mechanism and nothing else: the plan holds every true dependency, none
//! of it without the mechanism's rule, and none between processes that only look alike.

mod hosts;

use std::collections::BTreeMap;
use syn_merge::{Options, merge};
use syn_plan::{EdgeId, Io, Op, Plan, Rule};
use tests::{
    Job, Recorded, Write, has_component, is_missing, mpich, mpirun, program, record, replayed_out_of_order,
    replays, writes, writes_by,
};

/// The program takes turns by this mechanism, which these rules see.
struct Mechanism(&'static str, &'static [Rule]);

const MECHANISMS: [Mechanism; 57] = [
    Mechanism("mutex", &[Rule::Mutex]),
    Mechanism("rwlock", &[Rule::Rwlock]),
    Mechanism("condition", &[Rule::Condition, Rule::Mutex]),
    Mechanism("barrier", &[Rule::Barrier]),
    Mechanism("semaphore", &[Rule::Semaphore]),
    Mechanism("named-semaphore", &[Rule::Semaphore]),
    Mechanism("futex", &[Rule::Futex]),
    Mechanism("pipe", &[Rule::Pipe]),
    Mechanism("pipe-splice", &[Rule::Pipe]),
    Mechanism("pipe-poll", &[Rule::Pipe]),
    Mechanism("pipe-epoll", &[Rule::Pipe]),
    Mechanism("ring", &[Rule::Pipe]),
    Mechanism("ring-poll", &[Rule::Pipe]),
    Mechanism("pipe-full", &[Rule::Pipe]),
    Mechanism("pipe-end", &[Rule::Pipe]),
    Mechanism("socketpair", &[Rule::Socket]),
    Mechanism("socket-full", &[Rule::Room, Rule::Socket, Rule::Pipe]),
    Mechanism("socket-full-poll", &[Rule::Room, Rule::Socket, Rule::Pipe]),
    Mechanism("unix", &[Rule::Socket]),
    Mechanism("unix-packets", &[Rule::Socket]),
    Mechanism("unix-linked", &[Rule::Socket]),
    Mechanism("tcp", &[Rule::Socket]),
    Mechanism("tcp-mapped", &[Rule::Socket]),
    Mechanism("tcp-any", &[Rule::Socket]),
    Mechanism("tcp-poll", &[Rule::Socket]),
    Mechanism("udp", &[Rule::Socket]),
    Mechanism("udp-mapped", &[Rule::Socket]),
    Mechanism("udp-poll", &[Rule::Socket]),
    Mechanism("udp-answer", &[Rule::Socket]),
    Mechanism("unix-datagram", &[Rule::Socket]),
    Mechanism("terminal", &[Rule::Terminal]),
    Mechanism("terminal-by-name", &[Rule::Terminal]),
    Mechanism("terminal-elsewhere", &[Rule::Terminal]),
    Mechanism("terminal-lines", &[Rule::Terminal]),
    Mechanism("eventfd", &[Rule::Eventfd]),
    Mechanism("eventfd-poll", &[Rule::Eventfd]),
    Mechanism("sysv-semaphore", &[Rule::Ipc]),
    Mechanism("sysv-queue", &[Rule::Ipc]),
    Mechanism("sysv-queue-each", &[Rule::Ipc]),
    Mechanism("posix-queue", &[Rule::Ipc]),
    Mechanism("flock", &[Rule::FileLock]),
    Mechanism("flock-close", &[Rule::FileLock]),
    Mechanism("flock-refused", &[Rule::FileLock]),
    Mechanism("fcntl", &[Rule::FileLock]),
    Mechanism("lock-file", &[Rule::FileCreate]),
    Mechanism("folder", &[Rule::FileCreate]),
    Mechanism("name", &[Rule::FileCreate]),
    Mechanism("name-of-socket", &[Rule::FileCreate]),
    Mechanism("renamed", &[Rule::FileCreate]),
    Mechanism("data", &[Rule::FileData]),
    Mechanism("signal", &[Rule::Signal]),
    Mechanism("signal-handler", &[Rule::Signal]),
    Mechanism("signal-descriptor", &[Rule::Signal]),
    Mechanism("signal-descriptor-poll", &[Rule::Signal]),
    Mechanism("listening", &[Rule::Socket]),
    Mechanism("exit", &[Rule::ProcessJoin]),
    Mechanism("exit-asked", &[Rule::ProcessJoin]),
];
/// The same, between ranks.
const OF_MPI: [Mechanism; 11] = [
    Mechanism("message", &[Rule::Message, Rule::Rendezvous]),
    Mechanism("barrier", &[Rule::Collective]),
    Mechanism("between-message", &[Rule::Message, Rule::Rendezvous]),
    Mechanism("between-barrier", &[Rule::Collective]),
    Mechanism("between-bcast", &[Rule::Collective]),
    Mechanism("between-reduce", &[Rule::Collective]),
    Mechanism("partitions", &[Rule::Message, Rule::Rendezvous]),
    Mechanism("cancelled", &[Rule::Message, Rule::Rendezvous]),
    Mechanism("lock", &[Rule::Epoch]),
    Mechanism("lock-shared", &[Rule::Epoch]),
    Mechanism("lock-all", &[Rule::Epoch]),
];

impl Mechanism {
    /// Signals are between processes there, and processes end.
    fn is_between(&self, threads: bool) -> bool {
        !(threads && ["signal", "exit"].iter().any(|kind| self.0.starts_with(kind)))
    }

    /// Open MPI has partitions from version 5 on; in MPICH the status of what was cancelled may name any source.
    fn needs_mpich(&self) -> bool {
        matches!(self.0, "partitions" | "cancelled")
    }

    /// Both sides of a barrier write before they meet.
    fn at_a_time(&self) -> usize {
        if self.0 == "barrier" { 2 } else { 1 }
    }
}

/// What ranks can do with the MPIs of this machine.
fn of_mpi() -> impl Iterator<Item = &'static Mechanism> {
    let is_without_mpich = is_missing("MPICH");
    OF_MPI.iter().filter(move |mechanism| !(is_without_mpich && mechanism.needs_mpich()))
}

type Turns = BTreeMap<String, Vec<Write>>;

fn recorded(who: &str, mechanism: &Mechanism) -> Recorded {
    let job = match who {
        "ranks" if mechanism.needs_mpich() => {
            mpich(2, "comm/turns").expect("checked before").arg(mechanism.0)
        }
        "ranks" => mpirun(2).arg(program("comm/turns")).arg(mechanism.0),
        _ => Job::new(program("order")).args([who, mechanism.0]),
    };
    let recorded = record(&job);
    assert!(recorded.plain.status.success(), "{who} {}: {}", mechanism.0, recorded.plain.stderr);
    recorded
}

/// The plan, made with all rules or without some. Then sleeps are in no order either: the programs sleep until the other side has come so
/// far, and on a slow machine often enough to be found.
fn plan(recorded: &Recorded, without: &[Rule]) -> Plan {
    let mut without = without.to_vec();
    if !without.is_empty() {
        without.push(Rule::Poll);
    }
    let options = Options { runs: vec![recorded.run_folder()], without, ..Options::default() };
    let merged = merge(&options).expect("a plan");
    merged.plan.check().expect("a plan that can be replayed");
    merged.plan
}

/// Pairs of turns that follow each other and are not ordered: the first one's place among them.
fn unordered(turns: &Turns, first: &str, second: &str) -> Vec<usize> {
    let (first, second) = (&turns[first], &turns[second]);
    assert!(!first.is_empty() && first.len() == second.len(), "{turns:?}");
    let in_order: Vec<&Write> = first.iter().zip(second).flat_map(|(one, other)| [one, other]).collect();
    (1..in_order.len()).filter(|&next| !in_order[next - 1].comes_before(in_order[next])).collect()
}

fn related(turns: &Turns, first: &str, second: &str) -> bool {
    let pairs = turns[first].iter().flat_map(|one| turns[second].iter().map(move |other| (one, other)));
    pairs.into_iter().any(|(one, other)| one.comes_before(other) || other.comes_before(one))
}

#[track_caller]
fn takes_turns(who: &str) {
    for mechanism in MECHANISMS.iter().filter(|mechanism| mechanism.is_between(who == "threads")) {
        let recorded = recorded(who, mechanism);
        let with = writes(&plan(&recorded, &[]));
        // Both write before they meet: turns are two rounds apart.
        let missing = if mechanism.0 == "barrier" {
            let (first, second) = (&with["a"], &with["b"]);
            let rounds = 1..first.len();
            let ordered = |&round: &usize| {
                first[round - 1].comes_before(&second[round]) && second[round - 1].comes_before(&first[round])
            };
            rounds.filter(|round| !ordered(round)).collect()
        } else {
            unordered(&with, "a", "b")
        };
        assert_eq!(missing, [] as [usize; 0], "{who} {}: turns without a dependency", mechanism.0);
        let without = writes(&plan(&recorded, mechanism.1));
        assert!(!related(&without, "a", "b"), "{who} {}: something else orders the turns", mechanism.0);
    }
}

#[test]
fn ranks_that_take_turns() {
    for mechanism in of_mpi() {
        let recorded = recorded("ranks", mechanism);
        assert_eq!(unordered(&writes(&plan(&recorded, &[])), "a", "b"), [] as [usize; 0], "{}", mechanism.0);
        let without = writes(&plan(&recorded, mechanism.1));
        assert!(
            !unordered(&without, "a", "b").is_empty(),
            "{}: something else orders the turns",
            mechanism.0
        );
    }
}

/// MPIs grant the lock of a window in the call that asks for it, or behind it.
#[test]
fn locks_of_windows_however_they_are_granted() {
    let open_mpi = |component| mpirun(2).env("OMPI_MCA_osc", component).arg(program("comm/turns"));
    let messages = has_component("pt2pt").then(|| open_mpi("pt2pt"));
    let jobs = [Some(open_mpi("sm")), messages, mpich(2, "comm/turns")];
    for job in jobs.into_iter().flatten() {
        for how in ["lock", "lock-shared", "lock-all"] {
            let recorded = record(&job.clone().arg(how));
            assert!(recorded.plain.status.success(), "{how}: {}", recorded.plain.stderr);
            let turns = writes(&plan(&recorded, &[]));
            assert_eq!(unordered(&turns, "a", "b"), [] as [usize; 0], "{job:?} {how}");
        }
    }
}

/// Operations without bytes order nothing, however long one rank takes.
#[test]
fn ranks_that_give_each_other_nothing() {
    for how in ["empty-bcast", "empty-allreduce", "empty-alltoallv"] {
        let turns = writes(&plan(&recorded("ranks", &Mechanism(how, &[])), &[]));
        assert!(!related(&turns, "a", "b"), "{how}: {turns:?}");
    }
}

/// Two jobs of one size at the same time, by either launcher: what the ranks are of is on record.
#[test]
fn jobs_at_the_same_time() {
    let jobs = [Some(mpirun(2).arg(program("comm/turns"))), mpich(2, "comm/turns")];
    for job in jobs.into_iter().flatten() {
        let script = "for job in 1 2 3; do mkdir $job; (cd $job; exec \"$@\") & done; wait";
        let both = Job::new("sh").args(["-c", script, "sh"]);
        let recorded = record(&both.followed_by(&job.args(["message", "50"])));
        assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
        let written = writes_by(&plan(&recorded, &[]), 2);
        let turns = |of: &str| -> Turns {
            let job = |name: &str| (name.to_owned(), written[&format!("{of}/{name}")].clone());
            ["a", "b"].map(job).into()
        };
        for job in ["1", "2", "3"] {
            assert!(unordered(&turns(job), "a", "b").is_empty(), "job {job}");
        }
    }
}

#[test]
fn threads_that_take_turns() {
    takes_turns("threads");
}

#[test]
fn processes_that_take_turns() {
    takes_turns("processes");
}

/// Two more children of `vfork` become no other program, and are not on record.
#[test]
fn who_lends_its_memory_waits_for_another_program() {
    for (part, programs) in [("vfork", 1), ("spawn", 2)] {
        let recorded = record(&Job::new(program("process_surface")).arg(part));
        assert!(recorded.plain.status.success(), "{part}: {}", recorded.plain.stderr);
        let plan = plan(&recorded, &[]);
        let waits = plan.edges.iter().filter(|edge| edge.rule == Rule::ProcessExec).count();
        assert_eq!(waits, programs, "{part}");
        let explained = &plan.programs[0].balance.explained_ns;
        assert!(
            explained.iter().any(|&(rule, ns)| rule == Rule::ProcessExec && ns > 0),
            "{part}: {explained:?}"
        );
    }
}

/// libc has made the pipe, one way and the other.
#[test]
fn a_stream_of_popen_is_a_pipe_like_any_other() {
    let recorded = record(&Job::new(program("stdio_surface")).arg("commands"));
    assert!(recorded.plain.status.success(), "{}", recorded.plain.stderr);
    let plan = plan(&recorded, &[]);
    let is_pipe = |edge: EdgeId| plan.edges[edge as usize].rule == Rule::Pipe;
    let ops = || plan.programs[0].steps.counted().map(|counted| counted.step.op);
    assert!(
        ops().any(|op| matches!(op, Op::Wait { edge, .. } if is_pipe(edge))),
        "it reads what a child writes"
    );
    assert!(
        ops().any(|op| matches!(op, Op::Signal { edge } if is_pipe(edge))),
        "a child reads what it writes"
    );
}

/// libc itself forks, gives descriptors new meanings, and tells which child it has found.
#[test]
fn what_libc_does_inside_is_on_record() {
    let mechanisms = [
        ("daemon", Rule::ProcessCreate),
        ("forkpty", Rule::Terminal),
        ("waitid", Rule::ProcessJoin),
        ("waitid-group", Rule::ProcessJoin),
    ];
    for (how, rule) in mechanisms {
        let recorded = record(&Job::new(program("by_libc")).arg(how));
        assert!(recorded.plain.status.success(), "{how}: {}", recorded.plain.stderr);
        let whole = plan(&recorded, &[]);
        let mut ops = whole.programs.iter().flat_map(|program| program.steps.counted());
        let is_elsewhere = |op| matches!(op, Op::Io { call: Io::WriteAt { .. }, .. });
        assert!(!ops.any(|counted| is_elsewhere(counted.step.op)), "{how}: it writes to its standard output");
        let with = writes(&whole);
        assert!(with["a"][0].comes_before(&with["b"][0]), "{how}: no dependency");
        let without = writes(&plan(&recorded, &[rule]));
        assert!(!related(&without, "a", "b"), "{how}: something else orders the two");
    }
}

/// `SYN_REPLAYS` says how many times; `scripts/bench-order` takes 100.
fn stay_in_order<'a>(who: &str, mechanisms: impl Iterator<Item = &'a Mechanism>) {
    let replays = replays();
    for mechanism in mechanisms {
        let plan = plan(&recorded(who, mechanism), &[]);
        // Ranks meet after each turn.
        let at_a_time = if who == "ranks" { 1 } else { mechanism.at_a_time() };
        let wrong = replayed_out_of_order(&plan, 1, at_a_time, replays);
        println!("{who} {}: {} of {replays} replays in order", mechanism.0, replays - wrong);
        assert_eq!(wrong, 0, "{who} {}: replays out of order", mechanism.0);
    }
}

#[test]
fn turns_of_threads_stay_in_order_however_long_each_takes() {
    stay_in_order("threads", MECHANISMS.iter().filter(|mechanism| mechanism.is_between(true)));
}

#[test]
fn turns_of_processes_stay_in_order_however_long_each_takes() {
    stay_in_order("processes", MECHANISMS.iter());
}

#[test]
fn turns_of_ranks_stay_in_order_however_long_each_takes() {
    stay_in_order("ranks", of_mpi());
}

/// Whoever asks in vain meanwhile, and however calls on the name overlap.
#[test]
fn names_as_locks_stay_in_order() {
    for how in ["open", "mkdir", "symlink", "link", "rename"] {
        let recorded = record(&Job::new(program("lock_names")).arg(how));
        assert!(recorded.plain.status.success(), "{how}: {}", recorded.plain.stderr);
        let wrong = replayed_out_of_order(&plan(&recorded, &[]), 1, 1, replays());
        assert_eq!(wrong, 0, "{how}: replays out of order");
    }
}

/// What was there before anybody asked for it comes first all the same. (Who finds a lock, a semaphore or a condition so has not
/// waited; of queues with several kinds of messages and of terminals nobody knows what was found.)
#[test]
fn who_comes_late_finds_what_was_passed_on() {
    const RULES: [Rule; 7] = [
        Rule::Pipe,
        Rule::Socket,
        Rule::Eventfd,
        Rule::FileCreate,
        Rule::FileData,
        Rule::Signal,
        Rule::ProcessJoin,
    ];
    let leaves_something = |mechanism: &&Mechanism| {
        let queues = ["sysv-queue-each", "posix-queue"];
        queues.contains(&mechanism.0) || mechanism.1.iter().all(|rule| RULES.contains(rule))
    };
    let mut kinds = 0;
    for who in ["threads", "processes"] {
        let between = MECHANISMS.iter().filter(|mechanism| mechanism.is_between(who == "threads"));
        for mechanism in between.filter(leaves_something) {
            let recorded = record(&Job::new(program("order")).args([who, mechanism.0, "late"]));
            assert!(recorded.plain.status.success(), "{who} {}: {}", mechanism.0, recorded.plain.stderr);
            let missing = unordered(&writes(&plan(&recorded, &[])), "a", "b");
            assert_eq!(missing, [] as [usize; 0], "{who} {}: turns without a dependency", mechanism.0);
            let without = writes(&plan(&recorded, mechanism.1));
            assert!(!related(&without, "a", "b"), "{who} {}: something else orders them", mechanism.0);
            kinds += 1;
        }
    }
    assert!(kinds > 50, "{kinds} were looked at");
}

/// Who waits for several goes on when all have done their part, and who shares a lock when the one that had it alone shares it too.
#[test]
fn who_waits_for_several() {
    let locks = ["flock", "process-lock", "open-file-lock"];
    let of_locks = locks
        .iter()
        .flat_map(|&lock| [(lock.into(), Rule::FileLock), (format!("{lock}-again"), Rule::FileLock)]);
    let others = [
        ("parts", Rule::FileLock),
        ("sysv-zero", Rule::Ipc),
        ("sysv-several", Rule::Ipc),
        ("rwlock", Rule::Rwlock),
        ("barrier", Rule::Barrier),
    ];
    for (how, rule) in of_locks.chain(others.map(|(how, rule)| (how.into(), rule))) {
        let recorded = record(&Job::new(program("waits_for_all")).arg(&how));
        assert!(recorded.plain.status.success(), "{how}: {}", recorded.plain.stderr);
        let (with, without) = (writes(&plan(&recorded, &[])), writes(&plan(&recorded, &[rule])));
        let (firsts, last): (&[&str], &str) =
            if how.ends_with("-again") { (&["a"], "b") } else { (&["a", "b"], "c") };
        for first in firsts {
            assert!(with[*first][0].comes_before(&with[last][0]), "{how}: {first} before {last}");
            assert!(!related(&without, first, last), "{how}: something else orders {first} and {last}");
        }
    }
}

/// The same finds what is not in order: without the edges, delays change it.
#[test]
fn without_edges_delays_change_the_order() {
    let mechanism = MECHANISMS.iter().find(|mechanism| mechanism.0 == "pipe").expect("it is there");
    let plan = plan(&recorded("processes", mechanism), mechanism.1);
    assert!(replayed_out_of_order(&plan, 1, 1, 10) > 0);
}

#[test]
fn processes_that_look_alike() {
    for mechanism in MECHANISMS.iter().filter(|mechanism| mechanism.is_between(true)) {
        let turns = writes(&plan(&recorded("apart", mechanism), &[]));
        for (first, second) in [("a", "b"), ("c", "d")] {
            assert!(related(&turns, first, second), "{}: {turns:?}", mechanism.0);
        }
        for (first, second) in [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")] {
            assert!(!related(&turns, first, second), "{}: {first} and {second}", mechanism.0);
        }
    }
}

/// The same mutexes, semaphores, counters and files, at the same times; but nobody waits. (Who lost the processor for an instant in a
/// call on a counter may have waited there, as far as is known: that may happen on a busy machine, so these two rules are left out.)
#[test]
fn who_never_waits_is_in_no_order() {
    for who in ["threads", "processes"] {
        let recorded = record(&Job::new(program("unordered")).arg(who));
        let turns = writes(&plan(&recorded, &[Rule::Eventfd, Rule::Ipc]));
        assert!(!related(&turns, "a", "b"), "{who}: {turns:?}");
    }
}
