//! `PLAN.md` says what the code does.

use crate::sample::{CALLS, INITIAL, OPS, sample};
use serde::Serialize;
use std::fmt::Debug;
use syn_plan::{MAGIC, Rule, VERSION};

const DOCUMENT: &str = include_str!("../../PLAN.md");

/// Asserts that the table headed by `kind` has a row for each of `values`, with its number in a file, its name and
/// its fields, and no other rows.
fn table<T: Serialize + Debug>(kind: &str, values: &[T]) {
    let head = format!("| index | {kind} |");
    let (_, table) = DOCUMENT.split_once(&head).unwrap_or_else(|| panic!("no table of {kind}"));
    let rows: Vec<&str> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), values.len(), "rows of {kind}");
    for value in values {
        let index = serialized(value)[0];
        let shown = format!("{value:?}");
        let name = shown.split(' ').next().expect("a name");
        let row = rows[usize::from(index)];
        assert!(row.starts_with(&format!("| {index} | `{name}` |")), "{shown} stands in {row}");
        let fields = shown.split_once('{').map_or("", |(_, fields)| fields);
        let fields =
            fields.split(", ").filter_map(|field| field.split_once(':')).map(|(field, _)| field.trim());
        for field in fields.filter(|field| field.chars().all(|letter| letter.is_lowercase() || letter == '_'))
        {
            assert!(
                kind == "Op" && name == "Io" || row.contains(&format!("`{field}`")),
                "{field} of {shown} in {row}"
            );
        }
    }
}

fn serialized<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("written to memory")
}

#[test]
fn magic_and_version() {
    assert!(DOCUMENT.contains(&format!("magic `{}`", MAGIC.escape_ascii())));
    assert!(DOCUMENT.contains(&format!("format **version {VERSION}**")));
    assert!(DOCUMENT.contains(&format!("| 8 | 4 | version, little endian: {VERSION} |")));
}

#[test]
fn every_variant_has_its_row() {
    table("Io", &CALLS);
    table("Op", &OPS);
    table("Initial", &INITIAL);
    table("Rule", &Rule::ALL);
    for rule in Rule::ALL {
        assert!(DOCUMENT.contains(&format!("| `{rule:?}` | `{rule}` |")), "{rule}");
    }
}

/// Every variant of [`syn_plan::Io`] is in the sample: their numbers follow each other, and the next one is none.
#[test]
fn the_sample_has_every_call() {
    for (number, call) in CALLS.iter().enumerate() {
        assert_eq!(usize::from(serialized(call)[0]), number);
    }
    let mut next = serialized(&CALLS[0]);
    next[0] = CALLS.len() as u8;
    next.extend([0; 32]);
    assert!(postcard::from_bytes::<syn_plan::Io>(&next).is_err());
}

#[test]
fn every_field_of_the_head_has_its_row() {
    let plan = sample();
    let heads = [
        ("About", serde_json::to_value(&plan.about)),
        ("File", serde_json::to_value(&plan.files[0])),
        ("Attribute", serde_json::to_value(plan.attributes[0])),
        ("Edge", serde_json::to_value(plan.edges[0])),
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
