//! The tables of operations: number in a file, name, fields and meaning of each, told once.
//!
//! From a row come the variant of [`Io`], how it is written and read, its line of text, which files and handles it names,
//! and its row in `PLAN.md`. A number is never given to anything else.

use crate::fields::{Bytes, Field, Referent, fields};
use crate::{FileId, HandleId, NameId};
use serde::Serialize;
use std::fmt::{Display, Formatter, Result};

/// The number of the first operation in this table; those below are the other kinds of steps.
pub const FIRST: u8 = 16;

/// What a row of a table says of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its number in a file.
    pub number: u8,
    /// The name of the variant.
    pub variant: &'static str,
    /// Its fields: name and type.
    pub fields: &'static [(&'static str, &'static str)],
    /// What it does.
    pub what: &'static str,
}

macro_rules! operations {
    (
        $(#[$meaning:meta])* $all:ident, $rows:ident;
        $($number:literal $variant:ident $name:literal $({ $($field:ident: $kind:ident),+ })? $what:literal;)+
    ) => {
        $(#[$meaning])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        #[allow(missing_docs)]
        pub enum $all {
            $(#[doc = $what] $variant $({ $($field: <fields::$kind as Field>::Value),+ })?,)+
        }

        /// Every row, by number.
        pub const $rows: &[Row] = &[$(Row {
            number: $number,
            variant: stringify!($variant),
            fields: &[$($((stringify!($field), fields::$kind::TYPE)),+)?],
            what: $what,
        }),+];

        impl $all {
            /// The name of the call class in reports.
            pub const fn name(&self) -> &'static str {
                match self {
                    $($all::$variant { .. } => $name,)+
                }
            }

            /// Its number in a file.
            pub const fn number(&self) -> u8 {
                match self {
                    $($all::$variant { .. } => $number,)+
                }
            }

            /// The same operation, with what it refers to by the numbers that `number` gives it.
            pub(crate) fn renumbered(&self, number: impl Fn(Referent, u32) -> u32) -> $all {
                match *self {
                    $($all::$variant $({ $($field),+ })? => $all::$variant $({
                        $($field: fields::$kind::renumbered($field, &number)),+
                    })?,)+
                }
            }

            /// Tells `see` what its fields refer to.
            pub fn refer(&self, mut see: impl FnMut(Referent, u32)) {
                match *self {
                    $($all::$variant $({ $($field),+ })? => { $($(fields::$kind::refer($field, &mut see);)+)? })+
                }
            }

            /// True when some operation has this number.
            pub(crate) fn is_number(number: u8) -> bool {
                [$($number),+].contains(&number)
            }

            pub(crate) fn put(&self, out: &mut Vec<u8>) {
                match *self {
                    $($all::$variant $({ $($field),+ })? => { $($(fields::$kind::put($field, out);)+)? })+
                }
            }

            /// Hands the operation with this number, and what follows its fields, to `then`; `None` when there is no such
            /// operation, or the bytes are not its fields.
            #[inline(always)]
            pub(crate) fn take_then(
                number: u8,
                bytes: &mut Bytes<'_>,
                mut then: impl FnMut($all, &mut Bytes<'_>) -> Option<()>,
            ) -> Option<()> {
                // In each arm, so that the operation is built where it is to be: one that is handed on behind the arms is
                // copied while the processor has not written it yet, and waits for that.
                match number {
                    $($number => {
                        $($(let $field = fields::$kind::take(bytes)?;)+)?
                        then($all::$variant $({ $($field),+ })?, bytes)
                    })+
                    _ => None,
                }
            }
        }

        impl Display for $all {
            fn fmt(&self, out: &mut Formatter<'_>) -> Result {
                out.write_str(self.name())?;
                match *self {
                    $($all::$variant $({ $($field),+ })? => {
                        $($(fields::$kind::show(stringify!($field), $field, out)?;)+)?
                    })+
                }
                Ok(())
            }
        }
    };
}
pub(crate) use operations;

operations! {
    /// An I/O operation on a file by number, or on an open file by handle. Sizes and offsets are in bytes.
    Io, ROWS;
    16 Open "open" { file: File, handle: Handle, flags: Octal, mode: OctalMode } "open(2); `handle` is what it becomes when it succeeds; flags as on Linux x86-64";
    17 Close "close" { handle: Handle } "close(2)";
    18 Dup "dup" { handle: Handle, new: Handle } "dup(2), or dup2(2) where `new` is open: it is closed then. `new` is the same open file as `handle`";
    19 Read "read" { handle: Handle, bytes: Number } "read(2), readv(2)";
    20 Write "write" { handle: Handle, bytes: Number } "write(2), writev(2)";
    21 ReadAt "pread" { handle: Handle, bytes: Number, offset: Number } "pread(2), preadv(2)";
    22 WriteAt "pwrite" { handle: Handle, bytes: Number, offset: Number } "pwrite(2), pwritev(2)";
    23 Seek "lseek" { handle: Handle, offset: Number } "lseek(2) to an absolute position";
    24 Fsync "fsync" { handle: Handle } "fsync(2)";
    25 Fdatasync "fdatasync" { handle: Handle } "fdatasync(2)";
    26 SyncRange "sync_file_range" { handle: Handle, offset: Number, bytes: Number, flags: Hex } "sync_file_range(2)";
    27 SyncFs "syncfs" "syncfs(2) on the storage root; sync(2) as well";
    28 Truncate "truncate" { file: File, bytes: Number } "truncate(2)";
    29 Ftruncate "ftruncate" { handle: Handle, bytes: Number } "ftruncate(2)";
    30 Allocate "fallocate" { handle: Handle, mode: HexMode, offset: Number, bytes: Number } "fallocate(2)";
    31 Stat "stat" { file: File, follow: Truth } "stat(2) and its kin; lstat(2) when `follow` is false";
    32 Fstat "fstat" { handle: Handle } "fstat(2)";
    33 Access "access" { file: File, mode: Octal } "access(2)";
    34 Readlink "readlink" { file: File } "readlink(2)";
    35 Unlink "unlink" { file: File } "unlink(2)";
    36 Rename "rename" { from: File, to: File } "rename(2)";
    37 Link "link" { from: File, to: File } "link(2)";
    38 Symlink "symlink" { target: File, link: File } "symlink(2), both below the storage root";
    39 Mkdir "mkdir" { file: File, mode: OctalMode } "mkdir(2)";
    40 Rmdir "rmdir" { file: File } "rmdir(2)";
    41 ReadDir "readdir" { handle: Handle, entries: Count } "read up to so many entries of an open directory";
    42 Advise "posix_fadvise" { handle: Handle, offset: Number, bytes: Number, advice: Signed } "posix_fadvise(2); advice as on Linux";
    43 Readahead "readahead" { handle: Handle, offset: Number, bytes: Number } "readahead(2)";
    44 Inherit "inherited" { file: File, handle: Handle, flags: Octal, offset: Number } "no call: the process found the file open, at this position";
    45 Chmod "chmod" { file: File, mode: OctalMode, follow: Truth } "chmod(2), fchmodat(2); of a symbolic link itself when `follow` is false";
    46 Fchmod "fchmod" { handle: Handle, mode: OctalMode } "fchmod(2)";
    47 Chown "chown" { file: File, follow: Truth } "chown(2), lchown(2), fchownat(2), to whoever replays";
    48 Fchown "fchown" { handle: Handle } "fchown(2), to whoever replays";
    49 Utimens "utimensat" { file: File, follow: Truth } "utimensat(2) and its kin, to the time of the replay";
    50 Futimens "futimens" { handle: Handle } "futimens(3), to the time of the replay";
    51 GetXattr "getxattr" { file: File, follow: Truth, name: Name, bytes: Number } "getxattr(2), lgetxattr(2), with room for so many bytes; 0 asks for the size";
    52 FgetXattr "fgetxattr" { handle: Handle, name: Name, bytes: Number } "fgetxattr(2)";
    53 SetXattr "setxattr" { file: File, follow: Truth, name: Name, bytes: Number, flags: Signed } "setxattr(2), lsetxattr(2), to a value of so many bytes";
    54 FsetXattr "fsetxattr" { handle: Handle, name: Name, bytes: Number, flags: Signed } "fsetxattr(2)";
    55 ListXattr "listxattr" { file: File, follow: Truth, bytes: Number } "listxattr(2), llistxattr(2), with room for so many bytes; 0 asks for the size";
    56 FlistXattr "flistxattr" { handle: Handle, bytes: Number } "flistxattr(2)";
    57 RemoveXattr "removexattr" { file: File, follow: Truth, name: Name } "removexattr(2), lremovexattr(2)";
    58 FremoveXattr "fremovexattr" { handle: Handle, name: Name } "fremovexattr(2)";
    59 Mknod "mknod" { file: File, mode: OctalMode } "mknod(2) of a regular file, FIFO or socket, by the type in `mode`; bind(2) of a path is this too";
    60 Statfs "statfs" { file: File } "statfs(2)";
    61 Fstatfs "fstatfs" { handle: Handle } "fstatfs(2)";
    62 RenameWith "renameat2" { from: File, to: File, flags: Hex } "renameat2(2) with `RENAME_NOREPLACE` (1) or `RENAME_EXCHANGE` (2); no other flag is replayed";
    63 Populate "populate" { handle: Handle, offset: Number, bytes: Number, write: Truth } "touches these pages of the file in memory, as far as it has them: mmap(2) with `MAP_POPULATE`, and munmap(2); when `write` is true, madvise(2) with `MADV_POPULATE_WRITE` of a mapping that stays until the handle is closed";
    64 Send "sendfile" { handle: Handle, bytes: Number, offset: Place } "sendfile(2) to nowhere: reads what the program passed on by reference, as to a socket or a pipe. Offset -1, in these three: at the position";
    65 SendTo "sendfile to file" { from: Handle, to: Handle, bytes: Number, offset: Place } "sendfile(2) to the position of `to`";
    66 CopyRange "copy_file_range" { from: Handle, to: Handle, bytes: Number, offset: Place, to_offset: Place } "copy_file_range(2)";
    67 PosixFallocate "posix_fallocate" { handle: Handle, offset: Number, bytes: Number } "posix_fallocate(3), which writes a byte into each block where the file system has no fallocate(2)";
    68 PopulateAtRandom "populate at random" { handle: Handle, offset: Number, bytes: Number } "touches these pages of the file to read them, as far as it has them, and no others are read ahead: madvise(2) with `MADV_RANDOM` and `MADV_POPULATE_READ`";
    69 Locate "lseek from" { handle: Handle, distance: Distance, whence: Count } "lseek(2) by `SEEK_END` (2), `SEEK_DATA` (3) or `SEEK_HOLE` (4), which asks the file system; the position stays where it is";
    70 Share "shared" { file: File, handle: Handle, flags: Octal, offset: Number } "no call: the process has this open file of the one that began it (fork(2), execve(2)); where that one does not have it open, as `Inherit`";
    120 QueueSetup "io_setup" { queue: Queue, engine: Count, entries: Count } "makes a queue with room for so many requests: io_setup(2), io_uring_setup(2) where `engine` is 1";
    121 QueueDestroy "io_destroy" { queue: Queue } "gives it up: io_destroy(2) when its requests are complete, close(2) of a ring whose requests go on";
    122 SubmitRead "submit read" { queue: Queue, handle: Handle, bytes: Number, offset: Place } "begins a read: io_submit(2), io_uring_enter(2), or aio_read(3) in a queue that nobody has made; the result is that of the request, once it is complete. Offset -1: at the position";
    123 SubmitWrite "submit write" { queue: Queue, handle: Handle, bytes: Number, offset: Place } "begins a write, likewise";
    124 SubmitSync "submit fsync" { queue: Queue, handle: Handle, data: Truth } "begins an fsync, or fdatasync where `data` is true, likewise";
    125 Complete "complete" { queue: Queue, count: Count } "waits until so many more requests of the queue are complete, whichever come first: io_getevents(2), io_uring_enter(2), aio_suspend(3). With 0 it does nothing in a replay: the recorded call only handed requests over, which each submission does for itself";
}

/// The engines of queues: the kernel's contexts, and its rings.
pub const ENGINES: [&str; 2] = ["io_submit", "io_uring"];

/// In place of an offset: the position of the open file.
pub const AT_POSITION: i64 = -1;

#[derive(Default)]
struct Operands {
    files: [Option<FileId>; 2],
    handles: [Option<HandleId>; 2],
}

impl Operands {
    fn add(&mut self, file: Option<FileId>, handle: Option<HandleId>) {
        for (list, one) in [(&mut self.files, file), (&mut self.handles, handle)] {
            if let (Some(place), Some(one)) = (list.iter_mut().find(|place| place.is_none()), one) {
                *place = Some(one);
            }
        }
    }
}

impl Io {
    /// The files and handles an operation names.
    pub fn operands(&self) -> ([Option<FileId>; 2], [Option<HandleId>; 2]) {
        let mut named = Operands::default();
        self.refer(|referent, number| match referent {
            Referent::File => named.add(Some(number), None),
            Referent::Handle => named.add(None, Some(number)),
            _ => {}
        });
        (named.files, named.handles)
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

    /// True for what the application did; false for what stands for the state that it found.
    pub const fn is_call(&self) -> bool {
        !matches!(self, Io::Inherit { .. } | Io::Share { .. })
    }

    /// Whether the processor time that it took the application is in the computation of the plan: page faults are in the middle of
    /// it, and a child has its descriptors from the fork.
    pub const fn is_computation(&self) -> bool {
        let is_at_start = matches!(self, Io::Inherit { .. } | Io::Share { .. });
        is_at_start || matches!(self, Io::Populate { .. } | Io::PopulateAtRandom { .. })
    }
}
