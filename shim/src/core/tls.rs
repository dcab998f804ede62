//! One word of each thread.
//!
//! A preloaded library has its thread-locals in the static block, so an initial-exec access is two instructions
//! and can never allocate; Rust's own `thread_local!` in a shared library goes through `__tls_get_addr`, which may.

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

/// Its value; 0 in a new thread.
#[inline(always)]
pub fn get() -> usize {
    let word: usize;
    // SAFETY: reads the thread-local word defined above; the linker fills in its offset.
    unsafe {
        asm!("mov {0}, qword ptr [rip + syn_thread_state@gottpoff]", "mov {0}, qword ptr fs:[{0}]",
            out(reg) word, options(nostack, preserves_flags, readonly));
    }
    word
}

/// Replaces the value.
#[inline(always)]
pub fn set(word: usize) {
    // SAFETY: writes the thread-local word defined above.
    unsafe {
        asm!("mov {0}, qword ptr [rip + syn_thread_state@gottpoff]", "mov qword ptr fs:[{0}], {1}",
            out(reg) _, in(reg) word, options(nostack, preserves_flags));
    }
}
