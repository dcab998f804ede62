//! Where a thread's time went: on the processor, waiting, or ready to run while the processor was another's.
//!
//! A thread's records cut its time into *segments*: between two calls, in a call, and between the records inside a call.
//! Of a segment in which the thread kept its processor the CPU time is its length. Where the thread lost its processor
//! the CPU clock was read at the end of the segment, or, to keep readings rare, a little later. A reading
//! covers everything since the one before: what it leaves is shared by the segments that lost their processor, by their
//! lengths, waits for locks behind the others. So the CPU times of all segments together are what the clock said.
//!
//! By ptrace, the clock is read at every stop. Of what was noted in between the next reading tells, too.
//!
//! A thread keeps its processor while the host of a virtual machine, or an interrupt, takes the processor itself. The clock
//! does not count that: where a reading is less than the segments that kept theirs, the long ones among them lack it.

use super::Thread;
use super::held::{Held, Place};
use super::segment::{Measured, Segment};
use crate::calls::Call;
use crate::header;
use crate::reader::{Event, Events};
use crate::record::{self, Flags};
use std::sync::atomic::Ordering;

/// Without [`header::SEES_PREEMPTION`] only longer stretches are read: shorter ones are taken to have kept the processor.
const GRAIN_NS: u64 = 64_000;
/// Segments at least this long wait for the next reading even if they kept the processor: what a host takes, it takes for
/// a scheduler's slice.
const STOLEN_FROM_NS: u64 = 20_000;
/// Events of a thread that are held back until a reading tells of them. What lost its processor does not wait for so long.
const MOST_HELD: usize = 1 << 13;
/// The same of all threads that are gone through together, where nothing but long segments waits; and for each of them
/// however many they are.
const MOST_HELD_TOGETHER: usize = 1 << 18;
const LEAST_HELD: usize = 1 << 8;

/// The events of a thread, each with what it took. They are read twice: ahead, as far as the next reading that tells something of
/// them, and when they are handed out.
#[derive(Debug)]
pub struct MeasuredEvents<'a> {
    measures: Measures<'a>,
    handed: Events<'a>,
}

/// What each event of a thread took. Memory: some bytes for each event since the first behind the latest reading that lost its
/// processor or is long, but of no more than some thousands, and a few words for every call that is open around the present one.
#[derive(Debug)]
pub struct Measures<'a> {
    thread: &'a Thread,
    /// As far as they have been measured.
    events: Events<'a>,
    /// What those took that have not been handed out.
    held: Held,
    most_held: usize,
    /// Where the segments are whose CPU time the next reading tells.
    unread: Vec<Place>,
    unread_ns: u64,
    /// Where the long segments are which kept their processor, as far as the thread could see.
    kept: Vec<Place>,
    kept_ns: u64,
    /// CPU time of the other segments since the latest reading.
    known_ns: u64,
    /// All readings so far, nanoseconds.
    told_ns: u64,
    /// CPU time of all segments, less that of all readings.
    residual_ns: i64,
    behind_ns: u64,
    /// The calls that have been entered and not returned: when, which, whether a library made it.
    open: Vec<(u64, Call, Flags)>,
    /// The record before ended with a CPU reading.
    read_behind: bool,
    /// What recording costs behind the record before.
    gap_cost_ns: u64,
    /// When the recorder was ready.
    ready_ns: u64,
    is_first: bool,
    sees_preemption: bool,
    by_ptrace: bool,
    rest: Option<Segment>,
    is_over: bool,
}

/// What is known of the processor in a segment.
#[derive(Clone, Copy)]
struct Seen {
    reading: Option<u64>,
    waited: bool,
    lost: bool,
    /// Of a reading: not in this segment.
    kept: bool,
}

impl Thread {
    /// Of [`header`]'s bits of `capabilities`.
    pub fn has_capability(&self, bit: u64) -> bool {
        self.trace.header().capabilities.load(Ordering::Relaxed) & bit != 0
    }

