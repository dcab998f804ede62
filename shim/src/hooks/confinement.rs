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
    match option {
        libc::PR_SET_SECCOMP => {
            let mode = match a as c_uint {
                libc::SECCOMP_MODE_FILTER => Some(Mode::Filter),
                libc::SECCOMP_MODE_STRICT => Some(Mode::Strict),
                _ => None,
            };
            // SAFETY: as the caller vouches.
            unsafe { confine(mode, b as *const sock_fprog, real, |result| result == 0) }
        }
        // The program wants to be told of system calls of its own, not of ours.
        PR_SET_SYSCALL_USER_DISPATCH if a != 0 => {
            window::make_room_ahead();
            let result = real();
            if result == 0 {
                sys::confine_without_children();
            }
            result
        }
        libc::PR_SET_TSC if a == libc::PR_TSC_SIGSEGV as usize => {
            note::unobserved(b"times: the program has given up the time stamp counter");
            let stopped = clock::freeze();
            let result = real();
            if stopped && result != 0 {
                clock::thaw();
            }
            result
        }
        libc::PR_SET_TSC => {
            let result = real();
            if result == 0 {
                clock::thaw();
            }
            result
        }
        _ => real(),
    }
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
    let mode = match operation {
        libc::SECCOMP_SET_MODE_FILTER => Some(Mode::Filter),
        libc::SECCOMP_SET_MODE_STRICT => Some(Mode::Strict),
        _ => None,
    };
    // Otherwise a number above 0 is that of a thread which cannot have the filter, and nobody has it.
    let gives_descriptor = flags & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as usize != 0;
    let taken = |result: c_long| result == 0 || gives_descriptor && result > 0;
    // SAFETY: as the caller vouches.
    unsafe { confine(mode, argument as *const sock_fprog, real, taken) }
}

/// How seccomp(2) confines.
enum Mode {
    /// To read, write and _exit.
    Strict,
    /// To what a filter lets through.
    Filter,
}

/// Makes a call that confines, or only asks about that, and whose result says whether it was `taken`.
///
/// # Safety
/// A filter that is taken can be read.
unsafe fn confine<T: Copy>(
    mode: Option<Mode>,
    filter: *const sock_fprog,
    real: impl FnOnce() -> T,
    taken: impl FnOnce(T) -> bool,
) -> T {
    let Some(mode) = mode else { return real() };
    window::make_room_ahead();
    // The strict mode takes the time stamp counter away, too.
    let stopped = matches!(mode, Mode::Strict) && clock::freeze();
    sys::about_to_confine();
    let result = real();
    match (taken(result), mode) {
        // SAFETY: the kernel has just taken the filter.
        (true, Mode::Filter) => unsafe { confine_by(filter) },
        (true, Mode::Strict) => sys::confine(|_, _| false),
        (false, _) if stopped => clock::thaw(),
        (false, _) => {}
    }
    sys::has_confined();
    result
}

/// A new filter confines the process. It is asked whether clocks may be read all the same, without which nobody knows what the
/// program computes, and what else we ask the kernel; and about the system calls that we make at the start of a program: here none of them is made any more, but
/// a filter outlives exec, and the recorder would begin anew there, knowing nothing of it.
///
/// # Safety
/// The kernel has taken the filter.
unsafe fn confine_by(filter: *const sock_fprog) {
    // SAFETY: as the caller vouches; the program may have packed it into a structure of its own.
    let sock_fprog { len, filter } = unsafe { filter.read_unaligned() };
    // SAFETY: as above.
    let instructions = unsafe { core::slice::from_raw_parts(filter, usize::from(len)) };
    let answer = |number, argument: c_int| {
        let call = seccomp::call_with(number, argument as u64);
        seccomp::answer(instructions, &call)
    };
    let answer_to_any = |number| seccomp::answer_to_any(instructions, number);
    sys::confine(|number, argument| {
        let answer = argument.map_or_else(|| answer_to_any(number), |argument| answer(number, argument));
        answer.is_some_and(seccomp::is_made)
    });
    let goes_on = |(number, argument)| answer(number, argument).is_some_and(seccomp::goes_on);
    if !sys::own_calls().all(goes_on) {
        environment::keep_recorders_out();
    }
}
