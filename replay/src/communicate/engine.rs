//! Makes the calls of MPI of one rank.
//!
//! A call that asked whether something was complete, and heard that it was, is asked again until it is. One that completed one
//! request of several is given that one alone: the others are null, so that what the program did next follows what it followed.

#![allow(unsafe_code)]

use super::buffers::{Buffer, Buffers};
use super::collectives::{Gathering, Kept};
use crate::job::Job;
use crate::storage::Paths;
use crate::transport::messages::{Shared, pause};
use mpi::ffi::{self, MPI_Comm, MPI_File, MPI_Group, MPI_Message, MPI_Request, MPI_Win};
use mpi::traits::{Communicator, CommunicatorCollectives};
use std::cell::Cell;
use std::collections::HashMap;
use std::os::raw::{c_int, c_void};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use syn_plan::{ANY, CommId, Completion, Creation, Group, Mpi, NOBODY, NONE, Plan, SendMode, WORLD};

thread_local! {
    /// This thread is the one that makes calls.
    static CALLS: Cell<bool> = const { Cell::new(false) };
}

/// The state of the calls of one rank.
pub struct Engine<'a> {
    pub(super) plan: &'a Plan,
    pub(super) rank: u32,
    /// The replay's own communicator.
    own: &'a Shared,
    /// The storage's folder, and the names of files in it.
    pub(super) places: (&'a Path, &'a Paths),
    pub(super) buffers: Buffers,
    state: Mutex<State>,
    /// Threads may call MPI at once.
    lets_all_in: bool,
    /// A thread makes calls now and then.
    busy: AtomicBool,
    /// Calls that have begun and ended, and the number of the last in its table.
    pub(super) begun: AtomicU64,
    pub(super) ended: AtomicU64,
    pub(super) last: AtomicU64,
}

// SAFETY: handles of MPI mean the same in every thread, and MPI is initialised with MPI_THREAD_MULTIPLE where a rank has
// several; the tables are behind a lock.
unsafe impl Send for Engine<'_> {}
// SAFETY: as for `Send`: every field is either behind the lock, atomic, or not changed.
unsafe impl Sync for Engine<'_> {}

pub(super) struct State {
    /// By number in the plan.
    comms: Vec<MPI_Comm>,
    requests: Vec<Slot>,
    /// By number in the plan, null where none is open.
    pub(super) files: Vec<MPI_File>,
    /// By number in the plan, with the memory that is ours.
    pub(super) windows: HashMap<u32, (MPI_Win, Option<Buffer>)>,
}

/// A request, or a matched message.
struct Slot {
    request: MPI_Request,
    message: MPI_Message,
    /// What is done each time it is started, where MPI has no such request: persistent collectives are new in MPI 4.
    persistent: Option<Gathering>,
    /// What MPI reads while it is active.
    _kept: Option<Kept>,
}

impl Slot {
    fn empty() -> Slot {
        // SAFETY: constants of the MPI that is linked.
        let (request, message) = unsafe { (ffi::RSMPI_REQUEST_NULL, ffi::RSMPI_MESSAGE_NULL) };
        Slot { request, message, persistent: None, _kept: None }
    }
}

impl State {
    fn slot(&mut self, request: u32) -> &mut Slot {
        let request = request as usize;
        if self.requests.len() <= request {
            self.requests.resize_with(request + 1, Slot::empty);
        }
        &mut self.requests[request]
    }
}

/// Where a message goes or comes from: communicator, rank, tag.
type Envelope = (MPI_Comm, c_int, c_int);

