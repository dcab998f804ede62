//! Inside a crate, arrows between files run one way: a file stands above all that it uses.
//!
//! A file uses those that its paths lead to, in `use` and elsewhere: `crate::…`, `self::…`, `super::…`, and `child::…` of a
//! module below it. Unit tests are left out. To declare a module is no use of it, nor is `pub use`: a path through a file
//! that passes on a name leads to the file where the name is from. A file with methods of a type of the one that declares
//! it is a part of that one, and may use it. Calls of methods have no path, and are not seen. A module within a file is
//! taken for the file: it names what is there by `crate::…`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[test]
fn arrows_between_files_run_one_way() {
    let house = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = std::fs::read_to_string(house.join("Cargo.toml")).expect("the workspace's");
    let members =
        manifest.split_once("members = [").expect("members").1.split(']').next().unwrap_or_default();
    for name in members.split(',').map(|name| name.trim().trim_matches('"')) {
        let files = files(&house.join(name).join("src"));
        let circles = circles(&files);
        assert!(circles.is_empty(), "{name} has files that use each other: {circles:#?}");
    }
}

/// By its place among the modules of its crate, what is read in a file.
type Files = BTreeMap<String, File>;

#[derive(Default)]
struct File {
    uses: BTreeSet<String>,
    /// What its `use` gives names to.
    names: BTreeSet<String>,
    /// Types that it has methods for, among other words.
    types: BTreeSet<String>,
}

fn files(folder: &Path) -> Files {
    let mut paths = vec![folder.to_owned()];
    while let Some(at) = paths.iter().position(|path| path.is_dir()) {
        let entries = std::fs::read_dir(paths.swap_remove(at)).expect("a folder");
        paths.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    paths.retain(|path| path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs"));
    let place = |path: &PathBuf| {
        let within = path.strip_prefix(folder).expect("a path in it").with_extension("");
        let parts = within.iter().map(|part| part.to_str().expect("text"));
        let parts = parts.filter(|part| !["mod", "lib", "main"].contains(part));
        parts.fold("crate".to_owned(), |place, part| join(&place, part))
    };
    let places = paths.iter().map(place).collect();
    let read = |path| read(&std::fs::read_to_string(path).expect("a source file"), &place(path), &places);
    paths.iter().map(|path| (place(path), read(path))).collect()
}

fn join(place: &str, name: &str) -> String {
    format!("{place}::{name}")
}

fn parent(place: &str) -> &str {
    place.rsplit_once("::").map_or(place, |(parent, _)| parent)
}

fn read(source: &str, place: &str, places: &BTreeSet<String>) -> File {
    let (words, mut file) = (words(source), File::default());
    // In a `use`, and whether it is for others.
    let (mut using, mut at) = (None, 0);
    while at < words.len() {
        let before = words.get(at.wrapping_sub(1)).copied().unwrap_or_default();
        let start = match words[at] {
            _ if before == "::" => None,
            "crate" => Some("crate".to_owned()),
            "self" => Some(place.to_owned()),
            "super" => Some(parent(place).to_owned()),
            word => Some(join(place, word)).filter(|child| places.contains(child)),
        };
        match words[at] {
            "use" => using = Some(["pub", ")"].contains(&before)),
            ";" => using = None,
            "impl" => {
                let head = words[at..].split(|&word| word == "{").next().unwrap_or_default();
                let types = head.iter().filter(|_| !head.contains(&"for"));
                file.types.extend(types.map(|&word| word.to_owned()));
            }
            _ => {}
        }
        at += 1;
        if let (Some(start), Some(&"::")) = (start, words.get(at)) {
            let mut paths = Vec::new();
            at = follow(&words, at, start, &mut paths);
            file.names.extend(paths.iter().filter(|_| using.is_some()).cloned());
            file.uses.extend(paths.into_iter().filter(|_| using != Some(true)));
        }
    }
    file
}

/// Names, `::` and signs, without comments, texts and unit tests.
fn words(source: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for mut rest in source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().lines() {
        while !rest.is_empty() && !rest.starts_with("//") {
            let ends_name = |c: char| !c.is_alphanumeric() && c != '_';
            let length = match rest.find(ends_name).unwrap_or(rest.len()) {
                0 if rest.starts_with("::") => 2,
                0 if rest.starts_with('"') => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
                0 => rest.chars().next().map_or(0, char::len_utf8),
                length => length,
            };
            words.extend(Some(&rest[..length]).filter(|word| !word.trim().is_empty()));
            rest = &rest[length..];
        }
    }
    words
}

/// The paths from `start` on that stand at this word; returns where they end.
fn follow(words: &[&str], mut at: usize, mut start: String, paths: &mut Vec<String>) -> usize {
    while words[at] == "::" && words[at + 1] != "<" {
        at += 2;
        match words[at - 1] {
            "super" => start = parent(&start).to_owned(),
            "{" => {
                while words[at] != "}" {
                    let inner = if words[at] == "self" { start.clone() } else { join(&start, words[at]) };
                    at = follow(words, at + 1, inner, paths);
                    at += words[at..].iter().position(|word| [",", "}"].contains(word)).expect("its end");
                    at += usize::from(words[at] == ",");
                }
                return at + 1;
            }
            name => start = join(&start, name),
        }
    }
    paths.push(start);
    at
}

/// The file that a path leads to.
fn target<'a>(files: &'a Files, path: &'a str) -> &'a str {
    let mut place = path;
    while !files.contains_key(place) {
        place = parent(place);
    }
    let mut names = path[place.len()..].split("::").skip(1);
    let Some(end) = names.next().map(|name| join("", name)) else { return place };
    let from = files[place].names.iter().find(|from| from.ends_with(&end) && !from.starts_with(path));
    from.map_or(place, |from| target(files, from))
}

/// What is left when files that use no other, and those that no other uses, have been taken away again and again.
fn circles(files: &Files) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut left: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (place, file) in files {
        let has_methods = |path: &&String| file.types.iter().any(|name| path.ends_with(&join("", name)));
        let is_part = file.uses.iter().filter(has_methods).any(|path| target(files, path) == parent(place));
        let used = file.uses.iter().map(|path| target(files, path));
        left.insert(
            place,
            used.filter(|&used| used != place && !(is_part && used == parent(place))).collect(),
        );
    }
    loop {
        let before = left.clone();
        left.values_mut().for_each(|used| used.retain(|used| before.contains_key(used)));
        left.retain(|place, used| !used.is_empty() && before.values().any(|used| used.contains(place)));
        if left == before {
            return left;
        }
    }
}
