//! The hooks, one line per call, one file per family.
//!
//! A line of [`hooks!`] reads
//!
//! ```text
//! Call: exported | names + libc_internal | names (arg: type, …) -> result: type, [integers], [texts], list;
//! ```
//!
//! The list may be left out. Everything behind the result is evaluated after the real call; a block may stand in place
//! of the integers. Texts are pointers to C strings, which after a failure are read only where there is something to
//! read, or whatever else is a [`Text`]. `Call quiet:` marks functions that do their work through others of this list,
//! which are not to be recorded a second time. The names behind `+` are entries of libc that get a detour: calls that
//! libc makes itself are recorded with the flag `INNER`. There is no second list: the names, with the addresses behind
//! them, stand in two linker sections that [`crate::core::real`] walks.
//!
//! Behind the arguments, `[name = expression]` is evaluated before the real call, for what the call overwrites; behind
//! the list, `, then expression` once the record stands, for further ones. `__f_chk` functions stand in [`checked!`], those
//! that do no more than one system call in [`system_calls!`].

pub mod aio;
pub mod attributes;
pub mod by_number;
pub mod confinement;
pub mod control;
pub mod decoded;
pub mod directories;
pub mod event_descriptors;
pub mod files;
pub mod handlers;
pub mod ipc;
pub mod jumps;
pub mod libaio;
pub mod loading;
pub mod mappings;
pub mod messages;
pub mod metadata;
pub mod mpi;
mod mpi_presence;
pub mod polling;
pub mod processes;
pub mod signals;
pub mod sleeps;
pub mod sockets;
mod status;
pub mod stdio;
pub mod sync;
mod texts;
pub mod threads;
pub mod trampolines;
pub mod transfers;

pub use status::{opened_status, status_of};
pub use texts::{Text, Unread, WrittenOver, tells_that_it_was_read, text, unread_text};

/// Declares a function's place behind ours, and registers it.
macro_rules! real {
    ($name:ident) => {{
        const NAME: &core::ffi::CStr =
            match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a function's name holds no zero byte"),
            };
        #[used]
        #[unsafe(link_section = "syn_reals")]
        static PLACE: $crate::core::real::Place = $crate::core::real::Place::new();
        $crate::core::real::Real::new(&PLACE, NAME)
    }};
}
pub(crate) use real;

/// The function behind ours, as a function of that type.
macro_rules! real_function {
    ($name:ident as $function:ty) => {
        $crate::hooks::real!($name).address().map(|address| {
            // SAFETY: the function behind this name has this type.
            unsafe { core::mem::transmute::<usize, $function>(address) }
        })
    };
}
pub(crate) use real_function;

macro_rules! hooks {
    // One function, under each name that programs call it by.
    (@outer $sig:tt $ret:ty, $body:tt [$($name:ident)+]) => {
        $( $crate::hooks::hooks!(@exported $name $sig $ret, $body); )+
    };
    (@exported $name:ident ($($arg:ident : $ty:ty),*) $ret:ty, $body:tt) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
            type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
            let Some(address) = $crate::hooks::real!($name).address() else {
                return $crate::hooks::missing();
            };
            // SAFETY: the function behind this name has this type; it gets the caller's own arguments.
            let real: Function = unsafe { core::mem::transmute::<usize, Function>(address) };
            $crate::hooks::hooks!(@body real 0, ($($arg),*) $body)
        }
    };
    // The same, as libc calls it.
    (@inner $sig:tt $ret:ty, $body:tt [$($name:ident)*]) => {
        $( $crate::hooks::hooks!(@detoured $name $sig $ret, $body); )*
    };
    (@detoured $name:ident ($($arg:ident : $ty:ty),*) $ret:ty, $body:tt) => {
        const _: () = {
            const NAME: &core::ffi::CStr =
                match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a function's name holds no zero byte"),
                };
            type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
            unsafe extern "C-unwind" fn hook($($arg: $ty),*) -> $ret {
                let Some(address) = INNER.address() else {
                    return $crate::hooks::missing();
                };
                // SAFETY: the trampoline does what the function of this name does.
                let real: Function = unsafe { core::mem::transmute::<usize, Function>(address) };
                $crate::hooks::hooks!(@body real syn_trace::record::INNER, ($($arg),*) $body)
            }
            #[used]
            #[unsafe(link_section = "syn_inners")]
            static INNER: $crate::core::real::Inner = $crate::core::real::Inner::new(
                NAME,
                // SAFETY: only the address is used, as the target of a jump from the function with this type.
                unsafe { core::mem::transmute::<Function, $crate::core::real::usize_fn>(hook) },
            );
        };
    };
    // What a line of `system_calls!` does.
    (@body $real:ident $flags:expr, ($($arg:ident),*) [decode $number:ident $ret:ty]) => {
        $crate::hooks::decoded::decoded::<{ libc::$number }>(
            $flags,
            $crate::hooks::words([$($crate::hooks::Word::word($arg)),*]),
            // SAFETY: the caller's own arguments.
            || unsafe { $real($($arg),*) } as core::ffi::c_long,
        ) as $ret
    };
    // What a line of `hooks!` does.
    (@body $real:ident $flags:expr, ($($arg:ident),*) [record $call:ident [$($quiet:ident)?] [$($(|$with:ident|)? $before:ident = $value:expr)?] $result:ident $numbers:tt [$($text:expr),*] [$($list:expr $(, then $after:expr)?)?]]) => {{
        let Some(mut span) = $crate::recording::span::enter(syn_trace::calls::Call::$call, $flags) else {
            // SAFETY: the caller's own arguments.
            return unsafe { $real($($arg),*) };
        };
        $( $( let $with = &mut span; )? let $before = $value; )?
        $( span.$quiet(); )?
        // SAFETY: the caller's own arguments.
        let $result = unsafe { $real($($arg),*) };
        span.returned();
        let failed = $crate::core::real::Outcome::failed($result);
        let outcome = if failed { $crate::recording::span::errno() } else { $crate::core::real::Outcome::number($result) };
        // SAFETY: pointers are read only where the real call has read or written them.
        #[allow(unused_unsafe)]
        #[allow(unused)]
        unsafe {
            let is_only = <[&str]>::len(&[$(stringify!($text)),*]) == 1;
            let was_read = !failed || is_only && $crate::hooks::tells_that_it_was_read(outcome);
            let mut index = 0;
            span.leave(syn_trace::calls::Call::$call, failed, outcome, &$numbers,
                &[$($crate::hooks::Text::bytes(&$text, was_read, &span, { index += 1; index - 1 })),*],
                $crate::hooks::hooks!(@list $($list)?));
            $( $( $after; )? )?
        }
        $result
    }};
    (@list) => { &[] };
    (@list $list:expr) => { $list };
    ($( $call:ident $($quiet:ident)? : $($name:ident)|+ $(+ $($inner:ident)|+)? ($($sig:tt)*) $([$($before:tt)*])? -> $result:ident : $ret:ty, $numbers:tt, $texts:tt $(, $list:expr $(, then $after:expr)?)?; )*) => { $(
        $crate::hooks::hooks!(@outer ($($sig)*) $ret, [record $call [$($quiet)?] [$($($before)*)?] $result $numbers $texts [$($list $(, then $after)?)?]] [$($name)+]);
        $crate::hooks::hooks!(@inner ($($sig)*) $ret, [record $call [$($quiet)?] [$($($before)*)?] $result $numbers $texts [$($list $(, then $after)?)?]] [$($($inner)+)?]);
    )* };
}
pub(crate) use hooks;

