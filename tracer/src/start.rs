//! The first process: made by us, stopped until it is traced, then filtered, then the command.

use crate::error::Error;
use crate::{filter, inherited, ptrace};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// A command in the form that execvp(3) takes.
pub struct Command {
    words: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl Command {
    /// Of its words.
    pub fn new(words: &[OsString]) -> Result<Command, Error> {
        let word = |word: &OsString| {
            CString::new(word.as_bytes()).map_err(|_| Error::ZeroByte { word: word.clone() })
        };
        let words = words.iter().map(word).collect::<Result<Vec<_>, _>>()?;
        let pointers = words.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect();
        Ok(Command { words, pointers })
    }
}

/// What the child does once it is traced.
#[derive(Clone, Copy)]
pub enum Body<'a> {
    /// It becomes the command.
    Command(&'a Command),
    /// It makes this number of calls that fail at once, and ends.
    Calls(u32),
}

/// A child that waits to be released.
pub struct Child {
    pid: ptrace::Tid,
    go: File,
    said: File,
}

/// A child that has been released.
pub struct Released {
    said: File,
}

/// Where the child failed, and with which errno.
type Complaint = [i32; 2];
const AT_FILTER: i32 = 1;
const AT_EXEC: i32 = 2;

/// Makes a child that we trace, and that waits.
pub fn start(body: Body<'_>) -> Result<Child, Error> {
    let (wait, go) = pipe()?;
    let (said, say) = pipe()?;
    let filter = filter::program();
    // SAFETY: the child calls nothing that takes a lock or allocates, since other threads may have held some.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(Error::last("make a process")),
        0 => {
            drop(go);
            // SAFETY: in the child, which ends in here.
            unsafe { child(body, wait, say, &filter) }
        }
        _ => {
            drop((wait, say));
            let child = Child { pid, go, said };
            ptrace::seize(pid).inspect_err(|_| child.abandon())?;
            Ok(child)
        }
    }
}

fn pipe() -> Result<(File, File), Error> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors, which are ours afterwards.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(Error::last("make a pipe"));
        }
        let [reader, writer] = ends.map(|end| File::from(OwnedFd::from_raw_fd(end)));
        Ok((reader, writer))
    }
}

impl Child {
    /// Its process id.
    pub fn pid(&self) -> ptrace::Tid {
        self.pid
    }

    /// Lets it go on.
    pub fn release(mut self) -> Result<Released, Error> {
        let released = self.go.write_all(&[0]);
        released.map_err(|cause| Error::System { doing: "release the command", cause })?;
        Ok(Released { said: self.said })
    }

    /// Ends it before it was released.
    fn abandon(&self) {
        // SAFETY: no pointers are passed but a null one; the child is ours and has not been waited for.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), libc::__WALL);
        }
    }
}

impl Released {
    /// After the end of the child: whether it has done what it was to do.
    pub fn succeeded(mut self, body: Body<'_>) -> Result<(), Error> {
        let mut bytes = [0; size_of::<Complaint>()];
        if self.said.read_exact(&mut bytes).is_err() {
            return Ok(()); // It has said nothing: its end of the pipe was closed by execve, or with it.
        }
        let (at, errno) = bytes.split_at(4);
        let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
        let cause = io::Error::from_raw_os_error(number(errno));
        match body {
            Body::Command(command) if number(at) == AT_EXEC => {
                Err(Error::Command { program: command.words[0].to_string_lossy().into_owned(), cause })
            }
            _ => Err(Error::Filter { cause }),
        }
    }
}

/// # Safety
/// Only in a forked child.
unsafe fn child(body: Body<'_>, mut wait: File, mut say: File, filter: &[libc::sock_filter]) -> ! {
    let complaint = match wait.read(&mut [0]) {
        Ok(1) => {
            // SAFETY: as the caller vouches.
            unsafe { become_traced(body, filter) }
        }
        _ => [AT_FILTER, libc::ECANCELED], // Our parent is gone.
    };
    for number in complaint {
        // The exit code tells as much.
        let _ = say.write_all(&number.to_ne_bytes());
    }
    // SAFETY: ends the child.
    unsafe { libc::_exit(127) }
}

/// # Safety
/// As for [`child`].
unsafe fn become_traced(body: Body<'_>, filter: &[libc::sock_filter]) -> Complaint {
    // SAFETY: the pointers are to live variables; only async-signal-safe functions are called.
    unsafe {
        inherited::restore();
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        if let Err(errno) = install(filter) {
            return [AT_FILTER, errno];
        }
        match body {
            Body::Command(command) => {
                libc::execvp(command.pointers[0], command.pointers.as_ptr());
                [AT_EXEC, *libc::__errno_location()]
            }
            Body::Calls(count) => {
                for _ in 0..count {
                    libc::syscall(libc::SYS_close, -1);
                }
                libc::_exit(0)
            }
        }
    }
}

/// Installs the filter. Who may administrate the system may do that without giving up set-user-ID programs.
///
/// # Safety
/// As for [`child`].
unsafe fn install(filter: &[libc::sock_filter]) -> Result<(), i32> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program is as long as said.
    let set = || unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &program) };
    // SAFETY: no pointers are passed; libc gives every thread an errno.
    unsafe {
        if set() == 0 {
            return Ok(());
        }
        if *libc::__errno_location() == libc::EACCES
            && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && set() == 0
        {
            return Ok(());
        }
        Err(*libc::__errno_location())
    }
}
