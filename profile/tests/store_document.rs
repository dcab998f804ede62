//! `STORE.md` and the store say the same: neither changes without the other.

use std::path::Path;
use syn_profile::sample::COLUMNS;
use syn_profile::store::{Store, schema};

/// Names and types of a table's columns, as the document has them.
fn documented(text: &str, table: &str) -> Vec<(String, String)> {
    let head = format!("### `{table}`");
    let section = text.split(&head).nth(1).unwrap_or_else(|| panic!("a section about {table}"));
    let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let cells = rows.take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        (cells[1].trim_matches('`').to_owned(), cells[2].to_owned())
    });
    cells.collect()
}

#[test]
fn every_table_is_documented_column_by_column() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = folder.path().join("store.db");
    Store::open(&path).expect("a new store");
    let base = rusqlite::Connection::open(&path).expect("a database");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("STORE.md"))
        .expect("the document");
    let mut query = base
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        .expect("a query");
    let tables: Vec<String> =
        query.query_map([], |row| row.get(0)).expect("tables").collect::<Result<_, _>>().expect("names");
    assert_eq!(text.matches("### `").count(), tables.len());
    for table in tables {
        let mut query = base.prepare(&format!("PRAGMA table_info({table})")).expect("a query");
        let columns = query.query_map([], |row| Ok((row.get(1)?, row.get(2)?))).expect("columns");
        let columns: Vec<(String, String)> = columns.collect::<Result<_, _>>().expect("names and types");
        assert_eq!(columns, documented(&text, &table), "{table}");
    }
}

#[test]
fn versions_and_meanings_are_those_of_the_code() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("STORE.md"))
        .expect("the document");
    assert!(text.starts_with(&format!("# The store of profiles, version {}\n", schema::VERSION)));
    assert!(text.contains(&format!("`{:#x}`", schema::APPLICATION)));
    for column in COLUMNS {
        let level = if column.level { "level at the end: " } else { "" };
        assert!(
            text.contains(&format!("| `{}` | INTEGER | {level}{} |", column.name, column.about)),
            "{}",
            column.name
        );
    }
}
