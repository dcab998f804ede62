//! `FORMAT.md` and the code say the same: neither changes without the other.
//!
//! `SYN_BLESS=1 cargo test -p syn-trace --test format_document` writes the table of calls anew.

use std::mem::{offset_of, size_of};
use std::path::Path;
use syn_trace::chunks::{CHUNK_HEAD_BYTES, CHUNK_MAGIC, ChunkHead, FileHead, IN_FRONT, UNIT_BYTES};
use syn_trace::header::{self, ClockPair, HEADER_BYTES, Header};
use syn_trace::{Call, calls, record};

const CALLS_HEAD: &str =
    "| number | name | layer | arguments | also | what is to be known |\n|---:|---|---|---|---|---|\n";

fn document() -> (std::path::PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("FORMAT.md");
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

/// The rows of the table under `head`, without head and rule.
fn rows<'a>(document: &'a str, head: &str) -> Vec<Vec<&'a str>> {
    let behind = document.split_once(head).unwrap_or_else(|| panic!("no table {head:?}")).1;
    let lines = behind.lines().skip(2).take_while(|line| line.starts_with('|'));
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

#[test]
fn heads_stand_where_the_document_says() {
    let (_, document) = document();
    let head = "| offset | size | name | what it is |";
    let (file, chunk) = document.split_once("a *chunk*. It begins with a head").unwrap();
    macro_rules! compare {
        ($document:ident, $head:ident: $($name:ident)*) => {
            let offsets = [$(offset_of!($head, $name)),*, size_of::<$head>()];
            let names = [$(stringify!($name)),*];
            let expected: Vec<[String; 3]> = names.iter().zip(offsets.windows(2)).map(|(name, ends)| {
                [ends[0].to_string(), (ends[1] - ends[0]).to_string(), format!("`{name}`")]
            }).collect();
            let found: Vec<Vec<&str>> = rows($document, head);
            assert_eq!(found.iter().map(|row| &row[..3]).collect::<Vec<_>>(), expected);
        };
    }
    compare!(file, FileHead: magic version unit_bytes taken units);
    compare!(chunk, ChunkHead: magic first number units);
    for said in [
        format!("| 12 | 4 | `unit_bytes` | {UNIT_BYTES} |"),
        format!("`magic` | `{}`; written last |", std::str::from_utf8(&CHUNK_MAGIC).unwrap()),
        format!("| 0 … {0} | 0 … {0} | the chunk's head |", CHUNK_HEAD_BYTES - 1),
        format!("| {CHUNK_HEAD_BYTES} … {} | | the thread's header |", IN_FRONT[0] - 1),
        format!("| from {} | from {} | records", IN_FRONT[0], IN_FRONT[1]),
    ] {
        assert!(document.contains(&said), "{said:?} is not in the document");
    }
}

#[test]
fn header_fields_stand_where_the_document_says() {
    // Fields in the order of the struct; the sizes are the compiler's, from one offset to the next.
    macro_rules! fields {
        ($($name:ident)*) => { [$((stringify!($name), offset_of!(Header, $name))),*] };
    }
    let fields = fields!(
        magic version header_bytes pid tid ppid tick_shift clock state latest_index mpi rank ranks gap_cost_ticks
        call_cost_ticks capabilities process_start_ns start_realtime_ns start latest dropped boot_id host start_cpu_ns
        process_cpu_ns end_ticks end_cpu_ns helpers_cpu_ns reading_cost_ticks processors
        setup_cpu_ns setup_ticks behind readings job
    );
    let ends = fields[1..].iter().map(|&(_, offset)| offset).chain([size_of::<Header>()]);
    let expected: Vec<[String; 3]> = fields
        .iter()
        .zip(ends)
        .map(|(&(name, offset), end)| [offset.to_string(), (end - offset).to_string(), format!("`{name}`")])
        .collect();
    let (_, document) = document();
    let rows = rows(&document, "| offset | size | name | meaning |");
    let found: Vec<&[&str]> = rows.iter().map(|row| &row[..3]).collect();
    assert_eq!(found, expected);
    assert_eq!((offset_of!(ClockPair, ticks), offset_of!(ClockPair, monotonic_ns)), (0, 8));
    let version = header::VERSION;
    for said in [
        format!("# The trace format, version {version}\n"),
        format!("| 8 | 4 | `version` | {version} |"),
        format!(
            "`golden/v{version}.trace` is a file of this version, and `golden/v{version}.txt` what it holds."
        ),
    ] {
        assert!(document.contains(&said), "{said:?} is not in the document");
    }
    assert!(document.contains(&format!("The rest of the {HEADER_BYTES} bytes is zero.")));
    assert!(document.contains(&format!("`magic` | `{}` |", std::str::from_utf8(&header::MAGIC).unwrap())));
}

