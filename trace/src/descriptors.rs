//! What the file descriptors of a process stand for while its events go by.
//!
//! A descriptor number is reused all the time; an *open file* (POSIX: open file description) is what has a path,
//! flags and a position, and several descriptors may share one. [`Descriptors`] keeps both for one process image.
//! Feed it every event of the image in time order ([`crate::Run::process_events`]).
//!
//! Three things in a trace are not what they seem, and are dealt with here:
//! - `fopen`, `fclose`, `opendir` … are recorded after the `open` and `close` that libc made inside them, if
//!   those were seen. The outer call then only touches; where the inner one was not seen, it opens or closes.
//! - A descriptor is free before `close` has returned: another thread's `open` may get the same number and return
//!   first, and use and close its file meanwhile. The late `close` still concerns the old one (`closing`).
//! - A call that waits on a descriptor while another thread closes it goes on with the file that it began with.
//!
//! Paths are made absolute and freed of `.`, `..` and double slashes as texts, without regard to symbolic links,
//! which a trace does not tell. After `chroot` they are those that the process itself sees, as its children do. Bytes
//! that are not UTF-8 are written as [`crate::text`] says.

mod closing;
pub mod flags;
mod history;
mod mapped;
mod naming;
mod open_file;
mod opening;
mod operands;
mod paths;
mod rings;
mod sockets;
mod table;
mod transfers;

pub use open_file::{OpenFile, OpenId, Position};
pub use transfers::Transfer;

use crate::calls::effect::Place;
use crate::calls::{Call, Effect, Field};
use crate::reader::Event;
use crate::record;
use closing::Closing;
use history::History;
use mapped::Mapped;
use operands::Operands;
use paths::Paths;
use rings::Registered;
use std::collections::HashMap;
use std::rc::Rc;
use table::Table;

/// The directory descriptor that stands for the current folder.
pub const AT_FDCWD: i64 = -100;

const EBADF: i32 = 9;
const F_DUPFD: i64 = 0;
const F_SETFL: i64 = 4;
const F_DUPFD_CLOEXEC: i64 = 1030;
const CLOSE_RANGE_CLOEXEC: i64 = 4;
/// `st_mode`, `st_size`, `st_ino` of a directory and of a pipe, where a record holds none.
const DIRECTORY: [i64; 3] = [0o040_000, 0, 0];
const PIPE: [i64; 3] = [0o010_600, 0, 0];
/// `st_mode` of what `memfd_create` makes.
const MEMORY_MODE: i64 = 0o100_777;

/// What one event had to do with files.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// The open file that the call's descriptor stands for; of an open, the new one; of a close, the one closed.
    pub file: Option<OpenId>,
    /// Of a call that moves bytes from one descriptor to another, the open file that they go to; `file` is where they
    /// come from.
    pub second_file: Option<OpenId>,
    /// Absolute path of the call's first path argument, else of the descriptor's file. Of `symlink`, the link.
    pub path: Option<Rc<str>>,
    /// The address at the other end, of a call on a connected socket.
    pub peer: Option<Rc<str>>,
    /// Absolute path of the second path argument: of `rename` and `link` the new name, of `symlink` the target; else of
    /// `second_file`.
    pub second_path: Option<Rc<str>>,
    /// The open file that this call made. `pipe` makes two: this one to read from, the next number to write to.
    pub opened: Option<OpenId>,
    /// The call made a further descriptor for `file`.
    pub duplicated: bool,
    /// Open files that have no descriptor any more because of this call.
    pub released: Vec<OpenId>,
    /// Open files that have lost one of several descriptors by this call, which is not a `close` of it.
    pub loosened: Vec<OpenId>,
    /// Open files of which nothing is mapped any more because of this call.
    pub unmapped: Vec<OpenId>,
}

/// The descriptors and open files of one process image.
#[derive(Debug)]
pub struct Descriptors {
    table: Table,
    files: Vec<OpenFile>,
    paths: Paths,
    /// Closed by a call inside an `fclose`, `closedir` or `pclose` whose own record is still to come.
    closed_inside: HashMap<i32, OpenId>,
    /// Whose numbers were given away before their `close` has returned.
    closing: Closing,
    mapped: Mapped,
    registered: Registered,
    history: History,
    /// When the call that is being followed began.
    began_ns: u64,
    /// When it returned.
    returned_ns: u64,
}

