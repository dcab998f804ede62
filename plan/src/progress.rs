//! Whether every program of a plan comes to its end.
//!
//! Edges only ever grow, so what can be done once can be done later as well: if the programs come to their ends in one order,
//! they do in every order that waits allow. One is looked for here, in the abstract: each program goes on until a wait that
//! is not yet satisfied. Repeats are not unrolled for that:
//!
//! - As many iterations as have all their signals are done at once ([`Loops::batch`]).
//! - Programs that wait for each other in turn come again and again to the same places, all counters further by the same
//!   amounts. What they did in between they can do again from there, as often as the repeats last ([`Search::skip`]).

use crate::Fault;
use crate::steps::Decoder;
use crate::{EdgeId, Op, Plan};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Steps in repeats that are looked at one by one before a plan is refused: a second or two.
const MOST_STEPS: u64 = 1 << 25;
/// Such steps before the first look for a state that comes again, for each program and edge and in any case.
const LOOK_EVERY: u64 = 4;
const LOOK_AFTER: u64 = 4096;
/// States that are compared with a remembered one.
const COMPARED: u32 = 64;

/// Checks that all programs of a plan come to an end, whose numbers all refer to something.
pub(crate) fn check(plan: &Plan) -> Result<(), Fault> {
    let mut search = Search::new(plan);
    while let Some(program) = search.ready.pop() {
        search.look(program)?;
        search.run(program);
    }
    search.blocked()
}

struct Search<'a> {
    counters: Vec<u64>,
    /// Programs by the count that they wait for, so that a signal looks at those only which it lets go on.
    waiting: Vec<BinaryHeap<Reverse<(u64, usize)>>>,
    ready: Vec<usize>,
    states: Vec<State<'a>>,
    /// Steps in repeats that were looked at.
    steps: u64,
    look_at: u64,
    remembered: Option<Remembered>,
}

/// Where a program is.
struct State<'a> {
    steps: Decoder<'a>,
    /// The number of its next step.
    at: u64,
    place: Place,
}

enum Place {
    Between,
    At(Wait),
    In(Loops),
    Ended,
}

#[derive(Clone, Copy)]
struct Wait {
    edge: EdgeId,
    count: u64,
}

/// A state of all programs that may come again.
struct Remembered {
    /// States are compared when this program is about to go on.
    program: usize,
    counters: Vec<u64>,
    positions: Vec<Position>,
    compared: u32,
}

/// Where a program is, and how often it has been there in the repeat around all others.
#[derive(Clone, PartialEq)]
struct Position {
    at: u64,
    node: usize,
    /// Iterations of the repeats within.
    inner: Vec<u32>,
    iteration: u32,
}

impl<'a> Search<'a> {
    fn new(plan: &'a Plan) -> Search<'a> {
        let state = |program: &'a crate::Program| State {
            steps: program.steps.decoder(),
            at: 0,
            place: Place::Between,
        };
        Search {
            counters: vec![0; plan.edges.len()],
            waiting: vec![BinaryHeap::new(); plan.edges.len()],
            ready: (0..plan.programs.len()).rev().collect(),
            states: plan.programs.iter().map(state).collect(),
            steps: 0,
            look_at: LOOK_AFTER,
            remembered: None,
        }
    }

    /// Goes on with a program to the next wait that is not satisfied.
    fn run(&mut self, program: usize) {
        loop {
            let state = &mut self.states[program];
            match &mut state.place {
                Place::Ended => return,
                Place::At(wait) => {
                    let wait = *wait;
                    if self.counters[wait.edge as usize] < wait.count {
                        return self.wait(program, wait);
                    }
                    state.place = Place::Between;
                    state.at += 1;
                }
                Place::In(loops) => match loops.next(&self.counters) {
                    Next::Wait(wait) => return self.wait(program, wait),
                    Next::Signals(signals) => {
                        self.steps += 1;
                        signals.into_iter().for_each(|(edge, count)| self.signal(edge, count));
                    }
                    Next::Further => self.steps += 1,
                    Next::Done => {
                        state.at += loops.steps;
                        state.place = Place::Between;
                    }
                },
                Place::Between => match state.steps.next().map(|step| step.op) {
                    None => state.place = Place::Ended,
                    Some(Op::Wait { edge, count, .. }) => {
                        state.place = Place::At(Wait { edge, count: count.into() });
                    }
                    Some(Op::Signal { edge }) => {
                        state.at += 1;
                        self.signal(edge, 1);
                    }
                    Some(Op::Repeat { count, steps }) => {
                        state.place = Place::In(Loops::read(&mut state.steps, count, steps));
                    }
                    Some(_) => state.at += 1,
                },
            }
        }
    }

