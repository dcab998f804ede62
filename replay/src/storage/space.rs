//! How much room a replay takes: the plan's writes, done in the abstract.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use syn_plan::{Counted, FileId, HandleId, Initial, Io, Op, Plan};

const TRUNCATES: i32 = 0o1000;
const APPENDS: i32 = 0o2000;
/// `RENAME_NOREPLACE`.
const NO_REPLACE: u32 = 1;

/// Which repeat a step is in: its program, and the number there; 0 when in none.
type Repeat = (usize, u64);

/// The most bytes that the files of `plan` take at one time, when its steps happen in the recorded order. The steps of a
/// repeat are looked at once, as if each were done as often as the repeat says before the next one: in between there may
/// be less.
pub fn needed_bytes(plan: &Plan) -> u64 {
    let mut disk = Disk::before(plan);
    let mut programs: Vec<_> = plan.programs.iter().map(|program| program.steps.counted()).collect();
    let mut next: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut steps: Vec<Option<Counted>> = programs.iter_mut().map(Iterator::next).collect();
    let due =
        |counted: Option<Counted>, index| counted.map(|counted| Reverse((counted.step.start_ns, index)));
    next.extend(steps.iter().enumerate().filter_map(|(index, &counted)| due(counted, index)));
    while let Some(Reverse((_, index))) = next.pop() {
        let Some(Counted { step, times, repeat }) = steps[index] else { continue };
        if let Op::Io { call, result: result @ 0.. } = step.op {
            (disk.repeat, disk.times) = ((index, repeat), times.into());
            disk.apply(plan.programs[index].thread.process, call, result as u64);
        }
        steps[index] = programs[index].next();
        next.extend(due(steps[index], index));
    }
    u64::try_from(disk.peak).unwrap_or(u64::MAX)
}

/// What one file holds, by whatever names: its length, and how much of it is data; at least one of the two bounds what it takes.
#[derive(Clone, Copy, Default)]
struct Inode {
    bytes: u128,
    written: u128,
    /// The repeat that cut it last: each iteration does.
    cut_in: Repeat,
    /// Names and open handles: without any it is gone.
    held: u32,
}

impl Inode {
    fn taken(self) -> u128 {
        self.bytes.min(self.written)
    }
}

#[derive(Clone, Copy)]
struct Position {
    inode: usize,
    offset: u128,
    appends: bool,
    /// The repeat that has set it last: each iteration does.
    set_in: Repeat,
}

struct Disk {
    /// By file of the plan: what its name leads to.
    names: Vec<usize>,
    inodes: Vec<Inode>,
    /// Those that are gone.
    unused: Vec<usize>,
    handles: HashMap<(u32, HandleId), Position>,
    taken: u128,
    peak: u128,
    /// Of the present step.
    repeat: Repeat,
    times: u128,
}

impl Disk {
    fn before(plan: &Plan) -> Disk {
        let size = |initial| match initial {
            Initial::Regular { bytes } => u128::from(bytes),
            Initial::Absent | Initial::Directory => 0,
        };
        let inodes = plan.files.iter().map(|file| size(file.initial)).map(|bytes| Inode {
            bytes,
            written: bytes,
            held: 1,
            ..Inode::default()
        });
        let inodes: Vec<Inode> = inodes.collect();
        let taken = inodes.iter().map(|inode| inode.taken()).sum();
        let names = (0..inodes.len()).collect();
        let (unused, handles) = (Vec::new(), HashMap::new());
        Disk { names, inodes, unused, handles, taken, peak: taken, repeat: (0, 0), times: 1 }
    }

    fn change(&mut self, inode: usize, change: impl FnOnce(&mut Inode)) {
        let inode = &mut self.inodes[inode];
        self.taken -= inode.taken();
        change(inode);
        self.taken += inode.taken();
        self.peak = self.peak.max(self.taken);
    }

    fn hold(&mut self, inode: usize) -> usize {
        self.inodes[inode].held += 1;
        inode
    }

