//! The pages that the trace says were touched, against those that the program touched.

use crate::parts;
use std::collections::BTreeSet;
use std::path::Path;
use tests::{Dump, Job, Seen, program, run_recorded};

const PAGE: i64 = 4096;
/// A page that is read brings its neighbours with it, 16 pages in all, where they are in the page cache.
const NEIGHBOURS: i64 = 15;

/// Pages of a file, numbered from its beginning.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// Those in the page table.
    pub present: Vec<i64>,
    /// Those among them that were written to.
    pub written: Vec<i64>,
    /// Those of which that cannot be told.
    pub either: Vec<i64>,
}

impl Pages {
    /// What a `pages-touched` record lists.
    pub fn of_one(seen: &Seen) -> Pages {
        let number = |name: &str| seen.args[name].as_i64().expect("a number");
        let list: Vec<i64> = serde_json::from_value(seen.args["pages"].clone()).expect("a list of numbers");
        let first = number("offset") / PAGE;
        let mut pages = Pages::default();
        for run in list.chunks_exact(3) {
            let [page, count, kind] = run else { unreachable!("chunks of three") };
            let numbers = first + page..first + page + count;
            pages.present.extend(numbers.clone());
            match kind {
                0 => {}
                1 => pages.written.extend(numbers),
                2 => pages.either.extend(numbers),
                kind => panic!("no kind of page: {kind}"),
            }
        }
        if number("present") == -1 {
            assert!(list.is_empty(), "{seen:?}");
            return pages;
        }
        assert_eq!(number("present"), pages.present.len() as i64 * PAGE, "{seen:?}");
        assert!(number("length") >= number("present"), "{seen:?}");
        match number("dirty") {
            -1 => assert!(!pages.either.is_empty(), "{seen:?}"),
            dirty if pages.either.is_empty() => {
                assert_eq!(dirty, pages.written.len() as i64 * PAGE, "{seen:?}")
            }
            dirty => assert!(dirty <= number("present"), "{seen:?}"),
        }
        pages
    }

    /// What all records about a file list together.
    pub fn of(dump: &Dump, file: &str) -> Pages {
        let all: Vec<Pages> =
            dump.calls("pages-touched").filter(|seen| seen.is_about(file)).map(Pages::of_one).collect();
        let together = |part: fn(&Pages) -> &Vec<i64>| -> Vec<i64> {
            all.iter().flat_map(part).copied().collect::<BTreeSet<_>>().into_iter().collect()
        };
        Pages {
            present: together(|pages| &pages.present),
            written: together(|pages| &pages.written),
            either: together(|pages| &pages.either),
        }
    }
}

/// What a part of the program does with its file.
struct Touches {
    file: &'static str,
    shared: bool,
    read: &'static [i64],
    written: &'static [i64],
}

const fn reads(file: &'static str, shared: bool, read: &'static [i64]) -> Touches {
    Touches { file, shared, read, written: &[] }
}

const fn writes(file: &'static str, shared: bool, written: &'static [i64]) -> Touches {
    Touches { file, shared, read: &[], written }
}

static TOUCHES: [Touches; 18] = [
    writes("shared-write", true, &[3, 40]),
    Touches { read: &[30], ..writes("private-write", false, &[5, 6]) },
    reads("sparse-read", false, &[2, 50]),
    Touches { read: &[9], ..writes("becomes-writable", false, &[11]) },
    writes("growing", false, &[1, 33]),
    writes("shrinking", false, &[2, 50]),
    Touches { read: &[8], ..writes("moving-over", false, &[7]) },
    writes("moved-over", false, &[8]),
    Touches { read: &[5], ..writes("doubling", true, &[4, 5]) },
    writes("partly-unmapped", false, &[4, 20, 60]),
    writes("replaced", false, &[2, 19]),
    writes("replacing", false, &[3]),
    writes("replaced-by-memory", false, &[2]),
    writes("after-close", false, &[12]),
    // The other page went with the end of the file.
    writes("truncated", true, &[3]),
    writes("write-back", true, &[6]),
    Touches { read: &[8], ..writes("advice", false, &[8]) },
    writes("left-mapped", false, &[18]),
];

