//! Processes: creation, replacement, end, and waiting for it.

pub mod exec;
pub mod exit;
pub mod forks;
pub mod spawn;
pub mod wait;
