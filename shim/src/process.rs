//! What a process knows of itself: whether and where it records, and what stands in the header of its threads.
//!
//! Everything here is set once, at start (and again in a forked child), before any thread of the process records.

use crate::clock;
use crate::living;
use crate::preemption;
use crate::private_table;
use crate::settings;
use crate::span;
use crate::sys;
use crate::thread::{self, State};
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use syn_trace::calls::{Call, Layer};
use syn_trace::header::{self, ClockPair, HEADER_BYTES, Header};
use syn_trace::policy::{self, Policy};
use syn_trace::record::{self, Times};

/// The longest path of a run folder.
pub const FOLDER_BYTES: usize = 4096;
/// The longest path that the kernel tells, and as much of the arguments.
const PATH_BYTES: usize = 4096;
/// What fstatfs(2) says of pipes that have no name, and of sockets.
const PIPEFS_MAGIC: i64 = 0x5049_5045;
const SOCKFS_MAGIC: i64 = 0x534f_434b;
/// The most open descriptors that are noted when a process starts.
const MAX_INHERITED: u32 = 4096;

const UNKNOWN: u8 = 0;
const STARTING: u8 = 1;
/// Every call is recorded.
const RECORDING: u8 = 2;
/// Of launchers, and of programs that the user leaves out, process creation alone is recorded.
const PROCESS_ONLY: u8 = 3;
const OFF: u8 = 4;

static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);
static CONFINED: AtomicBool = AtomicBool::new(false);
static LEFT_OUT: AtomicBool = AtomicBool::new(false);
static CAPABILITIES: AtomicU64 = AtomicU64::new(0);
static PID: AtomicU32 = AtomicU32::new(0);
static START_NS: AtomicU64 = AtomicU64::new(0);
static RANK: AtomicI32 = AtomicI32::new(-1);
static RANKS: AtomicI32 = AtomicI32::new(0);
static MPI: AtomicU32 = AtomicU32::new(0);
static GAP_COST: AtomicU32 = AtomicU32::new(0);
static CALL_COST: AtomicU32 = AtomicU32::new(0);
static READING_COST: AtomicU32 = AtomicU32::new(0);
/// CPU time of the thread that found out what to record, when it began to; 0 in a forked child, which need not.
static SETUP_FROM_CPU_NS: AtomicU64 = AtomicU64::new(0);
static PROCESSORS: AtomicU32 = AtomicU32::new(0);
static FOLDER_LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Bytes that are written once, before `MODE` says that they may be read.
struct Once<const N: usize>(core::cell::UnsafeCell<[u8; N]>);
// SAFETY: written only while MODE is STARTING, by the one thread that made it so; read only after that.
unsafe impl<const N: usize> Sync for Once<N> {}
impl<const N: usize> Once<N> {
    fn get(&self) -> &[u8; N] {
        // SAFETY: see above.
        unsafe { &*self.0.get() }
    }
    /// # Safety
    /// Only while `MODE` is `STARTING`.
    #[allow(clippy::mut_from_ref)]
    unsafe fn get_mut(&self) -> &mut [u8; N] {
        // SAFETY: as the caller vouches.
        unsafe { &mut *self.0.get() }
    }
}
static PROGRAM: Once<PATH_BYTES> = Once(core::cell::UnsafeCell::new([0; PATH_BYTES]));
static PROGRAM_LENGTH: AtomicUsize = AtomicUsize::new(0);
static FOLDER: Once<FOLDER_BYTES> = Once(core::cell::UnsafeCell::new([0; FOLDER_BYTES]));
static BOOT_ID: Once<16> = Once(core::cell::UnsafeCell::new([0; 16]));
static HOST: Once<64> = Once(core::cell::UnsafeCell::new([0; 64]));

/// True when calls of this process are recorded; starts recording at the first call.
#[cold]
pub fn is_recording() -> bool {
    if MODE.load(Ordering::Acquire) == UNKNOWN {
        start();
    }
    matches!(MODE.load(Ordering::Acquire), RECORDING | PROCESS_ONLY)
}

