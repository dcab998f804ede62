//! A wait for a futex, by a system call of the program's own, ends after the wake that ended it (futex(2)).
//!
//! A wake tells how many it has woken; those that woke nobody are no wakes, and a wait that found another value did not wait.

use crate::graph::dependency::{Dependencies, Span};
use crate::rules::waking::{self, Wake, Waking};
use syn_plan::Rule;
use syn_trace::reader::Event;

/// `FUTEX_WAIT`, `LOCK_PI`, `WAIT_BITSET`, `LOCK_PI2`.
const WAITS: [i64; 4] = [0, 6, 9, 13];
/// `FUTEX_WAKE`, `REQUEUE`, `CMP_REQUEUE`, `WAKE_OP`, `WAKE_BITSET`: the result is how many were woken, or moved.
const WAKES: [i64; 5] = [1, 3, 4, 5, 10];
/// It wakes one, and does not say so.
const UNLOCK_PI: i64 = 7;
/// The flags beside the operation: `FUTEX_PRIVATE_FLAG`, `FUTEX_CLOCK_REALTIME`.
const FLAGS: i64 = 128 | 256;

/// Takes down one call that did not fail.
pub fn follow(event: &Event<'_>, span: Span, waking: &mut Waking) {
    match event.numbers[1] & !FLAGS {
        operation if WAITS.contains(&operation) => waking.waits.push(span),
        operation if WAKES.contains(&operation) && event.result > 0 => {
            waking.wakes.push(Wake { span, times: event.result.min(1 << 30) as u32 });
        }
        UNLOCK_PI => waking.wakes.push(Wake { span, times: 1 }),
        _ => {}
    }
}

/// Connects all waits for one futex.
pub fn connect(waking: Waking, found: &mut Dependencies) {
    waking::connect(Rule::Futex, waking, false, found);
}
