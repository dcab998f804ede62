//! The points of a schedule as differences from the one before: some ten bytes each.

use crate::graph::dependency::Stage;
use syn_plan::{EdgeId, Op, Rule};
use syn_trace::varint;

/// A point at which a thread waits, signals, or at least did wait in the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncPoint {
    /// How many records of the thread precede.
    pub record: u32,
    /// Before or after that record's call.
    pub stage: Stage,
    /// When it was reached.
    pub ns: u64,
    /// When the last of what the rules say it waits for happened, whether or not a wait was kept; and the rule.
    awaited: Option<(u64, Rule)>,
}

impl SyncPoint {
    /// One that waited for nothing.
    pub fn new(record: u32, stage: Stage) -> SyncPoint {
        SyncPoint { record, stage, ns: 0, awaited: None }
    }

    /// When the last of what the rules say it waits for happened, whether or not a wait was kept.
    pub fn awaited_ns(&self) -> Option<u64> {
        self.awaited.map(|(ns, _)| ns)
    }

    /// The rule that says what it waited for.
    pub fn rule(&self) -> Option<Rule> {
        self.awaited.map(|(_, rule)| rule)
    }

    /// It waited until then, or later.
    pub fn await_ns(&mut self, ns: u64, rule: Rule) {
        if self.awaited_ns() < Some(ns) {
            self.awaited = Some((ns, rule));
        }
    }
}

/// What is done at a point: signals, or waits for so many signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncOp {
    /// Of this edge.
    pub edge: EdgeId,
    /// 0 for a signal.
    pub count: u32,
}

impl SyncOp {
    fn op(self) -> Op {
        match self {
            SyncOp { edge, count: 0 } => Op::Signal { edge },
            SyncOp { edge, count } => Op::Wait { edge, count, stride: 0 },
        }
    }
}

/// What the next point is a difference from.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    record: u32,
    ns: u64,
    edge: EdgeId,
}

/// Stages of a point, as they are numbered in front of it.
const STAGES: [Stage; 3] = [Stage::Around, Stage::Enter, Stage::Leave];

/// Writes the points of a thread.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    before: Before,
}

/// Bytes for a point: more than most take. What is not needed is given back.
const ROOM: usize = 16;

impl Writer {
    /// For about so many points. All threads are written side by side: lists that grew would have room to spare in each.
    pub fn with_room(points: usize) -> Writer {
        Writer { bytes: Vec::with_capacity(points * ROOM), ..Writer::default() }
    }

    /// Appends a point, and what is done there.
    pub fn push(&mut self, point: &SyncPoint, ops: &[SyncOp]) {
        let rule = point.rule().map_or(0, |rule| rule as u64 + 1);
        let mut put = |number: u64| varint::push(&mut self.bytes, number);
        put(rule * STAGES.len() as u64 + point.stage as u64);
        put(point.record.wrapping_sub(self.before.record).into());
        put(difference(point.ns, self.before.ns));
        if let Some(awaited_ns) = point.awaited_ns() {
            put(difference(awaited_ns, point.ns));
        }
        put(ops.len() as u64);
        self.before = Before { record: point.record, ns: point.ns, ..self.before };
        for &SyncOp { edge, count } in ops {
            put(difference(edge.into(), self.before.edge.into()));
            put(count.into());
            self.before.edge = edge;
        }
    }

    /// All that was written.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.shrink_to_fit();
        self.bytes
    }
}

fn difference(number: u64, from: u64) -> u64 {
    varint::zigzag(number.wrapping_sub(from) as i64)
}

fn undo(difference: u64, from: u64) -> u64 {
    from.wrapping_add(varint::unzigzag(difference) as u64)
}

/// Goes through the points of a thread, in program order.
#[derive(Clone, Debug)]
pub struct Points<'a> {
    /// What follows the next point's times: what is done there, and the other points.
    bytes: &'a [u8],
    before: Before,
    next: Option<SyncPoint>,
}

