//! The current folder, and every path once.

use crate::text;
use foldhash::HashSet;
use std::rc::Rc;

/// Paths that come out longer are given up as unknown: the kernel takes at most 4096 bytes of path, so this is a
/// full one below a full one, with room for escapes.
const LONGEST: usize = 4 * 4096;
/// Once the paths kept take this many bytes, they are forgotten and collected anew. Who holds one keeps it.
const KEEP_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub(super) struct Paths {
    /// The current folder; `None` when unknown, and then relative paths are unknown too.
    pub(super) folder: Option<Rc<str>>,
    known: HashSet<Rc<str>>,
    known_bytes: usize,
    scratch: String,
}

impl Paths {
    pub(super) fn new(folder: &str) -> Paths {
        let mut paths =
            Paths { folder: None, known: HashSet::default(), known_bytes: 0, scratch: String::new() };
        paths.folder = paths.absolute(None, &text::unescape(folder));
        paths
    }

    /// `path` as an absolute path; a relative one starts from `base`. `None`: empty, or relative to the unknown.
    pub(super) fn absolute(&mut self, base: Option<&str>, path: &[u8]) -> Option<Rc<str>> {
        self.scratch.clear();
        write_absolute(&mut self.scratch, base, path)?;
        self.keep()
    }

    /// The same of a path that is not kept.
    pub(super) fn in_folder(&self, base: Option<&str>, path: &[u8]) -> Option<String> {
        let mut absolute = String::new();
        write_absolute(&mut absolute, base, path)?;
        (absolute.len() <= LONGEST).then_some(absolute)
    }

    /// The path in `scratch`, shared with everyone who asked for it before.
    fn keep(&mut self) -> Option<Rc<str>> {
        let path = self.scratch.as_str();
        if path.len() > LONGEST {
            return None;
        }
        if let Some(known) = self.known.get(path) {
            return Some(known.clone());
        }
        if self.known_bytes > KEEP_BYTES {
            self.known.clear();
            self.known_bytes = 0;
        }
        let path: Rc<str> = path.into();
        self.known_bytes += path.len() + size_of::<Rc<str>>();
        self.known.insert(path.clone());
        Some(path)
    }
}

fn write_absolute(out: &mut String, base: Option<&str>, path: &[u8]) -> Option<()> {
    if *path.first()? != b'/' {
        out.push_str(base?.trim_end_matches('/'));
    }
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => out.truncate(out.rfind('/').unwrap_or(0)),
            name => {
                out.push('/');
                text::escape_into(out, name);
            }
        }
    }
    if out.is_empty() {
        out.push('/');
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_absolute_and_plain() {
        let mut paths = Paths::new("/home/u/");
        assert_eq!(paths.folder.as_deref(), Some("/home/u"));
        let mut at =
            |path: &str| paths.absolute(Some("/home/u"), path.as_bytes()).map(|path| path.to_string());
        assert_eq!(at("a//b/./c/../d").as_deref(), Some("/home/u/a/b/d"));
        assert_eq!(at("../../../..").as_deref(), Some("/"));
        assert_eq!(at("/").as_deref(), Some("/"));
        assert_eq!(at("/x/").as_deref(), Some("/x"));
        assert_eq!(at(""), None);
        assert_eq!(paths.absolute(Some("/"), b"a\xff").as_deref(), Some("/a\\xff"));
        assert_eq!(paths.absolute(None, b"a"), None);
        assert_eq!(paths.absolute(None, &b"/x".repeat(LONGEST)), None);
    }

    #[test]
    fn the_same_path_is_kept_once() {
        let mut paths = Paths::new("/");
        let (one, other) = (paths.absolute(None, b"/a/b").unwrap(), paths.absolute(None, b"/a/./b").unwrap());
        assert!(Rc::ptr_eq(&one, &other));
    }
}
