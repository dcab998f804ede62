//! MPI as an application sees it: which implementation is loaded, its handles and statuses, and entry points for C
//! and Fortran that record each call and make it.
//!
//! ```text
//! MPI_Send, mpi_send_ …   entry_points  the table: one line per MPI function, for every language and spelling
//!   │  arguments            language      what an argument is in C, in its large-count functions, in Fortran
//!   ▼
//! calls::*                each form of call: real call, then what the record holds
//!   │                       session       is MPI running, and which one
//!   │                       abi           its constants, handles and statuses, made canonical
//!   │                       inquiry       what is asked of MPI itself: type sizes, ranks, group members
//!   ▼                       symbol        where the real functions are
//! Recorder                implemented by the shim
//! ```
//!
//! Rules of this crate, which runs inside other people's programs:
//!
//! 1. The real function gets the application's arguments. The one exception: a status that the application
//!    ignores is replaced by one of ours, so that the source, tag and size of what arrived are known.
//! 2. Nothing of the application's is read before the real call unless the call itself takes it as input, and
//!    results only after the call has succeeded.
//! 3. MPI is only asked what cannot fail: an erroneous inquiry would run the application's error handler.
//! 4. No allocation, no lock, no panic; nothing to drop on a frame that the application may unwind through.
//! 5. What is not understood (an unknown implementation, a foreign function with an MPI name) passes unrecorded.
//!
//! `COVERAGE.md` lists every procedure of MPI 4.1: recorded, not recorded and noted when it is called ([`unrecorded`]), or
//! of no interest, which reach the library directly. `MPI_Initialized` and `MPI_Finalized` are left alone too: programs
//! test weak references to them to learn whether there is MPI.

#![cfg_attr(not(test), no_std)]

mod abi;
#[doc(hidden)]
pub mod calls;
#[cfg(test)]
mod coverage;
#[doc(hidden)]
pub mod entry_points;
mod inquiry;
#[doc(hidden)]
pub mod language;
pub mod recorder;
mod runs;
mod scratch;
mod session;
#[doc(hidden)]
pub mod symbol;
#[doc(hidden)]
pub mod unrecorded;

#[doc(hidden)]
pub use pastey;
pub use recorder::Recorder;
#[doc(hidden)]
pub use syn_trace::Call;