/// Functions that do what one system call does, with the same arguments: `SYS_number: exported | names + libc_internal | names
/// (arg: type, …) -> type;`. What they are recorded as [`syn_trace::system_calls`] tells, whoever makes the call.
macro_rules! system_calls {
    ($( $number:ident : $($name:ident)|+ $(+ $($inner:ident)|+)? ($($sig:tt)*) -> $ret:ty; )*) => { $(
        $crate::hooks::hooks!(@outer ($($sig)*) $ret, [decode $number $ret] [$($name)+]);
        $crate::hooks::hooks!(@inner ($($sig)*) $ret, [decode $number $ret] [$($($inner)+)?]);
    )* };
}
pub(crate) use system_calls;

/// An argument of a function, as a system call takes it.
pub trait Word {
    /// It, in a register.
    fn word(self) -> usize;
}

macro_rules! words {
    ($($type:ty),*) => { $(
        impl Word for $type {
            #[inline(always)]
            fn word(self) -> usize {
                self as usize
            }
        }
    )* };
}
words!(i32, u32, usize, u64);

impl<T> Word for *const T {
    #[inline(always)]
    fn word(self) -> usize {
        self as usize
    }
}

impl<T> Word for *mut T {
    #[inline(always)]
    fn word(self) -> usize {
        self as usize
    }
}

/// The arguments of a system call; there are six, of which some are not used.
#[inline(always)]
pub fn words<const N: usize>(arguments: [usize; N]) -> [usize; 6] {
    let mut all = [0; 6];
    all[..N].copy_from_slice(&arguments);
    all
}

/// `__f_chk` functions: `Call: __f_chk (arguments) if fits => f (its arguments) -> …`, the rest as in [`hooks!`], or
/// `SYS_number: …` as in [`system_calls!`].
///
/// Where the program's buffer is large enough they do nothing but call `f`, and that is what is called and recorded
/// here: once, whether or not `f` has a detour. Where it is not, libc's own function ends the program.
macro_rules! checked {
    (@one $name:ident ($($arg:ident : $ty:ty),*) $fits:expr, $plain:ident ($($own:ident : $own_ty:ty),*) $ret:ty, $body:tt) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
            type Checked = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
            type Plain = unsafe extern "C-unwind" fn($($own_ty),*) -> $ret;
            let (Some(checked), Some(plain)) = ($crate::hooks::real!($name).address(), $crate::hooks::real!($plain).address())
            else {
                return $crate::hooks::missing();
            };
            if !$fits {
                // SAFETY: the function behind this name has this type; it gets the caller's own arguments.
                return unsafe { core::mem::transmute::<usize, Checked>(checked)($($arg),*) };
            }
            // SAFETY: as above.
            let real: Plain = unsafe { core::mem::transmute::<usize, Plain>(plain) };
            $crate::hooks::hooks!(@body real 0, ($($own),*) $body)
        }
    };
    ($( $number:ident : $name:ident ($($sig:tt)*) if $fits:expr => $plain:ident ($($own:tt)*) -> $ret:ty; )+) => { $(
        $crate::hooks::checked!(@one $name ($($sig)*) $fits, $plain ($($own)*) $ret, [decode $number $ret]);
    )+ };
    ($( $call:ident : $name:ident ($($sig:tt)*) if $fits:expr => $plain:ident ($($own:tt)*) $([$($before:tt)*])? -> $result:ident : $ret:ty, $numbers:tt, $texts:tt $(, $list:expr)?; )+) => { $(
        $crate::hooks::checked!(@one $name ($($sig)*) $fits, $plain ($($own)*) $ret, [record $call [] [$($($before)*)?] $result $numbers $texts [$($list)?]]);
    )+ };
}
pub(crate) use checked;

/// A hooked function that no library has: the program cannot have been linked against it either.
#[cold]
pub fn missing<T: crate::core::real::Outcome>() -> T {
    // SAFETY: libc gives every thread an errno.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    T::MISSING
}
