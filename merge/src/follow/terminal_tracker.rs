//! Follows pseudoterminals whose master was asked for the slave's number, as ptsname(3) and grantpt(3), and so openpty(3) and
//! forkpty(3), do it: who wrote at which end, and who slept until something came there. A slave is known by its name, a master by the
//! open file of the process that made it.

use crate::clocks::Clocks;
use crate::follow::channel_tracker::READABLE;
use crate::follow::pass::{Seen, Visitor};
use crate::graph::dependency::Dependencies;
use crate::rules::terminal::{self, End};
use crate::rules::waking::{Wake, Waking};
use foldhash::HashMap;
use std::collections::BTreeMap;
use syn_trace::calls::Effect;
use syn_trace::descriptors::{Descriptors, OpenId, Touched};
use syn_trace::{Run, record};

/// The folder of the slaves.
const SLAVES: &str = "/dev/pts/";

/// A pair, by its host and the number of its slave.
type Pair = (usize, i64);

/// The pseudoterminals of a run. Memory: 48 bytes for each write to one, and each call that slept there.
#[derive(Debug)]
pub struct TerminalTracker {
    /// By process: its host.
    hosts: Vec<usize>,
    /// Masters, by the process that made them and its open file.
    masters: HashMap<(u32, OpenId), Pair>,
    /// What is waited for at each end.
    ends: BTreeMap<(Pair, End), Waking>,
}

impl TerminalTracker {
    /// For a run, with nothing seen yet.
    pub fn new(run: &Run, clocks: &Clocks) -> TerminalTracker {
        TerminalTracker {
            hosts: run.processes.iter().map(|process| clocks.host_of(&process.boot_id)).collect(),
            masters: HashMap::default(),
            ends: BTreeMap::new(),
        }
    }

    /// Who waited for whom.
    pub fn finish(self) -> Dependencies {
        let mut found = Dependencies::default();
        for ((_, end), waking) in self.ends {
            terminal::connect(end, waking, &mut found);
        }
        found
    }

    /// Which end of which pair an open file is.
    fn end_of(&self, process: u32, open: OpenId, descriptors: &Descriptors) -> Option<(Pair, End)> {
        let file = descriptors.open_file(open);
        if file.st_mode & libc::S_IFMT != libc::S_IFCHR {
            return None;
        }
        if let Some(&pair) = self.masters.get(&master(process, open, descriptors)) {
            return Some((pair, End::Master));
        }
        let number = file.path.as_deref()?.strip_prefix(SLAVES)?.parse().ok()?;
        Some(((self.hosts[process as usize], number), End::Slave))
    }

    /// A poll has found an open file ready.
    pub fn look(&mut self, seen: &Seen<'_>, open: OpenId, how: i64, descriptors: &Descriptors) {
        if how & READABLE != 0 {
            self.wait(seen, open, descriptors);
        }
    }

    fn wait(&mut self, seen: &Seen<'_>, open: OpenId, descriptors: &Descriptors) {
        if seen.may_have_slept()
            && let Some(end) = self.end_of(seen.process, open, descriptors)
        {
            self.ends.entry(end).or_default().waits.push(seen.span());
        }
    }
}

fn master(process: u32, open: OpenId, descriptors: &Descriptors) -> (u32, OpenId) {
    descriptors.open_file(open).twin.unwrap_or((process, open))
}

impl Visitor for TerminalTracker {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let event = seen.event;
        if event.has(record::FAILED) {
            return;
        }
        match (event.call.effect(), touched.file) {
            (Effect::Read(_), Some(open)) => self.wait(seen, open, descriptors),
            (Effect::Write(_), Some(open)) => {
                if let Some((pair, end)) = self.end_of(seen.process, open, descriptors) {
                    let wake = Wake { span: seen.span(), times: u32::MAX };
                    self.ends.entry((pair, end.other())).or_default().wakes.push(wake);
                }
            }
            (Effect::NumberTerminal, Some(open)) => {
                let pair = (self.hosts[seen.process as usize], event.numbers[1]);
                self.masters.insert(master(seen.process, open, descriptors), pair);
            }
            _ => {}
        }
    }
}
