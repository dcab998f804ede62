//! Threads: who made them, when they ended, who waited for that.

use super::files::ErrorNumber;
use super::hooks;
use super::sync::ThreadResult;
use crate::core::real::Outcome;
use crate::core::sys;
use crate::recording::process;
use crate::recording::span::{self, note};
use crate::recording::thread::stack::frame_address;
use crate::recording::thread::{self, current, lingering, private_table};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use libc::{pthread_attr_t, pthread_key_t, pthread_t};
use syn_trace::calls::Call;
use syn_trace::header;

type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What a new thread needs to know, and what its creator wants to know of it; taken from a fixed supply, so that no
/// allocator is entered.
///
/// Where the program keeps the thread's handle nobody can know: a detached thread may have given that memory back before its
/// creator returns from `pthread_create`. So the creator looks there only while the thread is held up at its first
/// instruction ([`Birth::handle`]), and otherwise takes what the thread says itself.
struct Birth {
    /// One of the stages below.
    stage: AtomicU32,
    /// What the thread says of itself; counts from [`BORN`] on.
    handle: AtomicUsize,
    routine: AtomicUsize,
    argument: AtomicUsize,
    creator: AtomicU32,
    stack_bytes: AtomicUsize,
}

/// What libc's thrd_create(3) hands to pthread_create(3) in place of attributes.
const C11_ATTRIBUTES: *const pthread_attr_t = core::ptr::without_provenance(usize::MAX);

/// Nobody's.
const FREE: u32 = 0;
/// The creator is in `pthread_create`, or back from it, and the thread has yet to run.
const MAKING: u32 = 1;
/// The thread runs: the creator gives the note back.
const BORN: u32 = 2;
/// The creator looks at the handle in the program's memory: the thread must not go on. It gives the note back.
const LOOKING: u32 = 3;
/// The same, and the thread sleeps.
const AWAITED: u32 = 4;
/// The creator has looked.
const LOOKED: u32 = 5;

/// As many threads as can be on their way from `pthread_create` to their first instruction; beyond that a thread
/// starts without a note of its creator, and its creator's record does not name it.
const BIRTHS: usize = 4096;
static NEXT: AtomicUsize = AtomicUsize::new(0);
#[unsafe(link_section = ".bss.tables")]
static SUPPLY: [Birth; BIRTHS] = [const {
    Birth {
        stage: AtomicU32::new(FREE),
        handle: AtomicUsize::new(0),
        routine: AtomicUsize::new(0),
        argument: AtomicUsize::new(0),
        creator: AtomicU32::new(0),
        stack_bytes: AtomicUsize::new(0),
    }
}; BIRTHS];

