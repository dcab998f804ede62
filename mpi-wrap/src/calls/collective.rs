//! Collective calls: what this process contributes and what it receives, in bytes.
//!
//! Arguments that the standard calls "not significant" at this process may be anything and are not read. With
//! `MPI_IN_PLACE` a contribution lies in the other buffer; it counts all the same. In an intercommunicator data goes
//! to and comes from the other group.
//!
//! The non-blocking and the persistent functions take the same arguments and the place of a request behind them; for
//! the blocking ones that place is [`NO_REQUEST`]. This file has what all share and the calls without a root.

use core::ffi::c_int;
use syn_trace::Call;
use syn_trace::calls::NOBODY;
use syn_trace::record::MAX_LIST;

use super::{Ptr, SUCCESS, leave, made, open};
use crate::abi::Mpi;
use crate::language::{Handle, Language};
use crate::recorder::{MIN_SCRATCH_BYTES, Recorder};
use crate::scratch::Scratch;

/// In place of a request: the call is complete when it returns.
pub const NO_REQUEST: Ptr = core::ptr::null_mut();

/// Bytes contributed, bytes received.
type Traffic = (i64, i64);

/// Makes a collective call; `traffic` is asked after it has succeeded.
#[inline]
pub(super) unsafe fn collective<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    root: Option<L::Int>,
    comm: L::Handle,
    request: Ptr,
    traffic: impl FnOnce(Mpi, usize) -> Traffic,
) -> c_int {
    let Some((span, mpi)) = open::<R>(call) else { return real() };
    let result = real();
    R::returned(span);
    // SAFETY: inputs of the call.
    let (comm, root) = unsafe {
        let root = root.map_or(NOBODY, |root| mpi.rank(L::int(root)));
        (L::handle(mpi, Handle::Comm, comm), root)
    };
    let (sent, received) = if result == SUCCESS { traffic(mpi, comm) } else { (0, 0) };
    let on = mpi.comm(comm);
    if request.is_null() {
        leave::<R, _>(span, call, result, &[sent, received, root, on], &[]);
    } else {
        // SAFETY: the application's place for the request.
        let request = unsafe { made::<L>(mpi, result, Handle::Request, request) };
        leave::<R, _>(span, call, result, &[sent, received, root, on, request], &[]);
    }
    result
}

/// Bytes of `count` elements.
pub(super) unsafe fn size<L: Language>(mpi: Mpi, count: L::Count, datatype: L::Handle) -> i64 {
    // SAFETY: significant inputs of a call that succeeded.
    unsafe { mpi.bytes(L::count(count), L::handle(mpi, Handle::Datatype, datatype)) }
}

/// Bytes of the elements that an array counts, one entry per peer.
pub(super) unsafe fn total<L: Language>(mpi: Mpi, counts: Ptr, entries: c_int, datatype: L::Handle) -> i64 {
    // SAFETY: significant inputs of a call that succeeded; the array has an entry per peer.
    unsafe {
        let count = (0..entries.max(0) as usize).map(|index| L::count_at(counts, index)).sum();
        mpi.bytes(count, L::handle(mpi, Handle::Datatype, datatype))
    }
}

/// Bytes of one entry of such an array. A type without elements need not be a valid one.
pub(super) unsafe fn size_at<L: Language>(mpi: Mpi, counts: Ptr, index: usize, types: Ptr) -> i64 {
    // SAFETY: as above.
    unsafe {
        let count = L::count_at(counts, index);
        if count > 0 { mpi.bytes(count, L::handle_at(mpi, Handle::Datatype, types, index)) } else { 0 }
    }
}

/// Bytes of the elements that an array counts for this process.
pub(super) unsafe fn own<L: Language>(mpi: Mpi, counts: Ptr, comm: usize, datatype: L::Handle) -> i64 {
    match mpi.rank_in(comm) {
        // SAFETY: as above; a rank is never negative.
        Some(rank) => unsafe {
            mpi.bytes(L::count_at(counts, rank as usize), L::handle(mpi, Handle::Datatype, datatype))
        },
        None => 0,
    }
}

