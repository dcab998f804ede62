//! Requests that threads do, as those of aio(7) do in the GNU C library: one thread for each file that has some, so many at most, which
//! wait a while for more. They are not libc's own, which all processes of a plan would have in common, while files are open in one.

use super::super::outcome::moved;
use super::super::transfer::Memory;
use super::requests::{What, locked};
use std::collections::{HashSet, VecDeque};
use std::os::fd::RawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// What the GNU C library has unless `aio_init` says otherwise.
const MOST: u32 = 20;
const IDLE: Duration = Duration::from_secs(1);
const STACK_BYTES: usize = 64 << 10;

/// The threads of a process.
#[derive(Debug)]
pub(super) struct Workers(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    memory: Arc<Memory>,
    requests: Mutex<Requests>,
    come: Condvar,
    done: Condvar,
}

#[derive(Debug, Default)]
struct Requests {
    waiting: VecDeque<Request>,
    /// The files of those that are being done.
    busy: HashSet<RawFd>,
    threads: u32,
    idle: u32,
    is_over: bool,
}

#[derive(Debug)]
struct Request {
    file: RawFd,
    what: What,
    result: Arc<Mutex<Option<i64>>>,
}

/// A request that was handed over.
#[derive(Debug)]
pub(super) struct Pending {
    result: Arc<Mutex<Option<i64>>>,
    pub(super) expected: i64,
}

impl Workers {
    /// None so far.
    pub(super) fn new(memory: Arc<Memory>) -> Workers {
        Workers(Arc::new(Shared {
            memory,
            requests: Mutex::default(),
            come: Condvar::new(),
            done: Condvar::new(),
        }))
    }

    pub(super) fn submit(&self, file: RawFd, what: What, expected: i64) -> Pending {
        let result = Arc::new(Mutex::new(None));
        let pending = Pending { result: result.clone(), expected };
        let mut requests = locked(&self.0.requests);
        requests.waiting.push_back(Request { file, what, result });
        if requests.busy.contains(&file) {
            return pending;
        }
        if requests.idle == 0 && requests.threads < MOST {
            let shared = self.0.clone();
            let begun = Builder::new().stack_size(STACK_BYTES).spawn(move || shared.work());
            if begun.is_ok() {
                requests.threads += 1;
            } else if requests.threads == 0 {
                // There is no thread to be had: this one does it.
                while let Some(request) = requests.take() {
                    requests = self.0.carry_out(requests, &request);
                }
            }
        } else {
            self.0.come.notify_one();
        }
        pending
    }

    /// Waits until it is complete; returns bytes moved, or the negated errno.
    pub(super) fn finish(&self, pending: &Pending) -> i64 {
        let mut requests = locked(&self.0.requests);
        loop {
            if let Some(result) = *locked(&pending.result) {
                return result;
            }
            requests = self.0.done.wait(requests).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until no request on this file is left, after which its descriptor may be another's. (The kernel's requests keep their file.)
    pub(super) fn leave(&self, file: RawFd) {
        let mut requests = locked(&self.0.requests);
        while requests.busy.contains(&file) || requests.waiting.iter().any(|request| request.file == file) {
            requests = self.0.done.wait(requests).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// No more requests come.
    pub(super) fn end(&self) {
        locked(&self.0.requests).is_over = true;
        self.0.come.notify_all();
    }
}

type Locked<'a> = MutexGuard<'a, Requests>;

impl Requests {
    /// The oldest whose file has none that is being done.
    fn take(&mut self) -> Option<Request> {
        let next = self.waiting.iter().position(|request| !self.busy.contains(&request.file))?;
        let request = self.waiting.remove(next)?;
        self.busy.insert(request.file);
        Some(request)
    }
}

impl Shared {
    fn work(&self) {
        let mut requests = locked(&self.requests);
        loop {
            if let Some(request) = requests.take() {
                requests = self.carry_out(requests, &request);
                continue;
            }
            if requests.is_over {
                break;
            }
            requests.idle += 1;
            let (again, waited) =
                self.come.wait_timeout(requests, IDLE).unwrap_or_else(PoisonError::into_inner);
            requests = again;
            requests.idle -= 1;
            if waited.timed_out() && requests.waiting.is_empty() {
                break;
            }
        }
        requests.threads -= 1;
    }

    fn carry_out<'a>(&'a self, requests: Locked<'a>, request: &Request) -> Locked<'a> {
        drop(requests);
        let result = self.perform(request.file, request.what);
        let mut requests = locked(&self.requests);
        requests.busy.remove(&request.file);
        *locked(&request.result) = Some(result);
        self.done.notify_all();
        requests
    }

    fn perform(&self, file: RawFd, what: What) -> i64 {
        let pieces = what.pieces(&self.memory);
        let (list, count) = (pieces.as_ptr(), pieces.len() as i32);
        // SAFETY: the memory outlives this.
        let found = moved(unsafe {
            match what {
                What::Read(_, offset @ 0..) => libc::preadv(file, list, count, offset),
                What::Read(..) => libc::readv(file, list, count),
                What::Write(_, offset @ 0..) => libc::pwritev(file, list, count, offset),
                What::Write(..) => libc::writev(file, list, count),
                What::Sync { data: false } => libc::fsync(file) as isize,
                What::Sync { data: true } => libc::fdatasync(file) as isize,
            }
        });
        match found {
            Ok(bytes) => bytes as i64,
            Err(error) => -i64::from(error.raw_os_error()),
        }
    }
}
