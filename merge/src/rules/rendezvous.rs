//! A send of a long message completes after its receive was posted.
//!
//! MPI promises this for synchronous sends only. For the others it is how implementations work: short messages are
//! sent at once and kept by the receiver, long ones when the receiver is ready. Where the border lies is a setting
//! of the implementation, so a completion that the recording shows before the receive is no contradiction: the
//! message was sent at once, and [`settle`] forgets the dependency.

use crate::graph::dependency::{Dependencies, Moment};
use syn_plan::Rule;
use syn_trace::calls::effect::Mode;

/// Longer messages may wait for their receiver. 4096 bytes is what Open MPI's shared memory transport sends at once
/// (`btl_vader_eager_limit`); no transport in use has a lower border.
pub const EAGER_LIMIT_BYTES: i64 = 4096;

/// Whether a send may wait for its receiver.
pub fn may_wait(mode: Mode, bytes: i64) -> bool {
    match mode {
        Mode::Buffered => false,
        Mode::Synchronous => true,
        Mode::Standard => bytes > EAGER_LIMIT_BYTES,
    }
}

/// The receive of a long message was posted at `posted`, its send has completed at `completed`.
pub fn connect(posted: Moment, completed: Moment, found: &mut Dependencies) {
    found.add_one(Rule::Rendezvous, posted, completed);
}

/// Once the clocks are aligned: forgets the sends that completed before their receive was posted.
pub fn settle(found: &mut Dependencies) {
    found.retain(|rule, sources, targets| rule != Rule::Rendezvous || sources[0].ns <= targets[0].ns);
}
