//! Saving and loading: whole, foreign, older, newer, cut off, damaged.

use crate::sample::{DEMANDS, sample};
use std::path::{Path, PathBuf};
use syn_plan::{
    Balance, Demand, Fault, MAGIC, Op, Plan, PlanError, PlanFile, Program, Step, Thread, VERSION,
};
use tempfile::TempDir;

/// Bytes before the first program's steps.
const HEADER: usize = 40;

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }
    fn plan(&self) -> PathBuf {
        self.0.path().join("app.syn")
    }
    fn load(&self, bytes: &[u8]) -> Result<Plan, PlanError> {
        std::fs::write(self.plan(), bytes).expect("written");
        Plan::load(&self.plan())
    }
}

fn saved() -> Vec<u8> {
    let folder = Folder::new();
    sample().save(&folder.plan()).expect("saved");
    assert_eq!(
        std::fs::read_dir(folder.0.path()).expect("the folder").count(),
        1,
        "no half-written file is left"
    );
    std::fs::read(folder.plan()).expect("read")
}

/// With `SYN_BLESS` in the environment, the golden file is written anew.
#[test]
fn the_golden_file_is_the_sample_and_the_sample_is_the_golden_file() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/v{VERSION}.syn"));
    if std::env::var_os("SYN_BLESS").is_some() {
        sample().save(&golden).expect("saved");
    }
    assert_eq!(Plan::load(&golden).expect("loaded"), sample());
    assert_eq!(std::fs::read(&golden).expect("read"), saved());
    assert!(Plan::is_plan(&golden));
}

#[test]
fn what_was_saved_is_loaded() {
    let folder = Folder::new();
    assert_eq!(folder.load(&saved()).expect("loaded"), sample());
    assert_eq!(saved(), saved());
}

#[test]
fn steps_can_be_added_to_a_loaded_program() {
    let mut plan = Folder::new().load(&saved()).expect("loaded");
    let last = plan.programs[0].steps.iter().last().expect("steps");
    plan.programs[0].steps.push(&last);
    assert_eq!(plan.programs[0].steps.iter().last(), Some(last));
}

#[test]
fn foreign_files() {
    let folder = Folder::new();
    for bytes in [&b""[..], b"x", b"#!/bin/sh\necho", &[0; 100]] {
        assert!(matches!(folder.load(bytes), Err(PlanError::NotOurs(_))), "{bytes:?}");
        assert!(!Plan::is_plan(&folder.plan()));
    }
    assert!(matches!(Plan::load(folder.0.path()), Err(PlanError::Folder(_))));
    assert!(matches!(sample().save(folder.0.path()), Err(PlanError::Io { what: "write", .. })));
}

#[test]
fn other_versions() {
    let (folder, mut bytes) = (Folder::new(), saved());
    let mut with_version = |version: u32| {
        bytes[MAGIC.len()..][..4].copy_from_slice(&version.to_le_bytes());
        folder.load(&bytes)
    };
    assert!(matches!(with_version(VERSION - 1), Err(PlanError::Older { found, .. }) if found == VERSION - 1));
    assert!(matches!(with_version(VERSION + 1), Err(PlanError::Newer { found, .. }) if found == VERSION + 1));
    assert!(matches!(with_version(u32::MAX), Err(PlanError::Newer { found: u32::MAX, .. })));
}

#[test]
fn plans_of_earlier_versions_are_told_apart() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    for version in 1..VERSION {
        let error = Plan::load(&golden.join(format!("v{version}.syn"))).expect_err("refused");
        assert!(matches!(error, PlanError::Older { found, .. } if found == version), "{error}");
        assert!(error.to_string().contains("older") && error.to_string().contains("merge the run again"));
    }
}

#[test]
fn cut_off_at_every_byte() {
    let (folder, bytes) = (Folder::new(), saved());
    for length in 1..bytes.len() {
        match folder.load(&bytes[..length]) {
            Err(PlanError::CutOff { offset, .. }) => assert_eq!(offset, length as u64),
            other => panic!("cut off at {length}: {other:?}"),
        }
    }
}