impl<'a> Points<'a> {
    /// Those in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Points<'a> {
        let mut points = Points { bytes, before: Before::default(), next: None };
        points.next = points.read();
        points
    }

    /// The next point, which stays the next one.
    #[inline]
    pub fn peek(&self) -> Option<&SyncPoint> {
        self.next.as_ref()
    }

    /// The next point if it is like this.
    #[inline]
    pub fn peek_if(&self, wanted: impl FnOnce(&SyncPoint) -> bool) -> Option<&SyncPoint> {
        self.next.as_ref().filter(|point| wanted(point))
    }

    /// The first point from here on that is at this place of the thread or behind it.
    pub fn find_from(&self, record: u32, stage: Stage) -> Option<SyncPoint> {
        match self.next {
            Some(next) if (next.record, next.stage) >= (record, stage) => Some(next),
            _ => self.from(record, stage, usize::MAX)?.next,
        }
    }

    /// All from that one on, unless more than `most` are in front of it.
    pub fn from(&self, record: u32, stage: Stage, most: usize) -> Option<Points<'a>> {
        let mut ahead = self.clone();
        for _ in 0..=most {
            let next = ahead.next?;
            if (next.record, next.stage) >= (record, stage) {
                return Some(ahead);
            }
            ahead.pass(|_| ());
        }
        None
    }

    /// Goes on to the point behind the next one. `see` gets what is to be done at the one that is left: waits, then signals.
    #[inline]
    pub fn pass(&mut self, mut see: impl FnMut(Op)) {
        if self.next.is_some() {
            let ops = varint::read(&mut self.bytes).unwrap_or(0);
            for _ in 0..ops {
                let edge =
                    undo(varint::read(&mut self.bytes).unwrap_or(0), self.before.edge.into()) as EdgeId;
                let count = varint::read(&mut self.bytes).unwrap_or(0) as u32;
                self.before.edge = edge;
                see(SyncOp { edge, count }.op());
            }
        }
        self.next = self.read();
    }

    #[inline]
    fn read(&mut self) -> Option<SyncPoint> {
        let mut take = || varint::read(&mut self.bytes);
        let front = take()?;
        let stages = STAGES.len() as u64;
        let stage = STAGES[(front % stages) as usize];
        let record = self.before.record.wrapping_add(take()? as u32);
        let ns = undo(take()?, self.before.ns);
        let rule = (front / stages).checked_sub(1).map(|rule| Rule::ALL[rule as usize]);
        let awaited = match rule {
            Some(rule) => Some((undo(take()?, ns), rule)),
            None => None,
        };
        self.before = Before { record, ns, ..self.before };
        Some(SyncPoint { record, stage, ns, awaited })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(points: &mut Points<'_>) -> Vec<Op> {
        let mut ops = Vec::new();
        points.pass(|op| ops.push(op));
        ops
    }

    fn point(record: u32, stage: Stage, ns: u64, awaited: Option<(u64, Rule)>) -> SyncPoint {
        SyncPoint { record, stage, ns, awaited }
    }

    #[test]
    fn points_come_out_as_they_went_in() {
        let op = |edge, count| SyncOp { edge, count };
        let all = [
            (point(0, Stage::Around, 5, None), vec![op(7, 0)]),
            (point(0, Stage::Leave, u64::MAX, Some((0, Rule::ProcessCreate))), vec![]),
            (
                point(9, Stage::Enter, 3, Some((u64::MAX, Rule::Throttled))),
                vec![op(0, 3), op(EdgeId::MAX, 0)],
            ),
            (point(u32::MAX, Stage::Leave, 4, Some((4, Rule::Message))), vec![op(1, u32::MAX), op(2, 1)]),
        ];
        let mut writer = Writer::default();
        all.iter().for_each(|(point, ops)| writer.push(point, ops));
        let bytes = writer.finish();
        let mut points = Points::new(&bytes);
        let found = points.find_from(9, Stage::Leave);
        assert_eq!(found, Some(all[3].0), "ahead of where it stands");
        assert_eq!(points.find_from(0, Stage::Enter), Some(all[1].0));
        for (point, ops) in &all {
            assert_eq!(points.peek(), Some(point));
            let wanted: Vec<Op> = ops.iter().map(|op| op.op()).collect();
            assert_eq!(passed(&mut points), wanted);
        }
        assert_eq!(points.peek(), None);
        assert_eq!(passed(&mut points), []);
        assert_eq!(Points::new(&[]).peek(), None);
    }
}
