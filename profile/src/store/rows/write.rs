//! Writing a profile's rows.

use super::{BLOCK_BYTES, Result};
use crate::metrics::Metrics;
use crate::profile::{FileRow, Head, Outcome, Source, Tail};
use crate::sample::{Block, COLUMNS, Field, Sample, WIDTH};
use rusqlite::{Connection, params, params_from_iter};

/// Makes the profile's first row; its number.
pub fn insert_head(base: &Connection, head: &Head) -> Result<i64> {
    let source = if head.source == Source::Sampled { "sampled" } else { "recorded" };
    base.execute(
        "INSERT INTO profile (command, started_ns, rate, source, machine) VALUES (?, ?, ?, ?, ?)",
        params![command_text(&head.command), head.started_ns, head.rate, source, head.machine],
    )?;
    let id = base.last_insert_rowid();
    for (key, value) in &head.tags {
        base.execute("INSERT INTO tag VALUES (?, ?, ?)", params![id, key, value])?;
    }
    Ok(id)
}

/// The words of a command, as the store compares them.
pub fn command_text(words: &[String]) -> String {
    serde_json::to_string(words).unwrap_or_default()
}

/// What is known at the end.
pub fn insert_tail(base: &Connection, id: i64, tail: &Tail) -> Result<()> {
    let (outcome, status) = match tail.outcome {
        Outcome::Unfinished => (None, None),
        Outcome::Exited(code) => (Some("exited"), Some(code)),
        Outcome::Killed(signal) => (Some("killed"), Some(signal)),
        Outcome::Unknown => (Some("unknown"), None),
    };
    base.execute(
        "UPDATE profile SET wall_ns = ?, outcome = ?, status = ? WHERE id = ?",
        params![tail.wall_ns as i64, outcome, status, id],
    )?;
    for (column, value) in COLUMNS.iter().zip(tail.totals) {
        if let Some(value) = value {
            base.execute("INSERT INTO total VALUES (?, ?, ?)", params![id, column.name, value as i64])?;
        }
    }
    for (number, metric) in tail.metrics.rows.iter().enumerate() {
        base.execute(
            "INSERT INTO metric VALUES (?, ?, ?, ?, ?, ?)",
            params![id, number as i64, metric.name, metric.unit, metric.value, metric.how],
        )?;
    }
    for (number, note) in tail.metrics.notes.iter().enumerate() {
        base.execute("INSERT INTO note VALUES (?, ?, ?)", params![id, number as i64, note])?;
    }
    for (number, row) in tail.processes.iter().enumerate() {
        let [first, last] = row.seen_ns.map(|ns| ns as i64);
        let bytes = |place: usize| row.bytes.map(|bytes| bytes[place] as i64);
        base.execute(
            "INSERT INTO process VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                id,
                number as i64,
                row.pid,
                row.ppid,
                row.name,
                first,
                last,
                row.cpu_ns as i64,
                bytes(0),
                bytes(1),
                row.peak_bytes as i64,
                row.threads as i64
            ],
        )?;
    }
    insert_blocks(base, id, &tail.blocks)?;
    insert_files(base, id, &tail.files)
}

/// Metrics and notes behind those that are there; of one name there is one metric.
pub fn add_metrics(base: &Connection, id: i64, metrics: &Metrics) -> Result<()> {
    for metric in &metrics.rows {
        base.execute("DELETE FROM metric WHERE profile = ? AND name = ?", params![id, metric.name])?;
        base.execute(
            "INSERT INTO metric SELECT ?1, 1 + (SELECT ifnull(max(number), -1) FROM metric WHERE profile = ?1), ?2, ?3, ?4, ?5",
            params![id, metric.name, metric.unit, metric.value, metric.how],
        )?;
    }
    for note in &metrics.notes {
        base.execute(
            "INSERT INTO note SELECT ?1, 1 + (SELECT ifnull(max(number), -1) FROM note WHERE profile = ?1), ?2",
            params![id, note],
        )?;
    }
    Ok(())
}

/// Sizes of calls.
pub fn insert_blocks(base: &Connection, id: i64, blocks: &[Block]) -> Result<()> {
    for block in blocks {
        base.execute(
            "INSERT INTO block VALUES (?, ?, ?, ?, ?)",
            params![id, block.kind as i64, block.bin, block.count as i64, block.bytes as i64],
        )?;
    }
    Ok(())
}

