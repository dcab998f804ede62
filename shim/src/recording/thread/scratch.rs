//! Memory in which a hook puts together what it records. Each use has a field of its own: what is not touched costs nothing.

use crate::core::readable::{self, PAGE};
use core::cell::{Cell, UnsafeCell};
use core::ffi::c_char;
use syn_trace::record::{MAX_LIST, MAX_TEXT_BYTES};
use syn_trace::system_calls::Room;

/// A thread has one for what it does itself, and one for each level of handlers that have interrupted one another's hooks.
/// All zero bytes are a valid one.
#[repr(C, align(4096))]
pub struct Scratch {
    /// Texts of a record, one behind the other.
    pub texts: Field<[u8; TEXTS * MAX_TEXT_BYTES]>,
    /// Library functions under way; see [`crate::recording::library_calls`].
    pub under_way: [Cell<UnderWay>; 2],
    /// What the child of a `vfork` leaves to its parent; see [`crate::recording::vfork_child`].
    pub child_path: Field<ChildPath>,
    /// The list of a record.
    pub list: Field<[i64; MAX_LIST]>,
    /// What a system call is decoded in.
    pub room: Field<Room>,
    /// Pages of the program's that are looked at.
    pub windows: Field<[[u8; PAGE]; WINDOWS]>,
    /// An environment for another program.
    pub environment: Field<[*const c_char; ENVIRONMENT_WORDS]>,
    /// Whatever one call of a kind needs: control blocks of a submission, handles of MPI, page tables.
    pub words: Field<[u64; WORDS]>,
}

/// A function of a library whose calls are not recorded a second time, under way on a thread.
#[derive(Clone, Copy, Default)]
pub struct UnderWay {
    /// Its stack address; 0 when there is none.
    pub frame: usize,
    /// The call that it makes, and about what.
    pub about: (u16, i64),
}

/// Texts of a record that may have to be copied.
pub const TEXTS: usize = 2;

/// Memory that is lent to one user at a time.
#[repr(transparent)]
pub struct Field<T>(UnsafeCell<T>);

impl<T> Field<T> {
    /// Where it is.
    pub fn as_ptr(&self) -> *mut T {
        self.0.get()
    }

    /// It.
    ///
    /// # Safety
    /// Nothing else in the hook under way uses this field as long as the result does. (A handler has a scratch memory of its own.)
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn lend(&self) -> &mut T {
        // SAFETY: as the caller vouches.
        unsafe { &mut *self.0.get() }
    }
}

/// Pages of [`Scratch::windows`].
pub const WINDOWS: usize = 1 + readable::MOST_WINDOWS;
/// Words of [`Scratch::environment`].
pub const ENVIRONMENT_WORDS: usize = 32 << 10;
/// Words of [`Scratch::words`].
pub const WORDS: usize = 32 << 10;

/// A path and its length, and why it could not be executed, if so.
#[repr(C)]
pub struct ChildPath {
    length: u16,
    errno: u16,
    bytes: [u8; MAX_TEXT_BYTES],
}

impl ChildPath {
    /// Copies a path of the program's, or what a record takes of it; none where it cannot be read.
    pub fn set(&mut self, path: *const c_char) {
        self.length = readable::text(path as usize, &mut self.bytes).len() as u16;
        self.errno = 0;
    }

    /// It could not be executed.
    pub fn fail(&mut self, errno: i64) {
        self.errno = errno as u16;
    }

    /// Why not; 0 if it could, as far as is known.
    pub fn errno(&self) -> i64 {
        self.errno.into()
    }

    /// The path; empty where there is none.
    pub fn get(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}
