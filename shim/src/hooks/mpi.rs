//! MPI: the entry points of [`syn_mpi_wrap`], recording through this shim.

use crate::process;
use crate::span::{self, Span};
use core::ptr::NonNull;
use syn_mpi_wrap::Recorder;
use syn_trace::calls::Call;
use syn_trace::record;

/// The shim as `syn-mpi-wrap` sees it.
pub struct Shim;

/// A recorded MPI call under way.
#[derive(Clone, Copy)]
pub struct Open(Span);

// SAFETY: the scratch memory belongs to the calling thread and is as long as said.
unsafe impl Recorder for Shim {
    type Open = Open;

    #[inline(always)]
    fn enter() -> Option<Open> {
        let span = span::enter(Call::MpiInit, 0)?;
        let frame = span::frame_address();
        // SAFETY: this thread's state, while the hook runs.
        let state = unsafe { &mut *span.state() };
        if state.mpi_frame != 0 && frame < state.mpi_frame {
            span.forget();
            return None;
        }
        state.mpi_frame = frame;
        Some(Open(span))
    }

    #[inline(always)]
    fn returned(open: &mut Open) {
        open.0.returned();
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
        open.0.record(call, false, result, numbers, texts, list);
        Shim::abandon(open);
    }

    fn part<const N: usize>(open: &mut Open, call: Call, result: i64, numbers: &[i64; N], list: &[i64]) {
        open.0.record(call, false, result, numbers, &[], list);
    }

    #[inline(always)]
    fn abandon(open: Open) {
        // SAFETY: this thread's state, while the hook runs.
        unsafe { (*open.0.state()).mpi_frame = 0 };
        open.0.forget();
    }

    fn began<const N: usize>(open: &mut Open, call: Call, numbers: &[i64; N]) {
        // SAFETY: this thread's state, while the hook runs.
        unsafe { span::note(&mut *open.0.state(), call, record::BEGAN, numbers, &[]) };
    }

    fn world(rank: i32, size: i32, implementation: u32) {
        with_state(|state| process::set_world(state, rank, size, implementation));
    }

    fn unsupported(library: &[u8]) {
        with_state(|state| {
            let scratch = state.scratch();
            let front = b"MPI calls: a library whose layouts are not known: ";
            let length = library.len().min(512);
            scratch[..front.len()].copy_from_slice(front);
            scratch[front.len()..][..length].copy_from_slice(&library[..length]);
            span::note(state, Call::Unobserved, 0, &[], &[&scratch[..front.len() + length]]);
        });
    }

    fn scratch(open: &Open, _wanted: usize) -> (NonNull<u8>, usize) {
        let scratch = open.0.scratch();
        // SAFETY: the address of a slice is not null.
        (unsafe { NonNull::new_unchecked(scratch.as_mut_ptr()) }, scratch.len())
    }
}

fn with_state(then: impl FnOnce(&mut crate::thread::State)) {
    let state = crate::tls::get();
    if crate::tls::is_state(state) {
        // SAFETY: this thread's state.
        then(unsafe { &mut *state });
    }
}

syn_mpi_wrap::mpi_entry_points!(Shim);
