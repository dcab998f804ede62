//! What the words of a lock say about it: whether a call would wait, and whether somebody waits for it.
//!
//! The words are only read, and without any order: they decide whether a call gets a record, never what it does.
//!
//! Sources, in glibc: `struct_mutex.h`, `struct_rwlock.h`, `thread-shared-types.h` (condition variables),
//! `internaltypes.h` (semaphores), `pthread_rwlock_common.c`, x86-64's `pthread_spin_lock.S`. Mutexes and spin locks
//! have looked like this since there is an x86-64; the other three since release 2.25. That they do in this process is tried
//! on locks of our own before the first look at one of the program's; where they do not, all calls are recorded.

use crate::core::{elf, sys};
use core::ffi::{CStr, c_int};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};

/// Whether the words are what is said here.
static LAYOUT: AtomicU32 = AtomicU32::new(UNTRIED);
const UNTRIED: u32 = 0;
const KNOWN: u32 = 1;
const UNKNOWN: u32 = 2;

/// Where the flags of a condition variable, `__wrefs`, may stand: since release 2.41 two words further in front.
const CONDITION_PLACES: [usize; 2] = [7, 9];
/// Where they stand.
static CONDITION_AT: AtomicU32 = AtomicU32::new(0);

/// True when the words can be read; tried once. To be asked before anything else here.
pub fn is_known() -> bool {
    if LAYOUT.load(Ordering::Relaxed) == UNTRIED {
        // SAFETY: the functions of these names are libc's, and the locks nobody else's.
        let is_known = unsafe { try_all() }.is_some();
        LAYOUT.store(if is_known { KNOWN } else { UNKNOWN }, Ordering::Relaxed);
    }
    LAYOUT.load(Ordering::Relaxed) == KNOWN
}

/// Calls a function of libc; `None` where there is none, or where it fails.
unsafe fn call<T>(name: &CStr, lock: *mut T, second: usize, third: usize) -> Option<()> {
    type Function<T> = unsafe extern "C" fn(*mut T, usize, usize) -> c_int;
    let address = elf::function_of_libc(name)?;
    // SAFETY: the functions that are named below take a lock, and up to two numbers or pointers.
    let result = unsafe { core::mem::transmute::<usize, Function<T>>(address)(lock, second, third) };
    (result == 0).then_some(())
}

/// Locks of each kind, in known states: `None` where the words do not tell of them.
unsafe fn try_all() -> Option<()> {
    let is = |as_said: bool| as_said.then_some(());
    // SAFETY: as the caller vouches; each lock is initialised first, or valid as zeros.
    unsafe {
        let tid = sys::gettid() as u32;
        let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
        let lock = &raw mut mutex;
        is(!mutex_is_taken(lock))?;
        call(c"pthread_mutex_lock", lock, 0, 0)?;
        is(word(lock, mutex::LOCK) == 1 && word(lock, mutex::OWNER) == tid && word(lock, mutex::KIND) == 0)?;
        call(c"pthread_mutex_unlock", lock, 0, 0)?;
        is(!mutex_is_taken(lock))?;

        let mut rwlock = libc::PTHREAD_RWLOCK_INITIALIZER;
        let lock = &raw mut rwlock;
        for (name, writes) in [(c"pthread_rwlock_rdlock", false), (c"pthread_rwlock_wrlock", true)] {
            is(!anybody_is_there(lock) && !writer_is_there(lock))?;
            call(name, lock, 0, 0)?;
            is(anybody_is_there(lock) && writer_is_there(lock) == writes && !rwlock_is_awaited(lock))?;
            call(c"pthread_rwlock_unlock", lock, 0, 0)?;
        }

        let mut attributes = MaybeUninit::<libc::pthread_condattr_t>::zeroed();
        let mut condition = libc::PTHREAD_COND_INITIALIZER;
        let lock = &raw mut condition;
        call(c"pthread_condattr_init", attributes.as_mut_ptr(), 0, 0)?;
        call(c"pthread_condattr_setclock", attributes.as_mut_ptr(), libc::CLOCK_MONOTONIC as usize, 0)?;
        call(c"pthread_cond_init", lock, attributes.as_ptr() as usize, 0)?;
        let place = CONDITION_PLACES.into_iter().find(|&place| word(lock, place) == CONDITION_MONOTONIC)?;
        CONDITION_AT.store(place as u32, Ordering::Relaxed);

        let mut semaphore = MaybeUninit::<libc::sem_t>::zeroed();
        let lock = semaphore.as_mut_ptr();
        call(c"sem_init", lock, 0, 1)?;
        is(!semaphore_is_wanted(lock) && !semaphore_is_awaited(lock))?;
        call(c"sem_wait", lock, 0, 0)?;
        is(semaphore_is_wanted(lock) && !semaphore_is_awaited(lock))?;

        let mut spin_lock: libc::pthread_spinlock_t = 0;
        let lock = &raw mut spin_lock;
        call(c"pthread_spin_init", lock, 0, 0)?;
        is(!spin_lock_is_taken(lock))?;
        call(c"pthread_spin_lock", lock, 0, 0)?;
        is(spin_lock_is_taken(lock))
    }
}

