//! Whether every program of a plan comes to its end.
//!
//! Edges only ever grow, so what can be done once can be done later as well: if the programs come to their ends in one order,
//! they do in every order that waits allow. One is looked for here, in the abstract: each program goes on until a wait that
//! is not yet satisfied. Repeats are not unrolled for that:
//!
//! - As many iterations as have all their signals are done at once ([`Repeats::batch`]).
//! - Programs that wait for each other in turn come again and again to the same places, all counters further by the same
//!   amounts. What they did in between they can do again from there, as often as the repeats last ([`Search::skip`]).

mod repeats;

use crate::Fault;
use crate::orders::{Order, Orders};
use crate::{EdgeId, Plan};
use repeats::{Next, Repeats, Wait};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Steps in repeats that are looked at one by one before a plan is refused: a second or two.
const MOST_STEPS: u64 = 1 << 25;
/// Such steps before the first look for a state that comes again, for each program and edge and in any case.
const LOOK_EVERY: u64 = 4;
const LOOK_AFTER: u64 = 4096;
/// States that are compared with a remembered one.
const COMPARED: u32 = 64;

/// Sees every step once, those of a program in its order, before anything is done with it.
pub(crate) trait Look {
    /// Refuses a step: nothing goes on then.
    fn see(&mut self, program: usize, order: Order) -> Result<(), Fault>;
}

/// For steps whose edges are all there, and whose repeats end.
impl Look for () {
    fn see(&mut self, _: usize, _: Order) -> Result<(), Fault> {
        Ok(())
    }
}

/// Checks that all programs of a plan come to an end, whose edges are all there and whose repeats end, or `look` says that they
/// do not. Returns by edge how many signals it got.
pub(crate) fn check(plan: &Plan, look: &mut impl Look) -> Result<Vec<u64>, Fault> {
    let mut search = Search::new(plan);
    while let Some(program) = search.ready.pop() {
        search.look(program)?;
        search.run(program, look)?;
    }
    search.ended()
}

struct Search<'a> {
    counters: Vec<u64>,
    /// By edge that is waited for: programs by the count that they wait for, so that a signal looks at those only which it
    /// lets go on.
    waiting: HashMap<EdgeId, BinaryHeap<Reverse<(u64, usize)>>>,
    /// By edge: whether it is among these.
    awaited: Vec<bool>,
    ready: Vec<usize>,
    states: Vec<State<'a>>,
    /// Steps in repeats that were looked at.
    steps: u64,
    look_at: u64,
    remembered: Option<Remembered>,
}

/// Where a program is.
struct State<'a> {
    orders: Orders<'a>,
    /// The number of its next step.
    at: u64,
    place: Place,
}

