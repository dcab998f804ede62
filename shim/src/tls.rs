//! This thread's one pointer.
//!
//! A preloaded library has its thread-locals in the static block, so an initial-exec access is two instructions
//! and can never allocate; Rust's own `thread_local!` in a shared library goes through `__tls_get_addr`, which may.

use crate::thread::State;
use core::arch::{asm, global_asm};

global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 8",
    ".hidden syn_thread_state",
    ".globl syn_thread_state",
    ".type syn_thread_state, @object",
    ".size syn_thread_state, 8",
    "syn_thread_state: .zero 8",
    ".popsection",
);

/// The value while the thread's state is being made: calls in between are not recorded.
pub const MAKING: *mut State = core::ptr::without_provenance_mut(1);
/// The value once the thread has ended for us.
pub const ENDED: *mut State = core::ptr::without_provenance_mut(2);

/// Null before the first use, one of the constants above, or this thread's state.
#[inline(always)]
pub fn get() -> *mut State {
    let state: *mut State;
    // SAFETY: reads the thread-local word defined above; the linker fills in its offset.
    unsafe {
        asm!("mov {0}, qword ptr [rip + syn_thread_state@gottpoff]", "mov {0}, qword ptr fs:[{0}]",
            out(reg) state, options(nostack, preserves_flags, readonly));
    }
    state
}

/// Replaces the value.
#[inline(always)]
pub fn set(state: *mut State) {
    // SAFETY: writes the thread-local word defined above.
    unsafe {
        asm!("mov {0}, qword ptr [rip + syn_thread_state@gottpoff]", "mov qword ptr fs:[{0}], {1}",
            out(reg) _, in(reg) state, options(nostack, preserves_flags));
    }
}

/// True for a value that points to a state.
#[inline(always)]
pub fn is_state(state: *mut State) -> bool {
    state as usize > ENDED as usize
}
