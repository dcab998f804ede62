//! Follows what all processes do to files, for the rules on files, and which of the system's they change.

mod folders;
mod names;
#[cfg(test)]
mod tests;

use crate::clocks::Clocks;
use crate::follow::node_local::{Identity, Known, NodeLocal};
use crate::follow::pass::{Seen, Visitor};
use crate::follow::scope::{Changed, Scope, is_of_system};
use crate::graph::dependency::{Dependencies, Moment, Span};
use crate::rules::file_create::{EndedPolls, Existence, Inode, Polls};
use crate::rules::file_data::{AlreadyOrdered, Contents};
use crate::rules::open_file::HandedOver;
use folders::Folders;
use foldhash::HashMap;
use std::ops::Range;
use std::rc::Rc;
use syn_trace::calls::effect::{Effect, Place};
use syn_trace::calls::{Fact, Field};
use syn_trace::descriptors::{Descriptors, OpenFile, OpenId, Touched, Transfer, flags};
use syn_trace::reader::Event;
use syn_trace::{Call, Run, record};

/// One path.
#[derive(Debug)]
struct File {
    existence: Existence,
    /// Which contents it has now, or [`NOT_USED`]. A file that is removed, or gets another name, keeps its own: descriptors may still be
    /// open on it.
    contents: u32,
    /// Which one it was when it was opened.
    known: Known,
    /// The path is noted with its folder.
    is_in_folder: bool,
}

/// What a call has opened.
struct Found {
    /// The call made it.
    made: bool,
    /// The index of its contents: of its own, if it returned when the name stood for another file already.
    contents: u32,
}

/// In place of the index of a file that is not in scope.
const OUTSIDE: u32 = u32::MAX;
/// In place of the index of contents of which nothing is on record.
const NOT_USED: u32 = u32::MAX;

/// Whether names were there before the run, of which the first calls to return say otherwise.
pub type Corrected = HashMap<Rc<str>, bool>;

/// What there is to know of a run's files.
#[derive(Debug)]
pub struct FilesFollowed {
    /// Who waited for whom.
    pub found: Dependencies,
    /// Which failed calls asked for a name until the answer was another.
    pub ended_polls: EndedPolls,
    /// Which files in folders of the system were changed.
    pub changed: Changed,
    /// Which names were there before, or were not, whatever the first calls to return say.
    pub corrected: Corrected,
}

/// The files of a run and who did what to them.
#[derive(Debug)]
pub struct FileTracker {
    scope: Scope,
    /// By process.
    hosts: Vec<usize>,
    changed: Changed,
    files: Vec<File>,
    by_path: HashMap<Rc<str>, u32>,
    node_local: NodeLocal,
    /// Paths that were named, but for those that were gone when their folder was removed or got another name.
    folders: Folders,
    contents: Vec<Contents>,
    /// By process and open file: which contents it has.
    by_open: Vec<Vec<u32>>,
    /// Open files of processes with several threads.
    handed_over: HashMap<(u32, OpenId), HandedOver>,
    several_threads: Vec<bool>,
    /// By thread: the call that has failed for what a name is, and the file, where nothing but sleeps and the same came since.
    asking: Vec<Option<(Call, u32)>>,
    /// Which of them succeed in the end.
    polls: Polls,
    /// By process: calls on streams are all that is seen of them.
    hides_libc_internals: Vec<bool>,
    already_ordered: AlreadyOrdered,
    found: Dependencies,
}

impl FileTracker {
    /// For a run, with nothing seen yet.
    pub fn new(run: &Run, clocks: &Clocks, scope: Scope) -> FileTracker {
        FileTracker {
            scope,
            hosts: run.processes.iter().map(|process| clocks.host_of(&process.boot_id)).collect(),
            changed: Changed::new(),
            files: Vec::new(),
            by_path: HashMap::default(),
            node_local: NodeLocal::default(),
            folders: Folders::default(),
            contents: Vec::new(),
            by_open: vec![Vec::new(); run.processes.len()],
            handed_over: HashMap::default(),
            several_threads: run.processes.iter().map(|process| process.threads.len() > 1).collect(),
            hides_libc_internals: run.processes.iter().map(|process| !process.sees_libc_internal).collect(),
            asking: vec![None; run.threads.len()],
            polls: Polls::new(run.threads.len()),
            already_ordered: AlreadyOrdered::default(),
            found: Dependencies::default(),
        }
    }

