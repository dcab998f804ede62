//! From a recorded call to the operations of the plan.

use super::attributes::Attributes;
use super::files::{Evidence, FileTable};
use super::handles::Handles;
use super::mappings::Mappings;
use crate::follow::pass::Seen;
use crate::follow::request_tracker::{Asked, Deed};
use crate::follow::scope::Scope;
use crate::follow::touched_pages::TouchedPages;
use syn_plan::{AT_POSITION, HandleId, Io};
use syn_trace::calls::{Effect, Fact, Field};
use syn_trace::descriptors::{Descriptors, OpenFile, OpenId, Touched, Transfer};
use syn_trace::{Event, Layer, record};

/// From here on lseek(2) asks the file system.
const SEEK_END: i64 = libc::SEEK_END as i64;

/// The operations of one event, each with its result as in [`syn_plan::Op::Io`].
pub type Operations = Vec<(Io, i64)>;

/// Translates one event. Leaves `out` empty when the event is no I/O on files of the plan.
pub fn translate(
    seen: &Seen<'_>,
    touched: &Touched,
    descriptors: &Descriptors,
    hides_libc_internals: bool,
    tables: Tables<'_>,
    deeds: impl Iterator<Item = Deed>,
    out: &mut Operations,
) {
    let result = match seen.event.has(record::FAILED) {
        true => -i64::from(seen.event.errno),
        false => 0,
    };
    let thread = seen.thread;
    let mut translation =
        Translation { seen, touched, descriptors, hides_libc_internals, result, thread, tables, out };
    translation.closes();
    deeds.for_each(|deed| translation.on_queue(deed));
    if refused(seen.event).is_some() {
        return;
    }
    if let Some(opened) = touched.opened {
        translation.opened(opened, descriptors.open_file(opened));
    } else if seen.event.call.layer() == Layer::Mmap {
        translation.about_mapping();
    } else if let Some(between) = Transfer::of(seen.event) {
        translation.between(between);
    } else if let Some(io) = translation.on_handle() {
        let result = translation.moved();
        translation.out.push((io, result));
        translation.sync_written(io);
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
    /// Those of them that it has mapped.
    pub mappings: &'t mut Mappings,
    /// What is touched of them.
    pub pages: &'t mut TouchedPages,
}

/// One event on its way to operations.
pub(super) struct Translation<'t> {
    pub(super) seen: &'t Seen<'t>,
    pub(super) touched: &'t Touched,
    pub(super) descriptors: &'t Descriptors,
    pub(super) hides_libc_internals: bool,
    /// 0 or the negated errno.
    pub(super) result: i64,
    pub(super) thread: u32,
    pub(super) tables: Tables<'t>,
    pub(super) out: &'t mut Operations,
}