impl Birth {
    /// True when this was its stage; if so, it is at the other one now.
    fn advance(&self, from: u32, to: u32) -> bool {
        self.stage.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Gives it back.
    fn release(&self) {
        self.stage.store(FREE, Ordering::Release);
    }

    /// In the creator: the handle of the thread that has been made, which libc has stored at `place`. The last use of the
    /// note. The thread is not waited for; it waits for the few instructions of this.
    ///
    /// # Safety
    /// `pthread_create` has succeeded.
    unsafe fn handle(&self, place: *const pthread_t) -> i64 {
        if !self.advance(MAKING, LOOKING) {
            let handle = self.handle.load(Ordering::Relaxed);
            self.release();
            return handle as i64;
        }
        // SAFETY: libc has written there, and no instruction of the program's has been run by the thread since.
        let handle = unsafe { place.read_volatile() };
        if self.stage.swap(LOOKED, Ordering::AcqRel) == AWAITED {
            self.futex(libc::FUTEX_WAKE, 1);
        }
        handle as i64
    }

    /// In the thread: it runs. The last use of the note.
    fn is_born(&self) {
        // SAFETY: no arguments.
        self.handle.store(unsafe { libc::pthread_self() } as usize, Ordering::Relaxed);
        if self.advance(MAKING, BORN) {
            return;
        }
        // A creator of lower priority on the same processor would never get on if this did not sleep. One that a handler has
        // jumped out of does not come back.
        if self.advance(LOOKING, AWAITED) {
            let mut turns = 0..100;
            while self.stage.load(Ordering::Acquire) == AWAITED {
                if turns.next().is_none() {
                    return;
                }
                self.futex(libc::FUTEX_WAIT, AWAITED);
            }
        }
        self.release();
    }

    /// futex(2) on the stage; a wait ends after 10 ms at the latest.
    fn futex(&self, operation: c_int, value: u32) {
        let operation = operation | libc::FUTEX_PRIVATE_FLAG;
        let most = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        let arguments = [
            self.stage.as_ptr() as usize,
            operation as usize,
            value as usize,
            &raw const most as usize,
            0,
            0,
        ];
        // SAFETY: the word is ours, the time outlives the call.
        unsafe { sys::call(libc::SYS_futex, arguments) };
    }
}

/// The key whose destructor ends a thread's recording; 0 when there is none, so that it is stored plus one.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Makes the key. It must be among the first 32 of the process: libc keeps those without allocating.
#[unsafe(link_section = ".text.startup")]
pub fn prepare() {
    let mut key: pthread_key_t = 0;
    // SAFETY: `key` is valid for writing, the destructor is a function of this library, which is never unloaded.
    if unsafe { libc::pthread_key_create(&mut key, Some(end)) } == 0 && key < 32 {
        KEY.store(key + 1, Ordering::Relaxed);
    }
}

fn take(
    routine: Routine,
    argument: *mut c_void,
    attributes: *const pthread_attr_t,
) -> Option<&'static Birth> {
    let first = NEXT.fetch_add(1, Ordering::Relaxed);
    let birth =
        (0..BIRTHS).map(|step| &SUPPLY[(first + step) % BIRTHS]).find(|birth| birth.advance(FREE, MAKING))?;
    let mut stack_bytes = 8 << 20;
    if !attributes.is_null() && attributes != C11_ATTRIBUTES {
        // SAFETY: the program passes initialised attributes.
        unsafe { libc::pthread_attr_getstacksize(attributes, &mut stack_bytes) };
    }
    birth.routine.store(routine as usize, Ordering::Relaxed);
    birth.argument.store(argument as usize, Ordering::Relaxed);
    // SAFETY: no arguments.
    birth.creator.store(unsafe { sys::gettid() } as u32, Ordering::Relaxed);
    birth.stack_bytes.store(stack_bytes, Ordering::Relaxed);
    Some(birth)
}

/// The first function of every thread that the program makes.
unsafe extern "C-unwind" fn born(birth: *mut c_void) -> *mut c_void {
    // SAFETY: the pointer comes from `take`.
    let birth = unsafe { &*birth.cast::<Birth>() };
    let argument = birth.argument.load(Ordering::Relaxed) as *mut c_void;
    // SAFETY: the address was stored by `take` from a function of this type.
    let routine = unsafe { core::mem::transmute::<usize, Routine>(birth.routine.load(Ordering::Relaxed)) };
    let (creator, stack_bytes) =
        (birth.creator.load(Ordering::Relaxed), birth.stack_bytes.load(Ordering::Relaxed));
    birth.is_born();
    thread::begin(frame_address(), stack_bytes, creator);
    arm();
    // SAFETY: the program's own function and argument.
    unsafe { routine(argument) }
}

/// Has `end` called when this thread ends.
fn arm() {
    let key = KEY.load(Ordering::Relaxed);
    if key != 0 {
        // SAFETY: the key exists; the value counts the rounds of destructors.
        unsafe { libc::pthread_setspecific(key - 1, core::ptr::without_provenance::<c_void>(1)) };
    }
}

/// Records the thread's end, in the third of the (at least four) rounds of destructors: most of what destructors of other libraries
/// do is recorded before it.
unsafe extern "C" fn end(round: *mut c_void) {
    if (round as usize) < 3 {
        // SAFETY: as in `arm`.
        unsafe {
            libc::pthread_setspecific(KEY.load(Ordering::Relaxed) - 1, (round as usize + 1) as *const c_void)
        };
        return;
    }
    leave();
}

/// Puts the end of the thread on record.
pub fn leave() {
    let Some(state) = current::state() else { return };
    sys::without_signals(|| {
        if !state.cursor.get().is_null() && !state.has_ended.replace(true) {
            // A record that is being written was interrupted by a handler that ended the thread.
            state.give_up_record();
            note::write(state, Call::ThreadEnd, 0, &[], &[]);
            state.stop(header::STATE_THREAD_ENDED);
            // SAFETY: nothing of it is used behind this.
            unsafe { lingering::keep(state) };
        }
    });
}

