//! How much room a replay takes: the plan's writes, done in the abstract.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use syn_plan::{FileId, HandleId, Initial, Io, Op, Plan, Step};

const TRUNCATES: i32 = 0o1000;
const APPENDS: i32 = 0o2000;
/// `RENAME_NOREPLACE`.
const NO_REPLACE: u32 = 1;

/// The most bytes that the files of `plan` take at one time, when its steps happen in the recorded order.
pub fn needed_bytes(plan: &Plan) -> u64 {
    let mut disk = Disk::before(plan);
    let mut programs: Vec<_> = plan.programs.iter().map(|program| program.steps.unrolled()).collect();
    let mut next: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut steps: Vec<Option<Step>> = programs.iter_mut().map(Iterator::next).collect();
    next.extend(
        steps.iter().enumerate().filter_map(|(index, step)| step.map(|step| Reverse((step.start_ns, index)))),
    );
    while let Some(Reverse((_, index))) = next.pop() {
        let Some(step) = steps[index] else { continue };
        if let Op::Io { call, result: result @ 0.. } = step.op {
            disk.apply(plan.programs[index].thread.process, call, result as u64);
        }
        steps[index] = programs[index].next();
        next.extend(steps[index].map(|step| Reverse((step.start_ns, index))));
    }
    u64::try_from(disk.peak).unwrap_or(u64::MAX)
}

/// A file's length, and how much of it holds data: at least one of the two bounds what it takes.
#[derive(Clone, Copy, Default)]
struct Extent {
    bytes: u128,
    written: u128,
}

impl Extent {
    fn taken(self) -> u128 {
        self.bytes.min(self.written)
    }
}

#[derive(Clone, Copy)]
struct Position {
    file: FileId,
    offset: u128,
    appends: bool,
}

struct Disk {
    files: Vec<Extent>,
    handles: HashMap<(u32, HandleId), Position>,
    taken: u128,
    peak: u128,
}

impl Disk {
    fn before(plan: &Plan) -> Disk {
        let size = |initial| match initial {
            Initial::Regular { bytes } => u128::from(bytes),
            Initial::Absent | Initial::Directory => 0,
        };
        let files =
            plan.files.iter().map(|file| size(file.initial)).map(|bytes| Extent { bytes, written: bytes });
        let files: Vec<Extent> = files.collect();
        let taken = files.iter().map(|file| file.taken()).sum();
        Disk { files, handles: HashMap::new(), taken, peak: taken }
    }

    fn change(&mut self, file: FileId, change: impl FnOnce(&mut Extent)) {
        let file = &mut self.files[file as usize];
        self.taken -= file.taken();
        change(file);
        self.taken += file.taken();
        self.peak = self.peak.max(self.taken);
    }

    fn write(&mut self, file: FileId, offset: u128, bytes: u128) {
        self.change(file, |extent| {
            extent.bytes = extent.bytes.max(offset + bytes);
            extent.written += bytes;
        });
    }

    fn cut(&mut self, file: FileId, bytes: u64) {
        self.change(file, |extent| {
            extent.bytes = bytes.into();
            extent.written = extent.written.min(bytes.into());
        });
    }

