//! Operations that did not come out as recorded: causes, and what follows from them.
//!
//! When an open fails that did not fail in the recording, everything on its handle fails as well. Those are
//! consequences, and counted under the open.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use syn_plan::Io;

/// Causes that a program tells in full; the others are counted.
const KEPT: usize = 5;
/// The place in [`Cause`] of one that is not kept.
const NOT_KEPT: u64 = 0xff;

/// Names a cause, in the whole replay; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cause(u64);

impl Cause {
    fn new(program: usize, place: Option<usize>) -> Cause {
        Cause((program as u64 + 1) << 8 | place.map_or(NOT_KEPT, |place| place as u64))
    }

    /// As a number that is not 0.
    pub fn to_number(self) -> u64 {
        self.0
    }

    /// From such a number; 0 is no cause.
    pub fn from_number(number: u64) -> Option<Cause> {
        (number != 0).then_some(Cause(number))
    }
}

/// An operation that did not come out as recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divergence {
    /// Index of the program.
    pub program: usize,
    /// Which of its steps was the first, repeats followed.
    pub step: u64,
    /// The operation.
    pub call: String,
    /// The file where it was recorded.
    pub file: Option<String>,
    /// Its result in the recording: bytes moved, 0, or the negated errno.
    pub expected: i64,
    /// Its result here.
    pub found: i64,
    /// How often the program met just this.
    pub times: u64,
    /// Operations that did not come out as recorded because of it, by call.
    pub consequences: BTreeMap<String, u64>,
}

/// What one program's replay gave of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Divergences {
    /// The first causes.
    kept: Vec<(Cause, Divergence)>,
    /// What followed from causes, of this program or another one of its process: how many, by call.
    consequences: Vec<(Cause, String, u64)>,
    /// Operations that were causes.
    pub causes: u64,
}

impl Divergences {
    /// The steps that were causes.
    pub fn steps(&mut self) -> impl Iterator<Item = &mut u64> {
        self.kept.iter_mut().map(|(_, one)| &mut one.step)
    }
}

/// Collects the divergences of one program.
#[derive(Debug)]
pub struct Collector {
    program: usize,
    calls: Vec<Io>,
    kept: Vec<Divergence>,
    consequences: BTreeMap<(Cause, &'static str), u64>,
    causes: u64,
}

impl Collector {
    /// For the program with this number.
    pub fn new(program: usize) -> Collector {
        Collector { program, calls: Vec::new(), kept: Vec::new(), consequences: BTreeMap::new(), causes: 0 }
    }

    /// `call`, done in `step`, had the result `found`, not `expected`. The same again is counted.
    pub fn cause<'f>(
        &mut self,
        step: u64,
        call: &Io,
        file: impl FnOnce() -> Option<&'f str>,
        expected: i64,
        found: i64,
    ) -> Cause {
        self.causes += 1;
        let same = |(known, kept): (&Io, &Divergence)| {
            known == call && (kept.expected, kept.found) == (expected, found)
        };
        let known = self.calls.iter().zip(&self.kept).position(same);
        let place = known.or_else(|| {
            (self.kept.len() < KEPT).then(|| {
                self.calls.push(*call);
                self.kept.push(Divergence {
                    program: self.program,
                    step,
                    call: call.to_string(),
                    file: file().map(str::to_owned),
                    expected,
                    found,
                    times: 0,
                    consequences: BTreeMap::new(),
                });
                self.kept.len() - 1
            })
        });
        if let Some(place) = place {
            self.kept[place].times += 1;
        }
        Cause::new(self.program, place)
    }

    /// `call` did not come out as recorded because of `cause`.
    pub fn consequence(&mut self, cause: Cause, call: &Io) {
        *self.consequences.entry((cause, call.name())).or_default() += 1;
    }

    /// Everything, to be handed over.
    pub fn finish(self) -> Divergences {
        let program = self.program;
        let name = |place| Cause::new(program, Some(place));
        let consequences = self.consequences.into_iter();
        Divergences {
            kept: self.kept.into_iter().enumerate().map(|(place, kept)| (name(place), kept)).collect(),
            consequences: consequences
                .map(|((cause, call), count)| (cause, call.to_owned(), count))
                .collect(),
            causes: self.causes,
        }
    }
}

/// The causes that the programs of a replay tell, each with what followed from it in all of them; `most` at most.
pub fn told<'a>(all: impl Iterator<Item = &'a Divergences> + Clone, most: usize) -> Vec<Divergence> {
    let mut kept: Vec<(Cause, Divergence)> =
        all.clone().flat_map(|program| &program.kept).take(most).cloned().collect();
    for (cause, call, count) in all.flat_map(|program| &program.consequences) {
        if let Some((_, told)) = kept.iter_mut().find(|(name, _)| name == cause) {
            *told.consequences.entry(call.clone()).or_default() += count;
        }
    }
    kept.into_iter().map(|(_, told)| told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Io = Io::Open { file: 0, handle: 3, flags: 0, mode: 0 };

    #[test]
    fn consequences_stand_under_their_cause_whichever_program_met_them() {
        let (mut first, mut second) = (Collector::new(0), Collector::new(1));
        let cause = first.cause(7, &OPEN, || Some("/a"), 0, -2);
        assert_eq!(Cause::from_number(cause.to_number()), Some(cause));
        assert_eq!(Cause::from_number(0), None);
        first.consequence(cause, &Io::Fstat { handle: 3 });
        for _ in 0..2 {
            second.consequence(cause, &Io::Close { handle: 3 });
        }
        second.cause(1, &Io::SyncFs, || None, 0, -5);
        let found = [first.finish(), second.finish()];
        let told = told(found.iter(), 10);
        assert_eq!(told.len(), 2);
        assert_eq!((told[0].step, told[0].file.as_deref(), told[0].times), (7, Some("/a"), 1));
        let expected = BTreeMap::from([("close".to_owned(), 2), ("fstat".to_owned(), 1)]);
        assert_eq!((&told[0].consequences, &told[1].consequences), (&expected, &BTreeMap::new()));
    }

    #[test]
    fn the_same_again_is_counted_and_only_the_first_are_kept() {
        let mut collector = Collector::new(2);
        for step in 0..3 {
            collector.cause(step, &OPEN, || None, 0, -2);
        }
        let mut last = None;
        for bytes in 0..9 {
            last = Some(collector.cause(9, &Io::Write { handle: 0, bytes }, || None, 1, 0));
        }
        let unkept = last.expect("a cause");
        collector.consequence(unkept, &Io::Close { handle: 0 });
        let found = collector.finish();
        assert_eq!((found.causes, found.kept.len(), found.kept[0].1.times), (12, KEPT, 3));
        let told = told([&found].into_iter(), 10);
        assert!(told.iter().all(|told| told.consequences.is_empty()), "it is nobody's that is told");
    }
}
