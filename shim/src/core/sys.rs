//! System calls without libc: they touch no errno, take no lock, allocate nothing and cannot be interposed.
//!
//! Source: System V ABI, AMD64 supplement, section A.2.1 (Linux conventions); each call as in section 2 of the
//! manual. Results below zero are negated errno values.

use core::arch::asm;
use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("the shim speaks to the kernel directly and knows Linux on x86-64 only");

/// Set while no system calls of ours are made, but for some that are let through: no growth, no questions.
static CONFINED: AtomicBool = AtomicBool::new(false);
/// Set once the kernel may end the process for a system call that the program does not make itself (seccomp(2)).
static FILTERED: AtomicBool = AtomicBool::new(false);
/// Of a confined process: [`CLOCKS_DENIED`], [`CLOCKS_OF_OTHERS_DENIED`], [`USAGE_DENIED`], and a bit for each of [`QUESTIONS`]. Nothing is ever taken
/// back, whoever confines it in which order.
static DENIED: AtomicU32 = AtomicU32::new(0);
/// How many threads are about to confine the process. Until they have said what is denied, all is.
static CONFINING: AtomicU32 = AtomicU32::new(0);

/// clock_gettime(2) is not let through.
const CLOCKS_DENIED: u32 = 1;
/// It is not for CPU clocks of other threads.
const CLOCKS_OF_OTHERS_DENIED: u32 = 2;
/// getrusage(2) is not.
const USAGE_DENIED: u32 = 4;
/// The first of [`QUESTIONS`] is not; the bits of the others follow.
const FIRST_DENIED: u32 = 8;

/// Calls that a confined process makes all the same, if every filter lets them through whatever their arguments: without them nobody
/// knows what a descriptor stands for, or what a call that fails was asked.
const QUESTIONS: [c_long; 13] = [
    libc::SYS_fcntl,            // Flags of a descriptor that came from elsewhere.
    libc::SYS_fstat,            // What a descriptor stands for, where statx(2) does not tell.
    libc::SYS_fstatfs,          // Whether a descriptor is a message queue of POSIX.
    libc::SYS_futex,            // Reads a word without a fault: `word_at`.
    libc::SYS_getpeername,      // The other end of a connection.
    libc::SYS_getpid,           // Who we are.
    libc::SYS_getsockname,      // This end of a connection.
    libc::SYS_getsockopt,       // The process at the other end of a unix socket.
    libc::SYS_gettid,           // Who we are.
    libc::SYS_lseek,            // The position of a descriptor that came from elsewhere.
    libc::SYS_process_vm_readv, // Reads the program's memory without a fault.
    libc::SYS_readlink,         // The path of a descriptor that came from elsewhere.
    libc::SYS_statx,            // What a descriptor stands for.
];

/// In front of a call that may confine the process.
pub fn about_to_confine() {
    CONFINING.fetch_add(1, Ordering::SeqCst);
}

/// Behind it, whether it did or not.
pub fn has_confined() {
    CONFINING.fetch_sub(1, Ordering::SeqCst);
}

/// From now on the process is confined, and so are its children. `lets_through` gets a system call and its first argument, if not any
/// arguments, and says whether that can still be made.
pub fn confine(lets_through: impl Fn(c_long, Option<c_int>) -> bool) {
    FILTERED.store(true, Ordering::SeqCst);
    CONFINED.store(true, Ordering::SeqCst);
    let clocks =
        |clocks: &[c_int]| clocks.iter().all(|&clock| lets_through(libc::SYS_clock_gettime, Some(clock)));
    let usage = USERS.into_iter().all(|user| lets_through(libc::SYS_getrusage, Some(user)));
    let unless = |may: bool, denied: u32| if may { 0 } else { denied };
    let denied = unless(clocks(&CLOCKS), CLOCKS_DENIED)
        | unless(clocks(&[CLOCK_OF_ANOTHER]), CLOCKS_OF_OTHERS_DENIED)
        | unless(usage, USAGE_DENIED);
    let questions = QUESTIONS.into_iter().zip(0..);
    let denied = questions
        .fold(denied, |denied, (number, at)| denied | unless(lets_through(number, None), FIRST_DENIED << at));
    DENIED.fetch_or(denied, Ordering::SeqCst);
}

/// From now on the process is, since it is told of system calls (`PR_SET_SYSCALL_USER_DISPATCH`): its children are not.
pub fn confine_without_children() {
    DENIED.fetch_or(u32::MAX, Ordering::SeqCst);
    CONFINED.store(true, Ordering::SeqCst);
}

