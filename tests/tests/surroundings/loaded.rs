//! Programs and libraries that are not the system's: what is read to start and load them is on record, and in the plan.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use syn_trace::folders::is_of_system;
use syn_trace::loader::DESCRIPTOR;
use tests::strace::{self, Maker, same_name};
use tests::workloads::python_itself;
use tests::{Dump, Job, Seen, library, program, record, record_but, shim, syn};

const PAGE: i64 = 4096;

/// By file and call.
type Counts = BTreeMap<(String, String), u64>;

/// Which page of which file an address holds.
type Pages = BTreeMap<i64, (String, i64)>;

fn number(seen: &Seen, name: &str) -> i64 {
    seen.args[name].as_i64().expect("a number")
}

/// By what a program has printed of `/proc/self/maps`.
fn printed(output: &str, when: &str) -> Pages {
    let mut pages = Pages::new();
    for line in output.lines().filter_map(|line| line.strip_prefix(when)) {
        let [range, _, offset, _, _, path] =
            line.split_whitespace().collect::<Vec<_>>().try_into().expect("a mapping of a file");
        let number = |text: &str| i64::from_str_radix(text, 16).expect("a number");
        let (start, end) = range.split_once('-').expect("addresses");
        for address in (number(start)..number(end)).step_by(PAGE as usize) {
            pages.insert(address, (path.to_owned(), number(offset) + address - number(start)));
        }
    }
    pages
}

/// By the records of one object, from `object-loaded` to its close.
fn recorded(records: &[Seen]) -> Pages {
    let mut pages = Pages::new();
    let path = records[1].path.clone().expect("an open file");
    for map in records.iter().filter(|seen| seen.call == "mmap") {
        for at in (0..number(map, "length")).step_by(PAGE as usize) {
            pages.insert(map.result + at, (path.clone(), number(map, "offset") + at));
        }
    }
    pages
}

/// The records of each object.
fn objects(dump: &Dump) -> Vec<Vec<Seen>> {
    let mut objects: Vec<Vec<Seen>> = Vec::new();
    for seen in dump.0.iter().filter(|seen| seen.is_of_loader()) {
        if seen.call == "object-loaded" {
            objects.push(Vec::new());
        }
        objects.last_mut().expect("an object").push(seen.clone());
    }
    objects
}

fn calls(records: &[Seen]) -> Vec<&str> {
    let mut calls: Vec<&str> = records.iter().map(|seen| seen.call.as_str()).collect();
    calls.dedup();
    calls
}

/// Merges, and replays in a folder of its own. The plan as `syn dump` prints it.
fn replayed(run: &Path, only: &Path) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = folder.path().join("app.syn");
    let merged = syn().args(["merge", "-o"]).arg(&plan).arg("--only").arg(only).arg(run);
    let _ = merged.run_in(folder.path()).succeeded();
    let storage = folder.path().join("storage");
    std::fs::create_dir(&storage).expect("a folder in an empty one");
    let replay = syn().args(["replay", "--storage"]).arg(&storage).arg(&plan).run_in(folder.path());
    let replay = replay.succeeded();
    assert!(replay.stdout.contains("came out as recorded"), "{}", replay.stdout);
    syn().arg("dump").arg(&plan).run_in(folder.path()).succeeded().stdout
}