/// Files and connections.
pub fn insert_files(base: &Connection, id: i64, files: &[FileRow]) -> Result<()> {
    for (number, file) in files.iter().enumerate() {
        let [read, write, reads, writes] =
            [file.bytes[0], file.bytes[1], file.calls[0], file.calls[1]].map(|value| value as i64);
        base.execute(
            "INSERT INTO file VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            params![id, number as i64, file.path, file.system, read, write, reads, writes],
        )?;
        let mut insert = base.prepare_cached("INSERT INTO file_block VALUES (?, ?, ?, ?, ?, ?)")?;
        for block in &file.blocks {
            let (count, bytes) = (block.count as i64, block.bytes as i64);
            insert.execute(params![id, number as i64, block.kind as i64, block.bin, count, bytes])?;
        }
    }
    Ok(())
}

/// Takes away files and connections that are there: others come in their place.
pub fn remove_files(base: &Connection, id: i64) -> Result<()> {
    base.execute("DELETE FROM file_block WHERE profile = ?", [id])?;
    base.execute("DELETE FROM file WHERE profile = ?", [id])?;
    Ok(())
}

/// Columns of samples that are there, by number; what has no value stays.
pub fn amend_samples(base: &Connection, id: i64, values: &[(u64, Field, u64)]) -> Result<()> {
    for &(number, field, value) in values {
        let column = COLUMNS[field as usize].name;
        let mut update =
            base.prepare_cached(&format!("UPDATE sample SET {column} = ? WHERE profile = ? AND number = ?"))?;
        update.execute(params![value as i64, id, number as i64])?;
    }
    Ok(())
}

/// Sizes of the calls in samples that are there, by number.
pub fn amend_blocks(base: &Connection, id: i64, samples: &[(u64, Vec<Block>)]) -> Result<()> {
    let mut update = base.prepare("UPDATE sample SET blocks = ? WHERE profile = ? AND number = ?")?;
    for (number, blocks) in samples {
        update.execute(params![blocks_to_bytes(blocks), id, *number as i64])?;
    }
    Ok(())
}

/// Totals of columns that had none.
pub fn insert_totals(base: &Connection, id: i64, totals: &[(Field, u64)]) -> Result<()> {
    for &(field, value) in totals {
        let name = COLUMNS[field as usize].name;
        base.execute("INSERT OR REPLACE INTO total VALUES (?, ?, ?)", params![id, name, value as i64])?;
    }
    Ok(())
}

/// Samples of a profile, numbered from `first` on.
pub fn insert_samples(base: &Connection, id: i64, first: u64, samples: &[Sample]) -> Result<()> {
    let columns: String = COLUMNS.iter().map(|column| format!("{}, ", column.name)).collect();
    let places = vec!["?"; WIDTH + 5].join(", ");
    let mut insert = base.prepare_cached(&format!(
        "INSERT INTO sample (profile, number, end_ns, span_ns, {columns}blocks) VALUES ({places})"
    ))?;
    for (number, sample) in (first..).zip(samples) {
        let numbers = [id as u64, number, sample.end_ns, sample.span_ns].map(Some);
        let values = numbers.into_iter().chain(sample.values).map(|value| match value {
            Some(value) => rusqlite::types::Value::Integer(value as i64),
            None => rusqlite::types::Value::Null,
        });
        let blocks = match blocks_to_bytes(&sample.blocks) {
            bytes if bytes.is_empty() => rusqlite::types::Value::Null,
            bytes => rusqlite::types::Value::Blob(bytes),
        };
        insert.execute(params_from_iter(values.chain([blocks])))?;
    }
    Ok(())
}

/// Kind and bin a byte each, count and bytes as 8 bytes little endian.
pub fn blocks_to_bytes(blocks: &[Block]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(blocks.len() * BLOCK_BYTES);
    for block in blocks {
        bytes.extend([block.kind as u8, block.bin]);
        bytes.extend(block.count.to_le_bytes());
        bytes.extend(block.bytes.to_le_bytes());
    }
    bytes
}
