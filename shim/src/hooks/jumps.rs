//! longjmp(3): a handler, or a function that was called back, leaves calls that will never return.
//!
//! Not recorded; what is noted is which hooks are not under way any more ([`crate::recording::span::signal_nesting`]).

use crate::core::sys;
use crate::recording::thread::current;
use core::arch::asm;
use core::ffi::{c_int, c_long};

/// Where glibc keeps the stack pointer in a `jmp_buf` (sysdeps/x86_64/jmpbuf-offsets.h).
const STACK_POINTER: usize = 6;

/// The stack pointer that a jump to `buffer` brings back. It is kept rotated, and combined with a secret of the thread's
/// (sysdeps/unix/sysv/linux/x86_64/pointer_guard.h).
///
/// # Safety
/// `buffer` is one that setjmp(3) has filled in.
unsafe fn target_of(buffer: *const c_long) -> usize {
    // SAFETY: as the caller vouches; the secret stands behind the thread pointer.
    unsafe {
        let mut address = *buffer.add(STACK_POINTER) as usize;
        asm!("ror {0}, 17", "xor {0}, fs:[0x30]", inout(reg) address, options(nostack, readonly, pure));
        address
    }
}

macro_rules! jumps {
    ($($name:ident),*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name(buffer: *const c_long, value: c_int) -> ! {
            if let Some(state) = current::state() {
                // SAFETY: the caller's own argument.
                state.jump(unsafe { target_of(buffer) });
            }
            if let Some(address) = super::real!($name).address() {
                // SAFETY: the function behind this name has this type; it gets the caller's own arguments.
                unsafe {
                    core::mem::transmute::<usize, unsafe extern "C-unwind" fn(*const c_long, c_int)>(address)(
                        buffer, value,
                    );
                }
            }
            // There is no way back, and nothing to go on with.
            loop {
                // SAFETY: ends the process.
                unsafe { sys::call(libc::SYS_exit_group, [127, 0, 0, 0, 0, 0]) };
            }
        }
    )* };
}
jumps!(longjmp, _longjmp, siglongjmp, __longjmp_chk);