impl Descriptors {
    /// For a process image of so many threads that starts in the folder `cwd`. Its `process-start` record says it again.
    pub fn new(cwd: &str, threads: usize) -> Descriptors {
        Descriptors {
            table: Table::default(),
            files: Vec::new(),
            paths: Paths::new(cwd),
            closed_inside: HashMap::new(),
            closing: Closing::of(threads),
            mapped: Mapped::default(),
            registered: Registered::new(),
            history: History::default(),
            began_ns: 0,
            returned_ns: 0,
        }
    }

    /// The open file `id`. It stays here when its last descriptor is closed.
    ///
    /// # Panics
    /// When `id` is from another process image.
    pub fn open_file(&self, id: OpenId) -> &OpenFile {
        &self.files[id as usize]
    }

    /// All open files of the process so far, in the order of opening, also those without a descriptor by now.
    pub fn open_files(&self) -> std::ops::Range<OpenId> {
        0..self.files.len() as OpenId
    }

    /// The open file that descriptor `fd` stands for.
    #[inline]
    pub fn descriptor(&self, fd: i32) -> Option<OpenId> {
        self.table.get(fd)
    }

    /// The descriptors in use, rising.
    pub fn in_use(&self) -> Vec<i32> {
        self.table.used(0, i32::MAX)
    }

    /// A path as the process means it now: absolute, normalised as text. `None`: empty, or the current folder is not known.
    pub fn in_folder(&self, path: &[u8]) -> Option<String> {
        match self.behind_own_link(path) {
            Some((base, rest)) => self.paths.in_folder(base.as_deref(), rest),
            None => self.paths.in_folder(self.paths.folder.as_deref(), path),
        }
    }

    /// Where an open file stands.
    pub fn position(&self, id: OpenId) -> Position {
        let file = &self.files[id as usize];
        Position { offset: file.offset, end: file.end }
    }

    /// It is the open file `twin` of `process`.
    pub fn identify(&mut self, id: OpenId, process: u32, twin: OpenId) {
        self.files[id as usize].twin = Some((process, twin));
    }

    /// Another process has the same open file, and has left it at this position.
    pub fn share(&mut self, id: OpenId, position: Position) {
        let file = &mut self.files[id as usize];
        (file.offset, file.end, file.shared) = (position.offset, position.end, true);
    }

    /// Follows one event, whose call was entered at `began_ns` on an axis that all threads of the process share
    /// ([`crate::run::Thread::start_ns`]) and seen to return at `returned_ns` ([`crate::run::Thread::returned_ns`]). A failed
    /// call changes nothing, but its paths are told.
    #[inline]
    pub fn apply(&mut self, event: &Event<'_>, began_ns: u64, returned_ns: u64) -> Touched {
        let mut touched = Touched::default();
        self.apply_into(event, began_ns, returned_ns, &mut touched);
        touched
    }

    /// The same; what the event had to do with files takes the place of what another one had.
    #[inline(always)]
    pub fn apply_into(&mut self, event: &Event<'_>, began_ns: u64, returned_ns: u64, touched: &mut Touched) {
        (self.began_ns, self.returned_ns) = (began_ns, returned_ns);
        *touched = Touched::default();
        let operands = Operands::of(event.call);
        if operands.has_path() {
            self.find_paths(event, operands, touched);
        } else if let Some(file) = self.at_entry(operands.fd(event), operands) {
            self.touch(file, touched);
        } else if operands.none() {
            return self.follow_memory(event, touched);
        }
        match (event.call.effect(), touched.file) {
            _ if event.has(record::FAILED) => self.apply_failed(event, touched),
            (Effect::Read(Place::Position), Some(file)) => {
                self.files[file as usize].transfer(event.result, false);
            }
            (Effect::Write(Place::Position), Some(file)) => {
                self.files[file as usize].transfer(event.result, true);
            }
            (effect, _) => self.apply_rare(effect, event, touched),
        }
    }

    /// The open file that the descriptor stood for when the call being followed began, as far as that matters: it may wait.
    #[inline(always)]
    fn at_entry(&self, fd: i32, operands: &Operands) -> Option<OpenId> {
        if self.history.concern(self.began_ns, operands)
            && let Some(file) = self.history.since(self.began_ns, fd)
        {
            return Some(file);
        }
        self.table.get(fd)
    }

