//! Questions that were asked in vain are counted, every one, whether or not the clock was read for it, and whatever a
//! signal handler records meanwhile.

use std::collections::BTreeMap;
use syn_trace::{Call, Run};
use tests::{mpirun, program, run_recorded};

/// Rows of calls in vain: how many calls they count, and for how many of them the clock was read.
#[derive(Default)]
struct Rows {
    counted: i64,
    timed: i64,
}

/// How often the rank made each call of MPI, and how many bytes it wrote to its own file, as its trace says.
fn of_the_rank(run: &Run) -> (BTreeMap<String, i64>, Rows) {
    let is_rank = |exe: &str| exe.contains("polls");
    let index = run.processes.iter().position(|process| is_rank(&process.exe)).expect("a rank");
    let (mut calls, mut rows): (BTreeMap<String, i64>, Rows) = Default::default();
    // By thread: records of MPI's own threads may come between a call and its row.
    let mut latest: BTreeMap<usize, String> = BTreeMap::new();
    for (thread, event) in run.process_events(index) {
        if event.call == Call::Repeats {
            let [counted, timed] = [event.numbers[0], event.numbers[1]];
            assert!(timed <= counted, "{timed} of {counted} were timed");
            let call = latest.get(&thread).expect("a row stands behind the call that it repeats");
            *calls.get_mut(call).expect("it was counted") += counted;
            (rows.counted, rows.timed) = (rows.counted + counted, rows.timed + timed);
            continue;
        }
        let is_handlers = event.call == Call::Write && event.result == 1;
        if event.call.layer().is_mpi() || is_handlers {
            let name = event.call.name();
            latest.insert(thread, name.to_owned());
            *calls.entry(name.to_owned()).or_default() += 1;
        }
    }
    (calls, rows)
}

#[test]
fn every_question_is_counted() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let job = mpirun(1).arg(program("polls"));
    let (outcome, run) = run_recorded(&job, folder.path(), &folder.path().join("run"));
    assert!(outcome.status.success(), "{}", outcome.stderr);
    assert_eq!(run.dropped(), 1, "the send that an error handler jumped out of");
    let (calls, rows) = of_the_rank(&run);
    let mut made: BTreeMap<&str, i64> = BTreeMap::new();
    for line in outcome.stdout.lines() {
        let (call, times) = line.split_once(' ').expect("a call and a number");
        *made.entry(call).or_default() += times.parse::<i64>().expect("a number");
    }
    assert_eq!(made.len(), 8, "{}", outcome.stdout);
    for (call, times) in made {
        assert_eq!(
            calls.get(call).copied().unwrap_or(0),
            times,
            "{call}: printed {}, recorded {calls:?}",
            outcome.stdout
        );
    }
    assert!(rows.counted > 20_000 && rows.timed < rows.counted, "{} of {} timed", rows.timed, rows.counted);
}
