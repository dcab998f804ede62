//! Whether a plan can be replayed. A plan is untrusted input: nothing is done with one that fails here.

use crate::{HandleId, Io, Op, Plan, Step};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The most handles one process may use; a replay keeps a table of that size.
pub const MAX_HANDLES: u32 = 1 << 22;
/// The most processes a plan may have.
pub const MAX_PROCESSES: u32 = 1 << 20;

/// What makes a plan impossible to replay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A number is too large for what it refers to.
    #[error("program {program}, step {step}: {what} {number} does not exist (there are {limit})")]
    NoSuch {
        /// Index of the program.
        program: usize,
        /// Index of the step.
        step: u64,
        /// What the number refers to.
        what: &'static str,
        /// The number.
        number: u64,
        /// How many there are.
        limit: u64,
    },
    /// A repeat reaches behind the end, or holds what it must not.
    #[error("program {program}, step {step}: a repeat of {steps} steps {why}")]
    BadRepeat {
        /// Index of the program.
        program: usize,
        /// Index of the step.
        step: u64,
        /// Its length.
        steps: u32,
        /// What is wrong.
        why: &'static str,
    },
    /// A file's path is not absolute, or climbs.
    #[error("file {file}: the path {path:?} is not an absolute path without `..`; nothing was touched")]
    BadPath {
        /// Index of the file.
        file: usize,
        /// Its path.
        path: String,
    },
    /// An edge gets another number of signals than it says.
    #[error("edge {edge} gets {found} signals, but is said to get {expected}")]
    Signals {
        /// Index of the edge.
        edge: usize,
        /// As counted.
        found: u64,
        /// As said.
        expected: u32,
    },
    /// Some threads would wait for ever.
    #[error(
        "would wait for ever: program {program} at step {step} waits for {count} signals on edge {edge}, and all that can run has run"
    )]
    Deadlock {
        /// Index of the program.
        program: usize,
        /// Index of the step.
        step: u64,
        /// Index of the edge.
        edge: u32,
        /// How many signals it waits for.
        count: u32,
    },
    /// A thread names a process number that is too large.
    #[error("program {program} runs in process {process}, more than {MAX_PROCESSES}")]
    Process {
        /// Index of the program.
        program: usize,
        /// Its process.
        process: u32,
    },
}

/// See [`Plan::check`].
pub(crate) fn check(plan: &Plan) -> Result<(), Fault> {
    paths(plan)?;
    for (program, steps) in plan.programs.iter().enumerate() {
        if steps.thread.process >= MAX_PROCESSES {
            return Err(Fault::Process { program, process: steps.thread.process });
        }
        references(plan, program)?;
    }
    signals(plan)?;
    progress(plan)
}

fn paths(plan: &Plan) -> Result<(), Fault> {
    for (file, entry) in plan.files.iter().enumerate() {
        let path = &entry.path;
        let climbs = path.split('/').any(|part| part == "..");
        if !path.starts_with('/') || climbs || path.contains('\0') {
            return Err(Fault::BadPath { file, path: path.clone() });
        }
    }
    Ok(())
}

fn references(plan: &Plan, program: usize) -> Result<(), Fault> {
    let steps = &plan.programs[program].steps;
    let mut inside_repeat = 0u64;
    for (step, Step { op, .. }) in (0u64..).zip(steps.iter()) {
        let below = |what, number: u32, limit: usize| {
            if (number as usize) < limit {
                return Ok(());
            }
            Err(Fault::NoSuch { program, step, what, number: number.into(), limit: limit as u64 })
        };
        let bad_repeat = |steps, why| Err(Fault::BadRepeat { program, step, steps, why });
        match op {
            Op::Signal { edge } | Op::Wait { edge, .. } => {
                below("edge", edge, plan.edges.len())?;
                if inside_repeat > 0 {
                    return bad_repeat(1, "holds a signal or a wait");
                }
            }
            Op::Repeat { steps: length, .. } => {
                if inside_repeat > 0 {
                    return bad_repeat(length, "stands inside another one");
                }
                if u64::from(length) >= steps.len() - step {
                    return bad_repeat(length, "reaches behind the end of the program");
                }
                inside_repeat = u64::from(length) + 1;
            }
            Op::Io { call, .. } => {
                let (files, handles) = call.operands();
                for file in files.into_iter().flatten() {
                    below("file", file, plan.files.len())?;
                }
                for handle in handles.into_iter().flatten() {
                    below("handle", handle, MAX_HANDLES as usize)?;
                }
            }
            Op::Compute { .. } | Op::Sleep { .. } => {}
        }
        inside_repeat = inside_repeat.saturating_sub(1);
    }
    Ok(())
}

