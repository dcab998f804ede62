//! How the paths of a call are found.

use super::operands::Operands;
use super::{AT_FDCWD, Descriptors, OpenId, Touched, descriptor, flags_of};
use crate::calls::Effect;
use crate::reader::Event;
use crate::record;
use std::rc::Rc;

impl Descriptors {
    pub(super) fn find_paths(&mut self, event: &Event<'_>, operands: &Operands, touched: &mut Touched) {
        let Some(path) = operands.path(0, event) else { return };
        match event.call.effect() {
            Effect::Inherit | Effect::InheritMapping => {
                // The kernel's names for what has no path look like `pipe:[1]` and `/memfd:name (deleted)`.
                if path.starts_with(b"/") && !path.starts_with(b"/memfd:") {
                    touched.path = self.paths.absolute(None, &path);
                }
                return;
            }
            // Names without a slash are searched for in PATH.
            Effect::Exec | Effect::Spawn if !path.contains(&b'/') => return,
            Effect::ReopenStream if path.is_empty() => {
                if let Some(file) = self.table.get(operands.fd(event)) {
                    self.touch(file, touched);
                }
                return;
            }
            _ => {}
        }
        let directory = operands.directory(0, event);
        if path.is_empty() {
            // AT_EMPTY_PATH: the call is about the descriptor itself. Without it an empty path names nothing.
            let names_nothing = event.has(record::FAILED) && event.errno == libc::ENOENT;
            if let Some(file) =
                directory.filter(|_| !names_nothing).and_then(|fd| self.table.get(descriptor(fd)))
            {
                self.touch(file, touched);
            }
        } else {
            touched.path = self.absolute(directory, &path);
            let named = |touched: &Touched| self.named_descriptor(touched.path.as_deref()?);
            match event.call.effect() {
                Effect::Open | Effect::OpenStream | Effect::ReopenStream => {
                    if let Some(file) = named(touched) {
                        touched.path.clone_from(&self.files[file as usize].path);
                    }
                }
                // A way to give a file its first name (open(2), O_TMPFILE).
                Effect::Link if flags_of(event) & libc::AT_SYMLINK_FOLLOW != 0 => {
                    if let Some(file) = named(touched) {
                        self.touch(file, touched);
                    }
                }
                _ => {}
            }
        }
        match event.call.effect() {
            Effect::Rename | Effect::Link => {
                if let Some(second) = operands.path(1, event) {
                    touched.second_path = self.absolute(operands.directory(1, event), &second);
                }
            }
            Effect::Symlink => {
                // A symbolic link's target counts from the folder that the link is in.
                let folder =
                    touched.path.as_deref().and_then(|link| link.rsplit_once('/')).map(|(folder, _)| folder);
                touched.second_path = self.paths.absolute(folder, &event.texts[0].bytes());
            }
            _ => {}
        }
    }

    /// The descriptor that a name stands for: who opens `/dev/stdin` opens what that is (proc_pid_fd(5)).
    fn named_descriptor(&self, path: &str) -> Option<OpenId> {
        let number = match path {
            "/dev/stdin" => 0,
            "/dev/stdout" => 1,
            "/dev/stderr" => 2,
            _ => {
                let folders = ["/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"];
                folders.iter().find_map(|folder| path.strip_prefix(folder))?.parse().ok()?
            }
        };
        self.table.get(number)
    }

    /// What lies behind a link that stands for a folder of the process itself, and the rest of the name: `/proc/self/cwd/name`, `root`,
    /// `fd/3` (proc_pid_cwd(5), proc_pid_root(5), proc_pid_fd(5)).
    pub(super) fn behind_own_link<'p>(&self, path: &'p [u8]) -> Option<(Option<Rc<str>>, &'p [u8])> {
        let own = path.strip_prefix(b"/proc/")?;
        let own = own.strip_prefix(b"self/").or_else(|| own.strip_prefix(b"thread-self/"))?;
        let (link, rest) = own.split_at(own.iter().position(|&byte| byte == b'/')?);
        let rest = rest.strip_prefix(b"/")?;
        let (base, rest) = match link {
            b"cwd" => (self.paths.folder.clone(), rest),
            b"root" => (Some("/".into()), rest),
            b"fd" => {
                let (number, rest) = rest.split_at(rest.iter().position(|&byte| byte == b'/')?);
                let number = str::from_utf8(number).ok()?.parse().ok()?;
                (self.files[self.table.get(number)? as usize].path.clone(), rest)
            }
            _ => return None,
        };
        // The link itself, or what it leads to.
        let rest = &rest[rest.iter().position(|&byte| byte != b'/')?..];
        Some((base, rest))
    }

    fn absolute(&mut self, directory: Option<i64>, path: &[u8]) -> Option<Rc<str>> {
        if path.starts_with(b"/") {
            return match self.behind_own_link(path) {
                Some((base, rest)) => self.paths.absolute(base.as_deref(), rest),
                None => self.paths.absolute(None, path),
            };
        }
        let base = match directory {
            None | Some(AT_FDCWD) => self.paths.folder.clone(),
            Some(fd) => {
                self.table.get(descriptor(fd)).and_then(|file| self.files[file as usize].path.clone())
            }
        };
        self.paths.absolute(base.as_deref(), path)
    }

    #[inline(always)]
    pub(super) fn touch(&self, file: OpenId, touched: &mut Touched) {
        touched.file = Some(file);
        touched.path.clone_from(&self.files[file as usize].path);
        touched.peer.clone_from(&self.files[file as usize].peer);
    }
}
