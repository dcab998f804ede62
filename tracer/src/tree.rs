//! All traced threads, and what their stops mean.

use crate::clock;
use crate::context::Seen;
use crate::error::Error;
use crate::file::TraceFile;
use crate::filter::NATIVE;
use crate::process::{self, Birth, Limitation, Process};
use crate::ptrace::Ended;
use crate::ptrace::{self, AtEntry, Resume, Stop, Tid};
use crate::thread::{Costs, Interruption, Place, Thread, UnderWay, restart};
use std::collections::HashMap;
use std::path::Path;
use syn_trace::Call;
use syn_trace::calls::Effect;
use syn_trace::header::{self, HEADER_BYTES, Header};
use syn_trace::policy::{LEFT_OUT, Policy};
use syn_trace::record::{BEGAN, MAX_TEXT_BYTES};
use syn_trace::system_calls::{self, Room, call_of};

/// Every process below the command, and the command.
pub struct Tree<'a> {
    folder: &'a Path,
    costs: Costs,
    machine: Machine,
    /// The command's process.
    first: Tid,
    how: Option<Ended>,
    threads: HashMap<Tid, Thread>,
    processes: HashMap<Tid, Process>,
    /// New threads that have stopped before their maker said that they exist.
    unannounced: Vec<Tid>,
    /// New threads that have not stopped yet, and who made them.
    expected: HashMap<Tid, Tid>,
    room: Box<Room>,
    unmade: Option<Unmade>,
}

/// Traces that could not be made; their threads ran on, unrecorded.
#[derive(Debug)]
pub struct Unmade {
    /// How many.
    pub traces: u64,
    /// Why, of the first.
    pub first: Error,
}

/// How many processors there are: those that the first process of the machine, or container, may use. This one may be bound
/// to some of them. Source: sched_getaffinity(2).
fn processors() -> u32 {
    const FIRST: libc::pid_t = 1;
    let count = |pid| {
        // SAFETY: zeros are an empty set, which the call fills in.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(pid, size_of_val(&set), &raw mut set);
            libc::CPU_COUNT(&set) as u32
        }
    };
    count(FIRST).max(count(0))
}

/// What the headers of all threads say alike.
struct Machine {
    boot_id: [u8; 16],
    host: [u8; 64],
    processors: u32,
}

impl Machine {
    fn this() -> Machine {
        let mut machine = Machine { boot_id: [0; 16], host: [0; 64], processors: processors() };
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let digits = text.chars().filter_map(|digit| digit.to_digit(16));
        for (index, digit) in digits.take(32).enumerate() {
            machine.boot_id[index / 2] |= (digit as u8) << (4 * (1 - index % 2));
        }
        let name = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
        let name = name.trim_ascii_end();
        let length = name.len().min(machine.host.len() - 1);
        machine.host[..length].copy_from_slice(&name[..length]);
        machine
    }
}

impl<'a> Tree<'a> {
    /// The tree of a process that has been seized and does not run the command yet: there is nothing to record before.
    pub fn new(folder: &'a Path, costs: Costs, first: Tid) -> Tree<'a> {
        let mut tree = Tree {
            folder,
            costs,
            machine: Machine::this(),
            first,
            how: None,
            threads: HashMap::new(),
            processes: HashMap::new(),
            unannounced: Vec::new(),
            expected: HashMap::new(),
            room: Box::new(Room::NEW),
            unmade: None,
        };
        tree.processes.insert(first, Process::begin(first, clock::now()));
        tree.threads.insert(first, Thread::new(first, first, None, costs));
        tree
    }

    /// Records from now on, without waiting for an image.
    pub fn record_at_once(mut self) -> Tree<'a> {
        self.begin_image(self.first, Process::begin(self.first, clock::now()));
        self
    }

    /// Follows all threads until the last has ended; `ended` is told when the command has. Returns how that was, and what could
    /// not be recorded.
    pub fn follow(mut self, ended: impl FnOnce()) -> Result<(Ended, Option<Unmade>), Error> {
        let mut ended = Some(ended);
        // There may be children that are not ours to follow: those of whoever became this program by execve.
        while self.has_threads() {
            let Some((tid, stop)) = ptrace::wait()? else { break };
            self.handle(tid, stop);
            if let Some(ended) = self.how.and_then(|_| ended.take()) {
                ended();
            }
        }
        Ok((self.how.unwrap_or(Ended::Signal(libc::SIGKILL)), self.unmade))
    }

