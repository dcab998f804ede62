//! The I/O operations of a plan.

use crate::{FileId, HandleId, NameId};
use serde::{Deserialize, Serialize};

/// An I/O operation on a file by number, or on an open file by handle. Sizes and offsets are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Io {
    /// open(2); `handle` is what it becomes when it succeeds. `flags` are those of `open(2)` on Linux x86-64.
    Open { file: FileId, handle: HandleId, flags: i32, mode: u32 },
    /// close(2).
    Close { handle: HandleId },
    /// dup(2): `new` is the same open file as `handle`.
    Dup { handle: HandleId, new: HandleId },
    /// read(2), readv(2).
    Read { handle: HandleId, bytes: u64 },
    /// write(2), writev(2).
    Write { handle: HandleId, bytes: u64 },
    /// pread(2), preadv(2).
    ReadAt { handle: HandleId, bytes: u64, offset: u64 },
    /// pwrite(2), pwritev(2).
    WriteAt { handle: HandleId, bytes: u64, offset: u64 },
    /// lseek(2), to an absolute position.
    Seek { handle: HandleId, offset: u64 },
    /// fsync(2).
    Fsync { handle: HandleId },
    /// fdatasync(2).
    Fdatasync { handle: HandleId },
    /// sync_file_range(2).
    SyncRange { handle: HandleId, offset: u64, bytes: u64, flags: u32 },
    /// syncfs(2); sync(2) is replayed as this, on the storage root.
    SyncFs,
    /// truncate(2).
    Truncate { file: FileId, bytes: u64 },
    /// ftruncate(2).
    Ftruncate { handle: HandleId, bytes: u64 },
    /// fallocate(2), posix_fallocate(3).
    Allocate { handle: HandleId, mode: i32, offset: u64, bytes: u64 },
    /// stat(2) and its kin; `follow` is false for lstat(2).
    Stat { file: FileId, follow: bool },
    /// fstat(2).
    Fstat { handle: HandleId },
    /// access(2), with its mode.
    Access { file: FileId, mode: i32 },
    /// readlink(2).
    Readlink { file: FileId },
    /// unlink(2).
    Unlink { file: FileId },
    /// rename(2).
    Rename { from: FileId, to: FileId },
    /// link(2).
    Link { from: FileId, to: FileId },
    /// symlink(2): `link` points to `target`, both below the storage root.
    Symlink { target: FileId, link: FileId },
    /// mkdir(2).
    Mkdir { file: FileId, mode: u32 },
    /// rmdir(2).
    Rmdir { file: FileId },
    /// Read up to `entries` entries of an open directory.
    ReadDir { handle: HandleId, entries: u32 },
    /// posix_fadvise(2).
    Advise { handle: HandleId, offset: u64, bytes: u64, advice: i32 },
    /// readahead(2).
    Readahead { handle: HandleId, offset: u64, bytes: u64 },
    /// No call of the program: a file that it found open, at this position.
    Inherit { file: FileId, handle: HandleId, flags: i32, offset: u64 },
    /// chmod(2), fchmodat(2); without `follow`, of a symbolic link itself.
    Chmod { file: FileId, mode: u32, follow: bool },
    /// fchmod(2).
    Fchmod { handle: HandleId, mode: u32 },
    /// chown(2), lchown(2), fchownat(2): to whoever replays.
    Chown { file: FileId, follow: bool },
    /// fchown(2): to whoever replays.
    Fchown { handle: HandleId },
    /// utimensat(2) and its kin: to the time of the replay.
    Utimens { file: FileId, follow: bool },
    /// futimens(3): to the time of the replay.
    Futimens { handle: HandleId },
    /// getxattr(2), lgetxattr(2), with room for so many bytes; 0 asks for the size.
    GetXattr { file: FileId, follow: bool, name: NameId, bytes: u64 },
    /// fgetxattr(2).
    FgetXattr { handle: HandleId, name: NameId, bytes: u64 },
    /// setxattr(2), lsetxattr(2), to a value of so many bytes.
    SetXattr { file: FileId, follow: bool, name: NameId, bytes: u64, flags: i32 },
    /// fsetxattr(2).
    FsetXattr { handle: HandleId, name: NameId, bytes: u64, flags: i32 },
    /// listxattr(2), llistxattr(2), with room for so many bytes; 0 asks for the size.
    ListXattr { file: FileId, follow: bool, bytes: u64 },
    /// flistxattr(2).
    FlistXattr { handle: HandleId, bytes: u64 },
    /// removexattr(2), lremovexattr(2).
    RemoveXattr { file: FileId, follow: bool, name: NameId },
    /// fremovexattr(2).
    FremoveXattr { handle: HandleId, name: NameId },
    /// mknod(2) of a regular file, FIFO or socket; `mode` holds the type. Also bind(2), which makes a socket's name.
    Mknod { file: FileId, mode: u32 },
    /// statfs(2).
    Statfs { file: FileId },
    /// fstatfs(2).
    Fstatfs { handle: HandleId },
    /// renameat2(2) with `RENAME_NOREPLACE` or `RENAME_EXCHANGE`.
    RenameWith { from: FileId, to: FileId, flags: u32 },
}