/// In a word, why the kernel has refused a call for a reason that is not the file's, and that a replay does not have: it has other
/// rights, to files that are all their own, other limits and another file system, gets no signals, runs no programs, and
/// passes arguments that a plan can hold.
pub(super) fn refused(event: &Event<'_>) -> Option<&'static str> {
    let returned = if event.call.has(Fact::ReturnsError) { event.result as i32 } else { 0 };
    match (if event.has(record::FAILED) { event.errno } else { returned }, event.call.effect()) {
        (0, _) => None,
        (libc::EACCES | libc::EPERM | libc::EROFS, _) => Some("denied"),
        (libc::EINTR, _) => Some("interrupted"),
        // What is no symbolic link is none in the replay.
        (libc::EINVAL, Effect::ReadLink) => None,
        (_, Effect::Seek) => Some("failed"),
        // A path of a plan has no slash at its end.
        (libc::ENOTDIR, _) if asks_for_a_folder(event) => Some("failed"),
        (
            libc::EINVAL
            | libc::EFAULT
            | libc::ENOMEM
            | libc::ENFILE
            | libc::EMFILE
            | libc::EFBIG
            | libc::ENOSPC
            | libc::EDQUOT
            | libc::EXDEV
            | libc::EAGAIN
            | libc::ETXTBSY
            | libc::ENAMETOOLONG
            | libc::EOPNOTSUPP
            | libc::ENOSYS,
            _,
        ) => Some("failed"),
        _ => None,
    }
}

/// Whether a path ends as only that of a folder may.
fn asks_for_a_folder(event: &Event<'_>) -> bool {
    let mut texts = event.texts.iter().take(event.call.shape().1).map(|text| text.bytes());
    texts.any(|path| path.ends_with(b"/") || path.ends_with(b"/."))
}

/// Open files.
impl Translation<'_> {
    /// Descriptors that the call closes, by name or in passing.
    fn closes(&mut self) {
        let by_name = match self.seen.event.call.effect() {
            // What was not open to the kernel another thread has closed, whose call returns later.
            Effect::Close => self.result != -i64::from(libc::EBADF),
            // Where libc's own calls are seen, the close inside this one has been.
            Effect::CloseStream | Effect::CloseProcessStream => self.hides_libc_internals,
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
            self.remove_unnamed(released);
        }
    }

    /// A file that was opened without a name has one in the replay, until it is closed: it may get a name before.
    fn remove_unnamed(&mut self, open: OpenId) {
        let file = self.descriptors.open_file(open);
        let path = file.path.as_ref().filter(|_| file.is_unnamed());
        let id = path.and_then(|path| self.tables.files.touch(path, Evidence::Something));
        self.out.extend(id.map(|file| (Io::Unlink { file }, 0)));
    }

    fn opened(&mut self, open: OpenId, file: &OpenFile) {
        let Some(path) = file.path.as_ref().filter(|_| Scope::contains_type(file.st_mode)) else { return };
        let evidence = self.shown_by_open(file);
        let Some(id) = self.tables.files.touch(path, evidence) else { return };
        let handle = self.tables.handles.open(open, self.thread);
        if file.inherited {
            let of_opening = libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC;
            // One without a name has one in the replay.
            let unnamed = if file.has_no_name() { libc::O_TMPFILE } else { 0 };
            let flags = file.flags & !(of_opening | unnamed);
            let offset = file.offset;
            // Who only appends moves no position that others use.
            let appends = flags & (libc::O_ACCMODE | libc::O_APPEND) == libc::O_WRONLY | libc::O_APPEND;
            let io = match file.shared || appends {
                true => Io::Share { file: id, handle, flags, offset },
                false => Io::Inherit { file: id, handle, flags, offset },
            };
            self.out.push((io, 0));
        } else {
            let flags = match file.is_unnamed() {
                true => file.flags & !libc::O_TMPFILE | libc::O_CREAT | libc::O_EXCL,
                false => file.flags,
            };
            self.out.push((Io::Open { file: id, handle, flags, mode: self.mode() }, 0));
        }
    }

    /// What a successful open shows about how the file was before.
    fn shown_by_open(&self, file: &OpenFile) -> Evidence {
        let creates = file.flags & libc::O_CREAT != 0 && !file.inherited;
        match file.st_mode & libc::S_IFMT {
            _ if file.is_unnamed() => Evidence::Absent,
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
            // Where nobody could ask, a later call may tell.
            0 => Evidence::Something,
            _ => Evidence::Regular(file.size),
        }
    }

    /// Of a file about which nobody could ask when it was opened, a later question tells.
    fn learn_of_open(&mut self) {
        let open = self.touched.file.map(|open| self.descriptors.open_file(open));
        let unasked = open.filter(|open| open.st_mode == 0 && self.result == 0);
        if let Some(path) = unasked.and_then(|open| open.path.as_ref()) {
            self.tables.files.touch(path, self.shown_by_stat());
        }
    }

    pub(super) fn mode(&self) -> u32 {
        // Without one, as fopen(3).
        self.seen.event.field(Field::Mode).unwrap_or(0o666) as u32 & 0o7777
    }

    /// A transfer inside the kernel, of which at least one end is a file of the plan:
    ///
    /// - sendfile(2) from file to file is the same call, or a read and a write where others share the target's position;
    /// - copy_file_range(2) between files is the same call;
    /// - from a file to anything else, as a pipe or a socket, it is sendfile(2) to nowhere; so is one that found the end of its file;
    /// - from anything else, as a pipe, to a file, it is a write.
    ///
    /// What files share without a move (`FICLONERANGE`) is a read and a write.
    fn between(&mut self, Transfer { read_at, written_at, bytes }: Transfer) {
        // Who asks for nothing gets nothing, wherever the file ends.
        let event = self.seen.event;
        let moves = event.call.effect() == Effect::Transfer;
        let asks = !moves || event.field(Field::Bytes) != Some(0);
        let source = self.tables.handles.get(self.touched.file, self.thread).filter(|_| asks);
        let target = self.tables.handles.get(self.touched.second_file, self.thread).filter(|_| bytes > 0);
        let read_at = read_at.or_else(|| self.shared_position(self.touched.file, bytes));
        let written_at = written_at.or_else(|| self.shared_position(self.touched.second_file, bytes));
        // At the end of the file one byte is asked for as well as any number.
        let asked = bytes.max(1);
        let place = |at: Option<u64>| at.map_or(AT_POSITION, |at| at as i64);
        let (offset, to_offset) = (place(read_at), place(written_at));
        let takes_place = event.field(Field::SecondOffset).is_some();
        let io = match (source, target) {
            (Some(handle), None) if moves => Some(Io::Send { handle, bytes: asked, offset }),
            (Some(from), Some(to)) if moves && takes_place => {
                Some(Io::CopyRange { from, to, bytes, offset, to_offset })
            }
            (Some(from), Some(to)) if moves && written_at.is_none() => {
                Some(Io::SendTo { from, to, bytes, offset })
            }
            _ => None,
        };
        if let Some(io) = io {
            return self.out.push((io, bytes as i64));
        }
        if let Some(handle) = source {
            let io = match read_at {
                Some(offset) => Io::ReadAt { handle, bytes: asked, offset },
                None => Io::Read { handle, bytes: asked },
            };
            self.out.push((io, bytes as i64));
        }
        if let Some(handle) = target {
            let io = match written_at {
                Some(offset) => Io::WriteAt { handle, bytes, offset },
                None => Io::Write { handle, bytes },
            };
            self.out.push((io, bytes as i64));
        }
    }

    /// Where a transfer of so many bytes at the position began, if the position is shared. In the replay it may not be (see
    /// [`Io::Share`]): the transfer goes to where the bytes went. What is appended goes to the end by itself.
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

    /// Asynchronous I/O.
    fn on_queue(&mut self, deed: Deed) {
        let io = match deed {
            Deed::SetUp { queue, engine, entries } => (Io::QueueSetup { queue, engine, entries }, 0),
            Deed::Destroy { queue } => (Io::QueueDestroy { queue }, 0),
            Deed::Complete { queue, count, bytes } => (Io::Complete { queue, count }, bytes),
            Deed::Submit { queue, asked, result } => {
                let Some(handle) = self.tables.handles.get(self.touched.file, self.thread) else { return };
                let expected = result.unwrap_or(asked.bytes() as i64);
                let io = match asked {
                    Asked::Read(bytes, offset) => Io::SubmitRead { queue, handle, bytes, offset },
                    // What there was no room for is not written where there is.
                    Asked::Write(bytes, offset) => {
                        Io::SubmitWrite { queue, handle, bytes: bytes.min(expected as u64), offset }
                    }
                    Asked::Sync { data } => Io::SubmitSync { queue, handle, data },
                };
                (io, expected)
            }
        };
        self.out.push(io);
    }

    /// pwritev2(2) may sync what it has written.
    fn sync_written(&mut self, written: Io) {
        let (Io::WriteAt { handle, .. } | Io::Write { handle, .. }) = written else { return };
        match self.number(Field::Flags) as i32 {
            _ if self.result != 0 => {}
            flags if flags & libc::RWF_SYNC != 0 => self.out.push((Io::Fsync { handle }, 0)),
            flags if flags & libc::RWF_DSYNC != 0 => self.out.push((Io::Fdatasync { handle }, 0)),
            _ => {}
        }
    }

    fn on_handle(&mut self) -> Option<Io> {
        if self.touched.duplicated {
            let (handle, new) = self.tables.handles.duplicate(self.touched.file, self.thread)?;
            // What dup2(2) closes to put another file in its place is closed by the same operation.
            self.out.pop_if(|(io, _)| *io == Io::Close { handle: new });
            return Some(Io::Dup { handle, new });
        }
        let handle = self.tables.handles.get(self.touched.file, self.thread)?;
        let (event, offset) = (self.seen.event, self.number(Field::Offset));
        let (bytes, flags) = (self.number(Field::Bytes), self.number(Field::Flags) as u32);
        Some(match event.call.effect() {
            Effect::Read(place) => match event.offset_of(place) {
                Some(offset) => Io::ReadAt { handle, bytes, offset },
                None => self.at_position(handle, bytes, false),
            },
            Effect::Write(place) => {
                // What there was no room for is not written where there is.
                let bytes = if self.result == 0 { bytes.min(event.result.max(0) as u64) } else { bytes };
                match event.offset_of(place) {
                    Some(offset) => Io::WriteAt { handle, bytes, offset },
                    None => self.at_position(handle, bytes, true),
                }
            }
            Effect::Seek => {
                let [_, distance, whence, ..] = event.numbers;
                let place = Io::Seek { handle, offset: event.result.max(0) as u64 };
                if whence < SEEK_END {
                    return Some(place);
                }
                if self.result == 0 {
                    self.out.push((place, 0));
                }
                Io::Locate { handle, distance, whence: whence as u32 }
            }
            Effect::Rewind => Io::Seek { handle, offset: 0 },
            Effect::Fsync => Io::Fsync { handle },
            Effect::Fdatasync => Io::Fdatasync { handle },
            Effect::SyncRange => Io::SyncRange { handle, offset, bytes, flags },
            Effect::SyncFileSystem => Io::SyncFs,
            Effect::Truncate => Io::Ftruncate { handle, bytes },
            Effect::Allocate => match event.field(Field::Mode) {
                Some(mode) => Io::Allocate { handle, mode: mode as i32, offset, bytes },
                None => Io::PosixFallocate { handle, offset, bytes },
            },
            // fstatat(2) and statx(2) come here with an empty path, which means the descriptor.
            Effect::Stat(_) => {
                self.learn_of_open();
                Io::Fstat { handle }
            }
            // Where libc's own calls are seen, those by which it reads ahead have been.
            Effect::ReadEntry if self.hides_libc_internals => Io::ReadDir { handle, entries: 1 },
            Effect::ReadEntry => return None,
            Effect::ReadEntries if self.result == 0 => Io::ReadDir { handle, entries: self.most_entries() },
            Effect::ReadStream if self.hides_libc_internals => {
                Io::Read { handle, bytes: self.stream_bytes(event.numbers[2]) }
            }
            Effect::WriteStream if self.hides_libc_internals => {
                let items = event.numbers[2];
                let items = if self.result == 0 { items.min(event.result.max(0)) } else { items };
                Io::Write { handle, bytes: self.stream_bytes(items) }
            }
            effect => return self.metadata_on_handle(effect, handle),
        })
    }

    /// An argument that is never negative; 0 where the call has none.
    pub(super) fn number(&self, field: Field) -> u64 {
        self.seen.event.field(field).unwrap_or(0).max(0) as u64
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
        match event.call.effect() {
            Effect::Read(_) | Effect::Write(_) => event.result,
            Effect::ReadStream | Effect::WriteStream => self.stream_bytes(event.result) as i64,
            _ if event.call.has(Fact::ReturnsError) => -event.result.abs(),
            _ => 0,
        }
    }
}
