//! The trace's file: header, records, and what makes and reads them.

#[cfg(feature = "builder")]
pub mod builder;
pub mod chunks;
pub mod dictionary;
#[cfg(feature = "std")]
mod error;
pub mod header;
#[cfg(feature = "std")]
mod layout;
#[cfg(feature = "std")]
pub mod reader;
pub mod record;
pub mod repeats;
#[cfg(feature = "std")]
pub mod text;
#[cfg(feature = "std")]
mod thread_trace;
#[cfg(feature = "std")]
mod unpacked;
pub mod varint;
