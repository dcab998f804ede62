//! A file that holds one structure, mapped, for several processes at once.

use memmap2::{MmapOptions, MmapRaw};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write};
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::Path;

/// What such a file may hold.
///
/// # Safety
/// Every value of its bytes is valid, what changes while it is shared is atomic, and it needs no more than a page's alignment.
pub(crate) unsafe trait Shared {}

/// A structure that is mapped.
#[derive(Debug)]
pub(crate) struct MappedFile<T> {
    mapping: MmapRaw,
    holds: PhantomData<T>,
}

impl<T: Shared> MappedFile<T> {
    /// Makes a file of zeros; `begin` writes what else is in it from the start. All its blocks are there before anybody uses it: on
    /// a full disk, a store to a hole would end the process.
    ///
    /// # Errors
    /// When there is one, or it cannot be made.
    pub(crate) fn create(path: &Path, begin: impl FnOnce(&mut T)) -> Result<MappedFile<T>> {
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        file.write_all(&vec![0; size_of::<T>()])?;
        let mapped = MappedFile::map(&file)?;
        // SAFETY: the mapping is as long as the structure and begins on a page, and zeros are valid; nobody else has opened the new
        // file, nor has a reference into the new mapping.
        begin(unsafe { &mut *mapped.mapping.as_mut_ptr().cast::<T>() });
        Ok(mapped)
    }

    /// Opens one.
    ///
    /// # Errors
    /// When there is none, or it is too short.
    pub(crate) fn open(path: &Path) -> Result<MappedFile<T>> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < size_of::<T>() as u64 {
            return Err(Error::new(ErrorKind::InvalidData, "the file is too short"));
        }
        MappedFile::map(&file)
    }

    fn map(file: &File) -> Result<MappedFile<T>> {
        let mapping = MmapOptions::new().len(size_of::<T>()).map_raw(file)?;
        Ok(MappedFile { mapping, holds: PhantomData })
    }
}

impl<T: Shared> Deref for MappedFile<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: mapped as long as `self`, as long as the structure, from the beginning of a page; the rest is `Shared`'s promise.
        unsafe { &*self.mapping.as_ptr().cast::<T>() }
    }
}
