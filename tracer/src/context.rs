//! A call of a traced thread, for the decoder: it looks into the thread's memory and writes to its file.

use crate::clock;
use crate::descriptors;
use crate::memory;
use crate::process::{Limitation, Process};
use crate::thread::{CpuUse, Thread, UnderWay, flags_of, flags_of_call};
use syn_trace::Call;
use syn_trace::record::{self, Times};
use syn_trace::system_calls::{Context, Outcome, Side};

/// A call, and who made it.
pub struct Seen<'a> {
    thread: &'a mut Thread,
    process: &'a mut Process,
    /// When the call began, for its first record; then when it ended.
    start: u64,
    end: u64,
    gap: Option<CpuUse>,
    inside: Option<CpuUse>,
}

impl<'a> Seen<'a> {
    /// A call that has not begun.
    pub fn before(thread: &'a mut Thread, process: &'a mut Process) -> Seen<'a> {
        let now = clock::now();
        Seen { thread, process, start: now, end: now, gap: None, inside: None }
    }

    /// One that has ended.
    pub fn behind(thread: &'a mut Thread, process: &'a mut Process, call: &UnderWay, end: u64) -> Seen<'a> {
        let inside = thread.leave();
        Seen { thread, process, start: call.start, end, gap: call.gap, inside }
    }
}

impl Context for Seen<'_> {
    fn read(&mut self, address: u64, to: &mut [u8]) -> bool {
        memory::read(self.thread.tid, address, to)
    }

    fn try_read(&mut self, address: u64, to: &mut [u8]) -> bool {
        memory::read(self.thread.tid, address, to)
    }

    fn text<'a>(&mut self, address: u64, _: bool, room: &'a mut [u8]) -> &'a [u8] {
        memory::text(self.thread.tid, address, room)
    }

    fn status(&mut self, fd: i32) -> [i64; 3] {
        self.opened(fd, 0)
    }

    fn opened(&mut self, fd: i32, flags: i32) -> [i64; 3] {
        if fd < 0 {
            return [0; 3];
        }
        let [mode, size, inode] = descriptors::status(self.thread.tid, fd, flags);
        [mode | descriptors::birth(self.thread.tid, fd, mode, size, flags), size, inode]
    }

    fn name_of_socket(&mut self, fd: i32, side: Side, to: &mut [u8]) -> usize {
        descriptors::name_of_socket(self.thread.pid, fd, side, to)
    }

    fn peer_process(&mut self, fd: i32) -> i64 {
        descriptors::peer_process(self.thread.pid, fd)
    }

    fn has_arguments_of_kernel(&self) -> bool {
        true
    }

    fn maps_file(&mut self, address: u64, bytes: u64) -> bool {
        self.process.maps_file(address, bytes)
    }

    fn record<const N: usize>(
        &mut self,
        call: Call,
        outcome: Outcome,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    ) {
        if let Outcome::Returned(result) = outcome {
            self.process.follow(call, result, numbers);
        }
        if self.process.leaves_out(call) {
            return;
        }
        let Some(file) = &mut self.thread.file else { return };
        let (gap, inside) = (self.gap.take(), self.inside.take());
        let mut flags = flags_of(gap) | inside.map_or(0, flags_of_call);
        let number = match outcome {
            Outcome::Failed(errno) => {
                flags |= record::FAILED;
                errno
            }
            Outcome::Returned(result) => {
                let complete =
                    call.requested().is_some_and(|position| numbers.get(position) == Some(&result));
                flags |= if complete { record::COMPLETE } else { 0 };
                result
            }
        };
        let times = Times {
            end: 0,
            took: clock::units(self.end - self.start),
            cpu_before: gap.map_or(0, |used| used.ns),
            cpu_after: inside.map_or(0, |used| used.ns),
        };
        file.record(call, flags, times, self.end, number, numbers, texts, list);
        self.start = self.end;
        if let (Outcome::Returned(_), Some(limitation)) = (outcome, Limitation::of(call, numbers)) {
            self.process.note(limitation, file);
        }
    }

    fn record_descriptor(&mut self, fd: i32) {
        let descriptor = descriptors::descriptor(self.thread.tid, fd);
        self.record(Call::InheritedFd, Outcome::Returned(0), &descriptor.numbers, &[&descriptor.path], &[]);
    }
}
