//! One line of strace: `[instruction] name(arguments) = result explanation`.

/// What a line tells.
#[derive(Clone, Debug)]
pub enum Line {
    /// A call that has returned, or that was the last of its process.
    Returned(Syscall),
    /// An `execve` by another thread than the process's first, which goes on in that one's name.
    Moved(Syscall),
    /// That first thread's side of it, and the id of the one that made the call.
    Superseded(u32),
    /// Anything else: a call that is made again, a signal, the end of the thread.
    Other,
}

/// A system call.
#[derive(Clone, Debug, Default)]
pub struct Syscall {
    /// The kernel's name of it.
    pub name: String,
    /// The address behind the instruction that made it.
    pub instruction: u64,
    /// What stands between the commas.
    pub arguments: Vec<String>,
    /// What it returned; -1 for a failure.
    pub result: i64,
    /// What the descriptor stands for that it returned, as in [`Descriptor`]; empty for other results.
    pub opened: String,
    /// `ENOENT` and the like, of a failure.
    pub error: Option<String>,
}

/// A descriptor as strace writes it: `3</tmp/file>`, `4<pipe:[17]>`, `AT_FDCWD</tmp>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor<'a> {
    /// The number, -100 for `AT_FDCWD`.
    pub number: i64,
    /// What it stands for, empty where the kernel knows of nothing.
    pub object: &'a str,
}

/// A thread that a call made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its id.
    pub tid: u32,
    /// In the same process.
    pub is_thread: bool,
    /// In the memory of its maker, who stands still.
    pub borrows_memory: bool,
}

impl Line {
    /// `None`: this is no line of strace.
    pub fn parse(line: &str) -> Option<Line> {
        let (instruction, line) = match line.strip_prefix('[') {
            Some(rest) => rest.split_once("] ")?,
            None => ("0", line),
        };
        if let Some((_, maker)) = line.split_once("+++ superseded by execve in pid ") {
            return Some(Line::Superseded(maker.split(' ').next()?.parse().ok()?));
        }
        // The last line of a thread that ended within a call may end anywhere; of one that ended before or while
        // strace looked at the call, nothing is known.
        let is_unknown = line.starts_with("???(");
        let is_cut = [" <detached ...>", " <unfinished ...>"].iter().any(|end| line.ends_with(end));
        if is_unknown || is_cut || line.starts_with(['+', '-', '<']) {
            return Some(Line::Other);
        }
        let (name, rest) = line.split_once('(')?;
        if let Some((arguments, _)) = rest.split_once(" <pid changed to ") {
            return Some(Line::Moved(Syscall::new(name, instruction, arguments)));
        }
        let end = rest.rfind(" = ")?;
        let (arguments, result) = (rest[..end].trim_end().strip_suffix(')'), &rest[end + 3..]);
        let word = result.split([' ', '<']).next()?;
        // A call that a signal interrupted, and that the kernel repeats, has a question mark here; so has one from
        // which there is no return.
        let result = match (word, name) {
            ("?", "exit_group") => 0,
            ("?", _) => return Some(Line::Other),
            _ => number(word)?,
        };
        let opened = rest[end + 3..].split_once('<').and_then(|(_, object)| object.strip_suffix('>'));
        let opened = opened.unwrap_or_default().to_owned();
        let error = (result == -1).then(|| rest[end + 3..].split(' ').nth(1).unwrap_or_default().to_owned());
        Some(Line::Returned(Syscall { result, opened, error, ..Syscall::new(name, instruction, arguments?) }))
    }

    /// The call, if it is one that counts.
    pub fn call(&self) -> Option<&Syscall> {
        match self {
            Line::Returned(call) => Some(call),
            _ => None,
        }
    }
}

impl Syscall {
    fn new(name: &str, instruction: &str, arguments: &str) -> Syscall {
        Syscall {
            name: name.to_owned(),
            instruction: u64::from_str_radix(instruction, 16).unwrap_or(0),
            arguments: split(arguments).into_iter().map(str::to_owned).collect(),
            ..Syscall::default()
        }
    }

    /// The argument at this position, empty if there is none.
    pub fn argument(&self, position: usize) -> &str {
        self.arguments.get(position).map_or("", String::as_str)
    }

    /// The argument at this position as a number.
    pub fn number(&self, position: usize) -> Option<i64> {
        number(self.argument(position))
    }

    /// The argument at this position as a descriptor.
    pub fn descriptor(&self, position: usize) -> Option<Descriptor<'_>> {
        let word = self.argument(position);
        let (first, object) = match word.split_once('<') {
            // A file that has been removed since is marked behind its path.
            Some((first, object)) => (first, object.trim_end_matches("(deleted)").strip_suffix('>')?),
            None => (word, ""),
        };
        let number = if first == "AT_FDCWD" { -100 } else { number(first)? };
        Some(Descriptor { number, object })
    }

    /// The argument at this position as a text or path, as the program gave it.
    pub fn text(&self, position: usize) -> Option<&str> {
        let word = self.argument(position).strip_prefix('"')?;
        Some(word.trim_end_matches("...").trim_end_matches('"'))
    }

    /// The thread or process that it made.
    pub fn made_thread(&self) -> Option<Made> {
        let tid = u32::try_from(self.result).ok()?;
        let flag = |name: &str| self.arguments.iter().any(|argument| argument.contains(name));
        match self.name.as_str() {
            "fork" => Some(Made { tid, is_thread: false, borrows_memory: false }),
            "vfork" => Some(Made { tid, is_thread: false, borrows_memory: true }),
            "clone" | "clone3" => {
                Some(Made { tid, is_thread: flag("CLONE_THREAD"), borrows_memory: flag("CLONE_VFORK") })
            }
            _ => None,
        }
    }
}

