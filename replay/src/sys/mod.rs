//! What needs the operating system below Rust's own abstractions: shared memory, forked processes, signals.

#![allow(unsafe_code)]

pub mod child;
pub mod shared;
pub mod signals;