/// In a forked child.
pub fn in_forked_child() {
    CONFINED.store(FILTERED.load(Ordering::Relaxed), Ordering::Relaxed);
    // Who is about to is another thread, which is not here.
    CONFINING.store(0, Ordering::Relaxed);
}

/// See [`confine`].
pub fn is_confined() -> bool {
    CONFINED.load(Ordering::Relaxed)
}

/// The clocks that are read as long as the program runs.
const CLOCKS: [c_int; 3] =
    [libc::CLOCK_MONOTONIC, libc::CLOCK_THREAD_CPUTIME_ID, libc::CLOCK_PROCESS_CPUTIME_ID];
/// One of those of other threads.
const CLOCK_OF_ANOTHER: c_int = cpu_clock_of(1);

/// The CPU clock of a thread of this process.
pub const fn cpu_clock_of(tid: u32) -> c_int {
    /// `CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED` of the kernel's `include/linux/posix-timers_types.h`.
    const OF_THREAD: c_int = 4 | 2;
    !(tid as c_int) << 3 | OF_THREAD
}

/// Whose usage is asked for.
const USERS: [c_int; 2] = [libc::RUSAGE_THREAD, libc::RUSAGE_CHILDREN];

/// Whether clocks can be read.
pub fn may_read_clocks() -> bool {
    !is_confined() || !is_denied(CLOCKS_DENIED)
}

/// Whether those of other threads can.
pub fn may_read_clocks_of_others() -> bool {
    !is_confined() || !is_denied(CLOCKS_DENIED | CLOCKS_OF_OTHERS_DENIED)
}

/// Whether getrusage(2) answers.
pub fn may_ask_usage() -> bool {
    !is_confined() || !is_denied(USAGE_DENIED)
}

/// Whether the kernel says what a descriptor stands for.
pub fn may_ask_about_files() -> bool {
    !is_confined() || is_let_through(libc::SYS_statx) || is_let_through(libc::SYS_fstat)
}

/// Whether it says the names of both ends of a connection, and which process is at the other one.
pub fn may_ask_about_sockets() -> bool {
    let asks = [libc::SYS_getsockname, libc::SYS_getpeername, libc::SYS_getsockopt];
    !is_confined() || asks.into_iter().all(is_let_through)
}

#[cold]
fn is_denied(what: u32) -> bool {
    CONFINING.load(Ordering::SeqCst) != 0 || DENIED.load(Ordering::SeqCst) & what != 0
}

/// Whether a call of a confined process would not end it.
#[cold]
fn is_let_through(number: c_long) -> bool {
    match number {
        libc::SYS_exit_group => true,
        libc::SYS_clock_gettime => may_read_clocks(),
        libc::SYS_getrusage => may_ask_usage(),
        _ => QUESTIONS
            .iter()
            .position(|&question| question == number)
            .is_some_and(|at| !is_denied(FIRST_DENIED << at)),
    }
}

