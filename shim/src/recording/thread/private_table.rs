//! Descriptors of ours that are nobody else's.
//!
//! A descriptor that is open for a moment takes the lowest number that is free. Where threads share their descriptors,
//! another one may want just that number, or put a file of its own in its place, and a child that is forked meanwhile has
//! it as well. So what needs a descriptor is done on a thread of its own which leaves the shared table, as long as there
//! may be other threads, or none is to be had in ours. Where such a thread cannot be made (emulators of the kernel know few
//! kinds, and there may be too many already) it is done on this one.

use crate::core::preemption::Mark;
use crate::core::{clock, sys};
use crate::recording::thread::current;
use crate::recording::thread::state::State;
use core::arch::asm;
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// True once another thread of this process may use the same descriptors.
static SHARED: AtomicBool = AtomicBool::new(false);

/// True where the attempt to make such a thread would end the process.
static NEVER: AtomicBool = AtomicBool::new(false);

/// What such threads have used for threads without a trace, nanoseconds.
static UNCLAIMED_CPU_NS: AtomicU64 = AtomicU64::new(0);

/// No thread is ever made for this: Valgrind ends programs that make one of an unusual kind.
pub fn stay_on_thread() {
    NEVER.store(true, Ordering::Relaxed);
}

/// To be called before there is another thread.
#[inline]
pub fn descriptors_become_shared() {
    SHARED.store(true, Ordering::Relaxed);
}

/// True where another thread may have begun since the process did, or was forked.
pub fn are_descriptors_shared() -> bool {
    SHARED.load(Ordering::Relaxed)
}

/// In a forked child, which has one thread.
pub fn descriptors_are_own() {
    SHARED.store(false, Ordering::Relaxed);
}

/// Does something with descriptors of its own, which it closes again, while no handler of the program's runs. `Err` is
/// a negated errno.
#[unsafe(link_section = ".text.startup")]
pub fn run<T>(mut action: impl FnMut() -> Result<T, isize>) -> Result<T, isize> {
    let state = current::state();
    let is_apart = state.is_some_and(|state| state.is_apart.get());
    sys::without_signals(|| if is_apart { action() } else { here_or_apart(state, &mut action) })
}

/// On this thread where its descriptors are its own, else on one that has a table of its own.
#[unsafe(link_section = ".text.startup")]
fn here_or_apart<T, A: FnMut() -> Result<T, isize>>(
    state: Option<&State>,
    action: &mut A,
) -> Result<T, isize> {
    if !SHARED.load(Ordering::Relaxed) || NEVER.load(Ordering::Relaxed) {
        let done = action();
        let is_used_up = |error: &isize| [libc::EMFILE, libc::ENFILE].contains(&(-error as c_int));
        if !done.as_ref().is_err_and(is_used_up) || NEVER.load(Ordering::Relaxed) {
            return done;
        }
    }
    on_thread(state, action).unwrap_or_else(action)
}

/// What the thread is to do, and what came of it.
struct Helper<'a, T, A> {
    action: &'a mut A,
    result: Option<Result<T, isize>>,
    /// CPU time of the other thread, nanoseconds.
    cpu_ns: u64,
}

/// This thread stands still until the other one is done: `CLONE_VFORK`. The other has our thread-locals, and with them our
/// state, and goes on below on our stack. `None`: it could not be made, or not leave the table, and has done nothing.
fn on_thread<T, A: FnMut() -> Result<T, isize>>(
    state: Option<&State>,
    action: &mut A,
) -> Option<Result<T, isize>> {
    const FLAGS: c_int = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM
        | libc::CLONE_VFORK;
    if sys::is_confined() {
        return None;
    }
    let mut helper = Helper { action, result: None, cpu_ns: 0 };
    let entry: unsafe extern "C" fn(*mut c_void) = leave_table_and_run::<T, A>;
    set_apart(state, true);
    Mark::take_down();
    // SAFETY: the new thread uses the stack below this frame, where nothing is, and the helper; it never returns from here,
    // and all registers are as they were in the old one.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r13",
            "call r12",
            "xor edi, edi",
            "mov eax, {exit}",
            "syscall",
            "ud2",
            "2:",
            exit = const libc::SYS_exit,
            inlateout("rax") libc::SYS_clone as isize => _,
            in("rdi") FLAGS as usize,
            in("rsi") 0usize,
            in("rdx") 0usize,
            in("r10") 0usize,
            in("r8") 0usize,
            in("r12") entry,
            in("r13") &raw mut helper,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    set_apart(state, false);
    claim(state, helper.cpu_ns);
    helper.result
}

/// The thread that stood still has used what the other one has, as far as anybody asks.
fn claim(state: Option<&State>, cpu_ns: u64) {
    let header = state.map_or(ptr::null_mut(), |state| state.header.get());
    if header.is_null() {
        UNCLAIMED_CPU_NS.fetch_add(cpu_ns, Ordering::Relaxed);
    } else {
        // SAFETY: the thread's own header, mapped as long as the pointer is there.
        unsafe { &*header }.helpers_cpu_ns.fetch_add(cpu_ns, Ordering::Relaxed);
    }
}

/// CPU time for threads that had no trace yet, nanoseconds; it is the caller's now.
pub fn take_unclaimed_cpu_ns() -> u64 {
    UNCLAIMED_CPU_NS.swap(0, Ordering::Relaxed)
}

fn set_apart(state: Option<&State>, is_apart: bool) {
    if let Some(state) = state {
        state.is_apart.set(is_apart);
    }
}

unsafe extern "C" fn leave_table_and_run<T, A: FnMut() -> Result<T, isize>>(helper: *mut c_void) {
    const CLOSE_RANGE_UNSHARE: usize = 2;
    // SAFETY: the pointer comes from `on_thread`, which waits.
    let helper = unsafe { &mut *helper.cast::<Helper<'_, T, A>>() };
    // Of a table of which all is to be closed nothing is copied, and so nothing written back when the copy ends.
    // SAFETY: concerns the new thread's table alone.
    let left = unsafe {
        let arguments = [0, u32::MAX as usize, CLOSE_RANGE_UNSHARE, 0, 0, 0];
        match sys::call(libc::SYS_close_range, arguments) {
            0 => 0,
            _ => sys::call(libc::SYS_unshare, [libc::CLONE_FILES as usize, 0, 0, 0, 0, 0]),
        }
    };
    helper.result = (left == 0).then(|| (helper.action)());
    helper.cpu_ns = clock::thread_cpu_ns();
}
