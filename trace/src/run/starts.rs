//! What recording adds to the start of a process image and no record tells of: the loader's work for the recorder's library, and the kernel's for memory
//! that is mapped, copied and given back because of it. A trial beside the recording measures it; it stands in a file of the run folder.

use crate::TraceError;
use std::path::Path;

/// The file in the run folder.
const FILE: &str = "start-costs";

/// CPU time that recording adds unseen, nanoseconds; 0 where no trial was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartCosts {
    /// To each process image.
    pub image_ns: u64,
    /// Further to a forked child, whatever becomes of it: fork copies what the parent has, and exec or its end takes it down again.
    pub forked_ns: u64,
}

impl StartCosts {
    /// Those of a run folder. A file that says something else is none.
    pub fn read(run: &Path) -> StartCosts {
        std::fs::read_to_string(run.join(FILE))
            .ok()
            .and_then(|text| StartCosts::parse(&text))
            .unwrap_or_default()
    }

    /// Leaves them in a run folder.
    ///
    /// # Errors
    /// [`TraceError::Io`] when the file cannot be written.
    pub fn write(self, run: &Path) -> Result<(), TraceError> {
        let path = run.join(FILE);
        let text = format!("image_ns {}\nforked_ns {}\n", self.image_ns, self.forked_ns);
        std::fs::write(&path, text).map_err(|cause| TraceError::Io { path, cause })
    }

    fn parse(text: &str) -> Option<StartCosts> {
        let value = |name| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(StartCosts { image_ns: value("image_ns ")?, forked_ns: value("forked_ns ")? })
    }

    /// Of an image, which a forked child has become or not.
    pub(super) fn of(self, forked: bool) -> u64 {
        self.image_ns.saturating_add(if forked { self.forked_ns } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let run = tempfile::tempdir().expect("a folder");
        assert_eq!(StartCosts::read(run.path()), StartCosts::default());
        let costs = StartCosts { image_ns: 105_000, forked_ns: 7 };
        costs.write(run.path()).expect("a file");
        assert_eq!(StartCosts::read(run.path()), costs);
        assert_eq!((costs.of(false), costs.of(true)), (105_000, 105_007));
        for text in ["", "image_ns 5", "image_ns -5\nforked_ns 3", "image_ns x\nforked_ns 3\n", "\0\0"] {
            assert_eq!(StartCosts::parse(text), None, "{text}");
        }
    }
}
