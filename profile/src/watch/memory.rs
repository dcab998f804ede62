//! Memory: resident size of the tree in every sample, its proportional size now and then, page faults.

use super::watcher::{Totals, Watcher, Whole};
use crate::metrics::Metrics;
use crate::proc::{Reader, field, page_bytes};
use crate::sample::Field;
use crate::sys;
use crate::tree::Tree;
use std::time::Instant;

/// The proportional size takes the kernel a walk over all pages: it may take this part of the time at most.
const PSS_SHARE: u32 = 5000;

/// See the module.
#[derive(Default)]
pub struct Memory {
    before: sys::Usage,
    reader: Reader,
    pss_bytes: Option<u64>,
    pss_next_ns: u64,
}

impl Watcher for Memory {
    fn pre(&mut self) {
        self.before = sys::children();
        // The first look at it is not for the short start phase.
        self.pss_next_ns = 200_000_000;
    }

    fn sample(&mut self, tree: &mut Tree, now_ns: u64, totals: &mut Totals) {
        let pages: u64 = tree.living.values().map(|process| process.stat.resident_pages).sum();
        // All are ending, and have given it back: that is no level of the run.
        if pages > 0 {
            totals.set(Field::Resident, pages * page_bytes());
        }
        totals.set(Field::Faults, self.faults(tree));
        if now_ns >= self.pss_next_ns {
            let began = Instant::now();
            let mut sum = None;
            for pid in tree.living.keys() {
                let text = self.reader.read(&format!("/proc/{pid}/smaps_rollup"));
                if let Some(kib) = text.and_then(|text| field::<u64>(text, "\nPss:")) {
                    sum = Some(sum.unwrap_or(0) + kib * 1024);
                }
            }
            self.pss_bytes = self.pss_bytes.max(sum);
            self.pss_next_ns = now_ns + (began.elapsed() * PSS_SHARE).as_nanos() as u64;
        }
    }

    fn post(&mut self, tree: &Tree, totals: &mut Totals) {
        totals.set(Field::Faults, self.faults(tree));
        // What was there at the last look stays: a level of the last instant alone would be 0 for every program.
    }

    fn finalize(&mut self, whole: &Whole<'_>, metrics: &mut Metrics) {
        let seen = tree_peak(whole.tree);
        // A child begins as this program, and its peak with what that had; and it is the highest of all that were ever waited for.
        let reaped = Some(sys::children().peak_bytes);
        let least = sys::own_peak_bytes().max(self.before.peak_bytes);
        let one = seen.max(reaped.filter(|&peak| peak > least).unwrap_or(0));
        let peak = whole.peak_bytes.max(one);
        let unknown = format!(
            "no look found the processes with their memory, and the kernel's peak has what the profiler had ({} MiB) in it: none of them had more than that",
            least >> 20
        );
        let known = |bytes: u64| (bytes > 0).then_some(bytes as f64);
        metrics.either(
            "memory.peak",
            "B",
            known(peak),
            "highest sum over processes of any sample, or peak of one (rusage)",
            &unknown,
        );
        metrics.either(
            "memory.peak_of_one",
            "B",
            known(one),
            "resident sizes seen; rusage of the reaped where that is more than the profiler, and repeats before, had",
            &unknown,
        );
        metrics.either(
            "memory.proportional",
            "B",
            self.pss_bytes.map(|bytes| bytes as f64),
            "highest sum of Pss in smaps_rollup, looked at now and then",
            "the run was too short for it, or smaps_rollup may not be read",
        );
        let touched = whole.totals.get(Field::Faults).unwrap_or(0) * page_bytes();
        let how = "pages touched for the first time (page faults without a device)";
        metrics.measured("memory.allocated", "B", touched as f64, how);
        metrics.measured("memory.freed", "B", touched as f64, "all of it, when the processes have ended");
    }
}

impl Memory {
    fn faults(&self, tree: &Tree) -> u64 {
        let living: u64 = tree.living.values().map(|process| process.stat.faults.iter().sum::<u64>()).sum();
        sys::children().faults - self.before.faults + living
    }
}

fn tree_peak(tree: &Tree) -> u64 {
    tree.living.values().chain(&tree.gone).map(|process| process.peak_bytes).max().unwrap_or(0)
}
