//! From a recorded call to the operations of the plan.

use super::files::{Evidence, FileTable};
use super::handles::Handles;
use crate::between::Between;
use crate::scope::Scope;
use crate::sweep::Seen;
use std::rc::Rc;
use syn_plan::{FileId, HandleId, Io};
use syn_trace::descriptors::{Descriptors, OpenFile, OpenId, Touched, flags};
use syn_trace::{Call, record};

/// The operations of one event, each with its result as in [`syn_plan::Op::Io`].
pub type Operations = Vec<(Io, i64)>;

/// Translates one event. Leaves `out` empty when the event is no I/O on files of the plan.
pub fn translate(
    seen: &Seen<'_>,
    touched: &Touched,
    descriptors: &Descriptors,
    stdio_is_opaque: bool,
    files: &mut FileTable,
    handles: &mut Handles,
    out: &mut Operations,
) {
    let result = match seen.event.has(record::FAILED) {
        true => -i64::from(seen.event.errno),
        false => 0,
    };
    let thread = seen.thread;
    let mut translation = Translation { seen, touched, stdio_is_opaque, result, thread, files, handles, out };
    translation.closes();
    if let Some(opened) = touched.opened {
        translation.opened(opened, descriptors.open_file(opened));
    } else if let Some(between) = Between::of(seen.event) {
        translation.between(between);
    } else if let Some(io) = translation.on_handle() {
        let result = translation.moved();
        translation.out.push((io, result));
    } else {
        translation.on_path();
    }
}

struct Translation<'t> {
    seen: &'t Seen<'t>,
    touched: &'t Touched,
    stdio_is_opaque: bool,
    /// 0 or the negated errno.
    result: i64,
    thread: u32,
    files: &'t mut FileTable,
    handles: &'t mut Handles,
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
            let handle = self.handles.close(self.touched.file, self.thread);
            self.out.extend(handle.map(|handle| (Io::Close { handle }, self.result)));
        }
        for &released in &self.touched.released {
            while let Some(handle) = self.handles.close(Some(released), self.thread) {
                self.out.push((Io::Close { handle }, 0));
            }
        }
    }

    fn opened(&mut self, open: OpenId, file: &OpenFile) {
        let Some(path) = file.path.as_ref().filter(|_| Scope::contains_type(file.st_mode)) else { return };
        let made = file.flags & libc::O_CREAT != 0 && (file.flags & libc::O_EXCL != 0 || file.size == 0);
        let evidence = match file.st_mode & libc::S_IFMT {
            libc::S_IFDIR => Evidence::Directory,
            _ if made && !file.inherited => Evidence::Absent,
            _ => Evidence::Regular(file.size),
        };
        let Some(id) = self.files.touch(path, evidence) else { return };
        let handle = self.handles.open(open, self.thread);
        if file.inherited {
            let flags = file.flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC);
            self.out.push((Io::Open { file: id, handle, flags, mode: 0 }, 0));
            if file.offset > 0 {
                self.out.push((Io::Seek { handle, offset: file.offset }, 0));
            }
        } else {
            self.out.push((Io::Open { file: id, handle, flags: file.flags, mode: self.mode() }, 0));
        }
    }

    fn mode(&self) -> u32 {
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
        if let Some(handle) = self.handles.get(self.touched.file, self.thread) {
            // At the end of the file one byte is asked for as well as any number.
            let asked = bytes.max(1);
            let io = match read_at {
                Some(offset) => Io::ReadAt { handle, bytes: asked, offset },
                None => Io::Read { handle, bytes: asked },
            };
            self.out.push((io, bytes as i64));
        }
        let target = self.handles.get(self.touched.second_file, self.thread);
        if let Some(handle) = target.filter(|_| bytes > 0) {
            let io = match written_at {
                Some(offset) => Io::WriteAt { handle, bytes, offset },
                None => Io::Write { handle, bytes },
            };
            self.out.push((io, bytes as i64));
        }
    }

    fn on_handle(&mut self) -> Option<Io> {
        let numbers = &self.seen.event.numbers;
        if self.touched.duplicated {
            let (handle, new) = self.handles.duplicate(self.touched.file, self.thread)?;
            return Some(Io::Dup { handle, new });
        }
        let handle = self.handles.get(self.touched.file, self.thread)?;
        let bytes = |position: usize| numbers[position].max(0) as u64;
        Some(match self.seen.event.call {
            Call::Read | Call::Readv => Io::Read { handle, bytes: bytes(1) },
            Call::Write | Call::Writev => Io::Write { handle, bytes: bytes(1) },
            // preadv2(2): the offset -1 means the position.
            Call::Preadv if numbers[2] == -1 => Io::Read { handle, bytes: bytes(1) },
            Call::Pwritev if numbers[2] == -1 => Io::Write { handle, bytes: bytes(1) },
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
            _ => return None,
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
            // posix_fallocate(3) returns the error.
            Call::PosixFallocate => -event.result.abs(),
            _ => 0,
        }
    }
}