    fn wait(&mut self, program: usize, wait: Wait) {
        self.waiting[wait.edge as usize].push(Reverse((wait.count, program)));
    }

    fn signal(&mut self, edge: EdgeId, count: u64) {
        let edge = edge as usize;
        self.counters[edge] = self.counters[edge].saturating_add(count);
        let reached = self.counters[edge];
        while self.waiting[edge].peek().is_some_and(|&Reverse((count, _))| count <= reached) {
            self.ready.extend(self.waiting[edge].pop().map(|Reverse((_, program))| program));
        }
    }

    /// Looks whether all programs are where they were before, when there have been many steps in repeats.
    fn look(&mut self, program: usize) -> Result<(), Fault> {
        if self.steps > MOST_STEPS {
            return Err(Fault::TooLong { steps: MOST_STEPS });
        }
        let Some(remembered) = &mut self.remembered else {
            if self.steps >= self.look_at && matches!(self.states[program].place, Place::In(_)) {
                self.remembered = Some(Remembered {
                    program,
                    counters: self.counters.clone(),
                    positions: self.states.iter().map(State::position).collect(),
                    compared: 0,
                });
            }
            return Ok(());
        };
        if remembered.program != program {
            return Ok(());
        }
        remembered.compared += 1;
        let over = remembered.compared > COMPARED;
        if self.skip(program).is_some() || over {
            self.remembered = None;
            let all = (self.states.len() + self.counters.len()) as u64;
            self.look_at = self.steps + LOOK_AFTER.max(all * LOOK_EVERY);
        }
        Ok(())
    }

    /// Does what was done since the remembered state as often again as the repeats last, if it led to the same places, and
    /// every edge grew by at least what its waits grow by. `next` is the program that goes on now.
    fn skip(&mut self, next: usize) -> Option<()> {
        let before = self.remembered.as_ref()?;
        let mut times = u64::MAX;
        let mut further = Vec::with_capacity(self.states.len());
        let grown = |edge: EdgeId| self.counters[edge as usize] - before.counters[edge as usize];
        for (state, earlier) in self.states.iter().zip(&before.positions) {
            let now = state.position();
            let same_place = Position { iteration: earlier.iteration, ..now.clone() } == *earlier;
            let iterations = u64::from(now.iteration.checked_sub(earlier.iteration).filter(|_| same_place)?);
            further.push(iterations);
            let Place::In(loops) = &state.place else { continue };
            if iterations == 0 {
                continue;
            }
            times = times.min(u64::from(loops.iterations_left()) / iterations);
            let keeps_up = |(wait, stride, each): (Wait, u64, u64)| {
                stride.saturating_mul(each).saturating_mul(iterations) <= grown(wait.edge)
            };
            if !loops.waits(0).all(keeps_up) {
                return None;
            }
        }
        // A period before the end of the first repeat, which then ends as usual.
        let times = times.checked_sub(1).filter(|&times| times > 0 && times < u64::from(u32::MAX))?;
        for (counter, &earlier) in self.counters.iter_mut().zip(&before.counters) {
            *counter = counter.saturating_add((*counter - earlier).saturating_mul(times));
        }
        for (state, iterations) in self.states.iter_mut().zip(further) {
            if let Place::In(loops) = &mut state.place {
                loops.levels[0].iteration += (iterations * times) as u32;
            }
        }
        self.waiting.iter_mut().for_each(BinaryHeap::clear);
        self.ready = (0..self.states.len()).rev().filter(|&program| program != next).collect();
        Some(())
    }

    /// The first program that has not come to its end.
    fn blocked(self) -> Result<(), Fault> {
        for (program, state) in self.states.into_iter().enumerate() {
            let (step, wait) = match state.place {
                Place::Ended => continue,
                Place::Between => unreachable!("a program stops at waits and at its end"),
                Place::At(wait) => (state.at, wait),
                Place::In(loops) => {
                    let (inside, wait) = loops.at_wait();
                    (state.at + inside, wait)
                }
            };
            let (edge, count) = (wait.edge, u32::try_from(wait.count).unwrap_or(u32::MAX));
            return Err(Fault::Deadlock { program, step, edge, count });
        }
        Ok(())
    }
}

