//! Some events of a thread, packed: as many integers and texts as each has. A pass over thousands of threads goes from
//! one to the next with every event, and waits for memory.

use crate::follow::pass::End;
use syn_trace::Call;
use syn_trace::calls::{MAX_NUMBERS, MAX_TEXTS};
use syn_trace::reader::{Ending, Event};
use syn_trace::record::{CPU_AFTER, CPU_BEFORE, Flags, List, Text};
use syn_trace::run::Measured;

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

/// Events of a thread, one after the other.
#[derive(Debug, Default)]
pub struct Batch<'a> {
    heads: Vec<Head>,
    /// The integers of all events, each followed by its readings of the CPU clock.
    numbers: Vec<i64>,
    texts: Vec<Text<'a>>,
    lists: Vec<List<'a>>,
    /// What each took; empty where that was not asked for.
    measured: Vec<Measured>,
    /// Where the next event begins in these.
    at: [usize; 4],
    /// How far the events reach in the file.
    pub bytes: u64,
    /// There are no more.
    pub is_last: bool,
    /// How the records ended, of the last batch.
    pub ending: Option<Ending>,
    /// What is behind the last event, where events are measured.
    pub end: Option<End>,
}

impl<'a> Batch<'a> {
    /// Makes it empty.
    pub fn clear(&mut self) {
        self.heads.clear();
        self.numbers.clear();
        self.texts.clear();
        self.lists.clear();
        self.measured.clear();
        (self.at, self.bytes, self.is_last) = ([0; 4], 0, false);
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Appends an event and, if that is asked for, what it took.
    #[inline]
    pub fn push(&mut self, event: &Event<'a>, measured: Option<Measured>) {
        let Event { call, flags, start, end, result, errno, offset, .. } = *event;
        let (numbers, texts, lists) = call.shape();
        self.heads.push(Head { start, end, result, offset, errno, call, flags });
        self.numbers.extend_from_slice(&event.numbers[..numbers]);
        if flags & (CPU_BEFORE | CPU_AFTER) != 0 {
            self.numbers.extend(event.cpu_before.map(|ns| ns as i64));
            self.numbers.extend(event.cpu_after.map(|ns| ns as i64));
        }
        if texts > 0 {
            self.texts.extend_from_slice(&event.texts[..texts]);
        }
        if lists > 0 {
            self.lists.push(event.list);
        }
        self.measured.extend(measured);
    }

    /// When the next event's call returned, units of its thread's clock; `None` behind the last.
    #[inline]
    pub fn next_end(&self) -> Option<u64> {
        Some(self.heads.get(self.at[0])?.end)
    }

    /// Takes out the next event, in place of another, and what it took: nothing where that was not asked for.
    ///
    /// # Panics
    /// When there is none.
    #[inline]
    pub fn next(&mut self, event: &mut Event<'a>) -> &Measured {
        const NOTHING: &Measured = &Measured::NOTHING;
        let [at, number_at, text_at, list_at] = &mut self.at;
        let Head { start, end, result, offset, errno, call, flags } = self.heads[*at];
        let (numbers, texts, lists) = call.shape();
        (event.call, event.flags, event.errno) = (call, flags, errno);
        (event.start, event.end, event.result, event.offset) = (start, end, result, offset);
        event.numbers = [0; MAX_NUMBERS];
        event.numbers[..numbers].copy_from_slice(&self.numbers[*number_at..][..numbers]);
        *number_at += numbers;
        (event.cpu_before, event.cpu_after) = (None, None);
        for (flag, reading) in [(CPU_BEFORE, &mut event.cpu_before), (CPU_AFTER, &mut event.cpu_after)] {
            if flags & flag != 0 {
                *reading = Some(self.numbers[*number_at] as u64);
                *number_at += 1;
            }
        }
        event.texts = [Text::default(); MAX_TEXTS];
        event.texts[..texts].copy_from_slice(&self.texts[*text_at..][..texts]);
        *text_at += texts;
        event.list = List::default();
        if lists > 0 {
            event.list = self.lists[*list_at];
            *list_at += 1;
        }
        *at += 1;
        self.measured.get(*at - 1).unwrap_or(NOTHING)
    }
}

/// Room for an event.
pub fn no_event() -> Event<'static> {
    Event {
        call: Call::ALL[0],
        flags: 0,
        start: 0,
        end: 0,
        cpu_before: None,
        cpu_after: None,
        result: 0,
        errno: 0,
        numbers: [0; MAX_NUMBERS],
        texts: [Text::default(); MAX_TEXTS],
        list: List::default(),
        offset: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_as_they_went_in() {
        let mut batch = Batch::default();
        let numbers: [i64; MAX_NUMBERS] = std::array::from_fn(|index| index as i64 + 1);
        let calls = [Call::Pwrite, Call::Rename, Call::MpiStartall, Call::Close];
        let events: Vec<Event<'_>> = calls
            .into_iter()
            .zip([0, CPU_BEFORE, CPU_AFTER | syn_trace::record::INNER, CPU_BEFORE | CPU_AFTER])
            .map(|(call, flags)| {
                let (count, texts, _) = call.shape();
                let mut event = Event { call, flags, start: 7, end: 9, result: -1, errno: 2, ..no_event() };
                event.cpu_before = (flags & CPU_BEFORE != 0).then_some(11);
                event.cpu_after = (flags & CPU_AFTER != 0).then_some(13);
                event.numbers[..count].copy_from_slice(&numbers[..count]);
                event.texts[..texts].fill(Text::whole(b"text"));
                event
            })
            .collect();
        events.iter().for_each(|event| batch.push(event, None));
        let mut found = no_event();
        for event in &events {
            assert_eq!(batch.next_end(), Some(9));
            assert_eq!(*batch.next(&mut found), Measured::NOTHING);
            assert_eq!(format!("{found:?}"), format!("{event:?}"));
        }
        assert_eq!(batch.next_end(), None);
    }
}
