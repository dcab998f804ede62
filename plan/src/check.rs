//! Whether a plan can be replayed. A plan is untrusted input: nothing is done with one that fails here.

use crate::{Counted, Initial, Io, MAX_DEPTH, Op, Plan, Step, progress};

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
    /// Repeats whose signals and waits depend on each other in so many ways that nobody can say whether they end.
    #[error(
        "after {steps} steps in repeats it was not clear whether all programs come to their ends; write these repeats out"
    )]
    TooLong {
        /// How many steps were looked at.
        steps: u64,
    },
    /// An edge is said to come from a call that has no name.
    #[error("edge {edge} goes between calls of which number {call} does not exist (there are {limit})")]
    NoCall {
        /// Index of the edge.
        edge: usize,
        /// The number.
        call: u16,
        /// How many there are.
        limit: usize,
    },
    /// A program stands behind one of a higher rank.
    #[error("program {program} stands behind one of a higher rank, or of none")]
    Order {
        /// Index of the program.
        program: usize,
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
    programs(plan)?;
    order(plan)?;
    evidence(plan)?;
    signals(plan)?;
    progress::check(plan)
}

/// What of this can be said of a part of a plan: it touches nothing that it must not.
pub(crate) fn check_excerpt(plan: &Plan) -> Result<(), Fault> {
    paths(plan)?;
    programs(plan)
}

fn programs(plan: &Plan) -> Result<(), Fault> {
    for (program, steps) in plan.programs.iter().enumerate() {
        if steps.thread.process >= MAX_PROCESSES {
            return Err(Fault::Process { program, process: steps.thread.process });
        }
        references(plan, program)?;
    }
    Ok(())
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
    // How many steps are left of the repeats around a step, innermost last.
    let mut around: Vec<u32> = Vec::new();
    for (step, Step { op, .. }) in (0u64..).zip(steps.iter()) {
        while around.pop_if(|left| *left == 0).is_some() {}
        around.iter_mut().for_each(|left| *left -= 1);
        let below = |what, number: u32, limit: usize| {
            if (number as usize) < limit {
                return Ok(());
            }
            Err(Fault::NoSuch { program, step, what, number: number.into(), limit: limit as u64 })
        };
        match op {
            Op::Signal { edge } | Op::Wait { edge, .. } => below("edge", edge, plan.edges.len())?,
            Op::Repeat { steps: length, .. } => {
                let bad_repeat = |why| Err(Fault::BadRepeat { program, step, steps: length, why });
                if u64::from(length) >= steps.len() - step {
                    return bad_repeat("reaches behind the end of the program");
                }
                if around.last().is_some_and(|&left| length > left) {
                    return bad_repeat("reaches behind the end of the one around it");
                }
                if around.len() == MAX_DEPTH {
                    return bad_repeat("is in too many others");
                }
                around.push(length);
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
    }
    Ok(())
}

/// Every edge gets the signals that it is said to get, and no wait asks for more.
fn signals(plan: &Plan) -> Result<(), Fault> {
    let mut found = vec![0u64; plan.edges.len()];
    for Counted { step, times, .. } in plan.programs.iter().flat_map(|program| program.steps.counted()) {
        if let Op::Signal { edge } = step.op {
            let found = &mut found[edge as usize];
            *found = found.saturating_add(times);
        }
    }
    for (edge, (&found, expected)) in found.iter().zip(&plan.edges).enumerate() {
        if found != u64::from(expected.signals) {
            return Err(Fault::Signals { edge, found, expected: expected.signals });
        }
    }
    Ok(())
}

/// The calls that edges go between have names.
fn evidence(plan: &Plan) -> Result<(), Fault> {
    for (edge, found) in plan.edges.iter().enumerate() {
        let calls = [found.evidence.signalled_in, found.evidence.awaited_in];
        if let Some(call) = calls.into_iter().flatten().find(|&call| usize::from(call) >= plan.calls.len()) {
            return Err(Fault::NoCall { edge, call, limit: plan.calls.len() });
        }
    }
    Ok(())
}

/// Programs of one rank stand together, so that a rank finds its own.
fn order(plan: &Plan) -> Result<(), Fault> {
    let key = |program: &crate::Program| (program.thread.rank.is_none(), program.thread.rank);
    let unordered = plan.programs.windows(2).position(|pair| key(&pair[0]) > key(&pair[1]));
    unordered.map_or(Ok(()), |before| Err(Fault::Order { program: before + 1 }))
}