    /// It is known of every stretch whether the thread kept its processor.
    pub fn sees_preemption(&self) -> bool {
        self.has_capability(header::SEES_PREEMPTION)
    }

    /// The events in the order in which their calls returned, with what each took.
    pub fn measured(&self) -> MeasuredEvents<'_> {
        self.measured_among(1)
    }

    /// The same, for one of so many threads whose events are gone through together: it holds back fewer of them.
    pub fn measured_among(&self, threads: usize) -> MeasuredEvents<'_> {
        MeasuredEvents { measures: self.measures_among(threads), handed: self.events() }
    }

    /// What each event took, without the events; of one of so many threads that are gone through together.
    pub fn measures_among(&self, threads: usize) -> Measures<'_> {
        let started_ns = self.clock.start_ns.max(0.0) as u64;
        Measures {
            thread: self,
            events: self.events(),
            held: Held::default(),
            most_held: (MOST_HELD_TOGETHER / threads.max(1)).clamp(LEAST_HELD, MOST_HELD),
            unread: Vec::new(),
            unread_ns: 0,
            kept: Vec::new(),
            kept_ns: 0,
            known_ns: 0,
            told_ns: 0,
            residual_ns: 0,
            behind_ns: started_ns,
            open: Vec::new(),
            read_behind: false,
            gap_cost_ns: 0,
            ready_ns: started_ns.saturating_add(self.costs.setup_ns),
            is_first: true,
            sees_preemption: self.has_capability(header::SEES_PREEMPTION),
            by_ptrace: self.has_capability(header::BY_PTRACE),
            rest: None,
            is_over: false,
        }
    }
}

impl<'a> MeasuredEvents<'a> {
    /// What lies behind the last event, what could not be put anywhere, and how the records ended.
    pub fn measures(&self) -> &Measures<'a> {
        &self.measures
    }

    /// See [`Events::let_go`].
    pub fn let_go(&mut self) {
        self.handed.let_go();
    }

    /// The next event of which all is known that can be, and what it took, in place of others: both are large to be moved. False
    /// when there are no more.
    #[inline]
    pub fn next_into(&mut self, event: &mut Event<'a>, measured: &mut Measured) -> bool {
        self.measures.next_with(event, measured) && self.handed.next_into(event)
    }
}

impl<'a> Measures<'a> {
    /// The latest boundary: the end of the last event, or of the thread, nanoseconds since the start of the run.
    pub fn behind_ns(&self) -> u64 {
        self.behind_ns
    }

    /// What lies between the last event and the thread's end, where that is on record. For when there are no more events.
    pub fn rest(&self) -> Option<Segment> {
        self.rest
    }

    /// CPU time of all segments, less what the readings say, nanoseconds: what could not be put anywhere, or is missing.
    pub fn residual_ns(&self) -> i64 {
        self.residual_ns
    }