    fn release(&mut self, inode: usize) {
        self.inodes[inode].held -= 1;
        if self.inodes[inode].held == 0 {
            self.cut(inode, 0);
            self.unused.push(inode);
        }
    }

    /// From now on a name leads to this, or to nothing yet. What it led to before is held by others, or gone.
    fn lead(&mut self, file: FileId, to: Option<usize>) {
        let to = to.unwrap_or_else(|| {
            let inode = self.unused.pop().unwrap_or(self.inodes.len());
            if inode == self.inodes.len() {
                self.inodes.push(Inode::default());
            }
            self.hold(inode)
        });
        let before = std::mem::replace(&mut self.names[file as usize], to);
        self.release(before);
    }

    /// A handle is another one's from now on, or nobody's.
    fn put(&mut self, process: u32, handle: HandleId, position: Option<Position>) {
        let before = match position {
            Some(position) => {
                self.hold(position.inode);
                self.handles.insert((process, handle), position)
            }
            None => self.handles.remove(&(process, handle)),
        };
        if let Some(before) = before {
            self.release(before.inode);
        }
    }

    fn write(&mut self, inode: usize, end: u128, bytes: u128) {
        let written = bytes * self.times;
        self.change(inode, |inode| {
            inode.bytes = inode.bytes.max(end);
            inode.written += written;
        });
    }

    /// How often iterations go on from where the one before was; not if each goes back to the same place first.
    fn times_from(&self, put_back_in: Repeat) -> u128 {
        if put_back_in == self.repeat && self.repeat.1 > 0 { 1 } else { self.times }
    }

    fn cut(&mut self, inode: usize, bytes: u64) {
        let repeat = self.repeat;
        self.change(inode, |inode| {
            inode.cut_in = repeat;
            inode.bytes = bytes.into();
            inode.written = inode.written.min(bytes.into());
        });
    }