    fn apply_rare(&mut self, effect: Effect, event: &Event<'_>, touched: &mut Touched) {
        let numbers = &event.numbers;
        let (fd, result) = (descriptor(numbers[0]), descriptor(event.result));
        match effect {
            Effect::Read(_) | Effect::Write(_) | Effect::Seek | Effect::Truncate => {
                if let Some(file) = touched.file {
                    self.files[file as usize].follow(event);
                }
            }
            Effect::Open => self.open(result, flags_of(event), stat(event), touched),
            Effect::Create => {
                let flags = flags::O_CREAT | flags::O_WRONLY | flags::O_TRUNC;
                self.open(result, flags, stat(event), touched);
            }
            Effect::OpenStream => {
                let flags = flags::of_stream_mode(&event.texts[1].bytes());
                self.open_stream(fd, flags, stat(event), touched);
            }
            Effect::ReopenStream => self.reopen_stream(event, touched),
            Effect::OpenFolderStream => {
                let flags = flags::O_DIRECTORY | flags::O_CLOEXEC | flags::O_NONBLOCK;
                self.open_stream(fd, flags, DIRECTORY, touched);
            }
            Effect::OpenProcessStream => {
                touched.path = None;
                let flags = flags::of_stream_mode(&event.texts[1].bytes()) & flags::O_ACCMODE;
                self.open_stream(fd, flags, PIPE, touched);
            }
            Effect::Pipe => self.pipe(event, touched),
            Effect::Inherit => self.inherit(event, touched),
            Effect::Map => self.map(event, touched),
            Effect::InheritMapping => self.inherit_mapping(event, touched),
            Effect::Close => self.close(event, touched),
            Effect::CloseStream | Effect::CloseProcessStream => self.close_stream(fd, touched),
            Effect::CloseRange if numbers[2] & CLOSE_RANGE_CLOEXEC == 0 => self.close_range(event, touched),
            Effect::Duplicate => self.duplicate(result, false, touched),
            Effect::DuplicateTo if numbers[0] != numbers[1] => {
                self.duplicate(descriptor(numbers[1]), true, touched);
            }
            Effect::Control => match (numbers[1], touched.file) {
                (F_DUPFD | F_DUPFD_CLOEXEC, _) => self.duplicate(result, false, touched),
                (F_SETFL, Some(file)) => self.files[file as usize].set_flags(numbers[2] as i32),
                _ => {}
            },
            Effect::Transfer | Effect::Share | Effect::Tee => self.transfer_between(event, touched),
            Effect::OpenMemory => {
                let [_, _, inode] = stat(event);
                self.open(result, flags::O_RDWR, [MEMORY_MODE, 0, inode], touched);
            }
            // A queue's descriptor closes itself at exec; its name is no path.
            Effect::OpenQueue => {
                self.open(result, flags_of(event) | flags::O_CLOEXEC, stat(event), touched);
            }
            Effect::ChangeFolder => self.paths.folder.clone_from(&touched.path),
            Effect::OpenRing | Effect::RegisterWithRing | Effect::RingEntry => {
                self.apply_ring(effect, event, touched);
            }
            Effect::Other if event.call == Call::ProcessStart => {
                self.paths.folder = self.paths.absolute(None, &event.texts[1].bytes());
            }
            _ => self.apply_socket(effect, event, touched),
        }
    }

    /// Linux frees the descriptor whatever `close` says afterwards (close(2)), unless there was none.
    fn apply_failed(&mut self, event: &Event<'_>, touched: &mut Touched) {
        match event.call.effect() {
            Effect::Transfer | Effect::Share | Effect::Tee => self.touch_second(event, touched),
            _ if event.errno == EBADF => {}
            Effect::Close => self.close(event, touched),
            Effect::Connect => self.connect_in_background(event, touched),
            Effect::CloseStream | Effect::CloseProcessStream => {
                self.close_stream(descriptor(event.numbers[0]), touched);
            }
            _ => {}
        }
    }
}

/// A descriptor as a record holds it; -1 for what cannot be one.
fn descriptor(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(-1)
}

/// `st_mode`, `st_size` and `st_ino`, as far as the call has them.
fn stat(event: &Event<'_>) -> [i64; 3] {
    [Field::StMode, Field::StSize, Field::StIno].map(|field| event.field(field).unwrap_or(0))
}

/// The flags that the call is given.
fn flags_of(event: &Event<'_>) -> i32 {
    event.field(Field::Flags).unwrap_or(0) as i32
}
