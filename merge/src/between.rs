//! Calls that move bytes from one descriptor to another inside the kernel, or let one file share those of another.

use syn_trace::reader::Event;
use syn_trace::{Call, record};

/// What such a call moved, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    /// The place in the source; `None` is its position.
    pub read_at: Option<u64>,
    /// The place in the target; `None` is its position.
    pub written_at: Option<u64>,
    /// How much; 0 at the end of the source.
    pub bytes: u64,
}

impl Between {
    /// Of a call of this kind that succeeded. One that failed moved nothing: the program goes on in another way.
    #[inline]
    pub fn of(event: &Event<'_>) -> Option<Between> {
        let (read_at, written_at, bytes) = match event.call {
            Call::CopyFileRange | Call::Splice => (event.numbers[2], event.numbers[3], event.result),
            Call::Sendfile => (event.numbers[2], -1, event.result),
            Call::CloneRange => (event.numbers[2], event.numbers[3], event.numbers[4]),
            _ => return None,
        };
        let place = |offset: i64| u64::try_from(offset).ok();
        let moved =
            Between { read_at: place(read_at), written_at: place(written_at), bytes: bytes.max(0) as u64 };
        (!event.has(record::FAILED)).then_some(moved)
    }
}
