//! Notes behind the records of calls: what of their arguments is told apart.

use super::matching::Place;
use crate::follow::pass::Seen;
use foldhash::HashMap;
use syn_trace::Call;
use syn_trace::calls::Fact;

/// The notes of a run.
#[derive(Debug)]
pub struct Notes {
    /// By thread: the record of the latest call of MPI.
    pub latest: Vec<u32>,
    /// See [`super::Matching`].
    pub told: HashMap<(Place, Call), Vec<i64>>,
}

impl Notes {
    /// Of so many threads.
    pub fn new(threads: usize) -> Notes {
        Notes { latest: vec![0; threads], told: HashMap::default() }
    }

    /// Sees an event of MPI; true for notes. A note that is too long for one record goes on in the next.
    pub fn follow(&mut self, seen: &Seen<'_>) -> bool {
        let (event, latest) = (seen.event, &mut self.latest[seen.thread as usize]);
        if !event.call.has(Fact::Note) {
            *latest = seen.record;
            return false;
        }
        let told = self.told.entry(((seen.thread, *latest), event.call)).or_default();
        match event.call.shape() {
            (_, 1, _) => told.extend(event.texts[0].bytes().iter().map(|&byte| i64::from(byte))),
            _ => told.extend(event.list.iter()),
        }
        true
    }
}
