//! Plans made by hand, replayed by the program.

mod common;
mod operations;
mod outcomes;
#[cfg(feature = "mpi")]
mod ranks;
mod refusals;
mod waiting;