const PARTS: &str = "shared-write private-write sparse-read becomes-writable growing shrinking moving-over doubling \
                     partly-unmapped replaced replaced-by-memory after-close truncated write-back advice left-mapped";

/// The trace against the program, as `trace/FORMAT.md` puts it: pages that were written in private mappings are exact;
/// others are there, and at most the neighbours of what was read besides them.
#[track_caller]
pub fn check(dump: &Dump) {
    for touches in &TOUCHES {
        let Touches { file, shared, read, written } = touches;
        let pages = Pages::of(dump, file);
        let touched: BTreeSet<i64> = read.iter().chain(*written).copied().collect();
        let missing: Vec<_> = touched.iter().filter(|page| !pages.present.contains(page)).collect();
        assert!(missing.is_empty(), "{file}: touched and not told: {missing:?} of {pages:?}");
        let is_near = |page: &&i64| read.iter().any(|read| read.abs_diff(**page) as i64 <= NEIGHBOURS);
        let wrong = pages.present.iter().filter(|page| !touched.contains(page) && !is_near(page));
        assert_eq!(wrong.collect::<Vec<_>>(), [&0_i64; 0], "{file}: told and not touched, of {pages:?}");
        if !shared {
            assert_eq!(pages.written, *written, "{file}: written to, by {pages:?}");
            assert!(pages.either.is_empty(), "{file}: {pages:?}");
        } else {
            let may_be = |page: &&i64| pages.written.contains(page) || pages.either.contains(page);
            assert!(written.iter().all(|page| may_be(&page)), "{file}: {pages:?}");
        }
    }
}

/// The parts of which [`check`] knows what they do.
pub fn job() -> Job {
    Job::new(program("mmap_surface")).args(PARTS.split_whitespace())
}

#[test]
fn on_disk() {
    let (_, dump) = parts(PARTS);
    check(&dump);
}

#[test]
fn in_memory() {
    let scratch = tempfile::tempdir_in("/dev/shm").expect("a folder in a tmpfs");
    let (work, run) = (scratch.path().join("work"), scratch.path().join("run"));
    std::fs::create_dir(&work).expect("a folder in an empty one");
    let (outcome, _) = run_recorded(&job(), Path::new(&work), &run);
    let _ = outcome.succeeded();
    check(&Dump::of(&run));
}

#[test]
fn whole_files() {
    let (_, dump) = parts("sequential-read populated");
    let all: Vec<i64> = (0..64).collect();
    for file in ["sequential-read", "populated"] {
        let pages = Pages::of(&dump, file);
        assert_eq!((pages.present, pages.written, pages.either), (all.clone(), vec![], vec![]), "{file}");
    }
}

/// Small mappings are looked at while that takes little of the program's time: the first one, and not all of them.
#[test]
fn small_mappings_in_great_number() {
    let (_, dump) = parts("often");
    let records: Vec<_> = dump.calls("pages-touched").filter(|seen| seen.is_about("often")).collect();
    assert_eq!(records.len(), 1000);
    assert_eq!(Pages::of_one(records[0]).present, [0]);
    for seen in records.iter().filter(|seen| seen.args["present"] != 4096) {
        assert_eq!((&seen.args["present"], &seen.args["dirty"]), (&(-1).into(), &0.into()), "{seen:?}");
    }
}

/// More runs than one record has room for.
#[test]
fn long_lists_are_split() {
    let (_, dump) = parts("scattered-write");
    let records = dump.calls("pages-touched").filter(|seen| seen.is_about("scattered-write"));
    assert_eq!(records.count(), 2);
    let every_second: Vec<i64> = (0..3000).step_by(2).collect();
    assert_eq!(Pages::of(&dump, "scattered-write").written, every_second);
}
