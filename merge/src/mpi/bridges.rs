//! Inter-communicators. One is followed as a communicator with the members of both groups.

use super::collectives::Started;
use super::communicators::{Instance, count};
use super::matcher::{How, Made, Matcher};
use super::matching::place;
use crate::follow::pass::Seen;
use syn_trace::Call;
use syn_trace::calls::NOBODY;

impl Matcher<'_> {
    /// A note tells the remote group of an inter-communicator. All of both groups have made it together.
    pub(super) fn bridge(&mut self, seen: &Seen<'_>) {
        let (process, handle) = (seen.process, seen.event.numbers[0]);
        let remote: Vec<i64> = seen.event.list.iter().collect();
        let latest = self.notes.latest[seen.thread as usize];
        let made = self.bridged.remove(&seen.thread).filter(|made| made.record == latest);
        let Some(made) = made else {
            return self.communicators.bridge(self.worlds, process, handle, &remote);
        };
        let call = match made.how {
            How::Groups => {
                self.communicators.bridge(self.worlds, process, handle, &remote);
                Call::MpiIntercommCreate
            }
            How::Start(_) | How::Begin => {
                self.join_worlds(seen, handle, made, count(&remote));
                Call::MpiCommSpawn
            }
        };
        if let Some(Instance { id: (comm, nth), rank }) = self.communicators.take_part(process, handle) {
            let Made { enter, leave, .. } = made;
            let (noted, bytes) = (place(enter), (0, 0));
            self.leave(Started { comm, nth, rank, call, root: NOBODY, enter, bytes, noted }, leave);
        }
    }
}
