//! A plan file of any content: whole as it comes, or with a header and checksums that are in order, so that what they hold is
//! looked into. What loads can be walked, step by step, and read in parts.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Write;
use syn_plan::{MAGIC, Plan, PlanFile, VERSION};

const HEADER: usize = 40;
const SECTIONS: usize = 10;
/// Of an entry of the directory.
const ENTRY: usize = 32;

/// Sections out of `data`, each behind its length and the number of things in it; the first holds steps.
fn with_sections(mut data: &[u8]) -> Vec<u8> {
    let mut parts = vec![0; HEADER];
    let mut directory = Vec::new();
    for kind in 0..=SECTIONS as u32 {
        let Some((front, rest)) = data.split_first_chunk::<3>() else { break };
        let length = usize::from(u16::from_le_bytes([front[0], front[1]])).min(rest.len());
        let (section, behind) = rest.split_at(length);
        if kind > 0 {
            directory.extend_from_slice(&kind.to_le_bytes());
            directory.extend_from_slice(&crc32fast::hash(section).to_le_bytes());
            for number in [parts.len() as u64, length as u64, front[2].into()] {
                directory.extend_from_slice(&number.to_le_bytes());
            }
        }
        parts.extend_from_slice(section);
        data = behind;
    }
    let at = parts.len() as u64;
    parts.extend_from_slice(&directory);
    let (entries, length) = ((directory.len() / ENTRY) as u32, parts.len() as u64);
    parts[..8].copy_from_slice(&MAGIC);
    parts[8..12].copy_from_slice(&VERSION.to_le_bytes());
    parts[16..24].copy_from_slice(&length.to_le_bytes());
    parts[24..32].copy_from_slice(&at.to_le_bytes());
    parts[32..36].copy_from_slice(&entries.to_le_bytes());
    parts[36..40].copy_from_slice(&crc32fast::hash(&directory).to_le_bytes());
    let crc = crc32fast::hash(&parts[16..HEADER]);
    parts[12..16].copy_from_slice(&crc.to_le_bytes());
    parts
}

fuzz_target!(|data: &[u8]| {
    let Some((&how, data)) = data.split_first() else { return };
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    let bytes = if how & 1 == 0 { with_sections(data) } else { data.to_vec() };
    file.write_all(&bytes).expect("room for a small file");
    if let Ok(opened) = PlanFile::open(file.path()) {
        for rank in [Some(0), Some(1), None] {
            if let Ok(programs) = opened.programs_of(rank) {
                let _ = opened.excerpt(programs);
            }
        }
    }
    let Ok(plan) = Plan::load(file.path()) else { return };
    for program in &plan.programs {
        assert!(program.steps.iter().count() as u64 <= program.steps.len());
        let _ = program.steps.unrolled().take(10_000).count();
    }
    let _ = plan.check_communication();
    let communicators = 2 + plan.communicators.len() as u32;
    for group in (0..=communicators).filter_map(|comm| plan.group(comm)) {
        let _ = (group.len(), group.is_empty(), group.position(0), group.position(1));
    }
});
