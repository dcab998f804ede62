//! Calls on paths.

use super::files::Evidence;
use super::io::Translation;
use std::rc::Rc;
use syn_plan::{FileId, HandleId, Io};
use syn_trace::birth::CREAT;
use syn_trace::descriptors::flags;
use syn_trace::{Call, Event, record};

/// True for a call that the kernel has refused for want of rights. It says nothing of the file, and whoever replays has other
/// rights, to files that are all their own.
pub(super) fn is_denied(event: &Event<'_>) -> bool {
    event.has(record::FAILED) && matches!(event.errno, libc::EACCES | libc::EPERM)
}

impl Translation<'_> {
    /// The operation of a call on a path.
    pub(super) fn on_path(&mut self) -> Option<Io> {
        let numbers = &self.seen.event.numbers;
        match self.seen.event.call {
            Call::Open if self.result != 0 => self.failed_open(numbers[0] as i32),
            Call::Openat | Call::Openat2 if self.result != 0 => self.failed_open(numbers[1] as i32),
            Call::Creat if self.result != 0 => self.failed_open(CREAT),
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
            _ => self.metadata_on_path(),
        }
    }

    /// The file of the call's path. `found` is what success shows; failures show other things.
    pub(super) fn named(&mut self, found: Evidence) -> Option<FileId> {
        let evidence = if self.result == 0 { found } else { self.shown_by_failure() };
        self.tables.files.touch(self.touched.path.as_ref()?, evidence)
    }

    fn shown_by_failure(&self) -> Evidence {
        match -self.result as i32 {
            libc::ENOENT => Evidence::Absent,
            libc::ENOTDIR => Evidence::Nothing,
            libc::EISDIR | libc::ENOTEMPTY => Evidence::Directory,
            libc::EEXIST | libc::EINVAL => Evidence::Something,
            _ => Evidence::Nothing,
        }
    }

    fn second(&mut self, evidence: Evidence) -> Option<FileId> {
        let path: &Rc<str> = self.touched.second_path.as_ref()?;
        self.tables.files.touch(path, if self.result == 0 { evidence } else { Evidence::Nothing })
    }

    fn failed_open(&mut self, flags: i32) -> Option<Io> {
        // A FIFO without a reader, a device without a driver: the plan has neither.
        if self.result == -i64::from(libc::ENXIO) {
            return None;
        }
        let file = self.named(Evidence::Nothing)?;
        let handle: HandleId = self.tables.handles.peek(self.thread);
        Some(Io::Open { file, handle, flags, mode: self.mode() })
    }

    fn stat(&mut self, st_mode: i64, st_size: i64, follow: bool) -> Option<Io> {
        let found = match st_mode as u32 & libc::S_IFMT {
            libc::S_IFDIR => Evidence::Directory,
            libc::S_IFREG => Evidence::Regular(st_size.max(0) as u64),
            _ => Evidence::Something,
        };
        self.named(found).map(|file| Io::Stat { file, follow })
    }

    /// The plan knows no symbolic links but those the run makes: others cannot be read in the replay.
    fn readlink(&mut self) -> Option<Io> {
        let replayed = self.result != 0 || self.tables.files.is_made_link(self.touched.path.as_ref()?);
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
            true => self.tables.files.touch(self.touched.path.as_ref()?, Evidence::Directory),
            false => self.named(Evidence::Absent),
        }?;
        if self.result == 0 {
            self.tables.files.made_folder(file);
        }
        Some(Io::Mkdir { file, mode: mode as u32 & 0o7777 })
    }

    fn rename(&mut self) -> Option<Io> {
        let flags = match self.seen.event.call {
            Call::Renameat => self.seen.event.numbers[2] as u32,
            _ => 0,
        };
        // A replay leaves no whiteout behind, which is a device. What failed may have failed for it.
        let replayed = flags & (libc::RENAME_NOREPLACE | libc::RENAME_EXCHANGE);
        if flags != replayed && self.result != 0 {
            return None;
        }
        let flags = replayed;
        let exchanges = flags & libc::RENAME_EXCHANGE != 0;
        let there = if exchanges { Evidence::Something } else { Evidence::Absent };
        let (from, to) = (self.named(Evidence::Something), self.second(there));
        let (from, to) = (from?, to?);
        match (self.result, exchanges) {
            (0, false) => self.tables.files.rename(from, to),
            (0, true) => self.tables.files.exchange(from, to),
            _ => {}
        }
        Some(if flags == 0 { Io::Rename { from, to } } else { Io::RenameWith { from, to, flags } })
    }

    fn link(&mut self) -> Option<Io> {
        let (from, to) = (self.named(Evidence::Something), self.second(Evidence::Absent));
        let (from, to) = (from?, to?);
        if self.result == 0 {
            self.tables.files.link(from, to);
        }
        Some(Io::Link { from, to })
    }

    fn symlink(&mut self) -> Option<Io> {
        let (link, target) = (self.named(Evidence::Absent)?, self.second(Evidence::Nothing)?);
        if self.result == 0 {
            self.tables.files.made_link(link, target);
        }
        Some(Io::Symlink { target, link })
    }
}

/// Whether a symbolic link at the end of the path is followed.
pub(super) fn follows(flags: i64) -> bool {
    flags & i64::from(libc::AT_SYMLINK_NOFOLLOW) == 0
}
