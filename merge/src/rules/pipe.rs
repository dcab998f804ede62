//! Bytes are taken out of a pipe after they were put in; they are put in when there is room; and the end is seen when the last
//! writer has closed it (pipe(7)). One end of a pipe with a name is open when somebody has opened the other one (fifo(7)).

use crate::graph::dependency::{Dependencies, Span};
use crate::rules::stream::{self, Stream};
use syn_plan::Rule;

/// What fits into a pipe unless `F_SETPIPE_SZ` says otherwise, bytes: 16 pages.
pub const CAPACITY_BYTES: u64 = 65536;
/// The most that one packet holds, and what it takes: a page.
pub const PACKET_BYTES: u64 = 4096;

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
    let mut by_enter: Vec<&Opened> = opens.iter().collect();
    by_enter.sort_by_key(|open| open.span.enter.ns);
    for waiting in opens.iter().filter(|open| open.waits && open.access != libc::O_RDWR) {
        let Span { enter, leave } = waiting.span;
        let first = by_enter.partition_point(|other| other.span.enter.ns < enter.ns);
        let meanwhile = by_enter[first..].iter().take_while(|other| other.span.enter.ns <= leave.ns);
        let mut others = meanwhile.filter(|other| other.access != waiting.access);
        if let Some(first) = others.find(|other| other.span.enter.point().thread != enter.point().thread) {
            found.add_one(Rule::Pipe, first.span.enter, leave);
        }
    }
}

/// Connects the ends of one pipe; false when it has writers that are not on record.
pub fn connect(stream: Stream, found: &mut Dependencies) -> bool {
    stream::connect(Rule::Pipe, stream, found)
}
