//! System calls made by number: `syscall(2)` of libc. What each of them is recorded as, [`syn_trace::system_calls`] tells.
//!
//! Calls that make a process or thread come back twice, the second time perhaps on another stack, and the end of a
//! signal handler comes back somewhere else: these go on to libc without a frame of ours. Their children are noticed at
//! their first call ([`crate::recording::thread`]). Numbers whose calls need more than a record go to the hooks of their family.

use super::decoded::decoded_by_number;
use super::processes::{exec, exit, forks};
use super::{confinement, libaio, mappings};
use crate::core::readable;
use crate::io_uring;
use crate::recording::environment::Strings;
use crate::recording::thread::window;
use core::ffi::{c_int, c_long, c_uint, c_void};
use syn_trace::system_calls::call_of;

/// The number comes first, so that each argument is one place behind where the system call has it; the sixth lies on
/// the stack. A jump leaves all of them where they are. Profilers find their way from any instruction of it.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn syscall() -> c_long {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "push rdx",
        ".cfi_adjust_cfa_offset 8",
        "push rcx",
        ".cfi_adjust_cfa_offset 8",
        "push r8",
        ".cfi_adjust_cfa_offset 8",
        "push r9",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {untouched}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop r9",
        ".cfi_adjust_cfa_offset -8",
        "pop r8",
        ".cfi_adjust_cfa_offset -8",
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        "pop rdx",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "test rax, rax",
        "jz 2f",
        "jmp rax",
        "2: jmp {recorded}",
        ".cfi_endproc",
        untouched = sym untouched,
        recorded = sym recorded,
    )
}

/// libc's function, if the call is to go on to it without a frame of ours; else 0.
unsafe extern "C" fn untouched(number: c_long, a: usize, b: usize) -> usize {
    if confinement::gives_up_rights(number) {
        window::grow_ahead();
    }
    match number {
        libc::SYS_clone => forks::before_clone(a as c_int, b),
        libc::SYS_clone3 => {
            // SAFETY: numbers. (struct clone_args; its first version is so long.)
            let arguments = unsafe { readable::copy::<[u64; 8]>(a) };
            if let Some([flags, _, _, _, _, stack, bytes, _]) = arguments {
                forks::before_clone(flags as c_int, (stack + bytes) as usize);
            }
        }
        libc::SYS_fork | libc::SYS_vfork | libc::SYS_rt_sigreturn => {}
        libc::SYS_seccomp | libc::SYS_prctl | libc::SYS_mprotect => return 0,
        _ if call_of(number).is_some() => return 0,
        _ => {}
    }
    super::real!(syscall).address().unwrap_or(0)
}

type Function = unsafe extern "C-unwind" fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long;

unsafe extern "C-unwind" fn recorded(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let Some(address) = super::real!(syscall).address() else { return super::missing() };
    // SAFETY: the function behind this name takes any number of words, and gets the caller's own arguments.
    let real = || unsafe { core::mem::transmute::<usize, Function>(address)(number, a, b, c, d, e, f) };
    let (int, unsigned) = (|word: usize| word as c_int, |word: usize| word as c_uint);
    // SAFETY: the arguments are those of the system call of this number, which the function of the same name takes.
    unsafe {
        match number {
            libc::SYS_io_setup => libaio::setup(unsigned(a), b as *const usize, real),
            libc::SYS_io_destroy => libaio::destroy(a, real),
            libc::SYS_io_submit => libaio::submit(a, b as c_long, c as *const *const libaio::Block, real),
            libc::SYS_io_getevents | SYS_IO_PGETEVENTS => libaio::getevents(
                a,
                b as c_long,
                c as c_long,
                d as *const libaio::Completion,
                e as *const libc::timespec,
                real,
            ),
            libc::SYS_io_cancel => libaio::cancel(a, b as *const libaio::Block, real),
            libc::SYS_io_uring_setup => io_uring::setup(unsigned(a), b as *const c_void, real),
            libc::SYS_io_uring_enter => {
                io_uring::enter(unsigned(a), unsigned(b), unsigned(c), unsigned(d), real)
            }
            libc::SYS_io_uring_register => {
                io_uring::register(unsigned(a), unsigned(b), c as *const c_void, unsigned(d), real)
            }
            libc::SYS_seccomp => confinement::seccomp(unsigned(a), b, c, real),
            libc::SYS_prctl => confinement::control(int(a), b, c, || real() as c_int).into(),
            libc::SYS_mmap => mappings::map(mmap, 0, a, b, int(c), int(d), int(e), f as i64) as c_long,
            libc::SYS_munmap => mappings::unmap(munmap, 0, a, b).into(),
            libc::SYS_mremap => mappings::remap(mremap, 0, a, b, c, int(d), e) as c_long,
            libc::SYS_mprotect => mappings::protect(mprotect, 0, a, b, int(c)).into(),
            libc::SYS_msync => mappings::sync_file(msync, a, b, int(c)).into(),
            libc::SYS_madvise => mappings::advise(madvise, a, b, int(c)).into(),
            libc::SYS_mincore => mappings::ask_core(mincore, a, b, c as *mut u8).into(),
            libc::SYS_execve => {
                let real = |environment| execve(a, b, environment);
                exec::replace_by_number(a as *const _, c as *const _, real).into()
            }
            libc::SYS_execveat => {
                let real = |environment| execveat(int(a), b, c, environment, int(e));
                exec::replace_by_number(b as *const _, d as *const _, real).into()
            }
            libc::SYS_exit_group => {
                exit::end(int(a));
                real()
            }
            libc::SYS_exit => {
                super::threads::leave();
                real()
            }
            _ => decoded_by_number(0, number, [a, b, c, d, e, f], real),
        }
    }
}

/// System calls as functions that make them by number: what stands behind the function of a call's name may be a library's
/// (an allocator's, or that of a network), which makes it by number in its turn.
macro_rules! by_number {
    ($($name:ident = $number:ident ($($arg:ident : $ty:ty),*) -> $ret:ty;)*) => { $(
        unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
            type Function = unsafe extern "C-unwind" fn(c_long $(, $ty)*) -> c_long;
            let Some(address) = super::real!(syscall).address() else { return super::missing() };
            // SAFETY: the function behind this name takes any number of words.
            unsafe { core::mem::transmute::<usize, Function>(address)(libc::$number $(, $arg)*) as $ret }
        }
    )* };
}

by_number! {
    mmap = SYS_mmap (address: usize, bytes: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> isize;
    munmap = SYS_munmap (address: usize, bytes: usize) -> c_int;
    mremap = SYS_mremap (address: usize, old_bytes: usize, new_bytes: usize, flags: c_int, new_address: usize) -> isize;
    mprotect = SYS_mprotect (address: usize, bytes: usize, protection: c_int) -> c_int;
    msync = SYS_msync (address: usize, bytes: usize, flags: c_int) -> c_int;
    madvise = SYS_madvise (address: usize, bytes: usize, advice: c_int) -> c_int;
    mincore = SYS_mincore (address: usize, bytes: usize, vec: *mut u8) -> c_int;
    execve = SYS_execve (path: usize, argv: usize, environment: Strings) -> c_int;
    execveat = SYS_execveat (dirfd: c_int, path: usize, argv: usize, environment: Strings, flags: c_int) -> c_int;
}

/// The C library's headers leave it out.
const SYS_IO_PGETEVENTS: c_long = 333;
