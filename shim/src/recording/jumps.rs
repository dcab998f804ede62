//! What `longjmp` leaves behind.

use crate::recording::span::note;
use crate::recording::thread::state::State;

impl State {
    /// The program leaves everything below `target` on its stack, by `longjmp`.
    pub fn jump(&self, target: usize) {
        let gave_up = self.leave_handlers(|state, at| state.is_stale(at, target));
        if self.frame.get() != 0 && self.is_stale(self.frame.get(), target) {
            self.frame.set(0);
            note::tell_left(self);
            if !gave_up {
                self.drop_one();
            }
        }
        if self.mpi_frame.get() != 0 && self.is_stale(self.mpi_frame.get(), target) {
            self.mpi_frame.set(0);
        }
        if self.suppressed_by.get() != 0 {
            self.is_suppressed(target);
        }
    }
}
