//! The allocator that the program has without this library.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

/// A function of the next library, found when it is first called.
pub struct Real {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

macro_rules! real {
    ($($name:ident $text:literal ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            /// The function of this name.
            pub static $name: Real = Real { name: $text, address: AtomicPtr::new(std::ptr::null_mut()) };
        )*
        /// Calls them; null or 0 where the program has none.
        #[allow(non_snake_case, reason = "as the functions' places are called")]
        pub mod call {
            use crate::real::*;
            $(
                /// As libc's.
                pub unsafe fn $name($($argument: $type),*) -> Option<$result> {
                    let address = crate::real::$name.get();
                    if address.is_null() {
                        return None;
                    }
                    // SAFETY: a function of this name has this type.
                    let function: unsafe extern "C" fn($($type),*) -> $result = unsafe { std::mem::transmute(address) };
                    // SAFETY: the caller's arguments.
                    Some(unsafe { function($($argument),*) })
                }
            )*
        }
        /// Finds all of them.
        pub fn find() {
            $($name.get();)*
        }
    };
}

real! {
    MALLOC c"malloc" (size: usize) -> *mut c_void;
    CALLOC c"calloc" (count: usize, size: usize) -> *mut c_void;
    REALLOC c"realloc" (block: *mut c_void, size: usize) -> *mut c_void;
    FREE c"free" (block: *mut c_void) -> ();
    POSIX_MEMALIGN c"posix_memalign" (place: *mut *mut c_void, alignment: usize, size: usize) -> c_int;
    ALIGNED_ALLOC c"aligned_alloc" (alignment: usize, size: usize) -> *mut c_void;
    MEMALIGN c"memalign" (alignment: usize, size: usize) -> *mut c_void;
    VALLOC c"valloc" (size: usize) -> *mut c_void;
    PVALLOC c"pvalloc" (size: usize) -> *mut c_void;
    USABLE c"malloc_usable_size" (block: *mut c_void) -> usize;
}

/// Not 0 while this thread asks the loader: what that allocates meanwhile comes from [`spare`]. Other threads ask for themselves,
/// and find the same.
mod asking {
    syn_trace::thread_word!("syn_alloc_asking");
}

impl Real {
    fn get(&self) -> *mut c_void {
        let known = self.address.load(Relaxed);
        if !known.is_null() || asking::get() != 0 {
            return known;
        }
        asking::set(1);
        // SAFETY: a string that ends with a zero.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        asking::set(0);
        self.address.store(found, Relaxed);
        found
    }
}

/// What is left of a block for the loader.
const SPARE: usize = 64 << 10;

#[repr(align(16))]
struct Spare(std::cell::UnsafeCell<[u8; SPARE]>);

// SAFETY: each byte of it is handed out once.
unsafe impl Sync for Spare {}

static SPARE_BYTES: Spare = Spare(std::cell::UnsafeCell::new([0; SPARE]));
static SPARE_USED: AtomicUsize = AtomicUsize::new(0);

/// Zeroed bytes that are never given back; null when there are no more.
pub fn spare(size: usize) -> *mut c_void {
    let size = size.saturating_add(15) & !15;
    let at = SPARE_USED.fetch_add(size.min(SPARE), Relaxed);
    if at + size > SPARE {
        return std::ptr::null_mut();
    }
    SPARE_BYTES.0.get().cast::<u8>().wrapping_add(at).cast()
}

/// True of what [`spare`] has handed out.
pub fn is_spare(block: *mut c_void) -> bool {
    let from = SPARE_BYTES.0.get().addr();
    (from..from + SPARE).contains(&block.addr())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn threads_that_ask_at_the_same_time_all_find_it() {
        for _ in 0..200 {
            let real = Real { name: c"malloc", address: AtomicPtr::new(std::ptr::null_mut()) };
            let begin = Barrier::new(4);
            let ask = || {
                begin.wait();
                !real.get().is_null()
            };
            std::thread::scope(|scope| {
                let all: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
                assert!(all.into_iter().all(|one| one.join().expect("no panic")), "libc has malloc");
            });
        }
    }
}
