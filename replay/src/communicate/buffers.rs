//! Memory for what calls of MPI send and receive, there before the replay starts.

#![allow(unsafe_code)]

use anyhow::ensure;
use std::cell::UnsafeCell;
use std::os::raw::c_void;
use syn_plan::{Collective, Mpi, Op, Plan, Referent, SendMode};

/// What an MPI adds to a message in the buffer of `MPI_Bsend`, bytes: `MPI_BSEND_OVERHEAD` is 96 to 128.
const OVERHEAD: u64 = 512;
/// The most for that buffer; pages of it that nobody needs take no memory.
const MOST_ATTACHED: u64 = 1 << 30;

/// Bytes that MPI writes to, at places that any type may have.
#[derive(Debug)]
pub struct Buffer(Box<[UnsafeCell<u64>]>);

// SAFETY: nobody but MPI looks at the bytes, and what they are says nothing.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Of so many bytes, all of them there.
    pub fn new(bytes: u64) -> Buffer {
        Buffer((0..bytes.div_ceil(8)).map(|_| UnsafeCell::new(0x3f3f_3f3f_3f3f_3f3f)).collect())
    }

    /// Where it begins.
    pub fn at(&self) -> *mut c_void {
        self.0.as_ptr() as *mut c_void
    }

    fn bytes(&self) -> u64 {
        self.0.len() as u64 * 8
    }
}

/// The memory of one rank.
#[derive(Debug)]
pub struct Buffers {
    /// All that it sends.
    pub send: Buffer,
    /// What it receives in calls that block.
    pub receive: Buffer,
    /// What it receives by requests, by their numbers.
    pub requests: Vec<Buffer>,
    /// For `MPI_Bsend`.
    attached: Vec<u8>,
    /// All requests and matched messages have lower numbers.
    pub slots: usize,
}

/// How much is needed.
#[derive(Debug, Default)]
struct Needed {
    send: u64,
    receive: u64,
    requests: Vec<u64>,
    attached: u64,
    /// All windows together.
    windows: u64,
    slots: u64,
}

impl Buffers {
    /// For all calls of the part of a plan that `rank` replays.
    ///
    /// # Errors
    /// When there is not so much memory.
    pub fn of(plan: &Plan, rank: u32) -> anyhow::Result<Buffers> {
        let mut needed = Needed::default();
        for counted in plan.programs.iter().flat_map(|program| program.steps.counted()) {
            if let Op::Mpi { call, .. } = counted.step.op {
                needed.add(plan, rank, &call, counted.times);
            }
        }
        let requests = needed.requests.iter().fold(0u64, |sum, &bytes| sum.saturating_add(bytes));
        let all = requests.saturating_add(needed.send).saturating_add(needed.receive);
        let all = all.saturating_add(needed.windows);
        let free = available();
        ensure!(all <= free, "the messages of a rank take {all} bytes at once, and there are {free} free");
        Ok(Buffers {
            send: Buffer::new(needed.send),
            receive: Buffer::new(needed.receive),
            requests: needed.requests.into_iter().map(Buffer::new).collect(),
            attached: Vec::with_capacity(needed.attached.min(MOST_ATTACHED) as usize),
            slots: needed.slots as usize,
        })
    }

    /// The buffer for `MPI_Bsend`: where it begins, and its length; none where nobody needs one.
    pub fn attached(&mut self) -> Option<(*mut c_void, i32)> {
        let length = self.attached.capacity();
        (length > 0).then(|| (self.attached.as_mut_ptr().cast(), length as i32))
    }

    /// Where a request receives.
    pub fn of_request(&self, request: u32) -> *mut c_void {
        self.requests.get(request as usize).filter(|buffer| buffer.bytes() > 0).unwrap_or(&self.receive).at()
    }
}

impl Needed {
    fn add(&mut self, plan: &Plan, rank: u32, call: &Mpi, times: u64) {
        let (mut sent, mut received) = call.bytes();
        if let Mpi::Collective { kind, comm, root, counts, from, .. }
        | Mpi::Icollective { kind, comm, root, counts, from, .. }
        | Mpi::CollectiveInit { kind, comm, root, counts, from, .. } = *call
        {
            let [counts, from] = [counts, from].map(|list| plan.lists[list as usize].iter().sum::<u64>());
            let group = plan.group(comm);
            let members = group.map_or(1, |group| group.len());
            let is_root = group.and_then(|group| group.position(rank)) == u64::try_from(root).ok();
            // Not what the plan says that it moves, but what MPI will.
            let (gives, gets) = (sent, received);
            sent = sent.max(counts);
            received = received.max(sent).max(from);
            match kind {
                Collective::Gather if is_root => received = received.max(gives.saturating_mul(members)),
                Collective::Allgather => received = received.max(gives.saturating_mul(members)),
                Collective::Scatter if is_root => sent = sent.max(gets.saturating_mul(members)),
                Collective::ReduceScatterBlock => sent = sent.max(gets.saturating_mul(members)),
                _ => {}
            }
        }
        let buffered = |mode| mode == SendMode::Buffered;
        match *call {
            Mpi::Send { mode, .. } | Mpi::Isend { mode, .. } if buffered(mode) => {
                self.attached = self.attached.saturating_add((sent + OVERHEAD).saturating_mul(times));
            }
            Mpi::WinMake { bytes, .. } => self.windows = self.windows.saturating_add(bytes),
            Mpi::SendInit { mode, .. } if buffered(mode) => self.attached = MOST_ATTACHED,
            _ => {}
        }
        self.send = self.send.max(sent);
        let mut slots = self.slots;
        call.refer(|what, number| match what {
            Referent::Request => slots = slots.max(u64::from(number) + 1),
            Referent::List if matches!(call, Mpi::Start { .. } | Mpi::Complete { .. }) => {
                let last = plan.lists[number as usize].iter().max();
                slots = slots.max(last.map_or(0, |&last| last + 1));
            }
            _ => {}
        });
        self.slots = slots;
        match *call {
            Mpi::Irecv { request, .. }
            | Mpi::RecvInit { request, .. }
            | Mpi::Imrecv { new: request, .. }
            | Mpi::Icollective { request, .. }
            | Mpi::CollectiveInit { request, .. }
            | Mpi::FileItransfer { request, .. }
            | Mpi::RmaRequest { request, .. } => {
                let request = request as usize;
                if self.requests.len() <= request {
                    self.requests.resize(request + 1, 0);
                }
                self.requests[request] = self.requests[request].max(received.max(8));
            }
            _ => self.receive = self.receive.max(received.max(sent)),
        }
    }
}

/// Memory that the machine could give, bytes.
fn available() -> u64 {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib.saturating_mul(1024))
}
