//! What every thread's trace begins with.

mod descriptors;

pub use descriptors::inherited_descriptor;

use crate::core::procfs::read_file;
use crate::core::sys;
use crate::recording::process::{self, settings};
use crate::recording::span::note;
use crate::recording::thread::private_table;
use crate::recording::thread::state::State;
use syn_trace::calls::Call;
use syn_trace::policy;

/// The longest path that the kernel tells, and as much of the arguments.
const PATH_BYTES: usize = 4096;

/// Writes what every thread's trace begins with: the process's start and its open descriptors on the first thread,
/// who made it on every other.
#[unsafe(link_section = ".text.startup")]
pub fn write(state: &State, tid: u32, creator: u32, frame: usize) {
    state.frame.set(frame);
    if tid == process::pid() {
        process_start(state);
        descriptors::write(state);
        if process::is_left_out() {
            note::write(state, Call::Unobserved, 0, &[], &[policy::LEFT_OUT]);
        }
        if !cfg!(feature = "io-uring") {
            note::write(state, Call::Unobserved, 0, &[], &[b"io_uring: the recorder is built without it"]);
        }
    } else {
        private_table::descriptors_become_shared();
        // SAFETY: no arguments.
        let thread = unsafe { libc::pthread_self() } as i64;
        note::write(state, Call::ThreadStart, 0, &[thread, i64::from(creator)], &[]);
    }
    state.frame.set(0);
}

fn process_start(state: &State) {
    // SAFETY: signals are blocked while a thread begins, and nothing else is under way.
    let scratch = unsafe { state.scratch().texts.lend() };
    // SAFETY: the buffer is longer than said.
    let cwd_length = unsafe { sys::getcwd(scratch.as_mut_ptr(), PATH_BYTES) }.max(1) as usize - 1;
    // One behind the other: a page that is not touched costs nothing.
    let (cwd, rest) = scratch.split_at_mut(cwd_length);
    let command = command_line(rest);
    // SAFETY: no arguments.
    let ppid = unsafe { sys::getppid() } as i64;
    let texts: [&[u8]; 3] = [process::program(), cwd, command.trim_ascii_end()];
    note::write(state, Call::ProcessStart, 0, &[ppid], &texts);
}

/// The arguments, with spaces between them: of a process that begins, as the loader passes them; of a forked child, which may
/// have overwritten them to be seen by another name, as they are now. The kernel is asked where nothing else knows: that makes a
/// folder of `/proc` for the process.
fn command_line(buffer: &mut [u8]) -> &[u8] {
    let mut length = 0;
    if let Some(arguments) = settings::arguments().filter(|_| !process::is_forked()) {
        let bytes = arguments.flat_map(|argument| argument.iter().chain(b" "));
        for (to, from) in buffer.iter_mut().zip(bytes) {
            *to = *from;
            length += 1;
        }
    } else if let Some(memory) = settings::argument_memory() {
        length = memory.len().min(buffer.len());
        buffer[..length].copy_from_slice(&memory[..length]);
    } else {
        length = read_file(c"/proc/self/cmdline", buffer).map_or(0, <[u8]>::len);
    }
    for byte in buffer[..length].iter_mut().filter(|byte| **byte == 0) {
        *byte = b' ';
    }
    &buffer[..length]
}
