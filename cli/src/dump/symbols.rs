//! Arguments as their manual pages write them.

use super::constants::{self, Names};
use std::fmt::{self, Display, Formatter};
use syn_trace::calls::{ANY, COMM_NULL, COMM_SELF, COMM_WORLD, Kind, NOBODY, ROOT, UNDEFINED};
use syn_trace::descriptors::{AT_FDCWD, flags};

/// An integer argument of a call, symbolic where it has symbols.
pub struct Symbol {
    /// What it is.
    pub kind: Kind,
    /// Its value.
    pub value: i64,
}

impl Display for Symbol {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.kind {
            Kind::OpenFlags => open_flags(out, value),
            // Above it may be the device.
            Kind::Mode => write!(out, "{:#o}", value as u32),
            Kind::Handle => write!(out, "{value:#x}"),
            Kind::DirFd if value == AT_FDCWD => out.write_str("AT_FDCWD"),
            Kind::Comm => match value {
                COMM_NULL => out.write_str("null"),
                COMM_WORLD => out.write_str("world"),
                COMM_SELF => out.write_str("self"),
                handle => write!(out, "{handle:#x}"),
            },
            Kind::Rank | Kind::Tag => match value {
                ANY => out.write_str("any"),
                NOBODY => out.write_str("none"),
                ROOT => out.write_str("root"),
                UNDEFINED => out.write_str("undefined"),
                number => write!(out, "{number}"),
            },
            Kind::AccessMode => access(out, value),
            kind => match constants::of(kind) {
                Some(Names::Counted(names)) => counted(out, value, names),
                Some(Names::Valued(names)) => match names.iter().find(|(known, _)| *known == value) {
                    Some((_, name)) => out.write_str(name),
                    None => write!(out, "{value:#x}"),
                },
                Some(Names::Bits(names)) if value != 0 => joined(out, value, names),
                _ => write!(out, "{value}"),
            },
        }
    }
}

fn counted(out: &mut Formatter<'_>, value: i64, names: &[&str]) -> fmt::Result {
    match usize::try_from(value).ok().and_then(|index| names.get(index)) {
        Some(name) => out.write_str(name),
        None => write!(out, "{value}"),
    }
}

fn access(out: &mut Formatter<'_>, mode: i64) -> fmt::Result {
    match mode {
        0 => out.write_str("F_OK"),
        1..=7 => joined(out, mode, &[(4, "R_OK"), (2, "W_OK"), (1, "X_OK")]),
        _ => write!(out, "{mode}"),
    }
}

fn open_flags(out: &mut Formatter<'_>, value: i64) -> fmt::Result {
    const ACCESS: [&str; 4] = ["O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"];
    // Those that include the bit of another come first.
    const FLAGS: [(i32, &str); 17] = [
        (flags::O_TMPFILE, "O_TMPFILE"),
        (flags::O_SYNC, "O_SYNC"),
        (flags::O_CREAT, "O_CREAT"),
        (flags::O_EXCL, "O_EXCL"),
        (flags::O_NOCTTY, "O_NOCTTY"),
        (flags::O_TRUNC, "O_TRUNC"),
        (flags::O_APPEND, "O_APPEND"),
        (flags::O_NONBLOCK, "O_NONBLOCK"),
        (flags::O_DSYNC, "O_DSYNC"),
        (flags::O_ASYNC, "O_ASYNC"),
        (flags::O_DIRECT, "O_DIRECT"),
        (flags::O_LARGEFILE, "O_LARGEFILE"),
        (flags::O_DIRECTORY, "O_DIRECTORY"),
        (flags::O_NOFOLLOW, "O_NOFOLLOW"),
        (flags::O_NOATIME, "O_NOATIME"),
        (flags::O_CLOEXEC, "O_CLOEXEC"),
        (flags::O_PATH, "O_PATH"),
    ];
    let access = i64::from(flags::O_ACCMODE);
    out.write_str(ACCESS[(value & access) as usize])?;
    let rest = value & !access;
    if rest != 0 {
        out.write_str("|")?;
        joined(out, rest, &FLAGS.map(|(flag, name)| (i64::from(flag), name)))?;
    }
    Ok(())
}

/// The names of the bits, and what is left of them as a number.
fn joined(out: &mut Formatter<'_>, mut bits: i64, names: &[(i64, &str)]) -> fmt::Result {
    let mut separator = "";
    for &(flag, name) in names {
        if bits & flag == flag {
            write!(out, "{separator}{name}")?;
            (separator, bits) = ("|", bits & !flag);
        }
    }
    if bits != 0 { write!(out, "{separator}{bits:#o}") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_names() {
        let show = |kind, value| Symbol { kind, value }.to_string();
        assert_eq!(show(Kind::OpenFlags, 0), "O_RDONLY");
        assert_eq!(show(Kind::OpenFlags, 0o2101), "O_WRONLY|O_CREAT|O_APPEND");
        assert_eq!(show(Kind::OpenFlags, 0o20200002), "O_RDWR|O_TMPFILE");
        assert_eq!(show(Kind::OpenFlags, 0o4010000), "O_RDONLY|O_SYNC");
        assert_eq!(show(Kind::OpenFlags, 1 << 40), "O_RDONLY|0o20000000000000");
        assert_eq!(show(Kind::Whence, 2), "SEEK_END");
        assert_eq!(show(Kind::FcntlCommand, 1030), "F_DUPFD_CLOEXEC");
        assert_eq!(show(Kind::FcntlCommand, 77), "0x4d");
        assert_eq!(show(Kind::FlockOperation, 6), "LOCK_EX|LOCK_NB");
        assert_eq!(show(Kind::FileAdvice, 2), "POSIX_FADV_SEQUENTIAL");
        assert_eq!(show(Kind::FileAdvice, 99), "99");
        assert_eq!(show(Kind::AllocateFlags, 0), "0");
        assert_eq!(show(Kind::UnlinkFlags, 0x201), "AT_REMOVEDIR|0o1");
        assert_eq!(show(Kind::AccessMode, 6), "R_OK|W_OK");
        assert_eq!(show(Kind::Rank, -1), "any");
        assert_eq!(show(Kind::Comm, 1), "world");
        assert_eq!(show(Kind::DirFd, -100), "AT_FDCWD");
    }
}