/// True for calls that this process does not record. (One that does not know yet what it records leaves out none.)
#[inline(always)]
pub fn leaves_out(call: Call) -> bool {
    let mode = MODE.load(Ordering::Relaxed);
    mode != RECORDING && (mode == OFF || mode == PROCESS_ONLY && !matches!(call.layer(), Layer::Process))
}

/// True when the process's entries in libc are worth detouring.
pub fn records_everything() -> bool {
    MODE.load(Ordering::Relaxed) == RECORDING
}

/// From now on the kernel may end the process for a system call that the program does not make itself (seccomp(2)): no
/// clock pairs, no CPU readings, no growth.
pub fn confine() {
    CONFINED.store(true, Ordering::Relaxed);
}

/// See [`confine`].
pub fn is_confined() -> bool {
    CONFINED.load(Ordering::Relaxed)
}

/// The process id, as noted at start.
pub fn pid() -> u32 {
    PID.load(Ordering::Relaxed)
}

/// Finds out whether and where to record. Runs once, in the constructor or at the first hooked call before it.
fn start() {
    if MODE.compare_exchange(UNKNOWN, STARTING, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return;
    }
    // SAFETY: MODE is STARTING.
    let folder = unsafe { FOLDER.get_mut() };
    // The decision comes first: a process that is not to be recorded may be under a filter that lets nothing else pass.
    let decision = settings::decide(note_program, folder);
    if !decision.record {
        MODE.store(OFF, Ordering::Release);
        return;
    }
    SETUP_FROM_CPU_NS.store(clock::thread_cpu_ns(), Ordering::Relaxed);
    note_identity();
    FOLDER_LENGTH.store(decision.folder_length, Ordering::Relaxed);
    if decision.policy.is_process_only() {
        CAPABILITIES.fetch_or(header::PROCESS_ONLY, Ordering::Relaxed);
    }
    LEFT_OUT.store(decision.policy == Policy::LeftOut, Ordering::Relaxed);
    clock::choose();
    // SAFETY: MODE is STARTING.
    unsafe { note_machine(BOOT_ID.get_mut(), HOST.get_mut()) };
    if preemption::find() {
        CAPABILITIES.fetch_or(header::SEES_PREEMPTION, Ordering::Relaxed);
    }
    PROCESSORS.store(processors(), Ordering::Relaxed);
    measure_cost();
    let mode = if decision.policy.is_process_only() { PROCESS_ONLY } else { RECORDING };
    MODE.store(mode, Ordering::Release);
}

/// Finds out the path of the program's file: a forked child has the same.
fn note_program() -> &'static [u8] {
    // SAFETY: MODE is STARTING; the buffer is as long as said.
    let length = unsafe {
        let path = PROGRAM.get_mut();
        sys::readlink(c"/proc/self/exe".as_ptr().cast(), path.as_mut_ptr(), path.len())
    };
    PROGRAM_LENGTH.store(length.max(0) as usize, Ordering::Relaxed);
    program()
}

/// The path of the program's file.
fn program() -> &'static [u8] {
    &PROGRAM.get()[..PROGRAM_LENGTH.load(Ordering::Relaxed)]
}

fn note_identity() {
    // SAFETY: no arguments.
    PID.store(unsafe { sys::getpid() } as u32, Ordering::Relaxed);
    START_NS.store(sys::clock_ns(libc::CLOCK_MONOTONIC), Ordering::Relaxed);
}

/// In a forked child: another process, of the same run.
pub fn start_in_forked_child() {
    note_identity();
    SETUP_FROM_CPU_NS.store(0, Ordering::Relaxed);
    private_table::descriptors_are_own();
    living::begin_anew();
}

fn note_machine(boot_id: &mut [u8; 16], host: &mut [u8; 64]) {
    // As many bytes as there are in front of the newline, so that one read is all.
    let mut text = [0u8; 36];
    let text = sys::read_file(c"/proc/sys/kernel/random/boot_id", &mut text).unwrap_or(b"");
    let digits = text.iter().filter_map(|byte| char::from(*byte).to_digit(16));
    for (index, digit) in digits.take(32).enumerate() {
        boot_id[index / 2] |= (digit as u8) << (4 * (1 - index % 2));
    }
    host_name(host);
}