    /// The run is over.
    pub fn finish(mut self) -> FilesFollowed {
        let ended_polls = self.polls.finish(&mut self.found);
        let (files, found, changed) = (self.files, self.found, self.changed);
        let corrected =
            |(path, file): (Rc<str>, u32)| Some((path, files.get(file as usize)?.existence.corrected()?));
        let corrected = self.by_path.into_iter().filter_map(corrected).collect();
        FilesFollowed { found, ended_polls, changed, corrected }
    }

    /// Others are part of a plan anyway.
    fn note_change(&mut self, path: Option<&Rc<str>>) {
        if let Some(path) = path.filter(|path| is_of_system(path)) {
            self.changed.insert(path.clone());
        }
    }

    fn new_contents(&mut self) -> u32 {
        self.contents.push(Contents::default());
        self.contents.len() as u32 - 1
    }

    /// The contents of a file, to do something to them.
    fn contents_of(&mut self, file: u32) -> u32 {
        if self.files[file as usize].contents == NOT_USED {
            self.files[file as usize].contents = self.new_contents();
        }
        self.files[file as usize].contents
    }

    #[inline]
    fn behind(&self, process: u32, open: Option<OpenId>) -> Option<usize> {
        let file = *self.by_open[process as usize].get(open? as usize)?;
        (file != OUTSIDE).then_some(file as usize)
    }

    fn open(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors, open: OpenId) {
        let opened = descriptors.open_file(open);
        let path = opened.path.as_ref().filter(|_| Scope::contains_type(opened.st_mode));
        let file = self.at_path(seen, path).and_then(|file| self.tell_apart(seen, opened, file));
        if opened.flags & (flags::O_ACCMODE | flags::O_CREAT | flags::O_TRUNC) != 0 {
            self.note_change(path);
        }
        if self.several_threads[seen.process as usize] && file.is_some() {
            self.handed_over.insert((seen.process, open), HandedOver::new(seen.leave()));
        }
        let Found { made, contents } = match file {
            Some(file) if !opened.inherited => self.find_opened(seen, opened, file),
            Some(file) => Found { made: false, contents: self.contents_of(file) },
            None => Found { made: false, contents: OUTSIDE },
        };
        let table = &mut self.by_open[seen.process as usize];
        table.resize((open as usize).max(table.len()), OUTSIDE);
        table.push(contents);
        if contents == OUTSIDE || opened.inherited {
            return;
        }
        let truncates = opened.flags & libc::O_TRUNC != 0;
        self.contents[contents as usize].open(seen.process, opened.size, truncates);
        if made {
            self.find_folder(seen, touched.path.as_ref());
        }
    }

    /// A call opened this file.
    fn find_opened(&mut self, seen: &Seen<'_>, opened: &OpenFile, index: u32) -> Found {
        let flags = opened.flags;
        let file = &mut self.files[index as usize];
        let exists = file.existence.exists() == Some(true);
        // The file system's clock does not tell apart two calls that empty a file, one soon after the other: the first one made it.
        let identity = Identity::of(self.hosts[seen.process as usize], opened);
        let is_known = exists && file.known.is(&identity);
        let seems_made = || opened.was_made().unwrap_or(opened.size == 0 && !exists);
        let made = flags & libc::O_CREAT != 0 && (flags & libc::O_EXCL != 0 || !is_known && seems_made());
        if made {
            let (polls, found) = (&mut self.polls, &mut self.found);
            if !file.existence.change(seen.span(), Some(false), true, identity.inode, polls, found) {
                return Found { made, contents: self.new_contents() };
            }
            self.empty(index);
        } else {
            file.existence.find(seen.span(), true, identity.inode, &mut self.polls, &mut self.found);
        }
        self.files[index as usize].known.set(identity);
        Found { made, contents: self.contents_of(index) }
    }

    /// What is made in a folder comes after the folder was.
    fn find_folder(&mut self, seen: &Seen<'_>, path: Option<&Rc<str>>) {
        let folder = path.and_then(|path| path.rsplit_once('/')).map(|(folder, _)| folder);
        let file = folder.and_then(|folder| self.by_path.get(folder).copied());
        let Some(file) = file.and_then(|file| self.on_host(seen, file)) else { return };
        self.files[file as usize].existence.find(seen.span(), true, 0, &mut self.polls, &mut self.found);
    }

    /// A folder that is removed is empty: that comes after others have removed what was in it since it was made.
    fn find_empty(&mut self, seen: &Seen<'_>, folder: &str, made_ns: u64) {
        let paths = self.folders.paths(folder).iter();
        let files: Vec<u32> = paths.filter_map(|path| self.by_path.get(path).copied()).collect();
        for file in files {
            let Some(file) = self.on_host(seen, file) else { continue };
            let existence = &mut self.files[file as usize].existence;
            if existence.is_removed_by_other(seen.enter(), made_ns) {
                existence.find(seen.span(), false, 0, &mut self.polls, &mut self.found);
            }
        }
        self.forget_gone(seen, folder);
    }

