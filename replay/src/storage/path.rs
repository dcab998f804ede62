//! Recorded absolute paths as paths below the storage root.

use std::ffi::CString;

/// A recorded path, relative to the root: `/a/b` is `a/b` there, `/` is `.`.
#[derive(Debug, PartialEq, Eq)]
pub struct BelowRoot {
    /// All of it.
    pub whole: CString,
    /// All but the last name.
    pub parent: CString,
    /// The last name; `None` for the root itself.
    pub last: Option<CString>,
}

impl BelowRoot {
    /// For an absolute path without `..` and NUL, as the plan's checker guarantees.
    pub fn new(recorded: &str) -> BelowRoot {
        let names: Vec<&str> = names(recorded).collect();
        let (last, parents) = match names.split_last() {
            Some((last, parents)) => (Some(text(last)), parents),
            None => (None, &names[..]),
        };
        BelowRoot { whole: joined(&names), parent: joined(parents), last }
    }
}

/// The names in a path, without empty ones and `.`.
pub fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}

/// What a symbolic link at `link` must hold to point to `target`, both absolute: links that start with `/` would
/// lead out of the root. Where that is more than a link can hold, it points to itself.
pub fn relative(target: &str, link: &str) -> CString {
    let (target, link): (Vec<&str>, Vec<&str>) = (names(target).collect(), names(link).collect());
    let from = &link[..link.len().saturating_sub(1)];
    let common = from.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let mut steps = vec![".."; from.len() - common];
    steps.extend(&target[common..]);
    let held = joined(&steps);
    if held.as_bytes().len() < libc::PATH_MAX as usize { held } else { joined(&link[from.len()..]) }
}

fn joined(names: &[&str]) -> CString {
    if names.is_empty() { c".".to_owned() } else { text(&names.join("/")) }
}

fn text(path: &str) -> CString {
    CString::new(path).unwrap_or_else(|_| unreachable!("the plan's checker refuses NUL in a path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_become_relative_ones() {
        let path = BelowRoot::new("/a//b/./c/");
        assert_eq!((path.whole.as_c_str(), path.parent.as_c_str()), (c"a/b/c", c"a/b"));
        assert_eq!(path.last.as_deref(), Some(c"c"));
        assert_eq!(BelowRoot::new("/x").parent.as_c_str(), c".");
        assert_eq!(BelowRoot::new("/"), BelowRoot { whole: c".".into(), parent: c".".into(), last: None });
    }

    #[test]
    fn links_stay_relative() {
        assert_eq!(relative("/a/b/target", "/a/b/link").as_c_str(), c"target");
        assert_eq!(relative("/x/y", "/a/b/link").as_c_str(), c"../../x/y");
        assert_eq!(relative("/a", "/a/b/link").as_c_str(), c"..");
        assert_eq!(relative("/a/b", "/a/b/link").as_c_str(), c".");
        let folder = "/d".repeat(1000);
        assert_eq!(relative("/t", &format!("{folder}/link")).as_bytes().len(), 1000 * "../".len() + 1);
        assert_eq!(relative("/t", &format!("{folder}{folder}/link")).as_c_str(), c"link");
    }
}
