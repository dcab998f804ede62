//! Profile once, emulate anywhere: what a program consumes, sample by sample, and a stand-in that consumes the same.
//!
//! ```text
//! command ─► profiler ─► watch (one file per resource) ─► sample ─► store (SQLite) ─► list, show, stats, compare, export
//!               │ tree, rate                                           │
//! run folder ─► from_run                                               ├─► emulate: steps ─► plan ─► syn-replay
//!                                                                      └─► predict: from the machine's probes
//! ```

#![deny(unsafe_code)]

pub mod commands;
pub mod counters;
pub mod emulate;
pub mod from_run;
pub mod machine;
pub mod metrics;
mod page;
pub mod predict;
mod proc;
pub mod profile;
pub mod profiler;
pub mod rate;
pub mod sample;
mod screen;
pub mod stats;
pub mod store;
mod sys;
mod tree;
pub mod watch;

pub use sys::{Usage, children};
