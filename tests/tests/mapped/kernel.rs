//! What the kernel saw of mappings of files, call by call, against the trace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tests::strace::{self, Maker, Syscall, same_name};
use tests::workloads::python_itself;
use tests::{Dump, Job, Seen, program};

const PAGE: i64 = 4096;
const CALLS: &str = "munmap,mremap,msync,madvise,mincore,mlock,mlock2,munlock";

/// A call about a mapping of a file: its name, address and length, of `mmap` the descriptor's file, and what it returned.
type About = (String, i64, i64, String, i64);

/// Memory of a process in which files are mapped, page by page, as the kernel's own record tells.
#[derive(Default)]
struct Mapped(BTreeSet<i64>);

impl Mapped {
    fn pages(start: i64, bytes: i64) -> impl Iterator<Item = i64> {
        (start / PAGE..).take(bytes.max(0) as usize).take_while(move |page| page * PAGE < start + bytes)
    }

    fn forget(&mut self, start: i64, bytes: i64) {
        for page in Mapped::pages(start, bytes) {
            self.0.remove(&page);
        }
    }

    /// Follows a call; says whether it is about a file.
    fn follow(&mut self, call: &Syscall) -> bool {
        let number = |position| call.number(position).unwrap_or(0);
        let (first, second, done) = (number(0), number(1), call.result != -1);
        let touches =
            |mapped: &Mapped, start, bytes| Mapped::pages(start, bytes).any(|page| mapped.0.contains(&page));
        match call.name.as_str() {
            "mmap" => {
                let anonymous = call.argument(3).contains("MAP_ANONYMOUS");
                let replaced = call.argument(3).contains("MAP_FIXED") && touches(self, first, second);
                for page in Mapped::pages(call.result, if done { second } else { 0 }) {
                    if anonymous {
                        self.0.remove(&page)
                    } else {
                        self.0.insert(page)
                    };
                }
                // What processes share is on record as well.
                !anonymous || replaced || call.argument(3).contains("MAP_SHARED")
            }
            "munmap" => {
                let concerned = touches(self, first, second);
                self.forget(first, if done { second } else { 0 });
                concerned
            }
            "mremap" => {
                let concerned = touches(self, first, second.max(1));
                if concerned && done {
                    self.forget(first, second);
                    self.0.extend(Mapped::pages(call.result, number(2)));
                }
                concerned
            }
            _ => touches(self, first, second),
        }
    }
}

fn seen_by_kernel(folder: &Path, work: &Path) -> BTreeMap<u32, Vec<About>> {
    let mut all: BTreeMap<u32, Vec<About>> = BTreeMap::new();
    let mut mapped: BTreeMap<u32, Mapped> = BTreeMap::new();
    strace::for_each_call(folder, work, |caller, call| {
        if call.name == "execve" && call.result == 0 {
            mapped.remove(&caller.pid);
        }
        // The loader maps libraries by system calls of its own.
        let about_memory = call.name == "mmap" || CALLS.split(',').any(|name| name == call.name);
        if !about_memory || caller.maker(call) != Maker::Program {
            return;
        }
        if mapped.entry(caller.pid).or_default().follow(call) {
            let name = call.name.replace("mlock2", "mlock");
            let file = call.descriptor(4).filter(|_| call.name == "mmap").map_or("", |file| file.object);
            let address = if name == "mmap" { 0 } else { call.number(0).unwrap_or(0) };
            let length = call.number(1).unwrap_or(0);
            let about = (name, address, length, same_name(file), call.result);
            all.entry(caller.tid).or_default().push(about);
        }
    });
    all
}

