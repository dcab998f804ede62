//! Samples as a Parquet file: one optional 64-bit column per figure, the profile in the file's metadata.

use super::{Store, rows};
use crate::sample::{Sample, WIDTH, are_columns, column_names};
use anyhow::{Context, ensure};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

/// Key of the profile in the metadata.
const KEY: &str = "syn-profile";
/// Samples that lie together.
const GROUP: usize = 1 << 16;

/// Writes the samples of profile `id`.
pub fn write(store: &Store, id: i64, head: &str, out: impl Write + Send) -> anyhow::Result<()> {
    let kind = |name: &&str| if *name == "blocks" { "BYTE_ARRAY" } else { "INT64" };
    let fields: String =
        column_names().iter().map(|name| format!("OPTIONAL {} {name}; ", kind(name))).collect();
    let schema = Arc::new(parse_message_type(&format!("message sample {{ {fields} }}"))?);
    let metadata = Some(vec![KeyValue::new(KEY.into(), head.to_owned())]);
    let properties = WriterProperties::builder().set_key_value_metadata(metadata).build();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    let mut waiting = Vec::with_capacity(GROUP);
    store.samples(id, |sample| {
        waiting.push(sample);
        if waiting.len() == GROUP { group(&mut writer, &mut waiting) } else { Ok(()) }
    })?;
    if !waiting.is_empty() {
        group(&mut writer, &mut waiting)?;
    }
    writer.close()?;
    Ok(())
}

fn group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    samples: &mut Vec<Sample>,
) -> anyhow::Result<()> {
    let mut group = writer.next_row_group()?;
    for place in 0..WIDTH + 2 {
        let value = |sample: &Sample| match place {
            0 => Some(sample.end_ns),
            1 => Some(sample.span_ns),
            _ => sample.values[place - 2],
        };
        let there: Vec<i16> = samples.iter().map(|sample| i16::from(value(sample).is_some())).collect();
        let values: Vec<i64> = samples.iter().filter_map(value).map(|value| value as i64).collect();
        let mut column = group.next_column()?.context("the schema has as many columns")?;
        column.typed::<Int64Type>().write_batch(&values, Some(&there), None)?;
        column.close()?;
    }
    let there: Vec<i16> = samples.iter().map(|sample| i16::from(!sample.blocks.is_empty())).collect();
    let with_blocks = samples.iter().filter(|sample| !sample.blocks.is_empty());
    let values: Vec<ByteArray> =
        with_blocks.map(|sample| rows::blocks_to_bytes(&sample.blocks).into()).collect();
    let mut column = group.next_column()?.context("the schema has as many columns")?;
    column.typed::<ByteArrayType>().write_batch(&values, Some(&there), None)?;
    column.close()?;
    group.close()?;
    samples.clear();
    Ok(())
}

/// The profile and its samples.
pub fn read(file: File) -> anyhow::Result<(String, Vec<Sample>)> {
    let reader = SerializedFileReader::new(file)?;
    let metadata = reader.metadata().file_metadata().key_value_metadata();
    let head = metadata.and_then(|pairs| pairs.iter().find(|pair| pair.key == KEY)?.value.clone());
    let head = head.context("it has no profile in its metadata")?;
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
    ensure!(are_columns(&names), "its columns are not those of this version");
    let mut samples = Vec::new();
    for row in reader.get_row_iter(None)? {
        let row = row?;
        let mut sample = Sample::default();
        for (name, field) in row.get_column_iter() {
            match (name.as_str(), field) {
                ("end_ns", Field::Long(value)) => sample.end_ns = *value as u64,
                ("span_ns", Field::Long(value)) => sample.span_ns = *value as u64,
                ("blocks", Field::Bytes(bytes)) => {
                    sample.blocks = rows::blocks_from_bytes(bytes.data()).context("blocks are cut off")?;
                }
                (name, Field::Long(value)) => {
                    let place = crate::sample::COLUMNS.iter().position(|column| column.name == name);
                    sample.values[place.context("an unknown column")?] = Some(*value as u64);
                }
                (_, Field::Null) => {}
                (name, _) => anyhow::bail!("column {name} has another type"),
            }
        }
        samples.push(sample);
    }
    Ok((head, samples))
}
