//! Bytes are taken out of a pipe after they were put in; they are put in when there is room; and the end is seen when the last
//! writer has closed it (pipe(7)). One end of a pipe with a name is open when somebody has opened the other one (fifo(7)).

use crate::graph::dependency::Dependencies;
use crate::rules::open_file::Span;
use crate::rules::stream::{self, Stream};
use syn_plan::Rule;

/// What fits into a pipe unless `F_SETPIPE_SZ` says otherwise, bytes: 16 pages.
pub const CAPACITY_BYTES: u64 = 65536;

/// An end of a pipe with a name was opened.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// By this call.
    pub span: Span,
    /// `O_RDONLY`, `O_WRONLY` or `O_RDWR`.
    pub access: i32,
    /// It may have waited for the other end.
    pub waits: bool,
}

/// Who waited for the other end waited for the first call to open it that began meanwhile.
pub fn connect_opens(opens: &[Opened], found: &mut Dependencies) {
    for waiting in opens.iter().filter(|open| open.waits && open.access != libc::O_RDWR) {
        let meanwhile = waiting.span.enter.ns..=waiting.span.leave.ns;
        let others = opens.iter().filter(|other| other.access != waiting.access);
        let others = others.map(|other| other.span.enter).filter(|enter| meanwhile.contains(&{ enter.ns }));
        let thread = waiting.span.enter.point().thread;
        if let Some(first) =
            others.filter(|enter| enter.point().thread != thread).min_by_key(|enter| enter.ns)
        {
            found.add_one(Rule::Pipe, first, waiting.span.leave);
        }
    }
}

/// Connects the ends of one pipe; false when it has writers that are not on record.
pub fn connect(stream: Stream, found: &mut Dependencies) -> bool {
    stream::connect(Rule::Pipe, stream, found)
}
