//! Processes, signals, timers, message queues.

use super::{Context, Seen, nanoseconds, nanoseconds_of};
use crate::calls::Call;
use libc::{timespec, timeval};

/// Nothing is recorded here: the call does not return, or stands for another one.
pub(super) fn nothing<W: Context>(_: &mut Seen<'_, W>) {}

/// `signalfd4` has flags in its fourth argument.
pub(super) fn signalfd<W: Context>(seen: &mut Seen<'_, W>) {
    let flags = if seen.call.number == libc::SYS_signalfd4 { seen.int(3) } else { 0 };
    let mask: Option<i64> = if seen.succeeded() { seen.at(1) } else { None };
    seen.put(Call::Signalfd, [seen.int(0), mask.unwrap_or(0), flags]);
}

/// `timerfd_settime` and `timer_settime`: the interval stands before the value.
pub(super) fn timer<W: Context>(seen: &mut Seen<'_, W>) {
    let times: Option<[timespec; 2]> = if seen.succeeded() { seen.at(2) } else { None };
    let [interval, value] = times.map_or([0; 2], |times| times.map(nanoseconds));
    let call = match seen.call.number {
        libc::SYS_timerfd_settime => Call::TimerfdSettime,
        _ => Call::TimerSettime,
    };
    seen.put(call, [seen.int(0), seen.int(1), value, interval]);
}

/// `struct sigevent` begins with a value of 8 bytes, then the signal, then how it is told. Without one it is SIGALRM.
pub(super) fn timer_create<W: Context>(seen: &mut Seen<'_, W>) {
    let (event, made) = (seen.call.args[1], seen.succeeded());
    let signal = match (event, made) {
        (0, _) => libc::SIGALRM,
        (_, false) => 0,
        (event, true) => match seen.value::<[i32; 2]>(event.wrapping_add(8)) {
            Some([signal, how]) if how != libc::SIGEV_NONE => signal,
            _ => 0,
        },
    };
    let timer: Option<i32> = if made { seen.at(2) } else { None };
    seen.put(Call::TimerCreate, [seen.int(0), signal.into(), timer.unwrap_or(0).into()]);
}

pub(super) fn setitimer<W: Context>(seen: &mut Seen<'_, W>) {
    let times: Option<[timeval; 2]> = if seen.succeeded() { seen.at(1) } else { None };
    let [interval, value] = times.map_or([0; 2], |times| times.map(nanoseconds_of));
    seen.put(Call::Setitimer, [seen.int(0), value, interval]);
}

pub(super) fn alarm<W: Context>(seen: &mut Seen<'_, W>) {
    seen.put(Call::Alarm, [seen.unsigned(0) * 1_000_000_000]);
}

pub(super) fn pidfd_getfd<W: Context>(seen: &mut Seen<'_, W>) {
    seen.put(Call::PidfdGetfd, [seen.int(0), seen.int(1), seen.unsigned(2)]);
    if seen.succeeded() {
        seen.context.record_descriptor(seen.new_descriptor());
    }
}

pub(super) fn mq_open<W: Context>(seen: &mut Seen<'_, W>) {
    let [_, _, inode] = seen.context.status(seen.new_descriptor());
    let flags = seen.int(1);
    let mode = if flags & i64::from(libc::O_CREAT) != 0 { seen.unsigned(2) } else { 0 };
    seen.put_text(Call::MqOpen, [flags, mode, inode], 0);
}

pub(super) fn mq_timedsend<W: Context>(seen: &mut Seen<'_, W>) {
    let limit = super::waiting::timeout(seen, 4);
    seen.put(Call::MqSend, [seen.int(0), seen.word(2), seen.unsigned(3), limit]);
}

pub(super) fn mq_timedreceive<W: Context>(seen: &mut Seen<'_, W>) {
    let limit = super::waiting::timeout(seen, 4);
    let priority: Option<u32> = if seen.succeeded() { seen.at(3) } else { None };
    seen.put(Call::MqReceive, [seen.int(0), seen.word(2), priority.unwrap_or(0).into(), limit]);
}

/// The kernel's `struct sigaction` begins with the handler and the flags, 8 bytes each. Without one the call only asks.
pub(super) fn sigaction<W: Context>(seen: &mut Seen<'_, W>) {
    if seen.call.args[1] == 0 {
        return;
    }
    let action: Option<[i64; 2]> = if seen.succeeded() { seen.at(1) } else { None };
    let [handler, flags] = action.unwrap_or_default();
    // 0 is the default action, 1 to ignore the signal.
    seen.put(Call::Sigaction, [seen.int(0), handler.clamp(0, 2), flags]);
}

/// Of the flags of clone(2): the signal at the child's end, and where its id is noted.
const UNIMPORTANT: i64 =
    0xff | (libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID | libc::CLONE_PARENT_SETTID) as i64;

/// True for flags with which clone(2) does what vfork(2) does.
pub fn is_vfork(flags: i32) -> bool {
    i64::from(flags) & !UNIMPORTANT == (libc::CLONE_VM | libc::CLONE_VFORK) as i64
}

/// What libc's `fork` and `vfork` come to has their names. `clone3` has its flags in a structure, and the signal that
/// the others have in the low byte stands there by itself.
pub(super) fn clone<W: Context>(seen: &mut Seen<'_, W>) {
    let flags = match seen.call.number {
        libc::SYS_clone => seen.word(0),
        _ if seen.succeeded() => seen.at(0).unwrap_or(0),
        _ => 0,
    };
    match flags & !UNIMPORTANT {
        0 if seen.succeeded() => seen.put(Call::Fork, []),
        _ if is_vfork(flags as i32) => seen.put(Call::Vfork, []),
        _ => seen.put(Call::Clone, [flags]),
    }
}

/// `si_pid`, where waitid(2) writes it.
const FOUND_AT: u64 = 16;

/// What a record of `waitid` has in place of the `id` that was given: of several children the one that was `found`.
pub fn waited_for(kind: i64, id: i64, found: i32) -> i64 {
    let any = [libc::P_ALL, libc::P_PGID].map(i64::from);
    if any.contains(&kind) { found.into() } else { id }
}

pub(super) fn waitid<W: Context>(seen: &mut Seen<'_, W>) {
    let (kind, info) = (seen.int(0), seen.word(2) as u64);
    let found: Option<i32> = if seen.succeeded() && info != 0 { seen.value(info + FOUND_AT) } else { None };
    seen.put(Call::Waitid, [kind, waited_for(kind, seen.int(1), found.unwrap_or(0)), seen.int(3)]);
}

pub(super) fn wait4<W: Context>(seen: &mut Seen<'_, W>) {
    let status: Option<i32> = if seen.call.result > 0 { seen.at(1) } else { None };
    seen.put(Call::Waitpid, [seen.int(0), status.unwrap_or(0).into(), seen.int(2)]);
}
