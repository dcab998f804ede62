//! Bytes are read after another thread wrote them.
//!
//! For every file the last writer of each byte is kept, so that a read depends on the writes it saw and on no
//! earlier ones. A write that ended after the read began is not taken: the recording does not show their order.

use crate::graph::dependency::{Dependencies, Moment};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use syn_plan::Rule;

/// Bytes up to `end` that one call wrote.
#[derive(Clone, Copy, Debug)]
struct Piece {
    end: u64,
    written: Moment,
}

/// Who wrote which bytes of one file. Memory: about 64 bytes for each range with a writer of its own. As long as one
/// process alone has opened the file, and one thread alone has read and written it, what that writes next to its own earlier
/// bytes joins them, so that the usual file, written from front to back, takes one entry.
#[derive(Debug, Default)]
pub struct Contents {
    pieces: BTreeMap<u64, Piece>,
    /// Where the file ends as far as is known; where appended bytes go.
    size: u64,
    /// The last call that has moved that end on. Bytes in front of it that nobody wrote can be read from then on.
    grown: Option<Moment>,
    first_process: Option<u32>,
    first_thread: Option<u32>,
    shared: bool,
}

/// The latest write of one thread that another thread is known to come after, by (reader, writer).
#[derive(Debug, Default)]
pub struct AlreadyOrdered(HashMap<(u32, u32), u32>);

impl Contents {
    /// `process` opens the file and finds it `size` bytes long.
    pub fn open(&mut self, process: u32, size: u64, truncated: bool) {
        let first = *self.first_process.get_or_insert(process);
        self.shared |= first != process;
        if truncated {
            self.cut(0, None);
        }
        if size > self.size {
            (self.size, self.grown) = (size, None);
        }
    }

    fn use_by(&mut self, thread: u32) {
        let first = *self.first_thread.get_or_insert(thread);
        self.shared |= first != thread;
    }

    /// The file has been cut to `size` bytes, or made as long, by a call that returned at `by`.
    pub fn cut(&mut self, size: u64, by: Option<Moment>) {
        (self.size, self.grown) = (size, by.filter(|_| size > self.size));
        let behind = self.pieces.split_off(&size);
        drop(behind);
        if let Some((_, piece)) = self.pieces.iter_mut().next_back() {
            piece.end = piece.end.min(size);
        }
    }

    /// Where appended bytes go.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// These bytes were written by a call that returned at `written`.
    pub fn write(&mut self, bytes: Range<u64>, written: Moment) {
        let Range { start, end } = bytes;
        self.use_by(written.point().thread);
        if end > self.size {
            (self.size, self.grown) = (end, Some(written));
        } else if let Some(piece) = self.pieces.get_mut(&start).filter(|piece| piece.end == end) {
            // Blocks are written again more often than not, and to find one by its beginning is quicker.
            return piece.written = written;
        }
        // Of the pieces, which do not overlap, the last that begins before the end.
        if self.pieces.range(..end).next_back().is_some_and(|(_, piece)| piece.end > start) {
            self.clear(start, end);
        }
        if !self.shared {
            let before = self.pieces.range_mut(..start).next_back();
            if let Some((_, piece)) = before.filter(|(_, piece)| {
                piece.end == start && piece.written.point().thread == written.point().thread
            }) {
                *piece = Piece { end, written };
                return;
            }
        }
        self.pieces.insert(start, Piece { end, written });
    }

    /// Takes the bytes from `start` to `end` from whoever wrote them.
    fn clear(&mut self, start: u64, end: u64) {
        let mut rest = None;
        if let Some((_, piece)) = self.pieces.range_mut(..start).next_back() {
            if piece.end > end {
                rest = Some(*piece);
            }
            piece.end = piece.end.min(start);
        }
        while let Some((&inside, &piece)) = self.pieces.range(start..end).next() {
            self.pieces.remove(&inside);
            if piece.end > end {
                rest = Some(piece);
            }
        }
        if let Some(piece) = rest {
            self.pieces.insert(end, piece);
        }
    }

    /// A call that began at `enter` found the file `size` bytes long: as long as it is since somebody has moved its end on. Who has written
    /// the last byte again since has changed nothing about that.
    pub fn find(
        &self,
        size: u64,
        enter: Moment,
        already_ordered: &mut AlreadyOrdered,
        found: &mut Dependencies,
    ) {
        let is_others = |grown: &Moment| grown.ns <= enter.ns && grown.point().thread != enter.point().thread;
        if let Some(grown) = self.grown.filter(is_others).filter(|_| size == self.size) {
            already_ordered.add(grown, enter, found);
        }
    }

    /// These bytes were read by a call that began at `enter`.
    pub fn read(
        &mut self,
        bytes: Range<u64>,
        enter: Moment,
        already_ordered: &mut AlreadyOrdered,
        found: &mut Dependencies,
    ) {
        let reader = enter.point().thread;
        self.use_by(reader);
        // Most reads are of what one call wrote.
        let whole = self.pieces.get(&bytes.start).filter(|piece| piece.end >= bytes.end);
        if whole.is_some_and(|piece| piece.written.point().thread == reader) {
            return;
        }
        let mut latest: Vec<Moment> = Vec::new();
        let mut add = |written: Moment| {
            if written.point().thread == reader || written.ns > enter.ns {
                return;
            }
            match latest.iter_mut().find(|other| other.point().thread == written.point().thread) {
                Some(other) if other.point() >= written.point() => {}
                Some(other) => *other = written,
                None => latest.push(written),
            }
        };
        let mut unwritten = bytes.end - bytes.start;
        for (&start, piece) in
            self.pieces.range(..bytes.end).rev().take_while(|(_, piece)| piece.end > bytes.start)
        {
            unwritten -= piece.end.min(bytes.end) - start.max(bytes.start);
            add(piece.written);
        }
        if unwritten > 0 {
            self.grown.into_iter().for_each(&mut add);
        }
        latest.sort_unstable_by_key(|written| written.point());
        latest.into_iter().for_each(|written| already_ordered.add(written, enter, found));
    }
}

