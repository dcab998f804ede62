//! Processes: creation, replacement, end, and waiting for it.
//!
//! Not recorded: `clone(2)` (but where the child borrows its parent's memory), whose children are noticed at their first
//! call ([`crate::thread`]).

use super::environment::{Strings, for_child};
use super::readable::Reader;
use super::{Unread, hooks};
use crate::private_table;
use crate::process;
use crate::span;
use crate::thread;
use crate::tls;
use core::ffi::{c_char, c_int, c_uint, c_void};
use libc::pid_t;
use syn_trace::calls::Call;
use syn_trace::header;
use syn_trace::record;
use syn_trace::system_calls::is_vfork;

macro_rules! real_function {
    ($name:ident as $function:ty) => {
        super::real!($name).address().map(|address| {
            // SAFETY: the function behind this name has this type.
            unsafe { core::mem::transmute::<usize, $function>(address) }
        })
    };
}

macro_rules! forks {
    ($($name:ident),*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name() -> pid_t {
            let Some(real) = real_function!($name as unsafe extern "C-unwind" fn() -> pid_t) else {
                return super::missing();
            };
            let Some(mut span) = span::enter(Call::Fork, 0) else {
                // SAFETY: no arguments.
                return unsafe { real() };
            };
            // SAFETY: the state lives while the hook runs; the real call has no arguments.
            let child = unsafe {
                (*span.state()).fork_follows(true);
                real()
            };
            if child == 0 {
                thread::begin_in_forked_child(span::frame_address());
                return 0;
            }
            // SAFETY: as above.
            unsafe { (*span.state()).fork_follows(false) };
            span.returned();
            let failed = child < 0;
            span.leave(Call::Fork, failed, if failed { span::errno() } else { child.into() }, &[], &[], &[]);
            child
        }
    )* };
}
forks!(fork, __fork, _Fork);

