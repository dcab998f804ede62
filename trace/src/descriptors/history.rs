//! Which open file a descriptor stood for when a call began.
//!
//! A call is followed when it returns. One that waits may return after another thread has closed its descriptor, and
//! perhaps has got the same number for another file: it went on with the file that it had begun with.

use super::open_file::OpenId;
use super::operands::Operands;

/// What a descriptor stood for until some call.
#[derive(Debug)]
struct Departure {
    /// When that call began.
    began_ns: u64,
    /// The latest such time up to here: calls are followed in the order of their returns.
    latest_ns: u64,
    fd: i32,
    file: OpenId,
}

/// What the descriptors of a process stood for, and do no longer.
#[derive(Debug, Default)]
pub(super) struct History {
    all: Vec<Departure>,
    /// When the latest of the calls began.
    latest_ns: u64,
}

impl History {
    /// A call that began at this time took `file` away from `fd`.
    pub(super) fn note(&mut self, began_ns: u64, fd: i32, file: OpenId) {
        self.latest_ns = self.latest_ns.max(began_ns);
        self.all.push(Departure { began_ns, latest_ns: self.latest_ns, fd, file });
    }

    /// True when a call that began at this time may have had another file than its descriptor stands for now.
    #[inline(always)]
    pub(super) fn concern(&self, began_ns: u64, operands: &Operands) -> bool {
        began_ns < self.latest_ns && operands.may_wait()
    }

    /// What `fd` stood for at this time; `None` if nothing was taken away from it since. Looks at what has been taken away
    /// while the call went on: in all, once for every call under way at the time.
    #[cold]
    pub(super) fn since(&self, began_ns: u64, fd: i32) -> Option<OpenId> {
        let later = self.all.iter().rev().take_while(|departure| departure.latest_ns > began_ns);
        later
            .filter(|departure| departure.fd == fd && departure.began_ns > began_ns)
            .last()
            .map(|departure| departure.file)
    }
}
