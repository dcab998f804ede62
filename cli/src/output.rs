//! Standard output and standard error, without panics when nobody reads them.

use anyhow::Context;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;

/// Runs `print` on buffered standard output, and makes sure that all of it got there.
///
/// The standard library's own handle keeps a line buffer of its own, which would cost a system call per line.
pub fn on_stdout(print: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<u8>) -> anyhow::Result<u8> {
    let stdout = io::stdout().as_fd().try_clone_to_owned().context("standard output is closed")?;
    let mut out = BufWriter::with_capacity(1 << 16, File::from(stdout));
    let code = print(&mut out)?;
    out.flush().context(WRITING)?;
    Ok(code)
}

/// What was being done when standard output failed.
pub const WRITING: &str = "cannot write to standard output";

/// True when the error is that the reader of the output has gone away. (Other pipes and sockets break as well, a replay's for
/// instance, and that is no way to be done.)
pub fn reader_is_gone(error: &anyhow::Error) -> bool {
    let is_broken = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    error.chain().skip_while(|cause| cause.to_string() != WRITING).any(is_broken)
}

/// One line on standard error, with our name in front.
pub fn complain(message: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(io::stderr(), "syn: {message}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pipe_behind_standard_output_may_break() {
        let broken = || anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(reader_is_gone(&broken().context(WRITING)));
        assert!(reader_is_gone(&broken().context(WRITING).context("report")));
        assert!(!reader_is_gone(&broken()));
        assert!(!reader_is_gone(&broken().context("cannot reach host a")));
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert!(!reader_is_gone(&anyhow::Error::from(full).context(WRITING)));
    }
}
