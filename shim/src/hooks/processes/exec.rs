//! Processes that become another program.

use crate::hooks::loading::objects;
use crate::hooks::{real_function, unread_text};
use crate::recording::environment::{Strings, for_child, own};
use crate::recording::span::{self, note};
use crate::recording::vfork_child;
use crate::{io_uring, page_scans};
use core::ffi::{c_char, c_int};
use syn_trace::calls::Call;
use syn_trace::header;

/// Runs `real`, which replaces the process image if it succeeds: the record stands before it, and a second one
/// follows if it comes back.
///
/// The path is read before the call: a bad pointer must fail in the kernel, not here.
#[unsafe(link_section = ".text.startup")]
fn replace(path: *const c_char, real: impl FnOnce() -> c_int) -> c_int {
    io_uring::finish();
    let Some(mut span) = span::enter(Call::Execve, 0) else {
        vfork_child::note_path(path);
        let result = real();
        vfork_child::note_failure(span::errno());
        return result;
    };
    objects::tell_late_ones_in(&mut span);
    page_scans::tell_all(&mut span);
    let path = unread_text(path, &span, 0);
    note::write(span.state(), Call::Execve, span.began(), &[], &[path]);
    span.state().stop(header::STATE_PROCESS_ENDED);
    let result = real();
    span.returned();
    span.state().replacement_failed();
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
    replace(path, || real(for_child(environment)))
}

macro_rules! replaces_image {
    ($($name:ident ($($before:ident : $before_ty:ty)?) path, $environment:expr, $function:ident ($($given:ident),*) $(, $after:ident : $after_ty:ty)?;)*) => { $(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(link_section = ".text.startup")]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name(
            $($before: $before_ty,)? path: *const c_char, argv: Strings $(, $given: Strings)* $(, $after: $after_ty)?
        ) -> c_int {
            let Some(real) = behind::$function() else { return crate::hooks::missing() };
            // SAFETY: the caller's own arguments, with what recording needs in the environment.
            replace(path, || unsafe {
                real($($before,)? path, argv, for_child($environment($($given),*)) $(, $after)?)
            })
        }
    )* };
}

/// The functions behind ours, each looked up in one place.
mod behind {
    use super::{Strings, c_char, c_int, real_function};

    macro_rules! behind {
        ($($name:ident: $function:ty;)*) => { $(
            pub fn $name() -> Option<$function> {
                real_function!($name as $function)
            }
        )* };
    }
    behind! {
        execve: unsafe extern "C-unwind" fn(*const c_char, Strings, Strings) -> c_int;
        execvpe: unsafe extern "C-unwind" fn(*const c_char, Strings, Strings) -> c_int;
        execveat: unsafe extern "C-unwind" fn(c_int, *const c_char, Strings, Strings, c_int) -> c_int;
    }
}

/// Before a fork: most children call exec, and each of them would look it up.
pub fn look_up() {
    let _ = behind::execve();
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
        return crate::hooks::missing();
    };
    // SAFETY: the caller's own arguments, with what recording needs in the environment.
    replace(core::ptr::null(), || unsafe { real(fd, argv, for_child(envp)) })
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
