//! Calls that move bytes from one descriptor to another inside the kernel, or let one file share those of another.

use super::operands::Operands;
use super::{Descriptors, Touched, descriptor};
use crate::calls::{Effect, Field};
use crate::reader::Event;
use crate::record;

/// What such a call moved, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The place in the source; `None` is its position.
    pub read_at: Option<u64>,
    /// The place in the target; `None` is its position.
    pub written_at: Option<u64>,
    /// How much; 0 at the end of the source.
    pub bytes: u64,
}

impl Transfer {
    /// Of a call of this kind that succeeded. One that failed moved nothing: the program goes on in another way. `tee` takes
    /// nothing out of its first pipe, and pipes have no positions.
    #[inline]
    pub fn of(event: &Event<'_>) -> Option<Transfer> {
        let bytes = match event.call.effect() {
            Effect::Transfer => event.result,
            Effect::Share => event.field(Field::Bytes)?,
            _ => return None,
        };
        // An offset of -1 stands for a null pointer, and so does one that the call does not have.
        let place = |field| event.field(field).and_then(|offset| u64::try_from(offset).ok());
        let (read_at, written_at) = (place(Field::Offset), place(Field::SecondOffset));
        let moved = Transfer { read_at, written_at, bytes: bytes.max(0) as u64 };
        (!event.has(record::FAILED)).then_some(moved)
    }
}

impl Descriptors {
    /// Follows a successful call: the first descriptor is read from, the second written to.
    pub(super) fn transfer_between(&mut self, event: &Event<'_>, touched: &mut Touched) {
        self.touch_second(event, touched);
        let Some(Transfer { read_at, written_at, bytes }) = Transfer::of(event) else { return };
        if let (None, Some(file)) = (read_at, touched.file) {
            self.files[file as usize].transfer(bytes as i64, false);
        }
        if let Some(file) = touched.second_file {
            let file = &mut self.files[file as usize];
            match written_at {
                None => file.transfer(bytes as i64, true),
                Some(place) => file.reach(place, bytes),
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
