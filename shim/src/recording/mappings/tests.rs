//! The table of mappings against a list that is searched from end to end.

use super::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The table is the process's: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const BASE: usize = 0x7000_0000_0000;

fn mapping(start: usize, end: usize) -> Mapping {
    Mapping { start, end, offset: start as u64, traits: DATA, owner: 0, leaving: [0, 0] }
}

fn unmap(start: usize, end: usize) -> bool {
    mark(start, end);
    remove(start, end)
}

fn found(start: usize, end: usize) -> Vec<(usize, usize)> {
    let mut all: Vec<_> =
        in_range(start, end).inspect(check).map(|mapping| (mapping.start, mapping.end)).collect();
    all.sort_unstable();
    all
}

fn check(mapping: &Mapping) {
    assert_eq!(mapping.offset, mapping.start as u64, "the offset moves with the start");
    assert_eq!(mapping.leaving, [0, 0], "no call is under way");
}

fn assert_empty() {
    assert_eq!(LIVE.load(Ordering::Relaxed), 0);
    let sets = [&TABLE.taken, &TABLE.unfiled];
    assert!(sets.into_iter().flatten().all(|bits| bits.load(Ordering::Relaxed) == 0));
    assert!((0..SLOTS).all(|slot| start_of(slot).load(Ordering::Relaxed) == NONE));
    assert_eq!(by_address::count_entries(), 0);
}

/// Numbers that look random (xorshift).
struct Numbers(usize);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// From one page to so many times the double of it.
    fn pages(&mut self, doublings: usize) -> usize {
        let most = 1 << self.below(doublings + 1);
        1 + self.below(most)
    }
}

/// The list.
#[derive(Default)]
struct Model(Vec<(usize, usize)>);

impl Model {
    fn unmap(&mut self, start: usize, end: usize) {
        for (first, behind) in core::mem::take(&mut self.0) {
            let parts = [(first, behind.min(start)), (first.max(end), behind)];
            let overlaps = first < end && start < behind;
            let kept = if overlaps { &parts[..] } else { &[(first, behind)] };
            self.0.extend(kept.iter().filter(|(first, behind)| first < behind));
        }
    }

    fn found(&self, start: usize, end: usize) -> Vec<(usize, usize)> {
        let mut all = self.0.clone();
        all.retain(|&(first, behind)| first < end && start < behind);
        all.sort_unstable();
        all
    }
}

/// Mappings of all sizes, put in, cut and taken out at random: tables of a few, of hundreds, and of thousands.
#[test]
fn finds_what_a_list_holds() {
    let _alone = alone();
    for (seed, doublings, area) in [(1, 4, 1 << 7), (2, 3, 1 << 14), (3, 12, 1 << 18), (4, 26, 1 << 30)] {
        let (mut numbers, mut model, mut most) = (Numbers(seed), Model::default(), 0);
        for round in 0..12_000 {
            let start = BASE + numbers.below(area) * PAGE;
            let end = start + numbers.pages(doublings) * PAGE;
            // Two of three are put in where nothing is, as mmap(2) does without an address.
            match numbers.below(3) {
                0 | 1 if model.found(start, end).is_empty() => {
                    assert!(insert(mapping(start, end)));
                    model.0.push((start, end));
                }
                0 => {
                    assert!(unmap(start, end));
                    model.unmap(start, end);
                }
                1 => assert_eq!(overlaps(start, end), !model.found(start, end).is_empty()),
                _ => assert_eq!(found(start, end), model.found(start, end), "round {round}"),
            }
            most = most.max(model.0.len());
        }
        assert_eq!(found(0, usize::MAX), model.found(0, usize::MAX));
        assert!(model.0.iter().all(|&(start, end)| found(start, end).len() == 1), "each is found once");
        assert!(doublings != 3 || most > 1000, "{most} at a time");
        assert!(unmap(BASE, usize::MAX));
        assert_empty();
    }
}

/// The first and the last address of a mapping, and those beside, wherever it lies in a piece.
#[test]
fn ends_at_its_ends() {
    let _alone = alone();
    for round in 0..2 {
        for pages in (0..20).map(|bits| 1 << bits).chain([3, 7, 9, 4095, 4097]) {
            for before in [0, 1, pages, (1 << 20) - 1, (1 << 20) - pages] {
                let start = BASE + before * PAGE;
                let end = start + pages * PAGE;
                assert!(insert(mapping(start, end)));
                assert!(overlaps(start, start + 1) && overlaps(end - 1, end) && overlaps(start - 1, end + 1));
                assert!(!overlaps(start - PAGE, start) && !overlaps(end, end + PAGE));
                assert!(unmap(start, end));
            }
        }
        // The same in slots that are filed by address.
        let others = BASE + (1 << 40);
        let filler = |slot| (others + slot * PAGE, others + (slot + 1) * PAGE);
        if round == 0 {
            assert!((0..500).map(filler).all(|(start, end)| insert(mapping(start, end))));
        } else {
            assert!(unmap(others, filler(500).0));
        }
    }
    assert_empty();
}

