//! The files of the plan, and how each must be before the replay starts.
//!
//! What a file was like before the run shows in the first call that names it: found, not found, or made. The first to return may have
//! found what another one had made that returned later: of such a name the rule on names knows what was there. What it was, a file
//! or a folder, may show later, or in what lies below it; until then it is open.

use super::moves::{MOST_LINKS, Moves};
use crate::follow::file_tracker::Corrected;
use crate::follow::scope::Scope;
use foldhash::HashMap;
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
    /// This call has made it, or emptied the one that was there: which does not show.
    Made,
    /// It was there; what it was does not show.
    Something,
    /// Nothing shows.
    Nothing,
}

fn is_there(evidence: Evidence) -> bool {
    matches!(evidence, Evidence::Regular(_) | Evidence::Directory | Evidence::Something)
}

/// What the run has made of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Now {
    /// Nothing, as far as was seen.
    Untouched,
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link to this file.
    Link(FileId),
    /// What had this name before the run.
    Moved(FileId),
}

#[derive(Debug)]
struct Entry {
    path: Rc<str>,
    evidence: Evidence,
    now: Now,
    /// It is behind another name: in a folder that was renamed, or behind a symbolic link.
    is_alias: bool,
}

/// The files named so far.
#[derive(Debug)]
pub struct FileTable {
    scope: Scope,
    corrected: Corrected,
    by_path: HashMap<Rc<str>, Option<FileId>>,
    files: Vec<Entry>,
    /// Renamed folders, and symbolic links.
    moves: Moves,
}

impl FileTable {
    /// No files yet.
    pub fn new(scope: Scope, corrected: Corrected) -> FileTable {
        FileTable { scope, corrected, by_path: HashMap::default(), files: Vec::new(), moves: Moves::new() }
    }

    /// The file at `path`, of which a call shows `evidence`; `None` when it is not in scope.
    pub fn touch(&mut self, path: &Rc<str>, evidence: Evidence) -> Option<FileId> {
        if let Some(&known) = self.by_path.get(path) {
            self.learn(known?, evidence);
            return known;
        }
        // A file in a folder that was renamed was in the old folder before the run; one behind a link is in its target.
        let before = self.moves.before(path);
        if before.as_ref() == Some(path) {
            return self.add(path, evidence, false);
        }
        // It may have been in a folder of the system: whatever has a name in the plan is in the plan.
        let reaches = |before: &Rc<str>| self.scope.contains(path) && self.scope.could_contain(before);
        if let Some(before) = before.filter(reaches) {
            match self.by_path.get(&before).copied().flatten() {
                Some(known) => self.learn(known, evidence),
                None => drop(self.put(&before, evidence, false)),
            }
        }
        self.add(path, Evidence::Absent, true)
    }

    /// The other end of a name that a call gave to a file in the plan, or took from it: whatever has such a name is in the plan from
    /// now on. `None` for what can be in none.
    pub fn take_in(&mut self, path: &Rc<str>, evidence: Evidence) -> Option<FileId> {
        if let Some(&Some(known)) = self.by_path.get(path) {
            self.learn(known, evidence);
            return Some(known);
        }
        self.scope.could_contain(path).then(|| self.put(path, evidence, false))
    }

    fn add(&mut self, path: &Rc<str>, evidence: Evidence, is_alias: bool) -> Option<FileId> {
        if self.scope.contains(path) {
            return Some(self.put(path, evidence, is_alias));
        }
        self.by_path.insert(path.clone(), None);
        None
    }

    fn put(&mut self, path: &Rc<str>, evidence: Evidence, is_alias: bool) -> FileId {
        let file = self.files.len() as FileId;
        let now = if evidence == Evidence::Made { Now::File } else { Now::Untouched };
        let evidence = match self.corrected.get(path).filter(|_| !is_alias) {
            Some(false) => Evidence::Absent,
            Some(true) if !is_there(evidence) => Evidence::Something,
            _ => evidence,
        };
        self.files.push(Entry { path: path.clone(), evidence, now, is_alias });
        self.by_path.insert(path.clone(), Some(file));
        file
    }

