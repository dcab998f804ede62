//! Reading a profile's rows.

use super::{Result, blocks_from_bytes};
use crate::metrics::{Metric, Metrics};
use crate::profile::{FileRow, Head, Outcome, ProcessRow, Profile, Source, Tail};
use crate::sample::{Block, BlockKind, COLUMNS, Sample, WIDTH};
use rusqlite::types::Type;
use rusqlite::{Connection, Row};

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
            block_of(row, 0)
        })?,
        files: files(base, id)?,
    };
    Ok(Profile { id, head, tail })
}

const PROCESSES: &str =
    "SELECT pid, ppid, name, first_ns, last_ns, cpu_ns, read_bytes, write_bytes, peak_bytes, threads
    FROM process WHERE profile = ? ORDER BY number";
const FILES: &str = "SELECT path, system, read_bytes, write_bytes, reads, writes, number FROM file WHERE profile = ? ORDER BY number";
const FILE_BLOCKS: &str =
    "SELECT file, kind, bin, count, bytes FROM file_block WHERE profile = ? ORDER BY file, kind, bin";

fn files(base: &Connection, id: i64) -> Result<Vec<FileRow>> {
    let mut files = rows(base, FILES, id, |row| {
        let file = FileRow {
            path: row.get(0)?,
            system: row.get(1)?,
            bytes: [unsigned(row, 2)?, unsigned(row, 3)?],
            calls: [unsigned(row, 4)?, unsigned(row, 5)?],
            blocks: Vec::new(),
        };
        Ok((row.get(6)?, file))
    })?;
    for (file, block) in rows(base, FILE_BLOCKS, id, |row| Ok((row.get::<_, i64>(0)?, block_of(row, 1)?)))? {
        if let Ok(place) = files.binary_search_by_key(&file, |(number, _)| *number) {
            files[place].1.blocks.push(block);
        }
    }
    Ok(files.into_iter().map(|(_, file)| file).collect())
}

/// Kind, bin, count and bytes from this column on.
fn block_of(row: &Row<'_>, at: usize) -> Result<Block> {
    let kind = BlockKind::ALL.get(row.get::<_, usize>(at)?).copied().unwrap_or(BlockKind::Read);
    Ok(Block { kind, bin: row.get(at + 1)?, count: unsigned(row, at + 2)?, bytes: unsigned(row, at + 3)? })
}

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
