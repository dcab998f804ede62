//! Which names are in which folder.

use foldhash::HashMap;
use std::rc::Rc;

/// Names by the folders that they are in.
#[derive(Debug, Default)]
pub struct Folders(HashMap<Rc<str>, Vec<Rc<str>>>);

impl Folders {
    /// Notes a path, which is new, with its folder, and that with its own.
    pub fn put(&mut self, mut path: Rc<str>) {
        while let Some((folder, _)) = path.rsplit_once('/').filter(|(folder, _)| !folder.is_empty()) {
            if let Some(paths) = self.0.get_mut(folder) {
                paths.push(path);
                return;
            }
            let folder: Rc<str> = folder.into();
            self.0.insert(folder.clone(), vec![path]);
            path = folder;
        }
    }

    /// The paths in a folder.
    pub fn paths(&self, folder: &str) -> &[Rc<str>] {
        self.0.get(folder).map_or(&[], Vec::as_slice)
    }

    /// Forgets the paths in a folder for which `keep` is false, but for folders that have paths in them.
    pub fn retain(&mut self, folder: &str, mut keep: impl FnMut(&str) -> bool) {
        let Some(mut paths) = self.0.get_mut(folder).map(std::mem::take) else { return };
        paths.retain(|path| {
            let keeps = !self.paths(path).is_empty() || keep(path);
            if !keeps {
                self.0.remove(path);
            }
            keeps
        });
        if let Some(place) = self.0.get_mut(folder) {
            *place = paths;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_filled_and_removed_again_and_again_keeps_no_names() {
        let mut folders = Folders::default();
        for round in 0..100 {
            folders.put(format!("/top/folder/file{round}").into());
            folders.put(format!("/top/folder/sub{round}/file").into());
            assert_eq!(folders.paths("/top/folder").len(), 2);
            folders.retain("/top/folder", |_| false);
            assert_eq!(folders.paths("/top/folder"), [format!("/top/folder/sub{round}").into()], "not empty");
            folders.retain(&format!("/top/folder/sub{round}"), |_| false);
            folders.retain("/top/folder", |_| false);
            assert_eq!(folders.paths("/top/folder"), []);
        }
        assert_eq!(folders.paths("/top"), ["/top/folder".into()]);
        assert_eq!(folders.0.len(), 2, "those of `/top` and `/top/folder`");
    }
}
