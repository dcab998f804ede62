//! Events that wait for their turn, packed: as many integers and texts as each has.

use crate::calls::{Call, MAX_NUMBERS, MAX_TEXTS};
use crate::reader::Event;
use crate::record::{CPU_AFTER, CPU_BEFORE, Flags, List, Text};

/// A list that is filled, and then emptied from the front: what is put in before all is taken out takes further room.
#[derive(Clone, Debug)]
pub struct Fifo<T> {
    items: Vec<T>,
    /// How many of them have been taken out.
    taken: usize,
}

impl<T> Default for Fifo<T> {
    fn default() -> Fifo<T> {
        Fifo { items: Vec::new(), taken: 0 }
    }
}

impl<T: Copy> Fifo<T> {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len() - self.taken
    }

    /// True when there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts some in.
    #[inline]
    pub fn extend(&mut self, items: &[T]) {
        if self.is_empty() {
            self.items.clear();
            self.taken = 0;
        }
        self.items.extend_from_slice(items);
    }

    /// The next one.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        self.items.get(self.taken)
    }

    /// Takes the next one out.
    #[inline]
    pub fn pop(&mut self) -> Option<&T> {
        let item = self.items.get(self.taken)?;
        self.taken += 1;
        Some(item)
    }

    /// Takes so many out, or none if there are fewer.
    #[inline]
    fn take(&mut self, count: usize) -> &[T] {
        let items = self.items.get(self.taken..self.taken + count).unwrap_or(&[]);
        self.taken += items.len();
        items
    }
}

/// What every event has.
#[derive(Clone, Copy, Debug)]
struct Head {
    start: u64,
    end: u64,
    result: i64,
    offset: u64,
    errno: i32,
    call: Call,
    flags: Flags,
}

/// A queue of events that is filled and then emptied. An event takes 40 bytes, and 8 for each of its integers.
#[derive(Clone, Debug, Default)]
pub struct EventQueue<'a> {
    heads: Fifo<Head>,
    /// The integers of all events, each followed by its readings of the CPU clock.
    numbers: Fifo<i64>,
    texts: Fifo<Text<'a>>,
    lists: Fifo<List<'a>>,
}

impl<'a> EventQueue<'a> {
    /// How many events there are.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// When the next event's call returned, units of its thread's clock.
    #[inline]
    pub fn next_end(&self) -> Option<u64> {
        Some(self.heads.first()?.end)
    }

    /// Appends an event.
    #[inline]
    pub fn push(&mut self, event: &Event<'a>) {
        let Event { call, flags, start, end, result, errno, offset, .. } = *event;
        let (numbers, texts, lists) = call.shape();
        self.heads.extend(&[Head { start, end, result, offset, errno, call, flags }]);
        self.numbers.extend(&event.numbers[..numbers]);
        if flags & (CPU_BEFORE | CPU_AFTER) != 0 {
            let readings = [event.cpu_before, event.cpu_after];
            readings.into_iter().flatten().for_each(|ns| self.numbers.extend(&[ns as i64]));
        }
        if texts > 0 {
            self.texts.extend(&event.texts[..texts]);
        }
        if lists > 0 {
            self.lists.extend(&[event.list]);
        }
    }

    /// Takes out the next event, in place of another one. False when there is none.
    #[inline]
    pub fn pop_into(&mut self, event: &mut Event<'a>) -> bool {
        let Some(&Head { start, end, result, offset, errno, call, flags }) = self.heads.pop() else {
            return false;
        };
        let (numbers, texts, lists) = call.shape();
        (event.call, event.flags, event.errno) = (call, flags, errno);
        (event.start, event.end, event.result, event.offset) = (start, end, result, offset);
        event.numbers = [0; MAX_NUMBERS];
        for (place, &number) in event.numbers.iter_mut().zip(self.numbers.take(numbers)) {
            *place = number;
        }
        let mut reading =
            |flag| if flags & flag != 0 { self.numbers.pop().map(|&ns| ns as u64) } else { None };
        (event.cpu_before, event.cpu_after) = (reading(CPU_BEFORE), reading(CPU_AFTER));
        event.texts = [Text::EMPTY; MAX_TEXTS];
        for (place, &text) in event.texts.iter_mut().zip(self.texts.take(texts)) {
            *place = text;
        }
        event.list = if lists > 0 { self.lists.pop().copied().unwrap_or(List::EMPTY) } else { List::EMPTY };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::INNER;

    #[test]
    fn events_come_out_as_they_went_in() {
        let numbers: [i64; MAX_NUMBERS] = std::array::from_fn(|index| index as i64 + 1);
        let calls = [Call::Pwrite, Call::Rename, Call::MpiStartall, Call::Close];
        let flags = [0, CPU_BEFORE, CPU_AFTER | INNER, CPU_BEFORE | CPU_AFTER];
        let events = calls.into_iter().zip(flags).map(|(call, flags)| {
            let (count, texts, _) = call.shape();
            let mut event = Event { call, flags, start: 7, end: 9, result: -1, errno: 2, ..Event::NOTHING };
            event.cpu_before = (flags & CPU_BEFORE != 0).then_some(11);
            event.cpu_after = (flags & CPU_AFTER != 0).then_some(13);
            event.numbers[..count].copy_from_slice(&numbers[..count]);
            event.texts[..texts].fill(Text::whole(b"text"));
            event
        });
        let events: Vec<Event<'_>> = events.collect();
        let (mut queue, mut found) = (EventQueue::default(), Event::NOTHING);
        events.iter().for_each(|event| queue.push(event));
        for event in &events {
            assert_eq!(queue.next_end(), Some(9));
            assert!(queue.pop_into(&mut found));
            assert_eq!(format!("{found:?}"), format!("{event:?}"));
        }
        assert!(queue.is_empty() && !queue.pop_into(&mut found));
    }
}
