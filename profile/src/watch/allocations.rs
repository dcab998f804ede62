//! What allocators were asked for: counters that the preloaded library `libsynalloc.so` adds to, in all processes of the
//! command (`syn_trace::allocations` is the file).

use super::watcher::{Totals, Watcher, Whole};
use crate::metrics::Metrics;
use crate::profile::Tail;
use crate::sample::{Block, BlockKind, Field};
use crate::tree::Tree;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use syn_trace::allocations::{BINS, Counters, CountersFile};

/// See the module.
pub struct Allocations {
    path: Option<PathBuf>,
    file: Option<CountersFile>,
    refused: Option<String>,
    counted: Counted,
}

/// All that was counted so far.
#[derive(Clone, Copy, Debug)]
struct Counted {
    /// Calls and bytes asked for, by size.
    bins: [[u64; 2]; BINS],
    /// Bytes taken, bytes given back.
    bytes: [u64; 2],
    /// Most bytes that one process held.
    peak: u64,
}

impl Allocations {
    /// With the file in which the library counts, if it is there.
    pub fn new(path: Option<PathBuf>) -> Allocations {
        let counted = Counted { bins: [[0; 2]; BINS], bytes: [0; 2], peak: 0 };
        Allocations { path, file: None, refused: None, counted }
    }

    fn look(&mut self, totals: &mut Totals) {
        let Some(file) = &self.file else { return };
        self.counted = Counted::of(file);
        totals.set(Field::Allocations, self.counted.bins.iter().map(|bin| bin[0]).sum());
        totals.set(Field::AllocatedBytes, self.counted.bytes[0]);
        totals.set(Field::FreedBytes, self.counted.bytes[1]);
    }
}

impl Watcher for Allocations {
    fn pre(&mut self) {
        let Some(path) = &self.path else { return };
        match CountersFile::create(path) {
            Ok(file) => self.file = Some(file),
            Err(error) => self.refused = Some(format!("cannot make {}: {error}", path.display())),
        }
    }

    fn sample(&mut self, _tree: &mut Tree, _now_ns: u64, totals: &mut Totals) {
        self.look(totals);
    }

    fn post(&mut self, _tree: &Tree, totals: &mut Totals) {
        self.look(totals);
    }

    fn finalize(&mut self, _whole: &Whole<'_>, metrics: &mut Metrics) {
        let calls: u64 = self.counted.bins.iter().map(|bin| bin[0]).sum();
        if calls == 0 {
            let why = match (&self.refused, &self.file) {
                (Some(why), _) => why,
                (None, Some(file)) if file.head.loaded.load(Ordering::Relaxed) > 0 => {
                    "the program took no block from an allocator"
                }
                (None, Some(_)) => "nothing was counted: the library cannot be loaded into this program",
                (None, None) => {
                    "sizes of allocations are counted by a preloaded library: use --shim or --allocations"
                }
            };
            metrics.missing("memory.block", "B", why);
            return;
        }
        let how = "malloc and the like, of the programs into which libsynalloc.so was loaded";
        let asked: u64 = self.counted.bins.iter().map(|bin| bin[1]).sum();
        metrics.measured("memory.allocated", "B", self.counted.bytes[0] as f64, how);
        metrics.measured("memory.freed", "B", self.counted.bytes[1] as f64, how);
        metrics.measured("memory.allocations", "", calls as f64, how);
        metrics.measured("memory.block", "B", asked as f64 / calls as f64, "bytes asked for / calls");
        let peak = self.counted.peak as f64;
        metrics.measured(
            "memory.allocated_peak",
            "B",
            peak,
            "most that one process held, to 32 KiB a thread",
        );
    }

    fn details(&mut self, tail: &mut Tail) {
        for (bin, &[count, bytes]) in self.counted.bins.iter().enumerate().filter(|(_, counts)| counts[0] > 0)
        {
            tail.blocks.push(Block { kind: BlockKind::Allocate, bin: bin as u8, count, bytes });
        }
    }
}

impl Counted {
    fn of(file: &Counters) -> Counted {
        Counted {
            bins: std::array::from_fn(|bin| [0, 1].map(|place| file.sum(|slot| &slot.asked[bin][place]))),
            bytes: [file.sum(|slot| &slot.taken), file.sum(|slot| &slot.given_back)],
            peak: file.head.peak.load(Ordering::Relaxed),
        }
    }
}
