//! The table of calls is the only place that knows them: every row is written, read and followed without anything that is
//! said of the call elsewhere, and nothing else in the house tells calls apart by name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use syn_trace::builder::TraceBuilder;
use syn_trace::calls::{Effect, Kind};
use syn_trace::descriptors::Descriptors;
use syn_trace::{Call, Run};

/// What the arguments of a made-up record are, by kind.
fn number(kind: Kind) -> i64 {
    match kind {
        Kind::Fd => 3,
        Kind::DirFd => -100,
        Kind::Bytes => 10,
        Kind::Offset => 20,
        _ => 1,
    }
}

fn text(kind: Kind) -> &'static [u8] {
    if kind == Kind::Path { b"named" } else { b"r" }
}

#[test]
fn every_row_is_written_read_and_followed() {
    for &call in Call::ALL {
        let args = call.args();
        let of = |wanted: fn(Kind) -> bool| args.iter().map(|arg| arg.kind).filter(move |&kind| wanted(kind));
        let numbers: Vec<i64> = of(Kind::is_number).map(number).collect();
        let texts: Vec<&[u8]> = of(Kind::is_text).map(text).collect();
        let list: &[i64] = if of(Kind::is_list).next().is_some() { &[7, 8, 9] } else { &[] };
        let thread = TraceBuilder::new(7, 7).process_start("/bin/app", "/home/u", "app");
        let thread = thread.call(Call::Open, 100, 5, 3, &[2, 0, 0o100_644, 0, 42], &[b"opened"], &[]);
        let thread = thread.call(call, 200, 5, 10, &numbers, &texts, list);
        let folder = tempfile::tempdir().unwrap();
        thread.write(folder.path()).unwrap();
        let run = Run::open(folder.path()).unwrap();

        let mut descriptors = Descriptors::new("/", 1);
        let all = run.process_events(0).map(|(_, event)| {
            let touched = descriptors.apply(&event, event.start, event.end);
            (event, touched)
        });
        let (event, touched) = all.last().expect("events");
        assert_eq!((event.call, event.result), (call, 10));
        assert_eq!(event.numbers[..numbers.len()], numbers);
        let read: Vec<_> = event.texts[..texts.len()].iter().map(|text| text.bytes()).collect();
        assert_eq!(read, texts);
        assert_eq!(event.list.iter().collect::<Vec<_>>(), list);

        let named = args.iter().any(|arg| arg.kind == Kind::Path);
        let on_file = args.iter().any(|arg| arg.kind == Kind::Fd);
        let expected = match call.effect() {
            // Names without a slash are searched for in PATH, and what came from elsewhere has whole ones.
            Effect::Exec | Effect::Spawn | Effect::Inherit | Effect::InheritMapping => None,
            // What it makes at descriptor 3 has no name.
            Effect::OpenProcessStream => None,
            // Of a descriptor that is not open: the second one, or one registered with the ring.
            Effect::RingEntry => None,
            _ if named => Some("/home/u/named"),
            _ if on_file => Some("/home/u/opened"),
            _ => None,
        };
        assert_eq!(touched.path.as_deref(), expected, "{call:?}");
    }
}

/// A match or comparison that names calls says of them what belongs into their rows. Pseudo-calls (a thread's start, a
/// count of repetitions) are not calls; records are made by name, and tests name what they test.
#[test]
fn nothing_else_tells_calls_apart() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).expect("the workspace's");
    let members =
        manifest.split_once("members = [").expect("members").1.split(']').next().expect("their end");
    let mut files = Vec::new();
    // The programs of the tests name what they test.
    for name in members.split(',').map(|name| name.trim().trim_matches('"')).filter(|&name| name != "tests") {
        collect(&root.join(name).join("src"), &mut files);
    }
    assert!(files.len() > 150, "the house was found");
    let is_pseudo = |name: &str| {
        let call = Call::ALL.iter().find(|call| format!("{call:?}") == name);
        call.is_some_and(|call| call.name().contains('-') || ["repeats", "unobserved"].contains(&call.name()))
    };
    let mut found = BTreeSet::new();
    for file in files.iter().filter(|file| !file.ends_with("trace/src/calls/table.rs")) {
        let source = std::fs::read_to_string(file).expect("a source file");
        let product = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for (number, line) in product.lines().enumerate() {
            if patterns(line).any(|name| !is_pseudo(name)) {
                found.insert(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "what these say of a call belongs into the table of calls: {found:#?}");
}

/// The calls that a line compares with or matches: before an arrow, behind a comparison, or beside a `|`.
fn patterns(line: &str) -> impl Iterator<Item = &str> {
    const CALL: &str = "Call::";
    let code = line.split("//").next().unwrap_or_default();
    let arrow = code.find("=>");
    let begins = move |&(at, _): &(usize, &str)| !code[..at].ends_with(char::is_alphanumeric);
    code.match_indices(CALL).filter(begins).filter_map(move |(at, _)| {
        let name = code[at + CALL.len()..].split(|c: char| !c.is_alphanumeric()).next()?;
        let is_call = name.starts_with(|c: char| c.is_uppercase()) && name.chars().any(char::is_lowercase);
        let before = code[..at].trim_end().trim_end_matches("syn_trace::").trim_end();
        let compared = ["==", "!=", ">=", "<=", "|", ">", "<"].iter().any(|sign| before.ends_with(sign))
            && !before.ends_with("=>");
        let matched = arrow.is_some_and(|arrow| at < arrow)
            || ["matches!(", "contains(&["].iter().any(|start| before.contains(start));
        (is_call && (compared || matched)).then_some(name)
    })
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn patterns_are_told_from_records_that_are_made() {
    let of = |line: &str| patterns(line).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(of("Call::Read | Call::Write => 1,"), ["Read", "Write"]);
    assert_eq!(of("            | Call::Write"), ["Write"]);
    assert_eq!(of("if event.call == Call::Close {"), ["Close"]);
    assert_eq!(of("matches!(call, Call::MpiSend)"), ["MpiSend"]);
    assert_eq!(of("_ if call >= Call::MpiBarrier => {"), ["MpiBarrier"]);
    assert!(of("libc::SYS_readv => seen.put(Call::Readv, [fd]),").is_empty());
    assert!(of("matches!(self, FileCall::GetSize)").is_empty());
    assert!(of("span::note(state, Call::Entered, 0);").is_empty());
    assert!(of("Call::ALL.iter() // Call::Read =>").is_empty());
}