/// The name of the host, with zeros behind it.
pub fn host_name(host: &mut [u8; 64]) {
    // SAFETY: a zeroed utsname is valid, and the call fills it in.
    unsafe {
        let mut name: libc::utsname = core::mem::zeroed();
        sys::uname(&mut name);
        for (to, from) in host[..63].iter_mut().zip(name.nodename) {
            *to = from as u8;
        }
    }
}

/// Measures what recording one call costs: outside the call, and inside its duration; and what a CPU reading does. The smallest of a few
/// batches is taken, since whatever disturbs the measurement makes it longer.
fn measure_cost() {
    let mut bytes = [0u8; 256];
    let (mut gap, mut call) = (u64::MAX, u64::MAX);
    for _ in 0..8 {
        let began = clock::ticks();
        let mut inside = 0;
        for _ in 0..4 {
            let before = clock::ticks();
            let after = clock::ticks();
            inside += after - before;
            let times = Times { end: 1000, took: clock::units(inside), ..Times::default() };
            let numbers = core::hint::black_box([5, 4096, 1 << 20]);
            // SAFETY: a record of integers alone fits into 192 bytes.
            unsafe {
                record::encode(None, bytes.as_mut_ptr(), Call::Pread, 0, times, 4096, &numbers, &[], &[])
            };
        }
        let all = clock::ticks() - began;
        call = call.min(inside / 4);
        gap = gap.min(all.saturating_sub(inside) / 4);
    }
    let reading = (0..3).map(|_| {
        let before = clock::ticks();
        core::hint::black_box((clock::thread_cpu_ns(), clock::voluntary_switches()));
        clock::ticks() - before
    });
    for (cost, ticks) in [(&GAP_COST, gap), (&CALL_COST, call), (&READING_COST, reading.min().unwrap_or(0))] {
        cost.store(ticks.min(u64::from(u32::MAX)) as u32, Ordering::Relaxed);
    }
}

/// How many processors there are: those that the first process of the machine, or container, may use. This one may be bound
/// to some of them. Source: sched_getaffinity(2).
fn processors() -> u32 {
    const FIRST: usize = 1;
    let count = |pid: usize| {
        let mut set = [0u64; 128];
        let arguments = [pid, size_of_val(&set), set.as_mut_ptr() as usize, 0, 0, 0];
        // SAFETY: the set is as long as said.
        let filled = unsafe { sys::call(libc::SYS_sched_getaffinity, arguments) };
        let words = filled.max(0) as usize / size_of::<u64>();
        set.iter().take(words).map(|word| word.count_ones()).sum()
    };
    u32::max(count(FIRST), count(0))
}

/// Calls `then` with the path of the run folder.
pub fn with_folder<T>(then: impl FnOnce(&[u8]) -> T) -> T {
    then(&FOLDER.get()[..FOLDER_LENGTH.load(Ordering::Relaxed)])
}

/// Calls `then` with the path of the file `name` in the run folder, ending with a zero byte.
pub fn with_path<T>(buffer: &mut [u8], name: &[u8], then: impl FnOnce(*const u8) -> Option<T>) -> Option<T> {
    let folder = &FOLDER.get()[..FOLDER_LENGTH.load(Ordering::Relaxed)];
    let name = &name[..name.iter().position(|&byte| byte == 0).unwrap_or(name.len())];
    if folder.len() + name.len() + 2 > buffer.len() {
        return None;
    }
    buffer[..folder.len()].copy_from_slice(folder);
    buffer[folder.len()] = b'/';
    buffer[folder.len() + 1..][..name.len()].copy_from_slice(name);
    buffer[folder.len() + 1 + name.len()] = 0;
    then(buffer.as_ptr())
}

