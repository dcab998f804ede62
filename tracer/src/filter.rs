//! Which system calls stop a thread: a seccomp filter, a small program that the kernel runs at every call.
//!
//! Sources: `Documentation/userspace-api/seccomp_filter.rst` of the kernel; `include/uapi/linux/{filter,seccomp,audit}.h`.

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter,
};
use std::mem::offset_of;
use syn_trace::seccomp::AUDIT_ARCH_X86_64;
use syn_trace::system_calls::UNRECORDED;

/// What a stop of the filter tells: a call of x86-64, or one by another convention, which is not decoded.
pub const NATIVE: u32 = 0;
/// See [`NATIVE`].
pub const FOREIGN: u32 = 1;

/// Set in the numbers of x32, a convention of its own with 32-bit pointers.
const X32_BIT: u32 = 0x4000_0000;

const TRACE_NATIVE: u32 = libc::SECCOMP_RET_TRACE | NATIVE;
const TRACE_FOREIGN: u32 = libc::SECCOMP_RET_TRACE | FOREIGN;

fn load(offset: usize) -> sock_filter {
    sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k: offset as u32 }
}

/// Skips this many instructions if it is so, and if it is not.
fn jump(condition: u32, value: u32, if_so: u8, if_not: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | condition | BPF_K) as u16, jt: if_so, jf: if_not, k: value }
}

fn answer(answer: u32) -> sock_filter {
    sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k: answer }
}

/// The filter: calls that have no record are let through, and so is anonymous memory, which is none either.
pub fn program() -> Vec<sock_filter> {
    const FLAGS_OF_MMAP: usize = offset_of!(libc::seccomp_data, args) + 3 * size_of::<u64>();
    let mut program = vec![
        load(offset_of!(libc::seccomp_data, arch)),
        jump(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0),
        answer(TRACE_FOREIGN),
        load(offset_of!(libc::seccomp_data, nr)),
        jump(BPF_JSET, X32_BIT, 0, 1),
        answer(TRACE_FOREIGN),
        jump(BPF_JEQ, libc::SYS_mmap as u32, 0, 4),
        load(FLAGS_OF_MMAP),
        jump(BPF_JSET, libc::MAP_ANONYMOUS as u32, 0, 1),
        answer(libc::SECCOMP_RET_ALLOW),
        answer(TRACE_NATIVE),
    ];
    for (first, last) in unrecorded() {
        program.push(jump(BPF_JGE, first, 0, 2));
        program.push(jump(BPF_JGT, last, 1, 0));
        program.push(answer(libc::SECCOMP_RET_ALLOW));
    }
    program.push(answer(TRACE_NATIVE));
    program
}

/// The numbers without a record, as ranges.
fn unrecorded() -> Vec<(u32, u32)> {
    let mut numbers: Vec<u32> =
        UNRECORDED.iter().flat_map(|group| group.numbers).map(|&number| number as u32).collect();
    numbers.sort_unstable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn_trace::seccomp;
    use syn_trace::system_calls::is_unrecorded;

    fn answer_to(number: u32, arch: u32, flags: u32) -> u32 {
        let mut call = seccomp::call_with(number.into(), 0);
        (call.arch, call.args[3]) = (arch, flags.into());
        seccomp::answer(&program(), &call).expect("an answer")
    }

    #[test]
    fn what_has_a_record_stops() {
        for number in 0..500 {
            let expected = if is_unrecorded(number.into()) { libc::SECCOMP_RET_ALLOW } else { TRACE_NATIVE };
            assert_eq!(answer_to(number, AUDIT_ARCH_X86_64, 0), expected, "{number}");
        }
    }

    #[test]
    fn anonymous_memory_and_other_conventions() {
        let mmap = libc::SYS_mmap as u32;
        assert_eq!(answer_to(mmap, AUDIT_ARCH_X86_64, libc::MAP_ANONYMOUS as u32), libc::SECCOMP_RET_ALLOW);
        assert_eq!(answer_to(mmap, AUDIT_ARCH_X86_64, libc::MAP_SHARED as u32), TRACE_NATIVE);
        assert_eq!(answer_to(X32_BIT | 39, AUDIT_ARCH_X86_64, 0), TRACE_FOREIGN);
        assert_eq!(answer_to(20, 3 | 0x4000_0000, 0), TRACE_FOREIGN, "getpid of i386");
    }
}