#[test]
fn damaged_at_every_byte() {
    let (folder, bytes) = (Folder::new(), saved());
    let parts = parts(&bytes);
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] ^= flip;
            let part = parts.iter().copied().rfind(|&offset| offset <= at);
            match folder.load(&bytes).expect_err("refused") {
                PlanError::NotOurs(_) => assert!(at < MAGIC.len()),
                PlanError::Older { .. } | PlanError::Newer { .. } => assert!((8..12).contains(&at)),
                PlanError::Damaged { offset, .. } => assert_eq!(Some(offset), part.map(|part| part as u64)),
                other => panic!("damaged at {at}: {other:?}"),
            }
        }
    }
}

/// Checksums say that nothing was changed by accident; what they are computed over may still be anything.
#[test]
fn a_directory_of_any_content_is_refused() {
    let (folder, bytes) = (Folder::new(), saved());
    let directory = number(&bytes[24..]) as usize;
    for at in directory..bytes.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut bytes = bytes.clone();
            if bytes[at] == value {
                continue;
            }
            bytes[at] = value;
            let crc = crc32fast::hash(&bytes[directory..]);
            bytes[36..40].copy_from_slice(&crc.to_le_bytes());
            let crc = crc32fast::hash(&bytes[16..40]);
            bytes[12..16].copy_from_slice(&crc.to_le_bytes());
            let error = folder.load(&bytes).map(|_| at).expect_err("refused");
            assert!(matches!(error, PlanError::Damaged { .. }), "{error}");
        }
    }
}

#[test]
fn what_follows_the_end_is_damage() {
    let (folder, mut bytes) = (Folder::new(), saved());
    let length = bytes.len();
    bytes.push(0);
    assert!(matches!(folder.load(&bytes), Err(PlanError::Damaged { offset, .. }) if offset == length as u64));
}

#[test]
fn a_step_of_a_kind_that_is_not_known_is_told_apart() {
    let (folder, mut plan) = (Folder::new(), Plan::default());
    let thread = sample().programs[1].thread.clone();
    let step = Step { start_ns: 0, took_ns: 0, op: Op::Sleep { ns: 7 } };
    plan.programs.push(Program { thread, balance: Balance::default(), steps: [step].into_iter().collect() });
    plan.save(&folder.plan()).expect("saved");
    let mut bytes = std::fs::read(folder.plan()).expect("read");
    let changed = |bytes: &mut Vec<u8>| {
        let before = crc32fast::hash(&bytes[HEADER..HEADER + 4]);
        bytes[HEADER] = 200;
        (before, crc32fast::hash(&bytes[HEADER..HEADER + 4]))
    };
    let (before, after) = changed(&mut bytes);
    // It stands behind the place, length and count of the steps in the thread's entry.
    let varint = |number: u32| postcard::to_stdvec(&number).expect("written to memory");
    let entry = [&[HEADER as u8, 4, 1][..], &varint(before)].concat();
    let place = bytes.windows(entry.len()).rposition(|window| window == entry).expect("the entry") + 3;
    assert_eq!(varint(before).len(), varint(after).len(), "another number has a checksum as long");
    bytes[place..place + varint(after).len()].copy_from_slice(&varint(after));
    let directory = number(&bytes[24..]) as usize;
    let (threads, length) =
        (number(&bytes[directory + 6 * 32 + 8..]), number(&bytes[directory + 6 * 32 + 16..]));
    let crc = crc32fast::hash(&bytes[threads as usize..][..length as usize]);
    bytes[directory + 6 * 32 + 4..][..4].copy_from_slice(&crc.to_le_bytes());
    let crc = crc32fast::hash(&bytes[directory..]);
    bytes[36..40].copy_from_slice(&crc.to_le_bytes());
    let crc = crc32fast::hash(&bytes[16..40]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    let error = folder.load(&bytes).expect_err("refused");
    assert!(matches!(error, PlanError::Unknown { program: 0, number: 200, .. }), "{error}");
}

/// A rank's part of a plan is a plan of its own.
#[test]
fn a_part_is_read_without_the_rest() {
    let folder = Folder::new();
    let whole = sample();
    whole.save(&folder.plan()).expect("saved");
    let file = PlanFile::open(&folder.plan()).expect("opened");
    assert_eq!(file.programs(), 2);
    assert_eq!(file.programs_of(Some(0)).expect("an index"), 0..1);
    assert_eq!(file.programs_of(None).expect("an index"), 1..2);
    assert!(file.programs_of(Some(1)).expect("an index").is_empty());
    for program in 0..2 {
        let part = file.excerpt(program..program + 1).expect("read");
        assert_eq!(part.programs, [program]);
        assert_eq!(part.plan.programs.len(), 1);
        assert_eq!(part.plan.programs[0].balance, whole.programs[program].balance);
        let steps = part.plan.programs[0].steps.iter().zip(whole.programs[program].steps.iter());
        for (mine, theirs) in steps {
            assert_eq!((mine.start_ns, mine.took_ns), (theirs.start_ns, theirs.took_ns));
            match (mine.op, theirs.op) {
                (Op::Wait { edge: mine, .. }, Op::Wait { edge: theirs, .. })
                | (Op::Signal { edge: mine }, Op::Signal { edge: theirs }) => {
                    assert_eq!(part.edges[mine as usize], theirs);
                    assert_eq!(part.plan.edges[mine as usize], whole.edges[theirs as usize]);
                }
                (Op::Io { call: mine, .. }, Op::Io { call: theirs, .. }) => {
                    assert_eq!((mine.number(), mine.operands().1), (theirs.number(), theirs.operands().1));
                    for (mine, theirs) in mine.operands().0.into_iter().zip(theirs.operands().0) {
                        assert_eq!(mine.map(|file| part.files[file as usize]), theirs);
                        let path = mine.map(|file| &part.plan.files[file as usize]);
                        assert_eq!(path, theirs.map(|file| &whole.files[file as usize]));
                    }
                }
                (mine, theirs) => assert_eq!(mine, theirs),
            }
        }
    }
}

#[test]
fn a_part_touches_nothing_that_the_whole_must_not() {
    let (folder, mut plan) = (Folder::new(), sample());
    plan.files[2].path = "/data/../..".into();
    plan.save(&folder.plan()).expect("saved");
    let error = PlanFile::open(&folder.plan()).expect("opened").excerpt(0..1).expect_err("refused");
    assert!(matches!(error, PlanError::Wrong { fault: Fault::BadPath { .. }, .. }), "{error}");
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("eight bytes"))
}

