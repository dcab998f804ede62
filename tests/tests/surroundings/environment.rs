//! Environments that were cleared, or that say strange things to the recorder.

use crate::part;
use std::path::Path;
use tests::{Dump, Job, Outcome, program, run_recorded, shim};

/// Programs that start others with an environment in which nothing is left of the recorder's.
#[test]
fn cleared() {
    let recorded = part("environment");
    assert_eq!(Dump::of(&recorded.run_folder()).written("file"), (12, 60));
    assert_eq!(crate::not_entered(&recorded.run_folder()), 0);
}

#[test]
fn other_libraries_to_preload() {
    let recorded = part("preload");
    assert_eq!(Dump::of(&recorded.run_folder()).written("file"), (3, 15));
    assert_eq!(crate::not_entered(&recorded.run_folder()), 0);
}

/// Tools that start programs with other environments.
#[test]
fn cleared_by_tools() {
    let surroundings = program("surroundings");
    let child = format!("{} --child write", surroundings.display());
    let perl = r#"%ENV = (); exec(split(" ", $ARGV[0]), "perl")"#;
    let jobs = [
        ("env", Job::new("env").args(["-i", "sh", "-c", &format!("{child} env; env -i {child} env")])),
        ("perl", Job::new("perl").args(["-e", perl, &child])),
        ("exec", Job::new("sh").args(["-c", &format!("{child} exec; exec env -i {child} exec")])),
    ];
    for (name, job) in jobs {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let (outcome, _) = run_recorded(&job, folder.path(), &folder.path().join("run"));
        let _ = outcome.succeeded();
        let written = Dump::of(&folder.path().join("run")).written(name).0;
        let expected =
            std::fs::read(folder.path().join(name)).expect("the file that the job wrote").len() / 5;
        assert_eq!(written, expected as u64, "{name}");
    }
}

/// The child's own environment, but for what the recorder needs, is what its parent gave it.
#[test]
fn nothing_else_is_added() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let job = Job::new("sh")
        .args(["-c", "env -i A=1 B= env; env -u A true; env -i C=3 sh -c 'exec env -u PWD D=4 env'"]);
    let plain = job.run_in(folder.path()).succeeded();
    let (recorded, _) = run_recorded(&job, folder.path(), &folder.path().join("run"));
    let others = |outcome: &Outcome| {
        let lines = outcome.stdout.lines().filter(|line| !line.starts_with("SYN_"));
        lines.filter(|line| !line.starts_with("LD_PRELOAD=")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(others(&recorded), others(&plain), "{}", recorded.stderr);
}

/// By a path from where the program is started, children in other folders are recorded as well, and nobody complains.
#[test]
fn preloaded_by_a_path_from_here() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    std::fs::create_dir(folder.path().join("lib")).expect("a folder");
    std::os::unix::fs::symlink(shim(), folder.path().join("lib/us.so")).expect("a link");
    let writes = format!("{} --child write", program("surroundings").display());
    let text = format!(
        "{writes} here; mkdir d; cd d; {writes} below; env -i {writes} cleared; env >values; exec sh -c '{writes} last'"
    );
    for list in ["lib/us.so", "./lib/us.so"] {
        let run = folder.path().join(list.replace('/', "-"));
        let job = Job::new("sh").args(["-c", &text]).env("LD_PRELOAD", list).env("SYN_RUN", &run);
        let outcome = job.run_in(folder.path()).succeeded();
        assert_eq!(outcome.stderr, "", "{list}");
        let dump = Dump::of(&run);
        for name in ["here", "below", "cleared", "last"] {
            assert!(dump.written(name).0 > 0, "{list}: {name}");
        }
        let below = folder.path().join("d");
        let values = std::fs::read_to_string(below.join("values")).expect("what env has written");
        assert!(values.lines().any(|line| line == format!("LD_PRELOAD={list}")), "{values}");
        std::fs::remove_dir_all(below).expect("removed");
    }
}