/// vfork(2) returns twice on one stack, and the child overwrites the frames of whatever it returned from: the return
/// address has to be kept in a register across the system call, as libc itself does it. The child shares all memory
/// with its parent, which stands still until the child has called exec or `_exit`.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn vfork() -> pid_t {
    core::arch::naked_asm!(
        "push rax",
        "call {before}",
        "pop rax",
        "pop rdi",
        "mov eax, {number}",
        "syscall",
        "push rdi",
        "test eax, eax",
        "jz 2f",
        "mov edi, eax",
        "push rax",
        "call {after}",
        "pop rcx",
        "2: ret",
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

unsafe extern "C" fn before_vfork() {
    if let Some(span) = span::enter(Call::Vfork, 0) {
        // SAFETY: this thread's state; the record is written when the parent goes on.
        unsafe {
            (*span.state()).suppressed_by = thread::VFORK_CHILD;
            (*span.state()).vfork_span = span;
        }
        note_path_in_child(b"");
    }
}

/// Bytes at the front of the scratch memory in which the child of a `vfork` leaves its path, whole pages of them: the
/// environment of its exec call is put together behind them.
pub(super) const PATH_NOTE_BYTES: usize = (2 + record::MAX_TEXT_BYTES).next_multiple_of(4096);

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
    let state = tls::get();
    // SAFETY: this thread's state.
    if shares_locals(flags) && tls::is_state(state) && unsafe { (*state).share(stack) } {
        process::note_unobserved(
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
            let Some(real) = real_function!($name as Clone) else { return super::missing() };
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
    let lend = |by: usize| {
        // SAFETY: this thread's state.
        unsafe { (*span.state()).suppressed_by = by };
    };
    lend(thread::VFORK_CHILD);
    note_path_in_child(b"");
    let result = real();
    // SAFETY: as above.
    lend(unsafe { (*span.state()).resting });
    span.returned();
    let failed = result < 0;
    let outcome = if failed { span::errno() } else { result.into() };
    if is_vfork(flags) {
        span.record(Call::Vfork, failed, outcome, &[], &[], &[]);
    } else {
        span.record(Call::Clone, failed, outcome, &[flags.into()], &[], &[]);
    }
    record_exec_of_child(&mut span, result);
    span.forget();
    result
}

/// In the child of a `vfork`: leaves the path of its exec call to its parent, in the scratch memory of the call under
/// way: two bytes of length, then the path. Elsewhere it does nothing.
fn note_path_in_child(path: &[u8]) {
    let state = tls::get();
    // SAFETY: this thread's state; its parent stands still.
    unsafe {
        if tls::is_state(state) && (*state).suppressed_by == thread::VFORK_CHILD {
            let (length, room) = (*state).scratch().split_at_mut(2);
            length.copy_from_slice(&(path.len() as u16).to_ne_bytes());
            room[..path.len()].copy_from_slice(path);
        }
    }
}

/// The path that the child has left, if it has called exec with success.
fn path_from_child(scratch: &[u8]) -> &[u8] {
    let (length, room) = scratch.split_at(2);
    &room[..usize::from(u16::from_ne_bytes([length[0], length[1]]))]
}

/// In the parent: records which program the child has become, if it was made (`child` is its id) and has become one.
fn record_exec_of_child(span: &mut span::Span, child: c_int) {
    let path = path_from_child(span.scratch());
    if child > 0 && !path.is_empty() {
        span.record(Call::ChildExecve, false, 0, &[child.into()], &[path], &[]);
    }
}

/// In the parent only: records the call, and turns an error into errno.
unsafe extern "C" fn after_vfork(result: c_int) -> c_int {
    let state = tls::get();
    // SAFETY: this thread's state, if it has one.
    unsafe {
        if tls::is_state(state) && (*state).suppressed_by == thread::VFORK_CHILD {
            (*state).suppressed_by = (*state).resting;
            let mut span = (*state).vfork_span;
            span.returned();
            let failed = result < 0;
            span.record(Call::Vfork, failed, i64::from(result.abs()), &[], &[], &[]);
            record_exec_of_child(&mut span, result);
            span.forget();
        }
        if result < 0 {
            *libc::__errno_location() = -result;
            return -1;
        }
    }
    result
}

/// Runs `real`, which replaces the process image if it succeeds: the record stands before it, and a second one
/// follows if it comes back.
fn replace(path: &[u8], real: impl FnOnce() -> c_int) -> c_int {
    super::rings::finish();
    let Some(mut span) = span::enter(Call::Execve, 0) else {
        note_path_in_child(path);
        let result = real();
        note_path_in_child(b"");
        return result;
    };
    super::mappings::tell_all_touched(&mut span);
    // SAFETY: this thread's state, while the hook runs.
    unsafe {
        span::note(&mut *span.state(), Call::Execve, span.began(), &[], &[path]);
        (*span.state()).expect_replacement();
    }
    let result = real();
    span.returned();
    // SAFETY: as above.
    unsafe { (*span.state()).replacement_failed() };
    span.leave(Call::Execve, true, span::errno(), &[], &[path], &[]);
    result
}

/// The system calls, made by `real` with an environment.
///
/// # Safety
/// The arguments belong to the call that `real` makes.
pub unsafe fn replace_by_number(
    path: *const c_char,
    environment: Strings,
    real: impl FnOnce(Strings) -> c_int,
) -> c_int {
    replace(Reader::new().text(path), || real(for_child(environment)))
}

macro_rules! replaces_image {
    ($($name:ident ($($before:ident : $before_ty:ty)?) path, $environment:expr, $function:ident ($($given:ident),*) $(, $after:ident : $after_ty:ty)?;)*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name(
            $($before: $before_ty,)? path: *const c_char, argv: Strings $(, $given: Strings)* $(, $after: $after_ty)?
        ) -> c_int {
            type Function = unsafe extern "C-unwind" fn(
                $($before_ty,)? *const c_char, Strings, Strings $(, $after_ty)?) -> c_int;
            let Some(real) = real_function!($function as Function) else { return super::missing() };
            // The path is read before the call: a bad pointer must fail in the kernel, not here.
            // SAFETY: the caller's own arguments, with what recording needs in the environment.
            replace(Reader::new().text(path), || unsafe {
                real($($before,)? path, argv, for_child($environment($($given),*)) $(, $after)?)
            })
        }
    )* };
}

unsafe extern "C" {
    static environ: Strings;
}

/// The process's own environment, for functions that are given none.
fn own() -> Strings {
    // SAFETY: libc's variable; whoever changes it while another thread calls exec has a race without us too.
    unsafe { environ }
}

fn given(environment: Strings) -> Strings {
    environment
}

// Functions without an environment among their arguments go on to their twins that have one.
replaces_image! {
    execve () path, given, execve(envp);
    execv () path, own, execve();
    execvp () path, own, execvpe();
    execvpe () path, given, execvpe(envp);
    execveat (dirfd: c_int) path, given, execveat(envp), flags: c_int;
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn fexecve(fd: c_int, argv: Strings, envp: Strings) -> c_int {
    let Some(real) = real_function!(fexecve as unsafe extern "C-unwind" fn(c_int, Strings, Strings) -> c_int)
    else {
        return super::missing();
    };
    // SAFETY: the caller's own arguments, with what recording needs in the environment.
    replace(b"", || unsafe { real(fd, argv, for_child(envp)) })
}

/// execl, execlp and execle take their arguments one by one: they are gathered into an array on the stack, in
/// assembly, since C-variadic functions cannot be defined in Rust, and go on to execv, execvp and execve.
macro_rules! takes_list {
    ($($name:ident => $target:ident;)*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name() -> c_int {
            core::arch::naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                // The words of the list that came in registers; the others lie 16 bytes above rbp.
                "sub rsp, 48",
                "mov [rsp], rsi",
                "mov [rsp + 8], rdx",
                "mov [rsp + 16], rcx",
                "mov [rsp + 24], r8",
                "mov [rsp + 32], r9",
                // r10: how many words, the final null pointer included.
                "xor r10d, r10d",
                "lea r11, [rbp + 16]",
                "20: cmp r10, 5",
                "jae 21f",
                "mov rax, [rsp + r10*8]",
                "jmp 22f",
                "21: mov rax, [r11 + r10*8 - 40]",
                "22: inc r10",
                "test rax, rax",
                "jnz 20b",
                // The word behind it, which is execle's environment, goes into the third argument; the others have two.
                "cmp r10, 5",
                "jae 23f",
                "mov rdx, [rsp + r10*8]",
                "jmp 24f",
                "23: mov rdx, [r11 + r10*8 - 40]",
                "24: mov rsi, rsp",
                "lea rax, [r10*8 + 15]",
                "and rax, -16",
                "sub rsp, rax",
                "xor ecx, ecx",
                "25: cmp rcx, 5",
                "jae 26f",
                "mov rax, [rsi + rcx*8]",
                "jmp 27f",
                "26: mov rax, [r11 + rcx*8 - 40]",
                "27: mov [rsp + rcx*8], rax",
                "inc rcx",
                "cmp rcx, r10",
                "jb 25b",
                "mov rsi, rsp",
                "call {target}",
                "leave",
                "ret",
                target = sym $target,
            )
        }
    )* };
}
takes_list! {
    execl => execv;
    execlp => execvp;
    execle => execve;
}

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
                let text = super::text(path, result != 0);
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
    let Some(address) = INNER_SPAWN.real.address() else { return libc::ENOSYS };
    // SAFETY: the trampoline does what `posix_spawn` does; the caller's own arguments, with what recording needs in the
    // environment.
    unsafe {
        let real = core::mem::transmute::<usize, Spawn>(address);
        real(pid, path, actions, attributes, argv, for_child(envp))
    }
}