    /// The first call says how a file was. Only what it left open may be told by a later one.
    fn learn(&mut self, mut file: FileId, evidence: Evidence) {
        let told = matches!(evidence, Evidence::Regular(_) | Evidence::Directory);
        let is_open = |known| known == Evidence::Nothing || known == Evidence::Something && told;
        for _ in 0..=MOST_LINKS {
            let entry = &mut self.files[file as usize];
            if evidence == Evidence::Made {
                entry.now = Now::File;
            }
            match entry.now {
                Now::Link(target) if told => file = target,
                Now::Moved(first) if told => {
                    let first = &mut self.files[first as usize].evidence;
                    if is_open(*first) {
                        *first = evidence;
                    }
                    return;
                }
                _ => {
                    if is_open(entry.evidence) {
                        entry.evidence = evidence;
                    }
                    return;
                }
            }
        }
    }

    /// The name was taken from something that is no folder. If it looked like one it was a symbolic link to one, of which the plan
    /// knows that it was there.
    pub fn is_no_folder(&mut self, file: FileId) {
        let entry = &mut self.files[file as usize];
        if entry.now == Now::Untouched && entry.evidence == Evidence::Directory {
            entry.evidence = Evidence::Something;
        }
    }

    /// `old` has the name of `new` from now on, and what is in it, if it is a folder.
    pub fn rename(&mut self, old: FileId, new: FileId) {
        let before = &self.files[old as usize];
        let before_is = before.now;
        let may_hold_others = match before_is {
            Now::File => false,
            Now::Link(_) | Now::Folder => true,
            Now::Untouched | Now::Moved(_) => {
                !matches!(before.evidence, Evidence::Regular(_) | Evidence::Made)
            }
        };
        if may_hold_others {
            self.moves.rename(&self.path(old), &self.path(new));
        }
        // Only a folder can take the place of a folder.
        if matches!(before_is, Now::File | Now::Link(_)) {
            self.is_no_folder(new);
        }
        self.now_is(new, self.what_is(old));
        self.files[old as usize].now = Now::Untouched;
    }

    /// Both were there, and have each other's name from now on.
    pub fn exchange(&mut self, one: FileId, other: FileId) {
        self.moves.exchange(&self.path(one), &self.path(other));
        let (was, has) = (self.what_is(one), self.what_is(other));
        self.now_is(other, was);
        self.now_is(one, has);
    }

    /// `new` is another name of the file.
    pub fn link(&mut self, file: FileId, new: FileId) {
        self.now_is(new, self.what_is(file));
        if let Now::Link(target) = self.files[new as usize].now {
            self.moves.link(&self.path(new), &self.path(target));
        }
    }

    fn path(&self, file: FileId) -> Rc<str> {
        self.files[file as usize].path.clone()
    }

    /// What has this name, as other names may say it.
    fn what_is(&self, file: FileId) -> Now {
        match self.files[file as usize].now {
            Now::Untouched => Now::Moved(file),
            now => now,
        }
    }

    /// What went round has its own name again.
    fn now_is(&mut self, file: FileId, now: Now) {
        self.files[file as usize].now = if now == Now::Moved(file) { Now::Untouched } else { now };
    }

    /// The run made this folder.
    pub fn made_folder(&mut self, folder: FileId) {
        self.files[folder as usize].now = Now::Folder;
        // A folder that had the name before, or a link, has it no longer.
        self.moves.forget(&self.path(folder));
    }

    /// The run made this symbolic link.
    pub fn made_link(&mut self, link: FileId, target: FileId) {
        self.files[link as usize].now = Now::Link(target);
        self.moves.link(&self.path(link), &self.path(target));
    }

    /// The path of what symbolic links that the run made lead to, from this one on.
    pub fn behind_links(&self, mut file: FileId) -> Rc<str> {
        for _ in 0..MOST_LINKS {
            let Now::Link(target) = self.files[file as usize].now else { break };
            file = target;
        }
        self.path(file)
    }

    /// Whether there is a symbolic link that the run made. Others are not in the plan: it knows files and folders.
    pub fn is_made_link(&self, path: &Rc<str>) -> bool {
        let file = self.by_path.get(path).copied().flatten();
        file.is_some_and(|file| matches!(self.files[file as usize].now, Now::Link(_)))
    }

    /// The files of the plan; what had to be guessed is added to `facts`.
    pub fn finish(mut self, facts: &mut Vec<String>) -> Vec<File> {
        self.settle_kinds();
        let guessed =
            self.files.iter().filter(|file| file.evidence == Evidence::Made && !self.is_in_new(file));
        let guessed = guessed.count();
        if guessed > 0 {
            facts.push(format!(
                "{guessed} files were made, or emptied, by the first call that names them (O_CREAT, and no bytes afterwards): \
                 their file system does not tell which; the plan has them as made"
            ));
        }
        let initial = |evidence| match evidence {
            Evidence::Regular(bytes) => Initial::Regular { bytes },
            Evidence::Directory => Initial::Directory,
            Evidence::Absent | Evidence::Made | Evidence::Nothing => Initial::Absent,
            Evidence::Something => Initial::Regular { bytes: 0 },
        };
        let file = |file: Entry| File { path: file.path.as_ref().into(), initial: initial(file.evidence) };
        self.files.into_iter().map(file).collect()
    }

