//! What a filter of seccomp(2) answers to a system call, found out by running it as the kernel does.
//!
//! Sources: `Documentation/userspace-api/seccomp_filter.rst` of the kernel; `include/uapi/linux/{filter,seccomp,audit}.h`.

use libc::{
    BPF_A, BPF_ABS, BPF_ADD, BPF_ALU, BPF_AND, BPF_DIV, BPF_IMM, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP,
    BPF_JSET, BPF_K, BPF_LD, BPF_LDX, BPF_LEN, BPF_LSH, BPF_MEM, BPF_MISC, BPF_MUL, BPF_NEG, BPF_OR, BPF_RET,
    BPF_RSH, BPF_ST, BPF_STX, BPF_SUB, BPF_TAX, BPF_TXA, BPF_W, BPF_X, BPF_XOR, seccomp_data, sock_filter,
};

/// `EM_X86_64 | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE`.
pub const AUDIT_ARCH_X86_64: u32 = 62 | 0x8000_0000 | 0x4000_0000;

/// A call of x86-64 with a first argument, as it is in the register: numbers below 0 in 64 bits. The others are zero.
pub fn call_with(number: i64, argument: u64) -> seccomp_data {
    seccomp_data {
        nr: number as i32,
        arch: AUDIT_ARCH_X86_64,
        instruction_pointer: 0,
        args: [argument, 0, 0, 0, 0, 0],
    }
}

/// True for an answer after which the kernel makes the call, and tells nobody.
pub fn is_made(answer: u32) -> bool {
    answer & libc::SECCOMP_RET_ACTION_FULL == libc::SECCOMP_RET_ALLOW
}

/// True for an answer after which the program goes on by itself: the call is made, or fails with an errno. The others end
/// the thread or the process, send a signal, or ask a tracer.
pub fn goes_on(answer: u32) -> bool {
    matches!(
        answer & libc::SECCOMP_RET_ACTION_FULL,
        libc::SECCOMP_RET_ALLOW
            | libc::SECCOMP_RET_LOG
            | libc::SECCOMP_RET_ERRNO
            | libc::SECCOMP_RET_USER_NOTIF
    )
}

/// The answer to a call, with its data in the lower half; `None` where this is no filter that the kernel would take.
pub fn answer(filter: &[sock_filter], call: &seccomp_data) -> Option<u32> {
    run(filter, |offset| word(call, offset))
}

/// The answer to a call of x86-64 whatever its arguments are; `None` where it depends on them, or on who makes it.
pub fn answer_to_any(filter: &[sock_filter], number: i64) -> Option<u32> {
    const NUMBER_AND_ARCH: u32 = 8;
    let call = call_with(number, 0);
    run(filter, |offset| (offset < NUMBER_AND_ARCH).then(|| word(&call, offset)).flatten())
}

