//! Handles of MPI by numbers of the plan, for all threads of a rank.

#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::{MaybeUninit, size_of};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// A handle that threads share. What orders their calls of MPI orders this, too: so nothing is locked for it.
#[derive(Debug)]
struct Place<T>(AtomicU64, PhantomData<T>);

/// So many places for handles, each of which has one from the start.
#[derive(Debug)]
pub struct Table<T>(Box<[Place<T>]>);

impl<T: Copy> Place<T> {
    /// A pointer or a number, as MPIs have them.
    const FITS: () = assert!(size_of::<T>() <= 8);

    fn new(handle: T) -> Place<T> {
        let place = Place(AtomicU64::new(0), PhantomData);
        place.set(handle);
        place
    }

    fn get(&self) -> T {
        let () = Self::FITS;
        let word = self.0.load(Ordering::Relaxed);
        // SAFETY: a word holds the bytes of a `T` from `new` on.
        unsafe { ptr::from_ref(&word).cast::<T>().read() }
    }

    fn set(&self, handle: T) {
        let () = Self::FITS;
        let mut word = MaybeUninit::new(0u64);
        // SAFETY: the word has room for a `T`.
        let word = unsafe {
            word.as_mut_ptr().cast::<T>().write(handle);
            word.assume_init()
        };
        self.0.store(word, Ordering::Relaxed);
    }
}

// SAFETY: handles of MPI mean the same in every thread.
unsafe impl<T> Send for Place<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Place<T> {}

impl<T: Copy> Table<T> {
    /// So many times the same handle.
    pub fn new(handle: T, length: usize) -> Table<T> {
        Table((0..length).map(|_| Place::new(handle)).collect())
    }

    /// The handle with this number.
    #[inline]
    pub fn get(&self, number: u32) -> T {
        self.0[number as usize].get()
    }

    /// Changes the handle with this number.
    #[inline]
    pub fn set(&self, number: u32, handle: T) {
        self.0[number as usize].set(handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_come_out_as_they_went_in() {
        let (numbers, pointers) = (Table::new(-7i32, 3), Table::new(ptr::null_mut::<u8>(), 2));
        let mut byte = 0u8;
        numbers.set(1, i32::MIN);
        pointers.set(1, &raw mut byte);
        assert_eq!([0, 1, 2].map(|number| numbers.get(number)), [-7, i32::MIN, -7]);
        assert_eq!([0, 1].map(|number| pointers.get(number)), [ptr::null_mut(), &raw mut byte]);
    }
}
