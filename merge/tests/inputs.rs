//! What the program says about runs that are not as they should be, and with which exit code it ends.

mod common;
mod place;

use place::Place;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use syn_trace::builder::TraceBuilder;
use syn_trace::chunks::{IN_FRONT, UNIT_BYTES};

const TWO_RANKS: &str = "
thread rank=0/2 pid=10
  1000 +100 MPI_Send bytes=8 dest=1 tag=5 comm=1
  2000 +500 MPI_Barrier root=-2 comm=1
thread rank=1/2 pid=11
  500 +1000 MPI_Recv bytes=8 source=0 tag=5 comm=1 matched_source=0 matched_tag=5 matched_bytes=8
  1900 +600 MPI_Barrier root=-2 comm=1
";

impl Place {
    /// The trace of a process in a run.
    fn trace(&self, run: &Path, pid: u32) -> PathBuf {
        let of_process =
            |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(&format!("{pid}-"));
        fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path()).find(of_process).unwrap()
    }

    fn plan(&self) -> PathBuf {
        self.0.path().join("merged.syn")
    }

    /// Merges; returns the exit code, standard output and standard error.
    fn merge(&self, args: &[&Path]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_syn-merge"))
            .args(args)
            .arg("-o")
            .arg(self.plan())
            .current_dir(self.0.path())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// Merges what cannot be merged.
    fn refuse(&self, args: &[&Path]) -> String {
        let (code, _, error) = self.merge(args);
        assert_eq!(code, 1, "{error}");
        assert!(!self.plan().exists(), "no plan is left behind");
        error
    }
}

fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in:\n{text}");
    }
}

#[test]
fn a_run_that_is_as_it_should_be() {
    let place = Place::new();
    let run = place.run("run", TWO_RANKS);
    let (code, screen, error) = place.merge(&[&run, Path::new("--json"), Path::new("report.json")]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert_says(
        &screen,
        &["1 runs, 2 ranks (Open MPI), 2 processes, 2 threads, 6 events", "message", "collective"],
    );
    let report = fs::read_to_string(place.0.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["ranks"], 2);
    assert_eq!(
        report["edges"]["message"],
        serde_json::json!({ "found": 1, "kept": 1, "weak": 0, "certain": true })
    );
    assert_eq!(
        report["edges"]["file-data"],
        serde_json::json!({ "found": 0, "kept": 0, "weak": 0, "certain": false })
    );
    let plan = syn_plan::Plan::load(&place.plan()).unwrap();
    assert_eq!((plan.about.recorded_ns, plan.programs.len()), (2500, 2));
}

#[test]
fn what_is_no_run_is_refused() {
    let place = Place::new();
    assert_says(&place.refuse(&[&place.0.path().join("nowhere")]), &["nowhere", "No such file"]);
    let file = place.0.path().join("file");
    fs::write(&file, "text").unwrap();
    assert_says(&place.refuse(&[&file]), &["is a file; a run is a folder"]);
    let empty = place.0.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert_says(&place.refuse(&[&empty]), &["empty is not a run folder", "no *.trace file"]);
    place.run("several/1", TWO_RANKS);
    assert_says(&place.refuse(&[&place.0.path().join("several")]), &["but runs are", "several/*"]);
    let foreign = place.0.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("1-1-1.trace"), "something else entirely").unwrap();
    assert_says(&place.refuse(&[&foreign]), &["none of its 1 *.trace files can be read", "not a syn trace"]);
}

#[test]
fn a_run_is_named_once() {
    let place = Place::new();
    let run = place.run("run", TWO_RANKS);
    let link = place.0.path().join("link");
    std::os::unix::fs::symlink(&run, &link).unwrap();
    for again in [run.clone(), run.join("../run/"), link] {
        assert_says(&place.refuse(&[&run, &again]), &["the same run folder", "name each run once"]);
    }
}

#[test]
fn runs_of_different_programs_are_refused_with_a_way_out() {
    let place = Place::new();
    let one = place.run("one", "thread pid=10 command=server\n  100 +5 sync\n");
    let other = place.run("other", "thread pid=11 command=client\n  100 +5 sync\n");
    assert_says(
        &place.refuse(&[&one, &other]),
        &["`server`", "`client`", "syn record --join -o", "one run folder"],
    );
}

