//! From a recorded call to the operations of the plan.

use super::attributes::Attributes;
use super::files::{Evidence, FileTable};
use super::handles::Handles;
use super::paths::is_denied;
use crate::between::Between;
use crate::scope::Scope;
use crate::sweep::Seen;
use syn_plan::{HandleId, Io};
use syn_trace::descriptors::{Descriptors, OpenFile, OpenId, Touched};
use syn_trace::{Call, record};

/// The operations of one event, each with its result as in [`syn_plan::Op::Io`].
pub type Operations = Vec<(Io, i64)>;

/// Translates one event. Leaves `out` empty when the event is no I/O on files of the plan.
pub fn translate(
    seen: &Seen<'_>,
    touched: &Touched,
    descriptors: &Descriptors,
    stdio_is_opaque: bool,
    tables: Tables<'_>,
    out: &mut Operations,
) {
    let result = match seen.event.has(record::FAILED) {
        true => -i64::from(seen.event.errno),
        false => 0,
    };
    let thread = seen.thread;
    let mut translation =
        Translation { seen, touched, descriptors, stdio_is_opaque, result, thread, tables, out };
    translation.closes();
    if is_denied(seen.event) {
        return;
    }
    if let Some(opened) = touched.opened {
        translation.opened(opened, descriptors.open_file(opened));
    } else if let Some(between) = Between::of(seen.event) {
        translation.between(between);
    } else if let Some(io) = translation.on_handle() {
        let result = translation.moved();
        translation.out.push((io, result));
    } else if let Some(io) = translation.on_path() {
        translation.out.push((io, translation.result));
    }
}

/// What translation keeps books on.
pub struct Tables<'t> {
    /// The files of the plan.
    pub files: &'t mut FileTable,
    /// Their extended attributes.
    pub attributes: &'t mut Attributes,
    /// The open files of the process.
    pub handles: &'t mut Handles,
}

/// One event on its way to operations.
pub(super) struct Translation<'t> {
    pub(super) seen: &'t Seen<'t>,
    pub(super) touched: &'t Touched,
    descriptors: &'t Descriptors,
    pub(super) stdio_is_opaque: bool,
    /// 0 or the negated errno.
    pub(super) result: i64,
    pub(super) thread: u32,
    pub(super) tables: Tables<'t>,
    out: &'t mut Operations,
}