fn seen_by_shim(folder: &Path) -> BTreeMap<u32, Vec<About>> {
    let mut all: BTreeMap<u32, Vec<About>> = BTreeMap::new();
    let calls = "mmap ".to_owned() + &CALLS.replace(',', " ");
    let dump = Dump::of(folder);
    let is_counted = |seen: &&Seen| calls.split(' ').any(|call| call == seen.call) && !seen.is_of_loader();
    for seen in dump.0.iter().filter(is_counted) {
        let number = |names: [&str; 3]| {
            names.iter().find_map(|name| seen.args.get(*name)?.as_i64()).unwrap_or_else(|| panic!("{seen:?}"))
        };
        let file = if seen.call == "mmap" { seen.path.as_deref().unwrap_or("") } else { "" };
        let address = if seen.call == "mmap" { 0 } else { number(["addr", "old_address", ""]) };
        let about = (
            seen.call.clone(),
            address,
            number(["length", "len", "old_size"]),
            same_name(file),
            result(seen),
        );
        all.entry(seen.tid).or_default().push(about);
    }
    all
}

/// posix_madvise returns its error; the kernel's call fails.
fn result(seen: &Seen) -> i64 {
    if seen.call == "madvise" && seen.result > 0 { -1 } else { seen.result }
}

/// Runs a job under strace and the shim together; every call about a mapping of a file is in both records, in the same
/// order. `at_least` of them are there.
#[track_caller]
fn compare(job: &Job, at_least: usize) {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let [output, work, run] = ["strace", "work", "run"].map(|name| scratch.path().join(name));
    std::fs::create_dir(&output).expect("a folder in an empty one");
    std::fs::create_dir(&work).expect("a folder in an empty one");
    let _ = strace::job(&output, &run, CALLS).followed_by(job).run_in(&work).succeeded();
    let (kernel, shim) = (seen_by_kernel(&output, &work), seen_by_shim(&run));
    assert!(shim.values().map(Vec::len).sum::<usize>() >= at_least, "{shim:?}");
    for tid in kernel.keys().chain(shim.keys()) {
        let (kernel, shim) = (kernel.get(tid), shim.get(tid));
        let empty = Vec::new();
        for (kernel, shim) in kernel.unwrap_or(&empty).iter().zip(shim.unwrap_or(&empty)) {
            assert_eq!(shim, kernel, "in the trace (left) and in the kernel");
        }
        assert_eq!(shim.map_or(0, Vec::len), kernel.map_or(0, Vec::len), "{shim:?}\n{kernel:?}");
    }
}

/// All parts but those of which the kernel's record is told in another order, and the one with more than can be followed.
#[test]
fn the_whole_surface() {
    let parts = "shared-write private-write sequential-read sparse-read scattered-write populated becomes-writable \
                 growing shrinking moving-over doubling partly-unmapped replaced replaced-by-memory after-close \
                 truncated write-back advice locking errors anonymous device mapped-stream becomes-program left-mapped";
    compare(&Job::new(program("mmap_surface")).args(parts.split_whitespace()), 60);
}

#[test]
fn python() {
    const PROGRAM: &str = r#"
import mmap, os
with open("data", "w+b") as file:
    file.truncate(1 << 20)
    with mmap.mmap(file.fileno(), 0) as memory:
        memory[10 * 4096] = 1
        memory.flush()
        memory.resize(2 << 20)
        assert memory[10 * 4096] == 1 and len(memory) == 2 << 20
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
        assert memory.find(b"\1") == 10 * 4096
        memory.madvise(mmap.MADV_SEQUENTIAL)
    with mmap.mmap(file.fileno(), 4096, access=mmap.ACCESS_COPY) as memory:
        memory[:3] = b"abc"
assert os.path.getsize("data") == 2 << 20
with mmap.mmap(-1, 1 << 20) as memory:
    memory[0] = 1
"#;
    compare(&Job::new(python_itself()).args(["-S", "-E", "-c", PROGRAM]), 9);
}

#[test]
fn sqlite() {
    const SCRIPT: &str = "pragma mmap_size = 268435456;
        create table numbers (number integer primary key, text text);
        with recursive count(n) as (select 1 union all select n + 1 from count where n < 20000)
            insert into numbers select n, 'this is number ' || n from count;
        select count(*), sum(length(text)) from numbers;
        pragma journal_mode = wal;
        update numbers set text = 'another' where number % 7 = 0;
        select count(*) from numbers where text = 'another';";
    compare(&Job::new("sqlite3").args(["numbers.db", SCRIPT]), 4);
}
