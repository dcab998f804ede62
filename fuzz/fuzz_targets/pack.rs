//! Packed files: any bytes are unpacked or refused, within the memory they may take; and whatever records there are come
//! back from packing them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use syn_trace::builder::TraceBuilder;
use syn_trace::header::HEADER_BYTES;
use syn_trace::pack::{self, MAX_RATIO, Packer, Times};

/// Any bytes as a packed file with a checksum that is right: without it nothing would come further than that.
fn signed(data: &[u8]) -> Vec<u8> {
    let mut packed = data.to_vec();
    packed.extend_from_slice(&crc32fast::hash(data).to_le_bytes());
    packed
}

/// The records of `data`, cut into two traces, packed into one file.
fn packed(traces: &[Vec<u8>], times: Times) -> Option<Vec<u8>> {
    let mut packer = Packer::new(times);
    for (place, trace) in traces.iter().enumerate() {
        packer.add(&format!("{place}.trace"), trace).ok()?;
    }
    Some(packer.finish())
}

fuzz_target!(|data: &[u8]| {
    for packed in [data.to_vec(), signed(data)] {
        if let Ok(members) = pack::unpack(&packed) {
            let bytes: u64 = members.iter().map(|member| member.bytes.len() as u64).sum();
            assert!(bytes <= packed.len() as u64 * MAX_RATIO);
        }
    }
    let header = &TraceBuilder::new(7, 7).contiguous()[..HEADER_BYTES];
    let traces = [header.to_vec(), [header, data].concat()];
    for times in [Times::Exact, Times::Rounded] {
        if let Some(packed) = packed(&traces, times) {
            let members = pack::unpack(&packed).expect("what was packed can be unpacked");
            assert_eq!(members.len(), traces.len());
            for (member, trace) in members.iter().zip(&traces) {
                assert!(pack::is_same(trace, &member.bytes, times));
            }
        }
    }
});
