//! Processes that are made as copies.
//!
//! Not recorded: `clone(2)` (but where the child borrows its parent's memory), whose children are noticed at their first
//! call ([`crate::recording::thread`]).

use crate::core::real::{Inner, usize_fn};
use crate::hooks::loading::objects;
use crate::hooks::processes::exec;
use crate::hooks::real_function;
use crate::recording::span::{self, note};
use crate::recording::thread::stack::frame_address;
use crate::recording::thread::state::VFORK_CHILD;
use crate::recording::thread::{self, current, inheritance, private_table};
use crate::recording::vfork_child;
use core::ffi::{c_int, c_void};
use libc::pid_t;
use syn_trace::calls::Call;
use syn_trace::record;
use syn_trace::system_calls::is_vfork;

type Fork = unsafe extern "C-unwind" fn() -> pid_t;

/// Forks by `real`, and records that.
#[inline(always)]
fn fork_by(real: Fork, flags: u16) -> pid_t {
    let Some(mut span) = span::enter(Call::Fork, flags) else {
        // SAFETY: no arguments.
        return unsafe { real() };
    };
    objects::tell_late_ones_in(&mut span);
    let before = inheritance::fork_follows(span.state().kind_of_fork());
    exec::look_up();
    // SAFETY: no arguments.
    let child = unsafe { real() };
    if child == 0 {
        thread::begin_in_forked_child(frame_address());
        return 0;
    }
    inheritance::fork_is_over(before);
    span.returned();
    let failed = child < 0;
    span.leave(Call::Fork, failed, if failed { span::errno() } else { child.into() }, &[], &[], &[]);
    child
}

macro_rules! forks {
    ($($name:ident),*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(link_section = ".text.startup")]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name() -> pid_t {
            match real_function!($name as Fork) {
                Some(real) => fork_by(real, 0),
                None => crate::hooks::missing(),
            }
        }
    )* };
}
forks!(fork, __fork, _Fork);

/// The same by `daemon` and `forkpty`.
#[unsafe(link_section = ".text.startup")]
unsafe extern "C-unwind" fn inner_fork() -> pid_t {
    let Some(address) = FORK.address() else {
        return crate::hooks::missing();
    };
    // SAFETY: the trampoline does what fork does.
    fork_by(unsafe { core::mem::transmute::<usize, Fork>(address) }, record::INNER)
}

#[used]
#[unsafe(link_section = "syn_inners")]
static FORK: Inner = Inner::new(
    c"fork",
    // SAFETY: only the address is used, as the target of a jump from the function with this type.
    unsafe { core::mem::transmute::<Fork, usize_fn>(inner_fork) },
);

/// vfork(2) returns twice on one stack, and the child overwrites the frames of whatever it returned from: the return
/// address has to be kept in a register across the system call, as libc itself does it. The child shares all memory
/// with its parent, which stands still until the child has called exec or `_exit`.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn vfork() -> pid_t {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "call {before}",
        "pop rax",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_register rip, rdi",
        "mov eax, {number}",
        "syscall",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset rip, 0",
        "test eax, eax",
        "jz 2f",
        "mov edi, eax",
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "call {after}",
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        "2: ret",
        ".cfi_endproc",
        before = sym before_vfork,
        after = sym after_vfork,
        number = const libc::SYS_vfork,
    )
}

/// libc's other name for [`vfork`].
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn __vfork() -> pid_t {
    core::arch::naked_asm!("jmp {vfork}", vfork = sym vfork)
}

#[unsafe(link_section = ".text.startup")]
unsafe extern "C" fn before_vfork() {
    if let Some(span) = span::enter(Call::Vfork, 0) {
        // The record is written when the parent goes on.
        span.state().suppressed_by.set(VFORK_CHILD);
        span.state().vfork_span.set(span);
        vfork_child::note_path(core::ptr::null());
    }
}

/// True for flags of clone(2) with which the child runs in the memory of the calling thread, thread-locals included, while
/// that stands still: until the child calls exec or ends, as it is with vfork(2).
fn borrows_memory(flags: c_int) -> bool {
    const LOOKED_AT: c_int = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_THREAD | libc::CLONE_SETTLS;
    flags & LOOKED_AT == libc::CLONE_VM | libc::CLONE_VFORK
}

/// The same where that goes on meanwhile: both would write to one trace.
fn shares_locals(flags: c_int) -> bool {
    flags & (libc::CLONE_VM | libc::CLONE_SETTLS) == libc::CLONE_VM && !borrows_memory(flags)
}

/// Gets ready for a clone(2) with these flags, to a stack that ends there.
pub fn before_clone(flags: c_int, stack: usize) {
    if flags & libc::CLONE_FILES != 0 {
        private_table::descriptors_become_shared();
    }
    if shares_locals(flags) && current::state().is_some_and(|state| state.share(stack)) {
        note::unobserved(
            b"what shares a thread's memory, thread-locals included (clone(2) without CLONE_SETTLS)",
        );
    }
}

type Clone = unsafe extern "C-unwind" fn(
    *const c_void,
    *mut c_void,
    c_int,
    *mut c_void,
    *mut pid_t,
    *mut c_void,
    *mut pid_t,
) -> c_int;

macro_rules! clones {
    ($($name:ident),*) => { $(
        // Of the last three, which may be missing, libc reads those that the flags ask for, from where any function has them.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name(
            routine: *const c_void, stack: *mut c_void, flags: c_int, argument: *mut c_void, parent_tid: *mut pid_t,
            locals: *mut c_void, child_tid: *mut pid_t,
        ) -> c_int {
            let Some(real) = real_function!($name as Clone) else { return crate::hooks::missing() };
            // SAFETY: the caller's own arguments. The child never comes back here: it runs the routine and ends.
            let real = || unsafe { real(routine, stack, flags, argument, parent_tid, locals, child_tid) };
            before_clone(flags, stack as usize);
            if borrows_memory(flags) { lend_memory(flags, real) } else { real() }
        }
    )* };
}
clones!(clone, __clone);

/// Makes a child by `real` that borrows this thread's memory, and is back when the child has given it back.
fn lend_memory(flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let Some(mut span) = span::enter(Call::Vfork, 0) else { return real() };
    let state = span.state();
    state.suppressed_by.set(VFORK_CHILD);
    vfork_child::note_path(core::ptr::null());
    let result = real();
    state.suppressed_by.set(state.resting.get());
    span.returned();
    let failed = result < 0;
    let outcome = if failed { span::errno() } else { result.into() };
    if is_vfork(flags) {
        span.record(Call::Vfork, failed, outcome, &[], &[], &[]);
    } else {
        span.record(Call::Clone, failed, outcome, &[flags.into()], &[], &[]);
    }
    vfork_child::record_exec(&mut span, result);
    span.forget();
    result
}

/// In the parent only: records the call, and turns an error into errno.
#[unsafe(link_section = ".text.startup")]
unsafe extern "C" fn after_vfork(result: c_int) -> c_int {
    if let Some(state) = current::state().filter(|state| state.suppressed_by.get() == VFORK_CHILD) {
        state.suppressed_by.set(state.resting.get());
        let mut span = state.vfork_span.get();
        span.returned();
        let failed = result < 0;
        span.record(Call::Vfork, failed, i64::from(result.abs()), &[], &[], &[]);
        vfork_child::record_exec(&mut span, result);
        span.forget();
    }
    if result < 0 {
        // SAFETY: libc gives every thread an errno.
        unsafe { *libc::__errno_location() = -result };
        return -1;
    }
    result
}
