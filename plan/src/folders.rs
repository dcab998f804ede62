//! The folders that must be there before a plan can start.

use crate::{Fault, Initial, Plan};
use std::borrow::Cow;

/// Folders, each after the one it is in. They are beginnings of the plan's paths and are kept as such: a path may have two
/// thousand names, and as many folders.
#[derive(Debug)]
pub struct Folders<'a> {
    paths: Vec<(Cow<'a, str>, usize)>,
    /// Which path, and where the folder's part of it ends.
    ends: Vec<(u32, u32)>,
}

impl Folders<'_> {
    /// Their absolute paths.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.ends.iter().map(|&(path, end)| &self.paths[path as usize].0[..end as usize])
    }
}

/// A path and the paths above it, highest first.
#[derive(Default)]
struct Line {
    /// Where each ends, and how it is at the start if the plan says so.
    parts: Vec<(usize, Option<Initial>)>,
    /// How many of them are folders to make: none is without those above it.
    made: usize,
}

impl Line {
    /// Goes on to `path`, which comes next in order, from `before`.
    fn go_on(&mut self, before: &str, path: &str) {
        let mut begin = 0;
        let is_shared = |&&(end, _): &&(usize, _)| {
            let same = path.get(begin..end) == Some(&before[begin..end])
                && (path.len() == end || path.as_bytes()[end] == b'/');
            begin = end;
            same
        };
        let shared = self.parts.iter().take_while(is_shared).count();
        self.parts.truncate(shared);
        self.made = self.made.min(shared);
        let known = self.parts.last().map_or(0, |&(end, _)| end);
        let further = path[known..].match_indices('/').skip(1).map(|(at, _)| known + at);
        self.parts.extend(further.chain((known < path.len()).then_some(path.len())).map(|end| (end, None)));
    }

    /// The first of the highest `depth` parts of which `is` is true.
    fn first(&self, depth: usize, is: impl Fn(Initial) -> bool) -> Option<usize> {
        self.parts[..depth].iter().position(|&(_, initial)| initial.is_some_and(&is))
    }
}

impl Plan {
    /// The folders to make before the first program starts, each after the one it is in. A folder that the plan has as
    /// absent is made by the replay, if at all, and so is what is in it.
    ///
    /// # Errors
    /// [`Fault::FileInFile`] when something is in a regular file.
    pub fn initial_folders(&self) -> Result<Folders<'_>, Fault> {
        let mut paths: Vec<(Cow<'_, str>, usize)> =
            self.files.iter().enumerate().map(|(file, entry)| (normal(&entry.path), file)).collect();
        paths.sort_by(|(one, _), (other, _)| one.split('/').cmp(other.split('/')));
        let (mut line, mut before, mut number) = (Line::default(), "", 0);
        let (mut ends, mut wrong) = (Vec::new(), None);
        for same in paths.chunk_by(|one, other| one.0 == other.0) {
            let path = &*same[0].0;
            line.go_on(before, path);
            if let (Some(own), Some(&(_, last))) = (line.parts.last_mut(), same.last()) {
                own.1 = Some(self.files[last].initial);
            }
            for &(_, file) in same {
                let initial = self.files[file].initial;
                let above = line.parts.len().saturating_sub(1);
                let mut depth = if initial == Initial::Directory { line.parts.len() } else { above };
                if initial == Initial::Absent {
                    depth = line.first(depth, |above| above != Initial::Directory).unwrap_or(depth);
                } else if let Some(in_file) =
                    line.first(depth, |above| matches!(above, Initial::Regular { .. }))
                {
                    let folder = &path[..line.parts[in_file].0];
                    if wrong.is_none_or(|(first, _)| file < first) {
                        wrong = Some((file, folder));
                    }
                    continue;
                }
                let new = line.parts.get(line.made..depth).unwrap_or(&[]);
                ends.extend(new.iter().map(|&(end, _)| (number, end as u32)));
                line.made = line.made.max(depth);
            }
            before = path;
            number += same.len() as u32;
        }
        match wrong {
            Some((file, folder)) => {
                let (path, folder) = (self.files[file].path.clone(), folder.to_owned());
                Err(Fault::FileInFile { file, path, folder })
            }
            None => Ok(Folders { paths, ends }),
        }
    }
}

