//! Whom the epochs of windows wait for.
//!
//! Who closes an access epoch waits for each of its targets to have opened the exposure, and who closes that for each origin to
//! have closed its access: the k-th of both between two processes belong together (MPI-4.0, 12.5.2).

use super::communicators::{CommId, Communicators, Meaning, window};
use super::members::expand;
use super::notes::Notes;
use super::world::Worlds;
use crate::follow::pass::Seen;
use crate::graph::dependency::{Dependencies, Moment};
use foldhash::HashMap;
use std::collections::VecDeque;
use syn_plan::Rule;
use syn_trace::calls::effect::Mpi;

/// From whom to whom on which window, as ranks of the world; and whether it is about the end of the access.
type Pair = (CommId, u32, u32, bool);

/// What came, and what waits for such.
#[derive(Debug, Default)]
struct Meeting {
    came: VecDeque<Moment>,
    waits: VecDeque<Moment>,
}

/// An epoch whose group is told by a note.
#[derive(Clone, Copy, Debug)]
struct Opened {
    form: Mpi,
    window: CommId,
    enter: Moment,
}

/// Epochs of windows that are open.
#[derive(Debug, Default)]
pub struct Epochs {
    /// By thread: the latest, and the record of its call.
    opened: HashMap<u32, (u32, Opened)>,
    /// By process and window: whom it accesses, and who accesses it.
    groups: HashMap<(u32, CommId, bool), Vec<u32>>,
    meetings: HashMap<Pair, Meeting>,
}

impl Epochs {
    /// A call that opens or closes an epoch.
    pub fn follow(
        &mut self,
        seen: &Seen<'_>,
        form: Mpi,
        handle: i64,
        communicators: &mut Communicators,
        found: &mut Dependencies,
    ) {
        let Some(&mut Meaning::Within(joined)) = communicators.meaning(seen.process, window(handle)) else {
            return;
        };
        let window = joined.comm;
        let me = communicators.get(window).members[joined.rank as usize];
        match form {
            Mpi::OpenAccess | Mpi::OpenExposure => {
                let opened = Opened { form, window, enter: seen.enter() };
                self.opened.insert(seen.thread, (seen.record, opened));
            }
            Mpi::CloseAccess => {
                for target in self.groups.remove(&(seen.process, window, false)).unwrap_or_default() {
                    self.wait((window, target, me, false), seen.leave(), found);
                    self.come((window, me, target, true), seen.enter(), found);
                }
            }
            _ => {
                for origin in self.groups.remove(&(seen.process, window, true)).unwrap_or_default() {
                    self.wait((window, origin, me, true), seen.leave(), found);
                }
            }
        }
    }

    /// A note tells the group of the epoch that the call before it opened; the last one of a group that takes several.
    pub fn open(&mut self, seen: &Seen<'_>, notes: &Notes, worlds: &Worlds, found: &mut Dependencies) {
        let Some(&(record, Opened { form, window, enter })) = self.opened.get(&seen.thread) else { return };
        if record != notes.latest[seen.thread as usize] {
            return;
        }
        let Some((_, me)) = worlds.known(seen.process) else { return };
        let runs: Vec<i64> = seen.event.list.iter().collect();
        let members = expand(&runs, worlds.ranks()).unwrap_or_default();
        let exposes = form == Mpi::OpenExposure;
        for member in members {
            self.groups.entry((seen.process, window, exposes)).or_default().push(member);
            if exposes {
                self.come((window, me, member, false), enter, found);
            }
        }
    }

    fn come(&mut self, pair: Pair, moment: Moment, found: &mut Dependencies) {
        let meeting = self.meetings.entry(pair).or_default();
        match meeting.waits.pop_front() {
            Some(waits) => connect(moment, waits, found),
            None => meeting.came.push_back(moment),
        }
    }

    fn wait(&mut self, pair: Pair, moment: Moment, found: &mut Dependencies) {
        let meeting = self.meetings.entry(pair).or_default();
        match meeting.came.pop_front() {
            Some(came) => connect(came, moment, found),
            None => meeting.waits.push_back(moment),
        }
    }
}

/// An assertion may say that nobody needs to wait; then it shows in the times, once clocks are aligned.
fn connect(came: Moment, waits: Moment, found: &mut Dependencies) {
    found.add_one(Rule::Epoch, came, waits);
}