    /// False when the last thread has ended.
    fn has_threads(&mut self) -> bool {
        if self.threads.is_empty() {
            // Whoever made these was killed before it could say so.
            for tid in std::mem::take(&mut self.unannounced) {
                self.adopt(tid, tid);
            }
        }
        !(self.threads.is_empty() && self.expected.is_empty())
    }

    fn handle(&mut self, tid: Tid, stop: Stop) {
        if let Stop::Gone(how) = stop {
            return self.gone(tid, how);
        }
        let Some(thread) = self.threads.get_mut(&tid) else { return self.unknown(tid) };
        thread.stops += 1;
        match stop {
            Stop::Entry => {
                let resume = self.entry(tid);
                ptrace::resume(tid, resume, 0);
            }
            Stop::Exit => {
                self.exit(tid);
                ptrace::resume(tid, Resume::ToEntry, 0);
            }
            Stop::Made(new) => {
                self.made(tid, new);
                ptrace::resume(tid, Resume::ToExit, 0);
            }
            Stop::Image(former) => {
                self.image(tid, former);
                ptrace::resume(tid, Resume::ToEntry, 0);
            }
            Stop::Ending => {
                self.ending(tid);
                ptrace::resume(tid, Resume::ToEntry, 0);
            }
            Stop::Signal(signal) => {
                self.signal(tid, signal);
                ptrace::resume(tid, Resume::ToEntry, signal);
            }
            Stop::Group => ptrace::resume(tid, Resume::Listen, 0),
            Stop::First => ptrace::resume(tid, Resume::ToEntry, 0),
            Stop::Gone(_) => {}
        }
    }

    /// The thread and its process, if both are known and the thread has a file.
    fn recording(&mut self, tid: Tid) -> Option<(&mut Thread, &mut Process, &mut Room)> {
        let thread = self.threads.get_mut(&tid).filter(|thread| thread.file.is_some())?;
        let process = self.processes.get_mut(&thread.pid)?;
        Some((thread, process, &mut self.room))
    }

    /// A thread is about to make a call.
    fn entry(&mut self, tid: Tid) -> Resume {
        let Some(at) = ptrace::at_entry(tid) else { return Resume::ToEntry };
        let Some((thread, process, room)) = self.recording(tid) else { return Resume::ToEntry };
        if at.verdict != NATIVE {
            if let Some(file) = &mut thread.file {
                process.note(Limitation::Foreign, file);
            }
            return Resume::ToEntry;
        }
        match std::mem::replace(&mut thread.at, Place::Outside) {
            Place::Interrupted(call, _) if goes_on(&call, &at) => {
                thread.at = Place::Inside(call);
                return Resume::ToExit;
            }
            Place::Interrupted(call, interruption) => give_up(thread, process, room, &call, interruption),
            _ => {}
        }
        let left_out = |call: Call| process.leaves_out(call) && call.effect() != Effect::SetAction;
        if call_of(at.number).is_none_or(left_out) {
            return Resume::ToEntry;
        }
        if !begin(thread, process, &at) {
            return Resume::ToEntry;
        }
        let before = system_calls::look_before(at.number, &at.args, &mut Seen::before(thread, process));
        thread.at = Place::Inside(thread.enter(at, before));
        Resume::ToExit
    }

    /// A call has returned.
    fn exit(&mut self, tid: Tid) {
        let end = clock::now();
        let Some(result) = ptrace::result(tid) else { return };
        let Some((thread, process, room)) = self.recording(tid) else { return };
        let Place::Inside(call) = std::mem::replace(&mut thread.at, Place::Outside) else { return };
        if restart::is_one(result) {
            thread.at = Place::Interrupted(call, Interruption { end, result });
        } else {
            finish(thread, process, room, &call, end, result);
        }
    }

