//! Bytes are taken out of a pipe after they were put in; they are put in when there is room; and the end is seen when the last
//! writer has closed it (pipe(7)).

use crate::graph::dependency::Dependencies;
use crate::rules::stream::{self, Stream};
use syn_plan::Rule;

/// What fits into a pipe unless `F_SETPIPE_SZ` says otherwise, bytes: 16 pages.
pub const CAPACITY_BYTES: u64 = 65536;

/// Connects the ends of one pipe; false when it has writers that are not on record.
pub fn connect(stream: Stream, found: &mut Dependencies) -> bool {
    stream::connect(Rule::Pipe, stream, found)
}
