//! How much room written files take: bytes that are written over others need none. The descriptors of processes that write much tell
//! which files they write, how long those are, and how far positions went; what no position explains is taken to need room.

use crate::proc::{Reader, field, numbers_in};
use crate::tree::Tree;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Of a process that has written less since the last look its descriptors are not looked at, bytes.
const MUCH: u64 = 1 << 20;
/// Looking may take this part of the time, and so much at the start.
const SHARE: u32 = 300;
const ALLOWED: Duration = Duration::from_millis(2);
/// A process with more descriptors is not looked at.
const MOST_DESCRIPTORS: usize = 256;

/// Device and number.
type Inode = (u64, u64);

/// See the module.
#[derive(Default)]
pub struct Room {
    files: BTreeMap<Inode, Written>,
    writers: BTreeMap<i32, Writer>,
    /// Bytes by which positions have advanced.
    advanced: u64,
    /// Of files that were closed, how often, and the sum of the last positions seen.
    closed: BTreeMap<Inode, (u64, u64)>,
    spent: Duration,
    reader: Reader,
}

/// A file that was seen open for writing.
struct Written {
    /// Its greatest length so far.
    bytes: u64,
    path: PathBuf,
}

/// A process, as last looked at.
#[derive(Default)]
struct Writer {
    start_ticks: u64,
    bytes: u64,
    positions: BTreeMap<Inode, u64>,
}

impl Room {
    /// Looks at those processes of the tree that have written much.
    pub fn look(&mut self, tree: &Tree, now_ns: u64) {
        if self.spent > ALLOWED + Duration::from_nanos(now_ns) / SHARE {
            return;
        }
        let begun = Instant::now();
        let ended: Vec<i32> =
            self.writers.keys().copied().filter(|pid| !tree.living.contains_key(pid)).collect();
        ended.into_iter().for_each(|pid| self.has_ended(pid));
        for (&pid, process) in &tree.living {
            let (start_ticks, written) = (process.stat.start_ticks, process.io.map_or(0, |io| io.bytes[1]));
            if self.writers.get(&pid).is_some_and(|writer| writer.start_ticks != start_ticks) {
                self.has_ended(pid);
            }
            let before = self.writers.get(&pid).map_or(0, |writer| writer.bytes);
            if written >= before + MUCH {
                self.look_at(pid, start_ticks, written);
            }
        }
        self.spent += begun.elapsed();
    }

    fn look_at(&mut self, pid: i32, start_ticks: u64, written: u64) {
        let before = self.writers.remove(&pid).unwrap_or_default();
        let mut now = Writer { start_ticks, bytes: written, positions: BTreeMap::new() };
        let descriptors = numbers_in(&format!("/proc/{pid}/fd"));
        for number in descriptors.iter().filter(|_| descriptors.len() <= MOST_DESCRIPTORS) {
            let text = self.reader.read(&format!("/proc/{pid}/fdinfo/{number}"));
            let Some(position) = text.and_then(position_of_writer) else { continue };
            let link = format!("/proc/{pid}/fd/{number}");
            let Ok(file) = std::fs::metadata(&link) else { continue };
            if !file.is_file() {
                continue;
            }
            let inode = (file.dev(), file.ino());
            let path = || std::fs::read_link(&link).unwrap_or_default();
            let seen = self.files.entry(inode).or_insert_with(|| Written { bytes: 0, path: path() });
            seen.bytes = seen.bytes.max(file.len());
            let furthest = now.positions.entry(inode).or_default();
            *furthest = position.max(*furthest);
        }
        let mut advanced = 0;
        for (&inode, &position) in &now.positions {
            let old = before.positions.get(&inode).copied().unwrap_or(0);
            advanced += position.checked_sub(old).unwrap_or_else(|| {
                // It was opened anew.
                self.is_closed(inode, old);
                position
            });
        }
        let gone = before.positions.into_iter().filter(|(inode, _)| !now.positions.contains_key(inode));
        gone.for_each(|(inode, position)| self.is_closed(inode, position));
        // A position is not where writing began, where somebody has set it.
        self.advanced += advanced.min(written - before.bytes);
        self.writers.insert(pid, now);
    }

    fn has_ended(&mut self, pid: i32) {
        let writer = self.writers.remove(&pid).unwrap_or_default();
        writer.positions.into_iter().for_each(|(inode, position)| self.is_closed(inode, position));
    }

    fn is_closed(&mut self, inode: Inode, position: u64) {
        // Who sets no position leaves it at 0.
        if position > 0 {
            let (times, sum) = self.closed.entry(inode).or_default();
            (*times, *sum) = (*times + 1, sum.saturating_add(position));
        }
    }

    /// All processes have ended, or live on as they are; so much was written. Bytes that were needed.
    pub fn bytes(&mut self, written: u64) -> u64 {
        let pids: Vec<i32> = self.writers.keys().copied().collect();
        pids.into_iter().for_each(|pid| self.has_ended(pid));
        let (mut files, mut advanced) = (0_u64, self.advanced);
        for (&inode, file) in &mut self.files {
            file.look_again(inode);
            files = files.saturating_add(file.bytes);
            // Who went through it is taken to have come to its end.
            let (times, sum) = self.closed.get(&inode).copied().unwrap_or_default();
            advanced = advanced.saturating_add(file.bytes.saturating_mul(times).saturating_sub(sum));
        }
        files.saturating_add(written.saturating_sub(advanced)).min(written)
    }
}

impl Written {
    fn look_again(&mut self, inode: Inode) {
        let file = std::fs::metadata(&self.path).ok();
        let same = file.filter(|file| (file.dev(), file.ino()) == inode);
        self.bytes = self.bytes.max(same.map_or(0, |file| file.len()));
    }
}

/// The position of a descriptor, when it is open for writing.
fn position_of_writer(fdinfo: &str) -> Option<u64> {
    let flags: String = field(fdinfo, "flags:")?;
    // O_ACCMODE is 3, O_RDONLY is 0.
    (u64::from_str_radix(&flags, 8).ok()? & 3 != 0).then_some(())?;
    field(fdinfo, "pos:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_descriptors_for_writing_have_a_writers_position() {
        assert_eq!(position_of_writer("pos:\t700\nflags:\t0100001\nmnt_id:\t1\n"), Some(700));
        assert_eq!(position_of_writer("pos:\t700\nflags:\t0100002\nmnt_id:\t1\n"), Some(700));
        assert_eq!(position_of_writer("pos:\t700\nflags:\t0100000\nmnt_id:\t1\n"), None);
    }
}