    fn apply(&mut self, process: u32, call: Io, result: u64) {
        let position = |handle| self.handles.get(&(process, handle)).copied();
        let set_in = self.repeat;
        match call {
            Io::Open { file, handle, flags, .. } => {
                let inode = self.names[file as usize];
                if flags & TRUNCATES != 0 {
                    self.cut(inode, 0);
                }
                let position = Position { inode, offset: 0, appends: flags & APPENDS != 0, set_in };
                self.put(process, handle, Some(position));
            }
            Io::Inherit { file, handle, flags, offset } | Io::Share { file, handle, flags, offset } => {
                let inode = self.names[file as usize];
                let position =
                    Position { inode, offset: offset.into(), appends: flags & APPENDS != 0, set_in };
                self.put(process, handle, Some(position));
            }
            Io::Dup { handle, new } => {
                if let Some(position) = position(handle) {
                    self.put(process, new, Some(Position { set_in, ..position }));
                }
            }
            Io::Close { handle } => self.put(process, handle, None),
            Io::Seek { handle, offset } => {
                if let Some(position) = self.handles.get_mut(&(process, handle)) {
                    (position.offset, position.set_in) = (offset.into(), set_in);
                }
            }
            Io::Read { handle, .. } => {
                if let Some(from) = position(handle) {
                    let moved = u128::from(result) * self.times_from(from.set_in);
                    self.move_to(process, handle, from.offset + moved);
                }
            }
            Io::Write { handle, .. } => {
                if let Some(to) = position(handle) {
                    let file = &self.inodes[to.inode];
                    let (offset, put_back_in) =
                        if to.appends { (file.bytes, file.cut_in) } else { (to.offset, to.set_in) };
                    let end = offset + u128::from(result) * self.times_from(put_back_in);
                    self.write(to.inode, end, result.into());
                    self.move_to(process, handle, end);
                }
            }
            Io::WriteAt { handle, offset, .. } => {
                if let Some(to) = position(handle) {
                    self.write(to.inode, u128::from(offset) + u128::from(result), result.into());
                }
            }
            Io::SubmitWrite { handle, bytes, offset, .. } => {
                let write = match u64::try_from(offset) {
                    Ok(offset) => Io::WriteAt { handle, bytes, offset },
                    Err(_) => Io::Write { handle, bytes },
                };
                self.apply(process, write, result);
            }
            Io::Send { handle, bytes, offset: ..0 } => {
                self.apply(process, Io::Read { handle, bytes }, result);
            }
            Io::SendTo { from, to, bytes, offset } => {
                self.apply(process, Io::Send { handle: from, bytes, offset }, result);
                self.apply(process, Io::Write { handle: to, bytes }, result);
            }
            Io::CopyRange { from, to, bytes, offset, to_offset } => {
                self.apply(process, Io::Send { handle: from, bytes, offset }, result);
                let write = match u64::try_from(to_offset) {
                    Ok(offset) => Io::WriteAt { handle: to, bytes, offset },
                    Err(_) => Io::Write { handle: to, bytes },
                };
                self.apply(process, write, result);
            }
            // Only what the file has is touched. Holes that are read take room as well, on tmpfs.
            Io::Populate { handle, offset, bytes, .. } | Io::PopulateAtRandom { handle, offset, bytes } => {
                if let Some(to) = position(handle) {
                    let length = self.inodes[to.inode].bytes;
                    let end = (u128::from(offset) + u128::from(bytes)).min(length);
                    self.write(to.inode, end, end.saturating_sub(offset.into()));
                }
            }
            // To make a hole, or to take a part out, takes no room.
            Io::Allocate { handle, mode, offset, bytes }
                if mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_COLLAPSE_RANGE) == 0 =>
            {
                if let Some(to) = position(handle) {
                    self.write(to.inode, u128::from(offset) + u128::from(bytes), bytes.into());
                }
            }
            Io::PosixFallocate { handle, offset, bytes } => {
                self.apply(process, Io::Allocate { handle, mode: 0, offset, bytes }, result);
            }
            Io::Ftruncate { handle, bytes } => {
                if let Some(at) = position(handle) {
                    self.cut(at.inode, bytes);
                }
            }
            Io::Truncate { file, bytes } => self.cut(self.names[file as usize], bytes),
            Io::Unlink { file } => self.lead(file, None),
            Io::Link { from, to } => {
                let inode = self.hold(self.names[from as usize]);
                self.lead(to, Some(inode));
            }
            Io::Rename { from, to } | Io::RenameWith { from, to, flags: 0 | NO_REPLACE } => {
                let inode = self.names[from as usize];
                // Two names of one file stay (rename(2)).
                if inode != self.names[to as usize] {
                    self.hold(inode);
                    self.lead(to, Some(inode));
                    self.lead(from, None);
                }
            }
            Io::RenameWith { from, to, .. } => self.names.swap(from as usize, to as usize),
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
    use syn_plan::{Balance, File, Program, Step, Steps, Thread};

    fn needed(initial: u64, calls: &[(Io, i64)]) -> u64 {
        needed_by(initial, calls.iter().map(|&(call, result)| Op::Io { call, result }))
    }

    fn needed_by(initial: u64, ops: impl IntoIterator<Item = Op>) -> u64 {
        let step = |op| Step { start_ns: 0, took_ns: 0, op };
        let thread = Thread { process: 0, rank: None, pid: 1, tid: 1, ends_with_process: false };
        let file = |path: &str, bytes| File { path: path.into(), initial: Initial::Regular { bytes } };
        needed_bytes(&Plan {
            files: vec![file("/a", initial), file("/b", 0)],
            programs: vec![Program {
                thread,
                balance: Balance::default(),
                steps: ops.into_iter().map(step).collect::<Steps>(),
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
        let (close, unlink) = ((Io::Close { handle: 0 }, 0), (Io::Unlink { file: 0 }, 0));
        let calls = [open(0, 1), write(0), close, unlink, open(1, 1), write(1)];
        assert_eq!(needed(0, &calls), 50);
        let calls = [open(0, 1), write(0), (Io::Rename { from: 0, to: 1 }, 0), open(0, 1), write(0)];
        assert_eq!(needed(0, &calls), 100);
    }

    #[test]
    fn a_file_is_there_while_it_has_a_name_or_is_open() {
        let write = |handle| (Io::Write { handle, bytes: 50 }, 50);
        let (unlink, close) = (|file| (Io::Unlink { file }, 0), |handle| (Io::Close { handle }, 0));
        let temporary = |file| [open(file, 1), unlink(file), write(file), close(file)];
        assert_eq!(needed(0, &[temporary(0), temporary(1), temporary(0)].concat()), 50);
        assert_eq!(needed(0, &[&temporary(0)[..3], &temporary(1)].concat()), 100, "the first is still open");
        let hole = (Io::Allocate { handle: 0, mode: 3, offset: 0, bytes: 1 << 40 }, 0);
        assert_eq!(needed(0, &[open(0, 1), write(0), hole]), 50);
        let allocate = (Io::PosixFallocate { handle: 0, offset: 0, bytes: 70 }, 0);
        assert_eq!(needed(0, &[open(0, 1), write(0), allocate]), 70);
        let link = (Io::Link { from: 0, to: 1 }, 0);
        let linked = [open(0, 1), write(0), close(0), link, unlink(0), open(0, 1), write(0)];
        assert_eq!(needed(0, &linked), 100);
        let both_gone = [&linked[..5], &[unlink(1), open(0, 1), write(0)]].concat();
        assert_eq!(needed(0, &both_gone), 50);
    }

    /// Needed by `calls` before and `body` so often, and the same step by step.
    fn repeated(calls: &[(Io, i64)], count: u32, body: &[(Io, i64)]) -> (u64, u64) {
        let io = |&(call, result): &(Io, i64)| Op::Io { call, result };
        let once: Vec<Op> = body.iter().map(io).collect();
        let repeat = Op::Repeat { count, steps: body.len() as u32 };
        let before = calls.iter().map(io);
        let short = needed_by(0, before.clone().chain([repeat]).chain(once.clone()));
        let long = needed_by(0, before.chain((0..count).flat_map(|_| once.clone())));
        (short, long)
    }

    #[test]
    fn repeats_take_what_their_iterations_take() {
        let write = |bytes| (Io::Write { handle: 0, bytes }, bytes as i64);
        let same = |calls: &[(Io, i64)], body: &[(Io, i64)], bytes| {
            assert_eq!(repeated(calls, 20, body), (bytes, bytes), "{calls:?}, then {body:?}");
        };
        same(&[open(0, 1)], &[write(10)], 200);
        same(&[open(0, 1)], &[write(10), (Io::Fsync { handle: 0 }, 0), write(5)], 300);
        same(&[open(0, 1)], &[(Io::Seek { handle: 0, offset: 7 }, 0), write(10)], 17);
        same(&[], &[open(0, 1 | TRUNCATES), write(10), write(10)], 20);
        same(&[], &[open(0, 1 | APPENDS), write(10)], 200);
        same(&[], &[open(0, 1 | APPENDS | TRUNCATES), write(10)], 10);
        same(&[open(0, 2)], &[(Io::WriteAt { handle: 0, bytes: 10, offset: 5 }, 10)], 15);
        same(&[open(0, 2)], &[], 0);
    }

    #[test]
    fn a_repeat_without_end_is_looked_at_once() {
        let write = Op::Io { call: Io::Write { handle: 0, bytes: 1 << 40 }, result: 1 << 40 };
        let repeats = [Op::Repeat { count: u32::MAX, steps: 1 }, write].into_iter().cycle().take(600_000);
        let open = Op::Io { call: open(0, 1).0, result: 0 };
        assert_eq!(needed_by(0, [open].into_iter().chain(repeats)), u64::MAX);
        assert_eq!(needed_by(0, [open, Op::Repeat { count: u32::MAX, steps: 1 }, Op::Sleep { ns: 1 }]), 0);
    }
}