/// Makes a thread by `real`, whose routine and argument may be ours, and which returns 0 on success. `flags` as for
/// [`span::enter`].
///
/// # Safety
/// The arguments are those of `pthread_create`.
#[inline(always)]
unsafe fn create<T: Outcome>(
    flags: syn_trace::record::Flags,
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
    real: impl FnOnce(Routine, *mut c_void) -> T,
) -> T {
    let Some(mut span) = span::enter(Call::PthreadCreate, flags) else { return real(routine, argument) };
    // thrd_create(3) goes through pthread_create(3).
    span.quiet();
    private_table::descriptors_become_shared();
    let birth = process::is_recording().then(|| take(routine, argument, attributes)).flatten();
    let result = match birth {
        Some(birth) => real(born, (&raw const *birth).cast_mut().cast()),
        None => real(routine, argument),
    };
    span.returned();
    let made = result.number() == 0;
    let handle = match birth {
        // SAFETY: the call has succeeded.
        Some(birth) if made => unsafe { birth.handle(thread) },
        Some(birth) => {
            birth.release();
            0
        }
        None => 0,
    };
    span.leave(Call::PthreadCreate, false, result.number(), &[handle], &[], &[]);
    result
}

type Create =
    unsafe extern "C-unwind" fn(*mut pthread_t, *const pthread_attr_t, Routine, *mut c_void) -> ErrorNumber;

#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> ErrorNumber {
    let Some(address) = super::real!(pthread_create).address() else { return ErrorNumber::MISSING };
    // SAFETY: the function behind this name has this type; it gets the caller's own arguments, but for the routine,
    // which `born` calls in its turn.
    unsafe {
        let real = core::mem::transmute::<usize, Create>(address);
        create(0, thread, attributes, routine, argument, |routine, argument| {
            real(thread, attributes, routine, argument)
        })
    }
}

/// The entry of libc's own `pthread_create`: libc makes threads for asynchronous I/O and timers, and allocators find it
/// past all preloaded libraries.
unsafe extern "C-unwind" fn inner_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> ErrorNumber {
    let Some(address) = INNER_CREATE.address() else { return ErrorNumber::MISSING };
    // SAFETY: as in `pthread_create`; the trampoline does what the function of this name does.
    unsafe {
        let real = core::mem::transmute::<usize, Create>(address);
        create(syn_trace::record::INNER, thread, attributes, routine, argument, |routine, argument| {
            real(thread, attributes, routine, argument)
        })
    }
}

#[used]
#[unsafe(link_section = "syn_inners")]
static INNER_CREATE: crate::core::real::Inner = crate::core::real::Inner::new(
    c"pthread_create",
    // SAFETY: only the address is used, as the target of a jump from a function of this type.
    unsafe { core::mem::transmute::<Create, crate::core::real::usize_fn>(inner_create) },
);

/// C11's routines return an `int`, which libc takes from the same register as a pointer.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe extern "C-unwind" fn thrd_create(
    thread: *mut pthread_t,
    routine: Routine,
    argument: *mut c_void,
) -> ThreadResult {
    type Function = unsafe extern "C-unwind" fn(*mut pthread_t, Routine, *mut c_void) -> ThreadResult;
    let Some(address) = super::real!(thrd_create).address() else { return ThreadResult::MISSING };
    // SAFETY: as in `pthread_create`.
    unsafe {
        let real = core::mem::transmute::<usize, Function>(address);
        create(0, thread, core::ptr::null(), routine, argument, |routine, argument| {
            real(thread, routine, argument)
        })
    }
}

hooks! {
    PthreadJoin: pthread_join (thread: pthread_t, value: *mut *mut c_void) -> error: ErrorNumber, [thread as i64], [];
    PthreadJoin: pthread_tryjoin_np (thread: pthread_t, value: *mut *mut c_void) -> error: ErrorNumber, [thread as i64], [];
    PthreadJoin: pthread_timedjoin_np
        (thread: pthread_t, value: *mut *mut c_void, until: *const libc::timespec) -> error: ErrorNumber, [thread as i64], [];
    PthreadJoin: pthread_clockjoin_np
        (thread: pthread_t, value: *mut *mut c_void, clock: libc::clockid_t, until: *const libc::timespec) -> error: ErrorNumber,
        [thread as i64], [];
    PthreadJoin: thrd_join (thread: pthread_t, value: *mut c_int) -> result: ThreadResult, [thread as i64], [];
    PthreadDetach: thrd_detach (thread: pthread_t) -> result: ThreadResult, [thread as i64], [];
    PthreadDetach: pthread_detach (thread: pthread_t) -> error: ErrorNumber, [thread as i64], [];
}