/// Paths.
impl Translation<'_> {
    fn on_path(&mut self) {
        let numbers = &self.seen.event.numbers;
        let io = match self.seen.event.call {
            Call::Open if self.result != 0 => self.failed_open(numbers[0] as i32),
            Call::Openat | Call::Openat2 if self.result != 0 => self.failed_open(numbers[1] as i32),
            Call::Creat if self.result != 0 => {
                self.failed_open(libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC)
            }
            Call::Fopen if self.result != 0 && self.stdio_is_opaque => {
                self.failed_open(flags::of_stream_mode(&self.seen.event.texts[1].bytes()))
            }
            Call::Opendir if self.result != 0 && self.stdio_is_opaque => self.failed_open(libc::O_DIRECTORY),
            Call::Stat => self.stat(numbers[0], numbers[1], true),
            Call::Lstat => self.stat(numbers[0], numbers[1], false),
            Call::Fstatat => self.stat(numbers[2], numbers[3], follows(numbers[1])),
            Call::Statx => self.stat(numbers[3], numbers[4], follows(numbers[1])),
            Call::Access => {
                self.named(Evidence::Something).map(|file| Io::Access { file, mode: numbers[0] as i32 })
            }
            Call::Faccessat => {
                self.named(Evidence::Something).map(|file| Io::Access { file, mode: numbers[1] as i32 })
            }
            Call::Readlink | Call::Readlinkat => self.readlink(),
            Call::Unlinkat if numbers[1] & i64::from(libc::AT_REMOVEDIR) != 0 => self.rmdir(),
            Call::Unlink | Call::Unlinkat => self.named(Evidence::Something).map(|file| Io::Unlink { file }),
            Call::Rmdir => self.rmdir(),
            Call::Mkdir => self.mkdir(numbers[0]),
            Call::Mkdirat => self.mkdir(numbers[1]),
            Call::Truncate => self
                .named(Evidence::Something)
                .map(|file| Io::Truncate { file, bytes: numbers[0].max(0) as u64 }),
            Call::Rename | Call::Renameat => self.rename(),
            Call::Link | Call::Linkat => self.link(),
            Call::Symlink | Call::Symlinkat => self.symlink(),
            Call::Sync => Some(Io::SyncFs),
            _ => None,
        };
        self.out.extend(io.map(|io| (io, self.result)));
    }

    /// The file of the call's path. `found` is what success shows; failures show other things.
    fn named(&mut self, found: Evidence) -> Option<FileId> {
        let evidence = if self.result == 0 { found } else { self.shown_by_failure() };
        self.files.touch(self.touched.path.as_ref()?, evidence)
    }

    fn shown_by_failure(&self) -> Evidence {
        match -self.result as i32 {
            libc::ENOENT | libc::ENOTDIR => Evidence::Absent,
            libc::EISDIR | libc::ENOTEMPTY => Evidence::Directory,
            libc::EEXIST | libc::EACCES | libc::EPERM | libc::EINVAL => Evidence::Something,
            _ => Evidence::Nothing,
        }
    }

    fn second(&mut self, evidence: Evidence) -> Option<FileId> {
        let path: &Rc<str> = self.touched.second_path.as_ref()?;
        self.files.touch(path, if self.result == 0 { evidence } else { Evidence::Nothing })
    }

    fn failed_open(&mut self, flags: i32) -> Option<Io> {
        let file = self.named(Evidence::Nothing)?;
        let handle: HandleId = self.handles.peek(self.thread);
        Some(Io::Open { file, handle, flags, mode: self.mode() })
    }

    fn stat(&mut self, st_mode: i64, st_size: i64, follow: bool) -> Option<Io> {
        let found = match st_mode as u32 & libc::S_IFMT {
            libc::S_IFDIR => Evidence::Directory,
            libc::S_IFREG => Evidence::Regular(st_size.max(0) as u64),
            _ if self.result != 0 => Evidence::Nothing,
            _ => return None,
        };
        self.named(found).map(|file| Io::Stat { file, follow })
    }

    /// The plan knows no symbolic links but those the run makes: others cannot be read in the replay.
    fn readlink(&mut self) -> Option<Io> {
        let replayed = self.result != 0 || self.files.is_made_link(self.touched.path.as_ref()?);
        if !replayed {
            return None;
        }
        self.named(Evidence::Something).map(|file| Io::Readlink { file })
    }

    fn rmdir(&mut self) -> Option<Io> {
        self.named(Evidence::Directory).map(|file| Io::Rmdir { file })
    }

    fn mkdir(&mut self, mode: i64) -> Option<Io> {
        let exists = self.result == -i64::from(libc::EEXIST);
        let file = match exists {
            true => self.files.touch(self.touched.path.as_ref()?, Evidence::Directory),
            false => self.named(Evidence::Absent),
        }?;
        if self.result == 0 {
            self.files.made_folder(file);
        }
        Some(Io::Mkdir { file, mode: mode as u32 & 0o7777 })
    }

    fn rename(&mut self) -> Option<Io> {
        let (from, to) = (self.named(Evidence::Something), self.second(Evidence::Absent));
        if let (0, Some(old), Some(new)) = (self.result, &self.touched.path, &self.touched.second_path) {
            self.files.rename(old, new);
        }
        Some(Io::Rename { from: from?, to: to? })
    }

    fn link(&mut self) -> Option<Io> {
        let (from, to) = (self.named(Evidence::Something), self.second(Evidence::Absent));
        Some(Io::Link { from: from?, to: to? })
    }

    fn symlink(&mut self) -> Option<Io> {
        let (link, target) = (self.named(Evidence::Absent)?, self.second(Evidence::Nothing)?);
        if self.result == 0 {
            self.files.made_link(link);
        }
        Some(Io::Symlink { target, link })
    }
}

fn follows(flags: i64) -> bool {
    flags & i64::from(libc::AT_SYMLINK_NOFOLLOW) == 0
}
