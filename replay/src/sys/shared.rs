//! Memory that this process shares with the children it forks.

use anyhow::Context;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Types that may be shared between processes and for which all bytes zero is a value.
///
/// # Safety
/// The type is an atomic integer.
pub unsafe trait Shareable: Sync {}

// SAFETY: an atomic integer.
unsafe impl Shareable for AtomicU32 {}
// SAFETY: an atomic integer.
unsafe impl Shareable for AtomicU64 {}

/// A list of atomic integers, all 0 at first, that stays one and the same across `fork`.
pub struct SharedSlice<T: Shareable> {
    start: NonNull<T>,
    len: usize,
    mapped_bytes: usize,
}

// SAFETY: it owns its mapping, which holds nothing but atomic integers.
unsafe impl<T: Shareable> Send for SharedSlice<T> {}
// SAFETY: access goes through `&[T]`, and `T` is `Sync`.
unsafe impl<T: Shareable> Sync for SharedSlice<T> {}

impl<T: Shareable> SharedSlice<T> {
    /// `len` zeros.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(len: usize) -> anyhow::Result<Self> {
        let mapped_bytes = (len * size_of::<T>()).max(1);
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::POPULATE);
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), mapped_bytes, protection, flags) }
            .with_context(|| {
                format!("cannot map {mapped_bytes} bytes of memory to share with the replayed processes")
            })?;
        let start = NonNull::new(start.cast()).context("mapped shared memory at address 0")?;
        Ok(SharedSlice { start, len, mapped_bytes })
    }
}

impl<T: Shareable> Deref for SharedSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the mapping is page-aligned, holds `len` values of `T`, for which zero bytes are valid, and lives
        // as long as `self`. Others change it through atomics only.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Shareable> Drop for SharedSlice<T> {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length; no reference into it outlives `self`. Unmapping a whole mapping
        // does not fail.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.mapped_bytes) };
    }
}
