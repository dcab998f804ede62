//! What is kept of names that come and go.

use super::FileTracker;
use crate::clocks::Clocks;
use crate::follow::pass::{Reading, pass};
use crate::follow::scope::Scope;
use crate::follow::source::Measuring;
use crate::progress::Progress;
use syn_trace::builder::TraceBuilder;
use syn_trace::{Call, Run};

/// Calls of one thread, one after the other.
struct Calls(TraceBuilder, u64);

impl Calls {
    fn new() -> Calls {
        Calls(TraceBuilder::new(10, 10).process_start("/w/a.out", "/w", "a.out"), 1000)
    }

    fn call(self, call: Call, numbers: &[i64], paths: &[&str]) -> Calls {
        self.returning(0, call, numbers, paths)
    }

    fn returning(self, result: i64, call: Call, numbers: &[i64], paths: &[&str]) -> Calls {
        let paths: Vec<&[u8]> = paths.iter().map(|path| path.as_bytes()).collect();
        Calls(self.0.call(call, self.1, 10, result, numbers, &paths, &[]), self.1 + 100)
    }

    fn write(self, path: &str) -> Calls {
        let opened = self.returning(3, Call::Open, &[0o101, 0o644, 0o100_644, 0, 7], &[path]);
        opened.returning(10, Call::Write, &[3, 10], &[]).call(Call::Close, &[3], &[])
    }

    fn followed(self) -> FileTracker {
        let folder = tempfile::tempdir().unwrap();
        self.0.write(folder.path()).unwrap();
        let run = Run::open(folder.path()).unwrap();
        let clocks = Clocks::recorded(&run);
        let mut files = FileTracker::new(&run, &clocks, Scope::default());
        pass(&run, &clocks, Measuring::No, Reading::Here, &Progress::new(0), &mut [&mut files]);
        files
    }
}

const ROUNDS: usize = 20;

#[test]
fn a_folder_that_is_filled_and_removed_again_and_again_keeps_its_last_names() {
    let mut calls = Calls::new();
    for round in 0..ROUNDS {
        let path = format!("/w/d/f{round}");
        calls = calls.call(Call::Mkdir, &[0o755], &["/w/d"]).write(&path);
        calls = calls.call(Call::Unlink, &[], &[&path]).call(Call::Rmdir, &[], &["/w/d"]);
    }
    let last = calls.call(Call::Mkdir, &[0o755], &["/w/d"]).write("/w/d/f0").followed();
    assert_eq!(last.folders.paths("/w/d"), ["/w/d/f0".into()], "it is there again");
    let is_kept = (0..ROUNDS).all(|round| last.by_path.contains_key(&*format!("/w/d/f{round}")));
    assert!(is_kept, "what is known of each name is");
}

#[test]
fn names_of_what_is_gone_do_not_move_with_a_folder() {
    let mut calls = Calls::new().call(Call::Mkdir, &[0o755], &["/w/d0"]).write("/w/d0/stays");
    for round in 0..ROUNDS {
        let [old, new] = [round, round + 1].map(|round| format!("/w/d{round}"));
        let path = format!("{old}/f{round}");
        calls = calls.write(&path).call(Call::Unlink, &[], &[&path]).call(Call::Rename, &[], &[&old, &new]);
    }
    let files = calls.followed();
    let names_in = |round: usize| {
        let folder = format!("/w/d{round}/");
        files.by_path.keys().filter(|path| path.starts_with(&folder)).count()
    };
    assert_eq!((names_in(0), names_in(1), names_in(ROUNDS)), (2, 2, 1));
    let noted: usize = (0..ROUNDS).map(|round| files.folders.paths(&format!("/w/d{round}")).len()).sum();
    assert_eq!(noted, 0, "nothing is in those that are gone");
    assert_eq!(files.folders.paths(&format!("/w/d{ROUNDS}")), [format!("/w/d{ROUNDS}/stays").into()]);
}

#[test]
fn names_that_nobody_opens_have_no_contents() {
    let mut calls = Calls::new().call(Call::Mkdir, &[0o755], &["/w/d0"]);
    for file in 0..3 {
        calls = calls.write(&format!("/w/d0/f{file}"));
    }
    for round in 0..ROUNDS {
        let [old, new] = [round, round + 1].map(|round| format!("/w/d{round}"));
        calls = calls.call(Call::Rename, &[], &[&old, &new]);
    }
    let files = calls.followed();
    let last = files.by_path[&*format!("/w/d{ROUNDS}/f0")];
    assert_eq!(files.contents[files.files[last as usize].contents as usize].size(), 10, "went with the name");
    assert_eq!(files.contents.len(), 3);
    assert!(files.files.len() > 3 * ROUNDS, "names");
}
