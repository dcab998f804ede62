//! Applies the rules on processes, and looks through launchers.
//!
//! Launchers, and programs that the user leaves out, are not part of a plan, but what they pass on is: with
//! `SYN_EXCEPT=sh` and `sh -c "a; b"` the program b starts after a has ended. So a launcher carries a *frontier*, the moments that whatever it does next comes after.

use super::process_create::{self, Creator};
use super::process_exec;
use super::process_join::{self, EndedBy, ProcessEnd};
use crate::follow::process_tree::{ProcessTree, may_be_over};
use crate::graph::dependency::{Dependencies, Moment};
use syn_plan::{Guarantee, Rule};

/// Something that happened between two processes; by time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fact {
    /// (creator, created, when)
    Create(u32, u32),
    /// Position among the joins, the process that ended.
    Join(usize, u32),
}

/// What there is to know of the processes of a run.
pub struct ProcessesConnected {
    /// The creator of every process.
    pub creators: Vec<Option<Creator>>,
    /// Which processes each join saw end.
    pub ended: Vec<Vec<u32>>,
    /// When every process was over, if that is known.
    pub ends: Vec<Option<ProcessEnd>>,
}

/// Connects the processes of a run. `told` as for [`process_join::ends`].
pub fn connect(
    process_tree: &ProcessTree,
    told: impl Fn(u32) -> bool,
    found: &mut Dependencies,
) -> ProcessesConnected {
    let creators = process_create::creators(process_tree);
    process_exec::connect(process_tree, &creators, found);
    let mut facts = Vec::new();
    for (process, creator) in (0u32..).zip(&creators) {
        if let &Some((parent, enter)) = creator {
            facts.push((enter.ns, Fact::Create(parent, process)));
        }
    }
    let ended = process_join::ended(process_tree, &creators);
    let kills = process_join::Kills::of(process_tree);
    let ends = process_join::ends(process_tree, &kills, &ended, told);
    for (position, ended) in ended.iter().enumerate() {
        let leave_ns = process_tree.joins[position].leave.ns;
        facts.extend(ended.iter().map(|&process| (leave_ns, Fact::Join(position, process))));
    }
    facts.sort_unstable();
    let mut frontiers = vec![Frontier::default(); process_tree.images.len()];
    for (_, fact) in facts {
        match fact {
            Fact::Create(parent, child) => {
                let Some((_, enter)) = creators[child as usize] else { continue };
                let sources = frontiers[parent as usize].or_own(process_tree, parent, enter);
                start(process_tree, child, sources, &mut frontiers, found);
            }
            Fact::Join(position, child) => {
                let join = process_tree.joins[position];
                let Some(last) = process_tree.images[child as usize].as_ref().map(|image| image.last) else {
                    continue;
                };
                let ended_by = kills.that_ended(process_tree.host_and_pid(join.process).0, &join, last);
                let rule = match ended_by {
                    EndedBy::Signal(_, Guarantee::Observed) => Rule::Signal,
                    _ => Rule::ProcessJoin,
                };
                let ends = match ended_by {
                    // How far it had come does not count. Who has sent the signal has not waited for itself.
                    EndedBy::Signal(sender, _) if !process_tree.is_launcher(sender.process) => {
                        let is_own = sender.enter.point().thread == join.leave.point().thread;
                        if is_own { Vec::new() } else { vec![sender.enter] }
                    }
                    EndedBy::Unknown => Vec::new(),
                    _ => {
                        let own = ends[child as usize].map_or(last, |end| end.seen_at(join.leave.ns));
                        frontiers[child as usize].or_own(process_tree, child, own)
                    }
                };
                if process_tree.is_launcher(join.process) {
                    let known = frontiers[child as usize].at_start.clone();
                    frontiers[join.process as usize].advance(&known, ends);
                } else {
                    // Which image is meant may be wrong: numbers of processes come again, also in another namespace.
                    let over = ends.into_iter().filter(|&end| may_be_over(end, join.leave));
                    over.for_each(|end| found.add_one(rule, end, join.leave));
                }
            }
        }
    }
    ProcessesConnected { creators, ended, ends }
}

/// What a launcher's next act comes after.
#[derive(Clone, Default)]
struct Frontier {
    moments: Vec<Moment>,
    at_start: Vec<Moment>,
}

impl Frontier {
    /// The moments that a process passes on: its own, or those behind it when it is a launcher.
    fn or_own(&self, process_tree: &ProcessTree, process: u32, own: Moment) -> Vec<Moment> {
        if process_tree.is_launcher(process) { self.moments.clone() } else { vec![own] }
    }

    /// A child that started when `known` was all there was has ended, and left `ends`.
    fn advance(&mut self, known: &[Moment], ends: Vec<Moment>) {
        self.moments.retain(|moment| ends.is_empty() || !known.contains(moment));
        for end in ends {
            if !self.moments.contains(&end) {
                self.moments.push(end);
            }
        }
    }
}

fn start(
    process_tree: &ProcessTree,
    child: u32,
    sources: Vec<Moment>,
    frontiers: &mut [Frontier],
    found: &mut Dependencies,
) {
    if !process_tree.is_launcher(child)
        && let Some(image) = &process_tree.images[child as usize]
    {
        sources.iter().for_each(|&source| found.add_one(Rule::ProcessCreate, source, image.first));
    }
    frontiers[child as usize] = Frontier { moments: sources.clone(), at_start: sources };
}
