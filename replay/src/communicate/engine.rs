//! Makes the calls of MPI of one rank.
//!
//! A call that asked whether something was complete, and heard that it was, is asked again until it is. One that completed one
//! request of several is given that one alone: the others are null, so that what the program did next follows what it followed.

#![allow(unsafe_code)]

use super::buffers::{Buffer, Buffers};
use super::collectives::{Gathering, Numbers};
use super::seat::Seat;
use super::tables::Table;
use crate::clock::{now_ns, sleep_until};
use crate::failure::complain;
use crate::job::Job;
use crate::storage::Paths;
use crate::transport::communicator::{Shared, pause};
use mpi::ffi::{self, MPI_Comm, MPI_File, MPI_Message, MPI_Request, MPI_Win};
use mpi::traits::{Communicator, CommunicatorCollectives};
use std::cell::Cell;
use std::collections::HashMap;
use std::os::raw::{c_int, c_void};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use syn_plan::{CommId, FIRST_COMMUNICATOR, Mpi, Op, Plan, SELF, WORLD};

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
    /// By number in the plan.
    pub(super) comms: Table<MPI_Comm>,
    pub(super) requests: Table<MPI_Request>,
    pub(super) messages: Table<MPI_Message>,
    /// Counts and displacements of collective operations.
    pub(super) numbers: Numbers,
    /// There are persistent collective operations.
    pub(super) prepares: bool,
    state: Mutex<State>,
    /// Threads may call MPI at once.
    lets_all_in: bool,
    /// How long MPI took to begin here, nanoseconds.
    begin_ns: u64,
    /// A thread makes calls now and then.
    busy: AtomicBool,
    /// By program of the plan: what its thread does.
    pub(super) seats: Box<[Seat]>,
}

// SAFETY: handles of MPI mean the same in every thread, and MPI is initialised with MPI_THREAD_MULTIPLE where a rank has
// several; the tables are behind a lock.
unsafe impl Send for Engine<'_> {}
// SAFETY: as for `Send`: every field is either behind the lock, atomic, or not changed.
unsafe impl Sync for Engine<'_> {}

pub(super) struct State {
    /// By number in the plan, null where none is open.
    pub(super) files: Vec<MPI_File>,
    /// By number in the plan, with the memory that is ours.
    pub(super) windows: HashMap<u32, (MPI_Win, Option<Buffer>)>,
    /// What is done each time a request is started, where MPI has no such request: persistent collectives are new in MPI 4.
    pub(super) persistent: HashMap<u32, Gathering>,
}

