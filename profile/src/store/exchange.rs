//! Profiles as files for other programs, and back: JSON lines, CSV, Parquet. Nothing is lost in any of them.

use super::{Live, Store, parquet, rows};
use crate::profile::Profile;
use crate::sample::{Sample, WIDTH, are_columns, column_names};
use anyhow::{Context, bail};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// Kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One JSON value a line: the profile, then its samples as lists
    Json,
    /// The profile as JSON behind `#`, names of columns, then a line per sample
    Csv,
    /// A column per figure; the profile as JSON in the file's metadata
    Parquet,
}

/// In front of the profile in a CSV file.
const MARK: &str = "# syn-profile 3 ";
/// Of the version before, which has fewer columns.
const OLDER_MARK: &str = "# syn-profile 2 ";

impl Format {
    /// By the name of a file.
    pub fn of(path: &Path) -> Option<Format> {
        Some(match path.extension()?.to_str()? {
            "json" | "jsonl" => Format::Json,
            "csv" => Format::Csv,
            "parquet" => Format::Parquet,
            _ => return None,
        })
    }
}

/// The numbers of a sample, in the order of [`column_names`], without its blocks.
fn numbers(sample: &Sample) -> impl Iterator<Item = Option<u64>> {
    [Some(sample.end_ns), Some(sample.span_ns)].into_iter().chain(sample.values)
}

fn hex(sample: &Sample) -> String {
    rows::blocks_to_bytes(&sample.blocks).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn from_parts(numbers: &[Option<u64>], blocks: &str) -> anyhow::Result<Sample> {
    let (times, values) = numbers.split_at_checked(2).context("it has no times")?;
    let (Some(end_ns), Some(span_ns)) = (times[0], times[1]) else { bail!("it has no times") };
    let values = crate::profile::padded(values)
        .with_context(|| format!("it has {} numbers, and not {}", numbers.len(), WIDTH + 2))?;
    let byte = |at: usize| u8::from_str_radix(blocks.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..blocks.len()).step_by(2).map(byte).collect();
    let blocks =
        bytes.and_then(|bytes| rows::blocks_from_bytes(&bytes)).context("its sizes of calls are cut off")?;
    Ok(Sample { end_ns, span_ns, values, blocks })
}

impl Store {
    /// Writes a profile into a file.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn export(&self, profile: &Profile, format: Format, path: &Path) -> anyhow::Result<()> {
        let doing = || format!("cannot write {}", path.display());
        let file = File::create(path).with_context(doing)?;
        let head = serde_json::to_string(profile)?;
        let mut out = BufWriter::new(file);
        match format {
            Format::Parquet => return parquet::write(self, profile.id, &head, out).with_context(doing),
            Format::Json => {
                writeln!(out, "{head}").with_context(doing)?;
                self.samples(profile.id, |sample| {
                    let values: Vec<Option<u64>> = numbers(&sample).collect();
                    Ok(writeln!(out, "{}", serde_json::to_string(&(values, hex(&sample)))?)?)
                })
            }
            Format::Csv => {
                writeln!(out, "{MARK}{head}\n{}", column_names().join(",")).with_context(doing)?;
                self.samples(profile.id, |sample| {
                    let text = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
                    let values: Vec<String> = numbers(&sample).map(text).collect();
                    Ok(writeln!(out, "{},{}", values.join(","), hex(&sample))?)
                })
            }
        }
        .with_context(doing)?;
        out.flush().with_context(doing)
    }

    /// Reads a profile from a file, into the store; its number there.
    ///
    /// # Errors
    /// When the file is not such a one, or the store cannot be written.
    pub fn import(&mut self, format: Format, path: &Path) -> anyhow::Result<i64> {
        let doing = || format!("cannot read {}", path.display());
        let file = File::open(path).with_context(doing)?;
        if format == Format::Parquet {
            let (head, samples) = parquet::read(file).with_context(doing)?;
            return self.take(&head, samples.into_iter().map(Ok)).with_context(doing);
        }
        let mut lines = BufReader::new(file).lines();
        let first = lines.next().context("the file is empty").with_context(doing)??;
        let csv = format == Format::Csv;
        let marked = [MARK, OLDER_MARK].iter().find_map(|mark| first.strip_prefix(mark));
        let head = match (csv, marked) {
            (true, None) => bail!(
                "cannot read {}: it does not begin with `{}`, as exported CSV files do",
                path.display(),
                MARK.trim_end()
            ),
            (true, Some(head)) => head.to_owned(),
            (false, _) => first,
        };
        // All samples have as many columns as the names say, or the first one.
        let mut width = None;
        if csv {
            let names = lines.next().transpose()?.unwrap_or_default();
            if !are_columns(&names.split(',').collect::<Vec<_>>()) {
                bail!("cannot read {}: its columns are not those of this version", path.display());
            }
            width = Some(names.split(',').count() - 1);
        }
        let samples = lines.enumerate().map(|(number, line)| {
            let line = line?;
            let mut parse = || -> anyhow::Result<Sample> {
                let (numbers, blocks) = if csv { from_csv(&line)? } else { from_json(&line)? };
                let width = *width.get_or_insert(numbers.len());
                if numbers.len() != width {
                    bail!("it has {} numbers, and not {width}", numbers.len());
                }
                from_parts(&numbers, &blocks)
            };
            parse().with_context(|| format!("sample {} is not well-formed", number + 1))
        });
        self.take(&head, samples).with_context(doing)
    }

    fn take(
        &mut self,
        head: &str,
        samples: impl Iterator<Item = anyhow::Result<Sample>>,
    ) -> anyhow::Result<i64> {
        let profile: Profile = serde_json::from_str(head).context("no profile at its beginning")?;
        let mut live = Live::begin(self, &profile.head)?;
        for sample in samples {
            match sample {
                Ok(sample) => live.add(sample),
                Err(error) => {
                    live.give_up();
                    return Err(error);
                }
            }
        }
        let id = live.id();
        live.finish(&profile.tail)?;
        Ok(id)
    }
}

/// The numbers of a sample, and its blocks.
type Parts = (Vec<Option<u64>>, String);

fn from_json(line: &str) -> anyhow::Result<Parts> {
    Ok(serde_json::from_str(line)?)
}

fn from_csv(line: &str) -> anyhow::Result<Parts> {
    let (numbers, blocks) = line.rsplit_once(',').context("it is one cell")?;
    let number = |cell: &str| match cell {
        "" => Ok(None),
        cell => cell.parse().map(Some).with_context(|| format!("{cell:?} is no number")),
    };
    Ok((numbers.split(',').map(number).collect::<anyhow::Result<_>>()?, blocks.to_owned()))
}
