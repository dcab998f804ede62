//! I/O operations of a plan as system calls beneath the root.

#![allow(unsafe_code)]

mod flags;
mod handles;
mod mapped;
mod metadata;
mod outcome;
mod perform;
mod queues;
mod target;
mod transfer;

pub use handles::Handles;
pub use metadata::attribute_value;
pub use target::Target;
pub use transfer::{Buffers, fill};