    /// The events as they are in the file, as far as they have been read.
    pub fn events(&self) -> &Events<'a> {
        &self.events
    }

    /// The segments of the event with this number. `hold` is done with the first of them, before the second.
    #[inline]
    fn measure(
        &mut self,
        event: &Event<'a>,
        number: usize,
        hold: impl FnOnce(&mut Held, &Segment),
        measured: &mut Measured,
    ) {
        let thread = self.thread;
        let (start_ns, end_ns) = (thread.clock.ns(event.start), thread.clock.ns(event.end));
        self.close_outer(event, start_ns);
        // A row of calls that came again has a gap before each of those that were timed, and a duration of each.
        let (count, timed, gap_cost_ns) = match event.call {
            Call::Repeats => {
                let timed = event.numbers[1].max(1) as u64;
                (event.numbers[0].max(1) as u64, timed, thread.costs.poll_gap_ns)
            }
            _ => (1, 1, self.gap_cost_ns),
        };
        let readings = u64::from(self.read_behind) + u64::from(event.has(record::CPU_BEFORE));
        let own_ns = if self.is_first { 0 } else { gap_cost_ns.saturating_mul(timed) };
        let cost_ns = own_ns.saturating_add(readings.saturating_mul(thread.costs.reading_ns));
        let seen = Seen {
            // What is not there is not looked at: it has just been written in pieces, for which a load of the whole waits.
            reading: if event.has(record::CPU_BEFORE) { event.cpu_before } else { None },
            waited: event.has(record::WAITED_BEFORE),
            lost: event.has(record::LOST_BEFORE),
            kept: event.has(record::KEPT_BEFORE),
        };
        let inside = self.open.last().map(|&(_, call, _)| call);
        let gap_end_ns = end_of_gap(start_ns, end_ns);
        self.segment(gap_end_ns, cost_ns, seen, inside, (number, true), &mut measured.before);
        hold(&mut self.held, &measured.before);
        if event.call == Call::Entered {
            self.enter(event, start_ns);
        }
        let seen = Seen {
            reading: if event.has(record::CPU_AFTER) { event.cpu_after } else { None },
            waited: event.has(record::WAITED_AFTER),
            // How a long row of polls shared the processor, the next reading tells.
            lost: event.has(record::LOST_AFTER) || event.call == Call::Repeats && self.sees_preemption,
            kept: event.has(record::KEPT_AFTER),
        };
        let cost_ns = match event.call {
            // To look at the pages of a mapping, or at what is loaded, and to hold a thread, is recording's work.
            Call::PagesTouched | Call::Loaded | Call::Held => u64::MAX,
            _ if event.start == event.end => 0,
            _ => thread.costs.call_ns.saturating_mul(count),
        };
        self.segment(end_ns, cost_ns, seen, Some(event.call), (number, false), &mut measured.call);
        self.read_behind = event.has(record::CPU_AFTER);
        let (_, texts, _) = event.call.shape();
        self.gap_cost_ns = thread.costs.gap_ns[usize::from(texts > 0)];
        self.is_first = false;
    }

    /// There are no more events: what lies behind them, and what no reading will tell any more.
    fn finish(&mut self) {
        self.is_over = true;
        if let Some((end_ns, cpu_ns)) = self.thread.end() {
            let started_ns = self.thread.trace.header().start_cpu_ns;
            let reading = cpu_ns.saturating_sub(started_ns).saturating_sub(self.told_ns);
            let seen = Seen { reading: Some(reading), waited: true, lost: true, kept: false };
            let inside = self.open.last().map(|&(_, call, _)| call);
            // The last place: behind all that are held.
            let (place, mut rest) = ((self.held.end(), true), Segment::NOTHING);
            self.segment(end_ns, 0, seen, inside, place, &mut rest);
            self.rest = Some(rest);
        }
        for place in std::mem::take(&mut self.unread) {
            if let Some(segment) = self.held.get(place) {
                self.held.set(place, &Segment { cpu_ns: 0, unmeasured_ns: segment.wall_ns, ..segment });
            }
        }
    }

    /// The call that was entered, or (0) all that were left by a jump.
    fn enter(&mut self, event: &Event<'_>, start_ns: u64) {
        match Call::from_id(event.numbers[0] as u64) {
            Some(call) => self.open.push((start_ns, call, event.flags & record::INNER)),
            None => self.open.clear(),
        }
    }

    /// If the event is that of the innermost open call, that call is over. It began where its mark says: a call that a
    /// signal handler made inside it began later.
    fn close_outer(&mut self, event: &Event<'_>, start_ns: u64) {
        let Some(&(entered_ns, call, inner)) = self.open.last() else { return };
        let is_same = call == event.call && inner == event.flags & record::INNER;
        if is_same && start_ns.abs_diff(entered_ns) < start_ns.abs_diff(self.behind_ns).max(1) {
            self.open.pop();
        }
    }

    /// Puts the segment from the latest boundary to `end_ns`, `cost_ns` of which is recording's, in place of another one: what was
    /// just written in pieces is slow to be moved.
    #[inline]
    fn segment(
        &mut self,
        end_ns: u64,
        cost_ns: u64,
        seen: Seen,
        inside: Option<Call>,
        place: Place,
        segment: &mut Segment,
    ) {
        let start_ns = self.behind_ns.min(end_ns);
        let raw_ns = end_ns.saturating_sub(self.behind_ns);
        self.behind_ns = self.behind_ns.max(end_ns);
        let recording_ns = cost_ns.max(self.ready_ns.saturating_sub(start_ns)).min(raw_ns);
        let wall_ns = raw_ns - recording_ns;
        *segment = Segment { start_ns, wall_ns, cpu_ns: wall_ns, recording_ns, inside, ..Segment::NOTHING };
        if let Some(cpu_ns) = seen.reading {
            if seen.kept && raw_ns < STOLEN_FROM_NS {
                self.known_ns = self.known_ns.saturating_add(raw_ns);
                self.read(None, cpu_ns, seen.waited);
            } else {
                self.read(Some(segment), cpu_ns, seen.waited);
            }
        } else if (seen.lost || self.by_ptrace) && raw_ns > 0 {
            self.unread.push(place);
            self.unread_ns = self.unread_ns.saturating_add(raw_ns);
        } else if !self.sees_preemption && raw_ns > GRAIN_NS {
            (segment.cpu_ns, segment.unmeasured_ns) = (0, wall_ns);
        } else if raw_ns >= STOLEN_FROM_NS {
            self.kept.push(place);
            self.kept_ns = self.kept_ns.saturating_add(raw_ns);
        } else {
            self.known_ns = self.known_ns.saturating_add(raw_ns);
        }
    }

    /// A reading: `cpu_ns` since the reading before. `last` is the segment at whose end it was taken, if more is to be known of it.
    fn read(&mut self, mut last: Option<&mut Segment>, cpu_ns: u64, waited: bool) {
        self.told_ns = self.told_ns.saturating_add(cpu_ns);
        let (kept, unread) = (std::mem::take(&mut self.kept), std::mem::take(&mut self.unread));
        let (kept, kept_ns) = self.still_held(kept, self.kept_ns);
        let (unread, unread_ns) = self.still_held(unread, self.unread_ns);
        let last_ns = last.as_ref().map_or(0, |last| last.raw_ns());
        let wanted_ns = signed(cpu_ns).saturating_sub(signed(self.known_ns)).saturating_sub(self.residual_ns);
        let all_ns = kept_ns.saturating_add(unread_ns).saturating_add(last_ns);
        let mut left_ns = wanted_ns.clamp(0, signed(all_ns)) as u64;
        self.residual_ns = signed(left_ns).saturating_sub(wanted_ns);
        (self.known_ns, self.kept_ns, self.unread_ns) = (0, 0, 0);
        let of_kept_ns = kept_ns.min(left_ns);
        if of_kept_ns < kept_ns {
            self.share(&kept, of_kept_ns, kept_ns, false);
        }
        left_ns -= of_kept_ns;
        // A wait for a lock takes what is left: it does little but wait.
        let (waits, others): (Vec<Place>, Vec<Place>) = unread
            .into_iter()
            .partition(|&place| self.held.get(place).is_some_and(|one| waits_for_lock(&one)));
        for (places, are_waits) in [(others, false), (waits, true)] {
            let last = last.take_if(|last| waits_for_lock(last) == are_waits);
            let of_last_ns = last.as_ref().map_or(0, |last| last.raw_ns());
            let group_ns = self.length(&places).saturating_add(of_last_ns);
            let given_ns = left_ns.min(group_ns);
            left_ns -= given_ns;
            let shared_ns = self.share(&places, given_ns, group_ns, waited || are_waits);
            if let Some(last) = last {
                // Of itself the reading tells, unless it had to tell of other waits, too.
                let waited = waited || are_waits && !places.is_empty();
                self.settle(last, given_ns.saturating_sub(shared_ns), waited);
            }
        }
    }

    fn settle(&self, segment: &mut Segment, total_ns: u64, waited: bool) {
        match self.by_ptrace {
            true => segment.settle_stopped(total_ns, waited),
            false => segment.settle(total_ns, waited),
        }
    }

    /// Those of the segments, `all_ns` together, that are still held back, and their length. The others have been handed out
    /// with a CPU time, which is known since.
    fn still_held(&mut self, mut places: Vec<Place>, all_ns: u64) -> (Vec<Place>, u64) {
        places.retain(|&place| self.held.get(place).is_some());
        let held_ns = self.length(&places);
        self.known_ns = self.known_ns.saturating_add(all_ns.saturating_sub(held_ns));
        (places, held_ns)
    }

    /// Of those that are held back, together.
    fn length(&self, places: &[Place]) -> u64 {
        places.iter().filter_map(|&place| Some(self.held.get(place)?.raw_ns())).sum()
    }

    /// Shares CPU time among segments by their lengths, `all_ns` together; what they got, nanoseconds.
    fn share(&mut self, places: &[Place], cpu_ns: u64, all_ns: u64, waited: bool) -> u64 {
        let share = if all_ns == 0 { 0.0 } else { cpu_ns as f64 / all_ns as f64 };
        let mut given_ns = 0;
        for &place in places {
            if let Some(mut segment) = self.held.get(place) {
                let part_ns = (segment.raw_ns() as f64 * share) as u64;
                given_ns += part_ns;
                self.settle(&mut segment, part_ns, waited);
                self.held.set(place, &segment);
            }
        }
        given_ns
    }

    /// What the next event took, of which all is known that can be; false when there are no more. `room` is an event to read others
    /// ahead into; what is in it afterwards means nothing.
    #[inline]
    pub fn next_with(&mut self, room: &mut Event<'a>, measured: &mut Measured) -> bool {
        if self.held.is_empty() && !self.is_over {
            if !self.events.next_times_into(room) {
                self.finish();
            } else if room.flags & record::PROCESSOR_FLAGS == 0 && room.call != Call::Repeats {
                self.measure(room, self.held.end(), |_, _| (), measured);
                if !self.awaits_reading() {
                    self.held.pass();
                    return true;
                }
                self.held.push(&measured.before);
                self.held.set((self.held.end() - 1, false), &measured.call);
            } else {
                self.hold(room, measured);
            }
        }
        // Readings come soon behind what they tell of.
        while !self.is_over && self.awaits_reading() && self.held.len() < self.most_held() {
            match self.events.next_times_into(room) {
                false => self.finish(),
                true => self.hold(room, measured),
            }
        }
        self.held.pop_into(measured)
    }

    /// What lost its processor is never handed out before its reading because others are many.
    fn most_held(&self) -> usize {
        if self.unread.is_empty() { self.most_held } else { MOST_HELD }
    }

    /// True if the next reading may tell something of the events that are held back: of those that were handed out it does not.
    #[inline]
    fn awaits_reading(&self) -> bool {
        let latest = |places: &[Place]| places.last().is_some_and(|&(number, _)| number >= self.held.first());
        latest(&self.unread) || latest(&self.kept)
    }

    /// Measures an event, and keeps it until all is known of it; `measured` is room for that. A reading at its return tells of what
    /// lay before it, too.
    fn hold(&mut self, event: &Event<'a>, measured: &mut Measured) {
        let number = self.held.end();
        self.measure(event, number, Held::push, measured);
        self.held.set((number, false), &measured.call);
    }
}

impl<'a> Iterator for MeasuredEvents<'a> {
    type Item = (Event<'a>, Measured);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (mut event, mut measured) = (Event::NOTHING, Measured::NOTHING);
        self.next_into(&mut event, &mut measured).then_some((event, measured))
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// The thread waits in it until it gets a lock.
fn waits_for_lock(segment: &Segment) -> bool {
    segment.inside.is_some_and(Call::waits_for_lock)
}

/// The end of what lies before a call: its entry, which a damaged trace may put behind its return.
fn end_of_gap(start_ns: u64, end_ns: u64) -> u64 {
    start_ns.min(end_ns)
}
