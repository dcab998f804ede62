//! Which call lies inside which, as their places on the stack tell.

use super::state::{INDISTINCT, PAGE, SHARED, TOO_DEEP};
use crate::recording::thread::state::{State, VFORK_CHILD};

/// The stack address of the caller's frame, near enough.
#[inline(always)]
pub fn frame_address() -> usize {
    let address: usize;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mov {}, rsp", out(reg) address, options(nomem, nostack, preserves_flags)) };
    address
}

impl State {
    /// True for an address on the thread's own stack, as far as that is known.
    #[inline(always)]
    pub fn is_on_stack(&self, address: usize) -> bool {
        address >= self.stack.get().0 && address < self.stack.get().1
    }

    /// True when the hook whose stack address is `earlier` cannot be under way any more, seen from one at `frame`: a
    /// handler left it by `siglongjmp`. A frame that was left lies below the present one on the same stack or is where
    /// it is (what a hook calls always lies below it), or on a signal stack while we are back on the thread's.
    #[inline(always)]
    pub fn is_stale(&self, earlier: usize, frame: usize) -> bool {
        match (self.is_on_stack(earlier), self.is_on_stack(frame)) {
            (true, true) => earlier <= frame,
            (false, true) => true,
            (true, false) => false,
            (false, false) => earlier <= frame && frame - earlier < PAGE << 4,
        }
    }

    /// The same without a guess: on stacks that are not the thread's own nothing is known of who calls whom.
    pub fn is_certainly_stale(&self, earlier: usize, frame: usize) -> bool {
        self.is_on_stack(frame) && self.is_stale(earlier, frame)
    }

    /// True when calls are not recorded because of the call around them.
    #[cold]
    pub fn is_suppressed(&self, frame: usize) -> bool {
        match self.suppressed_by.get() {
            VFORK_CHILD | INDISTINCT => true,
            SHARED => !self.is_on_stack(frame),
            TOO_DEEP => {
                self.leave_handlers_below(frame);
                let is_still = self.suppressed_by.get() == TOO_DEEP;
                if is_still {
                    self.drop_one();
                }
                is_still
            }
            around => {
                if self.is_stale(around, frame) {
                    self.suppressed_by.set(self.resting.get());
                }
                self.suppressed_by.get() == around
            }
        }
    }

    /// Somebody is about to use this thread's thread-locals, and with them this state, on a stack that ends at `stack`, while
    /// the thread goes on (clone(2) with `CLONE_VM`, without `CLONE_SETTLS`). True for the first time.
    pub fn share(&self, stack: usize) -> bool {
        let is_new = self.resting.get() == 0;
        self.resting.set(if self.is_on_stack(stack.wrapping_sub(1)) { INDISTINCT } else { SHARED });
        self.suppressed_by.set(self.resting.get());
        is_new
    }
}
