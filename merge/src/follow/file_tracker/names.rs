//! Which file a path means: names that change, and hosts that have files of their own.

use super::{File, FileTracker, NOT_USED, OUTSIDE};
use crate::follow::node_local::{Identity, Known, is_certainly};
use crate::follow::pass::Seen;
use crate::rules::file_create::Existence;
use std::rc::Rc;
use syn_trace::calls::Field;
use syn_trace::descriptors::{OpenFile, Touched};

impl FileTracker {
    pub(super) fn at_path(&mut self, seen: &Seen<'_>, path: Option<&Rc<str>>) -> Option<u32> {
        let path = path?;
        if let Some(&file) = self.by_path.get(path) {
            if file != OUTSIDE && !std::mem::replace(&mut self.files[file as usize].is_in_folder, true) {
                self.folders.put(path.clone());
            }
            return self.on_host(seen, file);
        }
        let file = if self.scope.could_contain(path) { self.new_file() } else { OUTSIDE };
        self.by_path.insert(path.clone(), file);
        if file == OUTSIDE {
            return None;
        }
        if is_certainly(path) {
            self.node_local.split(file, self.hosts[seen.process as usize]);
        }
        self.folders.put(path.clone());
        Some(file)
    }

    /// The file of a path on the host of an event.
    pub(super) fn on_host(&mut self, seen: &Seen<'_>, file: u32) -> Option<u32> {
        if file == OUTSIDE {
            return None;
        }
        let host = self.hosts[seen.process as usize];
        self.node_local.on(host, file).or_else(|| {
            let copy = self.new_file();
            self.node_local.put(host, file, copy);
            Some(copy)
        })
    }

    fn new_file(&mut self) -> u32 {
        self.files.push(File {
            existence: Existence::default(),
            contents: NOT_USED,
            known: Known::default(),
            is_in_folder: true,
        });
        self.files.len() as u32 - 1
    }

    /// A name stands for no file, or for a new one, from now on.
    pub(super) fn empty(&mut self, file: u32) {
        let file = &mut self.files[file as usize];
        file.contents = NOT_USED;
        file.known.set(Identity::default());
    }

    /// What a call has opened, where another host has another file of this name.
    pub(super) fn tell_apart(&mut self, seen: &Seen<'_>, opened: &OpenFile, file: u32) -> Option<u32> {
        let found = Identity::of(self.hosts[seen.process as usize], opened);
        let known = &self.files[file as usize].known;
        if opened.inherited || !known.is_apart(&found) {
            return Some(file);
        }
        self.node_local.split(file, known.now.host);
        self.on_host(seen, file)
    }

    /// The old name's file has the new name from now on.
    pub(super) fn rename(&mut self, seen: &Seen<'_>, touched: &Touched) {
        let (old, new) =
            (self.at_path(seen, touched.path.as_ref()), self.at_path(seen, touched.second_path.as_ref()));
        let flags = seen.event.field(Field::Flags).unwrap_or(0);
        if flags & i64::from(libc::RENAME_EXCHANGE) != 0 {
            // What is in exchanged folders is not followed.
            if let (Some(old), Some(new)) = (old, new) {
                self.exchange(old as usize, new as usize);
            }
            self.change(seen, touched.path.as_ref(), Some(true), true);
            self.change(seen, touched.second_path.as_ref(), Some(true), true);
            return;
        }
        let keeps = flags & i64::from(libc::RENAME_NOREPLACE) != 0;
        let inode = old.map_or(0, |old| self.files[old as usize].known.now.inode);
        let is_gone = self.change(seen, touched.path.as_ref(), Some(true), false);
        let is_there = self.put(seen, touched.second_path.as_ref(), keeps.then_some(false), Some(inode));
        if let (Some(old), Some(new)) = (old, new) {
            self.hand_on((old, is_gone), (new, is_there));
        }
        if let (Some(old), Some(new)) = (&touched.path, &touched.second_path)
            && old != new
        {
            self.rename_below(seen, old, new);
        }
    }

    fn exchange(&mut self, one: usize, other: usize) {
        let of = |file: &File| (file.contents, file.known);
        let (first, second) = (of(&self.files[one]), of(&self.files[other]));
        (self.files[one].contents, self.files[one].known) = second;
        (self.files[other].contents, self.files[other].known) = first;
    }

    /// One name's file gets another name, unless a name stands for something else already.
    pub(super) fn hand_on(&mut self, (old, is_gone): (u32, bool), (new, is_there): (u32, bool)) {
        if old == new {
            return;
        }
        if is_there {
            // Both names have the same if the old one stays.
            let contents = if is_gone { self.files[old as usize].contents } else { self.contents_of(old) };
            let known = self.files[old as usize].known;
            let file = &mut self.files[new as usize];
            file.contents = contents;
            file.known.set(known.now);
        }
        if is_gone {
            self.empty(old);
        }
    }

    /// A folder has another name: so has all that is in it.
    fn rename_below(&mut self, seen: &Seen<'_>, old: &str, new: &str) {
        let (mut folders, mut with_gone) = (vec![Rc::<str>::from(old)], Vec::new());
        while let Some(folder) = folders.pop() {
            let mut has_gone = false;
            for path in self.folders.paths(&folder).to_vec() {
                folders.push(path.clone());
                let file = self.by_path.get(&path).copied();
                let Some(file) = file.and_then(|file| self.on_host(seen, file)) else { continue };
                let new_path = format!("{new}{}", &path[old.len()..]);
                let exists = self.files[file as usize].existence.exists();
                has_gone |= exists == Some(false);
                // What is gone needs no new name; if one is known, it stands for nothing now.
                if exists == Some(false) && !self.by_path.contains_key(&*new_path) {
                    continue;
                }
                let new_path: Rc<str> = new_path.into();
                let Some(new_file) = self.at_path(seen, Some(&new_path)) else { continue };
                self.hand_on((file, true), (new_file, true));
                if exists == Some(true) {
                    self.change(seen, Some(&path), Some(true), false);
                    self.change(seen, Some(&new_path), None, true);
                }
            }
            if has_gone {
                with_gone.push(folder);
            }
        }
        // What is in a folder before the folder.
        with_gone.iter().rev().for_each(|folder| self.forget_gone(seen, folder));
    }
}
