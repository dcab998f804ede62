//! `PLAN.md` says what the code does.

use crate::sample::{CALLS, DEMANDS, INITIAL, OPS, sample};
use serde::Serialize;
use std::fmt::{Debug, Write};
use syn_plan::{
    Access, Collective, Completion, Creation, Epoch, FileCall, FileTransfer, Lock, MAGIC, MAX_DEPTH,
    MPI_ROWS, ROWS, Row, Rule, SendMode, VERSION, Window,
};

const DOCUMENT: &str = include_str!("../../PLAN.md");
/// Begins the table of calls of MPI.
const MPI_TABLE: &str = "| number | Mpi | fields | what |\n|---|---|---|---|\n";
/// Begins the table of I/O operations.
const IO_TABLE: &str = "| number | Io | fields | what |\n|---|---|---|---|\n";

/// The rows of the table headed by `head`.
fn rows(head: &str) -> Vec<&'static str> {
    let (_, table) = DOCUMENT.split_once(head).unwrap_or_else(|| panic!("no table {head}"));
    table.lines().skip(2).take_while(|line| line.starts_with('|')).collect()
}

/// Asserts that the table headed by `kind` has a row for each of `values`, with its number, its name and its fields, and no other rows.
fn table<T: Debug>(kind: &str, values: &[T], number: impl Fn(&T) -> u8) {
    let rows = rows(kind);
    assert_eq!(rows.len(), values.len(), "rows of {kind}");
    for (value, row) in values.iter().zip(rows) {
        let shown = format!("{value:?}");
        let name = shown.split(' ').next().expect("a name");
        assert!(row.starts_with(&format!("| {} | `{name}` |", number(value))), "{shown} stands in {row}");
        let fields = shown.split_once('{').map_or("", |(_, fields)| fields);
        for field in fields.split(", ").filter_map(|field| field.split_once(':')) {
            assert!(row.contains(&format!("`{}`", field.0.trim())), "{} of {shown} in {row}", field.0);
        }
    }
}

/// The index of a variant, as written.
fn index<T: Serialize>(value: &T) -> u8 {
    postcard::to_stdvec(value).expect("written to memory")[0]
}

#[test]
fn magic_and_version() {
    assert!(DOCUMENT.contains(&format!("magic `{}`", MAGIC.escape_ascii())));
    assert!(DOCUMENT.contains(&format!("format **version {VERSION}**")));
    assert!(DOCUMENT.contains(&format!("| 8 | 4 | version, little endian: {VERSION} |")));
    assert!(DOCUMENT.contains(&format!("Repeats may be in each other, {MAX_DEPTH} deep")));
}

#[test]
fn every_variant_has_its_row() {
    table("| number | Op |", &OPS, syn_plan::Op::number);
    table("| number | Demand |", &DEMANDS, syn_plan::Demand::number);
    table("| index | Initial |", &INITIAL, index);
    table("| index | Rule |", &Rule::ALL, index);
    for rule in Rule::ALL {
        assert!(DOCUMENT.contains(&format!("| `{rule:?}` | `{rule}` |")), "{rule}");
    }
}

/// A table of operations, as the document should have it.
fn operations(head: &str, rows: &[Row], usual: &[&str]) -> String {
    let mut table = head.to_owned();
    for row in rows {
        let usual = |name: &str| usual.contains(&name);
        let field = |&(name, kind): &(&str, &str)| match usual(name) {
            true => format!("`{name}`"),
            false => format!("`{name}` {kind}"),
        };
        let fields: Vec<String> = row.fields.iter().map(field).collect();
        writeln!(table, "| {} | `{}` | {} | {} |", row.number, row.variant, fields.join(", "), row.what)
            .expect("written to memory");
    }
    table
}

/// With `SYN_BLESS` in the environment, the tables are written anew.
#[test]
fn the_tables_of_operations_are_those_of_the_code() {
    let io = operations(IO_TABLE, ROWS, &["file", "handle", "new", "from", "to", "target", "link"]);
    let mpi = operations(MPI_TABLE, MPI_ROWS, &["comm", "peer", "tag", "bytes", "request", "list", "root"]);
    let mut document = DOCUMENT.to_owned();
    for (head, table) in [(IO_TABLE, io), (MPI_TABLE, mpi)] {
        let (before, behind) = document.split_once(head).unwrap_or_else(|| panic!("no table {head}"));
        let behind = behind.split_once("\n\n").expect("a paragraph behind it").1;
        document = format!("{before}{table}\n{behind}");
    }
    if std::env::var_os("SYN_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/PLAN.md");
        std::fs::write(path, document).expect("written");
    } else {
        assert_eq!(DOCUMENT, document, "run with SYN_BLESS=1");
    }
}

#[test]
fn the_kinds_of_calls_are_those_of_the_code() {
    fn names<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> String {
        all.iter().map(|&kind| format!("`{}`", name(kind))).collect::<Vec<_>>().join(", ")
    }
    let kinds = [
        ("SendMode", names(SendMode::ALL, SendMode::name)),
        ("Completion", names(Completion::ALL, Completion::name)),
        ("Collective", names(Collective::ALL, Collective::name)),
        ("Creation", names(Creation::ALL, Creation::name)),
        ("Window", names(Window::ALL, Window::name)),
        ("Epoch", names(Epoch::ALL, Epoch::name)),
        ("Lock", names(Lock::ALL, Lock::name)),
        ("Access", names(Access::ALL, Access::name)),
        ("FileCall", names(FileCall::ALL, FileCall::name)),
        ("FileTransfer", names(FileTransfer::ALL, FileTransfer::name)),
    ];
    for (kind, names) in kinds {
        let row = format!("| `{kind}` | {names} |");
        assert!(DOCUMENT.contains(&row), "{row}");
    }
}

#[test]
fn the_sample_has_every_call() {
    let sampled: Vec<u8> = CALLS.iter().map(syn_plan::Io::number).collect();
    let numbers: Vec<u8> = ROWS.iter().map(|row| row.number).collect();
    assert_eq!(sampled, numbers);
    assert!(numbers.is_sorted_by(|one, next| one < next));
}

#[test]
fn every_field_of_the_head_has_its_row() {
    let plan = sample();
    let heads = [
        ("About", serde_json::to_value(&plan.about)),
        ("File", serde_json::to_value(&plan.files[0])),
        ("Attribute", serde_json::to_value(plan.attributes[0])),
        ("Thread", serde_json::to_value(&plan.programs[0].thread)),
        ("Balance", serde_json::to_value(&plan.programs[0].balance)),
        ("LeftOut", serde_json::to_value(&plan.about.left_out[0])),
    ];
    for (name, value) in heads {
        let (_, section) =
            DOCUMENT.split_once(&format!("### {name}\n")).unwrap_or_else(|| panic!("no part {name}"));
        let rows: Vec<&str> = section.lines().skip(3).take_while(|line| line.starts_with('|')).collect();
        let value = value.expect("as JSON");
        let fields = value.as_object().expect("fields");
        assert_eq!(rows.len(), fields.len(), "rows of {name}");
        for field in fields.keys() {
            assert!(rows.iter().any(|row| row.starts_with(&format!("| `{field}` |"))), "{field} of {name}");
        }
    }
}