#[test]
fn strange_settings() {
    let long = "/".to_owned() + &"long/".repeat(2000);
    let deep = "deep/".repeat(200);
    // Whether something is recorded, and where.
    let cases: [(&str, &str, Option<&str>); 12] = [
        ("SYN_RUN", "", Some("runs/1")),
        ("SYN_RUN", "here", Some("here")),
        ("SYN_RUN", "./a//b/", Some("a/b")),
        ("SYN_RUN", &deep, Some(&deep)),
        ("SYN_RUN", "file", Some("file-2")),
        ("SYN_RUN", "file/below", None),
        ("SYN_RUN", "/proc/none", None),
        ("SYN_RUN", &long, None),
        ("SYN_OFF", "0", Some("runs/1")),
        ("SYN_OFF", "", Some("runs/1")),
        ("SYN_OFF", "yes", None),
        ("SYN_DETOURS", "", Some("runs/1")),
    ];
    for (name, value, place) in cases {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        std::fs::write(folder.path().join("file"), "in the way").expect("a file");
        let job = Job::new(program("failures")).arg("exec");
        let plain = job.run_in(folder.path()).succeeded();
        let outcome = job.env("LD_PRELOAD", shim()).env(name, value).run_in(folder.path()).succeeded();
        assert_eq!(outcome.stdout, plain.stdout, "{name}={value}");
        match place {
            Some(place) => {
                assert_eq!(outcome.stderr, "", "{name}={value}");
                assert_eq!(Dump::of(&folder.path().join(place)).written("file").0, 5000, "{name}={value}");
            }
            None => is_told_once(&outcome, name == "SYN_OFF"),
        }
    }
}

#[track_caller]
fn is_told_once(outcome: &Outcome, off: bool) {
    assert_eq!(outcome.stderr.lines().count(), usize::from(!off), "{}", outcome.stderr);
    assert!(off || outcome.stderr.starts_with("syn: cannot make the run folder"), "{}", outcome.stderr);
}

/// The library twice in the list, under two names; and a list with others that are not there, of which the loader
/// complains.
#[test]
fn preloaded_twice() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let other = folder.path().join("other.so");
    std::os::unix::fs::symlink(shim(), &other).expect("a link");
    let lists = [
        format!("{0}:{0}", shim().display()),
        format!("{} {}", shim().display(), other.display()),
        format!("{}:{}:", other.display(), shim().display()),
    ];
    for (number, list) in lists.iter().enumerate() {
        let run = folder.path().join(format!("run.{number}"));
        let job = Job::new(program("failures"))
            .args(["exec", "vfork"])
            .env("LD_PRELOAD", list)
            .env("SYN_RUN", &run);
        let outcome = job.run_in(folder.path()).succeeded();
        assert_eq!(outcome.stderr, "", "{list}");
        assert_eq!(Dump::of(&run).written("file"), (5001, 5006), "{list}");
        assert!(run.join("..").join(format!("run.{number}-2")).symlink_metadata().is_err());
    }
    let missing = format!("{}:/missing.so", shim().display());
    let run = folder.path().join("run");
    let job = Job::new(program("failures")).arg("exec").env("LD_PRELOAD", missing).env("SYN_RUN", &run);
    let outcome = job.run_in(folder.path()).succeeded();
    assert!(outcome.stderr.contains("/missing.so"), "{}", outcome.stderr);
    assert_eq!(Dump::of(&run).written("file"), (5000, 5000));
}

/// A library behind the recorder makes its functions' calls by number, which comes back to the recorder; in both orders.
#[test]
fn a_library_that_makes_calls_by_number() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let library = tests::library("numbered");
    let orders = [[shim(), library.clone()], [library, shim()]];
    for (number, [first, second]) in orders.iter().enumerate() {
        let run = folder.path().join(format!("run.{number}"));
        let list = format!("{}:{}", first.display(), second.display());
        let job = Job::new(program("numbered")).env("LD_PRELOAD", list).env("SYN_RUN", &run);
        assert_eq!(job.run_in(folder.path()).succeeded().stderr, "");
        let dump = Dump::of(&run);
        for call in ["mmap", "mincore", "msync", "madvise", "mremap", "munmap"] {
            assert!(dump.calls(call).any(|seen| seen.errno.is_none()), "{call} is on record");
        }
        assert!(dump.calls("_exit").any(|seen| seen.args["status"] == 3));
        let own = dump.calls("execve").filter(|seen| seen.is_about("true") && seen.depth == 0);
        assert_eq!(own.count(), 1);
    }
}