/// The word at `index` of a lock.
#[inline(always)]
unsafe fn word<T>(lock: *const T, index: usize) -> u32 {
    let found: u32;
    // SAFETY: the caller's lock, which the real call reads as well. An instruction of its own, since other threads
    // change the word meanwhile, and since nothing forbids a program to place its locks without alignment.
    unsafe {
        core::arch::asm!("mov {0:e}, dword ptr [{1}]", out(reg) found, in(reg) lock.cast::<u32>().wrapping_add(index),
            options(nostack, preserves_flags, readonly));
    }
    found
}

/// `pthread_mutex_t`.
mod mutex {
    pub const LOCK: usize = 0;
    pub const COUNT: usize = 1;
    pub const OWNER: usize = 2;
    pub const KIND: usize = 4;

    /// The lowest two bits of the kind.
    pub const RECURSIVE: u32 = 1;
    pub const CHECKING: u32 = 2;
    pub const ROBUST: u32 = 16;
    pub const PRIORITY_INHERITING: u32 = 32;
    pub const PRIORITY_PROTECTED: u32 = 64;

    /// Somebody waits, in a lock word that holds the owner's thread id.
    pub const FUTEX_WAITERS: u32 = 1 << 31;
    /// Priority protected mutexes keep their ceiling above these bits of the lock word.
    pub const BELOW_CEILING: u32 = (1 << 19) - 1;
}

/// True when `pthread_mutex_lock` may have to wait: the mutex is taken.
///
/// # Safety
/// `lock` is what the program passes as a mutex.
#[inline(always)]
pub unsafe fn mutex_is_taken<T>(lock: *const T) -> bool {
    // SAFETY: as the caller vouches.
    unsafe { word(lock, mutex::LOCK) != 0 }
}

/// Of a mutex that is taken: true when another thread has it. Not so when only the priority ceiling stands in the
/// word, or when this thread has the mutex and locks it once more (or is told that it must not).
///
/// # Safety
/// As for [`mutex_is_taken`].
pub unsafe fn another_has_mutex<T>(lock: *const T, this_thread: impl FnOnce() -> Option<u32>) -> bool {
    // SAFETY: as the caller vouches.
    unsafe {
        let kind = word(lock, mutex::KIND);
        if kind & mutex::PRIORITY_PROTECTED != 0 && word(lock, mutex::LOCK) & mutex::BELOW_CEILING == 0 {
            return false;
        }
        let asks_for_owner = matches!(kind & 3, mutex::RECURSIVE | mutex::CHECKING);
        !(asks_for_owner && this_thread() == Some(word(lock, mutex::OWNER)))
    }
}

/// True when `pthread_mutex_unlock` may have to wake somebody.
///
/// # Safety
/// As for [`mutex_is_taken`].
#[inline(always)]
pub unsafe fn mutex_may_be_awaited<T>(lock: *const T) -> bool {
    // SAFETY: as the caller vouches.
    unsafe { word(lock, mutex::LOCK) > 1 }
}

/// True when `pthread_mutex_unlock` would ask the kernel to wake somebody. A thread that has waited leaves the mark of
/// a waiter in the word, since it does not know whether it was the only one; so does a wait for a condition.
///
/// # Safety
/// As for [`mutex_is_taken`].
pub unsafe fn mutex_is_awaited<T>(lock: *const T) -> bool {
    // SAFETY: as the caller vouches.
    unsafe {
        let (state, kind) = (word(lock, mutex::LOCK), word(lock, mutex::KIND));
        let waiters = if kind & (mutex::ROBUST | mutex::PRIORITY_INHERITING) != 0 {
            state & mutex::FUTEX_WAITERS != 0
        } else {
            state & mutex::BELOW_CEILING > 1
        };
        waiters && !(kind & 3 == mutex::RECURSIVE && word(lock, mutex::COUNT) > 1)
    }
}

/// Bits of the seventh to tenth word of a condition variable, `__wrefs`: three flags, then the number of waiters.
const CONDITION_FLAGS: u32 = 3;
/// The flag of a condition variable whose times are those of `CLOCK_MONOTONIC`.
const CONDITION_MONOTONIC: u32 = 2;

/// Where the word is; 0, which is another one, while that is not known.
#[inline(always)]
fn condition_references() -> usize {
    CONDITION_AT.load(Ordering::Relaxed) as usize
}

/// True when somebody waits for the condition.
///
/// # Safety
/// `condition` is what the program passes as a condition variable.
#[inline(always)]
pub unsafe fn condition_is_awaited<T>(condition: *const T) -> bool {
    // SAFETY: as the caller vouches.
    unsafe { word(condition, condition_references()) >> CONDITION_FLAGS != 0 }
}

