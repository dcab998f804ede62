//! What the kernel sees of a replay: the metadata calls of the application, one for one, and hardly any other.

use std::collections::BTreeMap;
use std::path::Path;
use tests::strace::{self, Syscall};
use tests::{Job, program, shim, syn};

/// Every form of the calls that the program makes, and what both sides call it. Of `fchmodat2` strace knows only
/// lately.
const CALLS: [(&str, &str); 25] = [
    ("stat", "stat"),
    ("lstat", "stat"),
    ("newfstatat", "stat"),
    ("access", "access"),
    ("faccessat", "access"),
    ("faccessat2", "access"),
    ("chown", "chown"),
    ("fchownat", "chown"),
    ("utimensat", "utimens"),
    ("rename", "rename"),
    ("renameat", "rename"),
    ("renameat2", "rename"),
    ("link", "link"),
    ("linkat", "link"),
    ("symlink", "symlink"),
    ("symlinkat", "symlink"),
    ("readlink", "readlink"),
    ("readlinkat", "readlink"),
    ("unlink", "unlink"),
    ("unlinkat", "unlink"),
    ("mkdir", "mkdir"),
    ("mkdirat", "mkdir"),
    ("openat", "open"),
    ("openat2", "open"),
    ("close", "close"),
];

/// By kind, last names and errno: how many.
type Counts = BTreeMap<(String, Vec<String>, Option<String>), i64>;

/// The calls about names that begin with `m`. In a replay the leader prepares and removes; the others are the program.
fn seen(output: &Path, folder: &Path, replay: bool) -> Counts {
    let (mut by_process, mut leader) = (BTreeMap::<u32, Counts>::new(), 0);
    strace::for_each_call(output, folder, |caller, call| {
        if call.name == "execve" {
            leader = caller.pid;
        }
        if let Some(key) = key(call) {
            *by_process.entry(caller.pid).or_default().entry(key).or_default() += 1;
        }
    });
    if replay {
        by_process.remove(&leader);
    }
    assert_eq!(by_process.len(), 1, "one process");
    by_process.into_values().next().unwrap_or_default()
}

fn key(call: &Syscall) -> Option<(String, Vec<String>, Option<String>)> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let rmdir = call.name == "rmdir" || call.arguments.iter().any(|argument| argument == "AT_REMOVEDIR");
    let kind = if rmdir { "rmdir" } else { CALLS.iter().find(|(name, _)| *name == call.name)?.1 };
    let mut names: Vec<String> = (0..call.arguments.len()).filter_map(|at| call.text(at)).map(last).collect();
    match kind {
        "close" => names = vec![last(call.descriptor(0)?.object)],
        // The one is what the link holds, and is made anew from where the link is; the other where it was read to.
        "symlink" => drop(names.remove(0)),
        "readlink" => names.truncate(1),
        _ => {}
    }
    let place = kind == "open" && call.arguments.iter().any(|argument| argument.contains("O_PATH"));
    let kind = if place { "place" } else { kind };
    let ours = |name: &String| name.starts_with('m') && !name.starts_with("memfd");
    names.iter().all(ours).then(|| (kind.to_owned(), names, call.error.clone()))
}

#[test]
fn metadata_calls_are_made_one_for_one() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let at = |name: &str| folder.path().join(name);
    for name in ["work", "again", "storage", "application", "replay"] {
        std::fs::create_dir(at(name)).expect("made");
    }
    let record = syn().arg("record").arg("--shim").arg(shim()).arg("-o").arg(at("runs")).arg("--");
    let _ = record.arg(program("metadata")).run_in(&at("work")).succeeded();
    let run = at("runs").read_dir().expect("runs").next().expect("a run").expect("a run").path();
    let merge = syn().arg("merge").arg(&run).arg("-o").arg(at("app.syn"));
    let _ = merge.run_in(Path::new("/")).succeeded();

    let calls: Vec<&str> = CALLS.iter().map(|(name, _)| *name).chain(["rmdir"]).collect();
    let under = |output: &str| strace::alone(&at(output), &calls.join(","));
    let application = under("application").followed_by(&Job::new(program("metadata")));
    let _ = application.run_in(&at("again")).succeeded();
    let replay = syn().arg("replay").arg(at("app.syn")).arg("--storage").arg(at("storage"));
    let _ = under("replay").followed_by(&replay).run_in(Path::new("/")).succeeded();

    let mut extra = seen(&at("replay"), Path::new("/"), true);
    for (call, count) in seen(&at("application"), &at("again"), false) {
        *extra.entry(call).or_default() -= count;
    }
    // Where the folder is missing, that is what is found.
    let missing =
        |kind: &str, name: &str| (kind.to_owned(), vec![name.to_owned()], Some("ENOENT".to_owned()));
    assert_eq!(extra.remove(&missing("place", "mb")), Some(1), "{extra:?}");
    *extra.entry(missing("stat", "mm0")).or_default() += 1;
    // The program itself is opened by the kernel.
    let program = ("open".to_owned(), vec!["metadata".to_owned()], None);
    assert_eq!(extra.remove(&program), Some(1), "{extra:?}");
    extra.retain(|_, count| *count != 0);
    assert!(extra.values().all(|&count| count > 0), "not made by the replay: {extra:?}");
    // A folder is opened once, and again when a folder has got another name.
    let folders = |(kind, ..): &(String, _, _)| kind == "place" || kind == "close";
    assert!(extra.keys().all(folders), "not made by the application: {extra:?}");
    assert!(extra.values().sum::<i64>() <= 24, "{extra:?}");
}