    fn apply(&mut self, process: u32, call: Io, result: u64) {
        let position = |handle| self.handles.get(&(process, handle)).copied();
        match call {
            Io::Open { file, handle, flags, .. } => {
                if flags & TRUNCATES != 0 {
                    self.cut(file, 0);
                }
                let position = Position { file, offset: 0, appends: flags & APPENDS != 0 };
                self.handles.insert((process, handle), position);
            }
            Io::Inherit { file, handle, flags, offset } => {
                let position = Position { file, offset: offset.into(), appends: flags & APPENDS != 0 };
                self.handles.insert((process, handle), position);
            }
            Io::Dup { handle, new } => {
                if let Some(position) = position(handle) {
                    self.handles.insert((process, new), position);
                }
            }
            Io::Seek { handle, offset } => self.move_to(process, handle, offset.into()),
            Io::Read { handle, .. } => {
                if let Some(from) = position(handle) {
                    self.move_to(process, handle, from.offset + u128::from(result));
                }
            }
            Io::Write { handle, .. } => {
                if let Some(to) = position(handle) {
                    let offset = if to.appends { self.files[to.file as usize].bytes } else { to.offset };
                    self.write(to.file, offset, result.into());
                    self.move_to(process, handle, offset + u128::from(result));
                }
            }
            Io::WriteAt { handle, offset, .. } => {
                if let Some(to) = position(handle) {
                    self.write(to.file, offset.into(), result.into());
                }
            }
            Io::Allocate { handle, offset, bytes, .. } => {
                if let Some(to) = position(handle) {
                    self.write(to.file, offset.into(), bytes.into());
                }
            }
            Io::Ftruncate { handle, bytes } => {
                if let Some(at) = position(handle) {
                    self.cut(at.file, bytes);
                }
            }
            Io::Truncate { file, bytes } => self.cut(file, bytes),
            Io::Unlink { file } => self.cut(file, 0),
            Io::Rename { from, to } | Io::RenameWith { from, to, flags: 0 | NO_REPLACE } => {
                let moved = self.files[from as usize];
                self.cut(from, 0);
                self.change(to, |extent| *extent = moved);
            }
            Io::RenameWith { from, to, .. } => self.files.swap(from as usize, to as usize),
            _ => {}
        }
    }

    fn move_to(&mut self, process: u32, handle: HandleId, offset: u128) {
        if let Some(position) = self.handles.get_mut(&(process, handle)) {
            position.offset = offset;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn_plan::{Balance, File, Program, Steps, Thread};

    fn needed(initial: u64, calls: &[(Io, i64)]) -> u64 {
        let step = |&(call, result)| Step { start_ns: 0, took_ns: 0, op: Op::Io { call, result } };
        let thread = Thread { process: 0, rank: None, pid: 1, tid: 1, ends_with_process: false };
        let file = |path: &str, bytes| File { path: path.into(), initial: Initial::Regular { bytes } };
        needed_bytes(&Plan {
            files: vec![file("/a", initial), file("/b", 0)],
            programs: vec![Program {
                thread,
                balance: Balance::default(),
                steps: calls.iter().map(step).collect::<Steps>(),
            }],
            ..Plan::default()
        })
    }

    fn open(file: FileId, flags: i32) -> (Io, i64) {
        (Io::Open { file, handle: file, flags, mode: 0 }, 0)
    }

    #[test]
    fn sequential_positioned_and_appending_writes_are_followed() {
        let write = |bytes| (Io::Write { handle: 0, bytes }, bytes as i64);
        assert_eq!(needed(100, &[]), 100);
        assert_eq!(needed(100, &[open(0, 1), write(60), write(60)]), 120);
        assert_eq!(needed(100, &[open(0, 1 | APPENDS), write(60)]), 160);
        assert_eq!(needed(100, &[open(0, 1 | TRUNCATES), write(60)]), 100);
        assert_eq!(needed(0, &[open(0, 1), (Io::WriteAt { handle: 0, bytes: 10, offset: 1 << 50 }, 10)]), 10);
        assert_eq!(needed(0, &[open(0, 1), (Io::Write { handle: 0, bytes: 9 }, -28)]), 0);
    }

    #[test]
    fn removed_files_make_room() {
        let write = |handle| (Io::Write { handle, bytes: 50 }, 50);
        let calls = [open(0, 1), write(0), (Io::Unlink { file: 0 }, 0), open(1, 1), write(1)];
        assert_eq!(needed(0, &calls), 50);
        let calls = [open(0, 1), write(0), (Io::Rename { from: 0, to: 1 }, 0), open(0, 1), write(0)];
        assert_eq!(needed(0, &calls), 100);
    }
}
