//! Memory that the processes of a replay have themselves, and not to meet demands: it is part of what demands ask for.

use crate::sys::resident_bytes;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What one part of a replay has, a rank or all of it; in memory that its processes share.
#[derive(Clone, Copy, Debug)]
pub struct OwnMemory<'a> {
    /// Bytes when it began; process ids, as far as they are known.
    words: &'a [AtomicU64],
}

impl<'a> OwnMemory<'a> {
    /// Numbers that it needs for so many processes.
    pub fn words(processes: usize) -> usize {
        processes + 2
    }

    /// In numbers that are 0.
    pub fn new(words: &'a [AtomicU64]) -> OwnMemory<'a> {
        OwnMemory { words }
    }

    /// It had so much when it began, and takes no more.
    pub fn begins_with(self, bytes: u64) {
        self.words[0].store(bytes, Relaxed);
    }

    /// It is what these processes have, less what demands hold: parts of the program come back when they are needed.
    pub fn is_of(self, pids: impl Iterator<Item = i32>) {
        self.words[1..].iter().zip(pids).for_each(|(word, pid)| word.store(pid as u64, Relaxed));
    }

    /// Bytes now, when demands hold so many.
    pub fn bytes(self, held: u64) -> u64 {
        let pids = self.words[1..].iter().map(|word| word.load(Relaxed) as i32).filter(|&pid| pid != 0);
        match resident_bytes(pids) {
            0 => self.words[0].load(Relaxed),
            all => all.saturating_sub(held),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_demands_hold_is_not_its_own() {
        let words: Vec<AtomicU64> = (0..OwnMemory::words(2)).map(|_| AtomicU64::new(0)).collect();
        let own = OwnMemory::new(&words);
        own.begins_with(5);
        assert_eq!(own.bytes(3), 5);
        // Other tests take memory of this process meanwhile.
        let is_taken_off = crate::sys::child::holds_alone(|| {
            let _taken = std::hint::black_box(vec![1u8; 4 << 20]);
            own.is_of([std::process::id() as i32].into_iter());
            let all = own.bytes(0);
            all > 1 << 20 && own.bytes(1 << 20) + (1 << 19) < all
        });
        assert!(is_taken_off);
    }
}
