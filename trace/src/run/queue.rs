//! Events that wait for their turn, packed: as many integers and texts as each has.

use crate::calls::{Call, MAX_NUMBERS, MAX_TEXTS};
use crate::reader::Event;
use crate::record::{CPU_AFTER, CPU_BEFORE, Flags, List, Text};
use std::collections::VecDeque;

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

/// A queue of events. An event takes 40 bytes, and 8 for each of its integers.
#[derive(Clone, Debug, Default)]
pub struct EventQueue<'a> {
    heads: VecDeque<Head>,
    /// The integers of all events, each followed by its readings of the CPU clock.
    numbers: VecDeque<i64>,
    texts: VecDeque<Text<'a>>,
    lists: VecDeque<List<'a>>,
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
        Some(self.heads.front()?.end)
    }

    /// Appends an event.
    #[inline]
    pub fn push(&mut self, event: &Event<'a>) {
        let Event { call, flags, start, end, result, errno, offset, .. } = *event;
        let (numbers, texts, lists) = call.shape();
        self.heads.push_back(Head { start, end, result, offset, errno, call, flags });
        self.numbers.extend(&event.numbers[..numbers]);
        if flags & (CPU_BEFORE | CPU_AFTER) != 0 {
            self.numbers.extend(event.cpu_before.map(|ns| ns as i64));
            self.numbers.extend(event.cpu_after.map(|ns| ns as i64));
        }
        if texts > 0 {
            self.texts.extend(&event.texts[..texts]);
        }
        if lists > 0 {
            self.lists.push_back(event.list);
        }
    }

    /// Takes out the next event, in place of another one. False when there is none.
    #[inline]
    pub fn pop_into(&mut self, event: &mut Event<'a>) -> bool {
        let Some(Head { start, end, result, offset, errno, call, flags }) = self.heads.pop_front() else {
            return false;
        };
        let (numbers, texts, lists) = call.shape();
        (event.call, event.flags, event.errno) = (call, flags, errno);
        (event.start, event.end, event.result, event.offset) = (start, end, result, offset);
        event.numbers = [0; MAX_NUMBERS];
        for number in &mut event.numbers[..numbers] {
            *number = self.numbers.pop_front().unwrap_or(0);
        }
        let mut reading =
            |flag| if flags & flag != 0 { self.numbers.pop_front().map(|ns| ns as u64) } else { None };
        (event.cpu_before, event.cpu_after) = (reading(CPU_BEFORE), reading(CPU_AFTER));
        event.texts = [Text::EMPTY; MAX_TEXTS];
        for text in &mut event.texts[..texts] {
            *text = self.texts.pop_front().unwrap_or(Text::EMPTY);
        }
        event.list = if lists > 0 { self.lists.pop_front().unwrap_or(List::EMPTY) } else { List::EMPTY };
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
