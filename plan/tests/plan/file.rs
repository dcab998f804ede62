//! Saving and loading: whole, foreign, older, newer, cut off, damaged.

use crate::sample::sample;
use std::path::{Path, PathBuf};
use syn_plan::{MAGIC, Plan, PlanError, VERSION};
use tempfile::TempDir;

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
    assert!(matches!(Plan::load(folder.0.path()), Err(PlanError::Io { what: "read", .. })));
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
    let sections = section_offsets(&bytes);
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] ^= flip;
            let section = sections.iter().copied().rfind(|&offset| offset <= at);
            match (folder.load(&bytes).expect_err("refused"), section) {
                (PlanError::NotOurs(_), None) => assert!(at < MAGIC.len()),
                (PlanError::Older { .. } | PlanError::Newer { .. }, None) => assert!(at >= MAGIC.len()),
                (PlanError::Damaged { offset, .. }, Some(section)) => assert_eq!(offset, section as u64),
                // A longer length reaches behind the end.
                (PlanError::CutOff { .. }, Some(section)) => assert!(at < section + 8),
                (other, _) => panic!("damaged at {at}: {other:?}"),
            }
        }
    }
}

#[test]
fn what_follows_the_last_section_is_damage() {
    let (folder, mut bytes) = (Folder::new(), saved());
    let length = bytes.len();
    bytes.push(0);
    assert!(matches!(folder.load(&bytes), Err(PlanError::Damaged { offset, .. }) if offset == length as u64));
}

fn section_offsets(bytes: &[u8]) -> Vec<usize> {
    let mut offsets = Vec::new();
    let mut at = MAGIC.len() + 4;
    while at < bytes.len() {
        offsets.push(at);
        let length = u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        at += 12 + length as usize;
    }
    offsets
}
