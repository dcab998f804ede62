//! On which processor a new thread begins.
//!
//! The kernel may queue it behind its creator, though another processor has nothing to do, until a tick lets that one look for
//! work: up to 4 ms later. In an application that creates a thread some other wake-up there mostly comes first; a replay,
//! which does little else, would wait each time.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity, sched_yield};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// The processor of a thread that is about to create another, if others have nothing to do.
#[derive(Clone, Copy, Debug)]
pub struct Birthplace(Option<usize>);

impl Birthplace {
    /// Opens what is read for it, before threads have open files of their own.
    pub fn prepare() {
        let _ = running();
    }

    /// Where the kernel likes: the creator gives its processor up at once.
    pub fn anywhere() -> Birthplace {
        Birthplace(None)
    }

    /// Of the calling thread.
    pub fn of_creator() -> Birthplace {
        let is_room = running().is_some_and(|running| running < processors());
        Birthplace(is_room.then(sched_getcpu))
    }

    /// The creator lets a thread that is queued behind it begin.
    pub fn give_way(self) {
        if self.0.is_some() {
            sched_yield();
        }
    }

    /// The new thread goes elsewhere, if it is where its creator was.
    pub fn leave(self) {
        // A set has room for so many processors; on a larger machine the thread stays where it is.
        let is_here = |&processor: &usize| processor == sched_getcpu() && processor < CpuSet::MAX_CPU;
        let Some(here) = self.0.filter(is_here) else { return };
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let mut elsewhere: CpuSet = allowed;
        elsewhere.unset(here);
        if sched_setaffinity(None, &elsewhere).is_ok() {
            // Where it is now it may stay; what was allowed once is allowed again.
            let _ = sched_setaffinity(None, &allowed);
        }
    }
}

/// How many processors this process may use. To find out takes the reading of several files.
fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// How many threads of the machine have or want a processor: proc_loadavg(5), which is made anew for each reading from its
/// start.
fn running() -> Option<usize> {
    static LOAD: OnceLock<Option<File>> = OnceLock::new();
    let load = LOAD.get_or_init(|| File::open("/proc/loadavg").ok()).as_ref()?;
    let mut text = [0; 64];
    let length = load.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    text.split(' ').nth(3)?.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_thread_goes_elsewhere_and_may_come_back() {
        let allowed = sched_getaffinity(None).expect("an affinity");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                Birthplace(Some(sched_getcpu())).leave();
                assert_eq!(sched_getaffinity(None).expect("an affinity"), allowed);
            });
        });
        assert!(running().expect("a number") >= 1);
    }
}
