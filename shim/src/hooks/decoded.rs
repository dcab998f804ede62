//! Calls that are recorded as the system call that they make: what that is, [`syn_trace::system_calls`] tells.

use super::status::{note_filter, opened_status, status_of};
use super::texts::text;
use crate::core::{readable, sys};
use crate::recording::first_records;
use crate::recording::span::{self, Span};
use core::ffi::c_long;
use syn_trace::calls::Call;
use syn_trace::record::Flags;
use syn_trace::system_calls::{self, Context, Known, Number, Outcome, Room, Side, SystemCall, call_of};

/// Makes a call and records it as the system call of this number. `flags` as for [`span::enter`].
#[inline(always)]
pub fn decoded<const NUMBER: c_long>(flags: Flags, args: [usize; 6], real: impl FnOnce() -> c_long) -> c_long
where
    Number<NUMBER>: Known,
{
    let span = span::enter(Number::<NUMBER>::CALL, flags);
    follow(span, NUMBER, false, args, real, Number::<NUMBER>::decode)
}

/// The same of a number that is known only now.
#[inline]
pub fn decoded_by_number(
    flags: Flags,
    number: c_long,
    args: [usize; 6],
    real: impl FnOnce() -> c_long,
) -> c_long {
    let span = call_of(number).and_then(|call| span::enter(call, flags));
    follow(span, number, true, args, real, decode)
}

/// Makes the call that `span` has entered, if anything is to be recorded of it, and has `decode` write its records.
#[inline(always)]
fn follow(
    span: Option<Span>,
    number: c_long,
    by_number: bool,
    args: [usize; 6],
    real: impl FnOnce() -> c_long,
    decode: impl FnOnce(SystemCall, &mut Caller, &mut Room),
) -> c_long {
    let Some(span) = span else { return real() };
    let mut caller = Caller { span, by_number, failed: false };
    let args = args.map(|word| word as u64);
    let before = system_calls::look_before(number, &args, &mut caller);
    let result = real();
    caller.span.returned();
    caller.failed = result == -1;
    let result = if caller.failed { -span::errno() } else { result };
    // SAFETY: what is called from here on uses other fields.
    let room = unsafe { caller.span.scratch().room.lend() };
    decode(SystemCall { number, args, result, before }, &mut caller, room);
    caller.span.forget();
    if caller.failed { -1 } else { result }
}

#[inline(never)]
fn decode(call: SystemCall, caller: &mut Caller, room: &mut Room) {
    system_calls::decode(call, caller, room);
}

/// The thread that makes the call, which is this one.
struct Caller {
    span: Span,
    by_number: bool,
    /// The call has failed: a filter may have ended it before the kernel has looked at anything.
    failed: bool,
}

impl Context for Caller {
    fn read(&mut self, address: u64, to: &mut [u8]) -> bool {
        if self.failed || readable::may_be_gone() {
            return self.try_read(address, to);
        }
        // SAFETY: the kernel has just read or written that much there.
        unsafe { core::ptr::copy_nonoverlapping(address as *const u8, to.as_mut_ptr(), to.len()) };
        true
    }

    fn try_read(&mut self, address: u64, to: &mut [u8]) -> bool {
        readable::copy_all(address as usize, to)
    }

    fn text<'a>(&mut self, address: u64, failed: bool, room: &'a mut [u8]) -> &'a [u8] {
        if failed || readable::may_be_gone() {
            return readable::text(address as usize, room);
        }
        // SAFETY: a call that succeeded has read its texts.
        unsafe { text(address as *const _) }
    }

    fn status(&mut self, fd: i32) -> [i64; 3] {
        status_of(fd)
    }

    fn opened(&mut self, fd: i32, flags: i32) -> [i64; 3] {
        opened_status(fd, flags)
    }

    fn name_of_socket(&mut self, fd: i32, side: Side, to: &mut [u8]) -> usize {
        if !sys::may_ask_about_sockets() {
            note_filter();
        }
        let mut length = to.len() as libc::socklen_t;
        let ask = match side {
            Side::Local => sys::getsockname,
            Side::Peer => sys::getpeername,
        };
        // SAFETY: the buffer is as long as said.
        if unsafe { ask(fd, to.as_mut_ptr(), &mut length) } < 0 { 0 } else { to.len().min(length as usize) }
    }

    fn peer_process(&mut self, fd: i32) -> i64 {
        let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        // SAFETY: both are valid for writing, the length is that of `peer`.
        unsafe {
            let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
            sys::getsockopt(fd, level, option, (&raw mut peer).cast(), &mut length);
        }
        i64::from(peer.pid)
    }

    fn has_arguments_of_kernel(&self) -> bool {
        self.by_number
    }

    /// Calls about mappings go to the hooks of their family.
    fn maps_file(&mut self, _: u64, _: u64) -> bool {
        false
    }

    fn record<const N: usize>(
        &mut self,
        call: Call,
        outcome: Outcome,
        numbers: &[i64; N],
        texts: &[&[u8]],
        list: &[i64],
    ) {
        let (failed, number) = match outcome {
            Outcome::Returned(result) => (false, result),
            Outcome::Failed(errno) => (true, errno),
        };
        self.span.record(call, failed, number, numbers, texts, list);
    }

    fn record_descriptor(&mut self, fd: i32) {
        // SAFETY: texts of decoded calls are elsewhere.
        let buffer = unsafe { self.span.scratch().texts.lend() };
        first_records::inherited_descriptor(self.span.state(), fd, buffer);
    }
}
