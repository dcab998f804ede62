//! Messages between two ranks.

#![allow(unsafe_code)]

use super::engine::{Engine, until};
use mpi::ffi::{self, MPI_Comm};
use std::os::raw::c_int;
use syn_plan::{ANY, CommId, Mpi, NOBODY, SendMode};

/// Where a message goes or comes from: communicator, rank, tag.
type Envelope = (MPI_Comm, c_int, c_int);

impl Engine<'_> {
    fn envelope(&self, comm: CommId, peer: i32, tag: i32) -> Envelope {
        // SAFETY: constants of the MPI that is linked.
        let (nobody, any, any_tag) =
            unsafe { (ffi::RSMPI_PROC_NULL, ffi::RSMPI_ANY_SOURCE, ffi::RSMPI_ANY_TAG) };
        let peer = match peer {
            NOBODY => nobody,
            ANY => any,
            peer => self.numbers.side(comm).rank(peer),
        };
        // A message to nobody has any tag, which MPI may not take.
        let tag = match tag {
            ANY => any_tag,
            tag => tag.max(0),
        };
        (self.comm(comm), peer, tag)
    }

    /// Makes a call that sends, receives or looks for one message.
    ///
    /// # Safety
    /// The plan has been checked, and the buffers are made for its calls.
    #[inline]
    pub(super) unsafe fn on_message(&self, call: &Mpi) {
        let buffers = &self.buffers;
        let (send, receive) = (buffers.send.at().cast_const(), buffers.receive.at());
        // SAFETY: as the caller vouches.
        unsafe {
            let byte = ffi::RSMPI_UINT8_T;
            let ignored = ffi::RSMPI_STATUS_IGNORE;
            let mut new = ffi::RSMPI_REQUEST_NULL;
            match *call {
                Mpi::Send { mode, comm, peer, tag, bytes } => {
                    let send_it = match mode {
                        SendMode::Standard => ffi::MPI_Send,
                        SendMode::Buffered => ffi::MPI_Bsend,
                        SendMode::Synchronous => ffi::MPI_Ssend,
                        SendMode::Ready => ffi::MPI_Rsend,
                    };
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    send_it(send, bytes as c_int, byte, peer, tag, comm);
                }
                Mpi::Isend { mode, comm, peer, tag, bytes, request } => {
                    let send_it = match mode {
                        SendMode::Standard => ffi::MPI_Isend,
                        SendMode::Buffered => ffi::MPI_Ibsend,
                        SendMode::Synchronous => ffi::MPI_Issend,
                        SendMode::Ready => ffi::MPI_Irsend,
                    };
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    send_it(send, bytes as c_int, byte, peer, tag, comm, &mut new);
                    self.keep(request, new);
                }
                Mpi::SendInit { mode, comm, peer, tag, bytes, request } => {
                    let prepare = match mode {
                        SendMode::Standard => ffi::MPI_Send_init,
                        SendMode::Buffered => ffi::MPI_Bsend_init,
                        SendMode::Synchronous => ffi::MPI_Ssend_init,
                        SendMode::Ready => ffi::MPI_Rsend_init,
                    };
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    prepare(send, bytes as c_int, byte, peer, tag, comm, &mut new);
                    self.keep(request, new);
                    self.forget_collective(request);
                }
                Mpi::Recv { comm, peer, tag, bytes } => {
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    ffi::MPI_Recv(receive, bytes as c_int, byte, peer, tag, comm, ignored);
                }
                Mpi::Irecv { comm, peer, tag, bytes, request } => {
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    let to = buffers.of_request(request);
                    ffi::MPI_Irecv(to, bytes as c_int, byte, peer, tag, comm, &mut new);
                    self.keep(request, new);
                }
                Mpi::RecvInit { comm, peer, tag, bytes, request } => {
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    let to = buffers.of_request(request);
                    ffi::MPI_Recv_init(to, bytes as c_int, byte, peer, tag, comm, &mut new);
                    self.keep(request, new);
                    self.forget_collective(request);
                }
                Mpi::Sendrecv { comm, peer, tag, bytes, source, received_tag, room, replace } => {
                    let (comm, peer, tag, source, received_tag) = {
                        let (there, source, received_tag) = self.envelope(comm, source, received_tag);
                        let (_, peer, tag) = self.envelope(comm, peer, tag);
                        (there, peer, tag, source, received_tag)
                    };
                    let (bytes, room) = (bytes as c_int, room as c_int);
                    if replace {
                        ffi::MPI_Sendrecv_replace(
                            receive,
                            bytes,
                            byte,
                            peer,
                            tag,
                            source,
                            received_tag,
                            comm,
                            ignored,
                        );
                    } else {
                        ffi::MPI_Sendrecv(
                            send,
                            bytes,
                            byte,
                            peer,
                            tag,
                            receive,
                            room,
                            byte,
                            source,
                            received_tag,
                            comm,
                            ignored,
                        );
                    }
                }
                Mpi::Probe { comm, peer, tag, test } => {
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    if !test {
                        ffi::MPI_Probe(peer, tag, comm, ignored);
                        return;
                    }
                    until(|flag| ffi::MPI_Iprobe(peer, tag, comm, flag, ignored));
                }
                Mpi::Mprobe { comm, peer, tag, test, request } => {
                    let (comm, peer, tag) = self.envelope(comm, peer, tag);
                    let mut message = ffi::RSMPI_MESSAGE_NULL;
                    if test {
                        until(|flag| ffi::MPI_Improbe(peer, tag, comm, flag, &mut message, ignored));
                    } else {
                        ffi::MPI_Mprobe(peer, tag, comm, &mut message, ignored);
                    }
                    self.messages.set(request, message);
                }
                Mpi::Mrecv { request, bytes } => {
                    let mut message = self.messages.get(request);
                    ffi::MPI_Mrecv(receive, bytes as c_int, byte, &mut message, ignored);
                }
                Mpi::Imrecv { request, bytes, new: number } => {
                    let mut message = self.messages.get(request);
                    let to = buffers.of_request(number);
                    ffi::MPI_Imrecv(to, bytes as c_int, byte, &mut message, &mut new);
                    self.keep(number, new);
                }
                _ => {}
            }
        }
    }
}
