//! Which functions of MPI are there. Programs ask with weak references whether an MPI has a function (mpi4py does so of
//! everything newer than MPI 3.1), and must not find ours where there is none behind it.

use crate::core::elf;
use crate::core::elf::absent;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering};

static IS_SETTLED: AtomicBool = AtomicBool::new(false);

/// The longest name of a function of MPI that is considered, with the P of the profiling interface.
const NAME_BYTES: usize = 64;

/// To be called where references may be resolved next, and MPI may have been loaded. Hides the entry points of functions
/// that it does not have, once.
pub fn settle() {
    if IS_SETTLED.load(Ordering::Relaxed) || elf::next_function(c"PMPI_Init").is_none() {
        return;
    }
    if !IS_SETTLED.swap(true, Ordering::Relaxed) {
        absent::hide_own_functions(b"MPI_", |name| !is_there(name));
    }
}

/// To be called when MPI has been initialised: the last moment at which references that were bound together with the loading
/// of MPI can be made right.
pub fn settle_bound() {
    settle();
    absent::unbind_weak_references(b"MPI_", |name| !is_there(name));
}

/// Is there such a function behind ours?
fn is_there(name: &CStr) -> bool {
    let name = name.to_bytes_with_nul();
    let mut profiling = [b'P'; NAME_BYTES];
    let Some(place) = profiling.get_mut(1..=name.len()) else { return true };
    place.copy_from_slice(name);
    // Fortran spellings in capitals are looked up by their own names.
    [&profiling[..], name]
        .iter()
        .any(|name| CStr::from_bytes_until_nul(name).is_ok_and(|name| elf::next_function(name).is_some()))
}
