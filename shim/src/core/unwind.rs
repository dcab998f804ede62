//! Which function a place on the stack belongs to, as the tables for exceptions tell.
//!
//! Source: Itanium C++ ABI, exception handling, section 1.6 (the unwinder is part of this library).

use core::ffi::{c_int, c_void};

/// `struct _Unwind_Context`, which nobody but the unwinder looks into.
#[repr(C)]
struct Context([u8; 0]);

unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: extern "C" fn(*mut Context, *mut c_void) -> c_int,
        search: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetCFA(context: *mut Context) -> usize;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
}

/// A frame on this thread's stack.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Where the program goes on in it.
    pub instruction: usize,
    /// Its lowest address, in front of which `instruction` stands as the return address of what it has called.
    pub start: usize,
}

/// Of [`around`].
struct Search {
    address: usize,
    frame: Option<Frame>,
    is_over: bool,
}

/// The frame in which `address` lies; `None` where the way there is not known. Takes some microseconds.
#[cold]
pub fn around(address: usize) -> Option<Frame> {
    let mut search = Search { address, frame: None, is_over: false };
    // SAFETY: `visit` gets the search, which lasts as long as the call.
    unsafe { _Unwind_Backtrace(visit, (&raw mut search).cast()) };
    search.frame.filter(|_| search.is_over)
}

/// One step upwards on the stack; other than 0 ends it.
extern "C" fn visit(context: *mut Context, search: *mut c_void) -> c_int {
    // SAFETY: the unwinder's own context, and the search that it was given.
    let (search, start, instruction) =
        unsafe { (&mut *search.cast::<Search>(), _Unwind_GetCFA(context), _Unwind_GetIP(context)) };
    search.is_over = start > search.address;
    if !search.is_over {
        search.frame = Some(Frame { instruction, start });
    }
    search.is_over.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn called(local: usize) -> Option<Frame> {
        core::hint::black_box(around(local))
    }

    #[test]
    fn a_local_lies_in_the_frame_of_its_function() {
        let local = core::hint::black_box(0u64);
        let address = (&raw const local) as usize;
        let frame = called(address).expect("the unwinder knows the way");
        assert!(frame.start <= address && address - frame.start < 4096);
        // SAFETY: in front of a frame stands the return address of what it has called.
        assert_eq!(unsafe { *((frame.start - 8) as *const usize) }, frame.instruction);
        assert!(called(usize::MAX).is_none());
    }
}
