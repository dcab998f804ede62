use super::*;
use crate::builder::TraceBuilder;
use crate::calls::Call;
use crate::record::{LOST_AFTER, WAITED_BEFORE};

/// A loop of several calls with uneven times, CPU readings, texts, failures, lists, and a call counted in place.
fn trace(pid: u32, rounds: u64) -> Vec<u8> {
    let mut builder = TraceBuilder::new(pid, pid).process_start("/bin/app", "/home", "app");
    let (mut at, mut noise) = (1_000, 88_172_645_463_325_252u64 + u64::from(pid));
    for round in 0..rounds {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        let took = 50 + noise % 4096;
        builder = builder.call(Call::Read, at, took, 512, &[3, 512], &[], &[]);
        at += took + 300 + noise % 777;
        builder = builder
            .fail(Call::Unlink, at, took, 2, &[], &[b"/home/u/absent"])
            .flags(WAITED_BEFORE | LOST_AFTER);
        at += took + 90_000;
        builder = builder.cpu(Some(noise % 80_000), Some(noise % 7000));
        builder = builder.call(Call::Pwrite, at, took, 5, &[4, 5, round as i64 * 5], &[], &[]);
        at += took + (noise & 1) * 40_000_123;
        builder = builder.call(Call::MpiWaitall, at, took, 0, &[2, 0], &[], &[round as i64, -1, 7]);
        at += took;
    }
    builder.call(Call::Repeats, at, 0, 0, &[7, 5], &[], &[]).contiguous()
}

/// Packs traces under names of their place.
fn pack(traces: &[Vec<u8>], times: Times) -> Vec<u8> {
    let mut packer = Packer::new(times);
    for (place, trace) in traces.iter().enumerate() {
        packer.add(&format!("{place}.trace"), trace).unwrap();
    }
    packer.finish()
}

/// Makes the checksum right again after a change.
fn signed(mut packed: Vec<u8>) -> Vec<u8> {
    packed.truncate(packed.len() - CHECKSUM_BYTES);
    packed.extend_from_slice(&crc32fast::hash(&packed).to_le_bytes());
    packed
}

fn records(trace: &[u8]) -> Vec<Record<'_>> {
    Records::of(&trace[HEADER_BYTES..]).map(|(_, record)| record).collect()
}

#[test]
fn exact_packing_changes_nothing() {
    let traces = [trace(10, 500), trace(11, 0), trace(12, 3)];
    let members = unpack(&pack(&traces, Times::Exact)).unwrap();
    assert_eq!(members.len(), 3);
    for (place, (member, trace)) in members.iter().zip(&traces).enumerate() {
        assert_eq!(member.name, format!("{place}.trace"));
        let used = trace.iter().rposition(|&byte| byte != 0).unwrap() + 1;
        assert!(member.bytes == trace[..used], "{place}");
        assert!(is_same(trace, &member.bytes, Times::Exact));
    }
    assert_eq!(records(&members[0].bytes).len(), 4 + 4 * 500 + 1);
    assert!(!is_same(&traces[0], &members[2].bytes, Times::Rounded));
    assert!(!is_same(&trace(10, 499), &members[0].bytes, Times::Rounded));
    assert!(!is_same(&trace(13, 500), &members[0].bytes, Times::Rounded));
}

#[test]
fn rounded_times_do_not_drift() {
    let traces = [trace(10, 3000), trace(20, 2000)];
    let packed = pack(&traces, Times::Rounded);
    let exact = pack(&traces, Times::Exact);
    assert!(packed.len() * 2 < exact.len() * 3 && packed.len() * 4 < traces[0].len() + traces[1].len());
    for (member, trace) in unpack(&packed).unwrap().iter().zip(&traces) {
        assert!(
            is_same(trace, &member.bytes, Times::Rounded) && !is_same(trace, &member.bytes, Times::Exact)
        );
        let (before, after) = (records(trace), records(&member.bytes));
        let (mut recorded, mut rounded, mut cpu) = (0, 0, (0, 0));
        for (before, after) in before.iter().zip(&after) {
            let (exact, close) = (before.times, after.times);
            assert!(exact.took.abs_diff(close.took) <= exact.took / 32, "{exact:?} {close:?}");
            recorded += exact.end;
            rounded += close.end;
            assert!(u64::abs_diff(recorded, rounded) <= 1 << (DROPPED_BITS - 1), "{recorded} {rounded}");
            for (of, times) in [(&mut cpu.0, exact), (&mut cpu.1, close)] {
                *of += times.cpu_before + times.cpu_after;
            }
            assert!(u64::abs_diff(cpu.0, cpu.1) <= 1 << (DROPPED_BITS - 1));
        }
    }
}

