//! The names of constants, by kind of argument; numbers as on Linux (asm-generic).

mod names;
mod sockets;

pub use names::Names;
use names::Names::{Bits, Counted, Valued};
use syn_trace::calls::Kind;

/// The names that arguments of this kind take their values from, if they have such.
pub fn of(kind: Kind) -> Option<Names> {
    Some(match kind {
        Kind::Whence => Counted(&["SEEK_SET", "SEEK_CUR", "SEEK_END", "SEEK_DATA", "SEEK_HOLE"]),
        Kind::FileMode => Bits(&[
            (1, "MPI_MODE_CREATE"),
            (2, "MPI_MODE_RDONLY"),
            (4, "MPI_MODE_WRONLY"),
            (8, "MPI_MODE_RDWR"),
            (16, "MPI_MODE_DELETE_ON_CLOSE"),
            (32, "MPI_MODE_UNIQUE_OPEN"),
            (64, "MPI_MODE_EXCL"),
            (128, "MPI_MODE_APPEND"),
            (256, "MPI_MODE_SEQUENTIAL"),
        ]),
        Kind::FcntlCommand => Valued(FCNTL),
        Kind::LockfCommand => Counted(&["F_ULOCK", "F_LOCK", "F_TLOCK", "F_TEST"]),
        Kind::FlockOperation => Bits(&[(1, "LOCK_SH"), (2, "LOCK_EX"), (8, "LOCK_UN"), (4, "LOCK_NB")]),
        Kind::IoctlRequest => Valued(IOCTL),
        Kind::FileAdvice => Counted(&[
            "POSIX_FADV_NORMAL",
            "POSIX_FADV_RANDOM",
            "POSIX_FADV_SEQUENTIAL",
            "POSIX_FADV_WILLNEED",
            "POSIX_FADV_DONTNEED",
            "POSIX_FADV_NOREUSE",
        ]),
        Kind::AllocateFlags => Bits(&[
            (1, "FALLOC_FL_KEEP_SIZE"),
            (2, "FALLOC_FL_PUNCH_HOLE"),
            (8, "FALLOC_FL_COLLAPSE_RANGE"),
            (16, "FALLOC_FL_ZERO_RANGE"),
            (32, "FALLOC_FL_INSERT_RANGE"),
            (64, "FALLOC_FL_UNSHARE_RANGE"),
        ]),
        Kind::SyncRangeFlags => Bits(&[
            (1, "SYNC_FILE_RANGE_WAIT_BEFORE"),
            (2, "SYNC_FILE_RANGE_WRITE"),
            (4, "SYNC_FILE_RANGE_WAIT_AFTER"),
        ]),
        Kind::SpliceFlags => Bits(&[
            (1, "SPLICE_F_MOVE"),
            (2, "SPLICE_F_NONBLOCK"),
            (4, "SPLICE_F_MORE"),
            (8, "SPLICE_F_GIFT"),
        ]),
        Kind::MemfdFlags => Bits(&[(1, "MFD_CLOEXEC"), (2, "MFD_ALLOW_SEALING"), (4, "MFD_HUGETLB")]),
        Kind::RenameFlags => Bits(&[(1, "RENAME_NOREPLACE"), (2, "RENAME_EXCHANGE"), (4, "RENAME_WHITEOUT")]),
        Kind::AttributeFlags => Bits(&[(1, "XATTR_CREATE"), (2, "XATTR_REPLACE")]),
        Kind::UnlinkFlags => Bits(&[(0x200, "AT_REMOVEDIR")]),
        Kind::AccessFlags => Bits(&[(0x200, "AT_EACCESS"), FOLLOW_NOT, EMPTY_PATH]),
        Kind::LinkFlags => Bits(&[(0x400, "AT_SYMLINK_FOLLOW"), EMPTY_PATH]),
        Kind::StatFlags => Bits(&[
            FOLLOW_NOT,
            (0x800, "AT_NO_AUTOMOUNT"),
            EMPTY_PATH,
            (0x2000, "AT_STATX_FORCE_SYNC"),
            (0x4000, "AT_STATX_DONT_SYNC"),
        ]),
        Kind::PathFlags => Bits(&[FOLLOW_NOT, EMPTY_PATH]),
        _ => return sockets::of(kind),
    })
}

const FOLLOW_NOT: (i64, &str) = (0x100, "AT_SYMLINK_NOFOLLOW");
const EMPTY_PATH: (i64, &str) = (0x1000, "AT_EMPTY_PATH");

const FCNTL: &[(i64, &str)] = &[
    (0, "F_DUPFD"),
    (1, "F_GETFD"),
    (2, "F_SETFD"),
    (3, "F_GETFL"),
    (4, "F_SETFL"),
    (5, "F_GETLK"),
    (6, "F_SETLK"),
    (7, "F_SETLKW"),
    (8, "F_SETOWN"),
    (9, "F_GETOWN"),
    (10, "F_SETSIG"),
    (11, "F_GETSIG"),
    (15, "F_SETOWN_EX"),
    (16, "F_GETOWN_EX"),
    (36, "F_OFD_GETLK"),
    (37, "F_OFD_SETLK"),
    (38, "F_OFD_SETLKW"),
    (1024, "F_SETLEASE"),
    (1025, "F_GETLEASE"),
    (1026, "F_NOTIFY"),
    (1030, "F_DUPFD_CLOEXEC"),
    (1031, "F_SETPIPE_SZ"),
    (1032, "F_GETPIPE_SZ"),
    (1033, "F_ADD_SEALS"),
    (1034, "F_GET_SEALS"),
    (1035, "F_GET_RW_HINT"),
    (1036, "F_SET_RW_HINT"),
    (1037, "F_GET_FILE_RW_HINT"),
    (1038, "F_SET_FILE_RW_HINT"),
];

/// Those that ordinary programs ask for; all others stay numbers.
const IOCTL: &[(i64, &str)] = &[
    (0x5401, "TCGETS"),
    (0x5402, "TCSETS"),
    (0x5403, "TCSETSW"),
    (0x540f, "TIOCGPGRP"),
    (0x5410, "TIOCSPGRP"),
    (0x5413, "TIOCGWINSZ"),
    (0x541b, "FIONREAD"),
    (0x5421, "FIONBIO"),
    (0x5450, "FIONCLEX"),
    (0x5451, "FIOCLEX"),
    (0x4004_9409, "FICLONE"),
    (0x4020_940d, "FICLONERANGE"),
    (0xc018_9436, "FIDEDUPERANGE"),
    (0xc020_660b, "FS_IOC_FIEMAP"),
];
