//! A stand-in for a profiled program: consumes what it consumed, in the same order, as fast as this machine does.

mod args;
mod executor;
pub mod load;
mod memory;
mod network;
mod run;
mod steps;
mod storage;

pub use args::Args;
pub use run::run;