#[test]
fn traces_that_are_alike_share_what_they_have_in_common() {
    let one = pack(&[trace(10, 300)], Times::Exact).len();
    // The times of each are others; what else there is, is the same.
    let bodies = unpack(&pack(&[trace(10, 300)], Times::Exact)).unwrap()[0].bytes.len();
    let many: Vec<_> = (10..30).map(|pid| trace(pid, 300)).collect();
    assert!(pack(&many, Times::Exact).len() < 20 * one - 19 * 200 && one < bodies / 2);
}

#[test]
fn a_damaged_trace_is_not_packed_and_leaves_the_others_alone() {
    let mut packer = Packer::new(Times::Exact);
    packer.add("1.trace", &trace(1, 5)).unwrap();
    let mut cut = trace(2, 2);
    cut.truncate(cut.iter().rposition(|&byte| byte != 0).unwrap());
    assert!(matches!(packer.add("2.trace", &cut), Err(Ending::CutOff { .. })));
    let mut damaged = trace(2, 2);
    damaged[HEADER_BYTES] = 3;
    assert!(matches!(packer.add("2.trace", &damaged), Err(Ending::Damaged { .. })));
    packer.add("3.trace", &trace(3, 5)).unwrap();
    let names: Vec<_> = unpack(&packer.finish()).unwrap().into_iter().map(|member| member.name).collect();
    assert_eq!(names, ["1.trace", "3.trace"]);
}

#[test]
fn cut_or_damaged_files_are_told() {
    let packed = pack(&[trace(1, 50), trace(2, 50)], Times::Rounded);
    for length in 0..packed.len() {
        let error = unpack(&packed[..length]).unwrap_err();
        assert!(error == PackError::CutOff || matches!(error, PackError::Damaged(_)), "{length}: {error}");
    }
    for (version, expected) in [(1, PackError::Older(1)), (9, PackError::Newer(9))] {
        let mut other = packed.clone();
        other[8] = version;
        assert_eq!(unpack(&other).unwrap_err(), expected);
    }
    for at in 0..packed.len() {
        let mut damaged = packed.clone();
        damaged[at] ^= 0x41;
        assert!(unpack(&damaged).is_err(), "{at}");
        // A checksum that is right proves nothing to those who mean harm.
        if let Ok(members) = unpack(&signed(damaged)) {
            let bytes: usize = members.iter().map(|member| member.bytes.len()).sum();
            assert!(bytes as u64 <= packed.len() as u64 * MAX_RATIO);
        }
    }
}

#[test]
fn names_stay_in_their_folder() {
    for name in ["", ".", "..", "../1.trace", "/1.trace", "a/b.trace", "a\0.trace"] {
        let mut packer = Packer::new(Times::Exact);
        packer.add(name, &trace(1, 1)).unwrap();
        assert_eq!(unpack(&packer.finish()), Err(PackError::Damaged("the name of a trace")), "{name:?}");
    }
}

#[test]
fn times_of_a_damaged_clock_come_back_as_strange() {
    let strange =
        TraceBuilder::new(1, 1).call(Call::Sync, 5, 5, 0, &[], &[], &[]).header(|header| header.ppid = 7);
    let mut bytes = strange.contiguous();
    let end = HEADER_BYTES + 3;
    bytes.splice(end..end + 1, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
    bytes[HEADER_BYTES] += 9;
    for times in [Times::Exact, Times::Rounded] {
        let members = unpack(&pack(&[bytes.clone()], times)).unwrap();
        assert!(is_same(&bytes, &members[0].bytes, times));
    }
}

#[test]
fn what_compresses_beyond_the_limit_is_padded() {
    let mut builder = TraceBuilder::new(1, 1);
    for round in 0..200_000 {
        builder = builder.call(Call::Fsync, round * 100, 10, 0, &[3], &[], &[]);
    }
    let trace = builder.contiguous();
    let packed = pack(std::slice::from_ref(&trace), Times::Exact);
    let bytes = unpack(&packed).unwrap().remove(0).bytes;
    assert!(is_same(&trace, &bytes, Times::Exact));
    assert!((bytes.len() as u64).div_ceil(MAX_RATIO) <= packed.len() as u64);
}