/// `MPI_Barrier`
pub unsafe fn barrier<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, None, comm, request, |_, _| (0, 0)) }
}

/// `MPI_Allreduce` and `MPI_Scan`: as much comes back as goes in.
pub unsafe fn reduce_to_all<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    count: L::Count,
    datatype: L::Handle,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe {
        collective::<R, L>(call, real, None, comm, request, |mpi, _| {
            let bytes = size::<L>(mpi, count, datatype);
            (bytes, bytes)
        })
    }
}

/// `MPI_Exscan`: nothing comes back to rank 0.
pub unsafe fn exclusive_scan<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    count: L::Count,
    datatype: L::Handle,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe {
        collective::<R, L>(call, real, None, comm, request, |mpi, comm| {
            let bytes = size::<L>(mpi, count, datatype);
            (bytes, if mpi.rank_in(comm) == Some(0) { 0 } else { bytes })
        })
    }
}

/// `MPI_Allgather`
pub unsafe fn gather_to_all<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    send: Ptr,
    send_count: L::Count,
    send_type: L::Handle,
    receive_count: L::Count,
    receive_type: L::Handle,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    let traffic = |mpi: Mpi, comm| unsafe {
        let each = size::<L>(mpi, receive_count, receive_type);
        let sent = if L::is_in_place(mpi, send) { each } else { size::<L>(mpi, send_count, send_type) };
        (sent, each * i64::from(mpi.peers_in(comm)))
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, None, comm, request, traffic) }
}

/// `MPI_Allgatherv`
pub unsafe fn gather_varying_to_all<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    send: Ptr,
    send_count: L::Count,
    send_type: L::Handle,
    receive_counts: Ptr,
    receive_type: L::Handle,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    let traffic = |mpi: Mpi, comm| unsafe {
        let sent = if L::is_in_place(mpi, send) {
            own::<L>(mpi, receive_counts, comm, receive_type)
        } else {
            size::<L>(mpi, send_count, send_type)
        };
        (sent, total::<L>(mpi, receive_counts, mpi.peers_in(comm), receive_type))
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, None, comm, request, traffic) }
}

/// `MPI_Alltoall`
pub unsafe fn all_to_all<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    send: Ptr,
    send_count: L::Count,
    send_type: L::Handle,
    receive_count: L::Count,
    receive_type: L::Handle,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    let traffic = |mpi: Mpi, comm| unsafe {
        let each = size::<L>(mpi, receive_count, receive_type);
        let to_each = if L::is_in_place(mpi, send) { each } else { size::<L>(mpi, send_count, send_type) };
        let peers = i64::from(mpi.peers_in(comm));
        (to_each * peers, each * peers)
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, None, comm, request, traffic) }
}

/// To whom bytes go, or from whom they come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    To,
    From,
}

/// As many as there are on the other side: to, and from.
pub(super) fn peers(mpi: Mpi, comm: usize) -> (usize, usize) {
    let peers = mpi.peers_in(comm).max(0) as usize;
    (peers, peers)
}