    /// Paths in a folder that were gone before a call has removed it, or went with it to another name, are not noted with it any more:
    /// who removes it when it was made and filled again comes behind this call.
    fn forget_gone(&mut self, seen: &Seen<'_>, folder: &str) {
        self.folders.retain(folder, |path| {
            let file = self.by_path.get(path).copied().filter(|&file| file != OUTSIDE);
            let Some(file) = file.filter(|&file| !self.node_local.is_split(file)) else { return true };
            let File { existence, is_in_folder, .. } = &mut self.files[file as usize];
            *is_in_folder = !existence.is_gone_by(&seen.span());
            *is_in_folder
        });
    }

    fn find(&mut self, seen: &Seen<'_>, path: Option<&Rc<str>>, exists: bool) {
        if let Some(file) = self.at_path(seen, path) {
            self.files[file as usize].existence.find(
                seen.span(),
                exists,
                0,
                &mut self.polls,
                &mut self.found,
            );
        }
    }

    /// A call changed what a name stands for; `before` is what it needed to succeed. Whether the name stands for that now.
    fn change(
        &mut self,
        seen: &Seen<'_>,
        path: Option<&Rc<str>>,
        before: Option<bool>,
        exists: bool,
    ) -> bool {
        self.put(seen, path, before, exists.then_some(0))
    }

    /// The same, where the inode may be known of what is there now.
    fn put(
        &mut self,
        seen: &Seen<'_>,
        path: Option<&Rc<str>>,
        before: Option<bool>,
        now: Option<Inode>,
    ) -> bool {
        let Some(file) = self.at_path(seen, path) else { return false };
        let existence = &mut self.files[file as usize].existence;
        let (polls, found) = (&mut self.polls, &mut self.found);
        existence.change(seen.span(), before, now.is_some(), now.unwrap_or(0), polls, found)
    }

    /// Notes who asks for a name until the answer is another.
    fn follow_polls(&mut self, seen: &Seen<'_>, touched: &Touched) {
        let (event, thread) = (seen.event, seen.thread);
        if event.sleeps() || event.call.has(Fact::Note) || event.call == Call::Repeats {
            return;
        }
        let before = self.asking[thread as usize].take();
        let is_full = event.errno == libc::ENOTEMPTY && removes_folder(event);
        let in_vain =
            tells_of_a_name(event) && (is_full || matches!(event.errno, libc::ENOENT | libc::EEXIST));
        if before.is_none() && !in_vain {
            return;
        }
        if let Some((call, file)) = before.filter(|_| !event.has(record::FAILED)) {
            let mut names = [touched.path.as_ref(), touched.second_path.as_ref()].into_iter();
            if event.call == call && names.any(|name| self.at_path(seen, name) == Some(file)) {
                return self.polls.succeed(seen.enter());
            }
        }
        let file = if in_vain { self.at_path(seen, name_in_the_way(event, touched)) } else { None };
        let now = file.map(|file| (event.call, file));
        if before.is_some() && !(in_vain && now == before) {
            self.polls.give_up(thread, &mut self.found);
        }
        if in_vain {
            if now.is_some() && now != before {
                self.polls.begin(seen.enter(), &mut self.found);
            }
            self.asking[thread as usize] = now;
        }
    }

    /// A call on an open file, by `how` it uses it.
    fn hand_over(
        &mut self,
        seen: &Seen<'_>,
        open: OpenId,
        how: impl FnOnce(&mut HandedOver, Span, &mut Dependencies),
    ) {
        if self.several_threads[seen.process as usize]
            && let Some(handed) = self.handed_over.get_mut(&(seen.process, open))
        {
            how(handed, seen.span(), &mut self.found);
        }
    }

    fn hand_over_at(&mut self, seen: &Seen<'_>, open: OpenId, at_position: bool) {
        self.hand_over(seen, open, if at_position { HandedOver::move_it } else { HandedOver::use_it });
    }

    /// Whether a call begins where the one before it on the open file has ended.
    fn is_at_position(&self, seen: &Seen<'_>, appends: bool) -> bool {
        match seen.event.call.effect() {
            Effect::Read(place) => seen.event.offset_of(place).is_none(),
            // What is appended lands at the end, wherever the position is.
            Effect::Write(place) => seen.event.offset_of(place).is_none() && !appends,
            Effect::Seek | Effect::Rewind | Effect::ReadEntry | Effect::ReadEntries => true,
            Effect::ReadStream => self.hides_libc_internals[seen.process as usize],
            Effect::WriteStream => self.hides_libc_internals[seen.process as usize] && !appends,
            _ => false,
        }
    }

