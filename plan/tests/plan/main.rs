//! The plan as a file, the document that describes it, and the checker.

mod checker;
mod document;
mod file;
mod mpi;
mod sample;
mod text;
