//! Packed traces: any bytes are unpacked or refused, within the memory they may take; and whatever records there are come
//! back from packing them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use syn_trace::craft::Craft;
use syn_trace::header::HEADER_BYTES;
use syn_trace::memory::Reader;
use syn_trace::pack::{self, MAX_RATIO, Times};
use syn_trace::record;

fn calls(trace: &[u8]) -> Vec<(syn_trace::Call, u8, i64, Vec<i64>)> {
    let (mut memory, mut rest, mut calls) = (Reader::default(), &trace[HEADER_BYTES..], Vec::new());
    while let Ok(Some(record)) = record::decode(&mut memory, &mut rest) {
        calls.push((record.call, record.flags, record.result, record.numbers.to_vec()));
    }
    calls
}

fuzz_target!(|data: &[u8]| {
    if let Ok(trace) = pack::unpack(data) {
        assert!(trace.len() as u64 <= data.len() as u64 * MAX_RATIO + HEADER_BYTES as u64);
    }
    let mut trace = Craft::new(7, 7).bytes()[..HEADER_BYTES].to_vec();
    trace.extend_from_slice(data);
    for times in [Times::Exact, Times::Rounded] {
        if let Ok(packed) = pack::pack(&trace, times) {
            let unpacked = pack::unpack(&packed).expect("what was packed can be unpacked");
            assert_eq!(calls(&trace), calls(&unpacked));
        }
    }
});
