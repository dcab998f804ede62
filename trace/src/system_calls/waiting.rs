//! Waiting: for descriptors, for other threads, for signals, for time to pass.

use super::{Context, Seen, half, nanoseconds, nanoseconds_of, number, value};
use crate::calls::Call;
use crate::record::MAX_LIST;
use libc::{timespec, timeval};

/// In a record, no timeout.
const FOREVER: i64 = -1;

fn milliseconds(timeout: i64) -> i64 {
    if timeout < 0 { FOREVER } else { timeout * 1_000_000 }
}

/// The `struct timespec` at this position; 0 where the result does not tell that the kernel has read it.
pub(super) fn timeout<W: Context>(seen: &mut Seen<'_, W>, position: usize) -> i64 {
    if seen.call.args[position] == 0 {
        return FOREVER;
    }
    asked(seen, position)
}

fn asked<W: Context>(seen: &mut Seen<'_, W>, position: usize) -> i64 {
    let was_read = seen.succeeded_or(&[libc::EINTR, libc::EAGAIN, libc::ETIMEDOUT]);
    let time: Option<timespec> = if was_read { seen.at(position) } else { None };
    time.map_or(0, nanoseconds)
}

/// The timeout of select(2), before the kernel writes what is left of it.
pub(super) fn time_asked<W: Context>(address: u64, context: &mut W) -> i64 {
    if address == 0 {
        return FOREVER;
    }
    let time: Option<timeval> = value(address, W::try_read, context);
    time.map_or(0, nanoseconds_of)
}

/// The same of ppoll(2) and pselect(2) as the kernel gets them, which writes to a copy where libc's functions make them.
pub(super) fn limit_asked<W: Context>(address: u64, context: &mut W) -> i64 {
    if address == 0 {
        return FOREVER;
    }
    let time: Option<timespec> = value(address, W::try_read, context);
    time.map_or(0, nanoseconds)
}

fn limit<W: Context>(seen: &mut Seen<'_, W>, position: usize) -> i64 {
    if seen.context.has_arguments_of_kernel() { seen.call.before } else { timeout(seen, position) }
}

pub(super) fn poll<W: Context>(seen: &mut Seen<'_, W>) {
    let timeout = match seen.call.number {
        libc::SYS_poll => milliseconds(seen.int(2)),
        _ => limit(seen, 2),
    };
    let count = seen.unsigned(1);
    let (mut length, mut missing) = (0, if seen.succeeded() { seen.call.result } else { 0 });
    let entries = if missing > 0 { count as u64 } else { 0 };
    // struct pollfd: descriptor 4, what is asked for 2, what is ready 2.
    seen.for_each::<8>(seen.call.args[0], entries, |entry, list| {
        let (fd, ready) = (half(entry, 0) as i32, (half(entry, 4) >> 16) as u16);
        if ready != 0 {
            list[length..length + 2].copy_from_slice(&[fd.into(), ready.into()]);
            length += 2;
            missing -= 1;
        }
        missing > 0 && length + 2 <= MAX_LIST
    });
    seen.put_list(Call::Poll, [count, timeout], length);
}

/// What the three sets of select(2) are for.
const MEANINGS: [i64; 3] = [1, 2, 4];

pub(super) fn select<W: Context>(seen: &mut Seen<'_, W>) {
    let timeout = match seen.call.number {
        libc::SYS_select => seen.call.before,
        _ => limit(seen, 4),
    };
    let count = seen.int(0);
    let (mut length, mut missing) = (0, if seen.succeeded() { seen.call.result } else { 0 });
    let mut first = 0;
    // The kernel looks at no more of the sets than there can be descriptors, and neither does this: it ends at the
    // last of the bits that the result tells of.
    while missing > 0 && first < count && length + 2 * 64 <= MAX_LIST {
        let mut words = [0u64; 3];
        for (word, set) in words.iter_mut().zip(1..) {
            let set = seen.call.args[set];
            if set != 0 {
                *word = seen.value(set.wrapping_add(first as u64 / 8)).unwrap_or(0);
            }
        }
        for bit in 0..64.min(count - first) {
            let ready = words.iter().zip(MEANINGS).filter(|(word, _)| *word >> bit & 1 != 0);
            let (ready, all) = ready.fold((0, 0), |(ready, all), (_, meaning)| (ready + 1, all | meaning));
            if all != 0 {
                seen.room.list[length..length + 2].copy_from_slice(&[first + bit, all]);
                length += 2;
                missing -= ready;
            }
        }
        first += 64;
    }
    seen.put_list(Call::Select, [count, timeout], length);
}

