//! Who locks which target of which window, and until when.

use super::communicators::{CommId, Communicators, Meaning, window};
use super::unmatched::Unmatched;
use crate::follow::pass::Seen;
use crate::graph::dependency::{Dependencies, Moment, Span};
use crate::rules::window_lock::{self, Asking, Locked};
use foldhash::{HashMap, HashSet};
use std::collections::BTreeMap;
use syn_trace::calls::effect::Mpi as Form;

/// Of an epoch, so many calls are kept, and the one that unlocks: a later flush finds the lock granted.
const MOST_CALLS: usize = 8;

/// The epochs that locks open. Memory: 44 bytes for each call that is kept.
#[derive(Debug, Default)]
pub struct WindowLocks {
    /// By process and window: those under way.
    open: HashMap<(u32, CommId), Vec<Locked>>,
    over: BTreeMap<CommId, Vec<Locked>>,
}

impl WindowLocks {
    /// A call that locks, flushes or unlocks.
    pub fn follow(&mut self, seen: &Seen<'_>, form: Form, communicators: &mut Communicators) {
        let (call, n) = (seen.event.call, &seen.event.numbers);
        let Some(&mut Meaning::Within(joined)) = communicators.meaning(seen.process, window(n[0])) else {
            return;
        };
        let about_all = matches!(form, Form::LockAll | Form::FlushAll | Form::UnlockAll);
        let target = match u32::try_from(n[1]) {
            _ if about_all => None,
            Ok(target) => Some(target),
            // Nobody's memory is locked.
            Err(_) => return,
        };
        let asking = Asking { span: seen.span(), call, target };
        let open = self.open.entry((seen.process, joined.comm)).or_default();
        match form {
            Form::LockTarget | Form::LockAll => {
                let exclusive = !about_all && n[2] != 0;
                open.push(Locked { target, exclusive, calls: vec![asking], is_over: false });
            }
            Form::UnlockTarget | Form::UnlockAll => {
                if let Some(at) = open.iter().position(|epoch| epoch.target == target) {
                    let mut epoch = open.swap_remove(at);
                    epoch.calls.push(asking);
                    epoch.is_over = true;
                    self.over.entry(joined.comm).or_default().push(epoch);
                }
            }
            _ => {
                let flushed = |epoch: &&mut Locked| about_all || [None, target].contains(&epoch.target);
                open.iter_mut()
                    .filter(flushed)
                    .filter(|epoch| epoch.calls.len() < MOST_CALLS)
                    .for_each(|epoch| epoch.calls.push(asking));
            }
        }
    }

    /// Once the clocks are aligned, by which `ns` says where a thread's time goes: who waited for whom. What waited is explained.
    pub fn connect(self, ns: impl Fn(u32, u64) -> u64, unmatched: &mut Unmatched, found: &mut Dependencies) {
        let WindowLocks { open, mut over } = self;
        for ((_, window), epochs) in open {
            over.entry(window).or_default().extend(epochs);
        }
        for mut epochs in over.into_values() {
            let retimed = |moment: Moment| {
                let point = moment.point();
                Moment::new(point, ns(point.thread, moment.ns))
            };
            for call in epochs.iter_mut().flat_map(|epoch| &mut epoch.calls) {
                let Span { enter, leave } = call.span;
                call.span = Span { enter: retimed(enter), leave: retimed(leave) };
            }
            let mut explained = HashSet::default();
            for Asking { span, call, .. } in window_lock::connect(epochs, found) {
                if explained.insert(span.leave.point()) {
                    unmatched.explain(call, span.leave.ns.saturating_sub(span.enter.ns));
                }
            }
        }
    }
}