/// Fills in the header of a new thread file. `started_cpu_ns` is the thread's CPU time so far.
pub fn fill_header(to: &mut Header, tid: u32, began: ClockPair, started_cpu_ns: u64) {
    let (clock, tick_shift) = clock::description();
    to.version = header::VERSION;
    to.header_bytes = HEADER_BYTES as u32;
    to.pid = pid();
    to.tid = tid;
    // SAFETY: no arguments.
    to.ppid = unsafe { sys::getppid() } as u32;
    (to.clock, to.tick_shift) = (clock, tick_shift);
    to.rank.store(RANK.load(Ordering::Relaxed), Ordering::Relaxed);
    to.ranks.store(RANKS.load(Ordering::Relaxed), Ordering::Relaxed);
    to.mpi.store(MPI.load(Ordering::Relaxed), Ordering::Relaxed);
    to.gap_cost_ticks = GAP_COST.load(Ordering::Relaxed);
    to.call_cost_ticks = CALL_COST.load(Ordering::Relaxed);
    to.reading_cost_ticks = READING_COST.load(Ordering::Relaxed);
    to.processors = PROCESSORS.load(Ordering::Relaxed);
    to.start_cpu_ns = started_cpu_ns;
    // The thread that set up is the first one of its process.
    to.setup_cpu_ns = match SETUP_FROM_CPU_NS.load(Ordering::Relaxed) {
        from if from != 0 && tid == pid() => started_cpu_ns.saturating_sub(from),
        _ => 0,
    };
    to.capabilities.store(CAPABILITIES.load(Ordering::Relaxed), Ordering::Relaxed);
    to.process_start_ns = START_NS.load(Ordering::Relaxed);
    to.start = began;
    to.latest = [began; 2];
    to.start_realtime_ns = (sys::clock_ns(libc::CLOCK_REALTIME) as i64
        - (sys::clock_ns(libc::CLOCK_MONOTONIC) as i64 - began.monotonic_ns as i64))
        as u64;
    to.boot_id = *BOOT_ID.get();
    to.host = *HOST.get();
    // The magic comes last: a file without it is one whose header was never finished.
    to.magic = header::MAGIC;
}

/// Notes what has turned out to be observable, in the headers to come and in that of this thread.
pub fn add_capability(bit: u64) {
    CAPABILITIES.fetch_or(bit, Ordering::Relaxed);
    let state = crate::tls::get();
    if crate::tls::is_state(state) {
        // SAFETY: this thread's state.
        unsafe { (*state).header().capabilities.fetch_or(bit, Ordering::Relaxed) };
    }
}

/// Says in this thread's trace what cannot be observed.
pub fn note_unobserved(what: &[u8]) {
    let state = crate::tls::get();
    if crate::tls::is_state(state) {
        // SAFETY: this thread's state.
        span::note(unsafe { &mut *state }, Call::Unobserved, 0, &[], &[what]);
    }
}

/// `MPI_Init` has told who we are.
pub fn set_world(state: &mut State, rank: i32, ranks: i32, mpi: u32) {
    RANK.store(rank, Ordering::Relaxed);
    RANKS.store(ranks, Ordering::Relaxed);
    MPI.store(mpi, Ordering::Relaxed);
    let header = state.header();
    header.rank.store(rank, Ordering::Relaxed);
    header.ranks.store(ranks, Ordering::Relaxed);
    header.mpi.store(mpi, Ordering::Relaxed);
    header.capabilities.fetch_or(header::SEES_MPI, Ordering::Relaxed);
}

/// Writes what every thread's trace begins with: the process's start and its open descriptors on the first thread,
/// who made it on every other.
pub fn first_records(state: &mut State, tid: u32, creator: u32, frame: usize) {
    state.frame = frame;
    if tid == pid() {
        process_start(state);
        inherited_descriptors(state);
        if LEFT_OUT.load(Ordering::Relaxed) {
            span::note(state, Call::Unobserved, 0, &[], &[policy::LEFT_OUT]);
        }
    } else {
        private_table::descriptors_become_shared();
        // SAFETY: no arguments.
        let thread = unsafe { libc::pthread_self() } as i64;
        span::note(state, Call::ThreadStart, 0, &[thread, i64::from(creator)], &[]);
    }
    state.frame = 0;
}

