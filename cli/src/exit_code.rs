//! What programs exit with.

/// Done.
pub const DONE: u8 = 0;
/// Nothing could be done.
pub const FAILED: u8 = 1;
/// Done, but the result needs a look.
pub const LOOK: u8 = 3;
