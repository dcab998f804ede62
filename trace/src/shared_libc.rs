//! A copy of libc with the recorder's detours in it, whose text processes of a run share: `libc-N.so.6` in a run folder that lies in
//! memory, where `N` is made of all that it depends on.

/// What its name begins with.
pub const PREFIX: &str = "libc-";
/// What its name ends with.
pub const SUFFIX: &str = ".so.6";

/// What that of one which is being made begins with, in front of a number.
pub const DRAFT_PREFIX: &str = ".libc-";

/// Whether a file of a run folder is one.
pub fn is_one(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_suffix(SUFFIX))
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Those of a run folder; none where it cannot be listed. What is left of one whose maker was killed is among them.
#[cfg(feature = "std")]
pub fn in_run(run: &std::path::Path) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(run).into_iter().flatten().flatten();
    let copies = files.filter(|file| {
        file.file_name().to_str().is_some_and(|name| is_one(name) || name.starts_with(DRAFT_PREFIX))
    });
    copies.map(|file| file.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_told_from_other_files() {
        assert!(is_one("libc-17.so.6"));
        assert!(
            !["libc-.so.6", "libc.so.6", ".libc-17", "libc-17.so.6.away", "17-2f.trace"]
                .iter()
                .any(|name| is_one(name))
        );
    }
}