fn process_start(state: &mut State) {
    let scratch = state.scratch();
    // SAFETY: the buffer is as long as said.
    let cwd_length = unsafe { sys::getcwd(scratch.as_mut_ptr(), PATH_BYTES) }.max(1) as usize - 1;
    // One behind the other: a page that is not touched costs nothing.
    let (cwd, rest) = scratch.split_at_mut(cwd_length);
    let command = command_line(&mut rest[..PATH_BYTES]);
    // SAFETY: no arguments.
    let ppid = unsafe { sys::getppid() } as i64;
    let texts: [&[u8]; 3] = [program(), cwd, command.trim_ascii_end()];
    span::note(state, Call::ProcessStart, 0, &[ppid], &texts);
}

/// The arguments, with spaces between them: of a process that begins, as the loader passes them; of a forked child, which may
/// have overwritten them to be seen by another name, as the kernel lists them.
fn command_line(buffer: &mut [u8]) -> &[u8] {
    let is_forked = SETUP_FROM_CPU_NS.load(Ordering::Relaxed) == 0;
    let mut length = 0;
    if let Some(arguments) = settings::arguments().filter(|_| !is_forked) {
        let bytes = arguments.flat_map(|argument| argument.iter().chain(b" "));
        for (to, from) in buffer.iter_mut().zip(bytes) {
            *to = *from;
            length += 1;
        }
    } else {
        length = sys::read_file(c"/proc/self/cmdline", buffer).map_or(0, <[u8]>::len);
        for byte in buffer[..length].iter_mut().filter(|byte| **byte == 0) {
            *byte = b' ';
        }
    }
    &buffer[..length]
}

/// One record for every descriptor that is open. Most processes have a few, the lowest: where the kernel says how many there
/// are, these are tried before it is asked to list them, which takes it several times as long.
fn inherited_descriptors(state: &mut State) {
    const LOWEST: i32 = 16;
    let (path, rest) = state.scratch().split_at_mut(PATH_BYTES);
    let entries = &mut rest[..32 << 10];
    let (all, mut noted, mut tried) = (count_descriptors(), 0, 0);
    while noted < all && tried < LOWEST {
        noted += u32::from(inherited_descriptor(state, tried, path));
        tried += 1;
    }
    let mut position = (all == 0 || noted < all).then_some(0);
    while let Some(from) = position {
        let Ok((filled, behind)) = private_table::run(|| list_descriptors(entries, from)) else {
            return span::note(
                state,
                Call::Unobserved,
                0,
                &[],
                &[b"open descriptors at start: /proc is not readable"],
            );
        };
        if noted > MAX_INHERITED {
            break;
        }
        position = behind;
        let listed = directory_entries(&entries[..filled]).filter_map(parse_number);
        for fd in listed.filter(|&fd| fd >= tried) {
            noted += 1;
            inherited_descriptor(state, fd, path);
        }
    }
    if noted > MAX_INHERITED {
        span::note(
            state,
            Call::Unobserved,
            0,
            &[],
            &[b"open descriptors at start: more than 4096, the rest not listed"],
        );
    }
}

/// How many descriptors are open: the size of the folder that lists them, since Linux 6.2; before, 0.
fn count_descriptors() -> u32 {
    // SAFETY: the path ends with a zero byte, a zeroed status is valid and is filled in.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        sys::stat(c"/proc/self/fd".as_ptr().cast(), &mut status);
        status.st_size as u32
    }
}