/// Open files.
impl Translation<'_> {
    /// Descriptors that the call closes, by name or in passing.
    fn closes(&mut self) {
        let by_name = match self.seen.event.call {
            Call::Close => true,
            // Where libc's own calls are seen, the close inside this one has been.
            Call::Fclose | Call::Closedir | Call::Pclose => self.stdio_is_opaque,
            _ => false,
        };
        if by_name {
            let handle = self.tables.handles.close(self.touched.file, self.thread);
            self.out.extend(handle.map(|handle| (Io::Close { handle }, self.result)));
        }
        for &loosened in &self.touched.loosened {
            let handle = self.tables.handles.close(Some(loosened), self.thread);
            self.out.extend(handle.map(|handle| (Io::Close { handle }, 0)));
        }
        for &released in &self.touched.released {
            while let Some(handle) = self.tables.handles.close(Some(released), self.thread) {
                self.out.push((Io::Close { handle }, 0));
            }
        }
    }

    fn opened(&mut self, open: OpenId, file: &OpenFile) {
        let Some(path) = file.path.as_ref().filter(|_| Scope::contains_type(file.st_mode)) else { return };
        let evidence = self.shown_by_open(file);
        let Some(id) = self.tables.files.touch(path, evidence) else { return };
        let handle = self.tables.handles.open(open, self.thread);
        if file.inherited {
            let flags = file.flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC);
            self.out.push((Io::Inherit { file: id, handle, flags, offset: file.offset }, 0));
        } else {
            self.out.push((Io::Open { file: id, handle, flags: file.flags, mode: self.mode() }, 0));
        }
    }

    /// What a successful open shows about how the file was before.
    fn shown_by_open(&self, file: &OpenFile) -> Evidence {
        let creates = file.flags & libc::O_CREAT != 0 && !file.inherited;
        match file.st_mode & libc::S_IFMT {
            libc::S_IFDIR => Evidence::Directory,
            0 if file.flags & libc::O_DIRECTORY != 0 => Evidence::Directory,
            _ if creates && (file.flags & libc::O_EXCL != 0 || file.was_made() == Some(true)) => {
                Evidence::Absent
            }
            _ if creates && file.was_made() == Some(false) => Evidence::Regular(0),
            // How long a file was that it has emptied, nobody knows any more.
            // What the call makes has no more rights than the call says.
            _ if creates && file.size == 0 && file.st_mode & 0o777 & !self.mode() == 0 => Evidence::Made,
            _ if file.flags & libc::O_TRUNC != 0 && !file.inherited => Evidence::Something,
            _ => Evidence::Regular(file.size),
        }
    }

    pub(super) fn mode(&self) -> u32 {
        let numbers = &self.seen.event.numbers;
        let mode = match self.seen.event.call {
            Call::Open => numbers[1],
            Call::Openat | Call::Openat2 => numbers[2],
            Call::Creat => numbers[0],
            // fopen(3).
            _ => 0o666,
        };
        mode as u32 & 0o7777
    }

    /// A read of the one file and a write of the other, as far as they are files: the replay moves the bytes itself.
    fn between(&mut self, Between { read_at, written_at, bytes }: Between) {
        if let Some(handle) = self.tables.handles.get(self.touched.file, self.thread) {
            // At the end of the file one byte is asked for as well as any number.
            let asked = bytes.max(1);
            let io = match read_at.or_else(|| self.shared_position(self.touched.file, bytes)) {
                Some(offset) => Io::ReadAt { handle, bytes: asked, offset },
                None => Io::Read { handle, bytes: asked },
            };
            self.out.push((io, bytes as i64));
        }
        let target = self.tables.handles.get(self.touched.second_file, self.thread);
        if let Some(handle) = target.filter(|_| bytes > 0) {
            let written_at = written_at.or_else(|| self.shared_position(self.touched.second_file, bytes));
            let io = match written_at {
                Some(offset) => Io::WriteAt { handle, bytes, offset },
                None => Io::Write { handle, bytes },
            };
            self.out.push((io, bytes as i64));
        }
    }

    /// Where a transfer of so many bytes at the position began, if the position is shared. The replay's open files are
    /// not: it goes to where the bytes went. What is appended goes to the end by itself.
    fn shared_position(&self, file: Option<OpenId>, moved: u64) -> Option<u64> {
        let file = self.descriptors.open_file(file?);
        let is_positioned = file.shared && file.flags & libc::O_APPEND == 0;
        is_positioned.then(|| file.offset.saturating_sub(moved))
    }

    /// A read or write at the position.
    fn at_position(&self, handle: HandleId, bytes: u64, writes: bool) -> Io {
        let moved = self.seen.event.result.max(0) as u64;
        let moved = if self.result == 0 { moved } else { 0 };
        match (self.shared_position(self.touched.file, moved), writes) {
            (Some(offset), true) => Io::WriteAt { handle, bytes, offset },
            (Some(offset), false) => Io::ReadAt { handle, bytes, offset },
            (None, true) => Io::Write { handle, bytes },
            (None, false) => Io::Read { handle, bytes },
        }
    }

    fn on_handle(&mut self) -> Option<Io> {
        let numbers = &self.seen.event.numbers;
        if self.touched.duplicated {
            let (handle, new) = self.tables.handles.duplicate(self.touched.file, self.thread)?;
            return Some(Io::Dup { handle, new });
        }
        let handle = self.tables.handles.get(self.touched.file, self.thread)?;
        let bytes = |position: usize| numbers[position].max(0) as u64;
        Some(match self.seen.event.call {
            Call::Read | Call::Readv => self.at_position(handle, bytes(1), false),
            Call::Write | Call::Writev => self.at_position(handle, bytes(1), true),
            // preadv2(2): the offset -1 means the position.
            Call::Preadv if numbers[2] == -1 => self.at_position(handle, bytes(1), false),
            Call::Pwritev if numbers[2] == -1 => self.at_position(handle, bytes(1), true),
            Call::Pread | Call::Preadv => Io::ReadAt { handle, bytes: bytes(1), offset: bytes(2) },
            Call::Pwrite | Call::Pwritev => Io::WriteAt { handle, bytes: bytes(1), offset: bytes(2) },
            Call::Lseek if self.result == 0 => {
                Io::Seek { handle, offset: self.seen.event.result.max(0) as u64 }
            }
            Call::Lseek => Io::Seek { handle, offset: bytes(1) },
            Call::Rewinddir => Io::Seek { handle, offset: 0 },
            Call::Fsync => Io::Fsync { handle },
            Call::Fdatasync => Io::Fdatasync { handle },
            Call::SyncFileRange => {
                Io::SyncRange { handle, offset: bytes(1), bytes: bytes(2), flags: numbers[3] as u32 }
            }
            Call::Syncfs => Io::SyncFs,
            Call::Ftruncate => Io::Ftruncate { handle, bytes: bytes(1) },
            Call::Fallocate => {
                Io::Allocate { handle, mode: numbers[1] as i32, offset: bytes(2), bytes: bytes(3) }
            }
            Call::PosixFallocate => Io::Allocate { handle, mode: 0, offset: bytes(1), bytes: bytes(2) },
            // fstatat(2) and statx(2) come here with an empty path, which means the descriptor.
            Call::Fstat | Call::Fstatat | Call::Statx => Io::Fstat { handle },
            Call::Readdir => Io::ReadDir { handle, entries: 1 },
            Call::Getdents if self.result == 0 => Io::ReadDir { handle, entries: self.most_entries() },
            Call::Fread if self.stdio_is_opaque => Io::Read { handle, bytes: self.stream_bytes(numbers[2]) },
            Call::Fwrite if self.stdio_is_opaque => {
                Io::Write { handle, bytes: self.stream_bytes(numbers[2]) }
            }
            _ => return self.metadata_on_handle(handle),
        })
    }

    /// How many entries `getdents64` may have returned. Asking for one more at the end finds the end.
    fn most_entries(&self) -> u32 {
        /// `struct linux_dirent64` with a name of up to four bytes.
        const SHORTEST: i64 = 24;
        u32::try_from(self.seen.event.result / SHORTEST).map_or(1, |entries| entries.max(1))
    }

    fn stream_bytes(&self, items: i64) -> u64 {
        (self.seen.event.numbers[1].max(0) as u64).saturating_mul(items.max(0) as u64)
    }

    /// The result of an operation on an open file.
    fn moved(&self) -> i64 {
        if self.result != 0 {
            return self.result;
        }
        let event = self.seen.event;
        match event.call {
            Call::Read | Call::Readv | Call::Pread | Call::Preadv => event.result,
            Call::Write | Call::Writev | Call::Pwrite | Call::Pwritev => event.result,
            Call::Fread | Call::Fwrite => self.stream_bytes(event.result) as i64,
            // These return the error.
            Call::PosixFallocate | Call::PosixFadvise => -event.result.abs(),
            _ => 0,
        }
    }
}
