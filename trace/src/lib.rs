//! The event format of syn, from both sides.
//!
//! A *run folder* holds one file per process image and the copies of it that a fork makes (`<pid>-<start>.trace`). Threads
//! take chunks of it ([`chunks`]): a header ([`header::Header`]) and then records ([`record`]), appended by the thread whose
//! they are and by nobody else. Traces of many threads may be packed into one file (`pack`). `FORMAT.md` beside this crate has the byte tables;
//! `tests/format_document.rs` keeps the two together.
//!
//! ```text
//!   shim                                   everything that reads
//!   call ─► record::encode ─► mapped file ─► reader::ThreadTrace ─► run::Run ─► descriptors::Descriptors
//! ```
//!
//! Tests of readers make their traces with [`builder::TraceBuilder`] (feature `builder`), which writes with the shim's encoder.
//!
//! Without the `std` feature only what preloaded libraries need is built: the table of calls, the header, the encoder, shared counters.

#![cfg_attr(not(feature = "std"), no_std)]

pub mod allocations;
#[cfg(target_os = "linux")]
pub mod birth;
pub mod board;
pub mod calls;
pub mod folders;
pub mod format;
pub mod launchers;
pub mod loader;
pub mod policy;
pub mod shared_libc;
#[cfg(target_os = "linux")]
pub mod status;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod system_calls;
#[cfg(target_arch = "x86_64")]
pub mod thread_word;

#[cfg(feature = "std")]
pub mod descriptors;
#[cfg(feature = "std")]
mod mapped_file;
#[cfg(feature = "std")]
pub mod pack;
#[cfg(feature = "std")]
pub mod run;

pub use calls::{Arg, Call, Layer};
#[cfg(feature = "builder")]
pub use format::builder;
pub use format::header::Header;
#[cfg(feature = "std")]
pub use format::reader::{self, Event, ThreadTrace, TraceError};
#[cfg(feature = "std")]
pub use format::text;
pub use format::{chunks, dictionary, header, record, repeats, varint};
#[cfg(feature = "std")]
pub use run::{Run, order};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use system_calls::{address, seccomp};
