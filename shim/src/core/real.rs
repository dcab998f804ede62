//! The functions behind ours.

use crate::core::{detour, elf};
use core::ffi::{CStr, c_int, c_long};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Where the address of a function behind ours is kept once it has been looked up.
///
/// These lie close together, apart from the names: each page that is written to is then the process's own.
#[repr(transparent)]
pub struct Place(AtomicUsize);

/// A function that one of our exported symbols hides.
#[derive(Clone, Copy)]
pub struct Real {
    place: &'static Place,
    name: &'static CStr,
}

/// True once a function was looked up.
static ANY_FOUND: AtomicBool = AtomicBool::new(false);

/// In the place of a function that is nowhere to be found.
const MISSING: usize = 1;

impl Place {
    /// For a function that has not been looked up.
    pub const fn new() -> Place {
        Place(AtomicUsize::new(0))
    }

    #[inline(always)]
    fn known(&self) -> Option<usize> {
        let address = self.0.load(Ordering::Relaxed);
        (address > MISSING).then_some(address)
    }

    #[inline(always)]
    fn address(&self, name: impl FnOnce() -> &'static CStr) -> Option<usize> {
        let address = self.0.load(Ordering::Relaxed);
        if address > MISSING { Some(address) } else { self.find(address, name()) }
    }

    #[cold]
    #[unsafe(link_section = ".text.startup")]
    fn find(&self, known: usize, name: &CStr) -> Option<usize> {
        if known == MISSING {
            return None;
        }
        let found = elf::function_started_with(name).map(detour::behind);
        self.0.store(found.unwrap_or(MISSING), Ordering::Relaxed);
        ANY_FOUND.store(true, Ordering::Relaxed);
        found
    }

    /// Detours have been placed: a function that was looked up before goes on behind its own.
    fn redirect(&self) {
        if let Some(address) = self.known() {
            self.0.store(detour::behind(address), Ordering::Relaxed);
        }
    }
}

impl Real {
    /// The place is registered by the macro that declares the hook.
    pub const fn new(place: &'static Place, name: &'static CStr) -> Real {
        Real { place, name }
    }

    /// Its name.
    pub fn name(self) -> &'static CStr {
        self.name
    }

    /// Its address, if it has been looked up and is there.
    #[inline(always)]
    pub fn known(self) -> Option<usize> {
        self.place.known()
    }

    /// It is to be looked up again: [`Real::known`] says no more what it is.
    pub fn forget(self) {
        self.place.0.store(0, Ordering::Relaxed);
    }

    /// Its address; `None` if no loaded library has it.
    #[inline(always)]
    pub fn address(self) -> Option<usize> {
        self.place.address(|| self.name)
    }

    /// The same where others patch the function while the program runs: they are to be called.
    #[inline(always)]
    pub fn present_address(self) -> Option<usize> {
        self.address().map(detour::present)
    }
}

/// Room for the name of a detoured function and its final zero.
const NAME_BYTES: usize = 24;

const NO_NUMBER: c_int = -1;

/// A function of libc whose entry is to be detoured, so that libc's own calls are seen too. It holds its name, not a pointer
/// to it: pointers must be set when a library is loaded, in each process.
#[repr(C)]
pub struct Inner {
    /// The function; its address becomes the trampoline.
    place: Place,
    /// What its entry is to jump to.
    pub hook: usize_fn,
    /// The system call that is all it does, or [`NO_NUMBER`].
    number: c_int,
    name: [u8; NAME_BYTES],
}

impl Inner {
    /// For a static in the section of these.
    pub const fn new(name: &CStr, hook: usize_fn) -> Inner {
        let bytes = name.to_bytes_with_nul();
        let mut own = [0; NAME_BYTES];
        own.split_at_mut(bytes.len()).0.copy_from_slice(bytes);
        Inner { place: Place::new(), hook, number: NO_NUMBER, name: own }
    }

