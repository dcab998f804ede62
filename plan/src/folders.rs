//! The folders that must be there before a plan can start.

use crate::{Fault, Initial, Plan};
use std::collections::{BTreeSet, HashMap};

impl Plan {
    /// The folders to make before the first program starts, each after the one it is in, as absolute paths. A folder
    /// that the plan has as absent is made by the replay, if at all, and so is what is in it.
    ///
    /// # Errors
    /// [`Fault::FileInFile`] when something is in a regular file.
    pub fn initial_folders(&self) -> Result<BTreeSet<String>, Fault> {
        let initial: HashMap<String, Initial> =
            self.files.iter().map(|file| (normal(names(&file.path)), file.initial)).collect();
        let mut folders = BTreeSet::new();
        for (number, file) in self.files.iter().enumerate() {
            let path: Vec<&str> = names(&file.path).collect();
            let parents = path.len().saturating_sub(1);
            let depth = if file.initial == Initial::Directory { path.len() } else { parents };
            for end in 1..=depth {
                let folder = normal(path[..end].iter().copied());
                match (initial.get(&folder), file.initial) {
                    (Some(Initial::Absent | Initial::Regular { .. }), Initial::Absent) => break,
                    (Some(Initial::Regular { .. }), _) => {
                        return Err(Fault::FileInFile { file: number, path: file.path.clone(), folder });
                    }
                    _ => folders.insert(folder),
                };
            }
        }
        Ok(folders)
    }
}

/// The names in a path, without empty ones and `.`.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}

fn normal<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.fold(String::new(), |path, name| path + "/" + name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::File;

    fn made(files: &[(&str, Initial)]) -> Vec<String> {
        let files = files.iter().map(|&(path, initial)| File { path: path.into(), initial }).collect();
        let plan = Plan { files, ..Plan::default() };
        plan.initial_folders().map(Vec::from_iter).unwrap_or_else(|error| vec![error.to_string()])
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