pub(super) fn epoll_wait<W: Context>(seen: &mut Seen<'_, W>) {
    let timeout = match seen.call.number {
        libc::SYS_epoll_pwait2 => timeout(seen, 3),
        _ => milliseconds(seen.int(3)),
    };
    let events = if seen.succeeded() { seen.call.result as u64 } else { 0 };
    let mut length = 0;
    // struct epoll_event, packed: events 4, data 8.
    seen.for_each::<12>(seen.call.args[1], events.min(MAX_LIST as u64 / 2), |event, list| {
        list[length..length + 2].copy_from_slice(&[number(event, 4), half(event, 0).into()]);
        length += 2;
        true
    });
    seen.put_list(Call::EpollWait, [seen.int(0), seen.int(2), timeout], length);
}

pub(super) fn epoll_ctl<W: Context>(seen: &mut Seen<'_, W>) {
    let (mut events, mut data) = (0, 0);
    let deletes = seen.int(1) == i64::from(libc::EPOLL_CTL_DEL);
    if !deletes && seen.succeeded_or(&[libc::EEXIST, libc::ENOENT]) {
        seen.for_each::<12>(seen.call.args[3], 1, |event, _| {
            (events, data) = (half(event, 0).into(), number(event, 4));
            true
        });
    }
    seen.put(Call::EpollCtl, [seen.int(0), seen.int(1), seen.int(2), events, data]);
}

/// Waking is recorded when somebody was woken.
pub(super) fn futex<W: Context>(seen: &mut Seen<'_, W>) {
    const WAKING: [i32; 6] = [
        libc::FUTEX_WAKE,
        libc::FUTEX_REQUEUE,
        libc::FUTEX_CMP_REQUEUE,
        libc::FUTEX_WAKE_OP,
        libc::FUTEX_WAKE_BITSET,
        libc::FUTEX_CMP_REQUEUE_PI,
    ];
    let operation = seen.call.args[1] as i32;
    let command = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    if !WAKING.contains(&command) || seen.call.result > 0 {
        seen.put(Call::Futex, [seen.word(0), operation.into(), seen.unsigned(2)]);
    }
}

/// What a sleep is asked for, before the kernel writes what is left of it to the same place; 0 where it goes elsewhere.
pub(super) fn overwritten<W: Context>(asked: u64, left: u64, context: &mut W) -> i64 {
    let time: Option<timespec> = if asked == left { value(asked, W::try_read, context) } else { None };
    time.map_or(0, nanoseconds)
}

/// What a sleep was asked for; what is left of it is written where the next argument points.
fn slept<W: Context>(seen: &mut Seen<'_, W>, position: usize) -> i64 {
    let is_overwritten = seen.call.args[position] == seen.call.args[position + 1];
    if is_overwritten && seen.outcome.errno() == Some(libc::EINTR.into()) {
        seen.call.before
    } else {
        asked(seen, position)
    }
}

pub(super) fn nanosleep<W: Context>(seen: &mut Seen<'_, W>) {
    let time = slept(seen, 0);
    seen.put(Call::Nanosleep, [time]);
}

pub(super) fn clock_nanosleep<W: Context>(seen: &mut Seen<'_, W>) {
    let time = slept(seen, 2);
    seen.put(Call::ClockNanosleep, [seen.int(0), seen.int(1), time]);
}

pub(super) fn semop<W: Context>(seen: &mut Seen<'_, W>) {
    let timeout = if seen.call.number == libc::SYS_semtimedop { timeout(seen, 3) } else { FOREVER };
    let was_read = seen.succeeded_or(&[libc::EAGAIN, libc::EINTR, libc::EIDRM]);
    let count = if was_read { seen.call.args[2] } else { 0 };
    let mut length = 0;
    // struct sembuf: number 2, operation 2, flags 2.
    seen.for_each::<6>(seen.call.args[1], count.min(MAX_LIST as u64 / 3), |one, list| {
        let short = |at: usize| i16::from_ne_bytes([one[at], one[at + 1]]);
        // The number is unsigned.
        list[length..length + 3].copy_from_slice(&[
            i64::from(short(0) as u16),
            short(2).into(),
            short(4).into(),
        ]);
        length += 3;
        true
    });
    seen.put_list(Call::Semop, [seen.int(0), timeout], length);
}

/// The first 64 signals of a mask are all there are.
fn mask<W: Context>(seen: &mut Seen<'_, W>) -> i64 {
    let was_read = seen.succeeded_or(&[libc::EINTR, libc::EAGAIN]);
    let mask: Option<i64> = if was_read { seen.at(0) } else { None };
    mask.unwrap_or(0)
}

pub(super) fn sigwait<W: Context>(seen: &mut Seen<'_, W>) {
    let (mask, timeout) = (mask(seen), timeout(seen, 2));
    seen.put(Call::Sigwait, [mask, timeout]);
}

pub(super) fn sigsuspend<W: Context>(seen: &mut Seen<'_, W>) {
    let mask = mask(seen);
    seen.put(Call::Sigsuspend, [mask]);
}
