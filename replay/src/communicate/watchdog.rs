//! Ends a replay in which a call of MPI does not return: whether calls match each other in every order that an MPI may take is
//! not known from a plan.

use super::engine::Engine;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, sleep};
use std::time::{Duration, Instant};
use syn_plan::MPI_ROWS;

/// The least time that a call may take.
const LEAST: Duration = Duration::from_secs(600);
/// So many times as long as the recorded run a call may take: storage may be slower here, and others wait for it.
const TIMES: u32 = 20;
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// Looks after the calls of a rank until it is dropped.
pub struct Watchdog<'a>(&'a AtomicBool);

impl<'a> Watchdog<'a> {
    /// Calls `died` with the reason when a call has taken too long. `over` is set when the watch ends.
    pub fn begin<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        engine: &'scope Engine<'_>,
        recorded_ns: u64,
        over: &'a AtomicBool,
        died: &'scope (dyn Fn(&str) + Sync),
    ) -> Watchdog<'a>
    where
        'a: 'scope,
    {
        let most = LEAST.max(Duration::from_nanos(recorded_ns).saturating_mul(TIMES));
        scope.spawn(move || {
            let mut latest: Vec<_> = engine.seats.iter().map(|_| (None, Instant::now())).collect();
            while !over.load(Ordering::Acquire) {
                sleep(PAUSE);
                for (seat, (before, since)) in engine.seats.iter().zip(&mut latest) {
                    let inside = seat.inside();
                    if inside != *before {
                        (*before, *since) = (inside, Instant::now());
                    }
                    let Some((call, number)) = inside.filter(|_| since.elapsed() > most) else { continue };
                    let row = MPI_ROWS.iter().find(|row| row.number == number);
                    let name = row.map_or("?", |row| row.variant);
                    died(&format!(
                        "call {call} of MPI, {name}, has not returned for {} s: the plan, or this MPI's buffers, do not let it",
                        most.as_secs()
                    ));
                }
            }
        });
        Watchdog(over)
    }
}

impl Drop for Watchdog<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
