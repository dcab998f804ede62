//! Whether a plan can be replayed. A plan is untrusted input: nothing is done with one that fails here.

use crate::{Initial, Io, Op, Plan, Step};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The most handles one process may use; a replay keeps a table of that size.
pub const MAX_HANDLES: u32 = 1 << 22;
/// The most processes a plan may have.
pub const MAX_PROCESSES: u32 = 1 << 20;
/// The longest path, below the storage root, that Linux takes.
pub const MAX_PATH: usize = 4095;
/// The longest name of a file.
pub const MAX_NAME: usize = 255;
/// What the names of extended attributes begin with that anybody may change.
const USER_ATTRIBUTE: &str = "user.";
/// Types of nodes in `st_mode`: all, and those a replay makes.
const NODE_TYPE: u32 = 0o170_000;
const NODES: [u32; 4] = [0, 0o100_000, 0o010_000, 0o140_000];

/// `RENAME_NOREPLACE`, `RENAME_EXCHANGE`. `RENAME_WHITEOUT` would make a device.
const RENAME_FLAGS: u32 = 1 | 2;

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
    /// A file or folder must be there at the start, and cannot be.
    #[error("file {file}: {path:?} is in {folder:?}, which is a regular file at the start")]
    FileInFile {
        /// Index of the file.
        file: usize,
        /// Its path.
        path: String,
        /// What it is in.
        folder: String,
    },
    /// A name that no file system takes.
    #[error(
        "file {file}: the path {path:?} is longer than {MAX_PATH} bytes, or a name in it than {MAX_NAME}"
    )]
    LongName {
        /// Index of the file.
        file: usize,
        /// Its path.
        path: String,
    },
    /// An extended attribute is changed, or there at the start, that is not a user's: others give rights.
    #[error(
        "the extended attribute {name:?} would be changed; a replay changes those of users alone (`user.…`)"
    )]
    BadAttribute {
        /// Its name.
        name: String,
    },
    /// A file that is not there at the start has an extended attribute.
    #[error("file {file}: {path:?} is not there at the start, and has an extended attribute")]
    AttributeOfNothing {
        /// Index of the file.
        file: usize,
        /// Its path.
        path: String,
    },
    /// Something is made that is no file, FIFO or socket.
    #[error(
        "program {program}, step {step}: makes a node of type {mode:#o}, which is no regular file, FIFO or socket"
    )]
    BadNode {
        /// Index of the program.
        program: usize,
        /// Index of the step.
        step: u64,
        /// The type and permissions.
        mode: u32,
    },
    /// A file is renamed in a way that makes another one.
    #[error(
        "program {program}, step {step}: renames with flags {flags:#x}, of which a replay does `RENAME_NOREPLACE` and `RENAME_EXCHANGE` alone"
    )]
    BadRename {
        /// Index of the program.
        program: usize,
        /// Index of the step.
        step: u64,
        /// The flags of renameat2(2).
        flags: u32,
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
    plan.initial_folders()?;
    initial_attributes(plan)?;
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
        if path.len() > MAX_PATH || path.split('/').any(|name| name.len() > MAX_NAME) {
            return Err(Fault::LongName { file, path: path.clone() });
        }
    }
    Ok(())
}

fn initial_attributes(plan: &Plan) -> Result<(), Fault> {
    let nowhere = |what, number: u32, limit: usize| {
        Err(Fault::NoSuch { program: 0, step: 0, what, number: number.into(), limit: limit as u64 })
    };
    for attribute in &plan.attributes {
        if attribute.file as usize >= plan.files.len() {
            return nowhere("file", attribute.file, plan.files.len());
        }
        let file = &plan.files[attribute.file as usize];
        if file.initial == Initial::Absent {
            let path = file.path.clone();
            return Err(Fault::AttributeOfNothing { file: attribute.file as usize, path });
        }
        let Some(name) = plan.names.get(attribute.name as usize) else {
            return nowhere("attribute name", attribute.name, plan.names.len());
        };
        changeable(name)?;
    }
    match plan.names.iter().find(|name| name.contains('\0') || name.len() > MAX_NAME) {
        Some(name) => Err(Fault::BadAttribute { name: name.clone() }),
        None => Ok(()),
    }
}

fn changeable(name: &str) -> Result<(), Fault> {
    match name.starts_with(USER_ATTRIBUTE) {
        true => Ok(()),
        false => Err(Fault::BadAttribute { name: name.to_owned() }),
    }
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
                if let Some((name, changes)) = call.attribute() {
                    below("attribute name", name, plan.names.len())?;
                    if changes {
                        changeable(&plan.names[name as usize])?;
                    }
                }
                if let Io::Mknod { mode, .. } = call
                    && !NODES.contains(&(mode & NODE_TYPE))
                {
                    return Err(Fault::BadNode { program, step, mode });
                }
                if let Io::RenameWith { flags, .. } = call
                    && flags & !RENAME_FLAGS != 0
                {
                    return Err(Fault::BadRename { program, step, flags });
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
