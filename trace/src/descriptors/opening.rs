//! How open files come and go.

use super::{Descriptors, OpenFile, OpenId, PIPE, Touched, descriptor, flags, stat};
use crate::reader::Event;
use crate::status;
use std::rc::Rc;

impl Descriptors {
    pub(super) fn open(&mut self, fd: i32, flags: i32, stat: [i64; 3], touched: &mut Touched) {
        // The path is that of a folder, in which the kernel gives the file a name like this (proc_pid_fd(5)).
        let path = match flags::have_no_name(flags) {
            true if stat[2] == 0 => None,
            true => self.paths.absolute(touched.path.as_deref(), format!("#{}", stat[2]).as_bytes()),
            false => touched.path.clone(),
        };
        self.open_at(path, fd, flags, stat, touched);
    }

    /// With the path of the file itself.
    fn open_at(&mut self, path: Option<Rc<str>>, fd: i32, flags: i32, stat: [i64; 3], touched: &mut Touched) {
        if fd < 0 {
            return;
        }
        let id = self.add_file(path, flags, stat);
        self.files[id as usize].descriptors = 1;
        if let Some(old) = self.table.put(fd, id) {
            self.give_away(fd, old, touched);
        }
        (touched.file, touched.opened) = (Some(id), Some(id));
    }

    /// An open file for which no descriptor stands yet.
    pub(super) fn add_file(&mut self, path: Option<Rc<str>>, flags: i32, stat: [i64; 3]) -> OpenId {
        let size = stat[1].max(0) as u64;
        self.files.push(OpenFile {
            path,
            flags,
            st_mode: stat[0] as u32,
            size,
            inode: stat[2] as u64,
            device: status::device(stat[0]),
            offset: 0,
            inherited: false,
            shared: false,
            local: None,
            peer: None,
            twin: None,
            end: size,
            descriptors: 0,
        });
        self.files.len() as OpenId - 1
    }

    /// `fopen` and its kind: the file may have been opened by a call inside this one.
    pub(super) fn open_stream(&mut self, fd: i32, flags: i32, stat: [i64; 3], touched: &mut Touched) {
        match self.table.get(fd) {
            Some(file) if self.files[file as usize].path == touched.path => touched.file = Some(file),
            _ => {
                self.closed_inside.remove(&fd);
                self.open(fd, flags, stat, touched);
            }
        }
    }

    pub(super) fn reopen_stream(&mut self, event: &Event<'_>, touched: &mut Touched) {
        let fd = descriptor(event.numbers[0]);
        // It has closed the stream's file by itself: no close is to come.
        self.closed_inside.remove(&fd);
        if !event.texts[0].is_empty() {
            let flags = flags::of_stream_mode(&event.texts[1].bytes());
            self.open_stream(fd, flags, stat(event), touched);
            if let Some(old) = self.closing.take(fd, self.began_ns) {
                self.lessen(old, touched);
            }
        }
    }

    pub(super) fn pipe(&mut self, event: &Event<'_>, touched: &mut Touched) {
        let [reader, writer, flags, inode, ..] = event.numbers;
        let (reader, writer, flags) = (descriptor(reader), descriptor(writer), flags as i32);
        if reader < 0 || writer < 0 || reader == writer {
            return;
        }
        touched.path = None;
        let stat = [PIPE[0], PIPE[1], inode];
        self.open(reader, flags, stat, touched);
        let opened = touched.opened;
        self.open(writer, flags | flags::O_WRONLY, stat, touched);
        (touched.file, touched.opened) = (opened, opened);
    }

