//! What is told on standard output.

use anyhow::Context;
use std::io::Write;

/// Prints it all. Whoever reads may go away meanwhile: that is an error like others, and no panic.
///
/// # Errors
/// When it cannot be written.
pub fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")
}
