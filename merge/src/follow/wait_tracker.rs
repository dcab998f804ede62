//! Everything by which threads wait for each other besides MPI, files, and making and ending each other.

use crate::clocks::Clocks;
use crate::follow::channel_tracker::ChannelTracker;
use crate::follow::ipc_tracker::IpcTracker;
use crate::follow::lock_tracker::LockTracker;
use crate::follow::pass::{Seen, Visitor};
use crate::follow::signal_tracker::SignalTracker;
use crate::follow::sleep_loops::SleepLoops;
use crate::follow::terminal_tracker::TerminalTracker;
use crate::follow::timed_waits::TimedWaits;
use crate::follow::timer_tracker::{EndedByTimer, TimerTracker};
use crate::graph::dependency::Dependencies;
use crate::notes::Notes;
use crate::rules::process_join::ProcessEnd;
use syn_trace::Run;
use syn_trace::calls::Effect;
use syn_trace::descriptors::{Descriptors, Touched};

/// Its parts, seen as one visitor.
#[derive(Debug)]
pub struct WaitTracker {
    locks: LockTracker,
    channels: ChannelTracker,
    ipc: IpcTracker,
    signals: SignalTracker,
    terminals: TerminalTracker,
    timers: TimerTracker,
    sleep_loops: SleepLoops,
}

/// What the waits of a run tell.
#[derive(Debug)]
pub struct WaitsFollowed {
    /// Who waited for whom.
    pub found: Dependencies,
    /// Which calls waited for a timer.
    pub ended_by_timer: EndedByTimer,
    /// Which sleeps would have ended with the last one of their loop.
    pub sleeps: TimedWaits,
}

impl WaitTracker {
    /// For a run, with nothing seen yet.
    pub fn new(run: &Run, clocks: &Clocks) -> WaitTracker {
        WaitTracker {
            locks: LockTracker::new(run, clocks),
            channels: ChannelTracker::new(run, clocks),
            ipc: IpcTracker::new(run, clocks),
            signals: SignalTracker::new(run, clocks),
            terminals: TerminalTracker::new(run, clocks),
            timers: TimerTracker::new(run),
            sleep_loops: SleepLoops::new(run),
        }
    }

    /// All that they tell.
    pub fn finish(self, ends: &[Option<ProcessEnd>], notes: &mut Notes) -> WaitsFollowed {
        let (mut found, incomplete) = self.channels.finish(ends);
        found.append(self.locks.finish());
        found.append(self.ipc.finish(ends));
        found.append(self.signals.finish());
        found.append(self.terminals.finish());
        let (of_loops, sleeps) = self.sleep_loops.finish();
        found.append(of_loops);
        if incomplete > 0 {
            notes.remark(format!(
                "of {incomplete} pipes and connections more was read than is known to have been written, or nobody knows how much: who waited for whom is not known from there on"
            ));
        }
        WaitsFollowed { found, ended_by_timer: self.timers.finish(), sleeps }
    }
}

impl Visitor for WaitTracker {
    #[inline]
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        self.locks.see(seen, touched, descriptors);
        self.channels.see(seen, touched, descriptors);
        self.ipc.see(seen, touched, descriptors);
        self.signals.see(seen, touched, descriptors);
        self.terminals.see(seen, touched, descriptors);
        self.timers.see(seen, touched, descriptors);
        self.sleep_loops.see(seen, touched, descriptors);
        if seen.event.call.effect() == Effect::AwaitReadiness {
            let (signals, terminals, timers) = (&mut self.signals, &mut self.terminals, &mut self.timers);
            self.channels.ready(seen, touched, descriptors, |open, how| {
                signals.read(seen, open, descriptors);
                timers.read(seen, open, descriptors);
                terminals.look(seen, open, how, descriptors);
            });
        }
    }
}
