//! The files of the plan, and how each must be before the replay starts.
//!
//! What a file was like before the run shows in the first call that names it: found, not found, or made.

use crate::scope::Scope;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use syn_plan::{File, FileId, Initial};

/// What a call shows about how a file was before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It was there, a regular file of this many bytes.
    Regular(u64),
    /// It was a directory.
    Directory,
    /// It was not there, or was made by this call.
    Absent,
    /// It was there; what it was does not show.
    Something,
    /// Nothing shows.
    Nothing,
}

/// The files named so far.
#[derive(Debug)]
pub struct FileTable {
    scope: Scope,
    by_path: HashMap<Rc<str>, Option<FileId>>,
    files: Vec<(Rc<str>, Evidence)>,
    /// Folders that were renamed: new name, old name.
    moved: Vec<(Rc<str>, Rc<str>)>,
    /// Folders and symbolic links that the run made.
    folders: HashSet<FileId>,
    links: HashSet<FileId>,
}

impl FileTable {
    /// No files yet.
    pub fn new(scope: Scope) -> FileTable {
        FileTable {
            scope,
            by_path: HashMap::new(),
            files: Vec::new(),
            moved: Vec::new(),
            folders: HashSet::new(),
            links: HashSet::new(),
        }
    }

    /// The file at `path`, of which a call shows `evidence`; `None` when it is not in scope.
    pub fn touch(&mut self, path: &Rc<str>, evidence: Evidence) -> Option<FileId> {
        if let Some(&known) = self.by_path.get(path) {
            let file = &mut self.files[known? as usize].1;
            // The first call says how it was. Only what it left open may be told by a later one.
            let told = matches!(evidence, Evidence::Regular(_) | Evidence::Directory);
            if *file == Evidence::Nothing || *file == Evidence::Something && told {
                *file = evidence;
            }
            return known;
        }
        if !self.scope.contains(path) {
            self.by_path.insert(path.clone(), None);
            return None;
        }
        let evidence = if self.touch_before_move(path, evidence) { Evidence::Absent } else { evidence };
        let file = self.files.len() as FileId;
        self.files.push((path.clone(), evidence));
        self.by_path.insert(path.clone(), Some(file));
        Some(file)
    }

    /// A file in a folder that was renamed was in the old folder before the run.
    fn touch_before_move(&mut self, path: &str, evidence: Evidence) -> bool {
        let old = self.moved.iter().rev().find_map(|(new, old)| {
            let rest = path.strip_prefix(&**new).filter(|rest| rest.starts_with('/'))?;
            Some(Rc::from(format!("{old}{rest}")))
        });
        old.is_some_and(|old| {
            self.touch(&old, evidence);
            true
        })
    }

    /// `old` is called `new` from now on, and what is in it, if it is a folder.
    pub fn rename(&mut self, old: &Rc<str>, new: &Rc<str>) {
        let is_folder =
            |file: FileId| self.folders.contains(&file) || self.files[file as usize].1 == Evidence::Directory;
        if self.by_path.get(old).copied().flatten().is_some_and(is_folder) {
            self.moved.push((new.clone(), old.clone()));
        }
    }

    /// The run made this folder.
    pub fn made_folder(&mut self, folder: FileId) {
        self.folders.insert(folder);
    }

    /// The run made this symbolic link.
    pub fn made_link(&mut self, link: FileId) {
        self.links.insert(link);
    }

    /// Whether there is a symbolic link that the run made. Others are not in the plan: it knows files and folders.
    pub fn is_made_link(&self, path: &Rc<str>) -> bool {
        self.by_path.get(path).copied().flatten().is_some_and(|file| self.links.contains(&file))
    }

    /// The files of the plan.
    pub fn finish(self) -> Vec<File> {
        let initial = |evidence| match evidence {
            Evidence::Regular(bytes) => Initial::Regular { bytes },
            Evidence::Directory => Initial::Directory,
            Evidence::Absent | Evidence::Nothing => Initial::Absent,
            Evidence::Something => Initial::Regular { bytes: 0 },
        };
        let file = |(path, evidence): (Rc<str>, Evidence)| File {
            path: path.as_ref().into(),
            initial: initial(evidence),
        };
        self.files.into_iter().map(file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> FileTable {
        FileTable::new(Scope { all_files: false })
    }

    #[test]
    fn the_first_call_says_how_it_was() {
        let mut files = table();
        let path: Rc<str> = "/w/a".into();
        assert_eq!(files.touch(&path, Evidence::Absent), Some(0));
        assert_eq!(files.touch(&path, Evidence::Regular(10)), Some(0));
        let other: Rc<str> = "/w/b".into();
        assert_eq!(files.touch(&other, Evidence::Something), Some(1));
        files.touch(&other, Evidence::Absent);
        files.touch(&other, Evidence::Regular(7));
        assert_eq!(files.touch(&"/etc/passwd".into(), Evidence::Regular(1)), None);
        let initial: Vec<Initial> = files.finish().iter().map(|file| file.initial).collect();
        assert_eq!(initial, [Initial::Absent, Initial::Regular { bytes: 7 }]);
    }

    #[test]
    fn files_of_a_renamed_folder_were_in_the_old_one() {
        let mut files = table();
        files.touch(&"/w/old".into(), Evidence::Directory);
        files.touch(&"/w/new".into(), Evidence::Absent);
        files.rename(&"/w/old".into(), &"/w/new".into());
        files.touch(&"/w/new/data".into(), Evidence::Regular(5));
        let files = files.finish();
        let state = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.initial);
        assert_eq!(state("/w/old/data"), Some(Initial::Regular { bytes: 5 }));
        assert_eq!(state("/w/new/data"), Some(Initial::Absent));
    }
}
