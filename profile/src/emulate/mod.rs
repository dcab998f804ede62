//! A stand-in for a profiled program: consumes what it consumed, in the same order, as fast as this machine does.

mod args;
pub mod load;
mod plan;
mod run;
mod steps;

pub use args::Args;
pub use run::run;