impl<'a> Engine<'a> {
    /// For the part of a plan that `rank` replays; `own` is what the replay itself talks through. `lets_all_in`: threads may call
    /// MPI at once.
    ///
    /// # Errors
    /// When there is not enough memory for the messages.
    pub fn new(job: &Job<'a>, rank: u32, own: &'a Shared, lets_all_in: bool) -> anyhow::Result<Engine<'a>> {
        let plan = job.plan;
        let mut buffers = Buffers::of(plan, rank)?;
        if let Some((at, length)) = buffers.attached() {
            // SAFETY: so many bytes, which stay until they are detached in `drop`.
            unsafe { ffi::MPI_Buffer_attach(at, length) };
        }
        // SAFETY: constants of the MPI that is linked.
        let (world, alone, null) =
            unsafe { (ffi::RSMPI_COMM_WORLD, ffi::RSMPI_COMM_SELF, ffi::RSMPI_COMM_NULL) };
        let mut comms = vec![world, alone];
        comms.resize(2 + plan.communicators.len(), null);
        let state =
            Mutex::new(State { comms, requests: Vec::new(), files: Vec::new(), windows: HashMap::new() });
        let [begun, ended, last] = [const { AtomicU64::new(0) }; 3];
        let places = (job.folder, job.paths);
        let busy = AtomicBool::new(false);
        Ok(Engine { plan, rank, own, places, buffers, state, lets_all_in, busy, begun, ended, last })
    }

    /// Makes a call.
    pub fn call(&self, call: &Mpi) {
        match call {
            Mpi::Init | Mpi::Finalize => self.rest(),
            _ if !self.busy.load(Ordering::Relaxed) => self.begin(),
            _ => {}
        }
        self.last.store(call.number().into(), Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the plan's check has found that what the call refers to is there; sizes are those for which the
        // buffers were made.
        unsafe { self.make(call) };
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// From here on this thread makes calls.
    #[cold]
    fn begin(&self) {
        CALLS.set(true);
        let _nobody_calls = self.own.lock();
        self.busy.store(true, Ordering::Release);
    }

    /// This thread makes no calls for now.
    pub fn rest(&self) {
        if CALLS.replace(false) {
            self.busy.store(false, Ordering::Release);
        }
    }

    /// Whether another thread makes calls, and this MPI lets one thread in at a time.
    pub fn is_called_elsewhere(&self) -> bool {
        !self.lets_all_in && self.busy.load(Ordering::Acquire) && !CALLS.get()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn comm(&self, comm: CommId) -> MPI_Comm {
        match comm {
            // SAFETY: a constant of the MPI that is linked.
            WORLD => unsafe { ffi::RSMPI_COMM_WORLD },
            _ => self.state().comms[comm as usize],
        }
    }

    fn envelope(&self, comm: CommId, peer: i32, tag: i32) -> Envelope {
        // SAFETY: constants of the MPI that is linked.
        let (nobody, any, any_tag) =
            unsafe { (ffi::RSMPI_PROC_NULL, ffi::RSMPI_ANY_SOURCE, ffi::RSMPI_ANY_TAG) };
        let peer = match peer {
            NOBODY => nobody,
            ANY => any,
            peer => peer,
        };
        // A message to nobody has any tag, which MPI may not take.
        let tag = match tag {
            ANY => any_tag,
            tag => tag.max(0),
        };
        (self.comm(comm), peer, tag)
    }

    /// Puts a new request into its place.
    pub(super) fn keep(&self, number: u32, request: MPI_Request) {
        *self.state().slot(number) = Slot { request, ..Slot::empty() };
    }

    unsafe fn make(&self, call: &Mpi) {
        let buffers = &self.buffers;
        let (send, receive) = (buffers.send.at().cast_const(), buffers.receive.at());
        // SAFETY: as the caller vouches, here and below.
        unsafe {
            let byte = ffi::RSMPI_UINT8_T;
            let ignored = ffi::RSMPI_STATUS_IGNORE;
            let mut new = ffi::RSMPI_REQUEST_NULL;
            match *call {
                Mpi::Send { mode, comm, peer, tag, bytes } => {
                    let send_it = match mode {
                        SendMode::Standard => ffi::MPI_Send,
                        SendMode::Buffered => ffi::MPI_Bsend,
                        SendMode::Synchronous => ffi::MPI_Ssend,
                        SendMode::Ready => ffi::MPI_Rsend,
                    };
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    send_it(send, bytes as c_int, byte, peer, tag, comm);
                }
                Mpi::Isend { mode, comm, peer, tag, bytes, request } => {
                    let send_it = match mode {
                        SendMode::Standard => ffi::MPI_Isend,
                        SendMode::Buffered => ffi::MPI_Ibsend,
                        SendMode::Synchronous => ffi::MPI_Issend,
                        SendMode::Ready => ffi::MPI_Irsend,
                    };
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    send_it(send, bytes as c_int, byte, peer, tag, comm, &mut new);
                    self.keep(request, new);
                }
                Mpi::SendInit { mode, comm, peer, tag, bytes, request } => {
                    let prepare = match mode {
                        SendMode::Standard => ffi::MPI_Send_init,
                        SendMode::Buffered => ffi::MPI_Bsend_init,
                        SendMode::Synchronous => ffi::MPI_Ssend_init,
                        SendMode::Ready => ffi::MPI_Rsend_init,
                    };
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    prepare(send, bytes as c_int, byte, peer, tag, comm, &mut new);
                    self.keep(request, new);
                }
                Mpi::Recv { comm, peer, tag, bytes } => {
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    ffi::MPI_Recv(receive, bytes as c_int, byte, peer, tag, comm, ignored);
                }
                Mpi::Irecv { comm, peer, tag, bytes, request } => {
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    let to = buffers.of_request(request);
                    ffi::MPI_Irecv(to, bytes as c_int, byte, peer, tag, comm, &mut new);
                    self.keep(request, new);
                }
                Mpi::RecvInit { comm, peer, tag, bytes, request } => {
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    let to = buffers.of_request(request);
                    ffi::MPI_Recv_init(to, bytes as c_int, byte, peer, tag, comm, &mut new);
                    self.keep(request, new);
                }
                Mpi::Sendrecv { comm, peer, tag, bytes, source, received_tag, room, replace } => {
                    let (comm, peer, tag, source, received_tag) = {
                        let (there, source, received_tag) = self.envelope(comm, source, received_tag);
                        let (_, peer, tag) = self.envelope(comm, peer, tag);
                        (there, peer, tag, source, received_tag)
                    };
                    let (bytes, room) = (bytes as c_int, room as c_int);
                    if replace {
                        ffi::MPI_Sendrecv_replace(
                            receive,
                            bytes,
                            byte,
                            peer,
                            tag,
                            source,
                            received_tag,
                            comm,
                            ignored,
                        );
                    } else {
                        ffi::MPI_Sendrecv(
                            send,
                            bytes,
                            byte,
                            peer,
                            tag,
                            receive,
                            room,
                            byte,
                            source,
                            received_tag,
                            comm,
                            ignored,
                        );
                    }
                }
                Mpi::Probe { comm, peer, tag, test } => {
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    if !test {
                        ffi::MPI_Probe(peer, tag, comm, ignored);
                        return;
                    }
                    until(|flag| ffi::MPI_Iprobe(peer, tag, comm, flag, ignored));
                }
                Mpi::Mprobe { comm, peer, tag, test, request } => {
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    let mut message = ffi::RSMPI_MESSAGE_NULL;
                    if test {
                        until(|flag| ffi::MPI_Improbe(peer, tag, comm, flag, &mut message, ignored));
                    } else {
                        ffi::MPI_Mprobe(peer, tag, comm, &mut message, ignored);
                    }
                    *self.state().slot(request) = Slot { message, ..Slot::empty() };
                }
                Mpi::Mrecv { request, bytes } => {
                    let mut message = self.state().slot(request).message;
                    ffi::MPI_Mrecv(receive, bytes as c_int, byte, &mut message, ignored);
                }
                Mpi::Imrecv { request, bytes, new: number } => {
                    let mut message = self.state().slot(request).message;
                    let to = buffers.of_request(number);
                    ffi::MPI_Imrecv(to, bytes as c_int, byte, &mut message, &mut new);
                    self.keep(number, new);
                }
                Mpi::Start { list, all } => self.start(list, all),
                Mpi::RequestFree { request } => {
                    let mut freed = std::mem::replace(self.state().slot(request), Slot::empty()).request;
                    if freed != ffi::RSMPI_REQUEST_NULL {
                        ffi::MPI_Request_free(&mut freed);
                    }
                }
                Mpi::Cancel { request } => {
                    let mut request = self.state().slot(request).request;
                    if request != ffi::RSMPI_REQUEST_NULL {
                        ffi::MPI_Cancel(&mut request);
                    }
                }
                Mpi::Complete { how, given, list } => self.complete(how, given, list),
                Mpi::Collective { kind, comm, root, sent, received, counts, from } => {
                    let what = Gathering { kind, comm, root, sent, received, counts, from };
                    self.gather(&what, receive, None);
                }
                Mpi::Icollective { kind, comm, root, sent, received, counts, from, request } => {
                    let what = Gathering { kind, comm, root, sent, received, counts, from };
                    let kept = self.gather(&what, buffers.of_request(request), Some(&mut new));
                    *self.state().slot(request) = Slot { request: new, _kept: Some(kept), ..Slot::empty() };
                }
                Mpi::CollectiveInit { kind, comm, root, sent, received, counts, from, request } => {
                    let what = Gathering { kind, comm, root, sent, received, counts, from };
                    *self.state().slot(request) = Slot { persistent: Some(what), ..Slot::empty() };
                }
                Mpi::MakeComm { how, comm, new } => self.make_communicator(how, comm, new),
                Mpi::FreeComm { comm } => {
                    let mut freed = self.comm(comm);
                    if freed != ffi::RSMPI_COMM_NULL {
                        ffi::MPI_Comm_free(&mut freed);
                    }
                    self.state().comms[comm as usize] = ffi::RSMPI_COMM_NULL;
                }
                Mpi::Init | Mpi::Finalize => self.meet(),
                Mpi::FileOpen { .. }
                | Mpi::FileClose { .. }
                | Mpi::FileDelete { .. }
                | Mpi::FileView { .. }
                | Mpi::FileSeek { .. }
                | Mpi::FileCall { .. }
                | Mpi::FileTransfer { .. }
                | Mpi::FileItransfer { .. }
                | Mpi::FileLeave
                | Mpi::FileEnter => self.on_file(call),
                Mpi::WinMake { .. }
                | Mpi::WinFree { .. }
                | Mpi::WinSync { .. }
                | Mpi::WinLock { .. }
                | Mpi::Rma { .. }
                | Mpi::RmaRequest { .. } => self.on_window(call),
            }
        }
    }

    unsafe fn gather(&self, what: &Gathering, to: *mut c_void, request: Option<&mut MPI_Request>) -> Kept {
        let group = self.plan.group(what.comm).unwrap_or(Group::Alone);
        let place = (group.len() as usize, group.position(self.rank).unwrap_or(0) as c_int);
        let from = self.buffers.send.at();
        // SAFETY: as the caller vouches.
        unsafe { what.make(self.plan, self.comm(what.comm), place, (from, to), request) }
    }

    unsafe fn start(&self, list: u32, all: bool) {
        let numbers = &self.plan.lists[list as usize];
        let mut started = Vec::with_capacity(numbers.len());
        for number in numbers.iter().map(|&number| number as u32) {
            let persistent = self.state().slot(number).persistent;
            // SAFETY: as the caller vouches.
            unsafe {
                match persistent {
                    None => started.push(self.state().slot(number).request),
                    Some(what) => {
                        let mut new = ffi::RSMPI_REQUEST_NULL;
                        let kept = self.gather(&what, self.buffers.of_request(number), Some(&mut new));
                        let mut state = self.state();
                        let slot = state.slot(number);
                        (slot.request, slot._kept) = (new, Some(kept));
                    }
                }
            }
        }
        // SAFETY: these are persistent requests, whose handles starting leaves as they are.
        unsafe {
            if all && !started.is_empty() {
                ffi::MPI_Startall(started.len() as c_int, started.as_mut_ptr());
            } else {
                started.iter_mut().for_each(|request| {
                    ffi::MPI_Start(request);
                });
            }
        }
    }

    unsafe fn complete(&self, how: Completion, given: u32, list: u32) {
        let numbers = &self.plan.lists[list as usize];
        let count = numbers.len().max((given as usize).min(numbers.len() + MOST_NULL));
        // SAFETY: a constant of the MPI that is linked.
        let null = unsafe { ffi::RSMPI_REQUEST_NULL };
        let (mut few, mut many) = ([null; FEW], Vec::new());
        let requests = match few.get_mut(..count) {
            Some(few) => few,
            None => {
                many.resize(count, null);
                &mut many[..]
            }
        };
        {
            let mut state = self.state();
            for (request, &number) in requests.iter_mut().zip(numbers) {
                *request = state.slot(number as u32).request;
            }
        }
        let (all, at) = (count as c_int, requests.as_mut_ptr());
        let mut index: c_int = 0;
        // SAFETY: `at` has as many requests, and `indices` room for as many numbers.
        unsafe {
            let (ignored, all_ignored) = (ffi::RSMPI_STATUS_IGNORE, ffi::RSMPI_STATUSES_IGNORE);
            match how {
                Completion::Wait => {
                    ffi::MPI_Wait(at, ignored);
                }
                Completion::Waitall => {
                    ffi::MPI_Waitall(all, at, all_ignored);
                }
                Completion::Waitany => {
                    ffi::MPI_Waitany(all, at, &mut index, ignored);
                }
                Completion::Test => until(|flag| ffi::MPI_Test(at, flag, ignored)),
                Completion::Testall => until(|flag| ffi::MPI_Testall(all, at, flag, all_ignored)),
                Completion::Testany => until(|flag| ffi::MPI_Testany(all, at, &mut index, flag, ignored)),
                Completion::Waitsome | Completion::Testsome => {
                    let some =
                        if how == Completion::Waitsome { ffi::MPI_Waitsome } else { ffi::MPI_Testsome };
                    let mut indices = vec![0; count];
                    let mut left = numbers.len() as c_int;
                    loop {
                        let mut completed: c_int = 0;
                        some(all, at, &mut completed, indices.as_mut_ptr(), all_ignored);
                        left -= completed;
                        if left <= 0 || completed == ffi::RSMPI_UNDEFINED {
                            break;
                        }
                    }
                }
            }
        }
        let mut state = self.state();
        for (&mut request, &number) in requests.iter_mut().zip(numbers) {
            state.slot(number as u32).request = request;
        }
    }

    /// Makes a communicator with the members that it had.
    unsafe fn make_communicator(&self, how: Creation, old: CommId, new: CommId) {
        let parent = self.comm(old);
        let group = self.plan.group(new).filter(|_| new != NONE);
        // SAFETY: as the caller vouches; the groups are freed when they have been used.
        let made = unsafe {
            let mut made = ffi::RSMPI_COMM_NULL;
            match (how, group) {
                (Creation::Dup, _) => {
                    ffi::MPI_Comm_dup(parent, &mut made);
                }
                (Creation::DupWithInfo, _) => {
                    ffi::MPI_Comm_dup_with_info(parent, ffi::RSMPI_INFO_NULL, &mut made);
                }
                (Creation::Split, group) => {
                    // Groups that are made at once have no member in common.
                    let (color, key) = match group {
                        Some(group) => (
                            group.ranks().next().unwrap_or(0) as c_int,
                            group.position(self.rank).unwrap_or(0) as c_int,
                        ),
                        None => (ffi::RSMPI_UNDEFINED, 0),
                    };
                    ffi::MPI_Comm_split(parent, color, key, &mut made);
                }
                (Creation::Create | Creation::CreateGroup, group) => {
                    let mut members = self.group_of(parent, old, group);
                    if how == Creation::Create {
                        ffi::MPI_Comm_create(parent, members, &mut made);
                    } else {
                        ffi::MPI_Comm_create_group(parent, members, 0, &mut made);
                    }
                    if members != ffi::RSMPI_GROUP_EMPTY {
                        ffi::MPI_Group_free(&mut members);
                    }
                }
            }
            made
        };
        if new != NONE {
            self.state().comms[new as usize] = made;
        }
    }

    unsafe fn group_of(&self, parent: MPI_Comm, old: CommId, members: Option<Group<'_>>) -> MPI_Group {
        let among = self.plan.group(old);
        let place = |rank| among.and_then(|among| among.position(rank)).unwrap_or(0) as c_int;
        let ranks: Vec<c_int> =
            members.map(|members| members.ranks().map(place).collect()).unwrap_or_default();
        // SAFETY: as the caller vouches.
        unsafe {
            let mut group = ffi::RSMPI_GROUP_EMPTY;
            if ranks.is_empty() {
                return group;
            }
            let mut all = ffi::RSMPI_GROUP_EMPTY;
            ffi::MPI_Comm_group(parent, &mut all);
            ffi::MPI_Group_incl(all, ranks.len() as c_int, ranks.as_ptr(), &mut group);
            ffi::MPI_Group_free(&mut all);
            group
        }
    }

    /// Ends the job: what succeeded in the recording did not.
    pub(super) fn fail(&self, why: &str) -> ! {
        eprintln!("syn-replay: rank {}: {why}", self.rank);
        self.own.lock().abort(1)
    }

    /// All ranks come here, those that wait without taking the processor: other threads of this rank may signal meanwhile.
    fn meet(&self) {
        let mut arrived = self.own.lock().immediate_barrier();
        loop {
            let _lock = self.own.lock();
            match arrived.test() {
                Ok(_) => return,
                Err(not_yet) => arrived = not_yet,
            }
            drop(_lock);
            pause();
        }
    }
}

impl Drop for Engine<'_> {
    fn drop(&mut self) {
        if self.buffers.attached().is_some() {
            let (mut at, mut length) = (ptr::null_mut::<c_void>(), 0);
            // SAFETY: the buffer was attached by `new`; what is still in it is sent first.
            unsafe { ffi::MPI_Buffer_detach((&raw mut at).cast(), &mut length) };
        }
    }
}

/// So many requests are completed without memory of their own.
const FEW: usize = 16;

/// So many null requests are passed at most, whatever a plan says.
const MOST_NULL: usize = 1 << 20;

/// Asks until the answer is yes.
pub(super) fn until(mut ask: impl FnMut(&mut c_int) -> c_int) {
    let mut flag = 0;
    while flag == 0 {
        ask(&mut flag);
    }
}