#[test]
fn constants_have_the_values_of_the_document() {
    let (_, document) = document();
    macro_rules! values {
        ($($module:ident: $($name:ident)*;)*) => {
            vec![$($((format!("`{}`", stringify!($name)), i128::from($module::$name).to_string())),*),*]
        };
    }
    let (max_text_bytes, max_list) = (record::MAX_TEXT_BYTES, record::MAX_LIST);
    let mut expected = values! {
        header: CLOCK_TSC CLOCK_MONOTONIC STATE_RECORDING STATE_THREAD_ENDED STATE_PROCESS_ENDED STATE_STOPPED
            SEES_LIBC_INTERNAL PROCESS_ONLY SEES_MPI BY_PTRACE SEES_PREEMPTION BEGAN_READY MPI_NONE MPI_OPEN_MPI MPI_MPICH
            MPI_STANDARD_ABI;
        record: FAILED INNER PROCESSOR COMPLETE SIGNAL BEGAN CPU_BEFORE CPU_AFTER WAITED_BEFORE WAITED_AFTER LOST_BEFORE
            LOST_AFTER KEPT_BEFORE KEPT_AFTER;
    };
    expected.push(("`MAX_TEXT_BYTES`".into(), max_text_bytes.to_string()));
    expected.push(("`MAX_LIST`".into(), max_list.to_string()));
    expected.extend(values! { calls: ANY NOBODY ROOT UNDEFINED COMM_NULL COMM_WORLD COMM_SELF; });
    let heads = ["| constant | value | meaning |", "| flag | value | meaning |"];
    let (first, second) = document.split_once("## Records").unwrap();
    let mut found = rows(first, heads[0]);
    found.extend(rows(second, heads[1]));
    found.extend(rows(second, heads[0]));
    let found: Vec<(String, String)> = found.iter().map(|row| (row[0].into(), row[1].into())).collect();
    assert_eq!(found, expected);
}

#[test]
fn factors_stand_in_the_document() {
    let (_, document) = document();
    let factors = syn_trace::dictionary::BODY_FACTORS.map(|factor| format!("{factor:016x}"));
    let said = document.split_once("of the twelve words, hexadecimal:\n").expect("the factors").1;
    let found: Vec<&str> =
        said.split(|c: char| !c.is_ascii_hexdigit()).filter(|word| !word.is_empty()).collect();
    assert_eq!(found[..factors.len()], factors);
}

#[test]
fn every_call_is_in_the_document() {
    let lines: Vec<String> = Call::ALL.iter().map(|&call| line_of(call)).collect();
    let (path, document) = document();
    let (front, behind) = document.split_once(CALLS_HEAD).expect("the table of calls");
    let table: Vec<&str> = behind.lines().take_while(|line| line.starts_with('|')).collect();
    if std::env::var_os("SYN_BLESS").is_some() {
        let rest: String = behind.lines().skip(table.len()).flat_map(|line| [line, "\n"]).collect();
        let blessed = format!("{front}{CALLS_HEAD}{}\n{rest}", lines.join("\n"));
        std::fs::write(path, blessed).unwrap();
        return;
    }
    assert_eq!(table, lines);
}

fn line_of(call: Call) -> String {
    let args: Vec<String> = call
        .args()
        .iter()
        .map(|arg| match arg.kind {
            kind if kind.is_text() => format!("\"{}\"", arg.name),
            kind if kind.is_list() => format!("[{}]", arg.name),
            _ => arg.name.to_owned(),
        })
        .collect();
    let also: Vec<String> = call.info().also.iter().map(|name| format!("`{name}`")).collect();
    let comment: Vec<&str> = call.info().comment.iter().map(|line| line.trim()).collect();
    let (number, name, layer) = (call as u16, call.name(), call.layer().name());
    let (args, also, comment) = (args.join(", "), also.join(", "), comment.join(" "));
    assert!(!comment.contains('|'), "{call:?}: it would end a cell");
    let line = format!("| {number} | `{name}` | {layer} | {args} | {also} | {comment} |");
    line.replace("  |", " |")
}
