//! Locks on files.
