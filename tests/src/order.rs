//! What the edges of a plan leave open: a replay may seem right by luck, a plan is right in every order that it allows.

use std::collections::{BTreeMap, HashMap};
use syn_plan::{HandleId, Io, Op, Plan};

/// How a step uses an open file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The handle begins or ends.
    Life,
    /// At its position.
    Position,
    Other,
}

struct Step {
    program: usize,
    /// How far every program is by then.
    clock: Vec<u32>,
    how: Use,
    call: Io,
}

/// The uses of the call's handles.
fn uses(call: &Io) -> Vec<(HandleId, Use)> {
    let [first, second] = call.operands().1;
    let how = match call {
        Io::Open { .. } | Io::Inherit { .. } | Io::Share { .. } | Io::Close { .. } => Use::Life,
        Io::Read { .. } | Io::Write { .. } | Io::Seek { .. } | Io::ReadDir { .. } => Use::Position,
        _ => Use::Other,
    };
    first.map(|handle| (handle, how)).into_iter().chain(second.map(|new| (new, Use::Life))).collect()
}

fn join(mine: &mut [u32], news: &[u32]) {
    mine.iter_mut().zip(news).for_each(|(mine, &news)| *mine = (*mine).max(news));
}

/// Shows every operation of every program to `see`: the program, how far every program is by then, the operation. A vector
/// clock (Fidge 1988, Mattern 1989), as the edges alone order them.
fn follow(plan: &Plan, mut see: impl FnMut(usize, &[u32], Io)) {
    let count = plan.programs.len();
    let mut steps: Vec<_> = plan.programs.iter().map(|program| program.steps.unrolled().peekable()).collect();
    let mut clocks = vec![vec![0u32; count]; count];
    let mut edges = vec![(0u32, vec![0u32; count]); plan.edges.len()];
    let mut moved = true;
    while moved {
        moved = false;
        for program in 0..count {
            let is_ready = |op: &Op, edges: &[(u32, Vec<u32>)]| match *op {
                Op::Wait { edge, count, .. } => edges[edge as usize].0 >= count,
                _ => true,
            };
            while let Some(step) = steps[program].next_if(|step| is_ready(&step.op, &edges)) {
                moved = true;
                let clock = &mut clocks[program];
                clock[program] += 1;
                match step.op {
                    Op::Wait { edge, .. } => join(clock, &edges[edge as usize].1),
                    Op::Signal { edge } => {
                        let (signals, known) = &mut edges[edge as usize];
                        *signals += 1;
                        join(known, clock);
                    }
                    Op::Io { call, .. } => see(program, clock, call),
                    _ => {}
                }
            }
        }
    }
    assert!(steps.iter_mut().all(|steps| steps.peek().is_none()), "a checked plan ends");
}

/// Every use of every handle.
fn uses_of_handles(plan: &Plan) -> HashMap<(u32, HandleId), Vec<Step>> {
    let mut found: HashMap<(u32, HandleId), Vec<Step>> = HashMap::new();
    follow(plan, |program, clock, call| {
        let process = plan.programs[program].thread.process;
        for (handle, how) in uses(&call) {
            let step = Step { program, clock: clock.to_vec(), how, call };
            found.entry((process, handle)).or_default().push(step);
        }
    });
    found
}

/// A write, in the order that the edges of a plan demand.
#[derive(Clone, Debug)]
pub struct Write {
    program: usize,
    clock: Vec<u32>,
}

impl Write {
    /// Whether it is over when the other one begins, in every replay.
    pub fn comes_before(&self, other: &Write) -> bool {
        self.clock[self.program] <= other.clock[self.program]
    }
}

/// The writes to every file, by its last name.
pub fn writes(plan: &Plan) -> BTreeMap<String, Vec<Write>> {
    writes_by(plan, 1)
}

/// The same by so many last names of its path.
pub fn writes_by(plan: &Plan, names: usize) -> BTreeMap<String, Vec<Write>> {
    let (mut files, mut found) = (HashMap::new(), BTreeMap::<String, Vec<Write>>::new());
    follow(plan, |program, clock, call| {
        let process = plan.programs[program].thread.process;
        match call {
            Io::Open { file, handle, .. } => {
                files.insert((process, handle), file);
            }
            Io::Write { handle, .. } => {
                let path = &plan.files[files[&(process, handle)] as usize].path;
                let before = path.rsplitn(names + 1, '/').nth(names).map_or(0, |before| before.len() + 1);
                let name = path[before..].to_owned();
                found.entry(name).or_default().push(Write { program, clock: clock.to_vec() });
            }
            _ => {}
        }
    });
    found
}

/// Pairs of steps on a handle, of two programs, whose order matters and that no edge orders: one of them opens or closes, or
/// both are at the position.
pub fn unordered(plan: &Plan) -> Vec<String> {
    let comes_before = |one: &Step, other: &Step| one.clock[one.program] <= other.clock[one.program];
    let mut found = Vec::new();
    for steps in uses_of_handles(plan).values() {
        for (index, one) in steps.iter().enumerate() {
            for other in steps[index + 1..].iter().filter(|other| other.program != one.program) {
                let matters = one.how == Use::Life
                    || other.how == Use::Life
                    || (one.how, other.how) == (Use::Position, Use::Position);
                if matters && !comes_before(one, other) && !comes_before(other, one) {
                    let (p, q) = (one.program, other.program);
                    found.push(format!("p{p} {} and p{q} {}", one.call, other.call));
                }
            }
        }
    }
    found
}