    /// A signal is about to be delivered. If it has a handler, that decides whether an interrupted call goes on.
    fn signal(&mut self, tid: Tid, signal: i32) {
        let Some((thread, process, room)) = self.recording(tid) else { return };
        let Some(flags) = process.handler(signal) else { return };
        if let Place::Interrupted(call, interruption) = thread.at {
            let goes_on = match -interruption.result {
                restart::NO_INTERRUPTION => true,
                restart::SYS => flags & i64::from(libc::SA_RESTART) != 0,
                _ => false,
            };
            if !goes_on {
                thread.at = Place::Outside;
                give_up(thread, process, room, &call, interruption);
            } else if !process.leaves_out(Call::SignalDelivered) {
                thread.at = Place::Interrupted(thread.tell_entered(call), interruption);
            }
        }
        if !process.leaves_out(Call::SignalDelivered)
            && let Some(file) = &mut thread.file
        {
            file.note(Call::SignalDelivered, 0, &[signal.into()], &[]);
        }
    }

    /// A thread has made another one, which may have stopped already.
    fn made(&mut self, tid: Tid, new: Tid) {
        match self.unannounced.iter().position(|&unannounced| unannounced == new) {
            Some(position) => {
                self.unannounced.swap_remove(position);
                self.adopt(new, tid);
            }
            // One that was killed before its first stop may have been waited for already.
            None if ptrace::exists(new) => drop(self.expected.insert(new, tid)),
            None => {}
        }
    }

    /// A thread that nobody knows has stopped: a new one.
    fn unknown(&mut self, tid: Tid) {
        match self.expected.remove(&tid) {
            Some(maker) => self.adopt(tid, maker),
            None => self.unannounced.push(tid),
        }
    }

    /// Takes in a new thread, which is stopped, and lets it go.
    fn adopt(&mut self, tid: Tid, maker: Tid) {
        let maker_pid = self.threads.get(&maker).map_or(maker, |thread| thread.pid);
        let pid = process::id_in_status(tid, "Tgid:").unwrap_or(tid);
        if pid == tid {
            let now = clock::now();
            let known = self.processes.get(&maker_pid);
            let process = known.map_or_else(|| Process::of_program(pid, now), |maker| maker.fork(pid, now));
            self.begin_image(tid, process);
        } else {
            self.begin_thread(tid, pid, |file| {
                file.note(Call::ThreadStart, 0, &[tid.into(), maker.into()], &[])
            });
        }
        ptrace::resume(tid, Resume::ToEntry, 0);
    }

    /// A process has a new image. Its other threads are gone, and the one that called execve is now the first.
    fn image(&mut self, tid: Tid, former: Tid) {
        let replaced = self.threads.extract_if(|_, thread| thread.pid == tid || thread.tid == former);
        for (_, mut thread) in replaced {
            let cpu_ns = thread.cpu_at_end_ns();
            if let Some(file) = &mut thread.file {
                let state = if thread.tid == former { header::STATE_PROCESS_ENDED } else { file.state() };
                file.finish(state, cpu_ns);
            }
        }
        self.begin_image(tid, Process::of_program(tid, clock::now()));
    }

    /// A process begins, with one thread.
    fn begin_image(&mut self, pid: Tid, process: Process) {
        let is_left_out = process.policy == Some(Policy::LeftOut);
        self.processes.insert(pid, process);
        let birth = Birth::of(pid);
        self.begin_thread(pid, pid, |file| {
            birth.record(file);
            if is_left_out {
                file.note(Call::Unobserved, 0, &[], &[LEFT_OUT]);
            }
        });
    }

    /// A thread begins; its file, with what `records` writes.
    fn begin_thread(&mut self, tid: Tid, pid: Tid, records: impl FnOnce(&mut TraceFile)) {
        let Some(process) = self.processes.get(&pid) else { return };
        if process.policy.is_none() {
            self.threads.insert(tid, Thread::new(tid, pid, None, self.costs));
            return;
        }
        let began = process
            .file(self.folder)
            .and_then(|file| TraceFile::begin(file, |start_ns| self.header(tid, process, start_ns)));
        let file = match began {
            Ok(mut file) => {
                records(&mut file);
                Some(file)
            }
            Err(fault) => {
                self.unmade.get_or_insert(Unmade { traces: 0, first: fault }).traces += 1;
                None
            }
        };
        self.threads.insert(tid, Thread::new(tid, pid, file, self.costs));
    }