#[test]
fn runs_that_differ_are_told_with_what_follows() {
    let place = Place::new();
    let one = place.run("one", "thread pid=10\n  100 +5 sync\n  200 +5 sync\n");
    let other = place.run("other", "thread pid=10\n  100 +5 sync\n  200 +900 unlink pathname=/w/x\n");
    let (_, screen, _) = place.merge(&[&one, &other]);
    assert_says(
        &screen,
        &["agrees with", "the plan holds the events of", "a replay repeats what was done there"],
    );
}

#[test]
fn no_run_at_all_is_wrong_usage() {
    let output = Command::new(env!("CARGO_BIN_EXE_syn-merge")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_missing_rank_is_named() {
    let place = Place::new();
    let run = place.run("run", TWO_RANKS);
    fs::remove_file(place.trace(&run, 11)).unwrap();
    let error = place.refuse(&[&run]);
    assert_says(&error, &["no trace of 1 of 2 ranks: 1", "--partial"]);
    let (code, screen, _) = place.merge(&[&run, Path::new("--partial")]);
    assert_eq!(code, 3);
    assert_says(
        &screen,
        &["warning", "no trace of 1 of 2 ranks: 1", "1 messages were sent that no recorded receive got"],
    );
    syn_plan::Plan::load(&place.plan()).expect("nothing waits for the rank that is not there");
}

#[test]
fn a_rank_whose_file_is_empty_is_named_with_the_file() {
    let place = Place::new();
    let run = place.run("run", TWO_RANKS);
    let trace = place.trace(&run, 11);
    fs::write(&trace, "").unwrap();
    let name = trace.file_name().unwrap().to_str().unwrap();
    assert_says(&place.refuse(&[&run]), &["no trace of 1 of 2 ranks: 1", "could not be read", name]);
    let (code, screen, _) = place.merge(&[&run, Path::new("--partial")]);
    assert_eq!(code, 3);
    assert_says(&screen, &["left out", "cut off in front of its first event (0 bytes"]);
}

/// What is left of a rank that was killed as it began.
#[test]
fn a_rank_to_whose_file_nothing_was_written_is_named_with_the_file() {
    let place = Place::new();
    let run = place.run("run", TWO_RANKS);
    let trace = place.trace(&run, 11);
    fs::write(&trace, [0; 1 << 16]).unwrap();
    let name = trace.file_name().unwrap().to_str().unwrap();
    assert_says(
        &place.refuse(&[&run]),
        &["no trace of 1 of 2 ranks: 1 (files to which nothing was written: ", name],
    );
}

#[test]
fn an_empty_file_of_no_rank_is_a_warning() {
    let place = Place::new();
    let run = place.run("run", TWO_RANKS);
    fs::write(run.join("99-99-1.trace"), "").unwrap();
    let (code, screen, _) = place.merge(&[&run]);
    assert_eq!(code, 3);
    assert_says(&screen, &["warning", "99-99-1.trace", "cut off in front of its first event"]);
}

#[test]
fn a_newer_format_is_refused() {
    let place = Place::new();
    let run = place.run("run", TWO_RANKS);
    TraceBuilder::new(12, 12).header(|header| header.version += 1).write(&run).unwrap();
    assert_says(&place.refuse(&[&run]), &["newer", "update syn"]);
}

#[test]
fn what_precedes_a_cut_is_used() {
    let place = Place::new();
    let run = place.run("run", TWO_RANKS);
    let trace = place.trace(&run, 11);
    let bytes = fs::read(&trace).unwrap();
    let records = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    fs::write(&trace, &bytes[..records]).unwrap();
    let (code, screen, _) = place.merge(&[&run]);
    assert_eq!(code, 3);
    assert_says(&screen, &["cut off inside the record at byte", "what precedes was used", "message"]);
    assert_says(&screen, &["1 collective operations were not reached by all their members"]);
    syn_plan::Plan::load(&place.plan()).expect("nothing waits for what was cut off");
}

#[test]
fn what_precedes_damage_is_used_and_the_place_is_told() {
    let place = Place::new();
    let run = place.run("run", TWO_RANKS);
    let trace = place.trace(&run, 11);
    let mut bytes = fs::read(&trace).unwrap();
    // The length of the first record, then the call number of the second one, which becomes 0: no call.
    let first = UNIT_BYTES + IN_FRONT[0];
    let second = first + 1 + usize::from(bytes[first]);
    bytes[second + 1] = 0;
    fs::write(&trace, &bytes).unwrap();
    let (code, screen, _) = place.merge(&[&run]);
    assert_eq!(code, 3);
    assert_says(&screen, &[&format!("damaged at byte {second} (UnknownCall(0))"), trace.to_str().unwrap()]);
}

#[test]
fn a_rank_that_cannot_be_is_a_warning() {
    let place = Place::new();
    let run = place.run("run", TWO_RANKS);
    TraceBuilder::new(12, 12).rank(7, i32::MAX).process_start("/bin/app", "/w", "app").write(&run).unwrap();
    let (code, screen, _) = place.merge(&[&run]);
    assert_eq!(code, 3);
    assert_says(&screen, &["process 12 says that it is rank 7 of 2147483647, which cannot be", "2 ranks"]);
}

#[test]
fn lost_records_are_a_warning() {
    let place = Place::new();
    let run = place.run("run", "thread pid=10 dropped=7\n  1000 +10 unlink pathname=/w/a\n");
    let (code, screen, _) = place.merge(&[&run]);
    assert_eq!(code, 3);
    assert_says(&screen, &["7 records could not be written"]);
    assert_eq!(syn_plan::Plan::load(&place.plan()).unwrap().about.dropped, 7);
}

#[test]
fn launchers_alone_are_no_application() {
    let place = Place::new();
    let run = place.run("run", "thread pid=10 launcher\n  1000 +10 fork = 11\n");
    assert_says(&place.refuse(&[&run]), &["nothing but process creation", "SYN_ONLY or SYN_EXCEPT"]);
}

/// As `golden/jobs.txt`, without the numbers of the jobs.
#[test]
fn of_jobs_that_cannot_be_told_apart_nobody_waits() {
    let golden = include_str!("golden/jobs.txt").split_once("----").unwrap().0;
    let place = Place::new();
    let run = place.run("run", &golden.replace(" job=7", "").replace(" job=8", ""));
    let (code, screen, _) = place.merge(&[&run, Path::new("--json"), Path::new("report.json")]);
    assert_eq!(code, 3);
    assert_says(
        &screen,
        &["2 MPI programs of the same sizes ran at the same time", "which process is of which"],
    );
    assert!(!screen.contains("creation was not seen"), "{screen}");
    let report = fs::read_to_string(place.0.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    for rule in ["message", "collective"] {
        assert_eq!(report["edges"][rule]["found"], 0, "{rule}");
    }
}

#[test]
fn a_plan_that_cannot_be_written_says_where() {
    let place = Place::new();
    let run = place.run("run", TWO_RANKS);
    let output = Command::new(env!("CARGO_BIN_EXE_syn-merge"))
        .arg(&run)
        .args(["-o", "nowhere/merged.syn"])
        .current_dir(place.0.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_says(&String::from_utf8(output.stderr).unwrap(), &["cannot write the plan nowhere/merged.syn"]);
}

#[test]
fn calls_that_cannot_be_made_do_not_come_into_the_plan() {
    let place = Place::new();
    let calls = [
        "MPI_Send bytes=8 dest=77 tag=5 comm=1",
        "MPI_Irecv bytes=8 source=-9 tag=5 comm=1 request=7",
        "MPI_Ibcast send_bytes=8 recv_bytes=8 root=-86 comm=1 request=8",
        "MPI_Send_init bytes=8 dest=2 tag=5 comm=1 request=9",
        "MPI_File_set_view disp=0 etype_bytes=0 filetype_bytes=8 fh=5",
        "MPI_File_set_view disp=-1 etype_bytes=-4 filetype_bytes=-8 fh=5",
        "MPI_Win_create bytes=8 disp_unit=1 comm=1 win=7\n  3000 +100 MPI_Fetch_and_op bytes=3 target=0 target_disp=0 win=7",
    ];
    for (nth, call) in calls.into_iter().enumerate() {
        let added = TWO_RANKS.replace("thread rank=1", &format!("  3000 +100 {call}\nthread rank=1"));
        let (code, _, error) = place.merge(&[&place.run(&format!("run{nth}"), &added)]);
        assert_eq!((code, &*error), (0, ""), "{call}");
        let plan = syn_plan::Plan::load(&place.plan()).unwrap();
        plan.check().unwrap();
    }
}
