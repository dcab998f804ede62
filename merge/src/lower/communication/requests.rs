//! The requests and matched messages of a process, by numbers that are used again.

use foldhash::HashMap;
use std::collections::VecDeque;

/// A request, or message, that has a handle.
#[derive(Debug)]
struct Request {
    number: u32,
    persistent: bool,
    /// Who made it.
    thread: u32,
}

/// Numbers by recorded handle. Implementations have one handle for all requests that are complete at once, so that several
/// requests may have the same one, and use it again for another thread while the call that has completed the first goes on.
#[derive(Debug, Default)]
pub struct Requests {
    by_handle: HashMap<i64, VecDeque<Request>>,
    messages: HashMap<i64, VecDeque<Request>>,
    /// By the thread that ended their requests: nothing keeps another one from using a number before that.
    free: HashMap<u32, Vec<u32>>,
    count: u32,
}

impl Requests {
    /// A request is made by this thread; a persistent one stays when it completes.
    pub fn begin(&mut self, handle: i64, thread: u32, persistent: bool) -> u32 {
        let number = self.take(thread);
        self.by_handle.entry(handle).or_default().push_back(Request { number, persistent, thread });
        number
    }

    /// The request with this handle that the thread made first, or else that any did.
    pub fn get(&self, handle: i64, thread: u32) -> Option<u32> {
        let requests = self.by_handle.get(&handle)?;
        Some(requests[place(requests, thread)?].number)
    }

    /// It has completed, or was `freed`.
    pub fn end(&mut self, handle: i64, thread: u32, freed: bool) -> Option<u32> {
        let requests = self.by_handle.get_mut(&handle)?;
        let place = place(requests, thread)?;
        let Request { number, persistent, .. } = requests[place];
        if freed || !persistent {
            requests.remove(place);
            self.free.entry(thread).or_default().push(number);
        }
        Some(number)
    }

    /// A message is taken, to be received later.
    pub fn begin_message(&mut self, handle: i64, thread: u32) -> u32 {
        let number = self.take(thread);
        self.messages.entry(handle).or_default().push_back(Request { number, persistent: false, thread });
        number
    }

    /// It is received.
    pub fn end_message(&mut self, handle: i64, thread: u32) -> Option<u32> {
        let messages = self.messages.get_mut(&handle)?;
        let Request { number, .. } = messages.remove(place(messages, thread)?)?;
        self.free.entry(thread).or_default().push(number);
        Some(number)
    }

    fn take(&mut self, thread: u32) -> u32 {
        self.free.get_mut(&thread).and_then(Vec::pop).unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }
}

fn place(requests: &VecDeque<Request>, thread: u32) -> Option<usize> {
    let own = requests.iter().position(|request| request.thread == thread);
    own.or_else(|| (!requests.is_empty()).then_some(0))
}
