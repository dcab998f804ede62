//! Is MPI running in this process, and which implementation is it?

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};
use syn_trace::Call;

use crate::abi::{Abi, MPICH, Mpi, OPEN_MPI, OPEN_MPI_MARK, STANDARD};
use crate::inquiry;
use crate::language::Ptr;
use crate::recorder::Recorder;
use crate::scratch::Scratch;
use crate::symbol::{Symbol, object_name, variable};

/// MPI is not known to run.
const IDLE: u8 = 0;
/// A thread is initialising it.
const STARTING: u8 = 1;
/// It is finalized, or not one that we understand: calls only pass through.
const CLOSED: u8 = 2;
/// It runs.
const RUNNING: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(IDLE);

/// The binary interface of the MPI that runs; null when `STATE` is another than that.
static ABI: AtomicPtr<Abi> = AtomicPtr::new(ptr::null_mut());

/// Opens a call; `None` when it is only to be made.
#[inline(always)]
pub fn open<R: Recorder>(call: Call) -> Option<(R::Open, Mpi)> {
    let mpi = match running() {
        Some(mpi) => mpi,
        None => join_if_idle::<R>(call)?,
    };
    Some((R::enter(call)?, mpi))
}

/// Opens a call that may find nothing. `flag` is where it says so, null for one that waits.
#[inline(always)]
pub fn open_poll<R: Recorder>(call: Call, flag: Ptr) -> Option<(R::Open, Mpi)> {
    match open_untimed::<R>(call, flag) {
        None => open::<R>(call),
        opened => opened,
    }
}

/// The same for one that is to be without a time, as far as the recorder allows that.
#[inline(always)]
pub fn open_untimed<R: Recorder>(call: Call, flag: Ptr) -> Option<(R::Open, Mpi)> {
    let mpi = running().filter(|_| !flag.is_null())?;
    Some((R::enter_untimed(call)?, mpi))
}

#[inline(always)]
fn running() -> Option<Mpi> {
    // SAFETY: null, or a static.
    unsafe { ABI.load(Ordering::Acquire).as_ref() }.map(Mpi::running)
}

#[inline(always)]
fn join_if_idle<R: Recorder>(call: Call) -> Option<Mpi> {
    if STATE.load(Ordering::Relaxed) == IDLE { join::<R>(call) } else { None }
}

/// The first call that we see: MPI may have been initialised where we could not see it (by a library that looked
/// `MPI_Init` up by itself).
#[cold]
#[inline(never)]
fn join<R: Recorder>(call: Call) -> Option<Mpi> {
    // First of all, since it costs least: is anything to be recorded?
    let open = R::enter(call)?;
    if !inquiry::is_running() || !begin() {
        R::abandon(open);
        return None;
    }
    R::initialised();
    let started = start::<R>(&mut Scratch::of::<R>(open, inquiry::VERSION_BYTES));
    R::abandon(open);
    Some(started?.mpi)
}

/// This thread is about to initialise MPI; false when it has been, or is being.
pub fn begin() -> bool {
    STATE.compare_exchange(IDLE, STARTING, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

/// The initialisation that began did not succeed, or was not observed.
pub fn give_up() {
    STATE.store(IDLE, Ordering::Relaxed);
}

/// MPI is finalized.
pub fn close() {
    ABI.store(ptr::null_mut(), Ordering::Relaxed);
    STATE.store(CLOSED, Ordering::Relaxed);
}

/// What is known after the start.
pub struct Started {
    /// The implementation.
    pub mpi: Mpi,
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: i32,
    /// Size of `MPI_COMM_WORLD`.
    pub size: i32,
    /// What the library says about itself.
    pub version: &'static [u8],
}

/// MPI has been initialised: from here on calls are recorded. `None` when the implementation is not known.
pub fn start<R: Recorder>(scratch: &mut Scratch) -> Option<Started> {
    let version = inquiry::library_version(scratch.take(inquiry::VERSION_BYTES).unwrap_or_default());
    let Some(abi) = recognise(version) else {
        R::unsupported(version);
        close();
        return None;
    };
    let mpi = Mpi::start(abi, abi.predefined());
    let world = mpi.comm_world();
    let (rank, size) = (mpi.rank_in(world).unwrap_or(-1), mpi.size_of(world));
    R::world(rank, size, abi.implementation);
    run(mpi);
    Some(Started { mpi, rank, size, version })
}

/// From here on calls are recorded.
fn run(mpi: Mpi) {
    STATE.store(RUNNING, Ordering::Relaxed);
    ABI.store(ptr::from_ref(mpi.abi).cast_mut(), Ordering::Release);
}

/// For tests of the call forms: as if MPICH had been initialised. One implementation only, as in any process.
#[cfg(test)]
pub fn pretend_mpich() -> Mpi {
    let mpi = Mpi::start(&MPICH, MPICH.predefined());
    run(mpi);
    mpi
}

/// Which implementation is loaded, by its symbols and by what it says about itself.
fn recognise(version: &[u8]) -> Option<&'static Abi> {
    static INIT: Symbol = Symbol::new(&[c"PMPI_Init"]);
    // A library of the standard ABI has this name whoever made it (MPI-5.0, 20.2), and says the same of itself as the
    // implementation's own.
    if object_name(INIT.address()).starts_with(b"libmpi_abi") {
        Some(&STANDARD)
    } else if !variable(OPEN_MPI_MARK).is_null() {
        Some(&OPEN_MPI)
    } else if is_mpich_family(version) {
        Some(&MPICH)
    } else {
        None
    }
}

fn is_mpich_family(version: &[u8]) -> bool {
    let names: [&[u8]; 5] = [b"MPICH", b"MVAPICH", b"Intel(R) MPI", b"ParaStation MPI", b"CRAY MPI"];
    names.iter().any(|name| version.windows(name.len()).any(|part| part == *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relatives_of_mpich_are_told_by_their_version() {
        let relatives: [&[u8]; 4] = [
            b"MPICH Version:      4.0.2",
            b"Intel(R) MPI Library 2021.8 for Linux* OS",
            b"MVAPICH2 Version      :\t2.3.7",
            b"MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)",
        ];
        assert!(relatives.iter().all(|version| is_mpich_family(version)));
        assert!(!is_mpich_family(b"HPE MPT 2.25"));
        assert!(!is_mpich_family(b""));
    }
}
