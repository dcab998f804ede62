//! A profile's rows: one place that writes each table, one that reads it.

use crate::metrics::{Metric, Metrics};
use crate::profile::{FileRow, Head, Outcome, ProcessRow, Profile, Source, Tail};
use crate::sample::{Block, BlockKind, COLUMNS, Field, Sample, WIDTH};
use rusqlite::types::Type;
use rusqlite::{Connection, Row, params, params_from_iter};

type Result<T> = rusqlite::Result<T>;

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

/// Metrics behind those that are there; of one name there is one.
pub fn add_metrics(base: &Connection, id: i64, metrics: &Metrics) -> Result<()> {
    for metric in &metrics.rows {
        base.execute("DELETE FROM metric WHERE profile = ? AND name = ?", params![id, metric.name])?;
        base.execute(
            "INSERT INTO metric SELECT ?1, 1 + (SELECT ifnull(max(number), -1) FROM metric WHERE profile = ?1), ?2, ?3, ?4, ?5",
            params![id, metric.name, metric.unit, metric.value, metric.how],
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
    }
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

const BLOCK_BYTES: usize = 18;

/// None when they are cut off, or of a kind that does not exist.
pub fn blocks_from_bytes(bytes: &[u8]) -> Option<Vec<Block>> {
    let whole = bytes.len().is_multiple_of(BLOCK_BYTES);
    whole.then(|| bytes.chunks_exact(BLOCK_BYTES).map(block).collect())?
}

fn block(bytes: &[u8]) -> Option<Block> {
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    Some(Block {
        kind: *BlockKind::ALL.get(usize::from(bytes[0]))?,
        bin: bytes[1],
        count: number(2)?,
        bytes: number(10)?,
    })
}

/// The sample in a row of `SELECT end_ns, span_ns, columns…, blocks`.
pub fn sample(row: &Row<'_>) -> Result<Sample> {
    let mut sample = Sample { end_ns: unsigned(row, 0)?, span_ns: unsigned(row, 1)?, ..Sample::default() };
    for (place, value) in sample.values.iter_mut().enumerate() {
        *value = row.get::<_, Option<i64>>(place + 2)?.map(|value| value as u64);
    }
    if let Some(bytes) = row.get::<_, Option<Vec<u8>>>(WIDTH + 2)? {
        let wrong = || rusqlite::Error::InvalidColumnType(WIDTH + 2, "blocks".into(), Type::Blob);
        sample.blocks = blocks_from_bytes(&bytes).ok_or_else(wrong)?;
    }
    Ok(sample)
}

fn unsigned(row: &Row<'_>, place: usize) -> Result<u64> {
    row.get::<_, i64>(place).map(|value| value as u64)
}

/// A whole profile but its samples.
pub fn profile(base: &Connection, id: i64) -> Result<Profile> {
    let (mut head, wall_ns, outcome) = base.query_row(
        "SELECT command, started_ns, rate, source, machine, wall_ns, outcome, status FROM profile WHERE id = ?",
        [id],
        |row| {
            let head = Head {
                command: serde_json::from_str(&row.get::<_, String>(0)?).unwrap_or_default(),
                tags: Default::default(),
                started_ns: row.get(1)?,
                rate: row.get(2)?,
                source: if row.get::<_, String>(3)? == "recorded" { Source::Recorded } else { Source::Sampled },
                machine: row.get(4)?,
            };
            let status = row.get::<_, Option<i32>>(7)?.unwrap_or(-1);
            let outcome = match row.get::<_, Option<String>>(6)?.as_deref() {
                Some("exited") => Outcome::Exited(status),
                Some("killed") => Outcome::Killed(status),
                Some(_) => Outcome::Unknown,
                None => Outcome::Unfinished,
            };
            Ok((head, row.get::<_, Option<i64>>(5)?, outcome))
        },
    )?;
    head.tags =
        rows(base, "SELECT key, value FROM tag WHERE profile = ?", id, |row| Ok((row.get(0)?, row.get(1)?)))?
            .into_iter()
            .collect();
    let mut totals = [None; WIDTH];
    for (name, value) in rows(base, "SELECT name, value FROM total WHERE profile = ?", id, |row| {
        Ok((row.get::<_, String>(0)?, unsigned(row, 1)?))
    })? {
        if let Some(place) = COLUMNS.iter().position(|column| column.name == name) {
            totals[place] = Some(value);
        }
    }
    let metrics = Metrics {
        rows: rows(
            base,
            "SELECT name, unit, value, how FROM metric WHERE profile = ? ORDER BY number",
            id,
            |row| Ok(Metric { name: row.get(0)?, unit: row.get(1)?, value: row.get(2)?, how: row.get(3)? }),
        )?,
        notes: rows(base, "SELECT text FROM note WHERE profile = ? ORDER BY number", id, |row| row.get(0))?,
    };
    let last = || {
        base.query_row("SELECT max(end_ns) FROM sample WHERE profile = ?", [id], |row| {
            row.get::<_, Option<i64>>(0)
        })
    };
    // Of a profile that was never finished the samples tell how long it was.
    let wall_ns = match wall_ns {
        Some(wall_ns) => wall_ns,
        None => last()?.unwrap_or(0),
    };
    let tail = Tail {
        wall_ns: wall_ns as u64,
        outcome,
        totals,
        metrics,
        processes: rows(base, PROCESSES, id, process)?,
        blocks: rows(base, "SELECT kind, bin, count, bytes FROM block WHERE profile = ?", id, |row| {
            let kind = BlockKind::ALL.get(row.get::<_, usize>(0)?).copied().unwrap_or(BlockKind::Read);
            Ok(Block { kind, bin: row.get(1)?, count: unsigned(row, 2)?, bytes: unsigned(row, 3)? })
        })?,
        files: rows(base, FILES, id, |row| {
            Ok(FileRow {
                path: row.get(0)?,
                system: row.get(1)?,
                bytes: [unsigned(row, 2)?, unsigned(row, 3)?],
                calls: [unsigned(row, 4)?, unsigned(row, 5)?],
            })
        })?,
    };
    Ok(Profile { id, head, tail })
}

const PROCESSES: &str =
    "SELECT pid, ppid, name, first_ns, last_ns, cpu_ns, read_bytes, write_bytes, peak_bytes, threads
    FROM process WHERE profile = ? ORDER BY number";
const FILES: &str =
    "SELECT path, system, read_bytes, write_bytes, reads, writes FROM file WHERE profile = ? ORDER BY number";

fn process(row: &Row<'_>) -> Result<ProcessRow> {
    let bytes = (row.get::<_, Option<i64>>(6)?, row.get::<_, Option<i64>>(7)?);
    Ok(ProcessRow {
        pid: row.get(0)?,
        ppid: row.get(1)?,
        name: row.get(2)?,
        seen_ns: [unsigned(row, 3)?, unsigned(row, 4)?],
        cpu_ns: unsigned(row, 5)?,
        bytes: bytes.0.zip(bytes.1).map(|(read, write)| [read as u64, write as u64]),
        peak_bytes: unsigned(row, 8)?,
        threads: unsigned(row, 9)?,
    })
}

fn rows<T>(
    base: &Connection,
    query: &str,
    id: i64,
    mut take: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    base.prepare_cached(query)?.query_map([id], |row| take(row))?.collect()
}
