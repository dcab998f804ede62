//! A function that gets a detour.

use core::ffi::c_int;

/// The operation code of a near jump, which its distance follows.
pub const NEAR_JUMP: u8 = 0xe9;
/// Bytes of a near jump.
pub const JUMP_BYTES: usize = 5;
pub const PAGE: usize = 4096;

/// One function to be detoured.
#[derive(Clone, Copy)]
pub struct Patch {
    /// Its entry.
    pub address: usize,
    /// What that is to jump to.
    pub hook: usize,
    /// Where the function goes on; 0 where its entry cannot be moved.
    pub(super) trampoline: usize,
    /// The system call that is all it does.
    pub(super) number: Option<c_int>,
    /// What its entry is to be overwritten with.
    pub(super) jump: [u8; JUMP_BYTES],
}

impl Patch {
    /// The entry at `address` is to jump to `hook`. `number`: the function does nothing but this system call.
    pub const fn new(address: usize, hook: usize, number: Option<c_int>) -> Patch {
        Patch { address, hook, trampoline: 0, number, jump: [NEAR_JUMP, 0, 0, 0, 0] }
    }

    /// Where the function goes on; `None` where its entry cannot be moved.
    pub fn trampoline(&self) -> Option<usize> {
        (self.trampoline != 0).then_some(self.trampoline)
    }
}