fn number(word: &str) -> Option<i64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as i64),
        None => word.parse().ok(),
    }
}

/// Splits at the commas that stand in no text, structure, list or descriptor.
fn split(arguments: &str) -> Vec<&str> {
    let (mut found, mut start, mut depth, mut in_text, mut in_object) = (Vec::new(), 0, 0, false, false);
    let bytes = arguments.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_text || in_object => at += 1,
            b'"' if !in_object => in_text = !in_text,
            _ if in_text => {}
            b'<' if at > 0 && (bytes[at - 1].is_ascii_digit() || arguments[..at].ends_with("AT_FDCWD")) => {
                in_object = true;
            }
            b'>' => in_object = false,
            _ if in_object => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                found.push(arguments[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    let last = arguments[start..].trim();
    if !last.is_empty() || !found.is_empty() {
        found.push(last);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Syscall {
        Line::parse(line).expect("a line of strace").call().expect("a call").clone()
    }

    #[test]
    fn calls_are_taken_apart() {
        let call = parse("[00007f18b8d30b74] pread64(3</a, b>, \"\\177E\\\"L,F\"..., 784, 64) = 784");
        assert_eq!((call.name.as_str(), call.instruction), ("pread64", 0x7f18_b8d3_0b74));
        assert_eq!(call.arguments.len(), 4);
        assert_eq!(call.descriptor(0), Some(Descriptor { number: 3, object: "/a, b" }));
        assert_eq!((call.number(2), call.number(3), call.result), (Some(784), Some(64), 784));
    }

    #[test]
    fn failures_have_a_reason() {
        let call =
            parse("newfstatat(AT_FDCWD</tmp>, \"x y\", 0x7f00, 0) = -1 ENOENT (No such file or directory)");
        assert_eq!((call.result, call.error.as_deref()), (-1, Some("ENOENT")));
        assert_eq!(call.descriptor(0), Some(Descriptor { number: -100, object: "/tmp" }));
        assert_eq!(call.text(1), Some("x y"));
        let call = parse("close(5</tmp/gone>(deleted)) = 0");
        assert_eq!(call.descriptor(0), Some(Descriptor { number: 5, object: "/tmp/gone" }));
    }

    #[test]
    fn what_was_opened_is_known() {
        let call = parse("openat(AT_FDCWD</tmp>, \"/proc/self/fd/19\", O_PATH) = 16</sys/block/vda>");
        assert_eq!((call.result, call.opened.as_str()), (16, "/sys/block/vda"));
        assert_eq!(parse("read(3</tmp/a>, \"<>\", 2) = 2").opened, "");
    }

    #[test]
    fn structures_are_one_argument() {
        let call =
            parse("sendmsg(4<socket:[9]>, {msg_name=NULL, msg_iov=[{iov_base=\"a\", iov_len=1}]}, 0) = 1");
        assert_eq!(call.arguments.len(), 3);
        assert_eq!(parse("sync() = 0").arguments.len(), 0);
    }

    #[test]
    fn threads_and_processes_are_told_apart() {
        let thread = parse("clone3({flags=CLONE_VM|CLONE_THREAD, stack=0x7f} => {parent_tid=[7]}, 88) = 7");
        assert_eq!(thread.made_thread(), Some(Made { tid: 7, is_thread: true, borrows_memory: false }));
        let spawned = parse("clone3({flags=CLONE_VM|CLONE_VFORK, stack=0x7f}, 88) = 8");
        assert_eq!(spawned.made_thread(), Some(Made { tid: 8, is_thread: false, borrows_memory: true }));
        assert_eq!(parse("fork() = -1 EAGAIN (Resource)").made_thread(), None);
    }

    #[test]
    fn what_does_not_return_is_left_out() {
        assert!(
            Line::parse("read(3<pipe:[1]>, 0x7f, 10) = ? ERESTARTSYS (To be restarted)")
                .expect("a line")
                .call()
                .is_none()
        );
        assert!(
            Line::parse("[00000000004618fd] read(327424,  <unfinished ...>")
                .expect("a line")
                .call()
                .is_none()
        );
        assert!(Line::parse("[????????????????] +++ exited with 0 +++").expect("a line").call().is_none());
        assert_eq!(parse("exit_group(3) = ?").number(0), Some(3));
        assert!(Line::parse("what is this").is_none());
    }

    #[test]
    fn a_program_may_begin_in_another_threads_name() {
        let Some(Line::Moved(call)) =
            Line::parse("[07] execve(\"/a\", [\"b\"], 0x7 /* 3 vars */ <pid changed to 9 ...>")
        else {
            panic!("an execve");
        };
        assert_eq!((call.text(0), call.result), (Some("/a"), 0));
        let line = Line::parse("[07] +++ superseded by execve in pid 12 +++");
        assert!(matches!(line, Some(Line::Superseded(12))), "{line:?}");
    }
}
