//! The events of all threads of a run, and the gaps between them, in the order in which they ended.

use std::cell::RefCell;
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::order::InTimeOrder;
use syn_trace::reader::Ending;
use syn_trace::run::{MeasuredEvents, Process, Segment, Thread};
use syn_trace::{Event, Run};

/// One line of the dump.
pub struct Line<'a> {
    /// The thread.
    pub thread: &'a Thread,
    /// Its process.
    pub process: &'a Process,
    /// What happened.
    pub item: Item<'a>,
}

/// A call, or what lay before one.
pub enum Item<'a> {
    /// A call, and the files it was about.
    Call(&'a Event<'a>, Touched),
    /// Computation between two calls, and 1 if that was inside another call.
    Gap(Segment, u32),
}

/// Hands `print` every line of the run and returns the threads whose records do not end as they should. Memory
/// stays constant per thread and per open file.
pub fn for_each_line<E>(
    run: &Run,
    mut print: impl FnMut(&Line<'_>) -> Result<(), E>,
) -> Result<Vec<(usize, Ending)>, E> {
    let endings = RefCell::new(Vec::new());
    let threads = (0..run.threads.len()).map(|index| Moments::of(run, index, &endings));
    let mut descriptors: Vec<Option<Descriptors>> = run.processes.iter().map(|_| None).collect();
    for (index, moment) in InTimeOrder::new(threads) {
        let thread = &run.threads[index];
        let process = &run.processes[thread.process];
        let item = match &moment {
            Moment::Gap(gap, depth) => Item::Gap(*gap, *depth),
            Moment::Return(event) => {
                let descriptors = descriptors[thread.process]
                    .get_or_insert_with(|| Descriptors::new(&process.cwd, process.threads.len()));
                Item::Call(event, descriptors.apply(event, thread.start_ns(event), thread.returned_ns(event)))
            }
        };
        print(&Line { thread, process, item })?;
    }
    Ok(endings.into_inner())
}

/// What ends at some time: a call by returning, a gap by the next call.
#[expect(clippy::large_enum_variant, reason = "nearly all are calls, and one per thread is kept")]
enum Moment<'a> {
    Return(Event<'a>),
    Gap(Segment, u32),
}

/// The moments of one thread.
struct Moments<'a> {
    thread: &'a Thread,
    index: usize,
    events: MeasuredEvents<'a>,
    /// The call behind the gap that was handed out last.
    behind_gap: Option<Event<'a>>,
    endings: &'a RefCell<Vec<(usize, Ending)>>,
}

impl<'a> Moments<'a> {
    fn of(run: &'a Run, index: usize, endings: &'a RefCell<Vec<(usize, Ending)>>) -> Moments<'a> {
        let thread = &run.threads[index];
        Moments { thread, index, events: thread.measured(), behind_gap: None, endings }
    }
}

impl<'a> Iterator for Moments<'a> {
    type Item = (u64, (usize, Moment<'a>));

    fn next(&mut self) -> Option<Self::Item> {
        let event = match self.behind_gap.take() {
            Some(event) => event,
            None => {
                let Some((event, measured)) = self.events.next() else {
                    let ending =
                        self.events.measures().events().ending().filter(|&ending| ending != Ending::Whole);
                    self.endings.borrow_mut().extend(ending.map(|ending| (self.index, ending)));
                    return None;
                };
                let gap = measured.before;
                if gap.wall_ns > 0 {
                    self.behind_gap = Some(event);
                    let end = gap.start_ns + gap.wall_ns;
                    let depth = u32::from(gap.inside.is_some());
                    return Some((end, (self.index, Moment::Gap(gap, depth))));
                }
                event
            }
        };
        Some((self.thread.clock.ns(event.end), (self.index, Moment::Return(event))))
    }
}