enum Place {
    Between,
    At(Wait),
    In(Repeats),
    Ended,
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
            orders: program.steps.orders(),
            at: 0,
            place: Place::Between,
        };
        Search {
            counters: vec![0; plan.edges.len()],
            waiting: HashMap::new(),
            awaited: vec![false; plan.edges.len()],
            ready: (0..plan.programs.len()).rev().collect(),
            states: plan.programs.iter().map(state).collect(),
            steps: 0,
            look_at: LOOK_AFTER,
            remembered: None,
        }
    }

    /// Goes on with a program to the next wait that is not satisfied.
    fn run(&mut self, program: usize, look: &mut impl Look) -> Result<(), Fault> {
        loop {
            let state = &mut self.states[program];
            match &mut state.place {
                Place::Ended => return Ok(()),
                Place::At(wait) => {
                    let wait = *wait;
                    if self.counters[wait.edge as usize] < wait.count {
                        self.wait(program, wait);
                        return Ok(());
                    }
                    state.place = Place::Between;
                    state.at += 1;
                }
                Place::In(repeats) => match repeats.next(&self.counters) {
                    Next::Wait(wait) => {
                        self.wait(program, wait);
                        return Ok(());
                    }
                    Next::Signals(signals) => {
                        self.steps += 1;
                        signals.into_iter().for_each(|(edge, count)| self.signal(edge, count));
                    }
                    Next::Further => self.steps += 1,
                    Next::Done => {
                        state.at += repeats.steps;
                        state.place = Place::Between;
                    }
                },
                Place::Between => self.go_on(program, look)?,
            }
        }
    }

    /// Goes on with a program that is in no repeat to its next wait or repeat, or to its end.
    fn go_on(&mut self, program: usize, look: &mut impl Look) -> Result<(), Fault> {
        loop {
            let state = &mut self.states[program];
            let Some(order) = state.orders.next() else {
                state.place = Place::Ended;
                return Ok(());
            };
            look.see(program, order)?;
            match order {
                Order::Wait { edge, count, .. } => {
                    state.place = Place::At(Wait { edge, count: count.into() });
                    return Ok(());
                }
                Order::Signal { edge } => {
                    state.at += 1;
                    self.signal(edge, 1);
                }
                Order::Repeat { count, steps } => {
                    let see = |order| look.see(program, order);
                    state.place = Place::In(Repeats::read(&mut state.orders, count, steps, see)?);
                    return Ok(());
                }
                Order::Other => state.at += 1,
            }
        }
    }

    fn wait(&mut self, program: usize, wait: Wait) {
        self.awaited[wait.edge as usize] = true;
        self.waiting.entry(wait.edge).or_default().push(Reverse((wait.count, program)));
    }

    fn signal(&mut self, edge: EdgeId, count: u64) {
        let counter = &mut self.counters[edge as usize];
        *counter = counter.saturating_add(count);
        let reached = *counter;
        if !self.awaited[edge as usize] {
            return;
        }
        let Some(waiting) = self.waiting.get_mut(&edge) else { return };
        while waiting.peek().is_some_and(|&Reverse((count, _))| count <= reached) {
            self.ready.extend(waiting.pop().map(|Reverse((_, program))| program));
        }
        if waiting.is_empty() {
            self.waiting.remove(&edge);
            self.awaited[edge as usize] = false;
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
            let Place::In(repeats) = &state.place else { continue };
            if iterations == 0 {
                continue;
            }
            times = times.min(u64::from(repeats.iterations_left()) / iterations);
            let keeps_up = |(wait, stride, each): (Wait, u64, u64)| {
                stride.saturating_mul(each).saturating_mul(iterations) <= grown(wait.edge)
            };
            if !repeats.waits(0).all(keeps_up) {
                return None;
            }
        }
        // A period before the end of the first repeat, which then ends as usual.
        let times = times.checked_sub(1).filter(|&times| times > 0 && times < u64::from(u32::MAX))?;
        for (counter, &earlier) in self.counters.iter_mut().zip(&before.counters) {
            *counter = counter.saturating_add((*counter - earlier).saturating_mul(times));
        }
        for (state, iterations) in self.states.iter_mut().zip(further) {
            if let Place::In(repeats) = &mut state.place {
                repeats.skip((iterations * times) as u32);
            }
        }
        self.waiting.drain().for_each(|(edge, _)| self.awaited[edge as usize] = false);
        self.ready = (0..self.states.len()).rev().filter(|&program| program != next).collect();
        Some(())
    }

    /// How many signals every edge got, unless a program has not come to its end.
    fn ended(self) -> Result<Vec<u64>, Fault> {
        for (program, state) in self.states.into_iter().enumerate() {
            let (step, wait) = match state.place {
                Place::Ended => continue,
                Place::Between => unreachable!("a program stops at waits and at its end"),
                Place::At(wait) => (state.at, wait),
                Place::In(repeats) => {
                    let (inside, wait) = repeats.at_wait();
                    (state.at + inside, wait)
                }
            };
            let (edge, count) = (wait.edge, u32::try_from(wait.count).unwrap_or(u32::MAX));
            return Err(Fault::Deadlock { program, step, edge, count });
        }
        Ok(self.counters)
    }
}

impl State<'_> {
    fn position(&self) -> Position {
        let nowhere = Position { at: self.at, node: 0, inner: Vec::new(), iteration: 0 };
        match &self.place {
            Place::In(repeats) => {
                let (node, iteration, inner) = repeats.place();
                Position { node, iteration, inner, ..nowhere }
            }
            Place::At(_) => Position { node: 1, ..nowhere },
            Place::Between => nowhere,
            Place::Ended => Position { node: 2, ..nowhere },
        }
    }
}
