//! What is told on standard output.

use anyhow::Context;
use std::borrow::Cow;
use std::io::Write;

/// Prints it all, but no characters that a terminal would take for commands: names of files and imported profiles may hold
/// any. Whoever reads may go away meanwhile: that is an error like others, and no panic.
///
/// # Errors
/// When it cannot be written.
pub fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().write_all(without_commands(text).as_bytes()).context("cannot write to standard output")
}

/// Control characters, but ends of lines, as they are written in programs.
fn without_commands(text: &str) -> Cow<'_, str> {
    let is_command = |c: char| c.is_control() && c != '\n';
    if !text.contains(is_command) {
        return text.into();
    }
    let escaped = |c: char| if is_command(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_a_terminal_are_written_out() {
        assert_eq!(
            without_commands("a \u{1b}[31mred\u{7}\n\t\u{9b}é"),
            "a \\u{1b}[31mred\\u{7}\n\\t\\u{9b}é"
        );
        assert!(matches!(without_commands("plain\n"), Cow::Borrowed(_)));
    }
}