/// A run folder made in a place where others may write, too: links are not followed, and nothing there is overwritten.
#[test]
fn names_that_are_taken() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let run = folder.path().join("run");
    std::os::unix::fs::symlink(Path::new("/nowhere/at/all"), &run).expect("a link");
    let job = Job::new(program("failures")).arg("exec").env("LD_PRELOAD", shim()).env("SYN_RUN", &run);
    let outcome = job.run_in(folder.path()).succeeded();
    assert_eq!(outcome.stderr, "");
    assert_eq!(Dump::of(&folder.path().join("run-2")).written("file"), (5000, 5000));
}

/// The next number, however many there are; and with a gap among them one that was free.
#[test]
fn the_next_number() {
    let gap = (2..=40).filter(|&number| number != 20);
    let cases: [(Vec<u32>, &[u32]); 5] = [
        (vec![2], &[3]),
        ((2..=3).collect(), &[4]),
        ((2..=8).collect(), &[9]),
        ((2..=700).collect(), &[701]),
        (gap.collect(), &[20, 41]),
    ];
    for (taken, free) in cases {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let at = |number: &u32| folder.path().join(format!("run-{number}"));
        for place in std::iter::once(folder.path().join("run")).chain(taken.iter().map(at)) {
            std::fs::create_dir(&place).expect("a folder");
            std::fs::write(place.join("file"), "in the way").expect("a file");
        }
        let run = folder.path().join("run");
        let job = Job::new(program("failures")).arg("exec").env("LD_PRELOAD", shim()).env("SYN_RUN", &run);
        assert_eq!(job.run_in(folder.path()).succeeded().stderr, "");
        let found: Vec<&u32> = free.iter().filter(|number| at(number).is_dir()).collect();
        let [number] = found[..] else { panic!("one of {free:?} behind {taken:?}") };
        assert_eq!(Dump::of(&at(number)).written("file"), (5000, 5000));
    }
}

/// What a forked child has from the process that made it: descriptors with gaps between them, and the name that the process
/// has given itself, as the child itself sees them in `/proc`.
#[test]
fn what_a_forked_child_has() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let script = "exec 20</dev/null 255</dev/null 300</dev/null; (exec ls /proc/self/fd); (:)";
    let job = Job::new("bash").args(["-c", script]);
    let dump = recorded_in(folder.path(), "shell", &job).1;
    let child = dump.calls("process-start").last().expect("the subshell").pid;
    let open: Vec<i64> = dump
        .calls("inherited-fd")
        .filter(|call| call.pid == child)
        .map(|call| call.args["fd"].as_i64().expect("a number"))
        .filter(|&fd| fd > 2)
        .collect();
    for fd in [20, 255, 300] {
        assert_eq!(open.iter().filter(|&&open| open == fd).count(), 1, "{fd}: {open:?}");
    }

    for name in
        ["renamed", "a name that is longer than all that the program was started with, by far, and by more"]
    {
        let script =
            format!("$0 = '{name}'; if (!fork) {{ open F, '/proc/self/cmdline'; print <F>; exit }} wait");
        let (said, dump) = recorded_in(folder.path(), &name[..7], &Job::new("perl").args(["-e", &script]));
        let told = said.stdout.trim_end_matches('\0').replace('\0', " ");
        let child = dump.calls("process-start").last().expect("the child");
        assert_eq!(child.args["command"].as_str(), Some(told.trim_end()), "{name}");
    }

    // A loader that is told another name puts it apart from the other arguments (glibc 2.33).
    let loader = Job::new("/lib64/ld-linux-x86-64.so.2");
    let job = loader.args(["--argv0", "other", "/bin/sh", "-c", "(:); :", "x"]);
    let dump = recorded_in(folder.path(), "loader", &job).1;
    let commands: Vec<_> = dump.calls("process-start").map(|call| call.args["command"].as_str()).collect();
    assert_eq!(commands[0], Some("other -c (:); : x"), "{commands:?}");
}

#[track_caller]
fn recorded_in(folder: &Path, run: &str, job: &Job) -> (Outcome, Dump) {
    let run = folder.join(run);
    let outcome = run_recorded(job, folder, &run).0.succeeded();
    (outcome, Dump::of(&run))
}