impl Io {
    /// The files and handles an operation names.
    pub fn operands(&self) -> ([Option<u32>; 2], [Option<HandleId>; 2]) {
        match *self {
            Io::Open { file, handle, .. } | Io::Inherit { file, handle, .. } => {
                ([Some(file), None], [Some(handle), None])
            }
            Io::Dup { handle, new } => ([None; 2], [Some(handle), Some(new)]),
            Io::Close { handle }
            | Io::Read { handle, .. }
            | Io::Write { handle, .. }
            | Io::ReadAt { handle, .. }
            | Io::WriteAt { handle, .. }
            | Io::Seek { handle, .. }
            | Io::Fsync { handle }
            | Io::Fdatasync { handle }
            | Io::SyncRange { handle, .. }
            | Io::Ftruncate { handle, .. }
            | Io::Allocate { handle, .. }
            | Io::Fstat { handle }
            | Io::ReadDir { handle, .. }
            | Io::Advise { handle, .. }
            | Io::Readahead { handle, .. }
            | Io::Fchmod { handle, .. }
            | Io::Fchown { handle }
            | Io::Futimens { handle }
            | Io::FgetXattr { handle, .. }
            | Io::FsetXattr { handle, .. }
            | Io::FlistXattr { handle, .. }
            | Io::FremoveXattr { handle, .. }
            | Io::Fstatfs { handle } => ([None; 2], [Some(handle), None]),
            Io::Truncate { file, .. }
            | Io::Stat { file, .. }
            | Io::Access { file, .. }
            | Io::Readlink { file }
            | Io::Unlink { file }
            | Io::Mkdir { file, .. }
            | Io::Rmdir { file }
            | Io::Chmod { file, .. }
            | Io::Chown { file, .. }
            | Io::Utimens { file, .. }
            | Io::GetXattr { file, .. }
            | Io::SetXattr { file, .. }
            | Io::ListXattr { file, .. }
            | Io::RemoveXattr { file, .. }
            | Io::Mknod { file, .. }
            | Io::Statfs { file } => ([Some(file), None], [None; 2]),
            Io::Rename { from, to } | Io::Link { from, to } | Io::RenameWith { from, to, .. } => {
                ([Some(from), Some(to)], [None; 2])
            }
            Io::Symlink { target, link } => ([Some(target), Some(link)], [None; 2]),
            Io::SyncFs => ([None; 2], [None; 2]),
        }
    }

    /// The name of the call class in reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Io::Open { .. } => "open",
            Io::Close { .. } => "close",
            Io::Dup { .. } => "dup",
            Io::Read { .. } => "read",
            Io::Write { .. } => "write",
            Io::ReadAt { .. } => "pread",
            Io::WriteAt { .. } => "pwrite",
            Io::Seek { .. } => "lseek",
            Io::Fsync { .. } => "fsync",
            Io::Fdatasync { .. } => "fdatasync",
            Io::SyncRange { .. } => "sync_file_range",
            Io::SyncFs => "syncfs",
            Io::Truncate { .. } => "truncate",
            Io::Ftruncate { .. } => "ftruncate",
            Io::Allocate { .. } => "fallocate",
            Io::Stat { .. } => "stat",
            Io::Fstat { .. } => "fstat",
            Io::Access { .. } => "access",
            Io::Readlink { .. } => "readlink",
            Io::Unlink { .. } => "unlink",
            Io::Rename { .. } => "rename",
            Io::Link { .. } => "link",
            Io::Symlink { .. } => "symlink",
            Io::Mkdir { .. } => "mkdir",
            Io::Rmdir { .. } => "rmdir",
            Io::ReadDir { .. } => "readdir",
            Io::Advise { .. } => "posix_fadvise",
            Io::Readahead { .. } => "readahead",
            Io::Inherit { .. } => "inherited",
            Io::Chmod { .. } => "chmod",
            Io::Fchmod { .. } => "fchmod",
            Io::Chown { .. } => "chown",
            Io::Fchown { .. } => "fchown",
            Io::Utimens { .. } => "utimensat",
            Io::Futimens { .. } => "futimens",
            Io::GetXattr { .. } => "getxattr",
            Io::FgetXattr { .. } => "fgetxattr",
            Io::SetXattr { .. } => "setxattr",
            Io::FsetXattr { .. } => "fsetxattr",
            Io::ListXattr { .. } => "listxattr",
            Io::FlistXattr { .. } => "flistxattr",
            Io::RemoveXattr { .. } => "removexattr",
            Io::FremoveXattr { .. } => "fremovexattr",
            Io::Mknod { .. } => "mknod",
            Io::Statfs { .. } => "statfs",
            Io::Fstatfs { .. } => "fstatfs",
            Io::RenameWith { .. } => "renameat2",
        }
    }
    /// The name of an extended attribute that an operation is about, and whether the operation changes it.
    pub const fn attribute(&self) -> Option<(NameId, bool)> {
        match *self {
            Io::GetXattr { name, .. } | Io::FgetXattr { name, .. } => Some((name, false)),
            Io::SetXattr { name, .. }
            | Io::FsetXattr { name, .. }
            | Io::RemoveXattr { name, .. }
            | Io::FremoveXattr { name, .. } => Some((name, true)),
            _ => None,
        }
    }

    /// True for calls that the application made; false for what stands for the state that it found.
    pub const fn is_call(&self) -> bool {
        !matches!(self, Io::Inherit { .. })
    }
}
