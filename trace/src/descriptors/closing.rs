//! Files whose descriptor number was given away while their `close` was under way.
//!
//! Linux frees the number early in `close`. By the time that the recorder sees the `close` return, other threads may have
//! opened files at the number, used and closed them, several times. Whose a `close` is shows in when it began: before the
//! open that took the number returned, or after.

use super::open_file::OpenId;

#[derive(Debug)]
struct Given {
    fd: i32,
    file: OpenId,
    /// When the call that took the number returned.
    taken_ns: u64,
}

/// The closes that are still to come, as they are expected.
#[derive(Debug)]
pub(super) struct Closing {
    expected: Vec<Given>,
    most: usize,
}

impl Closing {
    /// In a process of so many threads: every other one can have one call under way.
    pub(super) fn of(threads: usize) -> Closing {
        Closing { expected: Vec::new(), most: threads.saturating_sub(1) }
    }

    /// `fd`, which stood for `file`, was taken by a call that returned at `taken_ns`. Returns a file whose close is not
    /// to be expected any more: it was not recorded.
    pub(super) fn expect(&mut self, fd: i32, file: OpenId, taken_ns: u64) -> Option<OpenId> {
        self.expected.push(Given { fd, file, taken_ns });
        (self.expected.len() > self.most).then(|| self.expected.remove(0).file)
    }

    /// The file that a close of `fd` which began at this time is about, if it is not the one that has the number now.
    #[inline]
    pub(super) fn take(&mut self, fd: i32, began_ns: u64) -> Option<OpenId> {
        let its = |given: &Given| given.fd == fd && began_ns < given.taken_ns;
        let place = self.expected.iter().position(its)?;
        Some(self.expected.remove(place).file)
    }
}
