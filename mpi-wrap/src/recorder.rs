//! What the entry points ask of the recorder. The shim implements it; nothing here knows how records are stored.
//!
//! The life of one call, on the thread that makes it:
//!
//! ```text
//! enter ─► the real call ─► returned ─► (scratch, part …) ─► leave
//!    │                    │                                   ▲
//!    │                    └─► count_in_vain, and no more      │
//!    └── None: only the real call is made          abandon ───┘ nothing to record after all
//! ```
//!
//! An error handler of the application may throw through an entry point, and a thread may be cancelled inside the
//! real call. Then neither `leave` nor `abandon` follows an `enter`. So "already inside an MPI call" must not be a
//! mere flag: remember the address of a local of the outermost `enter`, and take an `enter` at the same or a
//! higher stack address for a new outermost call.

use core::ptr::NonNull;
use syn_trace::Call;

/// The bytes that [`Recorder::scratch`] gives at least.
pub const MIN_SCRATCH_BYTES: usize = 64 << 10;

/// The recorder behind the entry points. All functions are called from any thread, must not panic and must not
/// call MPI.
///
/// # Safety
/// The memory given out by [`Recorder::scratch`] must be as that function says.
pub unsafe trait Recorder {
    /// What is known from before the real call: its start time, the readings taken there.
    type Open: Copy;

    /// Before the real call. `None` when the thread is already inside an MPI call (implementations call
    /// themselves: MPICH's Fortran entry points call the C ones) or must not record.
    fn enter(call: Call) -> Option<Self::Open>;

    /// Before a call that may find nothing: in a long row of such calls the recorder may leave out the time of this one. Then it
    /// counts it if it finds nothing, see [`Recorder::count_in_vain`]. `None`: [`Recorder::enter`] is to be asked.
    fn enter_untimed(call: Call) -> Option<Self::Open>;

    /// The real call succeeded and found nothing: counts it if its time has been left out. True: that ended the call.
    /// False: go on with `returned` and `leave`.
    fn count_in_vain<const N: usize>(open: Self::Open, call: Call, numbers: &[i64; N]) -> bool;

    /// The real call is over: take the end time now. What follows (type sizes, ranks, statuses) is recording.
    fn returned(open: Self::Open);

    /// Writes the record and ends the call. `result` is what MPI returned, 0 for success; the numbers, texts and
    /// list are what the table of calls says for `call`.
    fn leave<const N: usize>(
        open: Self::Open,
        call: Call,
        result: i64,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    );

    /// Writes a record and keeps the call open: of a list that is too long for one record, or with a note behind it. The
    /// first record of a call has its times; those after it end when it ended and took 0.
    fn part<const N: usize>(
        open: Self::Open,
        call: Call,
        result: i64,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    );

    /// Ends the call without a record.
    fn abandon(open: Self::Open);

    /// Between `enter` and a real call that may not return: write the record now, with the flag `BEGAN`.
    /// `abandon` follows if it returns.
    fn began<const N: usize>(open: Self::Open, call: Call, numbers: &[i64; N]);

    /// MPI has been initialised, whether anything is recorded or not.
    fn initialised();

    /// MPI is usable from here on. `implementation` is one of the `MPI_` codes of [`syn_trace::header`]. Called
    /// once, inside a call (before its `leave`).
    fn world(rank: i32, size: i32, implementation: u32);

    /// MPI was initialised, but its handles and statuses have layouts that are not known here: all its calls pass
    /// unrecorded. `library` is what the library says about itself. Called once, inside a call.
    fn unsupported(library: &[u8]);

    /// A procedure that is not recorded is being called. False when the thread is inside a call of MPI, which calls it
    /// itself: then nothing is missed.
    fn unrecorded(procedure: &[u8]) -> bool;

    /// Memory of the calling thread for handles, statuses and lists: 8-aligned, at least [`MIN_SCRATCH_BYTES`], and
    /// `wanted` if that is more and can be had. (A call on more requests than fit is recorded without its statuses,
    /// and on more still without some handles, which are listed as 0.) Asked for at most once between `enter` and
    /// `leave` or `abandon`, or again when what it held is recorded; nobody else may use it until then. Its contents need not be kept between calls.
    fn scratch(open: Self::Open, wanted: usize) -> (NonNull<u8>, usize);
}
