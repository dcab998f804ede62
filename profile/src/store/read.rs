//! Finding profiles, reading and removing them.

use super::{Store, StoreError, rows};
use crate::metrics::Metrics;
use crate::profile::{FileRow, Profile};
use crate::sample::{Block, COLUMNS, Field, Sample};
use rusqlite::TransactionBehavior;
use std::collections::BTreeMap;

/// Which profiles are meant.
#[derive(Clone, Debug, Default)]
pub struct Selector {
    /// The one with this number.
    pub id: Option<i64>,
    /// Those of this command; of recorded runs, those whose words make the same line.
    pub command: Option<Vec<String>>,
    /// Those with all of these tags.
    pub tags: BTreeMap<String, String>,
}

/// What is added to a profile that is there.
#[derive(Clone, Debug, Default)]
pub struct Amendment {
    /// Metrics, before which those that it has under the same name give way, and notes.
    pub metrics: Metrics,
    /// Sizes of calls.
    pub blocks: Vec<Block>,
    /// Files and connections, in the place of those that are there, unless there are none.
    pub files: Vec<FileRow>,
    /// Values of its samples, by number.
    pub samples: Vec<(u64, Field, u64)>,
    /// Sizes of the calls in its samples, by number.
    pub sample_blocks: Vec<(u64, Vec<Block>)>,
    /// Totals of the same columns.
    pub totals: Vec<(Field, u64)>,
}

impl Store {
    /// The profiles that fit, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn find(&self, selector: &Selector) -> Result<Vec<Profile>, StoreError> {
        let read = || -> rusqlite::Result<Vec<Profile>> {
            let mut query = self.base.prepare_cached(
                "SELECT id FROM profile WHERE (?1 IS NULL OR id = ?1)
                 AND (?2 IS NULL OR command = ?2 OR source = 'recorded' AND command = ?3) ORDER BY id",
            )?;
            let words = selector.command.as_deref();
            let command = words.map(rows::command_text);
            let line = words.map(|words| rows::command_text(&[words.join(" ")]));
            let ids: Vec<i64> = query
                .query_map((selector.id, command, line), |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            let profiles = ids.into_iter().map(|id| rows::profile(&self.base, id));
            let fits = |profile: &Profile| {
                selector.tags.iter().all(|(key, value)| profile.head.tags.get(key) == Some(value))
            };
            profiles.filter(|profile| profile.as_ref().map_or(true, fits)).collect()
        };
        read().map_err(|cause| self.told(cause))
    }

    /// Goes through the samples of a profile in order, one at a time in memory.
    ///
    /// # Errors
    /// When the store cannot be read, or `take` fails.
    pub fn samples(&self, id: i64, mut take: impl FnMut(Sample) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let columns: String = COLUMNS.iter().map(|column| format!("{}, ", column.name)).collect();
        let text =
            format!("SELECT end_ns, span_ns, {columns}blocks FROM sample WHERE profile = ? ORDER BY number");
        let mut query = self.base.prepare_cached(&text).map_err(|cause| self.told(cause))?;
        let mut found = query.query([id]).map_err(|cause| self.told(cause))?;
        while let Some(row) = found.next().map_err(|cause| self.told(cause))? {
            take(rows::sample(row).map_err(|cause| self.told(cause))?)?;
        }
        Ok(())
    }

    /// All samples of a profile.
    ///
    /// # Errors
    /// As [`Store::samples`].
    pub fn all_samples(&self, id: i64) -> anyhow::Result<Vec<Sample>> {
        let mut all = Vec::new();
        self.samples(id, |sample| {
            all.push(sample);
            Ok(())
        })?;
        Ok(all)
    }

    /// Number of samples of a profile.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn sample_count(&self, id: i64) -> Result<u64, StoreError> {
        let count = self
            .base
            .query_row("SELECT count(*) FROM sample WHERE profile = ?", [id], |row| row.get::<_, i64>(0));
        count.map(|count| count as u64).map_err(|cause| self.told(cause))
    }

    /// The machine's probes that a profile of it has, of the newest.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn probes_of(&self, machine: &str, not_before_ns: i64) -> Result<Option<i64>, StoreError> {
        let found = self.base.query_row(
            "SELECT max(p.id) FROM profile p WHERE machine = ? AND started_ns >= ?
             AND EXISTS (SELECT 1 FROM metric m WHERE m.profile = p.id AND m.name LIKE 'probe.%')",
            (machine, not_before_ns),
            |row| row.get(0),
        );
        found.map_err(|cause| self.told(cause))
    }

    /// Gives a profile without probes of its machine those that another one of that machine has.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn add_probes_to(&self, profile: &mut Profile) -> Result<(), StoreError> {
        if profile.tail.metrics.get("probe.mixed").is_some() {
            return Ok(());
        }
        let Some(other) = self.probes_of(&profile.head.machine, 0)? else { return Ok(()) };
        let other = self.find(&Selector { id: Some(other), ..Selector::default() })?;
        let rows = other.into_iter().flat_map(|profile| profile.tail.metrics.rows);
        profile.tail.metrics.rows.extend(rows.filter(|metric| metric.name.starts_with("probe.")));
        Ok(())
    }

    /// Adds metrics to a profile; those that it has under the same name give way.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn add_metrics(&mut self, id: i64, metrics: &Metrics) -> Result<(), StoreError> {
        self.amend(id, &Amendment { metrics: metrics.clone(), ..Amendment::default() })
    }

    /// Adds what was found out afterwards.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn amend(&mut self, id: i64, more: &Amendment) -> Result<(), StoreError> {
        let mut change = || -> rusqlite::Result<()> {
            let change = self.base.transaction_with_behavior(TransactionBehavior::Immediate)?;
            rows::add_metrics(&change, id, &more.metrics)?;
            rows::insert_blocks(&change, id, &more.blocks)?;
            if !more.files.is_empty() {
                rows::remove_files(&change, id)?;
            }
            rows::insert_files(&change, id, &more.files)?;
            rows::amend_samples(&change, id, &more.samples)?;
            rows::amend_blocks(&change, id, &more.sample_blocks)?;
            rows::insert_totals(&change, id, &more.totals)?;
            change.commit()
        };
        let done = change();
        done.map_err(|cause| self.told(cause))
    }

    /// Removes a profile with all that belongs to it. True when it was there.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn remove(&self, id: i64) -> Result<bool, StoreError> {
        let removed = self.base.execute("DELETE FROM profile WHERE id = ?", [id]);
        removed.map(|count| count > 0).map_err(|cause| self.told(cause))
    }
}
