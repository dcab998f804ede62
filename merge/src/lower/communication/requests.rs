//! The requests and matched messages of a process, by numbers that are used again.

use foldhash::HashMap;
use std::collections::VecDeque;

/// Numbers by recorded handle. Implementations have one handle for all requests that are complete at once, so that several
/// requests may have the same one.
#[derive(Debug, Default)]
pub struct Requests {
    by_handle: HashMap<i64, VecDeque<(u32, bool)>>,
    messages: HashMap<i64, u32>,
    free: Vec<u32>,
    count: u32,
}

impl Requests {
    /// A request is made; a persistent one stays when it completes.
    pub fn begin(&mut self, handle: i64, persistent: bool) -> u32 {
        let number = self.take();
        self.by_handle.entry(handle).or_default().push_back((number, persistent));
        number
    }

    /// The request with this handle that was made first.
    pub fn get(&self, handle: i64) -> Option<u32> {
        Some(self.by_handle.get(&handle)?.front()?.0)
    }

    /// It has completed, or was `freed`.
    pub fn end(&mut self, handle: i64, freed: bool) -> Option<u32> {
        let requests = self.by_handle.get_mut(&handle)?;
        let &(number, persistent) = requests.front()?;
        if freed || !persistent {
            requests.pop_front();
            self.free.push(number);
        }
        Some(number)
    }

    /// A message is taken, to be received later.
    pub fn begin_message(&mut self, handle: i64) -> u32 {
        let number = self.take();
        self.messages.insert(handle, number);
        number
    }

    /// It is received.
    pub fn end_message(&mut self, handle: i64) -> Option<u32> {
        let number = self.messages.remove(&handle)?;
        self.free.push(number);
        Some(number)
    }

    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }
}
