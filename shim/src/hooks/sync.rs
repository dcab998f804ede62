//! Waiting of threads for each other. Only what may have waited, and what may have ended a wait, has a record: a lock
//! that is free costs a look at its first word ([`super::lock_words`]).
//!
//! | call | recorded |
//! |---|---|
//! | `pthread_mutex_lock`, `_timedlock`, `_clocklock`, `mtx_lock`, `mtx_timedlock` | when another thread has the mutex at entry |
//! | `pthread_mutex_unlock`, `mtx_unlock` | when somebody waits for it at entry, or its owner had to wait for it itself, and this unlock gives it back |
//! | `pthread_cond_wait`, `_timedwait`, `_clockwait`, `cnd_wait`, `cnd_timedwait` | always; it also gives back the mutex when it begins |
//! | `pthread_cond_signal`, `_broadcast`, `cnd_signal`, `cnd_broadcast` | when somebody waits for it at entry |
//! | `pthread_rwlock_rdlock`, `_timedrdlock`, `_clockrdlock` | when a writer has the lock, or waits for it, at entry |
//! | `pthread_rwlock_wrlock`, `_timedwrlock`, `_clockwrlock` | when anybody has the lock at entry |
//! | `pthread_rwlock_unlock` | when somebody waits for it at entry |
//! | `pthread_barrier_wait` | always |
//! | `sem_wait`, `sem_timedwait`, `sem_clockwait` | when the value is 0 at entry, or somebody waits |
//! | `sem_trywait` | when the value is not 0 at entry, and somebody waits |
//! | `sem_post` | when somebody waits at entry |
//! | `pthread_spin_lock` | when it is taken at entry; nothing tells whether others spin when it is given back |
//! | every other `try` form, initialising, destroying, `pthread_once`, `call_once` | never: none of them waits for another thread's lock |
//!
//! A look at entry can be out of date by the time of the call, for some nanoseconds: a lock that was free may be taken
//! in between, and then the wait is time without CPU time in front of the thread's next record; a lock for which
//! nobody waited may get its first waiter in between, and then that one's record has no counterpart.
//!
//! libc's own locks (streams, `malloc`, the loader) do not pass through these functions. Symbols with several versions
//! are taken in their default one ([`crate::core::elf`]): `pthread_cond_*` of glibc 2.3.2, not those of 2.2.5, which no
//! program for x86-64 built since 2003 asks for.

use super::files::ErrorNumber;
use super::hooks;
use crate::core::lock_words::{self, mutex_is_awaited};
use crate::core::real::{Outcome, Real};
use crate::recording::span;
use crate::recording::thread::current;
use core::ffi::{c_int, c_void};
use libc::{clockid_t, timespec};
use syn_trace::calls::Call;
use syn_trace::system_calls::nanoseconds;

/// Hooks that make a record only when `test` of [`lock_words`] says so of the first argument, and `exact` as well where
/// there is one: `Call test [exact]: names (arguments) -> result, [integers]`. The other way through is two loads, two
/// comparisons and a jump; the record is made in a function of its own, so that it costs no registers.
macro_rules! only_if {
    ($( $call:ident $test:ident $([$exact:ident])? : $($name:ident)|+ ($($sig:tt)*) -> $result:ident : $ret:ty, $numbers:tt; )*) => { $(
        only_if!(@each $call $test [$($exact)?] ($($sig)*) ($result: $ret) $numbers [$($name)+]);
    )* };
    (@each $call:ident $test:ident $exact:tt $sig:tt ($result:ident : $ret:ty) $numbers:tt [$($name:ident)+]) => { $(
        only_if!(@one $name $call $test $exact $sig ($result: $ret) $numbers);
    )+ };
    (@one $name:ident $call:ident $test:ident [$($exact:ident)?] ($first:ident : $first_ty:ty $(, $arg:ident : $ty:ty)*) ($result:ident : $ret:ty) $numbers:tt) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub unsafe extern "C-unwind" fn $name($first: $first_ty $(, $arg: $ty)*) -> $ret {
            type Function = unsafe extern "C-unwind" fn($first_ty $(, $ty)*) -> $ret;
            #[cold]
            #[inline(never)]
            unsafe fn recorded($first: $first_ty $(, $arg: $ty)*, real: Real) -> $ret {
                // First: the address, once it is known, says that the words are.
                let is_known = lock_words::is_known();
                let Some(address) = real.address() else { return super::missing() };
                // SAFETY: the function behind this name has this type; the lock's words are read as it will read them.
                let (real, is_wanted) = unsafe {
                    if !is_known {
                        real.forget(); // The words of the next lock are not to be trusted either.
                    }
                    let is_wanted = !is_known || lock_words::$test($first) $( && $exact($first) )?;
                    (core::mem::transmute::<usize, Function>(address), is_wanted)
                };
                let entered = if is_wanted { span::enter(Call::$call, 0) } else { None };
                let Some(mut span) = entered else {
                    // SAFETY: the caller's own arguments.
                    return unsafe { real($first $(, $arg)*) };
                };
                // SAFETY: as above.
                let $result = unsafe { real($first $(, $arg)*) };
                span.returned();
                let failed = $result.failed();
                let outcome = if failed { span::errno() } else { $result.number() };
                // SAFETY: pointers are read only where the real call has read them.
                #[allow(unused_unsafe)]
                let numbers = unsafe { $numbers };
                span.leave(Call::$call, failed, outcome, &numbers, &[], &[]);
                $result
            }
            let real = super::real!($name);
            // SAFETY: as above, and the function gets the caller's own arguments.
            unsafe {
                match real.known() {
                    Some(address) if !lock_words::$test($first) => {
                        core::mem::transmute::<usize, Function>(address)($first $(, $arg)*)
                    }
                    _ => recorded($first $(, $arg)*, real),
                }
            }
        }
    };
}

