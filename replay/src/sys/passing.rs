//! Open files on their way from one table of descriptors to another, as messages of a socket (unix(7), `SCM_RIGHTS`).
//!
//! A descriptor that stayed in the sender's table until the receiver has its own would have to be closed there, and some file systems
//! write out what they hold at each close(2): a fork has no such cost.

use rustix::io::Result;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// So many may be on their way at a time.
const PARCELS: usize = 8;
/// So many fit into a message: `SCM_MAX_FD` of the kernel.
const MOST_FILES: usize = 253;

/// What open files are passed through. It is open in both tables.
#[derive(Debug)]
pub struct Passing {
    ways: Vec<Way>,
}

#[derive(Debug)]
struct Way {
    ends: (OwnedFd, OwnedFd),
    in_use: AtomicBool,
}

/// Open files that wait to be received.
#[derive(Debug)]
pub struct Parcel<'a> {
    way: &'a Way,
    files: usize,
}

impl Passing {
    /// With no sockets, nothing can be passed.
    pub fn open() -> Passing {
        let way = |_| {
            let ends = socketpair(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
            Ok(Way { ends, in_use: AtomicBool::new(false) })
        };
        let ways: Result<Vec<Way>> = (0..PARCELS).map(way).collect();
        Passing { ways: ways.unwrap_or_default() }
    }

    /// Sends off the first of these open files, as many as fit. `None` where there are none, too many are on their way already, or the
    /// kernel refuses.
    pub fn send(&self, files: &[BorrowedFd<'_>]) -> Option<Parcel<'_>> {
        let files = &files[..files.len().min(MOST_FILES)];
        if files.is_empty() {
            return None;
        }
        let way = self.ways.iter().find(|way| !way.in_use.swap(true, Ordering::Acquire))?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        let fits = rights.push(SendAncillaryMessage::ScmRights(files));
        let sent = sendmsg(&way.ends.0, &[IoSlice::new(&[0])], &mut rights, SendFlags::DONTWAIT);
        if !fits || sent.is_err() {
            way.in_use.store(false, Ordering::Release);
            return None;
        }
        Some(Parcel { way, files: files.len() })
    }
}

impl Parcel<'_> {
    /// In the table that they are for: the open files in their order. Fewer where that is full.
    pub fn receive(self) -> Vec<OwnedFd> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received =
            recvmsg(self.way.ends.1.as_fd(), &mut [IoSliceMut::new(&mut byte)], &mut rights, flags);
        let mut files = Vec::with_capacity(self.files);
        if received.is_ok() {
            for message in rights.drain() {
                if let RecvAncillaryMessage::ScmRights(found) = message {
                    files.extend(found);
                }
            }
            self.way.in_use.store(false, Ordering::Release);
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek, tell};

    #[test]
    fn files_arrive_in_their_order_and_as_the_same_open_files() {
        let passing = Passing::open();
        let files = ["one", "other"].map(|name| memfd_create(name, MemfdFlags::CLOEXEC).expect("memory"));
        let parcel = passing.send(&files.each_ref().map(AsFd::as_fd)).expect("a way");
        seek(&files[0], SeekFrom::Start(5)).expect("a position");
        seek(&files[1], SeekFrom::Start(7)).expect("a position");
        let received = parcel.receive();
        assert_eq!(received.iter().map(tell).collect::<Result<Vec<u64>>>(), Ok(vec![5, 7]));
    }

    #[test]
    fn what_is_on_its_way_keeps_its_way_until_it_is_received() {
        let passing = Passing::open();
        let file = memfd_create("one", MemfdFlags::CLOEXEC).expect("memory");
        assert!(passing.send(&[]).is_none(), "nothing to send");
        let mut parcels: Vec<Parcel<'_>> =
            (0..PARCELS).map(|_| passing.send(&[file.as_fd()]).expect("a way")).collect();
        assert!(passing.send(&[file.as_fd()]).is_none(), "no way left");
        assert_eq!(parcels.pop().expect("the last").receive().len(), 1);
        assert!(passing.send(&[file.as_fd()]).is_some());
        let many = vec![file.as_fd(); MOST_FILES + 1];
        parcels.pop().expect("one").receive();
        assert_eq!(passing.send(&many).expect("a way").receive().len(), MOST_FILES);
    }
}