    /// What has others below it is a folder. Nothing that was there before can be in what was a regular file before, or in a folder
    /// that the run made: it has come there in a way that nobody saw.
    fn settle_kinds(&mut self) {
        for file in 0..self.files.len() {
            let entry = &self.files[file];
            if entry.is_alias || entry.evidence == Evidence::Nothing {
                continue;
            }
            for above in self.above(&entry.path.clone()) {
                let exists = is_there(self.files[file].evidence);
                let folder = &mut self.files[above as usize];
                match folder.evidence {
                    Evidence::Something => folder.evidence = Evidence::Directory,
                    Evidence::Absent if exists && folder.now == Now::Untouched && !folder.is_alias => {
                        folder.evidence = Evidence::Directory;
                    }
                    // A call that makes something where no folder is fails, and the folder is known to be absent then.
                    Evidence::Nothing if folder.now == Now::Untouched => {
                        folder.evidence = Evidence::Directory;
                    }
                    Evidence::Regular(_) if exists => self.files[file].evidence = Evidence::Absent,
                    Evidence::Absent if exists && folder.now == Now::Folder && !folder.is_alias => {
                        self.files[file].evidence = Evidence::Absent;
                    }
                    _ => {}
                }
            }
        }
    }

    /// Whether it is in a folder that the run made: then it was made too.
    fn is_in_new(&self, file: &Entry) -> bool {
        self.above(&file.path).into_iter().any(|above| {
            let above = &self.files[above as usize];
            above.now == Now::Folder && above.evidence == Evidence::Absent
        })
    }

