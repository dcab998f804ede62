//! Calls that move bytes from one descriptor to another.

use super::operands::Operands;
use super::{Descriptors, Touched, descriptor};
use crate::calls::Call;
use crate::reader::Event;

/// The offset of a null pointer: the open file's own position is used and moved.
const AT_POSITION: i64 = -1;

impl Descriptors {
    /// Follows a successful call: the first descriptor is read from, the second written to.
    pub(super) fn transfer_between(&mut self, event: &Event<'_>, touched: &mut Touched) {
        self.touch_second(event, touched);
        let (read_at, written_at, moved) = match event.call {
            Call::CopyFileRange | Call::Splice => (event.numbers[2], event.numbers[3], event.result),
            Call::Sendfile => (event.numbers[2], AT_POSITION, event.result),
            Call::CloneRange => (event.numbers[2], event.numbers[3], event.numbers[4]),
            // tee(2) takes nothing out of the first pipe, and pipes have no positions.
            _ => return,
        };
        if let (AT_POSITION, Some(file)) = (read_at, touched.file) {
            self.files[file as usize].transfer(moved, false);
        }
        if let Some(file) = touched.second_file {
            let file = &mut self.files[file as usize];
            match written_at {
                AT_POSITION => file.transfer(moved, true),
                place => file.reach(place, moved),
            }
        }
    }

    /// Tells the file of the second descriptor.
    pub(super) fn touch_second(&self, event: &Event<'_>, touched: &mut Touched) {
        touched.second_file = self.at_entry(descriptor(event.numbers[1]), Operands::of(event.call));
        if let Some(file) = touched.second_file {
            touched.second_path.clone_from(&self.files[file as usize].path);
        }
    }
}
