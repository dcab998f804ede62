//! What libc's functions return, as results.

use rustix::io::{Errno, Result};

/// Of a function that returns 0, or sets errno.
pub(super) fn status(result: i64) -> Result<()> {
    if result == 0 { Ok(()) } else { Err(errno()) }
}

/// Of a function that returns how many bytes it has moved, or sets errno.
pub(super) fn moved(result: isize) -> Result<u64> {
    u64::try_from(result).map_err(|_| errno())
}

fn errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