/// Makes an exchange of which each peer may have another part. `peers` and `of` are asked after it has succeeded, and tell how many
/// there are, and the bytes to or from the one with this number.
pub(super) unsafe fn exchange<R: Recorder, L: Language, E: Fn(Way, usize) -> i64>(
    call: Call,
    real: impl FnOnce() -> c_int,
    comm: L::Handle,
    request: Ptr,
    peers: impl FnOnce(Mpi, usize) -> (usize, usize),
    of: impl FnOnce(Mpi) -> E,
) -> c_int {
    let Some((span, mpi)) = open::<R>(call) else { return real() };
    let result = real();
    R::returned(span);
    // SAFETY: an input of the call.
    let comm = unsafe { L::handle(mpi, Handle::Comm, comm) };
    // After a failure MPI is asked nothing: the datatypes may be what was wrong.
    let ((to, from), of) = match result == SUCCESS {
        true => (peers(mpi, comm), Some(of(mpi))),
        false => ((0, 0), None),
    };
    let of = |way, peer| of.as_ref().map_or(0, |of| of(way, peer));
    let (sent_to, received_from) =
        (|| (0..to).map(|peer| of(Way::To, peer)), || (0..from).map(|peer| of(Way::From, peer)));
    let (sent, received): (i64, i64) = (sent_to().sum(), received_from().sum());
    let on = mpi.comm(comm);
    if request.is_null() {
        R::part(span, call, result.into(), &[sent, received, NOBODY, on], &[], &[]);
    } else {
        // SAFETY: the application's place for the request.
        let request = unsafe { made::<L>(mpi, result, Handle::Request, request) };
        R::part(span, call, result.into(), &[sent, received, NOBODY, on, request], &[], &[]);
    }
    let list: &mut [i64] = Scratch::of::<R>(span, MIN_SCRATCH_BYTES).take_up_to(MAX_LIST);
    let mut used = 0;
    for bytes in sent_to().chain(received_from()) {
        if used == list.len() {
            R::part(span, Call::MpiCounts, 0, &[on], &[], list);
            used = 0;
        }
        list[used] = bytes;
        used += 1;
    }
    R::leave(span, Call::MpiCounts, 0, &[on], &[], &list[..used]);
    result
}

/// `MPI_Alltoallv`
pub unsafe fn all_to_all_varying<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    send: Ptr,
    send_counts: Ptr,
    send_type: L::Handle,
    receive_counts: Ptr,
    receive_type: L::Handle,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; each array has an entry per peer, and what is sent is not significant in place.
    let of = |mpi: Mpi| unsafe {
        let in_place = L::is_in_place(mpi, send);
        let size = |datatype| mpi.bytes(1, L::handle(mpi, Handle::Datatype, datatype));
        let received = size(receive_type);
        let sent = if in_place { received } else { size(send_type) };
        move |way, peer| match way {
            Way::To if !in_place => L::count_at(send_counts, peer) * sent,
            _ => L::count_at(receive_counts, peer) * received,
        }
    };
    // SAFETY: as the caller vouches.
    unsafe { exchange::<R, L, _>(call, real, comm, request, peers, of) }
}

/// `MPI_Alltoallw`
pub unsafe fn all_to_all_typed<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    send: Ptr,
    send_counts: Ptr,
    send_types: Ptr,
    receive_counts: Ptr,
    receive_types: Ptr,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; each array has an entry per peer.
    let of = |mpi: Mpi| unsafe {
        let in_place = L::is_in_place(mpi, send);
        move |way, peer| match way {
            Way::To if !in_place => size_at::<L>(mpi, send_counts, peer, send_types),
            _ => size_at::<L>(mpi, receive_counts, peer, receive_types),
        }
    };
    // SAFETY: as the caller vouches.
    unsafe { exchange::<R, L, _>(call, real, comm, request, peers, of) }
}

/// `MPI_Reduce_scatter`
pub unsafe fn reduce_scatter<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    receive_counts: Ptr,
    datatype: L::Handle,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches; the array has an entry for each process of the local group.
    let traffic = |mpi: Mpi, comm| unsafe {
        let sent = total::<L>(mpi, receive_counts, mpi.size_of(comm), datatype);
        (sent, own::<L>(mpi, receive_counts, comm, datatype))
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, None, comm, request, traffic) }
}

/// `MPI_Reduce_scatter_block`
pub unsafe fn reduce_scatter_block<R: Recorder, L: Language>(
    call: Call,
    real: impl FnOnce() -> c_int,
    receive_count: L::Count,
    datatype: L::Handle,
    comm: L::Handle,
    request: Ptr,
) -> c_int {
    // SAFETY: as the caller vouches.
    let traffic = |mpi: Mpi, comm| unsafe {
        let each = size::<L>(mpi, receive_count, datatype);
        (each * i64::from(mpi.size_of(comm)), each)
    };
    // SAFETY: as the caller vouches.
    unsafe { collective::<R, L>(call, real, None, comm, request, traffic) }
}