impl AlreadyOrdered {
    /// Who is at `enter` comes after what another thread has `written`, unless that is known.
    fn add(&mut self, written: Moment, enter: Moment, found: &mut Dependencies) {
        let known = self.0.entry((enter.point().thread, written.point().thread)).or_insert(0);
        if written.point().record >= *known {
            *known = written.point().record + 1;
            found.add_one(Rule::FileData, written, enter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dependency::{Point, Stage};

    fn moment(thread: u32, record: u32) -> Moment {
        Moment::new(Point { thread, record, stage: Stage::Leave }, u64::from(record) * 10)
    }

    fn writers(contents: &mut Contents, bytes: Range<u64>) -> Vec<(u32, u32)> {
        let mut found = Dependencies::default();
        contents.read(bytes, moment(9, 99), &mut AlreadyOrdered::default(), &mut found);
        (0..found.len())
            .map(|index| found.sources(index)[0].point())
            .map(|point| (point.thread, point.record))
            .collect()
    }

    #[test]
    fn the_length_is_of_who_has_moved_the_end_on() {
        let finders = |contents: &Contents, size| {
            let (mut found, mut known) = (Dependencies::default(), AlreadyOrdered::default());
            contents.find(size, moment(9, 99), &mut known, &mut found);
            (0..found.len()).map(|index| found.sources(index)[0].point().thread).collect::<Vec<_>>()
        };
        let mut contents = Contents { shared: true, ..Contents::default() };
        contents.write(0..80, moment(0, 1));
        contents.write(79..80, moment(1, 2));
        assert_eq!((finders(&contents, 80), finders(&contents, 79)), (vec![0], vec![]));
        contents.write(80..90, moment(2, 3));
        assert_eq!(finders(&contents, 90), [2]);
        contents.write(90..91, moment(9, 4));
        assert_eq!(finders(&contents, 91), [0; 0]);
    }

    #[test]
    fn the_last_writer_of_every_byte_counts() {
        let mut contents = Contents { shared: true, ..Contents::default() };
        contents.write(0..100, moment(0, 1));
        contents.write(40..60, moment(1, 2));
        assert_eq!(writers(&mut contents, 0..100), [(0, 1), (1, 2)]);
        assert_eq!(writers(&mut contents, 40..60), [(1, 2)]);
        assert_eq!(writers(&mut contents, 60..61), [(0, 1)]);
        contents.write(30..70, moment(2, 3));
        assert_eq!(writers(&mut contents, 35..65), [(2, 3)]);
        contents.write(0..200, moment(3, 4));
        assert_eq!(writers(&mut contents, 0..1000), [(3, 4)]);
        contents.cut(50, Some(moment(4, 5)));
        assert_eq!(writers(&mut contents, 50..200), []);
        assert_eq!(writers(&mut contents, 0..50), [(3, 4)]);
    }

    #[test]
    fn a_file_of_one_process_takes_one_entry() {
        let mut contents = Contents::default();
        contents.open(0, 0, false);
        (0..1000u64).for_each(|block| contents.write(block * 10..block * 10 + 10, moment(0, block as u32)));
        assert_eq!(contents.pieces.len(), 1);
        contents.open(1, 10_000, false);
        contents.write(10_000..10_010, moment(0, 1000));
        assert_eq!(contents.pieces.len(), 2, "from now on it matters which write it was");
    }

    #[test]
    fn which_write_it_was_matters_once_another_thread_reads() {
        let mut contents = Contents::default();
        contents.write(0..10, moment(0, 1));
        assert_eq!(writers(&mut contents, 0..10), [(0, 1)]);
        // Behind the entry of a read that returns later.
        contents.write(10..20, moment(0, 2));
        contents.write(20..30, moment(0, 100));
        assert_eq!(writers(&mut contents, 10..20), [(0, 2)]);
    }

    #[test]
    fn a_hole_is_read_after_the_write_behind_it() {
        let mut contents = Contents { shared: true, ..Contents::default() };
        contents.write(4096..8192, moment(0, 1));
        assert_eq!(writers(&mut contents, 0..4096), [(0, 1)]);
        contents.write(0..4096, moment(1, 2));
        assert_eq!(writers(&mut contents, 0..4096), [(1, 2)], "no hole any more");
        contents.cut(9000, Some(moment(2, 3)));
        assert_eq!(writers(&mut contents, 8000..9000), [(0, 1), (2, 3)], "made longer by ftruncate");
        let mut there = Contents::default();
        there.open(0, 9000, false);
        there.write(100..200, moment(0, 1));
        assert_eq!(writers(&mut there, 0..100), [], "the file was as long before");
    }

    #[test]
    fn a_reader_is_told_once() {
        let mut contents = Contents::default();
        contents.write(0..10, moment(0, 1));
        let (mut already_ordered, mut found) = (AlreadyOrdered::default(), Dependencies::default());
        contents.read(0..10, moment(1, 5), &mut already_ordered, &mut found);
        contents.read(0..10, moment(1, 6), &mut already_ordered, &mut found);
        assert_eq!(found.len(), 1);
        contents.write(0..10, moment(0, 7));
        contents.read(0..10, moment(1, 8), &mut already_ordered, &mut found);
        assert_eq!(found.len(), 2);
    }
}
