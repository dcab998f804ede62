//! MPI: the entry points of [`syn_mpi_wrap`], recording through this shim.

use crate::core::{elf, unwind};
use crate::recording::process;
use crate::recording::span::{self, Span, append, note};
use crate::recording::thread::current;
use crate::recording::thread::stack::frame_address;
use crate::recording::thread::state::{State, Witness};
use core::ptr::NonNull;
use syn_mpi_wrap::Recorder;
use syn_mpi_wrap::symbol::{Loader, set_loader};
use syn_trace::calls::Call;
use syn_trace::record;

/// The loaded objects as `syn-mpi-wrap` sees them.
static LOADER: Loader = Loader {
    locate: |name, is_variable| elf::locate(name, if is_variable { elf::STT_OBJECT } else { elf::STT_FUNC }),
    path_of: |address| elf::object_of(address).map(|(_, path)| path),
    keep_loaded: elf::keep_loaded,
};

/// To be called before the program's first call.
pub fn prepare() {
    set_loader(&LOADER);
}

/// The shim as `syn-mpi-wrap` sees it.
pub struct Shim;

/// A recorded MPI call under way: its span stands in the thread's state, since there is one at a time, and what is
/// handed from function to function is a pointer.
#[derive(Clone, Copy)]
pub struct Open(&'static State);

impl Open {
    /// The span. In a forked child that comes back through the call there is none: its state is empty, or a new one.
    #[inline(always)]
    fn span(self) -> Option<Span> {
        let span = self.0.mpi_span.get();
        (!self.0.cursor.get().is_null() && !span.is_none()).then_some(span)
    }
}

// SAFETY: the scratch memory belongs to the calling thread and is as long as said.
unsafe impl Recorder for Shim {
    type Open = Open;

    #[inline(always)]
    fn enter(call: Call) -> Option<Open> {
        if is_inside_mpi() {
            return None;
        }
        let span = span::enter(call, 0)?;
        let state = span.state();
        state.mpi_frame.set(frame_address());
        state.mpi_span.set(span);
        Some(Open(state))
    }

    #[inline(always)]
    fn enter_untimed(call: Call) -> Option<Open> {
        let state = span::enter_untimed(call)?;
        state.mpi_frame.set(state.frame.get());
        Some(Open(state))
    }

    #[inline(always)]
    fn count_in_vain<const N: usize>(Open(state): Open, call: Call, numbers: &[i64; N]) -> bool {
        let counted = append::count_untimed(state, call, numbers);
        if counted {
            // No other call is around one that goes untimed.
            state.frame.set(0);
            state.mpi_frame.set(0);
        }
        counted
    }

    #[inline(always)]
    fn returned(open: Open) {
        if let Some(mut span) = open.span() {
            span.poll_returned();
            open.0.mpi_span.set(span);
        }
    }

    #[inline(always)]
    fn leave<const N: usize>(
        open: Open,
        call: Call,
        result: i64,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    ) {
        if let Some(span) = open.span() {
            span.leave(call, false, result, numbers, texts, list);
        }
        open.0.mpi_frame.set(0);
    }

    fn part<const N: usize>(
        open: Open,
        call: Call,
        result: i64,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    ) {
        if let Some(mut span) = open.span() {
            span.record(call, false, result, numbers, texts, list);
            open.0.mpi_span.set(span);
        }
    }

    #[inline(always)]
    fn abandon(open: Open) {
        if let Some(span) = open.span() {
            span.forget();
        }
        open.0.mpi_frame.set(0);
    }

    fn began<const N: usize>(open: Open, call: Call, numbers: &[i64; N]) {
        note::write(open.0, call, record::BEGAN, numbers, &[]);
    }

    fn initialised() {
        super::mpi_presence::settle_bound();
    }

    fn world(rank: i32, size: i32, implementation: u32) {
        with_state(|state| process::set_world(state, rank, size, implementation));
    }

    fn unsupported(library: &[u8]) {
        with_state(|state| {
            // Not in the scratch memory, where the library's text may be.
            let mut text = [0; 320];
            let front = b"MPI calls: a library whose layouts are not known: ";
            let length = library.len().min(text.len() - front.len());
            text[..front.len()].copy_from_slice(front);
            text[front.len()..][..length].copy_from_slice(&library[..length]);
            note::write(state, Call::Unobserved, 0, &[], &[&text[..front.len() + length]]);
        });
    }

    fn unrecorded(procedure: &[u8]) -> bool {
        if is_inside_mpi() {
            return false;
        }
        let Some(mut span) = span::enter(Call::Unobserved, 0) else { return true };
        // SAFETY: nothing else is put together here.
        let scratch = unsafe { span.scratch().texts.lend() };
        let front = b"MPI calls that are not recorded: ";
        let length = front.len() + procedure.len();
        scratch[..front.len()].copy_from_slice(front);
        scratch[front.len()..length].copy_from_slice(procedure);
        span.returned();
        span.leave(Call::Unobserved, false, 0, &[], &[&scratch[..length]], &[]);
        true
    }

    fn scratch(open: Open, _wanted: usize) -> (NonNull<u8>, usize) {
        let words = NonNull::from(&open.0.scratch().words);
        (words.cast(), size_of_val(&open.0.scratch().words))
    }
}

/// A call inside another MPI call is not recorded: implementations call themselves.
#[inline(always)]
fn is_inside_mpi() -> bool {
    let Some(state) = current::state() else { return false };
    let outer = state.mpi_frame.get();
    outer != 0 && frame_address() < outer && is_under_way(state, frame_address())
}

/// True unless the MPI call around this one was left by a C++ exception (of an error handler, or another callback): nothing
/// tells the hook of that. The stack does: where the call is under way, its hook's frame is. An inner call at the same place as
/// the one before it, with the same return address there, need not be looked at.
#[inline(never)]
fn is_under_way(state: &State, inner: usize) -> bool {
    let (outer, known) = (state.mpi_frame.get(), state.mpi_witness.get());
    // SAFETY: a place above this frame on the stack, where it was found to be for the same outer call.
    let stands = || unsafe { *(known.place as *const usize) } == known.address;
    if known.outer == outer && known.inner == inner && stands() {
        return true;
    }
    let Some(frame) = unwind::around(outer) else { return true };
    if elf::is_own(frame.instruction) {
        let place = frame.start - size_of::<usize>();
        state.mpi_witness.set(Witness { outer, inner, place, address: frame.instruction });
        return true;
    }
    state.jump(outer);
    false
}

fn with_state(then: impl FnOnce(&State)) {
    if let Some(state) = current::state() {
        then(state);
    }
}

syn_mpi_wrap::mpi_entry_points!(Shim);
syn_mpi_wrap::mpi_unrecorded!(Shim);
