//! The part of a plan that one rank replays.

use crate::check;
use crate::{EdgeId, FileId, Op, Plan, PlanError, PlanFile, Program, Step, Steps};

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
        let (files, edges) = named(&programs);
        let mut plan = Plan {
            about: self.about()?,
            files: files.iter().map(|&file| self.file(file as usize)).collect::<Result<_, _>>()?,
            names: self.names()?,
            attributes: Vec::new(),
            edges: edges.iter().map(|&edge| self.edge(edge as usize)).collect::<Result<_, _>>()?,
            calls: self.calls()?,
            programs: Vec::new(),
        };
        plan.programs = programs.into_iter().map(|program| renumbered(program, &files, &edges)).collect();
        check::check_excerpt(&plan).map_err(|fault| self.wrong(fault))?;
        Ok(Excerpt { plan, programs: numbers, files, edges })
    }
}

/// The files and edges that the programs name, each once, in order.
fn named(programs: &[Program]) -> (Vec<FileId>, Vec<EdgeId>) {
    let (mut files, mut edges) = (Vec::new(), Vec::new());
    for Step { op, .. } in programs.iter().flat_map(|program| program.steps.iter()) {
        match op {
            Op::Signal { edge } | Op::Wait { edge, .. } => edges.push(edge),
            Op::Io { call, .. } => files.extend(call.operands().0.into_iter().flatten()),
            _ => {}
        }
    }
    for list in [&mut files, &mut edges] {
        list.sort_unstable();
        list.dedup();
    }
    (files, edges)
}

fn renumbered(program: Program, files: &[FileId], edges: &[EdgeId]) -> Program {
    // Every one that a step names is in its list.
    let number = |list: &[u32], wanted: u32| list.partition_point(|&one| one < wanted) as u32;
    let mut steps = Steps::default();
    for mut step in program.steps.iter() {
        match &mut step.op {
            Op::Signal { edge } | Op::Wait { edge, .. } => *edge = number(edges, *edge),
            Op::Io { call, .. } => *call = call.with_files(|file| number(files, file)),
            _ => {}
        }
        steps.push(&step);
    }
    Program { steps, ..program }
}
