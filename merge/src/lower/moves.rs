//! What a path was called before the run, after folders were renamed and symbolic links made: a tree of the names that
//! did so, which moves with them.

use std::collections::HashMap;
use std::rc::Rc;

/// A path leads through no more symbolic links than this: path_resolution(7).
pub const MOST_LINKS: usize = 40;
/// The root folder.
const ROOT: usize = 0;

#[derive(Debug, Default)]
struct Node {
    children: HashMap<Box<str>, usize>,
    /// Its path before the run; `None` for what is where it was.
    first: Option<Rc<str>>,
    /// What it leads to, if the run made it a symbolic link.
    target: Option<Rc<str>>,
}

/// The names that have moved. Memory: some words for every name in the path of one. Names refer to each other by number: a
/// folder may be moved into another as often as one likes, and the tree be deeper than any path is long.
#[derive(Debug)]
pub struct Moves {
    nodes: Vec<Node>,
}

/// Where a path leads.
struct Place {
    /// Its path without links, the last name apart.
    path: Rc<str>,
    /// The lowest node on the way that has moved, and where its part of the path ends.
    moved: Option<(usize, usize)>,
}

impl Moves {
    /// Everything is where it was.
    pub fn new() -> Moves {
        Moves { nodes: vec![Node::default()] }
    }

    /// What `path` was called before the run; `None` where it leads round in circles, or was longer than a path may be.
    pub fn before(&self, path: &Rc<str>) -> Option<Rc<str>> {
        let Place { path, moved } = self.follow(path)?;
        let first = moved.and_then(|(node, end)| Some((self.nodes[node].first.as_ref()?, end)));
        first.map_or(Some(path.clone()), |(first, end)| join(first, &path[end..]))
    }

    /// Follows the links in a path, but not the one that it is itself.
    fn follow(&self, path: &Rc<str>) -> Option<Place> {
        let mut path = path.clone();
        for _ in 0..=MOST_LINKS {
            let (mut node, mut moved, mut through) = (ROOT, None, None);
            for (start, end) in names(&path) {
                let Some(&child) = self.nodes[node].children.get(&path[start..end]) else { break };
                node = child;
                if let (Some(target), true) = (&self.nodes[node].target, end < path.len()) {
                    through = Some(join(target, &path[end..])?);
                    break;
                }
                if self.nodes[node].first.is_some() {
                    moved = Some((node, end));
                }
            }
            match through {
                Some(further) => path = further,
                None => return Some(Place { path, moved }),
            }
        }
        None
    }

    /// `old` has the name of `new` from now on, with all that is in it.
    pub fn rename(&mut self, old: &Rc<str>, new: &Rc<str>) {
        if let Some(node) = self.take(old) {
            self.put(new, node);
        }
    }

    /// Both have each other's name from now on.
    pub fn exchange(&mut self, one: &Rc<str>, other: &Rc<str>) {
        if let (Some(first), Some(second)) = (self.take(one), self.take(other)) {
            self.put(other, first);
            self.put(one, second);
        }
    }

    /// The run made a symbolic link.
    pub fn link(&mut self, path: &Rc<str>, target: &Rc<str>) {
        self.nodes.push(Node { target: Some(target.clone()), ..Node::default() });
        self.put(path, self.nodes.len() - 1);
    }

    /// Something new has this name.
    pub fn forget(&mut self, path: &Rc<str>) {
        if let Some((above, name)) = self.above(path) {
            self.nodes[above].children.remove(&*name);
        }
    }

    /// The node at a path, which has no name any more.
    fn take(&mut self, path: &Rc<str>) -> Option<usize> {
        let first = self.before(path)?;
        let (above, name) = self.above(path)?;
        let node = self.nodes[above].children.remove(&*name).unwrap_or_else(|| {
            self.nodes.push(Node::default());
            self.nodes.len() - 1
        });
        self.nodes[node].first = Some(first);
        Some(node)
    }

    fn put(&mut self, path: &Rc<str>, node: usize) {
        if let Some((above, name)) = self.above(path) {
            self.nodes[above].children.insert(name, node);
        }
    }

    /// The node of the folder that a path is in, and its last name.
    fn above(&mut self, path: &Rc<str>) -> Option<(usize, Box<str>)> {
        let path = self.follow(path)?.path;
        let mut node = ROOT;
        let (folder, last) = path.rsplit_once('/')?;
        for (start, end) in names(folder) {
            let next = self.nodes.len();
            node = *self.nodes[node].children.entry(folder[start..end].into()).or_insert(next);
            if node == next {
                self.nodes.push(Node::default());
            }
        }
        Some((node, last.into()))
    }
}

