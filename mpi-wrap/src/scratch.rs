//! The thread's working memory, handed out from the front.

use core::ptr::NonNull;
use core::slice;

use crate::recorder::Recorder;

/// What is left of the memory that the recorder gave for this call.
pub struct Scratch {
    at: *mut u8,
    left: usize,
}

impl Scratch {
    /// The working memory of an open call; `wanted` bytes would be enough.
    pub fn of<R: Recorder>(open: R::Open, wanted: usize) -> Scratch {
        let (memory, bytes) = R::scratch(open, wanted);
        Scratch::new(memory, bytes)
    }

    fn new(memory: NonNull<u8>, bytes: usize) -> Scratch {
        Scratch { at: memory.as_ptr(), left: bytes }
    }

    /// The next `count` numbers, whatever they are; `None` when there is no room for them.
    pub fn take<'a, T: Number>(&mut self, count: usize) -> Option<&'a mut [T]> {
        let bytes = count.checked_mul(size_of::<T>())?.checked_next_multiple_of(8)?;
        if bytes > self.left {
            return None;
        }
        let numbers = self.at.cast::<T>();
        // SAFETY: the recorder gives this memory to this call alone, 8-aligned; each part is handed out once. Any bytes
        // are a value of every `Number`.
        let numbers = unsafe {
            self.at = self.at.add(bytes);
            slice::from_raw_parts_mut(numbers, count)
        };
        self.left -= bytes;
        Some(numbers)
    }

    /// The next `count` numbers, or as many as there is room for.
    pub fn take_up_to<'a, T: Number>(&mut self, count: usize) -> &'a mut [T] {
        self.take(count.min(self.left / 8 * 8 / size_of::<T>())).unwrap_or_default()
    }
}

/// Plain numbers, for which any bytes are a value.
pub trait Number: sealed::Sealed {}
impl Number for i32 {}
impl Number for i64 {}
impl Number for usize {}
impl Number for u8 {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
    impl Sealed for usize {}
    impl Sealed for u8 {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hands_out_disjoint_aligned_parts_until_it_is_used_up() {
        let mut memory = [0u64; 8];
        let mut scratch = Scratch::new(NonNull::from(&mut memory).cast(), 64);
        let ints = scratch.take::<i32>(3).unwrap();
        let longs = scratch.take::<i64>(2).unwrap();
        assert_eq!((&*ints, &*longs), (&[0; 3][..], &[0; 2][..]));
        assert_eq!(longs.as_ptr() as usize - ints.as_ptr() as usize, 16);
        assert!(scratch.take::<i64>(5).is_none());
        assert!(scratch.take::<i64>(usize::MAX).is_none());
        assert_eq!(scratch.take_up_to::<i32>(100).len(), 8);
        assert_eq!(scratch.take_up_to::<i32>(100).len(), 0);
    }
}
