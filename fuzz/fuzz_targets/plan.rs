//! A plan file of any content: whole as it comes, or as sections whose lengths and checksums are in order, so that what
//! they hold is looked into. What loads can be walked, step by step.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Write;
use syn_plan::{MAGIC, Plan, VERSION};

fn with_sections(mut data: &[u8]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&VERSION.to_le_bytes());
    while let Some((length, rest)) = data.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
        let (section, behind) = rest.split_at(length);
        file.extend_from_slice(&(length as u64).to_le_bytes());
        file.extend_from_slice(&crc32fast::hash(section).to_le_bytes());
        file.extend_from_slice(section);
        data = behind;
    }
    file
}

fuzz_target!(|data: &[u8]| {
    let Some((&how, data)) = data.split_first() else { return };
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    let bytes = if how & 1 == 0 { with_sections(data) } else { data.to_vec() };
    file.write_all(&bytes).expect("room for a small file");
    let Ok(plan) = Plan::load(file.path()) else { return };
    for program in &plan.programs {
        assert!(program.steps.iter().count() as u64 <= program.steps.len());
    }
});
