//! The event format of syn, from both sides.
//!
//! A *run folder* holds one file per thread (`<pid>-<tid>-<start>.trace`). Each file is a header page
//! ([`header::Header`]) and then records ([`record`]), appended by the thread that owns the file and by nobody
//! else. `FORMAT.md` beside this crate has the byte tables; `tests/format_document.rs` keeps the two together.
//!
//! ```text
//!   shim                                   everything that reads
//!   call ─► record::encode ─► mapped file ─► reader::ThreadTrace ─► run::Run ─► descriptors::Process
//! ```
//!
//! Without the `std` feature only what the shim needs is built: the table of calls, the header and the encoder.

#![cfg_attr(not(feature = "std"), no_std)]

pub mod calls;
pub mod header;
pub mod record;
pub mod varint;

#[cfg(feature = "std")]
pub mod descriptors;
#[cfg(feature = "std")]
pub mod reader;
#[cfg(feature = "std")]
pub mod run;

pub use calls::{Arg, Call, Layer};
pub use header::Header;

#[cfg(feature = "std")]
pub use reader::{Event, ThreadTrace, TraceError};
#[cfg(feature = "std")]
pub use run::Run;
