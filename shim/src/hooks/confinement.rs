//! Calls after which a process can do less than before: it cannot open the run folder's files, or must not make system
//! calls that it did not announce. They have no records of their own; the trace gets ready for them.

use crate::core::{clock, sys};
use crate::recording::environment;
use crate::recording::span::note;
use crate::recording::thread::window;
use core::ffi::{c_char, c_int, c_long, c_uint, c_void};
use libc::{gid_t, sock_fprog, uid_t};
use syn_trace::seccomp;

/// `PR_SET_SYSCALL_USER_DISPATCH` of linux/prctl.h.
const PR_SET_SYSCALL_USER_DISPATCH: c_int = 59;

/// Functions before which the file gets as long as it may need to be, since it cannot afterwards.
macro_rules! give_up_rights {
    ($($name:ident ($($arg:ident : $ty:ty),*);)*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> c_int {
            let Some(address) = super::real!($name).address() else { return super::missing() };
            window::grow_ahead();
            // SAFETY: the function behind this name has this type; it gets the caller's own arguments.
            unsafe {
                core::mem::transmute::<usize, unsafe extern "C-unwind" fn($($ty),*) -> c_int>(address)($($arg),*)
            }
        }
    )* };
}

give_up_rights! {
    setuid(user: uid_t);
    seteuid(user: uid_t);
    setreuid(real: uid_t, effective: uid_t);
    setresuid(real: uid_t, effective: uid_t, saved: uid_t);
    setfsuid(user: uid_t);
    // The folders on the way to the run folder may be open to a group alone.
    setgid(group: gid_t);
    setegid(group: gid_t);
    setregid(real: gid_t, effective: gid_t);
    setresgid(real: gid_t, effective: gid_t, saved: gid_t);
    setfsgid(group: gid_t);
    setgroups(count: usize, groups: *const gid_t);
    initgroups(user: *const c_char, group: gid_t);
    // To open what is another user's is a capability; who goes to a user namespace leaves all of them behind.
    capset(header: *mut c_void, data: *const c_void);
    unshare(flags: c_int);
    setns(fd: c_int, kind: c_int);
    pivot_root(new: *const c_char, old: *const c_char);
}

/// True for the system calls that do the same.
pub fn gives_up_rights(number: c_long) -> bool {
    matches!(
        number,
        libc::SYS_setuid
            | libc::SYS_setreuid
            | libc::SYS_setresuid
            | libc::SYS_setfsuid
            | libc::SYS_setgid
            | libc::SYS_setregid
            | libc::SYS_setresgid
            | libc::SYS_setfsgid
            | libc::SYS_setgroups
            | libc::SYS_capset
            | libc::SYS_unshare
            | libc::SYS_setns
            | libc::SYS_pivot_root
            | libc::SYS_landlock_restrict_self
    )
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    type Function = unsafe extern "C-unwind" fn(c_int, usize, usize, usize, usize) -> c_int;
    let Some(address) = super::real!(prctl).address() else { return super::missing() };
    // SAFETY: the function behind this name has this type; it gets the caller's own arguments.
    unsafe {
        let real = core::mem::transmute::<usize, Function>(address);
        control(option, a, b, || real(option, a, b, c, d))
    }
}

/// `prctl(2)`, made by `real`: `PR_SET_SECCOMP` and `PR_SET_SYSCALL_USER_DISPATCH` (Linux 5.11) end the system calls that may be
/// made without asking, `PR_SET_TSC` the reading of the time stamp counter.
///
/// # Safety
/// The arguments belong to the call that `real` makes.
pub unsafe fn control(option: c_int, a: usize, b: usize, real: impl FnOnce() -> c_int) -> c_int {
    if option == libc::PR_SET_SECCOMP {
        window::make_room_ahead();
        if a == libc::SECCOMP_MODE_STRICT as usize {
            clock::freeze();
        }
    }
    // The program wants to be told of system calls of its own, not of ours.
    let dispatches = option == PR_SET_SYSCALL_USER_DISPATCH && a != 0;
    if dispatches {
        window::make_room_ahead();
    }
    let denies_clock = option == libc::PR_SET_TSC && a == libc::PR_TSC_SIGSEGV as usize;
    if denies_clock {
        note::unobserved(b"times: the program has given up the time stamp counter");
        clock::freeze();
    }
    let confines = option == libc::PR_SET_SECCOMP;
    if confines {
        sys::about_to_confine();
    }
    let result = real();
    if option == libc::PR_SET_TSC && denies_clock == (result != 0) {
        clock::thaw();
    }
    if dispatches && result == 0 {
        sys::confine_without_children();
    }
    if option == libc::PR_SET_SECCOMP {
        match result {
            // SAFETY: the kernel has just taken the filter.
            0 if a == libc::SECCOMP_MODE_FILTER as usize => unsafe { confine_by(b as *const sock_fprog) },
            0 => sys::confine(|_, _| false),
            _ => clock::thaw(),
        }
    }
    if confines {
        sys::has_confined();
    }
    result
}

/// The same by `seccomp(2)`, which is made by number.
///
/// # Safety
/// `argument` belongs to the call that `real` makes.
pub unsafe fn seccomp(
    operation: c_uint,
    flags: usize,
    argument: usize,
    real: impl FnOnce() -> c_long,
) -> c_long {
    window::make_room_ahead();
    sys::about_to_confine();
    let result = real();
    // Otherwise a number above 0 is that of a thread which cannot have the filter, and nobody has it.
    let gives_descriptor = flags & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as usize != 0;
    match operation {
        // SAFETY: the kernel has just taken the filter.
        libc::SECCOMP_SET_MODE_FILTER if result == 0 || gives_descriptor && result > 0 => unsafe {
            confine_by(argument as *const sock_fprog)
        },
        libc::SECCOMP_SET_MODE_STRICT if result == 0 => sys::confine(|_, _| false),
        _ => {}
    }
    sys::has_confined();
    result
}

/// A new filter confines the process. It is asked whether clocks may be read all the same, without which nobody knows what the
/// program computes; and about the system calls that we make at the start of a program: here none of them is made any more, but
/// a filter outlives exec, and the recorder would begin anew there, knowing nothing of it.
///
/// # Safety
/// The kernel has taken the filter.
unsafe fn confine_by(filter: *const sock_fprog) {
    // SAFETY: as the caller vouches; the program may have packed it into a structure of its own.
    let sock_fprog { len, filter } = unsafe { filter.read_unaligned() };
    // SAFETY: as above.
    let instructions = unsafe { core::slice::from_raw_parts(filter, usize::from(len)) };
    let answer = |number, argument| {
        let call = seccomp::call_with(number, argument);
        seccomp::answer(instructions, &call)
    };
    sys::confine(|number, argument| answer(number, argument as u64).is_some_and(seccomp::is_made));
    if !sys::own_calls().all(|number| answer(number, 0).is_some_and(seccomp::goes_on)) {
        environment::keep_recorders_out();
    }
}
