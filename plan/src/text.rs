//! Steps as text, one line each: the form in `syn dump` and in messages. Files, handles, edges and names of extended
//! attributes appear by number (`f3`, `h0`, `e7`, `a1`), so that a line can be read without the rest of the plan.

use crate::{Initial, Io, Op, Rule, Step};
use std::fmt::{Display, Formatter, Result};

impl Display for Rule {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        out.write_str(self.name())
    }
}

impl Display for Initial {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Initial::Absent => out.write_str("absent"),
            Initial::Regular { bytes } => write!(out, "regular bytes={bytes}"),
            Initial::Directory => out.write_str("directory"),
        }
    }
}

impl Display for Step {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write!(out, "{} +{} {}", self.start_ns, self.took_ns, self.op)
    }
}

impl Display for Op {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Op::Compute { cpu_ns, idle_ns } => write!(out, "compute cpu_ns={cpu_ns} idle_ns={idle_ns}"),
            Op::Sleep { ns } => write!(out, "sleep ns={ns}"),
            Op::Signal { edge } => write!(out, "signal e{edge}"),
            Op::Wait { edge, count } => write!(out, "wait e{edge} count={count}"),
            Op::Io { call, result } => write!(out, "{call} = {result}"),
            Op::Repeat { count, steps } => write!(out, "repeat count={count} steps={steps}"),
        }
    }
}

impl Display for Io {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        out.write_str(self.name())?;
        match *self {
            Io::Open { file, handle, flags, mode } => {
                write!(out, " f{file} h{handle} flags={flags:#o} mode={mode:#o}")
            }
            Io::Close { handle } | Io::Fsync { handle } | Io::Fdatasync { handle } | Io::Fstat { handle } => {
                write!(out, " h{handle}")
            }
            Io::Dup { handle, new } => write!(out, " h{handle} h{new}"),
            Io::Read { handle, bytes } | Io::Write { handle, bytes } => {
                write!(out, " h{handle} bytes={bytes}")
            }
            Io::ReadAt { handle, bytes, offset } | Io::WriteAt { handle, bytes, offset } => {
                write!(out, " h{handle} bytes={bytes} offset={offset}")
            }
            Io::Seek { handle, offset } => write!(out, " h{handle} offset={offset}"),
            Io::SyncRange { handle, offset, bytes, flags } => {
                write!(out, " h{handle} offset={offset} bytes={bytes} flags={flags:#x}")
            }
            Io::SyncFs => Ok(()),
            Io::Truncate { file, bytes } => write!(out, " f{file} bytes={bytes}"),
            Io::Ftruncate { handle, bytes } => write!(out, " h{handle} bytes={bytes}"),
            Io::Allocate { handle, mode, offset, bytes } => {
                write!(out, " h{handle} mode={mode:#x} offset={offset} bytes={bytes}")
            }
            Io::Stat { file, follow } => write!(out, " f{file} follow={follow}"),
            Io::Access { file, mode } => write!(out, " f{file} mode={mode:#o}"),
            Io::Readlink { file } | Io::Unlink { file } | Io::Rmdir { file } => write!(out, " f{file}"),
            Io::Rename { from, to } | Io::Link { from, to } => write!(out, " f{from} f{to}"),
            Io::Symlink { target, link } => write!(out, " f{target} f{link}"),
            Io::Mkdir { file, mode } => write!(out, " f{file} mode={mode:#o}"),
            Io::ReadDir { handle, entries } => write!(out, " h{handle} entries={entries}"),
            Io::Advise { handle, offset, bytes, advice } => {
                write!(out, " h{handle} offset={offset} bytes={bytes} advice={advice}")
            }
            Io::Readahead { handle, offset, bytes } => {
                write!(out, " h{handle} offset={offset} bytes={bytes}")
            }
            Io::Inherit { file, handle, flags, offset } => {
                write!(out, " f{file} h{handle} flags={flags:#o} offset={offset}")
            }
            Io::Chmod { file, mode, follow } => write!(out, " f{file} mode={mode:#o} follow={follow}"),
            Io::Fchmod { handle, mode } => write!(out, " h{handle} mode={mode:#o}"),
            Io::Chown { file, follow } | Io::Utimens { file, follow } => {
                write!(out, " f{file} follow={follow}")
            }
            Io::Fchown { handle } | Io::Futimens { handle } | Io::Fstatfs { handle } => {
                write!(out, " h{handle}")
            }
            Io::GetXattr { file, follow, name, bytes } => {
                write!(out, " f{file} follow={follow} a{name} bytes={bytes}")
            }
            Io::FgetXattr { handle, name, bytes } => write!(out, " h{handle} a{name} bytes={bytes}"),
            Io::SetXattr { file, follow, name, bytes, flags } => {
                write!(out, " f{file} follow={follow} a{name} bytes={bytes} flags={flags}")
            }
            Io::FsetXattr { handle, name, bytes, flags } => {
                write!(out, " h{handle} a{name} bytes={bytes} flags={flags}")
            }
            Io::ListXattr { file, follow, bytes } => write!(out, " f{file} follow={follow} bytes={bytes}"),
            Io::FlistXattr { handle, bytes } => write!(out, " h{handle} bytes={bytes}"),
            Io::RemoveXattr { file, follow, name } => write!(out, " f{file} follow={follow} a{name}"),
            Io::FremoveXattr { handle, name } => write!(out, " h{handle} a{name}"),
            Io::Mknod { file, mode } => write!(out, " f{file} mode={mode:#o}"),
            Io::Statfs { file } => write!(out, " f{file}"),
            Io::RenameWith { from, to, flags } => write!(out, " f{from} f{to} flags={flags:#x}"),
        }
    }
}
