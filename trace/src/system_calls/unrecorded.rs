//! Calls that have no effect on I/O or timing: what they change or tell is in this process and in nobody's way.

use libc::c_long;

/// Why some calls have no record.
pub struct Unrecorded {
    /// The reason.
    pub because: &'static str,
    /// Their numbers.
    pub numbers: &'static [c_long],
}

/// All of them.
pub const UNRECORDED: &[Unrecorded] = &[
    Unrecorded {
        because: "they tell a process who it is",
        numbers: &[
            libc::SYS_getpid,
            libc::SYS_getppid,
            libc::SYS_gettid,
            libc::SYS_getpgrp,
            libc::SYS_getpgid,
            libc::SYS_getsid,
            libc::SYS_getuid,
            libc::SYS_geteuid,
            libc::SYS_getgid,
            libc::SYS_getegid,
            libc::SYS_getresuid,
            libc::SYS_getresgid,
            libc::SYS_getgroups,
            libc::SYS_uname,
            libc::SYS_getcwd,
        ],
    },
    Unrecorded {
        because: "they change whose rights a process has, which shows in the results of its calls",
        numbers: &[
            libc::SYS_setuid,
            libc::SYS_setgid,
            libc::SYS_setreuid,
            libc::SYS_setregid,
            libc::SYS_setresuid,
            libc::SYS_setresgid,
            libc::SYS_setgroups,
            libc::SYS_setfsuid,
            libc::SYS_setfsgid,
            libc::SYS_capget,
            libc::SYS_capset,
            libc::SYS_umask,
            libc::SYS_setpgid,
            libc::SYS_setsid,
        ],
    },
    Unrecorded {
        because: "they are about memory that no file is mapped into",
        numbers: &[
            libc::SYS_brk,
            libc::SYS_mprotect,
            libc::SYS_mbind,
            libc::SYS_get_mempolicy,
            libc::SYS_set_mempolicy,
        ],
    },
    Unrecorded {
        because: "they arrange for signals, or end their handlers; what arrives has a record",
        numbers: &[
            libc::SYS_rt_sigprocmask,
            libc::SYS_rt_sigpending,
            libc::SYS_rt_sigreturn,
            libc::SYS_sigaltstack,
        ],
    },
    Unrecorded {
        because: "they are libc's arrangements for a thread",
        numbers: &[
            libc::SYS_arch_prctl,
            libc::SYS_prctl,
            libc::SYS_set_tid_address,
            libc::SYS_set_robust_list,
            libc::SYS_get_robust_list,
            libc::SYS_rseq,
            libc::SYS_set_thread_area,
            libc::SYS_get_thread_area,
            libc::SYS_membarrier,
            libc::SYS_seccomp,
        ],
    },
    Unrecorded {
        because: "they read clocks, timers and counters",
        numbers: &[
            libc::SYS_gettimeofday,
            libc::SYS_time,
            libc::SYS_times,
            libc::SYS_clock_gettime,
            libc::SYS_clock_getres,
            libc::SYS_getitimer,
            libc::SYS_timer_gettime,
            libc::SYS_timer_getoverrun,
            libc::SYS_getrusage,
            libc::SYS_sysinfo,
            libc::SYS_getrandom,
            libc::SYS_getcpu,
        ],
    },
    Unrecorded {
        because: "they set limits and priorities, whose effect is in the times of other calls and in the gaps between them",
        numbers: &[
            libc::SYS_getrlimit,
            libc::SYS_setrlimit,
            libc::SYS_prlimit64,
            libc::SYS_getpriority,
            libc::SYS_setpriority,
            libc::SYS_sched_yield,
            libc::SYS_sched_setparam,
            libc::SYS_sched_getparam,
            libc::SYS_sched_setscheduler,
            libc::SYS_sched_getscheduler,
            libc::SYS_sched_get_priority_max,
            libc::SYS_sched_get_priority_min,
            libc::SYS_sched_rr_get_interval,
            libc::SYS_sched_setaffinity,
            libc::SYS_sched_getaffinity,
            libc::SYS_sched_setattr,
            libc::SYS_sched_getattr,
            libc::SYS_ioprio_set,
            libc::SYS_ioprio_get,
        ],
    },
];

const WORDS: usize = 8;

/// One bit for each number.
static BITS: [u64; WORDS] = {
    let mut bits = [0; WORDS];
    let mut group = 0;
    while group < UNRECORDED.len() {
        let numbers = UNRECORDED[group].numbers;
        let mut index = 0;
        while index < numbers.len() {
            bits[numbers[index] as usize / 64] |= 1 << (numbers[index] % 64);
            index += 1;
        }
        group += 1;
    }
    bits
};

/// True for the number of a call that has no record.
#[inline]
pub fn is_unrecorded(number: i64) -> bool {
    let Ok(number) = usize::try_from(number) else { return false };
    BITS.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found() {
        assert!(is_unrecorded(libc::SYS_getpid) && is_unrecorded(libc::SYS_rseq));
        assert!(!is_unrecorded(libc::SYS_read) && !is_unrecorded(libc::SYS_fchmodat2));
        assert!(!is_unrecorded(-1) && !is_unrecorded(i64::MAX) && !is_unrecorded(i64::MIN));
    }

    #[test]
    fn each_has_one_reason() {
        let all = || UNRECORDED.iter().flat_map(|group| group.numbers);
        for number in all() {
            assert_eq!(all().filter(|&other| other == number).count(), 1, "{number}");
            assert_eq!(super::super::call_of(*number), None, "{number} stands in the table as well");
        }
    }
}
