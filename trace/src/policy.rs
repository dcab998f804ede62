//! Which programs are recorded, and how much of each: launchers, and the user's choice in `SYN_OFF`, `SYN_ONLY` and
//! `SYN_EXCEPT`.

use crate::launchers::is_launcher;

/// How much of a program is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Every call.
    Everything,
    /// Process creation alone: it is a launcher, and nobody has asked for more.
    OfLauncher,
    /// Process creation alone: the user leaves it out.
    LeftOut,
}

impl Policy {
    /// True where process creation alone is recorded.
    pub fn is_process_only(self) -> bool {
        self != Policy::Everything
    }
}

/// What a trace says that it does not hold of a program that is left out.
pub const LEFT_OUT: &[u8] =
    b"calls other than process creation: SYN_ONLY or SYN_EXCEPT leaves this program out";

/// What the environment of a program says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice<'a> {
    off: Option<&'a [u8]>,
    only: Option<&'a [u8]>,
    except: Option<&'a [u8]>,
}

impl<'a> Choice<'a> {
    /// Of an environment that gives the value of a variable.
    pub fn of(variable: impl Fn(&[u8]) -> Option<&'a [u8]>) -> Choice<'a> {
        Choice { off: variable(b"SYN_OFF"), only: variable(b"SYN_ONLY"), except: variable(b"SYN_EXCEPT") }
    }

    /// True when nothing at all is to be recorded.
    pub fn is_off(&self) -> bool {
        self.off.is_some_and(|value| !value.is_empty() && value != b"0")
    }

    /// How much is recorded of the program with this path.
    // The recorder runs it at the start of every process.
    #[unsafe(link_section = ".text.startup")]
    pub fn policy(&self, program: &[u8]) -> Policy {
        let named_in = |list: Option<&[u8]>| list.map(|list| is_listed(list, program));
        if named_in(self.only) == Some(false) || named_in(self.except) == Some(true) {
            Policy::LeftOut
        } else if is_launcher(program) && self.only.is_none() {
            Policy::OfLauncher
        } else {
            Policy::Everything
        }
    }
}

/// True when one of the entries of `list` is the program's path, its file name, or a folder that it is in.
fn is_listed(list: &[u8], program: &[u8]) -> bool {
    let file_name = program.rsplit(|&byte| byte == b'/').next().unwrap_or(program);
    list.split(|&byte| byte == b':').filter(|entry| !entry.is_empty()).any(|entry| {
        match entry.ends_with(b"/") {
            true => program.starts_with(entry),
            false if entry.contains(&b'/') => program == entry,
            false => file_name == entry,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(list: &[u8]) -> Choice<'_> {
        Choice { only: Some(list), ..Choice::default() }
    }

    fn except(list: &[u8]) -> Choice<'_> {
        Choice { except: Some(list), ..Choice::default() }
    }

    #[test]
    fn names_paths_and_folders() {
        let cat = b"/usr/bin/cat";
        for list in [&b"cat"[..], b"dog:cat", b"/usr/bin/:/bin/", b"/usr/bin/cat"] {
            assert_eq!(except(list).policy(cat), Policy::LeftOut);
            assert_eq!(only(list).policy(cat), Policy::Everything);
        }
        for list in [&b""[..], b"/cat:ca:cats", b"bin/cat"] {
            assert_eq!(except(list).policy(cat), Policy::Everything);
            assert_eq!(only(list).policy(cat), Policy::LeftOut);
        }
    }

    #[test]
    fn launchers_are_recorded_when_asked_for() {
        let orted = b"/usr/bin/orted";
        assert_eq!(Choice::default().policy(orted), Policy::OfLauncher);
        assert_eq!(only(b"orted").policy(orted), Policy::Everything);
        assert_eq!(only(b"cat").policy(orted), Policy::LeftOut);
    }

    #[test]
    fn shells_are_programs_like_any_other() {
        for program in [&b"/bin/sh"[..], b"/usr/bin/bash", b"/usr/bin/env", b"/bin/cat"] {
            assert_eq!(Choice::default().policy(program), Policy::Everything);
        }
        assert_eq!(except(b"sh").policy(b"/bin/sh"), Policy::LeftOut);
    }

    #[test]
    fn switched_off() {
        let off = |value: Option<&'static [u8]>| Choice { off: value, ..Choice::default() }.is_off();
        assert!(off(Some(b"1")) && !off(Some(b"0")) && !off(Some(b"")) && !off(None));
    }
}
