//! Sockets, with the addresses that tell which two of them are the ends of one connection; and the other descriptors
//! that stand for no file.
//!
//! Two ends know each other by their addresses: the peer of one is the local address of the other. The ends of
//! socketpair(2) have no addresses; they get `unix:[inode]` here. So may ends of a connection over a Unix socket have
//! none but `unix:`, which the process id in the record of accept(2) belongs to.

use super::operands::Operands;
use super::{Descriptors, OpenId, Touched, descriptor, flags};
use crate::calls::{Effect, Field};
use crate::reader::Event;
use crate::text;
use std::rc::Rc;

const S_IFSOCK: i64 = 0o140_000;
/// Of epoll, eventfd and the like: the kernel gives them no type of file.
const ANONYMOUS: [i64; 3] = [0; 3];
/// The address of a Unix socket that has none.
const UNNAMED: &str = "unix:";
const EINTR: i32 = 4;
const EINPROGRESS: i32 = 115;

impl Descriptors {
    /// Follows a successful call.
    pub(super) fn apply_socket(&mut self, effect: Effect, event: &Event<'_>, touched: &mut Touched) {
        let (numbers, new) = (&event.numbers, descriptor(event.result));
        let number = |field| event.field(field).unwrap_or(0);
        match effect {
            Effect::OpenSocket => self.open_socket(new, numbers[1], number(Field::StIno), touched),
            Effect::OpenSocketPair => self.socketpair(event, touched),
            Effect::Accept => {
                self.open_socket(new, number(Field::Flags), number(Field::StIno), touched);
                self.connect(touched.opened, address(event, 0), address(event, 1));
            }
            Effect::Connect => self.connect(touched.file, address(event, 0), address(event, 1)),
            Effect::BindSocket | Effect::TellLocalAddress => {
                if let Some(file) = touched.file {
                    rename(&mut self.files[file as usize].local, address(event, 0));
                }
            }
            Effect::TellPeerAddress => {
                if let Some(file) = touched.file {
                    rename(&mut self.files[file as usize].peer, address(event, 0));
                }
            }
            // With a descriptor given, that is changed.
            Effect::OpenAnonymous
            | Effect::OpenCounter
            | Effect::OpenSignals
            | Effect::OpenTimer
            | Effect::OpenProcess
                if Operands::of(event.call).fd(event) == -1 =>
            {
                self.open_anonymous(new, number(Field::Flags), touched);
            }
            _ => {}
        }
    }

    /// A connect(2) that goes on in the background has failed only as far as the caller is concerned.
    pub(super) fn connect_in_background(&mut self, event: &Event<'_>, touched: &Touched) {
        if matches!(event.errno, EINPROGRESS | EINTR) {
            self.connect(touched.file, address(event, 0), address(event, 1));
        }
    }

    /// The whole path of a name of a socket (unix(7)), if it is one. Of a name in the abstract namespace the first byte is 0, which is
    /// written `@`.
    pub fn socket_path(&self, name: &[u8]) -> Option<String> {
        self.in_folder(name.strip_prefix(b"unix:").filter(|path| !path.starts_with(b"@"))?)
    }

    /// `kind` may hold `SOCK_NONBLOCK` and `SOCK_CLOEXEC`, which are flags of open(2).
    fn open_socket(&mut self, fd: i32, kind: i64, inode: i64, touched: &mut Touched) {
        let flags = kind as i32 & (flags::O_NONBLOCK | flags::O_CLOEXEC) | flags::O_RDWR;
        self.open(fd, flags, [S_IFSOCK, 0, inode], touched);
    }

    fn open_anonymous(&mut self, fd: i32, given: i64, touched: &mut Touched) {
        let flags = given as i32 & (flags::O_NONBLOCK | flags::O_CLOEXEC) | flags::O_RDWR;
        self.open(fd, flags, ANONYMOUS, touched);
    }

    fn socketpair(&mut self, event: &Event<'_>, touched: &mut Touched) {
        let [first, second, _domain, kind, _protocol, inode, other, ..] = event.numbers;
        if descriptor(first) < 0 || descriptor(second) < 0 || first == second {
            return;
        }
        // What the first number stood for until now.
        (touched.path, touched.peer) = (None, None);
        let [one, two] = [inode, other].map(|inode| Some(format!("unix:[{inode}]").into()));
        self.open_socket(descriptor(first), kind, inode, touched);
        let opened = touched.opened;
        self.connect(opened, one.clone(), two.clone());
        self.open_socket(descriptor(second), kind, other, touched);
        self.connect(touched.opened, two, one);
        (touched.file, touched.opened) = (opened, opened);
    }

    /// What a connected socket and its peer are called from now on.
    fn connect(&mut self, file: Option<OpenId>, local: Option<Rc<str>>, peer: Option<Rc<str>>) {
        if let Some(id) = file {
            let file = &mut self.files[id as usize];
            (file.local, file.peer) = (local, peer);
        }
    }
}

/// What the kernel calls an end; that it is unnamed says less than what is known of it.
fn rename(known: &mut Option<Rc<str>>, told: Option<Rc<str>>) {
    if known.is_none() || told.as_deref() != Some(UNNAMED) {
        *known = told;
    }
}

/// An address as it stands in the record; `None` if there is none.
fn address(event: &Event<'_>, position: usize) -> Option<Rc<str>> {
    let bytes = event.texts[position].bytes();
    (!bytes.is_empty()).then(|| text::escape(&bytes).into())
}
