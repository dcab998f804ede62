//! Inter-communicators, and worlds that are started at run time. One is followed as a communicator with the members of both groups.

use super::collectives::Started;
use super::communicators::{Instance, Meaning};
use super::matcher::Matcher;
use super::matching::place;
use super::members::count;
use super::starts::{How, Made, Starters};
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

    /// A call that starts a world has returned.
    pub(super) fn start_world(&mut self, seen: &Seen<'_>, comm: i64) {
        self.count_unmatched(seen);
        let call = self.join_in(seen, seen.event.call, comm, NOBODY, (0, 0));
        let starters = match (&call, self.communicators.meaning(seen.process, comm)) {
            (Some(call), _) => {
                let of = self.communicators.get(call.comm);
                let (count, present) = (of.members.len() as u32, of.present);
                Starters { call: Some((call.comm, call.nth)), rank: call.rank, count, present }
            }
            (None, Some(Meaning::Alone)) => Starters { call: None, rank: 0, count: 1, present: 1 },
            _ => return,
        };
        if let Some(call) = call {
            self.leave(call, seen.leave());
        }
        self.bridged.insert(seen.thread, Made::by(How::Start(starters), seen));
    }

    /// A note tells that there are `remote` ranks on the other side of a world that was started: this process is one of those who have
    /// `made` it start, or of that world.
    fn join_worlds(&mut self, seen: &Seen<'_>, handle: i64, made: Made, remote: i64) {
        let (worlds, here) = (self.worlds, (seen.process, handle));
        let own = worlds.known(seen.process);
        let joined = match (made.how, own) {
            (How::Start(starters), Some((own, _))) => {
                let times = (made.enter.ns, made.leave.ns);
                let found = self.starts.by(worlds, own, starters, remote, times);
                found.map(|world| (world, starters.rank, Some(starters.present)))
            }
            (_, Some((own, own_rank))) => Some((own, own_rank, None)),
            (_, None) => None,
        };
        match joined {
            Some((world, rank, starters)) => {
                self.communicators.join_started(worlds, here, world, rank, starters);
                self.unmatched.explain(made.call, made.leave.ns.saturating_sub(made.enter.ns));
            }
            None => self.communicators.forget_members(seen.process, handle),
        }
    }
}
