//! Lists of a record: most have a few numbers, which stay on the stack; longer ones go into the thread's scratch memory.
//!
//! What makes lists and addresses for a hook is not inlined: a hook's frame lies on the program's stack for as long as its
//! call blocks, and holds no more than the results.

use crate::recording::thread::current;
use core::ops::Deref;

/// Numbers that find room on the stack.
const FEW: usize = 16;

/// A list in the making. What is more than a record holds is left out; whoever reads it sees that from the result.
pub struct List {
    few: [i64; FEW],
    /// Where the numbers are once there are too many for `few`.
    many: Option<&'static mut [i64]>,
    length: usize,
}

impl List {
    /// An empty one.
    #[inline]
    pub fn new() -> List {
        List { few: [0; FEW], many: None, length: 0 }
    }

    /// Appends all numbers, or none of them if there is not enough room.
    #[inline]
    pub fn push<const N: usize>(&mut self, numbers: [i64; N]) -> bool {
        let end = self.length + N;
        if end > FEW && self.many.is_none() {
            self.move_out();
        }
        let room = match &mut self.many {
            Some(many) => &mut many[..],
            None => &mut self.few[..],
        };
        let Some(place) = room.get_mut(self.length..end) else { return false };
        place.copy_from_slice(&numbers);
        self.length = end;
        true
    }

    #[cold]
    fn move_out(&mut self) {
        let Some(state) = current::state() else { return };
        // SAFETY: a call makes one list.
        let many = unsafe { &mut state.scratch().list.lend()[..] };
        many[..self.length].copy_from_slice(&self.few[..self.length]);
        self.many = Some(many);
    }
}

impl Deref for List {
    type Target = [i64];

    #[inline]
    fn deref(&self) -> &[i64] {
        match &self.many {
            Some(many) => &many[..self.length],
            None => &self.few[..self.length],
        }
    }
}
