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
pub struct Open(NonNull<State>);

impl Open {
    /// None in a forked child that comes back through the call: its state is empty, or a new one.
    #[inline(always)]
    fn span(&mut self) -> Option<&mut Span> {
        // SAFETY: this thread's state, while the hook runs.
        let state = unsafe { self.0.as_mut() };
        let is_gone = state.cursor.is_null() || state.mpi_span.state().is_null();
        if is_gone { None } else { Some(&mut state.mpi_span) }
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
        enclose(span::enter(call, 0)?)
    }

    #[inline(always)]
    fn enter_poll(call: Call, may_find_nothing: bool) -> Option<Open> {
        if !may_find_nothing {
            return Shim::enter(call);
        }
        match span::enter_untimed(call) {
            Some(span) => enclose(span),
            None => Shim::enter(call),
        }
    }

    #[inline(always)]
    fn count_in_vain<const N: usize>(mut open: Open, call: Call, numbers: &[i64; N]) -> bool {
        // SAFETY: this thread's state, while the hook runs.
        let state = unsafe { open.0.as_mut() };
        let counted = state.mpi_span.is_untimed() && append::count_untimed(state, call, numbers);
        if counted {
            // No other call is around one that goes untimed.
            (state.frame, state.mpi_frame) = (0, 0);
        }
        counted
    }

    #[inline(always)]
    fn returned(mut open: Open) {
        if let Some(span) = open.span() {
            span.poll_returned();
        }
    }

    #[inline(always)]
    fn leave<const N: usize>(
        mut open: Open,
        call: Call,
        result: i64,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    ) {
        if let Some(span) = open.span() {
            span.record(call, false, result, numbers, texts, list);
            span.sample(texts);
        }
        Shim::abandon(open);
    }

    fn part<const N: usize>(
        mut open: Open,
        call: Call,
        result: i64,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    ) {
        if let Some(span) = open.span() {
            span.record(call, false, result, numbers, texts, list);
        }
    }

    #[inline(always)]
    fn abandon(mut open: Open) {
        if let Some(span) = open.span() {
            span.forget();
        }
        // SAFETY: this thread's state, while the hook runs.
        unsafe { open.0.as_mut().mpi_frame = 0 };
    }

    fn began<const N: usize>(mut open: Open, call: Call, numbers: &[i64; N]) {
        // SAFETY: as above.
        unsafe { note::write(open.0.as_mut(), call, record::BEGAN, numbers, &[]) };
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
        let scratch = &mut span.scratch().texts;
        let front = b"MPI calls that are not recorded: ";
        let length = front.len() + procedure.len();
        scratch[..front.len()].copy_from_slice(front);
        scratch[front.len()..length].copy_from_slice(procedure);
        span.returned();
        span.leave(Call::Unobserved, false, 0, &[], &[&scratch[..length]], &[]);
        true
    }

    fn scratch(mut open: Open, _wanted: usize) -> (NonNull<u8>, usize) {
        // SAFETY: as above.
        let scratch = unsafe { &mut open.0.as_mut().scratch().words };
        // SAFETY: the address of a slice is not null.
        (unsafe { NonNull::new_unchecked(scratch.as_mut_ptr().cast()) }, size_of_val(scratch))
    }
}

/// A call inside another MPI call is not recorded: implementations call themselves.
#[inline(always)]
fn is_inside_mpi() -> bool {
    let state = current::get();
    // SAFETY: a pointer that is none of the marks points to this thread's state.
    current::is_state(state)
        && unsafe {
            let outer = (*state).mpi_frame;
            outer != 0 && frame_address() < outer && is_under_way(&mut *state, frame_address())
        }
}

/// True unless the MPI call around this one was left by a C++ exception (of an error handler, or another callback): nothing
/// tells the hook of that. The stack does: where the call is under way, its hook's frame is. An inner call at the same place as
/// the one before it, with the same return address there, need not be looked at.
#[inline(never)]
fn is_under_way(state: &mut State, inner: usize) -> bool {
    let (outer, known) = (state.mpi_frame, state.mpi_witness);
    // SAFETY: a place above this frame on the stack, where it was found to be for the same outer call.
    let stands = || unsafe { *(known.place as *const usize) } == known.address;
    if known.outer == outer && known.inner == inner && stands() {
        return true;
    }
    let Some(frame) = unwind::around(outer) else { return true };
    if elf::is_own(frame.instruction) {
        let place = frame.start - size_of::<usize>();
        state.mpi_witness = Witness { outer, inner, place, address: frame.instruction };
        return true;
    }
    state.jump(outer);
    false
}

#[inline(always)]
fn enclose(span: Span) -> Option<Open> {
    let frame = frame_address();
    let mut open = Open(NonNull::new(span.state())?);
    // SAFETY: this thread's state, while the hook runs.
    let state = unsafe { open.0.as_mut() };
    state.mpi_frame = frame;
    state.mpi_span = span;
    Some(open)
}

fn with_state(then: impl FnOnce(&mut State)) {
    let state = current::get();
    if current::is_state(state) {
        // SAFETY: this thread's state.
        then(unsafe { &mut *state });
    }
}

syn_mpi_wrap::mpi_entry_points!(Shim);
syn_mpi_wrap::mpi_unrecorded!(Shim);