/// Of a mutex that is taken: true when another thread has it.
///
/// # Safety
/// As for [`lock_words::another_has_mutex`].
unsafe fn another_has_mutex(lock: Lock) -> bool {
    // SAFETY: as the caller vouches.
    unsafe { lock_words::another_has_mutex(lock, current::thread_id) }
}

/// The result of C11's functions (`thrd_success` …), recorded as the error number that it stands for.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct ThreadResult(c_int);

impl Outcome for ThreadResult {
    /// `thrd_error`.
    const MISSING: ThreadResult = ThreadResult(2);
    #[inline(always)]
    fn failed(self) -> bool {
        false
    }
    /// Those of glibc's `<threads.h>`; `thrd_error` stands for all that have no name there.
    fn number(self) -> i64 {
        i64::from(match self.0 {
            0 => 0,
            1 => libc::EBUSY,
            3 => libc::ENOMEM,
            4 => libc::ETIMEDOUT,
            _ => libc::EINVAL,
        })
    }
}

/// A time that a wait has had to read, nanoseconds; 0 where it may not have done so.
///
/// # Safety
/// With a result of 0 or ETIMEDOUT, `time` is null or valid.
unsafe fn until(time: *const timespec, result: i64) -> i64 {
    if time.is_null() || (result != 0 && result != i64::from(libc::ETIMEDOUT)) {
        return 0;
    }
    // SAFETY: as the caller vouches.
    unsafe { nanoseconds(*time) }
}

/// As [`until`], for the functions that set errno.
///
/// # Safety
/// As there.
unsafe fn until_or_errno(time: *const timespec, result: c_int) -> i64 {
    // SAFETY: as the caller vouches.
    unsafe { until(time, if result == 0 { 0 } else { span::errno() }) }
}

/// The clock of a condition variable; asked before the wait, since it may be gone behind it.
fn clock_of(condition: Lock) -> clockid_t {
    // SAFETY: the real call reads the same word.
    unsafe { lock_words::condition_clock(condition) }
}

/// A mutex, condition, read-write lock, barrier, semaphore or spin lock; what is inside is libc's business.
type Lock = *mut c_void;

