//! Signals that arrive: a stub between the kernel and each of the program's handlers.
//!
//! ```text
//! kernel ─► stub n: rcx = where am I; jmp ─► deliver: record, then call handler n ─► the program's handler
//! ```
//!
//! There is a fixed supply of stubs. Each is given to one handler, once and for the life of the process, so that
//! installing a handler, reading it back and a signal that arrives meanwhile need no lock: a stub always leads to the
//! same function. It is called like the handler and may be called as one, by whoever got its address from the kernel.
//!
//! A handler runs anywhere: on an alternate stack of the smallest size, in the middle of a hook, on a thread without
//! a trace, because of a fault. So the record is made before the handler is called, in a function whose frame is gone by
//! then, and only counted where an alternate stack has no room for it; nothing is read but this thread's state; and
//! where that is being written to, the record is set aside ([`crate::recording::span`]). What the handler itself calls is the
//! application's doing, not that of the call it interrupted: see [`crate::recording::span::signal_nesting`].

use crate::core::sys;
use crate::recording::process;
use crate::recording::span::note;
use crate::recording::thread::stack::frame_address;
use crate::recording::thread::state::{State, VFORK_CHILD};
use crate::recording::thread::{self, current, ending};
use core::arch::global_asm;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use syn_trace::calls::Call;

/// As many different functions as can be handlers; the next one is installed as it is.
const STUBS: usize = 512;
const STUB_BYTES: usize = 16;

global_asm!(
    ".pushsection .text.syn_signal_stubs, \"ax\", @progbits",
    ".balign {bytes}",
    ".hidden syn_signal_stubs",
    ".globl syn_signal_stubs",
    ".type syn_signal_stubs, @function",
    "syn_signal_stubs:",
    ".rept {stubs}",
    "lea rcx, [rip]",
    "jmp {deliver}",
    ".balign {bytes}, 0xcc",
    ".endr",
    ".size syn_signal_stubs, . - syn_signal_stubs",
    ".popsection",
    bytes = const STUB_BYTES,
    stubs = const STUBS,
    deliver = sym deliver,
);

unsafe extern "C" {
    fn syn_signal_stubs();
}

/// The handler of each stub, 0 where there is none yet.
#[unsafe(link_section = ".bss.tables")]
static HANDLERS: [AtomicUsize; STUBS] = [const { AtomicUsize::new(0) }; STUBS];
static EXHAUSTED: AtomicBool = AtomicBool::new(false);

/// How the kernel calls a handler, whether or not it was installed with `SA_SIGINFO`.
type Handler = unsafe extern "C-unwind" fn(c_int, *mut c_void, *mut c_void);

/// `SIG_DFL`, `SIG_IGN`, `SIG_HOLD` and `SIG_ERR` are no functions.
pub fn is_function(handler: usize) -> bool {
    handler > 2 && handler != libc::SIG_ERR
}

/// What to install in place of `handler`.
#[unsafe(link_section = ".text.startup")]
pub fn stub_for(handler: usize) -> usize {
    let first = syn_signal_stubs as *const () as usize;
    let is_wanted = process::is_recording() && !process::leaves_out(Call::SignalDelivered);
    if !is_wanted || !is_function(handler) || (first..first + STUBS * STUB_BYTES).contains(&handler) {
        return handler;
    }
    let taken = HANDLERS.iter().position(|place| {
        // Looked at first: an exchange, also one that fails, makes a page of the process's own after each fork.
        let already = match place.load(Ordering::Relaxed) {
            0 => place.compare_exchange(0, handler, Ordering::Relaxed, Ordering::Relaxed).err(),
            known => Some(known),
        };
        already.is_none_or(|already| already == handler)
    });
    match taken {
        Some(index) => first + index * STUB_BYTES,
        None => {
            note_exhausted();
            handler
        }
    }
}

/// The program's handler behind what was installed.
pub fn handler_of(installed: usize) -> usize {
    let first = syn_signal_stubs as *const () as usize;
    match installed.checked_sub(first).map(|distance| HANDLERS.get(distance / STUB_BYTES)) {
        Some(Some(handler)) => handler.load(Ordering::Relaxed),
        _ => installed,
    }
}

/// Says once in the trace that not every arrival has a record.
#[cold]
fn note_exhausted() {
    // The cursor is null in a forked child that has no trace yet.
    if let Some(state) = current::state()
        && !state.cursor.get().is_null()
        && !EXHAUSTED.swap(true, Ordering::Relaxed)
    {
        let what: &[u8] = b"signals that arrive at some of the handlers: there are more than 512 handlers";
        note::write(state, Call::Unobserved, 0, &[], &[what]);
    }
}

unsafe extern "C-unwind" fn deliver(signal: c_int, info: *mut c_void, context: *mut c_void, in_stub: usize) {
    let index = (in_stub - syn_signal_stubs as *const () as usize) / STUB_BYTES;
    let handler = HANDLERS[index % STUBS].load(Ordering::Relaxed);
    // Whatever the handler calls lies below this on the stack.
    let interrupted = arrived(signal, frame_address());
    // SAFETY: the address was stored before the stub was installed, and is what the program wants to be called.
    unsafe { core::mem::transmute::<usize, Handler>(handler)(signal, info, context) };
    if let (Some(level), Some(state)) = (interrupted, current::state()) {
        state.resume(level);
    }
}

/// Bytes of stack below which an arrival is counted and not recorded. Making a record takes about 700 when a further
/// piece of the file has to be mapped for it.
const STACK_FOR_RECORD: usize = 1 << 10;
/// The same for a thread that has no trace yet.
const STACK_FOR_TRACE: usize = 8 << 10;

/// Records the arrival, and takes away the marks of the interrupted hook, if there is one, for a handler that is called
/// from `frame`.
#[inline(never)]
fn arrived(signal: c_int, frame: usize) -> Option<usize> {
    if process::leaves_out(Call::SignalDelivered) {
        return None;
    }
    let state = match current::state().filter(|state| !state.cursor.get().is_null()) {
        Some(state) => state,
        None => obtain(frame)?,
    };
    if state.suppressed_by.get() == VFORK_CHILD {
        return None;
    }
    state.leave_handlers_below(frame);
    if state.is_on_stack(frame) || has_room(frame, STACK_FOR_RECORD) {
        note::write(state, Call::SignalDelivered, 0, &[i64::from(signal)], &[]);
    } else {
        state.drop_one();
    }
    state.interrupt(frame)
}

/// The trace of a thread whose first event this is.
#[cold]
fn obtain(frame: usize) -> Option<&'static State> {
    if !has_room(frame, STACK_FOR_TRACE) {
        ending::lose_one();
        return None;
    }
    thread::obtain(frame)
}

/// True unless this runs on an alternate stack with fewer bytes than these below `frame`.
#[cold]
fn has_room(frame: usize, bytes: usize) -> bool {
    let mut stack = MaybeUninit::<libc::stack_t>::uninit();
    let arguments = [0, stack.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: only asks; the kernel fills in the stack if it returns 0.
    unsafe {
        if sys::call(libc::SYS_sigaltstack, arguments) != 0 {
            return true;
        }
        let stack = stack.assume_init();
        stack.ss_flags & libc::SS_ONSTACK == 0 || frame.saturating_sub(stack.ss_sp as usize) >= bytes
    }
}
