//! Flags of `open(2)` and permission bits from the plan to this machine.

use rustix::fs::{Mode, OFlags};

/// What a plan holds (Linux x86-64, asm-generic/fcntl.h), and what it is here. What does not stand in this list has
/// no place in a replay of file I/O (`O_NOCTTY`, `O_NONBLOCK`, `O_ASYNC`) or is always set (`O_CLOEXEC`,
/// `O_LARGEFILE`).
const FLAGS: [(i32, OFlags); 12] = [
    (0o100, OFlags::CREATE),
    (0o200, OFlags::EXCL),
    (0o1000, OFlags::TRUNC),
    (0o2000, OFlags::APPEND),
    (0o4010000, OFlags::SYNC),
    (0o10000, OFlags::DSYNC),
    (0o40000, OFlags::DIRECT),
    (0o20200000, OFlags::TMPFILE),
    (0o200000, OFlags::DIRECTORY),
    (0o400000, OFlags::NOFOLLOW),
    (0o1000000, OFlags::NOATIME),
    (0o10000000, OFlags::PATH),
];

/// The flags to open with.
pub fn from_plan(recorded: i32) -> OFlags {
    let mut flags = match recorded & 3 {
        0 => OFlags::RDONLY,
        1 => OFlags::WRONLY,
        _ => OFlags::RDWR,
    };
    for (bits, flag) in FLAGS {
        if recorded & bits == bits {
            flags |= flag;
        }
    }
    // Nothing that a replay opens is to be waited for: a FIFO has nobody at its other end. Files do not mind.
    flags |= OFlags::NONBLOCK;
    if flags.contains(OFlags::PATH) {
        // open(2) ignores the others then; openat2(2) refuses them.
        flags &= OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    }
    flags
}

/// Permission bits without set-user-id, set-group-id and sticky: the replay hands out no rights.
pub(super) fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode & 0o777)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_translated_and_the_unknown_is_left_out() {
        let from_plan = |recorded| from_plan(recorded) - OFlags::NONBLOCK;
        assert_eq!(from_plan(0o1102), OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC);
        assert_eq!(from_plan(0o2001 | 0o4000 | 0o20000 | 0o400 | 0o2000000), OFlags::WRONLY | OFlags::APPEND);
        assert_eq!(from_plan(0o4010000), OFlags::SYNC | OFlags::DSYNC);
        assert_eq!(from_plan(0o10000), OFlags::DSYNC);
        assert_eq!(from_plan(0o20200002), OFlags::RDWR | OFlags::TMPFILE | OFlags::DIRECTORY);
        assert_eq!(from_plan(0o10000000 | 0o1102), OFlags::PATH);
    }
}