#[test]
fn what_is_loaded_is_read() {
    let (program, library) = (program("loads"), library("paged"));
    let recording = record_but(&Job::new(&program).arg(&library), &["maps"]);
    assert!(recording.plain.status.success(), "{}", recording.plain.stderr);
    assert_eq!((recording.run.dropped(), recording.run.unobserved()), (0, vec![]));
    let dump = Dump::of(&recording.run_folder());
    let objects = objects(&dump);
    let path = |of: &Vec<Seen>| PathBuf::from(of[0].args["path"].as_str().expect("a path"));
    let paths: Vec<PathBuf> = objects.iter().map(path).collect();
    assert_eq!(paths.iter().collect::<Vec<_>>(), [&program, &library, &library]);
    for (path, records) in paths.iter().zip(&objects) {
        let (is_library, status) = (*path == library, path.metadata().expect("its status"));
        let status_call: &[&str] = if is_library { &["fstat"] } else { &[] };
        let expected = [&["object-loaded", "openat", "read"], status_call, &["mmap", "close"]].concat();
        assert_eq!(calls(records), expected);
        assert_eq!(records[2].result, if is_library { 832 } else { 256 });
        let of_file = ["st_size", "st_ino"].map(|name| number(&records[1], name));
        assert_eq!(of_file, [status.size() as i64, status.ino() as i64]);
    }
    // What the kernel lists is on record as it lists it.
    let listed = std::fs::read_to_string(recording.recorded_folder().join("maps")).expect("what was mapped");
    let [first, unloaded, second] = ["first", "unloaded", "second"].map(|when| printed(&listed, when));
    assert!(unloaded.is_empty() && first.len() > second.len() && second.len() > 256, "{listed}");
    let mut at_first = recorded(&objects[0]);
    at_first.extend(recorded(&objects[1]));
    for (listed, told) in [(&first, &at_first), (&second, &recorded(&objects[2]))] {
        let missing: Vec<_> =
            listed.iter().filter(|(address, page)| told.get(*address) != Some(page)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
    let unmapped = dump.calls("munmap").filter(|seen| seen.path.as_deref() == library.to_str()).count();
    let mapped = objects[1].iter().filter(|seen| seen.call == "mmap").count();
    assert_eq!(unmapped, mapped, "each part: the first is the rest of the whole");
    // The page that was read, and the child has nothing to tell.
    let looks = dump.calls("pages-touched").filter(|seen| seen.path.as_deref() == library.to_str());
    let looks: Vec<&Seen> = looks.collect();
    let table_page = looks.iter().filter(|seen| seen.args["pages"].to_string().len() > 2).count();
    assert!(table_page >= 2, "in front of the unloading and at the end: {looks:?}");
    let parent = dump.0[0].pid;
    assert!(dump.0.iter().all(|seen| seen.pid == parent || seen.layer != "mmap"));
    let plan = replayed(&recording.run_folder(), library.parent().expect("its folder"));
    let opened = |path: &Path| {
        let name = path.to_str().expect("text");
        plan.lines().filter(|line| line.contains(" open ") && line.contains(name)).count()
    };
    assert_eq!((opened(&program), opened(&library)), (1, 2), "{plan}");
    assert!(plan.contains(" populate "), "{plan}");
}

/// A script is read by the kernel before its interpreter is, and by that.
#[test]
fn scripts() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/bin/sh\nexit 0\n").expect("room for it");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("it is ours");
    let recording = record(&Job::new(&script));
    let dump = Dump::of(&recording.run_folder());
    let objects = objects(&dump);
    assert_eq!(objects.len(), 1, "{objects:?}");
    assert_eq!(calls(&objects[0]), ["object-loaded", "openat", "read", "close"]);
    assert_eq!((objects[0][0].args["path"].as_str(), objects[0][2].result), (script.to_str(), 17));
}

/// Of programs and libraries of the system there is no word.
#[test]
fn the_system_s_are_left_out() {
    let recording = record(&Job::new("/bin/sh").args(["-c", "ls / >list; uname >>list"]));
    let dump = Dump::of(&recording.run_folder());
    assert!(dump.calls("write").count() > 1 && objects(&dump).is_empty());
}

/// Without `..`, of paths with no links.
fn without_parents(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// By file and call, how often: what strace has seen the loader do, and what is on record of it. How many of these have failed.
#[track_caller]
fn compare_with_loader(job: &Job, least: usize) -> usize {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let [output, work, run] = ["strace", "work", "run"].map(|name| scratch.path().join(name));
    std::fs::create_dir(&output).expect("a folder in an empty one");
    std::fs::create_dir(&work).expect("a folder in an empty one");
    let calls = "openat,read,fstat,newfstatat,close";
    let _ = strace::job(&output, &run, calls).followed_by(job).run_in(&work).succeeded();
    let (mut kernel, mut trace) = (Counts::new(), Counts::new());
    let key = |path: &str, name: &str, has_failed: bool| {
        (same_name(&without_parents(path)), format!("{name}{}", if has_failed { " in vain" } else { "" }))
    };
    strace::for_each_call(&output, &work, |caller, call| {
        let place = if call.name == "mmap" { 4 } else { 0 };
        let described = call.descriptor(place).map_or("", |file| file.object);
        let by_name = call.text(1).filter(|name| !name.is_empty());
        let (path, name) = match (call.name.as_str(), by_name) {
            ("openat", Some(name)) => (if call.result < 0 { name } else { call.opened.as_str() }, "openat"),
            ("newfstatat", Some(name)) => (name, "fstatat"),
            ("newfstatat", None) => (described, "fstat"),
            (name, _) => (described, name),
        };
        // The current folder is one of those that are looked in.
        let path = if path.is_empty() { PathBuf::new() } else { work.join(path) };
        let path = path.to_str().expect("text");
        if caller.maker(call) == Maker::Loader && path.starts_with('/') && !is_of_system(path.as_bytes()) {
            *kernel.entry(key(path, name, call.result < 0)).or_default() += 1;
        }
    });
    let dump = Dump::of(&run);
    // The kernel does without asking for the status of a program.
    let is_of_kernel =
        |seen: &Seen| seen.call == "openat" && seen.args["st_mode"] != 0 && seen.result == DESCRIPTOR;
    let of_loader = |records: &Vec<Seen>| {
        records.iter().any(|seen| seen.call == "fstat") || !records.iter().any(is_of_kernel)
    };
    for seen in objects(&dump).into_iter().filter(of_loader).flatten() {
        if seen.call != "object-loaded" {
            let path = seen.path.as_deref().expect("a file");
            *trace.entry(key(path, &seen.call, seen.errno.is_some())).or_default() += 1;
        }
    }
    kernel.retain(|(path, _), _| *path != same_name(shim().to_str().expect("text")));
    assert!(kernel.len() >= least, "{kernel:?}");
    let of_one = |these: &Counts, others: &Counts| {
        let mut these = these.clone();
        these.retain(|key, count| others.get(key) != Some(count));
        these
    };
    let differ = (of_one(&trace, &kernel), of_one(&kernel, &trace));
    assert_eq!(differ, Default::default(), "in the trace (left), and by the loader");
    trace.keys().filter(|(_, call)| call.ends_with(" in vain")).count()
}

#[test]
fn as_the_loader_did() {
    compare_with_loader(&Job::new(program("loads")).arg(library("paged")), 5);
    let script = "import ssl, json, zlib, sqlite3, ctypes, decimal";
    compare_with_loader(&Job::new(python_itself()).args(["-S", "-E", "-c", script]), 0);
}

/// Where the loader has looked in vain, by each of the ways in which it is told where to look.
#[test]
fn looked_for_in_vain() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let build = |name: &str, source: &str, arguments: &[&str]| {
        std::fs::write(at("source.c"), source).expect("room for it");
        let mut cc = Command::new("cc");
        let status =
            cc.args(["-o", name, "source.c", "-L", "."]).args(arguments).current_dir(folder.path()).status();
        assert!(status.expect("a compiler").success(), "{name}");
    };
    for name in ["one", "two", "none"] {
        std::fs::create_dir(at(name)).expect("a folder in an empty one");
    }
    build("one/libone.so", "int one(void) { return 1; }", &["-shared", "-fPIC"]);
    let needs_one = ["-shared", "-fPIC", "-Lone", "-l:libone.so"];
    build("two/libtwo.so", "int one(void), two(void); int two(void) { return one() + 1; }", &needs_one);
    let with_own =
        [&needs_one[..], &["-Wl,--enable-new-dtags,-rpath,$ORIGIN/../none:${ORIGIN}/../one/"]].concat();
    build("two/libthree.so", "int one(void); int three(void) { return one() + 2; }", &with_own);
    let source = "int one(void), two(void); int main(void) { return one() + two() - 3; }";
    let needs_both = ["-Ltwo", "-Lone", "-l:libtwo.so", "-l:libone.so"];
    let everywhere =
        "-Wl,--disable-new-dtags,-rpath,$ORIGIN/none:/no/such/folder:$ORIGIN/one:$ORIGIN/none:$ORIGIN/two";
    build("older", source, &[&needs_both[..], &[everywhere]].concat());
    build(
        "newer",
        source,
        &[&needs_both[..], &["-Wl,--enable-new-dtags,-rpath,$ORIGIN/none:$ORIGIN/two"]].concat(),
    );
    build(
        "late",
        "#include <dlfcn.h>\nint main(int c, char **v) { return c < 2 || !dlopen(v[1], RTLD_NOW); }",
        &[],
    );
    // Three folders that are there and one that is not: `libtwo.so` comes first, and is in the last one; `libc.so.6` is in none.
    let in_vain = compare_with_loader(&Job::new(at("older")), 3);
    assert!(in_vain >= 6, "{in_vain}");
    let listed = format!(":{0}/one:/no/such/folder:{0}/none:", folder.path().display());
    let in_vain = compare_with_loader(&Job::new(at("newer")).env("LD_LIBRARY_PATH", &listed), 3);
    assert!(in_vain >= 6, "{in_vain}");
    let in_vain = compare_with_loader(&Job::new(at("late")).arg(at("two/libthree.so")), 3);
    assert!(in_vain >= 2, "{in_vain}");
    let recording = record(&Job::new("/bin/true").env("LD_LIBRARY_PATH", at("none")));
    let dump = Dump::of(&recording.run_folder());
    let objects = objects(&dump);
    assert!(!objects.is_empty() && objects.iter().flatten().all(|seen| seen.result <= 0), "{objects:?}");
    let _ = replayed(&recording.run_folder(), folder.path());
}