    /// The same for a function that does nothing but a system call.
    pub const fn of_system_call(name: &CStr, hook: usize_fn, number: c_long) -> Inner {
        Inner { number: number as c_int, ..Inner::new(name, hook) }
    }

    /// The system call that is all it does.
    pub fn number(&self) -> Option<c_int> {
        (self.number != NO_NUMBER).then_some(self.number)
    }

    /// Its name.
    pub fn name(&'static self) -> &'static CStr {
        // SAFETY: `new` has copied it with its final zero.
        unsafe { CStr::from_ptr(self.name.as_ptr().cast()) }
    }

    /// Where the function goes on behind its detour.
    #[inline(always)]
    pub fn address(&'static self) -> Option<usize> {
        self.place.address(|| self.name())
    }

    /// Its entry has a detour, behind which it goes on at `trampoline`.
    pub fn set(&self, trampoline: usize) {
        self.place.0.store(trampoline, Ordering::Relaxed);
    }
}

/// The address of a hook.
#[allow(non_camel_case_types)]
pub type usize_fn = unsafe extern "C-unwind" fn();

unsafe extern "C" {
    // The linker bounds each section whose name is a C identifier; the hook macros put one in per hook.
    #[link_name = "__start_syn_reals"]
    static REALS_START: Place;
    #[link_name = "__stop_syn_reals"]
    static REALS_STOP: Place;
    #[link_name = "__start_syn_inners"]
    static INNERS_START: Inner;
    #[link_name = "__stop_syn_inners"]
    static INNERS_STOP: Inner;
}

/// Detours have been placed: functions that were looked up before go on behind their own. Usually there are none.
#[unsafe(link_section = ".text.startup")]
pub fn redirect_all() {
    if ANY_FOUND.load(Ordering::Relaxed) {
        all().iter().for_each(Place::redirect);
    }
}

/// Those of every function that an exported symbol of ours hides.
fn all() -> &'static [Place] {
    // SAFETY: the section holds nothing but these.
    unsafe {
        let (start, stop) = (&raw const REALS_START, &raw const REALS_STOP);
        core::slice::from_raw_parts(start, stop.offset_from(start) as usize)
    }
}

/// Every function that is to be detoured.
pub fn inners() -> &'static [Inner] {
    // SAFETY: the section holds nothing but these.
    unsafe {
        let (start, stop) = (&raw const INNERS_START, &raw const INNERS_STOP);
        core::slice::from_raw_parts(start, stop.offset_from(start) as usize)
    }
}

/// What a call's result says.
pub trait Outcome: Copy {
    /// What to return when the function does not exist.
    const MISSING: Self;
    /// True when errno tells why.
    fn failed(self) -> bool;
    /// The result as it is recorded.
    fn number(self) -> i64;
}

macro_rules! signed_outcome {
    ($($ty:ty),*) => { $(
        impl Outcome for $ty {
            const MISSING: $ty = -1;
            #[inline(always)]
            fn failed(self) -> bool {
                self == -1
            }
            #[inline(always)]
            fn number(self) -> i64 {
                self as i64
            }
        }
    )* };
}
signed_outcome!(i32, i64, isize);

impl<T> Outcome for *mut T {
    const MISSING: *mut T = core::ptr::null_mut();
    #[inline(always)]
    fn failed(self) -> bool {
        self.is_null()
    }
    #[inline(always)]
    fn number(self) -> i64 {
        0
    }
}

impl Outcome for usize {
    const MISSING: usize = 0;
    fn failed(self) -> bool {
        false
    }
    fn number(self) -> i64 {
        self as i64
    }
}

impl Outcome for u32 {
    const MISSING: u32 = 0;
    fn failed(self) -> bool {
        false
    }
    fn number(self) -> i64 {
        i64::from(self)
    }
}

impl Outcome for () {
    const MISSING: () = ();
    fn failed(self) -> bool {
        false
    }
    fn number(self) -> i64 {
        0
    }
}