#[test]
fn slots_are_used_again() {
    let _alone = alone();
    let page = |number| (BASE + number * PAGE, BASE + (number + 1) * PAGE);
    for round in 0..3 {
        for number in 0..SLOTS {
            let (start, end) = page(number * 7919 % SLOTS);
            assert!(insert(mapping(start, end)), "round {round}");
        }
        assert!(!insert(mapping(page(SLOTS).0, page(SLOTS).1)), "it is full");
        for number in [0, 1, 31, 32, 63, 64, 2000, SLOTS - 1] {
            let (start, end) = page(number);
            assert!(unmap(start, end) && !overlaps(start, end));
            assert!(insert(mapping(start, end)) && found(start, end) == [(start, end)]);
        }
        assert!((0..SLOTS).all(|number| unmap(page(number).0, page(number).1)));
        assert_empty();
    }
}

/// What does not fit into a bucket is found all the same.
#[test]
fn buckets_fill_up() {
    let _alone = alone();
    let (start, end) = (BASE, BASE + PAGE);
    assert!((0..300).all(|_| insert(mapping(start, end))));
    assert!(TABLE.unfiled.iter().map(|bits| bits.load(Ordering::Relaxed).count_ones()).sum::<u32>() > 200);
    assert_eq!(in_range(start, end).count(), 300);
    assert!(unmap(start, end));
    assert_empty();
}

#[test]
fn cut_and_moved() {
    let _alone = alone();
    for fillers in [0, 500] {
        let others = BASE + (1 << 40);
        let filler = |number| mapping(others + number * PAGE, others + (number + 1) * PAGE);
        assert!((0..fillers).all(|number| insert(filler(number))));
        let (start, end) = (BASE, BASE + 100 * PAGE);
        assert!(insert(mapping(start, end)));
        // In two, then the front of the second part.
        assert!(unmap(start + 40 * PAGE, start + 50 * PAGE));
        assert_eq!(found(start, end), [(start, start + 40 * PAGE), (start + 50 * PAGE, end)]);
        assert!(unmap(start + 45 * PAGE, start + 60 * PAGE));
        assert_eq!(found(start, end), [(start, start + 40 * PAGE), (start + 60 * PAGE, end)]);
        // A call that failed changes nothing.
        mark(start, end);
        assert!(in_range(start, end).all(|mapping| mapping.is_leaving()));
        settle(start, end);
        assert_eq!(found(start, end).len(), 2);
        // The first part moves and grows.
        let new = BASE + (1 << 36);
        mark(start, start + 40 * PAGE);
        assert!(relocate(start, 40 * PAGE, new, 80 * PAGE, false));
        assert!(!overlaps(start, start + 40 * PAGE));
        let moved: Vec<_> = in_range(new, new + 1).map(|mapping| (mapping.start, mapping.end)).collect();
        assert_eq!(moved, [(new, new + 80 * PAGE)]);
        assert!(unmap(BASE, usize::MAX));
        assert_empty();
    }
}

/// Every thread finds its own mappings, each once, while others put theirs in and take them out beside them, in the same
/// pieces and buckets.
#[test]
fn threads_side_by_side() {
    const THREADS: usize = 4;
    let _alone = alone();
    let work = |thread: usize| {
        let mut numbers = Numbers(thread + 1);
        let place = |number: usize| BASE + (number * THREADS + thread) * 4 * PAGE;
        let mut pages = [0; 700];
        for _ in 0..20_000 {
            let number = numbers.below(pages.len());
            let (start, end) = (place(number), place(number) + pages[number] * PAGE);
            if pages[number] == 0 {
                pages[number] = 1 + numbers.below(4);
                assert!(insert(mapping(start, start + pages[number] * PAGE)));
            } else if pages[number] > 1 && numbers.below(2) == 0 {
                assert!(unmap(end - PAGE, end));
                pages[number] -= 1;
            } else {
                assert!(unmap(start, end));
                pages[number] = 0;
            }
            let (other, behind) = (place(numbers.below(pages.len())), 4 * PAGE);
            let expected = pages[(other - place(0)) / (place(1) - place(0))];
            let seen: Vec<_> = in_range(other, other + behind).map(|mapping| mapping.bytes()).collect();
            assert_eq!(seen, if expected == 0 { vec![] } else { vec![expected * PAGE] });
        }
        for (number, _) in pages.iter().enumerate().filter(|(_, pages)| **pages != 0) {
            assert!(unmap(place(number), place(number) + 4 * PAGE));
        }
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|thread| drop(scope.spawn(move || work(thread)))));
    assert_empty();
}