#[used]
#[unsafe(link_section = "syn_inners")]
static INNER_SPAWN: crate::real::Inner = crate::real::Inner {
    real: crate::real::Real::new(c"posix_spawn"),
    // SAFETY: only the address is used, as the target of a jump from a function of this type.
    hook: unsafe { core::mem::transmute::<Spawn, crate::real::usize_fn>(inner_spawn) },
};

/// # Safety
/// `status` is null or what the call has filled in.
unsafe fn status(status: *const c_int, result: pid_t) -> i64 {
    // SAFETY: as the caller vouches.
    if result > 0 && !status.is_null() { unsafe { i64::from(*status) } } else { 0 }
}

hooks! {
    Waitpid: wait | __wait (child_status: *mut c_int) -> result: pid_t, [-1, status(child_status, result), 0], [];
    Waitpid: waitpid | __waitpid (pid: pid_t, child_status: *mut c_int, options: c_int) -> result: pid_t,
        [i64::from(pid), status(child_status, result), options as i64], [];
    Waitpid: wait3 (child_status: *mut c_int, options: c_int, usage: *mut c_void) -> result: pid_t,
        [-1, status(child_status, result), options as i64], [];
    Waitpid: wait4 (pid: pid_t, child_status: *mut c_int, options: c_int, usage: *mut c_void) -> result: pid_t,
        [i64::from(pid), status(child_status, result), options as i64], [];
    Waitid: waitid (kind: c_uint, id: c_uint, info: *mut c_void, options: c_int) -> result: c_int,
        [i64::from(kind), i64::from(id), options as i64], [];
    // It is the shell's start that fails where the command cannot be read.
    System quiet: system (command: *const c_char) -> result: c_int, [], [Unread(command)];
}

