//! Libraries that make system calls on the program's behalf: what one of their functions does through another one, or
//! through libc's `syscall`, is not recorded again.
//!
//! Unlike [`Span::quiet`], this leaves alone all other calls that are made while such a function runs.

use crate::core::elf;
use crate::core::real::Real;
use crate::recording::span;
use crate::recording::thread::current;
use crate::recording::thread::scratch::UnderWay;
use crate::recording::thread::stack::frame_address;
use crate::recording::thread::state::State;
use core::cell::Cell;
use syn_trace::calls::Call;

/// Libraries whose calls are not recorded a second time.
#[derive(Clone, Copy)]
pub enum Library {
    /// Of asynchronous I/O.
    Asynchronous,
    /// What stands in for libc's functions that map memory. Those who want to know of a mapping may make others meanwhile: what is
    /// recorded already is the call about this descriptor or address.
    Memory(Call, i64),
}

impl Library {
    fn place(self) -> (usize, (u16, i64)) {
        match self {
            Library::Asynchronous => (0, (0, 0)),
            Library::Memory(call, about) => (1, (call as u16, about)),
        }
    }
}

/// The library function under way on this thread. `None` for a thread that does not record.
fn mark(library: Library) -> Option<(&'static Cell<UnderWay>, &'static State)> {
    let state = current::state()?;
    Some((&state.scratch().under_way[library.place().0], state))
}

/// True for a call that a library function makes which is being recorded.
#[inline]
pub fn is_inside(library: Library) -> bool {
    mark(library).is_some_and(|(mark, state)| {
        let UnderWay { frame, about } = mark.get();
        frame != 0 && about == library.place().1 && !state.is_stale(frame, frame_address())
    })
}

/// Makes a call that is recorded here, and nothing that it calls of the same libraries.
#[inline(always)]
pub fn inside<T>(library: Library, real: impl FnOnce() -> T) -> T {
    let this = UnderWay { frame: frame_address(), about: library.place().1 };
    let around = mark(library).map(|(mark, _)| mark.replace(this));
    let result = real();
    if let Some((mark, _)) = mark(library) {
        mark.set(around.unwrap_or_default());
    }
    result
}

/// The address of the function behind ours. A library that came in by `dlopen` may go again: its functions are looked up
/// each time.
#[inline]
pub fn function(real: Real) -> Option<usize> {
    real.address().or_else(|| elf::next_function(real.name()))
}

/// What a failed call says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// It returns -1 and sets errno.
    InErrno,
    /// It returns the negative errno value.
    Negated,
}

impl Failure {
    /// Whether the call failed, and the result or errno.
    #[inline(always)]
    pub fn outcome(self, result: core::ffi::c_long) -> (bool, i64) {
        match self {
            _ if result >= 0 => (false, result),
            Failure::InErrno => (true, span::errno()),
            Failure::Negated => (true, -result),
        }
    }
}