    /// The files of the plan that are above a path, lowest first.
    fn above(&self, path: &str) -> Vec<FileId> {
        let cuts = path.match_indices('/').map(|(at, _)| at).rev();
        cuts.filter_map(|at| self.by_path.get(&path[..at]).copied().flatten()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn table() -> FileTable {
        FileTable::new(Scope::default(), Corrected::default())
    }

    /// How a file is in the plan.
    fn state(files: FileTable, path: &str) -> Option<Initial> {
        let files = files.finish(&mut Vec::new());
        files.iter().find(|file| file.path == path).map(|file| file.initial)
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
        let initial: Vec<Initial> = files.finish(&mut Vec::new()).iter().map(|file| file.initial).collect();
        assert_eq!(initial, [Initial::Absent, Initial::Regular { bytes: 7 }]);
    }

    #[test]
    fn what_the_first_call_to_return_says_is_corrected() {
        let [made, removed] = ["/w/made", "/w/removed"].map(Rc::<str>::from);
        let corrected = Corrected::from_iter([(made.clone(), false), (removed.clone(), true)]);
        let mut files = FileTable::new(Scope::default(), corrected);
        files.touch(&made, Evidence::Something);
        files.touch(&made, Evidence::Absent);
        files.touch(&removed, Evidence::Absent);
        files.touch(&removed, Evidence::Directory);
        let initial: Vec<Initial> = files.finish(&mut Vec::new()).iter().map(|file| file.initial).collect();
        assert_eq!(initial, [Initial::Absent, Initial::Directory]);
    }

    #[test]
    fn files_of_a_renamed_folder_were_in_the_old_one() {
        for old in [Evidence::Directory, Evidence::Something] {
            let mut files = table();
            let old = files.touch(&"/w/old".into(), old).unwrap();
            let new = files.touch(&"/w/new".into(), Evidence::Absent).unwrap();
            files.rename(old, new);
            files.touch(&"/w/new/data".into(), Evidence::Regular(5));
            let files = files.finish(&mut Vec::new());
            let state = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.initial);
            assert_eq!(state("/w/old"), Some(Initial::Directory));
            assert_eq!(state("/w/old/data"), Some(Initial::Regular { bytes: 5 }));
            assert_eq!(
                (state("/w/new"), state("/w/new/data")),
                (Some(Initial::Absent), Some(Initial::Absent))
            );
        }
    }

    #[test]
    fn a_link_to_a_folder_that_is_replaced() {
        let looks_like_a_folder = |files: &mut FileTable| {
            let latest = files.touch(&"/w/latest".into(), Evidence::Directory).unwrap();
            (latest, files.touch(&"/w/new".into(), Evidence::Absent).unwrap())
        };
        let was_there = Some(Initial::Regular { bytes: 0 });
        let mut files = table();
        let (latest, _) = looks_like_a_folder(&mut files);
        files.is_no_folder(latest);
        assert_eq!(state(files, "/w/latest"), was_there);

        let mut files = table();
        let (latest, new) = looks_like_a_folder(&mut files);
        files.made_link(new, latest);
        files.rename(new, latest);
        assert_eq!(state(files, "/w/latest"), was_there);

        let mut files = table();
        let (latest, new) = looks_like_a_folder(&mut files);
        files.is_no_folder(latest);
        files.made_link(latest, new);
        files.touch(&"/w/latest".into(), Evidence::Directory);
        assert_eq!(state(files, "/w/latest"), was_there, "what it leads to now says nothing of before");

        let mut files = table();
        let (latest, new) = looks_like_a_folder(&mut files);
        files.made_folder(new);
        files.rename(new, latest);
        assert_eq!(state(files, "/w/latest"), Some(Initial::Directory), "an empty one");
    }

    #[test]
    fn a_link_leads_to_a_folder_that_was_there() {
        for below in [Evidence::Regular(1), Evidence::Made, Evidence::Absent] {
            let mut files = table();
            let link = files.touch(&"/w/link".into(), Evidence::Absent).unwrap();
            let target = files.touch(&"/w/d".into(), Evidence::Nothing).unwrap();
            files.made_link(link, target);
            files.touch(&"/w/link/x".into(), below);
            assert_eq!(state(files, "/w/d"), Some(Initial::Directory), "{below:?}");
        }
    }

    #[test]
    fn what_has_others_below_it_is_a_folder() {
        for below in [Evidence::Regular(1), Evidence::Absent, Evidence::Something, Evidence::Made] {
            let mut files = table();
            files.touch(&"/w/d".into(), Evidence::Something);
            files.touch(&"/w/d/x".into(), below);
            assert_eq!(state(files, "/w/d"), Some(Initial::Directory));
        }
        let mut files = table();
        files.touch(&"/w/f".into(), Evidence::Something);
        files.touch(&"/w/f/x".into(), Evidence::Nothing);
        assert_eq!(state(files, "/w/f"), Some(Initial::Regular { bytes: 0 }));
    }

    #[test]
    fn a_renamed_or_linked_file_tells_its_size_later() {
        let mut files = table();
        let old = files.touch(&"/w/old".into(), Evidence::Something).unwrap();
        let new = files.touch(&"/w/new".into(), Evidence::Absent).unwrap();
        files.rename(old, new);
        files.touch(&"/w/new".into(), Evidence::Regular(9));
        assert_eq!(state(files, "/w/old"), Some(Initial::Regular { bytes: 9 }));
    }

    #[test]
    fn what_is_behind_a_link_is_in_its_target() {
        let mut files = table();
        let target = files.touch(&"/w/target".into(), Evidence::Nothing).unwrap();
        let link = files.touch(&"/w/link".into(), Evidence::Absent).unwrap();
        files.made_link(link, target);
        files.touch(&"/w/link/data".into(), Evidence::Regular(3));
        let files = files.finish(&mut Vec::new());
        let state = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.initial);
        assert_eq!(state("/w/target/data"), Some(Initial::Regular { bytes: 3 }));
        assert_eq!((state("/w/link"), state("/w/link/data")), (Some(Initial::Absent), Some(Initial::Absent)));
    }

