//! The functions behind ours.

use crate::detour;
use crate::elf;
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

/// A function that one of our exported symbols hides.
pub struct Real {
    name: &'static CStr,
    address: AtomicUsize,
}

/// The value of `address` for a function that is nowhere to be found.
const MISSING: usize = 1;

impl Real {
    /// For a hook's static; registered by the macro that declares the hook.
    pub const fn new(name: &'static CStr) -> Real {
        Real { name, address: AtomicUsize::new(0) }
    }

    /// Its name.
    pub fn name(&self) -> &'static CStr {
        self.name
    }

    /// Its address, if it has been looked up and is there.
    #[inline(always)]
    pub fn known(&self) -> Option<usize> {
        let address = self.address.load(Ordering::Relaxed);
        (address > MISSING).then_some(address)
    }

    /// Its address; `None` if no loaded library has it.
    #[inline(always)]
    pub fn address(&self) -> Option<usize> {
        let address = self.address.load(Ordering::Relaxed);
        if address > MISSING { Some(address) } else { self.find(address) }
    }

    #[cold]
    fn find(&self, known: usize) -> Option<usize> {
        if known == MISSING {
            return None;
        }
        let found = elf::function_started_with(self.name).map(detour::behind);
        self.address.store(found.unwrap_or(MISSING), Ordering::Relaxed);
        found
    }

    /// Detours have been placed: a function that was looked up before goes on behind its own.
    pub fn redirect(&self) {
        if let Some(address) = self.known() {
            self.address.store(detour::behind(address), Ordering::Relaxed);
        }
    }

    /// Sets the address of a function that is found in another way.
    pub fn set(&self, address: usize) {
        self.address.store(address, Ordering::Relaxed);
    }
}

/// A function of libc whose entry is to be detoured, so that libc's own calls are seen too.
pub struct Inner {
    /// The function; its address becomes the trampoline.
    pub real: Real,
    /// What its entry is to jump to.
    pub hook: usize_fn,
}

/// The address of a hook.
#[allow(non_camel_case_types)]
pub type usize_fn = unsafe extern "C-unwind" fn();

unsafe extern "C" {
    // The linker bounds each section whose name is a C identifier; the hook macros put an address in per hook.
    #[link_name = "__start_syn_reals"]
    static REALS_START: usize;
    #[link_name = "__stop_syn_reals"]
    static REALS_STOP: usize;
    #[link_name = "__start_syn_inners"]
    static INNERS_START: usize;
    #[link_name = "__stop_syn_inners"]
    static INNERS_STOP: usize;
}

/// Every function that an exported symbol of ours hides.
pub fn all() -> &'static [&'static Real] {
    // SAFETY: the section holds nothing but these references.
    unsafe {
        let (start, stop) = (&raw const REALS_START, &raw const REALS_STOP);
        core::slice::from_raw_parts(start.cast(), stop.offset_from(start) as usize)
    }
}

/// Every function that is to be detoured.
pub fn inners() -> &'static [&'static Inner] {
    // SAFETY: the section holds nothing but these references.
    unsafe {
        let (start, stop) = (&raw const INNERS_START, &raw const INNERS_STOP);
        core::slice::from_raw_parts(start.cast(), stop.offset_from(start) as usize)
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