/// Jumps lead forward: it comes to an end.
fn run(filter: &[sock_filter], word: impl Fn(u32) -> Option<u32>) -> Option<u32> {
    const LOAD: u32 = BPF_LD | BPF_W;
    const LOAD_X: u32 = BPF_LDX | BPF_W;
    let (mut a, mut x, mut memory, mut next) = (0u32, 0u32, [0u32; 16], 0usize);
    loop {
        let &sock_filter { code, jt, jf, k } = filter.get(next)?;
        next += 1;
        let code = u32::from(code);
        let place = memory.get_mut(k as usize);
        match code {
            _ if code == LOAD | BPF_ABS => a = word(k)?,
            _ if code == LOAD | BPF_LEN => a = size_of::<seccomp_data>() as u32,
            _ if code == LOAD_X | BPF_LEN => x = size_of::<seccomp_data>() as u32,
            _ if code == LOAD | BPF_IMM => a = k,
            _ if code == LOAD_X | BPF_IMM => x = k,
            _ if code == LOAD | BPF_MEM => a = *place?,
            _ if code == LOAD_X | BPF_MEM => x = *place?,
            BPF_ST => *place? = a,
            BPF_STX => *place? = x,
            _ if code == BPF_MISC | BPF_TAX => x = a,
            _ if code == BPF_MISC | BPF_TXA => a = x,
            _ if code == BPF_RET | BPF_K => return Some(k),
            _ if code == BPF_RET | BPF_A => return Some(a),
            _ if code == BPF_JMP | BPF_JA => next = next.checked_add(k as usize)?,
            _ => {
                let operand = if code & BPF_X != 0 { x } else { k };
                let (class, operation) = (code & 7, code & 0xf0);
                match (class, operation) {
                    (BPF_JMP, BPF_JEQ) => next += skipped(a == operand, jt, jf),
                    (BPF_JMP, BPF_JGT) => next += skipped(a > operand, jt, jf),
                    (BPF_JMP, BPF_JGE) => next += skipped(a >= operand, jt, jf),
                    (BPF_JMP, BPF_JSET) => next += skipped(a & operand != 0, jt, jf),
                    (BPF_ALU, BPF_ADD) => a = a.wrapping_add(operand),
                    (BPF_ALU, BPF_SUB) => a = a.wrapping_sub(operand),
                    (BPF_ALU, BPF_MUL) => a = a.wrapping_mul(operand),
                    // The kernel answers with 0 where the divisor is.
                    (BPF_ALU, BPF_DIV) if operand == 0 => return Some(0),
                    (BPF_ALU, BPF_DIV) => a /= operand,
                    (BPF_ALU, BPF_AND) => a &= operand,
                    (BPF_ALU, BPF_OR) => a |= operand,
                    (BPF_ALU, BPF_XOR) => a ^= operand,
                    (BPF_ALU, BPF_LSH) => a = a.wrapping_shl(operand),
                    (BPF_ALU, BPF_RSH) => a = a.wrapping_shr(operand),
                    (BPF_ALU, BPF_NEG) => a = a.wrapping_neg(),
                    _ => return None,
                }
            }
        }
    }
}

fn skipped(holds: bool, if_so: u8, if_not: u8) -> usize {
    usize::from(if holds { if_so } else { if_not })
}

