//! Calls after which a process can do less than before: it cannot open the run folder's files, or must not make system
//! calls that it did not announce. They have no records of their own; the trace gets ready for them.

use crate::clock;
use crate::process;
use crate::thread;
use core::ffi::{c_int, c_long};
use libc::uid_t;

/// Functions before which this thread's trace grows as far as it may need to, since it cannot afterwards.
macro_rules! give_up_rights {
    ($($name:ident ($($arg:ident : $ty:ty),*);)*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> c_int {
            let Some(address) = super::real!($name).address() else { return super::missing() };
            thread::grow_ahead();
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
}

/// `prctl(2)`: `PR_SET_SECCOMP` ends the system calls that may be made without asking.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    type Function = unsafe extern "C-unwind" fn(c_int, usize, usize, usize, usize) -> c_int;
    let Some(address) = super::real!(prctl).address() else { return super::missing() };
    if option == libc::PR_SET_SECCOMP {
        thread::grow_ahead();
        if a == libc::SECCOMP_MODE_STRICT as usize {
            clock::freeze();
        }
    }
    // SAFETY: the function behind this name has this type; it gets the caller's own arguments.
    let result = unsafe { core::mem::transmute::<usize, Function>(address)(option, a, b, c, d) };
    if option == libc::PR_SET_SECCOMP {
        if result == 0 { process::confine() } else { clock::thaw() }
    }
    result
}

/// The same by `seccomp(2)`, which is made by number.
pub fn seccomp(real: impl FnOnce() -> c_long) -> c_long {
    thread::grow_ahead();
    let result = real();
    if result == 0 {
        process::confine();
    }
    result
}