impl State<'_> {
    fn position(&self) -> Position {
        let nowhere = Position { at: self.at, node: 0, inner: Vec::new(), iteration: 0 };
        match &self.place {
            Place::In(loops) => Position {
                node: loops.node,
                inner: loops.levels[1..].iter().map(|level| level.iteration).collect(),
                iteration: loops.levels[0].iteration,
                ..nowhere
            },
            Place::At(_) => Position { node: 1, ..nowhere },
            Place::Between => nowhere,
            Place::Ended => Position { node: 2, ..nowhere },
        }
    }
}

/// A repeat with those inside it, as far as they signal and wait.
struct Loops {
    nodes: Vec<Node>,
    /// Steps of the program that it takes, its own among them.
    steps: u64,
    /// The next node.
    node: usize,
    /// The repeats around it, innermost last.
    levels: Vec<Level>,
    /// At the beginning of an iteration of the innermost one.
    begins: bool,
}

enum Node {
    /// Nodes up to `end`, `count` times.
    Repeat {
        count: u32,
        end: usize,
    },
    Signal {
        edge: EdgeId,
    },
    /// The step is counted from the outermost repeat's.
    Wait {
        wait: Wait,
        stride: u64,
        step: u64,
    },
}

#[derive(Clone, Copy)]
struct Level {
    /// Its node.
    node: usize,
    iteration: u32,
}

/// What comes next in a repeat.
enum Next {
    Wait(Wait),
    Signals(Vec<(EdgeId, u64)>),
    Further,
    Done,
}

impl Loops {
    /// Reads the `steps` steps of a repeat.
    fn read(decoder: &mut Decoder<'_>, count: u32, steps: u32) -> Loops {
        let mut nodes = vec![Node::Repeat { count, end: 0 }];
        // Repeats that are not at their end: their node, and how many of their steps are left.
        let mut open = vec![(0, steps)];
        for step in 1..=u64::from(steps) {
            let op = decoder.next().map(|step| step.op);
            open.iter_mut().for_each(|(_, left)| *left = left.saturating_sub(1));
            match op {
                Some(Op::Signal { edge }) => nodes.push(Node::Signal { edge }),
                Some(Op::Wait { edge, count, stride }) => {
                    let wait = Wait { edge, count: count.into() };
                    nodes.push(Node::Wait { wait, stride: stride.into(), step });
                }
                Some(Op::Repeat { count, steps }) => {
                    open.push((nodes.len(), steps));
                    nodes.push(Node::Repeat { count, end: 0 });
                }
                _ => {}
            }
            while let Some((node, _)) = open.pop_if(|(node, left)| *left == 0 && *node > 0) {
                close(&mut nodes, node);
            }
        }
        close(&mut nodes, 0);
        let levels = vec![Level { node: 0, iteration: 0 }];
        let (node, begins) = if nodes.is_empty() { (0, false) } else { (1, true) };
        Loops { nodes, steps: u64::from(steps) + 1, node, levels, begins }
    }

    /// The next signals; or the next wait, unless it is satisfied.
    fn next(&mut self, counters: &[u64]) -> Next {
        if self.nodes.is_empty() {
            return Next::Done;
        }
        if std::mem::take(&mut self.begins)
            && let Some(signals) = self.batch(counters)
        {
            return Next::Signals(signals);
        }
        let Some(&level) = self.levels.last() else { return Next::Done };
        let Node::Repeat { count, end } = self.nodes[level.node] else { return Next::Done };
        if self.node == end {
            self.turn(level, count, end);
            return Next::Further;
        }
        match self.nodes[self.node] {
            Node::Signal { edge } => {
                self.node += 1;
                Next::Signals(vec![(edge, 1)])
            }
            Node::Wait { wait, stride, .. } => {
                let wait = Wait { count: nth(wait.count, stride, self.before()), ..wait };
                if counters[wait.edge as usize] < wait.count {
                    return Next::Wait(wait);
                }
                self.node += 1;
                Next::Further
            }
            Node::Repeat { .. } => {
                self.levels.push(Level { node: self.node, iteration: 0 });
                self.node += 1;
                self.begins = true;
                Next::Further
            }
        }
    }

