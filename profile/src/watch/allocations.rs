//! What allocators were asked for: counters that the preloaded library `libsynalloc.so` adds to, in all processes of the
//! command (`allocations/src/counters.rs` describes the file).

use super::{Totals, Watcher, Whole};
use crate::metrics::Metrics;
use crate::profile::Tail;
use crate::sample::{Block, BlockKind, Field};
use crate::tree::Tree;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

const MAGIC: u64 = u64::from_le_bytes(*b"SYNALLOC");
const VERSION: u64 = 1;
const SLOTS: usize = 32;
const BINS: usize = 48;
const HEAD: usize = 4096;
const SLOT: usize = 1024;
const LENGTH: usize = HEAD + SLOTS * SLOT;
const PEAK: usize = 3;

/// See the module.
pub struct Allocations {
    path: Option<PathBuf>,
    file: Option<File>,
    refused: Option<String>,
    bytes: Vec<u8>,
    counted: Counted,
}

/// All that was counted so far.
#[derive(Clone, Copy, Debug)]
struct Counted {
    /// Calls and bytes asked for, by size.
    bins: [[u64; 2]; BINS],
    /// Bytes taken, calls that gave back, bytes given back.
    others: [u64; 3],
    /// Most bytes that one process held.
    peak: u64,
}

impl Allocations {
    /// With the file in which the library counts, if it is there.
    pub fn new(path: Option<PathBuf>) -> Allocations {
        let counted = Counted { bins: [[0; 2]; BINS], others: [0; 3], peak: 0 };
        Allocations { path, file: None, refused: None, bytes: Vec::new(), counted }
    }

    fn look(&mut self, totals: &mut Totals) {
        let Some(file) = &self.file else { return };
        self.bytes.resize(LENGTH, 0);
        if file.read_exact_at(&mut self.bytes, 0).is_err() {
            return;
        }
        self.counted = Counted::of(&self.bytes);
        totals.set(Field::Allocations, self.counted.bins.iter().map(|bin| bin[0]).sum());
        totals.set(Field::AllocatedBytes, self.counted.others[0]);
        totals.set(Field::FreedBytes, self.counted.others[2]);
    }
}

impl Watcher for Allocations {
    fn pre(&mut self) {
        let Some(path) = &self.path else { return };
        let mut bytes = vec![0; LENGTH];
        for (place, word) in [MAGIC, VERSION, SLOTS as u64].into_iter().enumerate() {
            bytes[8 * place..][..8].copy_from_slice(&word.to_le_bytes());
        }
        match std::fs::write(path, bytes).and_then(|()| File::open(path)) {
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
        metrics.measured("memory.allocated", "B", self.counted.others[0] as f64, how);
        metrics.measured("memory.freed", "B", self.counted.others[2] as f64, how);
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
    fn of(bytes: &[u8]) -> Counted {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let sum = |place: usize| {
            (0..SLOTS).map(|slot| word(HEAD + slot * SLOT + 8 * place)).fold(0, u64::wrapping_add)
        };
        Counted {
            bins: std::array::from_fn(|bin| [sum(2 * bin), sum(2 * bin + 1)]),
            others: std::array::from_fn(|place| sum(2 * BINS + place)),
            peak: word(8 * PEAK),
        }
    }
}
