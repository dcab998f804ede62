//! Calls on paths.

use super::files::Evidence;
use super::io::Translation;
use std::rc::Rc;
use syn_plan::{FileId, HandleId, Io};
use syn_trace::birth::CREAT;
use syn_trace::calls::{Effect, Field};
use syn_trace::descriptors::flags;

impl Translation<'_> {
    /// The operation of a call on a path.
    pub(super) fn on_path(&mut self) -> Option<Io> {
        let event = self.seen.event;
        let (effect, failed) = (event.call.effect(), self.result != 0);
        if !event.call.names_a_path() {
            return match effect {
                Effect::SyncAll => Some(Io::SyncFs),
                Effect::BindSocket => self.bind(),
                _ => None,
            };
        }
        let flags = event.field(Field::Flags).unwrap_or(0) as i32;
        match effect {
            Effect::Open if failed => self.failed_open(flags),
            Effect::Create if failed => self.failed_open(CREAT),
            Effect::OpenStream if failed && self.hides_libc_internals => {
                self.failed_open(flags::of_stream_mode(&event.texts[1].bytes()))
            }
            Effect::OpenFolderStream if failed && self.hides_libc_internals => {
                self.failed_open(libc::O_DIRECTORY)
            }
            Effect::Stat(follow) => self.stat(event.follows(follow)),
            Effect::Access => {
                let mode = event.field(Field::Mode).unwrap_or(0) as i32;
                self.named(Evidence::Something).map(|file| Io::Access { file, mode })
            }
            Effect::ReadLink => self.readlink(),
            Effect::Unlink if flags & libc::AT_REMOVEDIR != 0 => self.rmdir(),
            Effect::Unlink => self.unlink(),
            Effect::RemoveFolder => self.rmdir(),
            Effect::MakeFolder => self.mkdir(),
            Effect::Truncate => {
                let bytes = self.number(Field::Bytes);
                self.named(Evidence::Something).map(|file| Io::Truncate { file, bytes })
            }
            Effect::Rename => self.rename(flags as u32),
            Effect::Link => self.link(flags & libc::AT_SYMLINK_FOLLOW != 0),
            Effect::Symlink => self.symlink(),
            effect => self.metadata_on_path(effect),
        }
    }

    /// The file of the call's path. `found` is what success shows; failures show other things.
    pub(super) fn named(&mut self, found: Evidence) -> Option<FileId> {
        let evidence = if self.result == 0 { found } else { self.shown_by_failure() };
        self.tables.files.touch(self.touched.path.as_ref()?, evidence)
    }

    /// The file that the call was to make.
    pub(super) fn made(&mut self) -> Option<FileId> {
        self.show_missing_folder();
        self.named(Evidence::Absent)
    }

    /// What cannot be made because of ENOENT was to be in a folder that is not there (open(2), mkdir(2), mknod(2), symlink(2)).
    fn show_missing_folder(&mut self) {
        let path = self.touched.path.as_ref().filter(|_| self.result == -i64::from(libc::ENOENT));
        let folder = path.and_then(|path| path.rsplit_once('/')).map(|(folder, _)| folder);
        if let Some(folder) = folder.filter(|folder| !folder.is_empty()) {
            self.tables.files.touch(&folder.into(), Evidence::Absent);
        }
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

    /// The files of both paths, if one of them is in the plan. `found` is what success shows of the first one, `there` of the second.
    fn both(&mut self, found: Evidence, there: Evidence) -> Option<(FileId, FileId)> {
        let (one, other) = (self.named(found), self.second(there));
        let is_alone = self.result == 0 && one.is_some() != other.is_some();
        let (paths, files) = ([&self.touched.path, &self.touched.second_path], &mut self.tables.files);
        let mut beside = |path: usize, evidence| files.take_in(paths[path].as_ref()?, evidence);
        match (one, other) {
            (Some(one), None) if is_alone => Some((one, beside(1, there)?)),
            (None, Some(other)) if is_alone => Some((beside(0, found)?, other)),
            _ => Some((one?, other?)),
        }
    }

    fn failed_open(&mut self, flags: i32) -> Option<Io> {
        // A FIFO without a reader, a device without a driver: the plan has neither.
        if self.result == -i64::from(libc::ENXIO) {
            return None;
        }
        if flags & libc::O_CREAT != 0 {
            self.show_missing_folder();
        }
        let file = self.named(Evidence::Nothing)?;
        let handle: HandleId = self.tables.handles.peek(self.thread);
        Some(Io::Open { file, handle, flags, mode: self.mode() })
    }

    fn stat(&mut self, follow: bool) -> Option<Io> {
        self.named(self.shown_by_stat()).map(|file| Io::Stat { file, follow })
    }

    /// What the answer to such a question shows.
    pub(super) fn shown_by_stat(&self) -> Evidence {
        match self.number(Field::StMode) as u32 & libc::S_IFMT {
            libc::S_IFDIR => Evidence::Directory,
            libc::S_IFREG => Evidence::Regular(self.number(Field::StSize)),
            _ => Evidence::Something,
        }
    }

    /// The plan knows no symbolic links but those the run makes: others cannot be read in the replay.
    fn readlink(&mut self) -> Option<Io> {
        let replayed = self.result != 0 || self.tables.files.is_made_link(self.touched.path.as_ref()?);
        if !replayed {
            return None;
        }
        self.named(Evidence::Something).map(|file| Io::Readlink { file })
    }

    fn unlink(&mut self) -> Option<Io> {
        let file = self.named(Evidence::Something)?;
        if self.result == 0 {
            self.tables.files.is_no_folder(file);
        }
        Some(Io::Unlink { file })
    }

    fn rmdir(&mut self) -> Option<Io> {
        self.named(Evidence::Directory).map(|file| Io::Rmdir { file })
    }

    fn mkdir(&mut self) -> Option<Io> {
        let exists = self.result == -i64::from(libc::EEXIST);
        let file = match exists {
            true => self.tables.files.touch(self.touched.path.as_ref()?, Evidence::Directory),
            false => self.made(),
        }?;
        if self.result == 0 {
            self.tables.files.made_folder(file);
        }
        Some(Io::Mkdir { file, mode: self.mode() })
    }

    fn rename(&mut self, flags: u32) -> Option<Io> {
        // A replay leaves no whiteout behind, which is a device. What failed may have failed for it.
        let replayed = flags & (libc::RENAME_NOREPLACE | libc::RENAME_EXCHANGE);
        if flags != replayed && self.result != 0 {
            return None;
        }
        let flags = replayed;
        let exchanges = flags & libc::RENAME_EXCHANGE != 0;
        let there = if exchanges { Evidence::Something } else { Evidence::Absent };
        let (from, to) = self.both(Evidence::Something, there)?;
        match (self.result, exchanges) {
            (0, false) => self.tables.files.rename(from, to),
            (0, true) => self.tables.files.exchange(from, to),
            _ => {}
        }
        Some(if flags == 0 { Io::Rename { from, to } } else { Io::RenameWith { from, to, flags } })
    }

    /// `follows` a symbolic link that the run has made: it is the link's target that gets another name.
    fn link(&mut self, follows: bool) -> Option<Io> {
        let both = match self.unnamed().cloned() {
            Some(path) => {
                self.tables.files.touch(&path, Evidence::Something).zip(self.second(Evidence::Absent))
            }
            None => self.both(Evidence::Something, Evidence::Absent),
        };
        if let Some((mut from, to)) = both {
            if follows {
                let target = self.tables.files.behind_links(from);
                from = self.tables.files.touch(&target, Evidence::Something).unwrap_or(from);
            }
            if self.result == 0 {
                self.tables.files.link(from, to);
            }
            return Some(Io::Link { from, to });
        }
        let to = self.second(Evidence::Absent)?;
        // What the plan does not know, it makes: it gets its first name that the plan knows.
        (self.result == 0).then_some(Io::Mknod { file: to, mode: libc::S_IFREG | 0o666 })
    }

    /// Of a link to a file that was opened without a name (`O_TMPFILE`), by its descriptor: the name that it has in a replay.
    fn unnamed(&self) -> Option<&Rc<str>> {
        let file = self.descriptors.open_file(self.touched.file?);
        file.path.as_ref().filter(|_| file.is_unnamed())
    }

    /// A link to what no plan holds leads to itself in the replay, which takes as long to make, read and remove.
    fn symlink(&mut self) -> Option<Io> {
        let link = self.made()?;
        let mut target = self.second(Evidence::Nothing);
        if self.result == 0 {
            let path = self.touched.second_path.as_ref();
            target = target.or_else(|| self.tables.files.take_in(path?, Evidence::Nothing));
            self.tables.files.made_link(link, target.unwrap_or(link));
        }
        Some(Io::Symlink { target: target.unwrap_or(link), link })
    }
}
