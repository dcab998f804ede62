//! The paths of a plan below the root, and what the plan does to their names. Both are known before anything is done.

use super::BelowRoot;
use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use syn_plan::{FileId, HandleId, Io, Op, Plan};

/// `RENAME_EXCHANGE`.
const EXCHANGE: u32 = 2;
/// The owner's right to look up names in a folder.
const SEARCH: u32 = 0o100;

/// Bits of what [`Paths::facts`] says of all files, and of one.
const ALIASED: u8 = 1;
const CHANGES: u8 = 2;
const LEADS: u8 = 1;
const LINK: u8 = 2;

/// All paths of a plan, by [`FileId`].
#[derive(Debug, Default)]
pub struct Paths {
    paths: Vec<BelowRoot>,
    facts: Vec<Facts>,
    /// A path may lead through a symbolic link, so that folders have further names than those of the plan.
    aliased: bool,
    changes: bool,
}

#[derive(Clone, Copy, Debug)]
struct Facts {
    /// The same number for all files of a folder.
    parent: u32,
    /// Others lie below it.
    leads: bool,
    /// A symbolic link is there at some time, as far as the plan's own names tell.
    link: bool,
}

impl Paths {
    /// Those of `plan`.
    pub fn of(plan: &Plan) -> Paths {
        let paths: Vec<BelowRoot> = plan.files.iter().map(|file| BelowRoot::new(&file.path)).collect();
        let calls = || {
            let steps = plan.programs.iter().flat_map(|program| program.steps.iter());
            steps.filter_map(|step| match step.op {
                Op::Io { call, .. } => Some(call),
                _ => None,
            })
        };
        let folders = above(paths.iter().map(|path| path.whole.as_c_str()));
        let moves: Vec<(FileId, FileId)> = calls().flat_map(|call| moved(&call)).flatten().collect();
        let links = links(&paths, calls(), &moves);
        // Links move along with the folder that they are in.
        let with_links = above(links.iter().copied());
        let aliased = links.iter().any(|link| folders.contains(link.to_bytes()))
            || moves.iter().any(|&(from, _)| with_links.contains(paths[from as usize].whole.to_bytes()));
        let mut numbers: HashMap<&CStr, u32> = HashMap::new();
        let facts = paths.iter().map(|path| Facts {
            parent: number_of(&mut numbers, &path.parent),
            leads: folders.contains(path.whole.to_bytes()),
            link: links.contains(path.whole.as_c_str()),
        });
        let facts = facts.collect();
        let mut found = Paths { facts, paths, aliased, changes: false };
        found.changes = calls().any(|call| match call {
            // Which file a handle stands for is known only when it is opened.
            Io::Fchmod { mode, .. } => mode & SEARCH == 0,
            call => found.changed_by(&call, |_| None),
        });
        found
    }

    /// Those of a part of a plan, whose files have the numbers `numbers` in the whole: what others do to their names is in the
    /// whole's [`Paths::facts`].
    pub fn of_part(plan: &Plan, numbers: &[FileId], facts: &[u8]) -> Paths {
        let paths: Vec<BelowRoot> = plan.files.iter().map(|file| BelowRoot::new(&file.path)).collect();
        let (&all, of_files) = facts.split_first().unwrap_or((&0, &[]));
        let mut parents = HashMap::new();
        let facts = paths.iter().zip(numbers).map(|(path, &number)| {
            let fact = of_files.get(number as usize).copied().unwrap_or(0);
            let parent = number_of(&mut parents, &path.parent);
            Facts { parent, leads: fact & LEADS != 0, link: fact & LINK != 0 }
        });
        let facts = facts.collect();
        Paths { facts, paths, aliased: all & ALIASED != 0, changes: all & CHANGES != 0 }
    }

    /// What the whole plan does to names, in a byte for all and one for each file.
    pub fn facts(&self) -> Vec<u8> {
        let bit = |holds: bool, bit: u8| if holds { bit } else { 0 };
        let all = bit(self.aliased, ALIASED) | bit(self.changes, CHANGES);
        let of_files = self.facts.iter().map(|facts| bit(facts.leads, LEADS) | bit(facts.link, LINK));
        std::iter::once(all).chain(of_files).collect()
    }

    /// The path of a file.
    pub fn at(&self, file: FileId) -> &BelowRoot {
        &self.paths[file as usize]
    }

    /// A number of the folder that holds it.
    pub fn parent(&self, file: FileId) -> u32 {
        self.facts[file as usize].parent
    }

    /// True when a symbolic link may be at the path. Where it is false, following and not following are the same.
    pub fn may_be_link(&self, file: FileId) -> bool {
        self.aliased || self.facts[file as usize].link
    }

    /// True when some call of the plan may change what the path of a folder leads to.
    pub fn change(&self) -> bool {
        self.changes
    }

    /// True when `call`, if it goes well, may change what the path of a folder leads to, or whether it may be followed.
    /// What only makes names changes nothing: a path that leads somewhere has all of its own.
    pub fn changed_by(&self, call: &Io, file_of: impl FnOnce(HandleId) -> Option<FileId>) -> bool {
        let leads = |file: FileId| self.aliased || self.facts[file as usize].leads;
        match *call {
            Io::Rmdir { file } => leads(file),
            Io::Rename { from, to } | Io::RenameWith { from, to, .. } => leads(from) || leads(to),
            Io::Unlink { .. } => self.aliased,
            Io::Chmod { file, mode, .. } => mode & SEARCH == 0 && leads(file),
            Io::Fchmod { handle, mode } => mode & SEARCH == 0 && file_of(handle).is_some_and(leads),
            _ => false,
        }
    }
}