/// Where the header, each program's steps, the sections and the directory begin.
fn parts(bytes: &[u8]) -> Vec<usize> {
    let directory = number(&bytes[24..]) as usize;
    let sections = bytes[directory..].chunks_exact(32).map(|entry| number(&entry[8..]) as usize);
    let first = sample().programs[0].steps.iter().collect::<Vec<_>>();
    let folder = Folder::new();
    let mut plan = Plan::default();
    plan.programs.push(Program { steps: first.into_iter().collect(), ..sample().programs[0].clone() });
    plan.save(&folder.plan()).expect("saved");
    let alone = std::fs::read(folder.plan()).expect("read");
    let steps = number(&alone[number(&alone[24..]) as usize + 8..]) as usize;
    let mut parts: Vec<usize> = sections.chain([0, HEADER, steps, directory]).collect();
    parts.sort_unstable();
    parts
}

#[test]
fn demands_come_back_and_unknown_kernels_are_refused() {
    let folder = Folder::new();
    let plan = |demands: &[Demand]| {
        let steps =
            demands.iter().map(|&demand| Step { start_ns: 5, took_ns: 0, op: Op::Demand(demand) }).collect();
        let thread = Thread { process: 0, rank: None, pid: 1, tid: 1, ends_with_process: false };
        let programs = vec![Program { thread, balance: Balance::default(), steps }];
        Plan { programs, ..Plan::default() }
    };
    let all = plan(&DEMANDS);
    all.save(&folder.plan()).expect("saved");
    assert_eq!(Plan::load(&folder.plan()).expect("it can be replayed"), all);
    let wrong = plan(&[Demand::Busy { cpu_ns: 1, kernel: 5 }]).check();
    assert!(matches!(wrong, Err(Fault::NoSuch { what: "kernel", number: 5, .. })), "{wrong:?}");
}
