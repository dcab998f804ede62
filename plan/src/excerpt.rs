//! The part of a plan that one rank replays.

use crate::check;
use crate::mpi::{FIRST_COMMUNICATOR, NONE};
use crate::{EdgeId, FileId, Op, Plan, PlanError, PlanFile, Program, Referent, Step, Steps};

/// Some programs of a plan, with the files and edges that they name: a plan of its own, numbered anew, and what its
/// numbers are in the whole. So who replays one rank of ten thousand holds one ten-thousandth of the plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Excerpt {
    /// The programs, with files and edges numbered anew; without attributes, which are there before any program starts.
    pub plan: Plan,
    /// The numbers of its programs in the whole plan.
    pub programs: Vec<usize>,
    /// The numbers of its files in the whole plan; they rise.
    pub files: Vec<FileId>,
    /// The numbers of its edges in the whole plan; they rise.
    pub edges: Vec<EdgeId>,
}

impl PlanFile {
    /// Reads these programs, and what they name. Checks that every number in them refers to something; whether the plan as a
    /// whole can be replayed is for somebody to check who reads all of it.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn excerpt(&self, programs: impl IntoIterator<Item = usize>) -> Result<Excerpt, PlanError> {
        let numbers: Vec<usize> = programs.into_iter().collect();
        let programs = numbers.iter().map(|&program| self.program(program)).collect::<Result<Vec<_>, _>>()?;
        let Named { files, edges, communicators, lists } = Named::by(&programs);
        let in_section = communicators.iter().filter(|&&comm| (FIRST_COMMUNICATOR..NONE).contains(&comm));
        let mut plan = Plan {
            about: self.about()?,
            files: files.iter().map(|&file| self.file(file as usize)).collect::<Result<_, _>>()?,
            names: self.names()?,
            attributes: Vec::new(),
            edges: edges.iter().map(|&edge| self.edge(edge as usize)).collect::<Result<_, _>>()?,
            calls: self.calls()?,
            communicators: in_section
                .clone()
                .map(|&comm| self.communicator((comm - FIRST_COMMUNICATOR) as usize))
                .collect::<Result<_, _>>()?,
            lists: lists.iter().map(|&list| self.numbers(list as usize)).collect::<Result<_, _>>()?,
            programs: Vec::new(),
        };
        let communicators = in_section.copied().collect();
        let named = Named { files, edges, communicators, lists };
        plan.programs = programs.into_iter().map(|program| named.renumber(program)).collect();
        let Named { files, edges, .. } = named;
        check::check_excerpt(&plan).map_err(|fault| self.wrong(fault))?;
        Ok(Excerpt { plan, programs: numbers, files, edges })
    }
}

/// What programs name: each once, in order.
#[derive(Default)]
struct Named {
    files: Vec<FileId>,
    edges: Vec<EdgeId>,
    communicators: Vec<u32>,
    lists: Vec<u32>,
}

impl Named {
    fn by(programs: &[Program]) -> Named {
        let mut named = Named::default();
        for Step { op, .. } in programs.iter().flat_map(|program| program.steps.iter()) {
            match op {
                Op::Signal { edge } | Op::Wait { edge, .. } | Op::TimedWait { edge, .. } => {
                    named.edges.push(edge)
                }
                Op::Io { call, .. } => call.refer(|what, number| named.add(what, number)),
                Op::Mpi { call, .. } => call.refer(|what, number| named.add(what, number)),
                _ => {}
            }
        }
        for list in [&mut named.files, &mut named.edges, &mut named.communicators, &mut named.lists] {
            list.sort_unstable();
            list.dedup();
        }
        named
    }

    fn add(&mut self, what: Referent, number: u32) {
        match what {
            Referent::File => self.files.push(number),
            Referent::Communicator => self.communicators.push(number),
            Referent::List => self.lists.push(number),
            Referent::Handle | Referent::Request | Referent::Queue => {}
        }
    }

    fn renumber(&self, program: Program) -> Program {
        // Every one that a step names is in its list.
        let number = |list: &[u32], wanted: u32| list.partition_point(|&one| one < wanted) as u32;
        let renumbered = |what, old| match what {
            Referent::File => number(&self.files, old),
            Referent::Communicator if (FIRST_COMMUNICATOR..NONE).contains(&old) => {
                number(&self.communicators, old) + FIRST_COMMUNICATOR
            }
            Referent::List => number(&self.lists, old),
            _ => old,
        };
        let mut steps = Steps::default();
        for mut step in program.steps.iter() {
            match &mut step.op {
                Op::Signal { edge } | Op::Wait { edge, .. } | Op::TimedWait { edge, .. } => {
                    *edge = number(&self.edges, *edge)
                }
                Op::Io { call, .. } => *call = call.renumbered(renumbered),
                Op::Mpi { call, .. } => *call = call.renumbered(renumbered),
                _ => {}
            }
            steps.push(&step);
        }
        Program { steps, ..program }
    }
}