/// The number of a folder; a new one has the next.
fn number_of<'a>(numbers: &mut HashMap<&'a CStr, u32>, folder: &'a CStr) -> u32 {
    let next = numbers.len() as u32;
    *numbers.entry(folder).or_insert(next)
}

/// Which file takes whose name, if `call` does such a thing.
fn moved(call: &Io) -> [Option<(FileId, FileId)>; 2] {
    match *call {
        Io::Rename { from, to } | Io::Link { from, to } => [Some((from, to)), None],
        Io::RenameWith { from, to, flags } => {
            [Some((from, to)), (flags & EXCHANGE != 0).then_some((to, from))]
        }
        _ => [None; 2],
    }
}

/// Every folder that these paths lead through, but the root.
fn above<'a>(paths: impl Iterator<Item = &'a CStr>) -> HashSet<&'a [u8]> {
    let mut folders = HashSet::new();
    for path in paths {
        let mut path = path.to_bytes();
        while let Some(slash) = path.iter().rposition(|&byte| byte == b'/') {
            path = &path[..slash];
            if !folders.insert(path) {
                break;
            }
        }
    }
    folders
}

/// Every path at which a link is made, or to which one is moved.
fn links<'a>(
    paths: &'a [BelowRoot],
    calls: impl Iterator<Item = Io>,
    moves: &[(FileId, FileId)],
) -> HashSet<&'a CStr> {
    let path = |file: FileId| paths[file as usize].whole.as_c_str();
    let made = calls.filter_map(|call| match call {
        Io::Symlink { link, .. } => Some(path(link)),
        _ => None,
    });
    let mut new: Vec<&CStr> = made.collect();
    let mut links = HashSet::new();
    if new.is_empty() {
        return links;
    }
    let mut onward: HashMap<&CStr, Vec<&CStr>> = HashMap::new();
    for &(from, to) in moves {
        onward.entry(path(from)).or_default().push(path(to));
    }
    while let Some(link) = new.pop() {
        if links.insert(link) {
            new.extend(onward.get(link).into_iter().flatten());
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn_plan::{Balance, File, Initial, Program, Step, Thread};

    fn paths(names: &[&str], calls: &[Io]) -> Paths {
        let file = |name: &&str| File { path: (*name).into(), initial: Initial::Absent };
        let step = |&call: &Io| Step { start_ns: 0, took_ns: 0, op: Op::Io { call, result: 0 } };
        let thread = Thread { process: 0, rank: None, pid: 1, tid: 1, ends_with_process: false };
        let steps = calls.iter().map(step).collect();
        Paths::of(&Plan {
            files: names.iter().map(file).collect(),
            programs: vec![Program { thread, balance: Balance::default(), steps }],
            ..Plan::default()
        })
    }

    #[test]
    fn files_of_a_folder_share_their_parent() {
        let paths = paths(&["/a/b", "/a/c", "/b", "/a//b", "/"], &[]);
        let parents = [0, 1, 2, 3, 4].map(|file| paths.parent(file));
        assert_eq!(parents, [0, 0, 1, 0, 1]);
        assert!(!paths.change() && !paths.may_be_link(0));
    }

    #[test]
    fn only_what_leads_on_changes_paths() {
        let names = ["/a/b/c", "/a/b", "/a/d", "/e"];
        let kept = [
            Io::Rename { from: 0, to: 2 },
            Io::Unlink { file: 0 },
            Io::Rmdir { file: 3 },
            Io::Chmod { file: 1, mode: 0o755, follow: true },
            Io::Mkdir { file: 1, mode: 0 },
        ];
        assert!(!paths(&names, &kept).change());
        let changes = [
            Io::Rename { from: 1, to: 2 },
            Io::RenameWith { from: 3, to: 1, flags: EXCHANGE },
            Io::Rmdir { file: 1 },
            Io::Chmod { file: 1, mode: 0o600, follow: true },
            Io::Fchmod { handle: 0, mode: 0o644 },
        ];
        for call in changes {
            assert!(paths(&names, &[call]).change(), "{call:?}");
        }
        let paths = paths(&names, &[]);
        let fchmod = Io::Fchmod { handle: 0, mode: 0o644 };
        assert!(paths.changed_by(&fchmod, |_| Some(1)) && !paths.changed_by(&fchmod, |_| Some(0)));
    }

    #[test]
    fn links_are_followed_from_name_to_name() {
        let names = ["/a/link", "/a/moved", "/a/twice", "/other", "/a/file"];
        let calls = [
            Io::Link { from: 1, to: 2 },
            Io::RenameWith { from: 3, to: 2, flags: EXCHANGE },
            Io::Symlink { target: 4, link: 0 },
            Io::Rename { from: 0, to: 1 },
        ];
        let found = paths(&names, &calls);
        assert_eq!([0, 1, 2, 3, 4].map(|file| found.may_be_link(file)), [true, true, true, true, false]);
        assert!(!found.change());
    }

    /// A link in the middle of a path gives folders names that the plan does not tell; so does a link that moves along with
    /// its folder.
    #[test]
    fn where_names_do_not_tell_anything_may_change() {
        let through = paths(&["/d/x", "/l", "/l/x/y", "/e"], &[Io::Symlink { target: 0, link: 1 }]);
        assert!(through.may_be_link(3) && !through.change());
        assert!(through.changed_by(&Io::Unlink { file: 1 }, |_| None));
        assert!(through.changed_by(&Io::Rename { from: 0, to: 3 }, |_| None));
        let moved = [Io::Symlink { target: 0, link: 1 }, Io::Rename { from: 2, to: 3 }];
        assert!(paths(&["/x", "/d/l", "/d", "/e", "/e/l"], &moved).may_be_link(4));
    }
}
