//! Repeats, as far as they signal and wait.

use crate::orders::{Order, Orders};
use crate::{EdgeId, Fault};

/// For an edge to have had so many signals.
#[derive(Clone, Copy)]
pub struct Wait {
    pub edge: EdgeId,
    pub count: u64,
}

/// A repeat with those inside it, as far as they signal and wait.
pub struct Repeats {
    nodes: Vec<Node>,
    /// Steps of the program that it takes, its own among them.
    pub steps: u64,
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
pub enum Next {
    Wait(Wait),
    Signals(Vec<(EdgeId, u64)>),
    Further,
    Done,
}

impl Repeats {
    /// Reads the `steps` steps of a repeat, and shows each to `see`.
    pub fn read(
        orders: &mut Orders<'_>,
        count: u32,
        steps: u32,
        mut see: impl FnMut(Order) -> Result<(), Fault>,
    ) -> Result<Repeats, Fault> {
        let mut nodes = vec![Node::Repeat { count, end: 0 }];
        // Repeats that are not at their end: their node, and how many of their steps are left.
        let mut open = vec![(0, steps)];
        for step in 1..=u64::from(steps) {
            let order = orders.next();
            order.map_or(Ok(()), &mut see)?;
            open.iter_mut().for_each(|(_, left)| *left = left.saturating_sub(1));
            match order {
                Some(Order::Signal { edge }) => nodes.push(Node::Signal { edge }),
                Some(Order::Wait { edge, count, stride }) => {
                    let wait = Wait { edge, count: count.into() };
                    nodes.push(Node::Wait { wait, stride: stride.into(), step });
                }
                Some(Order::Repeat { count, steps }) => {
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
        Ok(Repeats { nodes, steps: u64::from(steps) + 1, node, levels, begins })
    }

    /// The next signals; or the next wait, unless it is satisfied.
    pub fn next(&mut self, counters: &[u64]) -> Next {
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

    /// The next node, the iteration of the outermost repeat, and those of the repeats within.
    pub fn place(&self) -> (usize, u32, Vec<u32>) {
        let mut iterations = self.levels.iter().map(|level| level.iteration);
        (self.node, iterations.next().unwrap_or(0), iterations.collect())
    }

    /// Goes on to a later iteration of the outermost one.
    pub fn skip(&mut self, iterations: u32) {
        self.levels[0].iteration += iterations;
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

    /// Iterations of the outermost one that are not over.
    pub fn iterations_left(&self) -> u32 {
        match self.nodes.first() {
            Some(&Node::Repeat { count, .. }) => count - self.levels[0].iteration,
            _ => 0,
        }
    }

    /// The waits in a repeat: for what the first time, how much more each time, and how often in an iteration.
    pub fn waits(&self, repeat: usize) -> impl Iterator<Item = (Wait, u64, u64)> + '_ {
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
    pub fn at_wait(&self) -> (u64, Wait) {
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