    pub(super) fn inherit(&mut self, event: &Event<'_>, touched: &mut Touched) {
        let [fd, flags, offset, ..] = event.numbers;
        if flags::have_no_name(flags as i32) {
            // It has its own path already, which a file without a name has only for show (proc_pid_fd(5)).
            let shown = touched.path.as_deref().and_then(|path| path.strip_suffix(status::DELETED));
            touched.path = shown.map(Rc::from).or(touched.path.take());
        }
        self.open_at(touched.path.clone(), descriptor(fd), flags as i32, stat(event), touched);
        if let Some(file) = touched.opened {
            let file = &mut self.files[file as usize];
            (file.offset, file.inherited) = (offset.max(0) as u64, true);
        }
    }

    pub(super) fn close(&mut self, event: &Event<'_>, touched: &mut Touched) {
        let fd = descriptor(event.numbers[0]);
        self.close_descriptor(fd, touched);
        if let (1, Some(file)) = (event.depth(), touched.file) {
            self.closed_inside.insert(fd, file);
        }
    }

    /// `fclose` and its kind: the file may have been closed by a call inside this one.
    pub(super) fn close_stream(&mut self, fd: i32, touched: &mut Touched) {
        match self.closed_inside.remove(&fd) {
            Some(file) => self.touch(file, touched),
            None => self.close_descriptor(fd, touched),
        }
    }

    pub(super) fn close_descriptor(&mut self, fd: i32, touched: &mut Touched) {
        if let Some(old) = self.closing.take(fd, self.began_ns) {
            self.touch(old, touched);
            self.lessen(old, touched);
        } else if let Some(file) = self.table.take(fd) {
            self.release(fd, file, touched);
        }
    }

    pub(super) fn close_range(&mut self, event: &Event<'_>, touched: &mut Touched) {
        let bound = |number: i64| i32::try_from(number.max(0)).unwrap_or(i32::MAX);
        for fd in self.table.used(bound(event.numbers[0]), bound(event.numbers[1])) {
            if let Some(file) = self.table.take(fd) {
                self.release_in_passing(fd, file, touched);
            }
        }
    }

    /// `closes`: the call itself closes `new` first (dup2).
    pub(super) fn duplicate(&mut self, new: i32, closes: bool, touched: &mut Touched) {
        if new < 0 {
            return;
        }
        let old = match touched.file {
            Some(file) => {
                self.files[file as usize].descriptors += 1;
                touched.duplicated = true;
                self.table.put(new, file)
            }
            // A further descriptor for something unknown is unknown too.
            None => self.table.take(new),
        };
        if let Some(old) = old {
            match closes {
                true => self.release_in_passing(new, old, touched),
                false => self.give_away(new, old, touched),
            }
        }
    }

    /// The same by a call that is no `close` of `fd`, and to which no such call will follow.
    fn release_in_passing(&mut self, fd: i32, file: OpenId, touched: &mut Touched) {
        self.history.note(self.began_ns, fd, file);
        self.lessen_in_passing(file, touched);
    }

    /// `fd` was free although no call of the trace has closed `file`: one that has not returned yet has.
    fn give_away(&mut self, fd: i32, file: OpenId, touched: &mut Touched) {
        self.history.note(self.began_ns, fd, file);
        if let Some(unrecorded) = self.closing.expect(fd, file, self.returned_ns) {
            self.lessen_in_passing(unrecorded, touched);
        }
    }

    /// `file` is not behind `fd` any more.
    fn release(&mut self, fd: i32, file: OpenId, touched: &mut Touched) {
        self.history.note(self.began_ns, fd, file);
        self.lessen(file, touched);
    }

    /// `file` has one descriptor less, of which no `close` tells.
    fn lessen_in_passing(&mut self, file: OpenId, touched: &mut Touched) {
        self.lessen(file, touched);
        if self.files[file as usize].descriptors > 0 {
            touched.loosened.push(file);
        }
    }

    /// `file` has one descriptor less.
    fn lessen(&mut self, file: OpenId, touched: &mut Touched) {
        let descriptors = &mut self.files[file as usize].descriptors;
        *descriptors -= 1;
        if *descriptors == 0 {
            touched.released.push(file);
        }
    }
}