    fn header(&self, tid: Tid, process: &Process, start_ns: u64) -> Header {
        let is_process_only = process.policy.is_some_and(Policy::is_process_only);
        let process_only = if is_process_only { header::PROCESS_ONLY } else { 0 };
        Header {
            magic: header::MAGIC,
            version: header::VERSION,
            header_bytes: HEADER_BYTES as u32,
            pid: process.pid as u32,
            tid: tid as u32,
            ppid: process.ppid as u32,
            tick_shift: clock::SHIFT,
            clock: header::CLOCK_MONOTONIC,
            state: header::STATE_RECORDING.into(),
            latest_index: 0.into(),
            mpi: header::MPI_NONE.into(),
            rank: (-1).into(),
            ranks: 0.into(),
            gap_cost_ticks: self.costs.wall.gap_ns,
            call_cost_ticks: self.costs.wall.call_ns,
            capabilities: (header::BY_PTRACE | header::SEES_LIBC_INTERNAL | process_only).into(),
            process_start_ns: process.start_ns,
            start_realtime_ns: clock::realtime_at(start_ns),
            start: clock::pair(start_ns),
            latest: [clock::pair(start_ns); 2],
            dropped: 0.into(),
            boot_id: self.machine.boot_id,
            host: self.machine.host,
            start_cpu_ns: clock::on_processor(tid, None).map_or(0, |so_far| so_far.ns),
            process_cpu_ns: 0.into(),
            end_ticks: 0.into(),
            end_cpu_ns: 0.into(),
            helpers_cpu_ns: 0.into(),
            reading_cost_ticks: 0,
            processors: self.machine.processors,
            setup_cpu_ns: 0,
            setup_ticks: 0.into(),
            behind: Default::default(),
            readings: Default::default(),
            job: 0.into(),
        }
    }

    /// A thread is about to end, by itself or because its process does. One that said so has its state already.
    fn ending(&mut self, tid: Tid) {
        let Some((thread, ..)) = self.recording(tid) else { return };
        let cpu_ns = thread.cpu_at_end_ns();
        if let Some(mut file) = thread.file.take() {
            file.finish(file.state(), cpu_ns);
        }
    }

    fn gone(&mut self, tid: Tid, how: Ended) {
        self.ending(tid);
        self.expected.remove(&tid);
        self.unannounced.retain(|&unannounced| unannounced != tid);
        self.threads.remove(&tid);
        if self.processes.remove(&tid).is_some() && tid == self.first {
            self.how = Some(how);
        }
    }
}

/// True when the call at this entry is the one that was interrupted.
fn goes_on(interrupted: &UnderWay, at: &AtEntry) -> bool {
    let again = (at.number, at.args, at.instruction);
    at.number == libc::SYS_restart_syscall
        || again == (interrupted.call.number, interrupted.call.args, interrupted.instruction)
}

/// Records an interrupted call as such: it does not go on.
fn give_up(thread: &mut Thread, process: &mut Process, room: &mut Room, call: &UnderWay, how: Interruption) {
    finish(thread, process, room, call, how.end, -i64::from(libc::EINTR));
}

/// Writes the records of a call that has returned.
fn finish(
    thread: &mut Thread,
    process: &mut Process,
    room: &mut Room,
    call: &UnderWay,
    end: u64,
    result: i64,
) {
    let returned = system_calls::SystemCall { result, ..call.call };
    system_calls::decode(returned, &mut Seen::behind(thread, process, call, end), room);
}

/// Records what may not return before it begins. False: it certainly does not.
fn begin(thread: &mut Thread, process: &Process, at: &AtEntry) -> bool {
    let Some(file) = &mut thread.file else { return true };
    match at.number {
        libc::SYS_execve | libc::SYS_execveat => {
            let path = if at.number == libc::SYS_execve { at.args[0] } else { at.args[1] };
            let mut room = [0; MAX_TEXT_BYTES];
            file.note(Call::Execve, BEGAN, &[], &[crate::memory::text(thread.tid, path, &mut room)]);
            true
        }
        libc::SYS_exit_group => {
            file.note(Call::Exit, BEGAN, &[i64::from(at.args[0] as i32)], &[]);
            file.set_state(header::STATE_PROCESS_ENDED);
            false
        }
        libc::SYS_exit => {
            if thread.tid == process.pid {
                file.note(Call::Exit, BEGAN, &[i64::from(at.args[0] as i32)], &[]);
            }
            file.note(Call::ThreadEnd, 0, &[], &[]);
            file.set_state(header::STATE_THREAD_ENDED);
            false
        }
        _ => true,
    }
}
