//! Calls about permissions, owners, times, extended attributes, nodes and file systems.

use super::files::Evidence;
use super::io::Translation;
use std::rc::Rc;
use syn_plan::{FileId, HandleId, Io, NameId};
use syn_trace::calls::{Effect, Field};
use syn_trace::text;

const ACCESS_LIST: &str = "system.posix_acl_access";
/// `struct posix_acl_xattr_header`, and three `struct posix_acl_xattr_entry`.
const LEAST_LIST_BYTES: u64 = 4 + 3 * 8;
/// What such a list says is not on record: folders stay usable with this one.
const MODE_OF_LIST: u32 = 0o755;

/// What a call does to an extended attribute.
enum AttributeUse {
    Get,
    Set,
    Remove,
}

impl Translation<'_> {
    /// Of an open file. With an empty path, the forms with `at` are about the descriptor.
    pub(super) fn metadata_on_handle(&mut self, effect: Effect, handle: HandleId) -> Option<Io> {
        let (offset, bytes) = (self.number(Field::Offset), self.number(Field::Bytes));
        Some(match effect {
            Effect::Advise => {
                let advice = self.seen.event.numbers[3] as i32;
                Io::Advise { handle, offset, bytes, advice }
            }
            Effect::ReadAhead => Io::Readahead { handle, offset, bytes },
            Effect::SetMode(_) => Io::Fchmod { handle, mode: self.mode() },
            Effect::SetOwner(_) => Io::Fchown { handle },
            Effect::SetTimes(_) => Io::Futimens { handle },
            Effect::StatFileSystem => Io::Fstatfs { handle },
            Effect::GetAttribute(_) => {
                Io::FgetXattr { handle, name: self.attribute_of_open(&AttributeUse::Get)?, bytes }
            }
            Effect::SetAttribute(_) if self.sets_mode_by_list() => Io::Fchmod { handle, mode: MODE_OF_LIST },
            Effect::SetAttribute(_) => {
                let (name, flags) = (self.attribute_of_open(&AttributeUse::Set)?, self.flags());
                Io::FsetXattr { handle, name, bytes, flags }
            }
            Effect::RemoveAttribute(_) => {
                Io::FremoveXattr { handle, name: self.attribute_of_open(&AttributeUse::Remove)? }
            }
            Effect::ListAttributes(_) => Io::FlistXattr { handle, bytes },
            _ => return None,
        })
    }

    /// Of a path.
    pub(super) fn metadata_on_path(&mut self, effect: Effect) -> Option<Io> {
        let event = self.seen.event;
        let bytes = self.number(Field::Bytes);
        let follow = match effect {
            Effect::MakeNode => return self.mknod(),
            Effect::StatFileSystem => true,
            Effect::SetMode(follow) | Effect::SetOwner(follow) | Effect::SetTimes(follow) => {
                event.follows(follow)
            }
            Effect::GetAttribute(follow)
            | Effect::SetAttribute(follow)
            | Effect::ListAttributes(follow)
            | Effect::RemoveAttribute(follow) => event.follows(follow),
            _ => return None,
        };
        let file = self.named(Evidence::Something)?;
        let is_about_attribute =
            matches!(effect, Effect::GetAttribute(_) | Effect::SetAttribute(_) | Effect::RemoveAttribute(_));
        if is_about_attribute && !follow && self.tables.files.is_made_link(self.touched.path.as_ref()?) {
            return None; // A link has none of users (xattr(7)).
        }
        Some(match effect {
            Effect::SetMode(_) => Io::Chmod { file, mode: self.mode(), follow },
            Effect::SetOwner(_) => Io::Chown { file, follow },
            Effect::SetTimes(_) => Io::Utimens { file, follow },
            Effect::StatFileSystem => Io::Statfs { file },
            Effect::GetAttribute(_) => {
                Io::GetXattr { file, follow, name: self.attribute(file, &AttributeUse::Get)?, bytes }
            }
            Effect::SetAttribute(_) if self.sets_mode_by_list() => {
                Io::Chmod { file, mode: MODE_OF_LIST, follow }
            }
            Effect::SetAttribute(_) => {
                let (name, flags) = (self.attribute(file, &AttributeUse::Set)?, self.flags());
                Io::SetXattr { file, follow, name, bytes, flags }
            }
            Effect::RemoveAttribute(_) => {
                Io::RemoveXattr { file, follow, name: self.attribute(file, &AttributeUse::Remove)? }
            }
            _ => Io::ListXattr { file, follow, bytes },
        })
    }

    /// An access control list of an owner, a group and others says what a mode does, and is not kept as an attribute (acl(5)): so
    /// `cp -p` and `install` copy modes.
    fn sets_mode_by_list(&self) -> bool {
        let is_least = self.number(Field::Bytes) == LEAST_LIST_BYTES && self.result == 0;
        is_least && self.texts().last().is_some_and(|name| name == ACCESS_LIST)
    }

    fn flags(&self) -> i32 {
        self.seen.event.field(Field::Flags).unwrap_or(0) as i32
    }

    fn attribute_of_open(&mut self, how: &AttributeUse) -> Option<NameId> {
        let file = self.tables.files.touch(self.touched.path.as_ref()?, Evidence::Nothing)?;
        self.attribute(file, how)
    }

    /// The name of the attribute; `None` if the plan cannot hold it.
    fn attribute(&mut self, file: FileId, how: &AttributeUse) -> Option<NameId> {
        let name = self.texts().last().filter(|name| !name.is_empty())?.clone();
        let size = self.number(Field::Bytes);
        let attributes = &mut self.tables.attributes;
        match (how, -self.result as i32) {
            (AttributeUse::Get, 0) => attributes.found(file, &name, self.seen.event.result.max(0) as u64),
            // It is there, and larger than the room for it.
            (AttributeUse::Get, libc::ERANGE) => attributes.found(file, &name, size + 1),
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

    /// A replay makes regular files, FIFOs and sockets, which need no rights, and a regular file in place of a device.
    fn mknod(&mut self) -> Option<Io> {
        let kind = match self.number(Field::Mode) as u32 & libc::S_IFMT {
            libc::S_IFCHR | libc::S_IFBLK if [0, -i64::from(libc::EEXIST)].contains(&self.result) => {
                libc::S_IFREG
            }
            // Without a type it is a regular file (mknod(2)).
            0 => libc::S_IFREG,
            kind @ (libc::S_IFREG | libc::S_IFIFO | libc::S_IFSOCK) => kind,
            _ => return None,
        };
        let file = self.made()?;
        Some(Io::Mknod { file, mode: kind | self.mode() })
    }

    /// Binding a socket to a path makes the path.
    pub(super) fn bind(&mut self) -> Option<Io> {
        let path: Rc<str> = self.descriptors.socket_path(&self.seen.event.texts[0].bytes())?.into();
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
