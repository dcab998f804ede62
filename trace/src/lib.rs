//! The event format of syn, from both sides.
//!
//! A *run folder* holds one file per thread (`<pid>-<tid>-<start>.trace`). Each file is a header
//! ([`header::Header`]) and then records ([`record`]), appended by the thread that owns the file and by nobody
//! else. Files of many threads may be packed into one (`pack`). `FORMAT.md` beside this crate has the byte tables;
//! `tests/format_document.rs` keeps the two together.
//!
//! ```text
//!   shim                                   everything that reads
//!   call ─► record::encode ─► mapped file ─► reader::ThreadTrace ─► run::Run ─► descriptors::Descriptors
//! ```
//!
//! Tests of readers make their traces with [`craft::Craft`] (feature `craft`), which writes with the shim's encoder.
//!
//! Without the `std` feature only what the shim needs is built: the table of calls, the header and the encoder.

#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod address;
#[cfg(target_os = "linux")]
pub mod birth;
pub mod calls;
pub mod chosen;
pub mod header;
pub mod launchers;
pub mod memory;
pub mod record;
pub mod repeats;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod seccomp;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod system_calls;
pub mod varint;

#[cfg(feature = "craft")]
pub mod craft;
#[cfg(feature = "std")]
pub mod descriptors;
#[cfg(feature = "std")]
pub mod order;
#[cfg(feature = "std")]
pub mod pack;
#[cfg(feature = "std")]
pub mod reader;
#[cfg(feature = "std")]
pub mod run;
#[cfg(feature = "std")]
pub mod text;

pub use calls::{Arg, Call, Layer};
pub use header::Header;

#[cfg(feature = "std")]
pub use reader::{Event, ThreadTrace, TraceError};
#[cfg(feature = "std")]
pub use run::Run;