only_if! {
    MutexLock mutex_is_taken [another_has_mutex]: pthread_mutex_lock | __pthread_mutex_lock (mutex: Lock) -> error: ErrorNumber, [mutex as i64];
    MutexLock mutex_is_taken [another_has_mutex]: mtx_lock (mutex: Lock) -> result: ThreadResult, [mutex as i64];
    MutexTimedlock mutex_is_taken [another_has_mutex]: pthread_mutex_timedlock (mutex: Lock, time: *const timespec) -> error: ErrorNumber,
        [mutex as i64, until(time, error.number())];
    MutexTimedlock mutex_is_taken [another_has_mutex]: pthread_mutex_clocklock
        (mutex: Lock, clock: clockid_t, time: *const timespec) -> error: ErrorNumber,
        [mutex as i64, until(time, error.number())];
    MutexTimedlock mutex_is_taken [another_has_mutex]: mtx_timedlock (mutex: Lock, time: *const timespec) -> result: ThreadResult,
        [mutex as i64, until(time, result.number())];
    MutexUnlock mutex_may_be_awaited [mutex_is_awaited]: pthread_mutex_unlock | __pthread_mutex_unlock (mutex: Lock) -> error: ErrorNumber,
        [mutex as i64];
    MutexUnlock mutex_may_be_awaited [mutex_is_awaited]: mtx_unlock (mutex: Lock) -> result: ThreadResult, [mutex as i64];

    CondSignal condition_is_awaited: pthread_cond_signal (condition: Lock) -> error: ErrorNumber, [condition as i64];
    CondSignal condition_is_awaited: cnd_signal (condition: Lock) -> result: ThreadResult, [condition as i64];
    CondBroadcast condition_is_awaited: pthread_cond_broadcast (condition: Lock) -> error: ErrorNumber, [condition as i64];
    CondBroadcast condition_is_awaited: cnd_broadcast (condition: Lock) -> result: ThreadResult, [condition as i64];

    RwlockRdlock writer_is_there: pthread_rwlock_rdlock | __pthread_rwlock_rdlock (lock: Lock) -> error: ErrorNumber,
        [lock as i64];
    RwlockRdlock writer_is_there: pthread_rwlock_timedrdlock (lock: Lock, time: *const timespec) -> error: ErrorNumber,
        [lock as i64];
    RwlockRdlock writer_is_there: pthread_rwlock_clockrdlock
        (lock: Lock, clock: clockid_t, time: *const timespec) -> error: ErrorNumber, [lock as i64];
    RwlockWrlock anybody_is_there: pthread_rwlock_wrlock | __pthread_rwlock_wrlock (lock: Lock) -> error: ErrorNumber,
        [lock as i64];
    RwlockWrlock anybody_is_there: pthread_rwlock_timedwrlock (lock: Lock, time: *const timespec) -> error: ErrorNumber,
        [lock as i64];
    RwlockWrlock anybody_is_there: pthread_rwlock_clockwrlock
        (lock: Lock, clock: clockid_t, time: *const timespec) -> error: ErrorNumber, [lock as i64];
    RwlockUnlock rwlock_is_awaited: pthread_rwlock_unlock | __pthread_rwlock_unlock (lock: Lock) -> error: ErrorNumber,
        [lock as i64];

    SemWait semaphore_is_wanted: sem_wait (semaphore: Lock) -> result: c_int, [semaphore as i64];
    SemWait semaphore_is_left_by_others: sem_trywait (semaphore: Lock) -> result: c_int, [semaphore as i64];
    SemTimedwait semaphore_is_wanted: sem_timedwait (semaphore: Lock, time: *const timespec) -> result: c_int,
        [semaphore as i64, until_or_errno(time, result)];
    SemTimedwait semaphore_is_wanted: sem_clockwait
        (semaphore: Lock, clock: clockid_t, time: *const timespec) -> result: c_int,
        [semaphore as i64, until_or_errno(time, result)];
    SemPost semaphore_is_awaited: sem_post (semaphore: Lock) -> result: c_int, [semaphore as i64];

    SpinLock spin_lock_is_taken: pthread_spin_lock (lock: Lock) -> error: ErrorNumber, [lock as i64];
}

hooks! {
    CondWait: pthread_cond_wait (condition: Lock, mutex: Lock) -> error: ErrorNumber, [condition as i64, mutex as i64], [];
    CondWait: cnd_wait (condition: Lock, mutex: Lock) -> result: ThreadResult, [condition as i64, mutex as i64], [];
    CondTimedwait: pthread_cond_timedwait (condition: Lock, mutex: Lock, time: *const timespec)
        [clock = clock_of(condition)] -> error: ErrorNumber,
        [condition as i64, mutex as i64, i64::from(clock), until(time, error.number())], [];
    CondTimedwait: pthread_cond_clockwait
        (condition: Lock, mutex: Lock, clock: clockid_t, time: *const timespec) -> error: ErrorNumber,
        [condition as i64, mutex as i64, i64::from(clock), until(time, error.number())], [];
    CondTimedwait: cnd_timedwait (condition: Lock, mutex: Lock, time: *const timespec)
        [clock = clock_of(condition)] -> result: ThreadResult,
        [condition as i64, mutex as i64, i64::from(clock), until(time, result.number())], [];
    BarrierWait: pthread_barrier_wait (barrier: Lock) -> error: ErrorNumber, [barrier as i64], [];
}