/// The path without empty names and `.`.
fn normal(path: &str) -> Cow<'_, str> {
    let names = path.strip_prefix('/').map(|names| names.split('/'));
    if names.is_some_and(|mut names| names.all(|name| !name.is_empty() && name != ".")) {
        return Cow::Borrowed(path);
    }
    let names = path.split('/').filter(|name| !name.is_empty() && *name != ".");
    Cow::Owned(names.fold(String::new(), |path, name| path + "/" + name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::File;
    use std::collections::{BTreeSet, HashMap};

    fn made(files: &[(&str, Initial)]) -> Vec<String> {
        let files = files.iter().map(|&(path, initial)| File { path: path.into(), initial }).collect();
        let plan = Plan { files, ..Plan::default() };
        let folders = plan.initial_folders().map(|folders| folders.iter().map(str::to_owned).collect());
        folders.unwrap_or_else(|error| vec![error.to_string()])
    }

    #[test]
    fn parents_are_made_unless_the_replay_makes_them() {
        let absent = Initial::Absent;
        assert_eq!(made(&[("/a/b/c", absent)]), ["/a", "/a/b"]);
        assert_eq!(made(&[("/a/b/c", absent), ("/a/b", absent)]), ["/a"]);
        assert_eq!(made(&[("/a/b/c", absent), ("/a", Initial::Regular { bytes: 1 })]), [] as [&str; 0]);
        assert_eq!(made(&[("/d/e", Initial::Directory)]), ["/d", "/d/e"]);
        assert_eq!(made(&[("/", Initial::Directory)]), [] as [&str; 0]);
        // What is in a folder was there although a later mkdir failed on it.
        assert_eq!(made(&[("/a/b", Initial::Regular { bytes: 1 }), ("/a", absent)]), ["/a"]);
        // Paths that are the same, one within the other, and one only in the beginning of a name.
        let folder = Initial::Directory;
        assert_eq!(
            made(&[("/d//e/./", folder), ("/d/e", absent), ("/./d/ef/g", absent)]),
            ["/d", "/d/e", "/d/ef"]
        );
        assert_eq!(
            made(&[("/d/e", absent), ("//d/e", folder), ("/d-/f", folder)]),
            ["/d", "/d/e", "/d-", "/d-/f"]
        );
    }

    /// The definition, path by path.
    fn defined(files: &[File]) -> Result<Vec<String>, Fault> {
        let initial: HashMap<_, _> = files.iter().map(|file| (normal(&file.path), file.initial)).collect();
        let mut folders = BTreeSet::new();
        for (number, file) in files.iter().enumerate() {
            let path = normal(&file.path);
            let own = (file.initial == Initial::Directory).then_some(path.len());
            for end in path.match_indices('/').skip(1).map(|(at, _)| at).chain(own) {
                match (initial.get(&path[..end]), file.initial) {
                    (Some(Initial::Absent | Initial::Regular { .. }), Initial::Absent) => break,
                    (Some(Initial::Regular { .. }), _) => {
                        let (path, folder) = (file.path.clone(), path[..end].to_owned());
                        return Err(Fault::FileInFile { file: number, path, folder });
                    }
                    _ => folders.insert(path[..end].to_owned()),
                };
            }
        }
        Ok(folders.into_iter().collect())
    }

    #[test]
    fn all_together_as_path_by_path() {
        let mut random = 1u64;
        let mut below = |limit: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % limit
        };
        let mut refused = 0;
        for _ in 0..20_000 {
            let file = |_| {
                let names = (0..1 + below(4)).map(|_| ["/a", "/ab", "/a-", "//./b"][below(4) as usize]);
                let path = names.collect();
                let initial = [Initial::Absent, Initial::Directory, Initial::Regular { bytes: 1 }];
                // Few regular files: they are in the way of others.
                File { path, initial: initial[(below(9) / 4) as usize] }
            };
            let files: Vec<File> = (0..6).map(file).collect();
            let expected = defined(&files);
            let plan = Plan { files, ..Plan::default() };
            let found = plan.initial_folders().map(|folders| {
                let folders: Vec<String> = folders.iter().map(str::to_owned).collect();
                let parent =
                    |path: &String| path.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned();
                for (index, folder) in folders.iter().enumerate() {
                    let parent = parent(folder);
                    assert!(
                        parent.is_empty() || folders[..index].contains(&parent),
                        "{folder} in {folders:?}"
                    );
                }
                let count = folders.len();
                let folders = BTreeSet::from_iter(folders);
                assert_eq!(folders.len(), count, "each once");
                Vec::from_iter(folders)
            });
            refused += u32::from(found.is_err());
            assert_eq!(found, expected, "{:?}", plan.files);
        }
        assert!((1_000..19_000).contains(&refused), "{refused}");
    }

    #[test]
    fn a_file_with_something_in_it_is_refused() {
        let file = Initial::Regular { bytes: 1 };
        assert_eq!(
            made(&[("/a", file), ("/a/b", file)]),
            ["file 1: \"/a/b\" is in \"/a\", which is a regular file at the start"]
        );
    }
}