    /// Bytes went from one file to another; either may be a pipe or a socket.
    fn move_between(
        &mut self,
        seen: &Seen<'_>,
        touched: &Touched,
        descriptors: &Descriptors,
        between: Transfer,
    ) {
        let Transfer { read_at, written_at, bytes } = between;
        let place = |at: Option<u64>, open: OpenId| {
            let start = at.unwrap_or_else(|| descriptors.open_file(open).offset.saturating_sub(bytes));
            start..start.saturating_add(bytes)
        };
        if let (Some(open), Some(file)) = (touched.file, self.behind(seen.process, touched.file)) {
            self.hand_over_at(seen, open, read_at.is_none());
            let contents = &mut self.contents[file];
            contents.read(place(read_at, open), seen.enter(), &mut self.already_ordered, &mut self.found);
        }
        if let (Some(open), Some(file)) =
            (touched.second_file, self.behind(seen.process, touched.second_file))
        {
            self.hand_over_at(seen, open, written_at.is_none());
            if bytes > 0 {
                self.contents[file].write(place(written_at, open), seen.leave());
            }
        }
    }

    /// A call on an open file; what it did to the bytes.
    fn use_open(
        &mut self,
        seen: &Seen<'_>,
        touched: &Touched,
        file: usize,
        open: OpenId,
        descriptors: &Descriptors,
    ) {
        let appends = descriptors.open_file(open).flags & libc::O_APPEND != 0;
        let effect = seen.event.call.effect();
        match effect {
            _ if touched.duplicated => self.hand_over(seen, open, HandedOver::duplicate),
            Effect::Close if touched.released.is_empty() => self.hand_over(seen, open, HandedOver::close_one),
            _ => self.hand_over_at(seen, open, self.is_at_position(seen, appends)),
        }
        let contents = &mut self.contents[file];
        match effect {
            Effect::Write(place) => {
                let mut bytes = moved(seen, descriptors, open, place);
                if appends {
                    bytes = contents.size()..contents.size().saturating_add(bytes.end - bytes.start);
                }
                if !bytes.is_empty() {
                    contents.write(bytes, seen.leave());
                }
            }
            Effect::Read(place) => {
                let bytes = moved(seen, descriptors, open, place);
                if !bytes.is_empty() {
                    contents.read(bytes, seen.enter(), &mut self.already_ordered, &mut self.found);
                }
            }
            Effect::Truncate => contents.cut(length(seen), Some(seen.leave())),
            Effect::Stat(_) => {
                contents.find(size(seen), seen.enter(), &mut self.already_ordered, &mut self.found)
            }
            Effect::Seek => {
                let [_, offset, whence, ..] = seen.event.numbers;
                if whence == SEEK_END {
                    let size = seen.event.result.saturating_sub(offset).max(0) as u64;
                    contents.find(size, seen.enter(), &mut self.already_ordered, &mut self.found);
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, enter: Moment, process: u32, released: &[OpenId]) {
        if !self.several_threads[process as usize] {
            return;
        }
        for &open in released {
            if let Some(handed) = self.handed_over.remove(&(process, open)) {
                handed.close(enter, &mut self.found);
            }
        }
    }

    /// Binding a socket to a path makes the path (unix(7)).
    fn bind(&mut self, seen: &Seen<'_>, descriptors: &Descriptors) {
        let Some(path) = descriptors.socket_path(&seen.event.texts[0].bytes()) else { return };
        let path = Some(&path.into());
        if !seen.event.has(record::FAILED) {
            self.note_change(path);
            self.change(seen, path, Some(false), true);
            self.find_folder(seen, path);
        }
    }

    fn follow_path(&mut self, seen: &Seen<'_>, touched: &Touched) {
        let (path, second) = (touched.path.as_ref(), touched.second_path.as_ref());
        if !seen.event.call.names_a_path() {
            return;
        }
        let effect = seen.event.call.effect();
        if effect.changes_path() {
            self.note_change(path);
            // What a link leads to is to be there in the replay.
            if matches!(effect, Effect::Rename | Effect::Link | Effect::Symlink) {
                self.note_change(second);
            }
        }
        match effect {
            Effect::Unlink | Effect::RemoveFolder => {
                let file = if removes_folder(seen.event) { self.at_path(seen, path) } else { None };
                let folder = file.map(|file| self.files[file as usize].existence.made_ns());
                if self.change(seen, path, Some(true), false)
                    && let Some(file) = self.at_path(seen, path)
                {
                    self.empty(file);
                }
                if let (Some(path), Some(made_ns)) = (path, folder) {
                    self.find_empty(seen, path, made_ns.unwrap_or(0));
                }
            }
            Effect::MakeFolder | Effect::MakeNode | Effect::Symlink => {
                self.change(seen, path, Some(false), true);
                self.find_folder(seen, path);
            }
            Effect::Rename => self.rename(seen, touched),
            Effect::Link => {
                self.find(seen, path, true);
                let is_there = self.change(seen, second, Some(false), true);
                if let (Some(old), Some(new)) = (self.at_path(seen, path), self.at_path(seen, second)) {
                    self.hand_on((old, false), (new, is_there));
                }
            }
            Effect::Truncate => {
                self.find(seen, path, true);
                if let Some(file) = self.at_path(seen, path) {
                    let contents = self.contents_of(file);
                    self.contents[contents as usize].cut(length(seen), Some(seen.leave()));
                }
            }
            Effect::Stat(_) => {
                self.find(seen, path, true);
                let contents = self.at_path(seen, path).map(|file| self.files[file as usize].contents);
                if let Some(contents) = contents.and_then(|contents| self.contents.get(contents as usize)) {
                    contents.find(size(seen), seen.enter(), &mut self.already_ordered, &mut self.found);
                }
            }
            Effect::Access | Effect::ReadLink | Effect::ChangeFolder => self.find(seen, path, true),
            _ => {}
        }
    }
}

/// The name for which a call has failed: it is there, and the call was to make it, or it is not.
fn name_in_the_way<'t>(event: &Event<'_>, touched: &'t Touched) -> Option<&'t Rc<str>> {
    match event.call.effect() {
        Effect::Rename | Effect::Link if event.errno == libc::EEXIST => touched.second_path.as_ref(),
        _ => touched.path.as_ref(),
    }
}

/// Whether it is to remove a folder, which has to be empty (unlink(2)).
fn removes_folder(event: &Event<'_>) -> bool {
    match event.call.effect() {
        Effect::RemoveFolder => true,
        Effect::Unlink => event.field(Field::Flags).unwrap_or(0) & i64::from(libc::AT_REMOVEDIR) != 0,
        _ => false,
    }
}

/// Whether the reason of a failure is what a name is. A program may also be missing because its interpreter is, or because its file,
/// which a descriptor still holds, has no name any more (execve(2), fexecve(3)).
fn tells_of_a_name(event: &Event<'_>) -> bool {
    event.has(record::FAILED) && !matches!(event.call.effect(), Effect::Exec | Effect::Spawn)
}

/// The bytes that a successful transfer moved.
fn moved(seen: &Seen<'_>, descriptors: &Descriptors, open: OpenId, place: Place) -> Range<u64> {
    let count = seen.event.result.max(0) as u64;
    let behind = || descriptors.open_file(open).offset.saturating_sub(count);
    let start = seen.event.offset_of(place).unwrap_or_else(behind);
    start..start.saturating_add(count)
}

/// The length to which a file is cut.
fn length(seen: &Seen<'_>) -> u64 {
    seen.event.field(Field::Bytes).unwrap_or(0).max(0) as u64
}

/// How long a file was found to be.
fn size(seen: &Seen<'_>) -> u64 {
    seen.event.field(Field::StSize).unwrap_or(0).max(0) as u64
}

/// `unistd.h`.
const SEEK_END: i64 = 2;

impl Visitor for FileTracker {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        self.follow_polls(seen, touched);
        if let Some(opened) = touched.opened {
            self.open(seen, touched, descriptors, opened);
        } else if let Some(between) = Transfer::of(seen.event) {
            self.move_between(seen, touched, descriptors, between);
        } else if seen.event.call.effect() == Effect::BindSocket {
            self.bind(seen, descriptors);
        } else if touched.path.is_none() {
            return;
        } else if seen.event.has(record::FAILED) {
            if let Some(open) = touched.file {
                self.hand_over(seen, open, HandedOver::use_it);
            }
            match seen.event.errno {
                _ if !tells_of_a_name(seen.event) => {}
                errno @ (libc::ENOENT | libc::EEXIST) => {
                    self.find(seen, name_in_the_way(seen.event, touched), errno == libc::EEXIST);
                }
                _ => {}
            }
        } else if let (Some(open), Some(file)) = (touched.file, self.behind(seen.process, touched.file)) {
            self.use_open(seen, touched, file, open, descriptors);
        } else {
            self.follow_path(seen, touched);
        }
        if !touched.released.is_empty() {
            self.close(seen.enter(), seen.process, &touched.released);
        }
    }
}
