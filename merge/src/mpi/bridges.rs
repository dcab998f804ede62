//! Inter-communicators. One is followed as a communicator with the members of both groups.

use super::collectives::Started;
use super::communicators::Instance;
use super::matcher::{Made, Matcher};
use super::matching::place;
use crate::follow::pass::Seen;
use syn_trace::Call;
use syn_trace::calls::NOBODY;

impl Matcher<'_> {
    /// A note tells the remote group of an inter-communicator. All of both groups have made it together.
    pub(super) fn bridge(&mut self, seen: &Seen<'_>) {
        let (process, handle) = (seen.process, seen.event.numbers[0]);
        let remote: Vec<i64> = seen.event.list.iter().collect();
        self.communicators.bridge(self.worlds, process, handle, &remote);
        let Some(made) = self.bridged.remove(&seen.thread) else { return };
        if made.record != self.notes.latest[seen.thread as usize] {
            return;
        }
        if let Some(Instance { id: (comm, nth), rank }) = self.communicators.take_part(process, handle) {
            let Made { enter, leave, .. } = made;
            let (call, bytes) = (Call::MpiIntercommCreate, (0, 0));
            let noted = place(enter);
            self.leave(Started { comm, nth, rank, call, root: NOBODY, enter, bytes, noted }, leave);
        }
    }
}
