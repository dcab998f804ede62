//! Folders of the system: what is read there is the same on every machine that can run the application.

/// Their paths.
const OF_SYSTEM: [&[u8]; 9] =
    [b"/run", b"/etc", b"/usr", b"/lib", b"/lib32", b"/lib64", b"/libx32", b"/bin", b"/sbin"];

/// Whether the path lies in one of them, or is one.
// The recorder asks at the start of every process.
#[unsafe(link_section = ".text.startup")]
pub fn is_of_system(path: &[u8]) -> bool {
    let is_below = |folder: &&[u8]| {
        let behind = path.strip_prefix(*folder);
        behind.is_some_and(|behind| behind.is_empty() || behind[0] == b'/')
    };
    OF_SYSTEM.iter().any(is_below)
}

#[cfg(test)]
mod tests {
    use super::is_of_system;

    #[test]
    fn by_whole_names() {
        for path in ["/usr", "/usr/lib/x", "/etc/passwd", "/lib64/ld.so"] {
            assert!(is_of_system(path.as_bytes()), "{path}");
        }
        for path in ["", "/", "/usrlocal/x", "/library/x", "/home/usr", "usr/x", "/opt/x"] {
            assert!(!is_of_system(path.as_bytes()), "{path}");
        }
    }
}
