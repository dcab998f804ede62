//! io_uring: rings are descriptors, and files that are registered with one are named by their place.

use super::{Descriptors, OpenId, Touched, descriptor, flags};
use crate::calls::Effect;
use crate::reader::Event;
use std::collections::HashMap;

const SETUP_REGISTERED_FD_ONLY: i64 = 1 << 15;
const UNREGISTER_FILES: i64 = 3;
const OPERATION_CLOSE: i64 = 19;
const SQE_FIXED_FILE: i64 = 1;
/// In place of a descriptor: this place stays as it is.
const SKIP: i64 = -2;

/// The registered files of rings, by ring and place.
pub(super) type Registered = HashMap<(OpenId, i64), OpenId>;

impl Descriptors {
    /// Follows a successful call.
    pub(super) fn apply_ring(&mut self, effect: Effect, event: &Event<'_>, touched: &mut Touched) {
        let numbers = &event.numbers;
        match effect {
            Effect::OpenRing if numbers[1] & SETUP_REGISTERED_FD_ONLY == 0 => {
                self.open(descriptor(event.result), flags::O_RDWR | flags::O_CLOEXEC, [0; 3], touched);
            }
            Effect::RegisterWithRing => {
                if let Some(ring) = touched.file {
                    self.register(ring, event);
                }
            }
            Effect::RingEntry if numbers[2] & SQE_FIXED_FILE != 0 => {
                let ring = self.table.get(descriptor(numbers[0]));
                let file = ring.and_then(|ring| self.registered.get(&(ring, numbers[3])).copied());
                (touched.file, touched.path, touched.peer) = (None, None, None);
                if let Some(file) = file {
                    self.touch(file, touched);
                }
            }
            Effect::RingEntry if numbers[1] == OPERATION_CLOSE => {
                self.close_descriptor(descriptor(numbers[3]), touched);
            }
            _ => {}
        }
    }

    fn register(&mut self, ring: OpenId, event: &Event<'_>) {
        if event.numbers[1] == UNREGISTER_FILES {
            self.registered.retain(|(of, _), _| *of != ring);
        }
        let mut list = event.list.iter();
        let Some(first) = list.next() else { return };
        for (index, fd) in (0..).zip(list).filter(|(_, fd)| *fd != SKIP) {
            let place = first.wrapping_add(index);
            match self.table.get(descriptor(fd)) {
                Some(file) => self.registered.insert((ring, place), file),
                None => self.registered.remove(&(ring, place)),
            };
        }
    }
}
