//! Plans made by hand, replayed by the program.

mod balance;
mod common;
mod ends;
mod metadata;
mod operations;
mod outcomes;
mod queues;
#[cfg(feature = "mpi")]
mod ranks;
mod refusals;
mod shares;
mod waiting;
