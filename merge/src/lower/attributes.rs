//! Extended attributes: their names, and which are there before the replay starts.
//!
//! Only attributes of users (`user.…`) are changed by a replay: others give rights, or need them. A program that sets one
//! of another kind sets `user.syn.…` in the replay; one that is not there is asked for by its own name. A call with a name
//! that no plan may hold has no operation.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use syn_plan::{Attribute, File, FileId, Initial, MAX_NAME, NameId};

const OF_USERS: &str = "user.";
const INSTEAD: &str = "user.syn.";
const ACCESS_CONTROL: &str = "system.posix_acl_";

/// The names so far, and what was seen of every attribute first.
#[derive(Debug, Default)]
pub struct Attributes {
    names: Vec<String>,
    by_name: HashMap<String, NameId>,
    /// How large it is before the run; `None` for one that is not there, or was set before it was asked for.
    first: BTreeMap<(FileId, NameId), Option<u64>>,
    /// Those that the run has set and not removed.
    set: BTreeSet<(FileId, NameId)>,
}

impl Attributes {
    fn name(&mut self, name: String) -> Option<NameId> {
        if name.len() > MAX_NAME || name.contains('\0') {
            return None;
        }
        let Attributes { names, by_name, .. } = self;
        Some(*by_name.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            names.len() as NameId - 1
        }))
    }

    /// One that the program asked for, and found with so many bytes.
    pub fn found(&mut self, file: FileId, name: &str, bytes: u64) -> Option<NameId> {
        let name = self.name(changeable(name))?;
        self.first.entry((file, name)).or_insert(Some(bytes));
        Some(name)
    }

    /// One that the program asked for and did not get.
    pub fn missed(&mut self, file: FileId, name: &str) -> Option<NameId> {
        let name = self.name(name.to_owned())?;
        self.first.entry((file, name)).or_insert(None);
        Some(name)
    }

    /// One that the program set, or tried to.
    pub fn set(&mut self, file: FileId, name: &str, was_there: bool) -> Option<NameId> {
        let name = self.name(changeable(name))?;
        self.first.entry((file, name)).or_insert(was_there.then_some(0));
        self.set.insert((file, name));
        Some(name)
    }

    /// One that the program removed, or tried to, and whether the replay can: an access control list that is not there
    /// is removed without complaint, another attribute is not.
    pub fn removed(&mut self, file: FileId, name: &str, was_there: bool) -> Option<(NameId, bool)> {
        let is_list = name.starts_with(ACCESS_CONTROL);
        let name = self.name(changeable(name))?;
        let was_there = was_there && !is_list;
        let first = *self.first.entry((file, name)).or_insert(was_there.then_some(0));
        let was_set = self.set.remove(&(file, name));
        Some((name, was_set || first.is_some()))
    }

    /// All names, and what is there before the run, of the files that are.
    pub fn finish(self, files: &[File]) -> (Vec<String>, Vec<Attribute>) {
        let there = |((file, name), bytes): ((FileId, NameId), Option<u64>)| {
            let bytes = bytes.filter(|_| files[file as usize].initial != Initial::Absent);
            bytes.map(|bytes| Attribute { file, name, bytes })
        };
        (self.names, self.first.into_iter().filter_map(there).collect())
    }
}

fn changeable(name: &str) -> String {
    if name.starts_with(OF_USERS) { name.to_owned() } else { format!("{INSTEAD}{name}") }
}