    #[test]
    fn what_is_behind_a_link_to_a_folder_of_the_system_is_in_the_plan() {
        let linked = HashSet::from(["/usr/share/data".into()]);
        let mut files =
            FileTable::new(Scope { changed: Rc::new(linked), ..Scope::default() }, Corrected::default());
        assert_eq!(files.touch(&"/usr/share/data/x".into(), Evidence::Regular(3)), None);
        let target = files.touch(&"/usr/share/data".into(), Evidence::Nothing).unwrap();
        let link = files.touch(&"/w/link".into(), Evidence::Absent).unwrap();
        files.made_link(link, target);
        files.touch(&"/w/link/x".into(), Evidence::Regular(3));
        let files = files.finish(&mut Vec::new());
        let state = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.initial);
        assert_eq!(state("/usr/share/data/x"), Some(Initial::Regular { bytes: 3 }));
        assert_eq!(state("/w/link/x"), Some(Initial::Absent));
    }

    #[test]
    fn a_link_that_was_renamed_still_leads_to_its_target_until_a_folder_has_its_name() {
        let mut files = table();
        let target = files.touch(&"/w/target".into(), Evidence::Nothing).unwrap();
        let link = files.touch(&"/w/link".into(), Evidence::Absent).unwrap();
        files.made_link(link, target);
        let current = files.touch(&"/w/current".into(), Evidence::Absent).unwrap();
        files.rename(link, current);
        files.touch(&"/w/current/data".into(), Evidence::Regular(3));
        files.made_folder(current);
        files.touch(&"/w/current/other".into(), Evidence::Regular(4));
        let files = files.finish(&mut Vec::new());
        let state = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.initial);
        assert_eq!(state("/w/target/data"), Some(Initial::Regular { bytes: 3 }));
        assert_eq!(state("/w/current/data"), Some(Initial::Absent));
        // It came into the new folder in a way that nobody saw.
        assert_eq!((state("/w/target/other"), state("/w/current/other")), (None, Some(Initial::Absent)));
    }

    #[test]
    fn nothing_was_before_in_a_folder_that_the_run_made() {
        let mut files = table();
        let folder = files.touch(&"/w/new".into(), Evidence::Absent).unwrap();
        files.made_folder(folder);
        files.touch(&"/w/new/there".into(), Evidence::Something);
        files.touch(&"/w/old/there".into(), Evidence::Something);
        let initial: Vec<_> = files.finish(&mut Vec::new()).iter().map(|file| file.initial).collect();
        assert_eq!(initial, [Initial::Absent, Initial::Absent, Initial::Regular { bytes: 0 }]);
    }

    #[test]
    fn a_folder_that_was_renamed_there_and_back_is_where_it_was() {
        for evidence in [Evidence::Directory, Evidence::Something] {
            let mut files = table();
            let one = files.touch(&"/w/d".into(), evidence).unwrap();
            let other = files.touch(&"/w/e".into(), Evidence::Absent).unwrap();
            files.rename(one, other);
            files.touch(&"/w/e/y".into(), Evidence::Regular(4));
            files.rename(other, one);
            files.touch(&"/w/d/x".into(), Evidence::Regular(3));
            let files = files.finish(&mut Vec::new());
            let state = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.initial);
            assert_eq!((state("/w/d"), state("/w/e")), (Some(Initial::Directory), Some(Initial::Absent)));
            assert_eq!(state("/w/d/x"), Some(Initial::Regular { bytes: 3 }));
            assert_eq!(state("/w/d/y"), Some(Initial::Regular { bytes: 4 }));
        }
    }

    #[test]
    fn a_file_that_was_renamed_there_and_back_tells_of_itself() {
        let mut files = table();
        let one = files.touch(&"/w/a".into(), Evidence::Something).unwrap();
        let other = files.touch(&"/w/b".into(), Evidence::Absent).unwrap();
        files.rename(one, other);
        files.rename(other, one);
        assert_eq!(files.files[one as usize].now, Now::Untouched);
        files.touch(&"/w/a".into(), Evidence::Regular(9));
        assert_eq!(state(files, "/w/a"), Some(Initial::Regular { bytes: 9 }));
    }

    #[test]
    fn what_is_in_exchanged_folders_was_in_the_other_one() {
        let mut files = table();
        let one = files.touch(&"/w/one".into(), Evidence::Directory).unwrap();
        let other = files.touch(&"/w/other".into(), Evidence::Directory).unwrap();
        files.exchange(one, other);
        files.touch(&"/w/one/x".into(), Evidence::Regular(1));
        assert_eq!(state(files, "/w/other/x"), Some(Initial::Regular { bytes: 1 }));
    }

    #[test]
    fn a_guess_is_told() {
        let mut files = table();
        files.touch(&"/w/a".into(), Evidence::Made);
        let folder = files.touch(&"/w/d".into(), Evidence::Absent).unwrap();
        files.made_folder(folder);
        files.touch(&"/w/d/b".into(), Evidence::Made);
        files.touch(&"/w/c".into(), Evidence::Absent);
        files.touch(&"/w/c".into(), Evidence::Made);
        let mut remarks = Vec::new();
        files.finish(&mut remarks);
        assert!(remarks.len() == 1 && remarks[0].starts_with("1 files were made, or emptied"), "{remarks:?}");
    }
}
