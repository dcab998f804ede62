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
    let (begin, scratch) = unsafe { (state.begin.lend(), state.scratch().texts.lend()) };
    if !write_process_start(state, begin) {
        write_process_start(state, scratch);
    }
}

/// Writes where the process is and what it was started with, put together in `room`. False, with nothing written, where that may not fit;
/// room for two of the longest paths is always enough.
#[inline(always)]
fn write_process_start<const N: usize>(state: &State, room: &mut [u8; N]) -> bool {
    let is_small = N < 2 * PATH_BYTES;
    // SAFETY: the buffer is as long as said.
    let length = unsafe { sys::getcwd(room.as_mut_ptr(), N.min(PATH_BYTES)) };
    if is_small && length < 0 {
        return false;
    }
    // One behind the other: a page that is not touched costs nothing.
    let (cwd, rest) = room.split_at_mut(length.max(1) as usize - 1);
    let most = rest.len();
    let command = command_line(rest);
    if is_small && command.len() == most {
        return false;
    }
    // SAFETY: no arguments.
    let ppid = unsafe { sys::getppid() } as i64;
    let texts: [&[u8]; 3] = [process::program(), cwd, command.trim_ascii_end()];
    note::write(state, Call::ProcessStart, 0, &[ppid], &texts);
    true
}

/// The arguments, with spaces between them: of a process that begins, as the loader passes them; of a forked child, which may
/// have overwritten them to be seen by another name, as they are now. The kernel is asked where nothing else knows: that makes a
/// folder of `/proc` for the process.
#[unsafe(link_section = ".text.startup")]
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
