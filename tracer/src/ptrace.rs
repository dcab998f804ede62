//! ptrace(2): what a stop is, and how a thread goes on.

use crate::error::Error;
use std::io;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// A thread, as the kernel numbers it.
pub type Tid = i32;

/// Why a thread has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At a system call that the filter picked.
    Entry,
    /// Behind that call.
    Exit,
    /// It has made this thread or process.
    Made(Tid),
    /// It has a new image; the thread that called execve had this number.
    Image(Tid),
    /// It is about to end.
    Ending,
    /// A signal is about to be delivered.
    Signal(i32),
    /// With its process, by SIGSTOP and the like: it stays until someone lets the process go on.
    Group,
    /// It is new.
    First,
    /// It is no more.
    Gone(Ended),
}

/// How a thread goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// To the next call that the filter picks.
    ToEntry,
    /// To the end of the call that it is in.
    ToExit,
    /// Not at all, but it takes notice of being let go.
    Listen,
}

/// Makes us the tracer of a process that is about to start.
pub fn seize(pid: Tid) -> Result<(), Error> {
    let options = libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACEEXIT
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_EXITKILL;
    // SAFETY: no pointers are passed.
    let done =
        unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, null_mut::<u8>(), options as usize as *mut u8) };
    if done == 0 { Ok(()) } else { Err(Error::Trace { cause: io::Error::last_os_error() }) }
}

/// Lets a thread go on, with this signal or 0. A thread that was killed meanwhile does not mind.
pub fn resume(tid: Tid, how: Resume, signal: i32) {
    let request = match how {
        Resume::ToEntry => libc::PTRACE_CONT,
        Resume::ToExit => libc::PTRACE_SYSCALL,
        Resume::Listen => libc::PTRACE_LISTEN,
    };
    // SAFETY: no pointers are passed.
    unsafe { libc::ptrace(request, tid, null_mut::<u8>(), signal as usize as *mut u8) };
}

/// True for a thread that has not been waited for after its end.
pub fn exists(tid: Tid) -> bool {
    // SAFETY: no pointers are passed, and no signal is sent.
    unsafe { libc::kill(tid, 0) == 0 || *libc::__errno_location() != libc::ESRCH }
}

/// So long the next stop is looked for before sleeping. To wake a tracer that sleeps takes the thread longer than
/// everything else of a stop, several times as long where the machine is virtual.
const AWAKE: Duration = Duration::from_micros(200);

/// Waits for the next stop of any thread, or the end of any child; `None` when none is left.
pub fn wait() -> Result<Option<(Tid, Stop)>, Error> {
    let began = Instant::now();
    loop {
        let is_early = began.elapsed() < AWAKE;
        let mut status = 0;
        let options = libc::__WALL | if is_early { libc::WNOHANG } else { 0 };
        // SAFETY: `status` is valid for writing.
        let tid = unsafe { libc::waitpid(-1, &mut status, options) };
        match tid {
            0 => std::thread::yield_now(),
            1.. => return Ok(Some((tid, stop(tid, status)))),
            _ => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::EINTR) => {}
                error if error.raw_os_error() == Some(libc::ECHILD) => return Ok(None),
                cause => return Err(Error::System { doing: "wait for the command", cause }),
            },
        }
    }
}

fn stop(tid: Tid, status: i32) -> Stop {
    if libc::WIFEXITED(status) {
        return Stop::Gone(Ended::Code(libc::WEXITSTATUS(status)));
    }
    if libc::WIFSIGNALED(status) {
        return Stop::Gone(Ended::Signal(libc::WTERMSIG(status)));
    }
    const SYSTEM_CALL: i32 = libc::SIGTRAP | 0x80;
    const STOPPING: [i32; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        libc::PTRACE_EVENT_SECCOMP => Stop::Entry,
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
            Stop::Made(message(tid))
        }
        libc::PTRACE_EVENT_EXEC => Stop::Image(message(tid)),
        libc::PTRACE_EVENT_EXIT => Stop::Ending,
        libc::PTRACE_EVENT_STOP if STOPPING.contains(&signal) => Stop::Group,
        libc::PTRACE_EVENT_STOP => Stop::First,
        _ if signal == SYSTEM_CALL => Stop::Exit,
        _ => Stop::Signal(signal),
    }
}

/// What belongs to a stop; all of them are thread numbers here.
fn message(tid: Tid) -> Tid {
    let mut message = 0 as libc::c_ulong;
    // SAFETY: the pointer is valid for writing a long.
    unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, tid, null_mut::<u8>(), &raw mut message) };
    message as Tid
}

/// The system call at which a thread has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtEntry {
    /// Its number.
    pub number: i64,
    /// Its arguments.
    pub args: [u64; 6],
    /// The address behind the instruction.
    pub instruction: u64,
    /// What the filter said.
    pub verdict: u32,
}

/// Asks about the call at whose entry a thread has stopped; `None` when the thread was killed.
pub fn at_entry(tid: Tid) -> Option<AtEntry> {
    let info = information(tid)?;
    if info.op != libc::PTRACE_SYSCALL_INFO_SECCOMP {
        return None;
    }
    // SAFETY: the kernel has filled in the part that `op` names.
    let call = unsafe { info.u.seccomp };
    Some(AtEntry {
        number: call.nr as i64,
        args: call.args,
        instruction: info.instruction_pointer,
        verdict: call.ret_data,
    })
}

/// Asks for the result of the call behind which a thread has stopped; `None` when the thread was killed.
pub fn result(tid: Tid) -> Option<i64> {
    let info = information(tid)?;
    if info.op != libc::PTRACE_SYSCALL_INFO_EXIT {
        return None;
    }
    // SAFETY: as above.
    Some(unsafe { info.u.exit.sval })
}

fn information(tid: Tid) -> Option<libc::ptrace_syscall_info> {
    // SAFETY: all zero bytes are a valid one.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes no more than it is told there is.
    let bytes = unsafe {
        libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, tid, size_of_val(&info) as *mut u8, &raw mut info)
    };
    (bytes > 0).then_some(info)
}