/// The 32 bits at this offset of the structure.
fn word(call: &seccomp_data, offset: u32) -> Option<u32> {
    let long = match offset {
        0 => return Some(call.nr as u32),
        4 => return Some(call.arch),
        8..16 => call.instruction_pointer,
        _ => *call.args.get((offset as usize).checked_sub(16)? / size_of::<u64>())?,
    };
    match offset % 8 {
        0 => Some(long as u32),
        4 => Some((long >> 32) as u32),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn one(code: u32, k: u32) -> sock_filter {
        sock_filter { code: code as u16, jt: 0, jf: 0, k }
    }

    const fn jump(condition: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
        sock_filter { code: (BPF_JMP | condition) as u16, jt, jf, k }
    }

    /// Each row ends in the accumulator that the arithmetic leads to.
    #[test]
    fn arithmetic() {
        const RETURN: sock_filter = one(BPF_RET | BPF_A, 0);
        let alu = |operation, k| one(BPF_ALU | operation, k);
        let rows: [(&[sock_filter], u32); 6] = [
            (&[one(BPF_LD, 7), alu(BPF_ADD, 5), alu(BPF_MUL, 3), alu(BPF_SUB, 1), alu(BPF_DIV, 2)], 17),
            (&[one(BPF_LD, 0xf0), alu(BPF_AND, 0x3c), alu(BPF_OR, 3), alu(BPF_XOR, 1)], 0x32),
            (&[one(BPF_LD, 1), alu(BPF_LSH, 31), alu(BPF_RSH, 30), alu(BPF_NEG, 0)], 0xffff_fffe),
            (&[one(BPF_LD, 9), one(BPF_ST, 15), one(BPF_LD, 0), one(BPF_LD | BPF_MEM, 15)], 9),
            (&[one(BPF_LD, 9), one(BPF_MISC | BPF_TAX, 0), alu(BPF_ADD | BPF_X, 0)], 18),
            (&[one(BPF_LDX, 6), one(BPF_STX, 0), one(BPF_LDX | BPF_MEM, 0), one(BPF_MISC | BPF_TXA, 0)], 6),
        ];
        for (instructions, expected) in rows {
            let filter = [instructions, &[RETURN]].concat();
            assert_eq!(answer(&filter, &call_with(0, 0)), Some(expected));
        }
        assert_eq!(answer(&[one(BPF_LD | BPF_LEN, 0), RETURN], &call_with(0, 0)), Some(64));
        assert_eq!(answer(&[alu(BPF_DIV | BPF_X, 0)], &call_with(0, 0)), Some(0));
    }

    #[test]
    fn jumps_and_data() {
        let mut call = call_with(257, 0);
        call.args[1] = 0x1234_5678_9abc_def0;
        let filter = |offset, condition, k| {
            [
                one(BPF_LD | BPF_ABS, offset),
                jump(condition, k, 1, 0),
                one(BPF_RET, 1),
                jump(BPF_JA, 1, 0, 0),
                one(BPF_RET, 2),
                one(BPF_RET, 3),
            ]
        };
        let holds = |offset, condition, k| answer(&filter(offset, condition, k), &call);
        assert_eq!(holds(0, BPF_JEQ, 257), Some(3));
        assert_eq!(holds(0, BPF_JGT, 257), Some(1));
        assert_eq!(holds(0, BPF_JGE, 257), Some(3));
        assert_eq!(holds(4, BPF_JEQ, AUDIT_ARCH_X86_64), Some(3));
        assert_eq!(holds(24, BPF_JEQ, 0x9abc_def0), Some(3));
        assert_eq!(holds(28, BPF_JSET, 0x1000_0000), Some(3));
        assert_eq!(holds(28, BPF_JSET, 1), Some(1));
    }

    #[test]
    fn answers_whatever_the_arguments() {
        let filter = [
            one(BPF_LD | BPF_ABS, 0),
            jump(BPF_JEQ, 51, 2, 0),
            one(BPF_LD | BPF_ABS, 16),
            jump(BPF_JEQ, 0, 0, 1),
            one(BPF_RET, libc::SECCOMP_RET_ALLOW),
            one(BPF_RET, 0),
        ];
        assert_eq!(answer_to_any(&filter, 51), Some(libc::SECCOMP_RET_ALLOW));
        assert_eq!(answer_to_any(&filter, 52), None);
        assert_eq!(answer(&filter, &call_with(52, 0)), Some(libc::SECCOMP_RET_ALLOW));
        assert_eq!(answer(&filter, &call_with(52, 1)), Some(0));
    }

    /// Whatever the program gives is run: nothing leads out of it.
    #[test]
    fn what_is_no_filter() {
        let call = call_with(0, 0);
        assert_eq!(answer(&[], &call), None);
        for code in 0..=u8::MAX {
            for k in [0, 1, 4, 17, 63, 64, u32::MAX] {
                let filter = [sock_filter { code: code.into(), jt: 255, jf: 255, k }];
                let ended = answer(&filter, &call);
                assert!(ended.is_none() || code & 7 == 6 || code & 7 == 4, "{code:#x} {k}");
            }
        }
    }

    #[test]
    fn actions() {
        for answer in [libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_ERRNO | 1, libc::SECCOMP_RET_LOG] {
            assert!(goes_on(answer), "{answer:#x}");
        }
        let [process, thread] = [libc::SECCOMP_RET_KILL_PROCESS, libc::SECCOMP_RET_KILL_THREAD];
        for answer in [process, thread, libc::SECCOMP_RET_TRAP | 1, libc::SECCOMP_RET_TRACE] {
            assert!(!goes_on(answer), "{answer:#x}");
        }
        assert!(is_made(libc::SECCOMP_RET_ALLOW));
        for answer in [libc::SECCOMP_RET_LOG, libc::SECCOMP_RET_ERRNO | 1, libc::SECCOMP_RET_USER_NOTIF] {
            assert!(!is_made(answer), "{answer:#x}");
        }
    }
}
