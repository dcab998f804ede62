//! Files: bytes and calls of the whole tree. The kernel adds what a child has read and written to its parent when that
//! waits for it, so the sum over the living and the profiler's own children is complete.

use super::room::Room;
use super::watcher::{Totals, Watcher, Whole};
use crate::metrics::Metrics;
use crate::proc::{Io, Reader, numbers_in};
use crate::sample::Field;
use crate::tree::Tree;
use std::collections::BTreeSet;

/// See the module.
#[derive(Default)]
pub struct Storage {
    before: Io,
    /// Of the children waited for, and how many they were then.
    reaped: (u64, Io),
    reader: Reader,
    not_allowed: BTreeSet<String>,
    room: Room,
}

impl Watcher for Storage {
    fn pre(&mut self) {
        self.before = self.reaped();
    }

    fn sample(&mut self, tree: &mut Tree, now_ns: u64, totals: &mut Totals) {
        if self.reaped.0 != tree.reaped {
            self.reaped = (tree.reaped, self.reaped().minus(self.before));
        }
        let mut sum = self.reaped.1;
        for (pid, process) in &mut tree.living {
            match process.files[1].read(&mut self.reader, || format!("/proc/{pid}/io")) {
                Ok(text) => process.io = Io::parse(text).or(process.io),
                Err(rustix::io::Errno::ACCESS) => {
                    self.not_allowed.insert(process.stat.name.clone());
                }
                // It is gone, and in its parent's figures.
                Err(_) => continue,
            }
            sum = sum.plus(process.io.unwrap_or_default());
        }
        put(sum, totals);
        self.room.look(tree, now_ns);
    }

    fn post(&mut self, tree: &Tree, totals: &mut Totals) {
        let living = tree.living.values().filter_map(|process| process.io);
        put(living.fold(self.reaped().minus(self.before), Io::plus), totals);
    }

    fn finalize(&mut self, whole: &Whole<'_>, metrics: &mut Metrics) {
        let how = if self.not_allowed.is_empty() {
            "/proc/PID/io, children's included: pipes and terminals are in it, messages are not".to_owned()
        } else {
            let names: Vec<&str> = self.not_allowed.iter().map(String::as_str).collect();
            metrics.notes.push(format!(
                "bytes of processes that may not be looked at count when they have ended: {}",
                names.join(", ")
            ));
            format!(
                "/proc/PID/io; only from their ends on, since they may not be looked at: {}",
                names.join(", ")
            )
        };
        let get = |field| whole.totals.get(field).unwrap_or(0) as f64;
        let rows = [
            ("read", Field::ReadBytes, Field::Reads, Field::DeviceReadBytes),
            ("written", Field::WriteBytes, Field::Writes, Field::DeviceWriteBytes),
        ];
        for (what, bytes, calls, device) in rows {
            metrics.measured(&format!("storage.bytes_{what}"), "B", get(bytes), &how);
            metrics.measured(&format!("storage.calls_{what}"), "", get(calls), &how);
            metrics.measured(&format!("storage.device_bytes_{what}"), "B", get(device), "/proc/PID/io");
            metrics.measured(
                &format!("storage.block_{what}"),
                "B",
                get(bytes) / get(calls).max(1.0),
                "bytes / calls",
            );
            let rate = get(bytes) / (whole.wall_ns as f64 / 1e9).max(1e-9);
            metrics.measured(&format!("storage.rate_{what}"), "B/s", rate, "bytes / run time");
        }
        let written = whole.totals.get(Field::WriteBytes).unwrap_or(0);
        metrics.measured(
            crate::metrics::ROOM,
            "B",
            self.room.bytes(written) as f64,
            "lengths of files seen written, and bytes written that no position in them explains",
        );
        metrics.missing("storage.files", "", "which files and file systems is known from calls: use --shim");
    }
}

impl Storage {
    /// Of the children that this process has waited for: what is the process's and no thread's own. (No thread of the
    /// profiler ends while it profiles.)
    fn reaped(&mut self) -> Io {
        let threads = numbers_in("/proc/self/task");
        // The threads first: what reading them takes is too much by the same each time, and a difference has none of it.
        let mut own = Io::default();
        for tid in threads {
            let io = self.reader.read(&format!("/proc/self/task/{tid}/io")).and_then(Io::parse);
            own = own.plus(io.unwrap_or_default());
        }
        let whole = self.reader.read("/proc/self/io").and_then(Io::parse).unwrap_or_default();
        whole.minus(own)
    }
}

fn put(io: Io, totals: &mut Totals) {
    let fields = [
        [Field::ReadBytes, Field::WriteBytes],
        [Field::Reads, Field::Writes],
        [Field::DeviceReadBytes, Field::DeviceWriteBytes],
    ];
    for (fields, values) in fields.iter().zip([io.bytes, io.calls, io.device]) {
        for (&field, value) in fields.iter().zip(values) {
            totals.set(field, value);
        }
    }
}