fn signals(plan: &Plan) -> Result<(), Fault> {
    let mut found = vec![0u64; plan.edges.len()];
    for program in &plan.programs {
        for step in program.steps.iter() {
            if let Op::Signal { edge } = step.op {
                found[edge as usize] += 1;
            }
        }
    }
    for (edge, (&found, expected)) in found.iter().zip(&plan.edges).enumerate() {
        if found != u64::from(expected.signals) {
            return Err(Fault::Signals { edge, found, expected: expected.signals });
        }
    }
    Ok(())
}

/// Runs all programs in the abstract: each goes on until a wait that is not yet satisfied.
fn progress(plan: &Plan) -> Result<(), Fault> {
    let mut counters = vec![0u32; plan.edges.len()];
    // By what they wait for, so that a signal looks at those only which it lets go on.
    let mut waiting: Vec<BinaryHeap<Reverse<(u32, usize)>>> = vec![BinaryHeap::new(); plan.edges.len()];
    let mut places: Vec<_> = plan.programs.iter().map(|program| (program.steps.iter(), 0u64, None)).collect();
    let mut ready: Vec<usize> = (0..places.len()).rev().collect();
    while let Some(program) = ready.pop() {
        let (steps, at, blocked) = &mut places[program];
        loop {
            if let Some((edge, count)) = *blocked {
                if counters[edge as usize] < count {
                    waiting[edge as usize].push(Reverse((count, program)));
                    break;
                }
                *blocked = None;
                *at += 1;
            }
            let Some(step) = steps.next() else { break };
            match step.op {
                Op::Wait { edge, count } => *blocked = Some((edge, count)),
                Op::Signal { edge } => {
                    let edge = edge as usize;
                    counters[edge] += 1;
                    while waiting[edge].peek().is_some_and(|&Reverse((count, _))| count <= counters[edge]) {
                        ready.extend(waiting[edge].pop().map(|Reverse((_, program))| program));
                    }
                    *at += 1;
                }
                _ => *at += 1,
            }
        }
    }
    for (program, (_, step, blocked)) in places.into_iter().enumerate() {
        if let Some((edge, count)) = blocked {
            return Err(Fault::Deadlock { program, step, edge, count });
        }
    }
    Ok(())
}

impl Io {
    /// The files and handles an operation names.
    pub fn operands(&self) -> ([Option<u32>; 2], [Option<HandleId>; 2]) {
        match *self {
            Io::Open { file, handle, .. } => ([Some(file), None], [Some(handle), None]),
            Io::Dup { handle, new } => ([None; 2], [Some(handle), Some(new)]),
            Io::Close { handle }
            | Io::Read { handle, .. }
            | Io::Write { handle, .. }
            | Io::ReadAt { handle, .. }
            | Io::WriteAt { handle, .. }
            | Io::Seek { handle, .. }
            | Io::Fsync { handle }
            | Io::Fdatasync { handle }
            | Io::SyncRange { handle, .. }
            | Io::Ftruncate { handle, .. }
            | Io::Allocate { handle, .. }
            | Io::Fstat { handle }
            | Io::ReadDir { handle, .. } => ([None; 2], [Some(handle), None]),
            Io::Truncate { file, .. }
            | Io::Stat { file, .. }
            | Io::Access { file, .. }
            | Io::Readlink { file }
            | Io::Unlink { file }
            | Io::Mkdir { file, .. }
            | Io::Rmdir { file } => ([Some(file), None], [None; 2]),
            Io::Rename { from, to } | Io::Link { from, to } => ([Some(from), Some(to)], [None; 2]),
            Io::Symlink { target, link } => ([Some(target), Some(link)], [None; 2]),
            Io::SyncFs => ([None; 2], [None; 2]),
        }
    }

    /// The name of the call class in reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Io::Open { .. } => "open",
            Io::Close { .. } => "close",
            Io::Dup { .. } => "dup",
            Io::Read { .. } => "read",
            Io::Write { .. } => "write",
            Io::ReadAt { .. } => "pread",
            Io::WriteAt { .. } => "pwrite",
            Io::Seek { .. } => "lseek",
            Io::Fsync { .. } => "fsync",
            Io::Fdatasync { .. } => "fdatasync",
            Io::SyncRange { .. } => "sync_file_range",
            Io::SyncFs => "syncfs",
            Io::Truncate { .. } => "truncate",
            Io::Ftruncate { .. } => "ftruncate",
            Io::Allocate { .. } => "fallocate",
            Io::Stat { .. } => "stat",
            Io::Fstat { .. } => "fstat",
            Io::Access { .. } => "access",
            Io::Readlink { .. } => "readlink",
            Io::Unlink { .. } => "unlink",
            Io::Rename { .. } => "rename",
            Io::Link { .. } => "link",
            Io::Symlink { .. } => "symlink",
            Io::Mkdir { .. } => "mkdir",
            Io::Rmdir { .. } => "rmdir",
            Io::ReadDir { .. } => "readdir",
        }
    }
}
