//! Whether the process has threads beside the one that asks.

use crate::core::elf;
use core::sync::atomic::{AtomicUsize, Ordering};

/// In the place of a variable that this libc does not have.
const MISSING: usize = 1;

/// True when libc knows of no further threads (glibc 2.32, `<sys/single_threaded.h>`). It knows of those that it has made.
#[unsafe(link_section = ".text.startup")]
pub fn says_libc() -> bool {
    static PLACE: AtomicUsize = AtomicUsize::new(0);
    let mut place = PLACE.load(Ordering::Relaxed);
    if place == 0 {
        place = elf::variable_started_with(c"__libc_single_threaded").unwrap_or(MISSING);
        PLACE.store(place, Ordering::Relaxed);
    }
    // SAFETY: a `char` of libc's, which is never unloaded.
    place != MISSING && unsafe { *(place as *const u8) } != 0
}