    /// At the end of an iteration.
    fn turn(&mut self, level: Level, count: u32, end: usize) {
        let iteration = level.iteration + 1;
        if iteration < count {
            self.levels.pop();
            self.levels.push(Level { iteration, ..level });
            (self.node, self.begins) = (level.node + 1, true);
        } else {
            self.levels.pop();
            self.node = end;
        }
    }

    /// Does as many iterations of the innermost repeat as have all their signals, but for the last one of it: the signals that
    /// they give, or `None` when there is no such iteration.
    fn batch(&mut self, counters: &[u64]) -> Option<Vec<(EdgeId, u64)>> {
        let level = *self.levels.last()?;
        let Node::Repeat { count, .. } = self.nodes[level.node] else { return None };
        let before = self.before();
        let left = u64::from(count - level.iteration) - 1;
        let possible = |(wait, stride, each): (Wait, u64, u64)| {
            let Some(spare) = counters[wait.edge as usize].checked_sub(wait.count) else { return 0 };
            match stride {
                0 => left,
                // The last turn of iteration i, counted from all, is the (i + 1) · each - 1st.
                _ => ((spare / stride + 1) / each).saturating_sub(before),
            }
        };
        let iterations = self.waits(level.node).map(possible).min().unwrap_or(left).min(left);
        if iterations == 0 {
            return None;
        }
        let signals = self.signals(level.node, iterations);
        if let Some(level) = self.levels.last_mut() {
            level.iteration += iterations as u32;
        }
        self.begins = true;
        Some(signals)
    }

    /// How often the present step was done before, in all repeats around it.
    fn before(&self) -> u64 {
        self.levels.iter().fold(0u64, |before, level| match self.nodes[level.node] {
            Node::Repeat { count, .. } => {
                before.saturating_mul(count.into()).saturating_add(level.iteration.into())
            }
            _ => before,
        })
    }

    fn iterations_left(&self) -> u32 {
        match self.nodes.first() {
            Some(&Node::Repeat { count, .. }) => count - self.levels[0].iteration,
            _ => 0,
        }
    }

    /// The waits in a repeat: for what the first time, how much more each time, and how often in an iteration.
    fn waits(&self, repeat: usize) -> impl Iterator<Item = (Wait, u64, u64)> + '_ {
        self.inside(repeat).filter_map(|(node, each)| match *node {
            Node::Wait { wait, stride, .. } => Some((wait, stride, each)),
            _ => None,
        })
    }

    fn signals(&self, repeat: usize, iterations: u64) -> Vec<(EdgeId, u64)> {
        let signals = self.inside(repeat).filter_map(|(node, each)| match *node {
            Node::Signal { edge } => Some((edge, each.saturating_mul(iterations))),
            _ => None,
        });
        signals.collect()
    }

    /// The nodes in a repeat, and how often each is done in an iteration of it.
    fn inside(&self, repeat: usize) -> impl Iterator<Item = (&Node, u64)> + '_ {
        let end = match self.nodes[repeat] {
            Node::Repeat { end, .. } => end,
            _ => repeat,
        };
        let mut around: Vec<(usize, u64)> = Vec::new();
        (repeat + 1..end).map(move |node| {
            while around.pop_if(|(end, _)| *end == node).is_some() {}
            let each = around.last().map_or(1, |&(_, each)| each);
            if let Node::Repeat { count, end } = self.nodes[node] {
                around.push((end, each.saturating_mul(count.into())));
            }
            (&self.nodes[node], each)
        })
    }

    /// The wait that it stands at, and its step.
    fn at_wait(&self) -> (u64, Wait) {
        match self.nodes[self.node] {
            Node::Wait { wait, stride, step } => {
                (step, Wait { count: nth(wait.count, stride, self.before()), ..wait })
            }
            _ => unreachable!("a program stops at waits and at its end"),
        }
    }
}

/// A repeat ends here; without signals and waits it is left out, as is one that is never done.
fn close(nodes: &mut Vec<Node>, node: usize) {
    let last = nodes.len();
    match &mut nodes[node] {
        Node::Repeat { count, end } if *count > 0 && node + 1 < last => *end = last,
        _ => nodes.truncate(node),
    }
}

/// What a wait waits for when it was done `before` times.
fn nth(count: u64, stride: u64, before: u64) -> u64 {
    stride.saturating_mul(before).saturating_add(count)
}
