//! The end of a process, and the beginning of `main`.

use crate::core::{detour, sys};
use crate::hooks::loading::objects;
use crate::hooks::real_function;
use crate::recording::process::{self, settings};
use crate::recording::span::{self, note};
use crate::{io_uring, page_scans};
use core::ffi::{c_char, c_int, c_void};
use syn_trace::calls::Call;
use syn_trace::header;

/// The end of the process: its record stands before it, and the header says that the end was orderly.
#[unsafe(link_section = ".text.startup")]
pub fn end(code: c_int) {
    io_uring::finish();
    let Some(mut span) = span::enter(Call::Exit, 0) else { return };
    objects::tell_late_ones_in(&mut span);
    page_scans::tell_all(&mut span);
    // A record that is being written was interrupted by the handler that ends the process.
    span.state().give_up_record();
    note::write(span.state(), Call::Exit, span.began(), &[i64::from(code)], &[]);
    span.state().stop(header::STATE_PROCESS_ENDED);
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
                unsafe { sys::call(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
            }
        }
    )* };
}
ends_process!(_exit, _Exit);

/// The entry of libc's own `_exit`, which `exit` ends in.
#[unsafe(link_section = ".text.startup")]
unsafe extern "C-unwind" fn inner_exit(code: c_int) {
    end(code);
    if let Some(address) = INNER_EXIT.address() {
        // SAFETY: the trampoline does what `_exit` does.
        unsafe { core::mem::transmute::<usize, unsafe extern "C-unwind" fn(c_int)>(address)(code) };
    }
}

#[used]
#[unsafe(link_section = "syn_inners")]
static INNER_EXIT: crate::core::real::Inner = crate::core::real::Inner::new(
    c"_exit",
    // SAFETY: only the address is used, as the target of a jump from a function of this type.
    unsafe {
        core::mem::transmute::<unsafe extern "C-unwind" fn(c_int), crate::core::real::usize_fn>(inner_exit)
    },
);

/// Ends this process's trace when the program returns from `main` and libc's `_exit` could not be detoured.
pub fn end_at_unload() {
    if !detour::in_place() && process::is_recording() {
        end(0);
    }
}

/// The main function's caller in libc, the last one before the program's own code: by now libc has an environment,
/// and the children's entry can be put into it.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
#[unsafe(link_section = ".text.startup")]
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
    settings::export();
    let Some(real) = real_function!(__libc_start_main as Function) else { return crate::hooks::missing() };
    // SAFETY: the caller's own arguments.
    unsafe { real(main, argc, argv, init, fini, rtld_fini, stack_end) }
}
