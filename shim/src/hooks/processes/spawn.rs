//! Processes that are made as another program.

use crate::hooks::{Unread, hooks, real_function, unread_text};
use crate::recording::environment::{Strings, for_child};
use crate::recording::span;
use core::ffi::{c_char, c_int, c_void};
use libc::pid_t;
use syn_trace::calls::Call;

/// # Safety
/// After a call that returned 0, `pid` is null or points to the child's id.
unsafe fn spawned(pid: *const pid_t, result: c_int) -> i64 {
    // SAFETY: as the caller vouches.
    if result == 0 && !pid.is_null() { unsafe { i64::from(*pid) } } else { 0 }
}

type Spawn = unsafe extern "C-unwind" fn(
    *mut pid_t,
    *const c_char,
    *const c_void,
    *const c_void,
    Strings,
    Strings,
) -> c_int;

macro_rules! spawns {
    ($($name:ident),*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name(
            pid: *mut pid_t, path: *const c_char, actions: *const c_void, attributes: *const c_void, argv: Strings, envp: Strings,
        ) -> c_int {
            let Some(real) = real_function!($name as Spawn) else { return libc::ENOSYS };
            let envp = for_child(envp);
            let Some(mut span) = span::enter(Call::PosixSpawn, 0) else {
                // SAFETY: the caller's own arguments, with what recording needs in the environment.
                return unsafe { real(pid, path, actions, attributes, argv, envp) };
            };
            // libc's child runs in our memory until it has called exec: what it does there is not this thread's doing.
            span.quiet();
            // SAFETY: the caller's own arguments.
            let result = unsafe { real(pid, path, actions, attributes, argv, envp) };
            span.returned();
            // SAFETY: a call that succeeded has filled in the child's id and read the path.
            unsafe {
                let text = if result == 0 { crate::hooks::text(path) } else { unread_text(path, &span, 0) };
                span.leave(Call::PosixSpawn, false, i64::from(result), &[spawned(pid, result)], &[text], &[]);
            }
            result
        }
    )* };
}
spawns!(posix_spawn, posix_spawnp);

/// The entry of libc's own `posix_spawn`: `system`, `popen` and `wordexp` start a shell through it, with the environment
/// as it is. The record is that of the function around it.
unsafe extern "C-unwind" fn inner_spawn(
    pid: *mut pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    argv: Strings,
    envp: Strings,
) -> c_int {
    let Some(address) = INNER_SPAWN.address() else { return libc::ENOSYS };
    // SAFETY: the trampoline does what `posix_spawn` does; the caller's own arguments, with what recording needs in the
    // environment.
    unsafe {
        let real = core::mem::transmute::<usize, Spawn>(address);
        real(pid, path, actions, attributes, argv, for_child(envp))
    }
}

#[used]
#[unsafe(link_section = "syn_inners")]
static INNER_SPAWN: crate::core::real::Inner = crate::core::real::Inner::new(
    c"posix_spawn",
    // SAFETY: only the address is used, as the target of a jump from a function of this type.
    unsafe { core::mem::transmute::<Spawn, crate::core::real::usize_fn>(inner_spawn) },
);

hooks! {
    // It is the shell's start that fails where the command cannot be read.
    System quiet: system (command: *const c_char) -> result: c_int, [], [Unread(command)], &[],
        then super::wait::tell_used(result != -1);
}
