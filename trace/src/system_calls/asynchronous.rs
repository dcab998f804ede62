//! The kernel's asynchronous I/O.

use super::{Context, Outcome, Seen, half, number};
use crate::calls::Call;
use crate::record::MAX_LIST;

pub(super) fn io_setup<W: Context>(seen: &mut Seen<'_, W>) {
    let context: Option<i64> = if seen.succeeded() { seen.at(1) } else { None };
    seen.put(Call::IoSetup, [seen.unsigned(0), context.unwrap_or(0)]);
}

/// The record of the call, then one of each control block that was taken.
pub(super) fn io_submit<W: Context>(seen: &mut Seen<'_, W>) {
    seen.put(Call::IoSubmit, [seen.word(0), seen.word(1)]);
    let taken = if seen.succeeded() { seen.call.result as u64 } else { 0 };
    for index in 0..taken {
        let Some(block) = seen.value::<u64>(seen.call.args[2].wrapping_add(8 * index)) else { return };
        control_block(seen, block);
    }
}

/// `IOCB_CMD_PREADV` and `IOCB_CMD_PWRITEV`: the buffer is an I/O vector.
const VECTORED: [i64; 2] = [7, 8];

fn control_block<W: Context>(seen: &mut Seen<'_, W>, address: u64) {
    let mut found = None;
    // struct iocb: data 8, key 4, flags 4, opcode 2, priority 2, descriptor 4, buffer 8, bytes 8, offset 8, …
    seen.for_each::<64>(address, 1, |block, _| {
        let (opcode, fd) = (i64::from(half(block, 16) as u16), i64::from(half(block, 20) as i32));
        found = Some((fd, opcode, number(block, 24) as u64, number(block, 32), number(block, 40)));
        true
    });
    if let Some((fd, opcode, buffer, bytes, offset)) = found {
        let count = if VECTORED.contains(&opcode) { seen.total(buffer, bytes as u64) } else { bytes };
        let numbers = [fd, opcode, count, offset, address as i64];
        seen.context.record(Call::Iocb, Outcome::Returned(0), &numbers, &[], &[]);
    }
}

pub(super) fn io_getevents<W: Context>(seen: &mut Seen<'_, W>) {
    let events = if seen.succeeded() { seen.call.result as u64 } else { 0 };
    let mut length = 0;
    // struct io_event: data 8, control block 8, result 8, second result 8.
    seen.for_each::<32>(seen.call.args[3], events.min(MAX_LIST as u64 / 2), |event, list| {
        list[length..length + 2].copy_from_slice(&[number(event, 8), number(event, 16)]);
        length += 2;
        true
    });
    let timeout = super::waiting::timeout(seen, 4);
    seen.put_list(Call::IoGetevents, [seen.word(0), seen.word(1), seen.word(2), timeout], length);
}

/// The flags stand in the `struct io_uring_params` that the second argument points to.
pub(super) fn io_uring_setup<W: Context>(seen: &mut Seen<'_, W>) {
    let parameters: Option<[u32; 3]> = if seen.succeeded() { seen.at(1) } else { None };
    let [_, _, flags] = parameters.unwrap_or_default();
    seen.put(Call::IoUringSetup, [seen.unsigned(0), flags.into()]);
}
