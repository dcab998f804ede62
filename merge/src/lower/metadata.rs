//! Calls about permissions, owners, times, extended attributes, nodes and file systems.

use super::files::Evidence;
use super::io::Translation;
use std::rc::Rc;
use syn_plan::{FileId, HandleId, Io, NameId};
use syn_trace::{Call, text};

/// What a call does to an extended attribute.
enum AttributeUse {
    Get,
    Set,
    Remove,
}

impl Translation<'_> {
    /// Of an open file.
    pub(super) fn metadata_on_handle(&mut self, handle: HandleId) -> Option<Io> {
        let numbers = &self.seen.event.numbers;
        let bytes = |position: usize| numbers[position].max(0) as u64;
        Some(match self.seen.event.call {
            Call::PosixFadvise => {
                Io::Advise { handle, offset: bytes(1), bytes: bytes(2), advice: numbers[3] as i32 }
            }
            Call::Readahead => Io::Readahead { handle, offset: bytes(1), bytes: bytes(2) },
            // With an empty path, the forms with `at` are about the descriptor.
            Call::Fchmod | Call::Fchmodat => Io::Fchmod { handle, mode: mode(numbers[1]) },
            Call::Fchown | Call::Fchownat => Io::Fchown { handle },
            Call::Futimens | Call::Utimensat => Io::Futimens { handle },
            Call::Fstatfs => Io::Fstatfs { handle },
            Call::Fgetxattr => {
                let name = self.attribute_of_open(&AttributeUse::Get)?;
                Io::FgetXattr { handle, name, bytes: bytes(1) }
            }
            Call::Fsetxattr => {
                let name = self.attribute_of_open(&AttributeUse::Set)?;
                Io::FsetXattr { handle, name, bytes: bytes(1), flags: numbers[2] as i32 }
            }
            Call::Fremovexattr => {
                Io::FremoveXattr { handle, name: self.attribute_of_open(&AttributeUse::Remove)? }
            }
            Call::Flistxattr => Io::FlistXattr { handle, bytes: bytes(1) },
            _ => return None,
        })
    }

    /// Of a path.
    pub(super) fn metadata_on_path(&mut self) -> Option<Io> {
        let call = self.seen.event.call;
        let numbers = self.seen.event.numbers;
        let bytes = numbers[0].max(0) as u64;
        let follows = |position: usize| super::paths::follows(numbers[position]);
        let here = Evidence::Something;
        match call {
            Call::Bind => return self.bind(),
            Call::Mknod => return self.mknod(numbers[0]),
            Call::Mknodat => return self.mknod(numbers[1]),
            _ => {}
        }
        let names_a_file = matches!(
            call,
            Call::Chmod
                | Call::Fchmodat
                | Call::Chown
                | Call::Lchown
                | Call::Fchownat
                | Call::Utimensat
                | Call::Statfs
                | Call::Getxattr
                | Call::Lgetxattr
                | Call::Setxattr
                | Call::Lsetxattr
                | Call::Listxattr
                | Call::Llistxattr
                | Call::Removexattr
                | Call::Lremovexattr
        );
        let file = if names_a_file { self.named(here)? } else { return None };
        let follow =
            !matches!(call, Call::Lgetxattr | Call::Lsetxattr | Call::Llistxattr | Call::Lremovexattr);
        Some(match call {
            Call::Chmod => Io::Chmod { file, mode: mode(numbers[0]), follow: true },
            Call::Fchmodat => Io::Chmod { file, mode: mode(numbers[1]), follow: follows(2) },
            Call::Chown => Io::Chown { file, follow: true },
            Call::Lchown => Io::Chown { file, follow: false },
            Call::Fchownat => Io::Chown { file, follow: follows(3) },
            Call::Utimensat => Io::Utimens { file, follow: follows(1) },
            Call::Statfs => Io::Statfs { file },
            Call::Getxattr | Call::Lgetxattr => {
                Io::GetXattr { file, follow, name: self.attribute(file, &AttributeUse::Get)?, bytes }
            }
            Call::Setxattr | Call::Lsetxattr => {
                let name = self.attribute(file, &AttributeUse::Set)?;
                Io::SetXattr { file, follow, name, bytes, flags: numbers[1] as i32 }
            }
            Call::Removexattr | Call::Lremovexattr => {
                Io::RemoveXattr { file, follow, name: self.attribute(file, &AttributeUse::Remove)? }
            }
            _ => Io::ListXattr { file, follow, bytes },
        })
    }

    fn attribute_of_open(&mut self, how: &AttributeUse) -> Option<NameId> {
        let file = self.tables.files.touch(self.touched.path.as_ref()?, Evidence::Nothing)?;
        self.attribute(file, how)
    }

    /// The name of the attribute; `None` if the plan cannot hold it.
    fn attribute(&mut self, file: FileId, how: &AttributeUse) -> Option<NameId> {
        let name = self.texts().last().cloned().unwrap_or_default();
        let attributes = &mut self.tables.attributes;
        match (how, -self.result as i32) {
            (AttributeUse::Get, 0) => attributes.found(file, &name, self.seen.event.result.max(0) as u64),
            // It is there, and larger than the room for it.
            (AttributeUse::Get, libc::ERANGE) => {
                let size = if self.touched.file.is_some() { 1 } else { 0 };
                attributes.found(file, &name, self.seen.event.numbers[size].max(0) as u64 + 1)
            }
            (AttributeUse::Get, _) => attributes.missed(file, &name),
            (AttributeUse::Set, error) => attributes.set(file, &name, error == libc::EEXIST),
            (AttributeUse::Remove, error) => {
                let (name, can_be_removed) = attributes.removed(file, &name, error == 0)?;
                if error == 0 && !can_be_removed {
                    self.result = -i64::from(libc::ENODATA);
                }
                Some(name)
            }
        }
    }

    /// The texts of the call.
    fn texts(&self) -> Vec<String> {
        let texts = self.seen.event.texts.iter().take(self.seen.event.call.shape().1);
        texts.map(|text| text::escape(&text.bytes()).into_owned()).collect()
    }

    /// A replay makes regular files, FIFOs and sockets, which need no rights.
    fn mknod(&mut self, st_mode: i64) -> Option<Io> {
        let kind = st_mode as u32 & libc::S_IFMT;
        if ![0, libc::S_IFREG, libc::S_IFIFO, libc::S_IFSOCK].contains(&kind) {
            return None;
        }
        let file = self.named(Evidence::Absent)?;
        Some(Io::Mknod { file, mode: kind | mode(st_mode) })
    }

    /// Binding a socket to a path makes the path.
    fn bind(&mut self) -> Option<Io> {
        let address = self.seen.event.texts[0].bytes();
        let path: Rc<str> =
            text::escape(address.strip_prefix(b"unix:").filter(|path| path.starts_with(b"/"))?).into();
        let exists = self.result == -i64::from(libc::EADDRINUSE);
        if self.result != 0 && !exists {
            return None;
        }
        let file =
            self.tables.files.touch(&path, if exists { Evidence::Something } else { Evidence::Absent })?;
        if exists {
            self.result = -i64::from(libc::EEXIST);
        }
        Some(Io::Mknod { file, mode: libc::S_IFSOCK | 0o777 })
    }
}

fn mode(number: i64) -> u32 {
    number as u32 & 0o7777
}
