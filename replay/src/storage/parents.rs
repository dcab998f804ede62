//! The folders that hold what is acted on, kept open, so that a call by path is one system call as it was recorded.
//!
//! A folder is opened beneath the root, and calls are about one name in it that is never followed; so they stay
//! beneath the root whatever happens to the names above. What an outdated folder could spoil is the outcome: all
//! folders are given up when a call has changed what their paths lead to.

use super::{BelowRoot, Paths, Root};
use rustix::io::{Errno, Result};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use syn_plan::FileId;

/// So many folders are kept open by a process.
const MOST: usize = 64;

/// The folders that one process keeps open.
#[derive(Debug)]
pub struct Parents<'a> {
    root: &'a Root,
    paths: &'a Paths,
    /// Grows whenever any process changes what the path of a folder leads to; `None` where that is not known.
    generation: Option<&'a AtomicU64>,
    kept: Mutex<Kept>,
}

/// A folder that holds what is acted on.
#[derive(Debug)]
pub enum Parent<'a> {
    /// The root.
    Root(&'a Root),
    /// One beneath it.
    Folder(Arc<OwnedFd>),
}

impl AsFd for Parent<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Parent::Root(root) => root.as_fd(),
            Parent::Folder(folder) => folder.as_fd(),
        }
    }
}

impl<'a> Parents<'a> {
    /// None is open yet.
    pub fn new(root: &'a Root, paths: &'a Paths, generation: Option<&'a AtomicU64>) -> Parents<'a> {
        Parents { root, paths, generation, kept: Mutex::default() }
    }

    /// The folder that holds the last name of a file's path, and that name; `EBUSY` for the root itself, which is the
    /// kernel's answer when `/` is to be removed or replaced.
    pub fn of(&self, file: FileId) -> Result<(Parent<'a>, &'a CStr)> {
        let BelowRoot { parent, last, .. } = self.paths.at(file);
        let last = last.as_deref().ok_or(Errno::BUSY)?;
        if parent.as_c_str() == c"." {
            return Ok((Parent::Root(self.root), last));
        }
        let Some(generation) = self.generation else {
            return Ok((Parent::Folder(Arc::new(self.root.folder(parent)?)), last));
        };
        // Read before the folder is opened: a change in between makes it outdated.
        let generation = generation.load(Ordering::Acquire);
        let number = self.paths.parent(file);
        let found = self.kept().find(generation, number);
        let folder = match found {
            Some(folder) => folder,
            None => {
                let folder = Arc::new(self.root.folder(parent)?);
                let given_up = self.kept().keep(generation, number, Arc::clone(&folder));
                drop(given_up);
                folder
            }
        };
        Ok((Parent::Folder(folder), last))
    }

    /// What the path of a folder leads to has changed.
    pub fn changed(&self) {
        if let Some(generation) = self.generation {
            generation.fetch_add(1, Ordering::Release);
        }
    }

    /// Gives up all folders; false when there is none.
    pub fn give_up(&self) -> bool {
        let given_up = std::mem::take(&mut self.kept().folders);
        !given_up.is_empty()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct Kept {
    /// In which the folders were opened.
    generation: u64,
    /// By number, the one used last at the end.
    folders: Vec<(u32, Arc<OwnedFd>)>,
}

impl Kept {
    fn find(&mut self, generation: u64, number: u32) -> Option<Arc<OwnedFd>> {
        if self.generation != generation {
            return None;
        }
        let place = self.folders.iter().rposition(|&(other, _)| other == number)?;
        self.folders[place..].rotate_left(1);
        self.folders.last().map(|(_, folder)| Arc::clone(folder))
    }

    /// Returns what is given up for it.
    fn keep(&mut self, generation: u64, number: u32, folder: Arc<OwnedFd>) -> Vec<(u32, Arc<OwnedFd>)> {
        if generation < self.generation {
            // It is outdated already.
            return Vec::new();
        }
        let mut given_up = Vec::new();
        if generation > self.generation {
            given_up = std::mem::take(&mut self.folders);
            self.generation = generation;
        } else if self.folders.len() == MOST {
            given_up.push(self.folders.remove(0));
        }
        self.folders.push((number, folder));
        given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> Arc<OwnedFd> {
        Arc::new(std::fs::File::open("/").expect("the root").into())
    }

    #[test]
    fn the_one_used_longest_ago_is_given_up() {
        let mut kept = Kept::default();
        for number in 0..MOST as u32 {
            assert!(kept.keep(0, number, folder()).is_empty());
        }
        assert!(kept.find(0, 0).is_some());
        let given_up = kept.keep(0, 1000, folder());
        assert_eq!(given_up.iter().map(|&(number, _)| number).collect::<Vec<_>>(), [1]);
        assert!(kept.find(0, 1).is_none() && kept.find(0, 0).is_some() && kept.find(0, 1000).is_some());
        assert_eq!(kept.folders.len(), MOST);
    }

    #[test]
    fn a_change_makes_all_outdated() {
        let mut kept = Kept::default();
        kept.keep(0, 1, folder());
        kept.keep(0, 2, folder());
        assert!(kept.find(1, 1).is_none());
        assert_eq!(kept.keep(1, 1, folder()).len(), 2);
        assert!(kept.find(1, 1).is_some() && kept.find(1, 2).is_none());
        // Opened before the change, by a thread that was slower.
        kept.keep(0, 2, folder());
        assert!(kept.find(1, 2).is_none() && kept.find(0, 2).is_none());
    }
}