/// The clock of the times that a condition variable is waited for; the default one where that is not known.
///
/// # Safety
/// As for [`condition_is_awaited`].
pub unsafe fn condition_clock<T>(condition: *const T) -> libc::clockid_t {
    // SAFETY: as the caller vouches.
    let monotonic =
        is_known() && unsafe { word(condition, condition_references()) } & CONDITION_MONOTONIC != 0;
    if monotonic { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
}

/// `pthread_rwlock_t`.
mod rwlock {
    /// Flags, and the readers above them.
    pub const READERS: usize = 0;
    /// Writers that wait, of a lock that prefers them.
    pub const WRITERS: usize = 1;
    /// What writers sleep on while another writer has the lock.
    pub const WRITERS_FUTEX: usize = 3;

    /// The lock is, or was last, a writer's.
    pub const WRITE_PHASE: u32 = 1;
    /// A writer has the lock, or waits for the readers to leave.
    pub const WRITE_LOCKED: u32 = 2;
    /// Readers wait for a writer that goes first.
    pub const READERS_WAIT: u32 = 4;
    pub const READER_SHIFT: u32 = 3;
    /// Somebody sleeps on a futex.
    pub const FUTEX_USED: u32 = 2;
}

/// True when a reader may have to wait: a writer has the lock, or wants it.
///
/// # Safety
/// `lock` is what the program passes as a read-write lock.
#[inline(always)]
pub unsafe fn writer_is_there<T>(lock: *const T) -> bool {
    // SAFETY: as the caller vouches.
    unsafe { word(lock, rwlock::READERS) & rwlock::WRITE_LOCKED != 0 }
}

/// True when a writer would have to wait: for readers or for another writer.
///
/// # Safety
/// As for [`writer_is_there`].
#[inline(always)]
pub unsafe fn anybody_is_there<T>(lock: *const T) -> bool {
    // SAFETY: as the caller vouches.
    unsafe { word(lock, rwlock::READERS) & !rwlock::WRITE_PHASE != 0 }
}

/// True when somebody waits for the lock to be given back.
///
/// # Safety
/// As for [`writer_is_there`].
#[inline(always)]
pub unsafe fn rwlock_is_awaited<T>(lock: *const T) -> bool {
    // SAFETY: as the caller vouches.
    let (readers, writers, futex) = unsafe {
        (word(lock, rwlock::READERS), word(lock, rwlock::WRITERS), word(lock, rwlock::WRITERS_FUTEX))
    };
    let held_by_writer = readers & rwlock::WRITE_PHASE != 0;
    let counterpart = if held_by_writer {
        readers >> rwlock::READER_SHIFT != 0
    } else {
        readers & rwlock::WRITE_LOCKED != 0
    };
    counterpart || readers & rwlock::READERS_WAIT != 0 || writers != 0 || futex & rwlock::FUTEX_USED != 0
}

/// True when `sem_wait` would wait: the value, in the lower half of the first 64 bits, is 0. Also when it takes what others
/// wait for, whose number is the upper half: while there are such, all that is taken is on record.
///
/// # Safety
/// `semaphore` is what the program passes as a semaphore.
#[inline(always)]
pub unsafe fn semaphore_is_wanted<T>(semaphore: *const T) -> bool {
    // SAFETY: as the caller vouches.
    unsafe { word(semaphore, 0) == 0 || word(semaphore, 1) != 0 }
}

/// True when `sem_trywait` takes what others wait for.
///
/// # Safety
/// As for [`semaphore_is_wanted`].
#[inline(always)]
pub unsafe fn semaphore_is_left_by_others<T>(semaphore: *const T) -> bool {
    // SAFETY: as the caller vouches.
    unsafe { word(semaphore, 0) != 0 && semaphore_is_awaited(semaphore) }
}

/// True when somebody waits for the semaphore: their number is the upper half.
///
/// # Safety
/// As for [`semaphore_is_wanted`].
#[inline(always)]
pub unsafe fn semaphore_is_awaited<T>(semaphore: *const T) -> bool {
    // SAFETY: as the caller vouches.
    unsafe { word(semaphore, 1) != 0 }
}

/// True when `pthread_spin_lock` would spin. A free lock is 1; each thread that tries takes one off.
///
/// # Safety
/// `lock` is what the program passes as a spin lock.
#[inline(always)]
pub unsafe fn spin_lock_is_taken<T>(lock: *const T) -> bool {
    // SAFETY: as the caller vouches.
    unsafe { word(lock, 0).cast_signed() <= 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This also goes through the libc of each machine that runs the tests.
    #[test]
    fn the_words_of_this_libc_are_known() {
        assert!(is_known());
        assert!(CONDITION_PLACES.contains(&condition_references()));
    }
}