/// Any system call.
///
/// # Safety
/// As the call itself demands.
#[inline(always)]
pub unsafe fn call(number: c_long, args: [usize; 6]) -> isize {
    // Under seccomp(2) a call that the program does not make itself may end it.
    if is_confined() && !is_let_through(number) {
        return -(libc::EPERM as isize);
    }
    let result: isize;
    // SAFETY: the kernel keeps all registers but rax, rcx and r11; what the call does is the caller's business.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result,
            in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
            in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

macro_rules! syscalls {
    ($( $(#[$doc:meta])* $name:ident = $number:ident ( $($arg:ident : $ty:ty),* ); )*) => {
        const WITH_FUNCTIONS: &[c_long] = &[$(libc::$number),*];
        $(
        $(#[$doc])*
        ///
        /// # Safety
        /// Pointers must be valid as the manual page demands.
        #[inline]
        pub unsafe fn $name($($arg: $ty),*) -> isize {
            let given = [$($arg as usize),*];
            let mut args = [0usize; 6];
            args[..given.len()].copy_from_slice(&given);
            // SAFETY: as the caller vouches.
            unsafe { call(libc::$number, args) }
        }
        )*
    };
}

/// The system calls that this library may make besides those of the program, with their first arguments where these are always the same.
pub fn own_calls() -> impl Iterator<Item = (c_long, c_int)> {
    const OTHERS: [c_long; 14] = [
        libc::SYS_clone,
        libc::SYS_close_range,
        libc::SYS_exit,
        libc::SYS_fallocate,
        libc::SYS_futex,
        libc::SYS_getpgrp,
        libc::SYS_ioctl,
        libc::SYS_poll,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_sched_getaffinity,
        libc::SYS_select,
        libc::SYS_sigaltstack,
        libc::SYS_unshare,
    ];
    let clocks = CLOCKS.into_iter().chain([CLOCK_OF_ANOTHER, libc::CLOCK_REALTIME]);
    let clocks = clocks.map(|clock| (libc::SYS_clock_gettime, clock));
    let users = USERS.map(|user| (libc::SYS_getrusage, user));
    let others = WITH_FUNCTIONS.iter().chain(&OTHERS);
    let others = others.filter(|&&number| ![libc::SYS_clock_gettime, libc::SYS_getrusage].contains(&number));
    others.map(|&number| (number, 0)).chain(clocks).chain(users)
}

syscalls! {
    /// openat(2)
    openat = SYS_openat(dirfd: c_int, path: *const u8, flags: c_int, mode: u32);
    /// close(2)
    close = SYS_close(fd: c_int);
    /// read(2)
    read = SYS_read(fd: c_int, buffer: *mut u8, bytes: usize);
    /// write(2)
    write = SYS_write(fd: c_int, buffer: *const u8, bytes: usize);
    /// pread(2)
    pread = SYS_pread64(fd: c_int, buffer: *mut u8, bytes: usize, offset: u64);
    /// pwrite(2)
    pwrite = SYS_pwrite64(fd: c_int, buffer: *const u8, bytes: usize, offset: u64);
    /// ftruncate(2)
    ftruncate = SYS_ftruncate(fd: c_int, bytes: u64);
    /// lseek(2)
    lseek = SYS_lseek(fd: c_int, offset: i64, whence: c_int);
    /// getrlimit(2)
    getrlimit = SYS_getrlimit(resource: u32, limit: *mut libc::rlimit);
    /// link(2)
    link = SYS_link(old: *const u8, new: *const u8);
    /// rename(2)
    rename = SYS_rename(old: *const u8, new: *const u8);
    /// unlink(2)
    unlink = SYS_unlink(path: *const u8);
    /// mkdir(2)
    mkdir = SYS_mkdir(path: *const u8, mode: u32);
    /// fstat(2)
    fstat = SYS_fstat(fd: c_int, stat: *mut libc::stat);
    /// statfs(2)
    statfs = SYS_statfs(path: *const u8, status: *mut libc::statfs);
    /// fstatfs(2)
    fstatfs = SYS_fstatfs(fd: c_int, status: *mut libc::statfs);
    /// statx(2)
    statx = SYS_statx(folder: c_int, path: *const u8, flags: c_int, mask: u32, status: *mut libc::statx);
    /// stat(2)
    stat = SYS_stat(path: *const u8, stat: *mut libc::stat);
    /// fcntl(2)
    fcntl = SYS_fcntl(fd: c_int, command: c_int, argument: usize);
    /// getdents64(2)
    getdents64 = SYS_getdents64(fd: c_int, buffer: *mut u8, bytes: usize);
    /// readlink(2)
    readlink = SYS_readlink(path: *const u8, buffer: *mut u8, bytes: usize);
    /// getcwd(2)
    getcwd = SYS_getcwd(buffer: *mut u8, bytes: usize);
    /// uname(2)
    uname = SYS_uname(name: *mut libc::utsname);
    /// mmap(2)
    mmap = SYS_mmap(address: usize, bytes: usize, protection: c_int, flags: c_int, fd: c_int, offset: u64);
    /// mremap(2)
    mremap = SYS_mremap(address: usize, old: usize, new: usize, flags: c_int, to: usize);
    /// munlock(2)
    munlock = SYS_munlock(address: usize, bytes: usize);
    /// munmap(2)
    munmap = SYS_munmap(address: usize, bytes: usize);
    /// mprotect(2)
    mprotect = SYS_mprotect(address: usize, bytes: usize, protection: c_int);
    /// madvise(2)
    madvise = SYS_madvise(address: usize, bytes: usize, advice: c_int);
    /// getpid(2)
    getpid = SYS_getpid();
    /// getppid(2)
    getppid = SYS_getppid();
    /// gettid(2)
    gettid = SYS_gettid();
    /// clock_gettime(2)
    clock_gettime = SYS_clock_gettime(clock: c_int, time: *mut libc::timespec);
    /// getrusage(2)
    getrusage = SYS_getrusage(who: c_int, usage: *mut libc::rusage);
    /// process_vm_readv(2)
    process_vm_readv = SYS_process_vm_readv
        (pid: c_int, own: *const libc::iovec, own_parts: usize, other: *const libc::iovec, other_parts: usize, flags: usize);
    /// process_vm_writev(2)
    process_vm_writev = SYS_process_vm_writev
        (pid: c_int, own: *const libc::iovec, own_parts: usize, other: *const libc::iovec, other_parts: usize, flags: usize);
    /// getsockname(2)
    getsockname = SYS_getsockname(fd: c_int, address: *mut u8, length: *mut libc::socklen_t);
    /// getpeername(2)
    getpeername = SYS_getpeername(fd: c_int, address: *mut u8, length: *mut libc::socklen_t);
    /// getsockopt(2)
    getsockopt = SYS_getsockopt(fd: c_int, level: c_int, option: c_int, value: *mut u8, length: *mut libc::socklen_t);
}

/// fallocate(2), except that a file which may not become so long (`RLIMIT_FSIZE`) is an error and no signal: that would
/// be the program's.
///
/// # Safety
/// The descriptor must be ours.
pub unsafe fn fallocate(fd: c_int, mode: c_int, offset: u64, bytes: u64) -> isize {
    if offset + bytes > file_limit() {
        return -(libc::EFBIG as isize);
    }
    // SAFETY: the descriptor is the caller's.
    unsafe { call(libc::SYS_fallocate, [fd as usize, mode as usize, offset as usize, bytes as usize, 0, 0]) }
}

/// How long a file may become, bytes (`RLIMIT_FSIZE`).
pub fn file_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: `limit` is valid for writing.
    unsafe { getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
    limit.rlim_cur
}

/// The word at an address that the program gave, before the kernel has looked there: for what a call overwrites. `None`
/// where it cannot be read, or is not aligned. The kernel is asked by a futex(2) call that compares the word, and, with
/// nobody to wake or to move, does no more. Of no address at all nobody need be asked: Valgrind would find fault with that.
pub fn word_at(address: *const u32) -> Option<u32> {
    const OTHERWISE: usize = 0;
    if address.is_null() {
        return None;
    }
    let (at, operation) = (address as usize, libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG);
    // SAFETY: the kernel reads the word if it can; nothing is written.
    let answer = unsafe { call(libc::SYS_futex, [at, operation as usize, 0, 0, at, OTHERWISE]) };
    let readable = answer == 0 || answer == -(libc::EAGAIN as isize);
    // SAFETY: the kernel has just read it.
    readable.then(|| unsafe { address.read() })
}

/// Does something in which no handler of the program's may run: it could jump out of the middle, with a descriptor open or
/// half of a change made. (A fault in it would end the process; it touches our own memory only.)
#[unsafe(link_section = ".text.startup")]
pub fn without_signals<T>(action: impl FnOnce() -> T) -> T {
    const BYTES: usize = size_of::<u64>();
    let (all, mut before) = (u64::MAX, 0u64);
    let set = |new: *const u64, old: *mut u64| {
        // SAFETY: both are null or valid, and as long as said.
        unsafe {
            let arguments = [libc::SIG_SETMASK as usize, new as usize, old as usize, BYTES, 0, 0];
            call(libc::SYS_rt_sigprocmask, arguments)
        }
    };
    let changed = set(&raw const all, &raw mut before) == 0;
    let result = action();
    if changed {
        set(&raw const before, core::ptr::null_mut());
    }
    result
}

/// Nanoseconds of `clock`; 0 if the clock does not exist.
pub fn clock_ns(clock: c_int) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing.
    unsafe { clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// False once this process has no such thread any more. A filter may make it false of all threads.
pub fn has_thread(tid: u32) -> bool {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing.
    unsafe { clock_gettime(cpu_clock_of(tid), &mut time) != -(libc::EINVAL as isize) }
}

/// Anonymous private memory, zeroed; `None` when there is none.
pub fn map_anonymous(bytes: usize) -> Option<*mut u8> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping disturbs nothing.
    let address = unsafe { mmap(0, bytes, protection, flags, -1, 0) };
    (address > 0).then_some(address as *mut u8)
}

/// The address of this thread's errno.
#[inline(always)]
pub fn errno() -> c_int {
    // SAFETY: libc gives every thread an errno.
    unsafe { *libc::__errno_location() }
}

/// Writes one line to standard error; used only at start, when nothing can be recorded.
pub fn complain(parts: &[&[u8]]) {
    for part in parts {
        // SAFETY: the slice is valid for reading.
        unsafe { write(2, part.as_ptr().cast::<c_void>().cast(), part.len()) };
    }
}
