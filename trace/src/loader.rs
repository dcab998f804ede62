//! How records of what the kernel and the loader have done to map programs and libraries are told from those of calls.

/// Stands in place of the descriptor, which is closed again: one that no other file gets. Of what was tried in vain it stands in place of the
/// folder that a path is relative to; these paths begin at the root.
pub const DESCRIPTOR: i64 = i32::MAX as i64;