/// Where the names of a path begin and end.
fn names(path: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut begin = 0;
    path.split('/').filter_map(move |name| {
        let start = begin;
        begin += name.len() + 1;
        (!name.is_empty()).then_some((start, start + name.len()))
    })
}

fn join(folder: &str, rest: &str) -> Option<Rc<str>> {
    (folder.len() + rest.len() <= syn_plan::MAX_PATH).then(|| format!("{folder}{rest}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does `old > new`, `one = other` (exchanged), `target -> link` and `+ new`, in order.
    fn moves(all: &[&str]) -> Moves {
        let mut moves = Moves::new();
        for one in all {
            let [left, how, right]: [&str; 3] =
                one.split(' ').collect::<Vec<_>>().try_into().expect("three words");
            let (left, right) = (Rc::from(left), Rc::from(right));
            match how {
                ">" => moves.rename(&left, &right),
                "=" => moves.exchange(&left, &right),
                "->" => moves.link(&right, &left),
                _ => moves.forget(&right),
            }
        }
        moves
    }

    fn before(all: &[&str], path: &str) -> Option<String> {
        moves(all).before(&path.into()).map(|path| path.to_string())
    }

    fn was(all: &[&str], path: &str, first: &str) {
        assert_eq!(before(all, path).as_deref(), Some(first), "{path} after {all:?}");
    }

    #[test]
    fn a_renamed_folder_takes_along_what_is_in_it() {
        was(&[], "/d/x", "/d/x");
        was(&["/d > /e"], "/e/x/y", "/d/x/y");
        was(&["/d > /e"], "/ee/x", "/ee/x");
        was(&["/d > /e", "/e > /f"], "/f/x", "/d/x");
        was(&["/d > /e", "/e > /f"], "/e/x", "/e/x");
        was(&["/a/s > /t", "/a > /b", "/t > /b/s", "/b > /c"], "/c/s/x", "/a/s/x");
        was(&["/q > /b/s", "/b > /c"], "/c/s/x", "/q/x");
        was(&["/q > /b/s", "/b > /c"], "/c/r/x", "/b/r/x");
        was(&["/d = /e"], "/d/x", "/e/x");
        was(&["/d > /e", "x + /e"], "/e/x", "/e/x");
    }

    #[test]
    fn names_that_went_round_are_what_they_were() {
        was(&["/d > /e", "/e > /d"], "/d/x", "/d/x");
        was(&["/d > /e", "/e > /f", "/f > /d"], "/d/x", "/d/x");
        was(&["/c > /d", "/d > /e", "/e > /d"], "/d/x", "/c/x");
        was(&["/d = /e", "/e = /d"], "/d/x", "/d/x");
        was(&["/a > /a/b"], "/a/b/x", "/a/x");
        was(&["/d > /d"], "/d/x", "/d/x");
    }

    #[test]
    fn links_lead_to_what_is_there_now() {
        was(&["/t -> /l"], "/l/x", "/t/x");
        was(&["/t -> /l", "/l > /m"], "/m/x", "/t/x");
        was(&["/t -> /l", "/d > /t"], "/l/x", "/d/x");
        was(&["/t -> /l", "/d > /l/e"], "/t/e/x", "/d/x");
        was(&["/t -> /l", "/l -> /k"], "/k/x", "/t/x");
        was(&["/t -> /l", "x + /l"], "/l/x", "/l/x");
        assert_eq!(before(&["/l -> /l"], "/l/x"), None);
        assert_eq!(before(&["/l -> /k", "/k -> /l"], "/l/x"), None);
    }

    #[test]
    fn any_number_of_renames() {
        let mut moves = Moves::new();
        let name = |number: usize| -> Rc<str> { format!("/d{}", number % 1000).into() };
        (0..50_000).for_each(|number| moves.rename(&name(number), &name(number + 1)));
        assert_eq!(moves.before(&"/d0/x".into()).as_deref(), Some("/d0/x"));
        // Every folder into the next one: deeper than a path is long.
        for number in 0..50_000 {
            moves.rename(&format!("/f{number}").into(), &format!("/f{}/f", number + 1).into());
        }
        assert_eq!(moves.before(&"/f50000/f/f/x".into()).as_deref(), Some("/f49998/x"));
        let long = format!("/{}", "x".repeat(syn_plan::MAX_PATH - 1));
        moves.rename(&long.into(), &"/short".into());
        assert_eq!(moves.before(&"/short/x".into()), None);
    }
}
