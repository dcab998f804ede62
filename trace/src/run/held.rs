//! What events took of which a reading has still to tell something.

use super::segment::{Measured, Segment};
use crate::calls::Call;
use std::collections::{BTreeMap, VecDeque};

/// A segment among those held back: the number of its event, and whether it is the one before.
pub(super) type Place = (usize, bool);

/// A segment of less than four seconds, as nearly all are: 24 bytes in place of 56.
#[derive(Clone, Copy, Debug, Default)]
struct Short {
    start_ns: u64,
    wall_ns: u32,
    cpu_ns: u32,
    recording_ns: u32,
    inside: Option<Call>,
    rest: Rest,
}

/// What the time was in which the thread was not on the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Rest {
    #[default]
    Preempted,
    Waited,
    Unmeasured,
    /// The segment is among the long ones.
    Long,
}

impl Short {
    /// In place of one that is among the long ones.
    const LONG: Short =
        Short { start_ns: 0, wall_ns: 0, cpu_ns: 0, recording_ns: 0, inside: None, rest: Rest::Long };

    #[inline]
    fn of(segment: &Segment) -> Option<Short> {
        let Segment { start_ns, wall_ns, cpu_ns, waited_ns, unmeasured_ns, recording_ns, inside } = *segment;
        let rest_ns = wall_ns.checked_sub(cpu_ns)?;
        let rest = match (waited_ns, unmeasured_ns) {
            (0, 0) => Rest::Preempted,
            (waited_ns, 0) if waited_ns == rest_ns => Rest::Waited,
            (0, unmeasured_ns) if unmeasured_ns == rest_ns => Rest::Unmeasured,
            _ => return None,
        };
        Some(Short {
            start_ns,
            wall_ns: wall_ns.try_into().ok()?,
            cpu_ns: cpu_ns as u32,
            recording_ns: recording_ns.try_into().ok()?,
            inside,
            rest,
        })
    }

    #[inline]
    fn segment(&self) -> Segment {
        let rest_ns = u64::from(self.wall_ns - self.cpu_ns);
        let rest = |wanted| if self.rest == wanted { rest_ns } else { 0 };
        Segment {
            start_ns: self.start_ns,
            wall_ns: self.wall_ns.into(),
            cpu_ns: self.cpu_ns.into(),
            waited_ns: rest(Rest::Waited),
            unmeasured_ns: rest(Rest::Unmeasured),
            recording_ns: self.recording_ns.into(),
            inside: self.inside,
        }
    }
}

/// What the events took that are held back, in order.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The number of the first one.
    first: usize,
    list: VecDeque<[Short; 2]>,
    /// Segments that are too long for the list.
    long: BTreeMap<Place, Segment>,
}

impl Held {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// True when there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The number of the first event that has not been handed out.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// The number of the event that comes behind the last one.
    pub(super) fn end(&self) -> usize {
        self.first + self.list.len()
    }

    /// An event is not held back. For when there are none.
    pub(super) fn pass(&mut self) {
        self.first += 1;
    }

    /// Holds another one, of which the second segment is still to be set.
    pub(super) fn push(&mut self, before: &Segment) {
        let part = Short::of(before).unwrap_or_else(|| {
            self.long.insert((self.end(), true), *before);
            Short::LONG
        });
        self.list.push_back([part, Short::default()]);
    }

    /// Takes the first one out, in place of another one. False when there is none.
    #[inline]
    pub(super) fn pop_into(&mut self, measured: &mut Measured) -> bool {
        let Some(parts) = self.list.front() else { return false };
        let number = self.first;
        let mut put = |part: &Short, place, segment: &mut Segment| {
            *segment = match part.rest {
                Rest::Long => self.long.remove(&place).unwrap_or_default(),
                _ => part.segment(),
            };
        };
        put(&parts[0], (number, true), &mut measured.before);
        put(&parts[1], (number, false), &mut measured.call);
        self.list.pop_front();
        self.first += 1;
        true
    }

    /// The segment at this place, if it is still there.
    pub(super) fn get(&self, place: Place) -> Option<Segment> {
        let part = self.list.get(place.0.checked_sub(self.first)?)?[usize::from(!place.1)];
        match part.rest {
            Rest::Long => self.long.get(&place).copied(),
            _ => Some(part.segment()),
        }
    }

    /// Sets the segment at this place, if it is still there.
    #[inline]
    pub(super) fn set(&mut self, place: Place, segment: &Segment) {
        let index = place.0.checked_sub(self.first).and_then(|index| self.list.get_mut(index));
        let Some(parts) = index else { return };
        let part = &mut parts[usize::from(!place.1)];
        let short = Short::of(segment);
        if part.rest == Rest::Long || short.is_none() {
            match short {
                Some(_) => self.long.remove(&place),
                None => self.long.insert(place, *segment),
            };
        }
        *part = short.unwrap_or(Short::LONG);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_come_out_as_they_went_in() {
        let all = [
            Segment { start_ns: u64::MAX, wall_ns: 9, cpu_ns: 9, ..Segment::NOTHING },
            Segment {
                wall_ns: 9,
                cpu_ns: 3,
                recording_ns: 7,
                inside: Some(Call::ALL[0]),
                ..Segment::NOTHING
            },
            Segment {
                wall_ns: 9,
                cpu_ns: 3,
                waited_ns: 6,
                inside: Call::ALL.last().copied(),
                ..Segment::NOTHING
            },
            Segment { wall_ns: 9, unmeasured_ns: 9, ..Segment::NOTHING },
            Segment { wall_ns: 9, cpu_ns: 1, waited_ns: 2, unmeasured_ns: 3, ..Segment::NOTHING },
            Segment { wall_ns: 1 << 32, cpu_ns: 1 << 32, ..Segment::NOTHING },
            Segment { recording_ns: 1 << 33, ..Segment::NOTHING },
        ];
        let mut held = Held::default();
        held.pass();
        for (nth, &before) in all.iter().enumerate() {
            let call = all[(nth + 3) % all.len()];
            held.push(&before);
            held.set((nth + 1, false), &call);
            assert_eq!((held.get((nth + 1, true)), held.get((nth + 1, false))), (Some(before), Some(call)));
        }
        // From long to short and back.
        held.set((6, true), &all[0]);
        held.set((1, true), &all[5]);
        assert_eq!((held.end(), held.len()), (all.len() + 1, all.len()));
        let mut found = Measured::NOTHING;
        for (nth, &segment) in all.iter().enumerate() {
            let before = [(0, all[5]), (5, all[0])].into_iter().find(|&(other, _)| other == nth);
            let call = all[(nth + 3) % all.len()];
            let before = before.map_or(segment, |(_, segment)| segment);
            assert!(held.pop_into(&mut found));
            assert_eq!(found, Measured { before, call });
            assert_eq!(held.get((nth + 1, true)), None);
        }
        assert!(held.is_empty() && held.long.is_empty() && !held.pop_into(&mut found));
    }
}