impl<'a> Engine<'a> {
    /// For the part of a plan that `rank` replays; `own` is what the replay itself talks through. `lets_all_in`: threads may call
    /// MPI at once; `begin_ns`: so long it took to begin.
    ///
    /// # Errors
    /// When there is not enough memory for the messages.
    pub fn new(
        job: &Job<'a>,
        rank: u32,
        own: &'a Shared,
        lets_all_in: bool,
        begin_ns: u64,
    ) -> anyhow::Result<Engine<'a>> {
        let plan = job.plan;
        let mut buffers = Buffers::of(plan, rank)?;
        if let Some((at, length)) = buffers.attached() {
            // SAFETY: so many bytes, which stay until they are detached in `drop`.
            unsafe { ffi::MPI_Buffer_attach(at, length) };
        }
        // SAFETY: constants of the MPI that is linked.
        let (world, alone, null, nothing, no_message) = unsafe {
            (
                ffi::RSMPI_COMM_WORLD,
                ffi::RSMPI_COMM_SELF,
                ffi::RSMPI_COMM_NULL,
                ffi::RSMPI_REQUEST_NULL,
                ffi::RSMPI_MESSAGE_NULL,
            )
        };
        let comms = Table::new(null, FIRST_COMMUNICATOR as usize + plan.communicators.len());
        comms.set(WORLD, world);
        comms.set(SELF, alone);
        let (requests, messages) =
            (Table::new(nothing, buffers.slots), Table::new(no_message, buffers.slots));
        let calls = || plan.programs.iter().flat_map(|program| program.steps.iter()).map(|step| step.op);
        let prepares = calls().any(|op| matches!(op, Op::Mpi { call: Mpi::CollectiveInit { .. }, .. }));
        let (files, windows, persistent) = (Vec::new(), HashMap::new(), HashMap::new());
        Ok(Engine {
            plan,
            rank,
            own,
            places: (job.folder, job.paths),
            buffers,
            comms,
            requests,
            messages,
            numbers: Numbers::of(plan, rank),
            prepares,
            state: Mutex::new(State { files, windows, persistent }),
            lets_all_in,
            begin_ns,
            busy: AtomicBool::new(false),
            seats: plan.programs.iter().map(|_| Seat::default()).collect(),
        })
    }

    /// Makes a call of this program.
    pub fn call(&self, program: usize, call: &Mpi) {
        match call {
            Mpi::Init | Mpi::Finalize => self.rest(),
            _ if !self.busy.load(Ordering::Relaxed) => self.begin(),
            _ => {}
        }
        let seat = &self.seats[program];
        let calls = seat.enter(call);
        // SAFETY: the plan's check has found that what the call refers to is there; sizes are those for which the
        // buffers were made.
        unsafe { self.make(call) };
        seat.leave(calls);
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
        self.comms.get(comm)
    }

    /// Puts a new request into its place.
    pub(super) fn keep(&self, number: u32, request: MPI_Request) {
        self.requests.set(number, request);
    }

    /// What is started by this number is no collective operation any more.
    pub(super) fn forget_collective(&self, number: u32) {
        if self.prepares {
            self.state().persistent.remove(&number);
        }
    }

    unsafe fn make(&self, call: &Mpi) {
        let buffers = &self.buffers;
        // SAFETY: as the caller vouches, here and below.
        unsafe {
            let mut new = ffi::RSMPI_REQUEST_NULL;
            match *call {
                Mpi::Send { .. }
                | Mpi::Isend { .. }
                | Mpi::SendInit { .. }
                | Mpi::Recv { .. }
                | Mpi::Irecv { .. }
                | Mpi::RecvInit { .. }
                | Mpi::Sendrecv { .. }
                | Mpi::Probe { .. }
                | Mpi::Mprobe { .. }
                | Mpi::Mrecv { .. }
                | Mpi::Imrecv { .. } => self.on_message(call),
                Mpi::Start { list, all } => self.start(list, all),
                Mpi::RequestFree { request } => {
                    let mut freed = self.requests.get(request);
                    self.keep(request, new);
                    self.forget_collective(request);
                    if freed != ffi::RSMPI_REQUEST_NULL {
                        ffi::MPI_Request_free(&mut freed);
                    }
                }
                Mpi::Cancel { request } => {
                    let mut request = self.requests.get(request);
                    if request != ffi::RSMPI_REQUEST_NULL {
                        ffi::MPI_Cancel(&mut request);
                    }
                }
                Mpi::Complete { how, given, list } => self.complete(how, given, list),
                Mpi::Collective { kind, comm, root, sent, received, counts, from } => {
                    let what = Gathering { kind, comm, root, sent, received, counts, from };
                    self.gather(&what, buffers.receive.at(), None);
                }
                Mpi::Icollective { kind, comm, root, sent, received, counts, from, request } => {
                    let what = Gathering { kind, comm, root, sent, received, counts, from };
                    self.gather(&what, buffers.of_request(request), Some(&mut new));
                    self.keep(request, new);
                }
                Mpi::CollectiveInit { kind, comm, root, sent, received, counts, from, request } => {
                    let what = Gathering { kind, comm, root, sent, received, counts, from };
                    self.state().persistent.insert(request, what);
                }
                Mpi::MakeComm { how, comm, new } => self.make_communicator(how, comm, new),
                Mpi::MakeBridge { comm, new } => self.make_bridge(comm, new),
                Mpi::MakeTopology { comm, new, sources, destinations } => {
                    self.make_topology(comm, new, [sources, destinations]);
                }
                Mpi::FreeComm { comm } => {
                    let mut freed = self.comm(comm);
                    if freed != ffi::RSMPI_COMM_NULL {
                        ffi::MPI_Comm_free(&mut freed);
                    }
                    self.comms.set(comm, ffi::RSMPI_COMM_NULL);
                }
                Mpi::Init => {
                    self.meet();
                    sleep_until(now_ns().saturating_add(self.begin_ns));
                }
                Mpi::Finalize => self.meet(),
                Mpi::InitEnter | Mpi::FinalizeEnter => {}
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

    pub(super) unsafe fn gather(&self, what: &Gathering, to: *mut c_void, request: Option<&mut MPI_Request>) {
        let from = self.buffers.send.at();
        // SAFETY: as the caller vouches; the numbers stay as long as the engine.
        unsafe { what.make(&self.numbers, self.comm(what.comm), (from, to), request) }
    }

    /// Ends the job: what succeeded in the recording did not.
    pub(super) fn fail(&self, why: &str) -> ! {
        complain(format_args!("rank {}: {why}", self.rank));
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

/// Asks until the answer is yes.
pub(super) fn until(mut ask: impl FnMut(&mut c_int) -> c_int) {
    let mut flag = 0;
    while flag == 0 {
        ask(&mut flag);
    }
}