/// The end of the process: its record stands before it, and the header says that the end was orderly.
pub fn end(code: c_int) {
    super::rings::finish();
    let Some(mut span) = span::enter(Call::Exit, 0) else { return };
    super::mappings::tell_all_touched(&mut span);
    // SAFETY: this thread's state.
    unsafe {
        // A record that is being written was interrupted by the handler that ends the process.
        (*span.state()).give_up_record();
        span::note(&mut *span.state(), Call::Exit, span.began(), &[i64::from(code)], &[]);
        (*span.state()).stop(header::STATE_PROCESS_ENDED);
    }
    span.forget();
}

macro_rules! ends_process {
    ($($name:ident),*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name(code: c_int) -> ! {
            end(code);
            if let Some(real) = real_function!($name as unsafe extern "C-unwind" fn(c_int)) {
                // SAFETY: does not return.
                unsafe { real(code) };
            }
            loop {
                // SAFETY: ends the process.
                unsafe { crate::sys::call(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
            }
        }
    )* };
}
ends_process!(_exit, _Exit);

/// The entry of libc's own `_exit`, which `exit` ends in.
unsafe extern "C-unwind" fn inner_exit(code: c_int) {
    end(code);
    if let Some(address) = INNER_EXIT.real.address() {
        // SAFETY: the trampoline does what `_exit` does.
        unsafe { core::mem::transmute::<usize, unsafe extern "C-unwind" fn(c_int)>(address)(code) };
    }
}

#[used]
#[unsafe(link_section = "syn_inners")]
static INNER_EXIT: crate::real::Inner = crate::real::Inner {
    real: crate::real::Real::new(c"_exit"),
    // SAFETY: only the address is used, as the target of a jump from a function of this type.
    hook: unsafe {
        core::mem::transmute::<unsafe extern "C-unwind" fn(c_int), crate::real::usize_fn>(inner_exit)
    },
};

/// Ends this process's trace when the program returns from `main` and libc's `_exit` could not be detoured.
pub fn end_at_unload() {
    if !crate::detour::in_place() && process::is_recording() {
        end(0);
    }
}

/// The main function's caller in libc, the last one before the program's own code: by now libc has an environment,
/// and the children's entry can be put into it.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn __libc_start_main(
    main: *const c_void,
    argc: c_int,
    argv: *const *const c_char,
    init: *const c_void,
    fini: *const c_void,
    rtld_fini: *const c_void,
    stack_end: *const c_void,
) -> c_int {
    type Function = unsafe extern "C-unwind" fn(
        *const c_void,
        c_int,
        *const *const c_char,
        *const c_void,
        *const c_void,
        *const c_void,
        *const c_void,
    ) -> c_int;
    crate::settings::export();
    let Some(real) = real_function!(__libc_start_main as Function) else { return super::missing() };
    // SAFETY: the caller's own arguments.
    unsafe { real(main, argc, argv, init, fini, rtld_fini, stack_end) }
}