/// Part of the list, from a position on: bytes of `entries` that were filled in, and where it goes on, if it does.
fn list_descriptors(entries: &mut [u8], position: i64) -> Result<(usize, Option<i64>), isize> {
    /// The kernel fills in as many entries as fit; one has a name of ten digits at most.
    const ENTRY_BYTES: usize = 64;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero byte, the buffer is as long as said, the descriptor is ours.
    unsafe {
        let folder = sys::openat(libc::AT_FDCWD, c"/proc/self/fd".as_ptr().cast(), flags, 0);
        if folder < 0 {
            return Err(folder);
        }
        let folder = folder as i32;
        if position != 0 {
            sys::lseek(folder, position, libc::SEEK_SET);
        }
        let mut filled = 0;
        let behind = loop {
            let rest = &mut entries[filled..];
            if rest.len() < ENTRY_BYTES {
                break Some(sys::lseek(folder, 0, libc::SEEK_CUR) as i64);
            }
            match sys::getdents64(folder, rest.as_mut_ptr(), rest.len()) {
                bytes @ 1.. => filled += bytes as usize,
                _ => break None,
            }
        };
        sys::close(folder);
        Ok((filled, behind))
    }
}

/// Notes what a descriptor is that came from somewhere else, if it is open: true; `buffer` is room for its path.
pub fn inherited_descriptor(state: &mut State, fd: i32, buffer: &mut [u8]) -> bool {
    let mut link = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0";
    let mut digits = [0; 20];
    let number = thread::decimal(fd as u64, &mut digits);
    link[14..14 + number.len()].copy_from_slice(number);
    // SAFETY: the buffer is as long as said, the status is valid for writing.
    let (length, status, flags, offset) = unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        if sys::fstat(fd, &mut status) < 0 {
            return false;
        }
        let length = if let Some(known) = known_path(fd, &status) {
            buffer[..known.len()].copy_from_slice(known);
            known.len() as isize
        } else {
            sys::readlink(link.as_ptr(), buffer.as_mut_ptr(), buffer.len().min(PATH_BYTES))
        };
        let regular = status.st_mode & libc::S_IFMT == libc::S_IFREG;
        let offset = if regular { sys::lseek(fd, 0, libc::SEEK_CUR).max(0) } else { 0 };
        (length, status, sys::fcntl(fd, libc::F_GETFL, 0).max(0), offset)
    };
    // What is of no file system is listed by its kind, "anon_inode:[eventfd]": not a path.
    let path = &buffer[..length.max(0) as usize];
    let path = if path.starts_with(b"/") { path } else { b"" };
    let numbers = [
        fd as i64,
        flags as i64,
        offset as i64,
        i64::from(status.st_mode),
        status.st_size,
        status.st_ino as i64,
    ];
    span::note(state, Call::InheritedFd, 0, &numbers, &[path]);
    true
}

/// The path where it need not be asked for, which takes several times as long as all else: the usual one of the null device
/// (of Linux's list of devices), and of sockets and pipes that are of no file system none.
fn known_path(fd: i32, status: &libc::stat) -> Option<&'static [u8]> {
    match status.st_mode & libc::S_IFMT {
        libc::S_IFCHR if status.st_rdev == libc::makedev(1, 3) => Some(b"/dev/null"),
        libc::S_IFSOCK | libc::S_IFIFO => {
            // SAFETY: a zeroed status is valid, and the call fills it in.
            let kind = unsafe {
                let mut system: libc::statfs = core::mem::zeroed();
                sys::fstatfs(fd, &mut system);
                system.f_type
            };
            (kind == PIPEFS_MAGIC || kind == SOCKFS_MAGIC).then_some(b"")
        }
        _ => None,
    }
}

/// The names in a buffer that getdents64(2) has filled.
pub fn directory_entries(entries: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = entries;
    core::iter::from_fn(move || {
        // struct linux_dirent64: inode 8, offset 8, length of the entry 2, type 1, name.
        let length = usize::from(u16::from_ne_bytes(rest.get(16..18)?.try_into().ok()?));
        let (entry, behind) = rest.split_at_checked(length)?;
        rest = behind;
        CStr::from_bytes_until_nul(entry.get(19..)?).ok().map(CStr::to_bytes)
    })
}

fn parse_number(name: &[u8]) -> Option<i32> {
    core::str::from_utf8(name).ok()?.parse().ok()
}
