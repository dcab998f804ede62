//! A profile that is being written: samples come in while the command runs, so that nothing is lost with the profiler
//! but the last second.

use super::{PATIENCE, Store, StoreError, rows};
use crate::profile::{Head, Tail};
use crate::sample::Sample;
use rusqlite::TransactionBehavior;
use std::time::{Duration, Instant};

/// So many samples wait in memory, or for so long.
const WAITING: usize = 512;
const WAITING_FOR: Duration = Duration::from_secs(2);
/// The command is not to be looked at less because somebody else writes.
const SHORT_PATIENCE: Duration = Duration::from_millis(5);

/// See the module.
#[derive(Debug)]
pub struct Live<'a> {
    store: &'a mut Store,
    id: i64,
    written: u64,
    waiting: Vec<Sample>,
    since: Instant,
}

impl Live<'_> {
    /// Begins a profile.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn begin<'a>(store: &'a mut Store, head: &Head) -> Result<Live<'a>, StoreError> {
        let begun = || -> rusqlite::Result<i64> {
            let change = store.base.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let id = rows::insert_head(&change, head)?;
            change.commit()?;
            Ok(id)
        };
        let mut begun = begun;
        let id = begun();
        let id = id.map_err(|cause| store.told(cause))?;
        Ok(Live { store, id, written: 0, waiting: Vec::with_capacity(WAITING), since: Instant::now() })
    }

    /// Its number.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Takes a sample.
    pub fn add(&mut self, sample: Sample) {
        self.waiting.push(sample);
        if self.waiting.len() >= WAITING || self.since.elapsed() >= WAITING_FOR {
            let _ = self.store.base.busy_timeout(SHORT_PATIENCE);
            // What cannot be written now stays, and is written later or complained about at the end.
            let _ = self.write(None);
            self.since = Instant::now();
        }
    }

    fn write(&mut self, tail: Option<&Tail>) -> rusqlite::Result<()> {
        let change = self.store.base.transaction_with_behavior(TransactionBehavior::Immediate)?;
        rows::insert_samples(&change, self.id, self.written, &self.waiting)?;
        if let Some(tail) = tail {
            rows::insert_tail(&change, self.id, tail)?;
        }
        change.commit()?;
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Writes what is left, and the end.
    ///
    /// # Errors
    /// When it cannot be written: the profile stays unfinished, with the samples written so far.
    pub fn finish(mut self, tail: &Tail) -> Result<(), StoreError> {
        let done = self.store.base.busy_timeout(PATIENCE).and_then(|()| self.write(Some(tail)));
        done.map_err(|cause| self.store.told(cause))
    }

    /// There is nothing to keep.
    pub fn give_up(self) {
        let _ = self.store.remove(self.id);
    }
}
