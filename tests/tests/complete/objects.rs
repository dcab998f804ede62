//! What calls are about, under one name in both records: a path, or a kind and an inode number.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use syn_trace::descriptors::OpenFile;
use tests::strace::same_name;

/// A descriptor that stands for nothing.
pub const NOTHING: &str = "nothing";
/// A file that is named by its descriptor.
pub const BY_DESCRIPTOR: &str = "/proc/self/fd/";
/// Event counters, poll sets, timers, rings: the kernel gives them all one inode.
const ANONYMOUS: &str = "anonymous";
/// Memory files and files without a name.
const NAMELESS: &str = "nameless";

/// Gives names, and remembers those it has given.
#[derive(Debug, Default)]
pub struct Names {
    given: HashMap<String, String>,
    renamed: HashMap<String, String>,
}

impl Names {
    /// Of what strace tells of a descriptor.
    pub fn of_descriptor(&mut self, object: &str) -> String {
        let is_inode = |kind: &str| object.strip_prefix(kind).is_some_and(|rest| rest.starts_with(":["));
        match object {
            // What only landlock_create_ruleset(2) makes, which is not recorded.
            "" | "anon_inode:[landlock-ruleset]" => NOTHING.into(),
            _ if is_inode("pipe") || is_inode("socket") => object.into(),
            path if path.starts_with('/') => self.of_path(path),
            _ => ANONYMOUS.into(),
        }
    }

    /// Of what the trace tells of an open file.
    pub fn of_open_file(&mut self, file: &OpenFile) -> String {
        const S_IFMT: u32 = 0o170_000;
        match (&file.path, file.st_mode & S_IFMT) {
            (Some(path), _) => self.of_path(path),
            (None, 0o010_000) => format!("pipe:[{}]", file.inode),
            (None, 0o140_000) => format!("socket:[{}]", file.inode),
            (None, 0o100_000 | 0o040_000) => NAMELESS.into(),
            (None, _) => ANONYMOUS.into(),
        }
    }

    /// Of a path that a program gave, in that folder.
    pub fn of_path_in(&mut self, folder: &Path, path: &str) -> String {
        let joined = folder.join(path);
        self.of_path(&normal(&joined).display().to_string())
    }

    /// Of an absolute path.
    pub fn of_path(&mut self, path: &str) -> String {
        if let Some(name) = self.given.get(path) {
            return name.clone();
        }
        let name = match path {
            _ if path.starts_with(BY_DESCRIPTOR) => BY_DESCRIPTOR.to_owned(),
            _ if is_nameless(path) => NAMELESS.to_owned(),
            _ => same_name(path),
        };
        self.given.insert(path.to_owned(), name.clone());
        name
    }

    /// Notes that a file has got another name: a descriptor keeps its first name in the trace and has its last in the
    /// kernel. Both become the last.
    pub fn rename(&mut self, old: String, new: String) {
        self.renamed.insert(old, new);
    }

    /// The last name of what once had this one.
    pub fn last<'a>(&'a self, mut name: &'a str) -> &'a str {
        // Names may go round in circles.
        for _ in 0..4 {
            match self.renamed.get(name) {
                Some(new) => name = new,
                None => break,
            }
        }
        name
    }
}

/// Without `.`, `..` and double slashes, as a text.
fn normal(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(found.pop()),
            other => found.push(other),
        }
    }
    found
}

/// A file that never had a name: memfd_create(2), `O_TMPFILE`, shared anonymous memory.
fn is_nameless(path: &str) -> bool {
    let path = path.trim_end_matches("(deleted)").trim_end();
    let number = path.rsplit('/').next().and_then(|name| name.strip_prefix('#'));
    path.starts_with("/memfd:") || number.is_some_and(|number| number.parse::<u64>().is_ok())
}
