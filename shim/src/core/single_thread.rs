//! Whether the process has threads beside the one that asks.

use crate::core::elf;
use core::sync::atomic::{AtomicUsize, Ordering};

/// In the place of a variable that this libc does not have.
const MISSING: usize = 1;

/// Where the variable is; 0 before anybody has looked.
static PLACE: AtomicUsize = AtomicUsize::new(0);

/// From now on nobody knows, so that what the program has in its memory is read by the kernel: Valgrind finds fault with who reads
/// what lies behind a variable.
pub fn is_never_known() {
    PLACE.store(MISSING, Ordering::Relaxed);
}

/// True when libc knows of no further threads (glibc 2.32, `<sys/single_threaded.h>`). It knows of those that it has made.
#[unsafe(link_section = ".text.startup")]
pub fn says_libc() -> bool {
    let mut place = PLACE.load(Ordering::Relaxed);
    if place == 0 {
        place = elf::variable_started_with(c"__libc_single_threaded").unwrap_or(MISSING);
        PLACE.store(place, Ordering::Relaxed);
    }
    // SAFETY: a `char` of libc's, which is never unloaded.
    place != MISSING && unsafe { *(place as *const u8) } != 0
}
