//! Constants of sockets, of waiting for descriptors, and of descriptors that tell of events.

use super::Names::{self, Bits, Counted, Valued};
use syn_trace::calls::Call;

/// As [`super::of`].
pub fn of(call: Call, name: &str) -> Option<Names> {
    Some(match (call, name) {
        (Call::Socket | Call::Socketpair, "domain") => Valued(&[
            (0, "AF_UNSPEC"),
            (1, "AF_UNIX"),
            (2, "AF_INET"),
            (10, "AF_INET6"),
            (16, "AF_NETLINK"),
            (17, "AF_PACKET"),
            (38, "AF_ALG"),
            (40, "AF_VSOCK"),
        ]),
        (Call::Socket | Call::Socketpair, "type") => Bits(&[
            // Those that include the bit of another come first.
            (5, "SOCK_SEQPACKET"),
            (3, "SOCK_RAW"),
            (2, "SOCK_DGRAM"),
            (1, "SOCK_STREAM"),
            (0o4000, "SOCK_NONBLOCK"),
            (0o2000000, "SOCK_CLOEXEC"),
        ]),
        (Call::Accept, "flags") => Bits(&[(0o4000, "SOCK_NONBLOCK"), (0o2000000, "SOCK_CLOEXEC")]),
        (Call::Shutdown, "how") => Counted(&["SHUT_RD", "SHUT_WR", "SHUT_RDWR"]),
        (Call::Setsockopt | Call::Getsockopt, "level") => Valued(&[
            (0, "IPPROTO_IP"),
            (1, "SOL_SOCKET"),
            (6, "IPPROTO_TCP"),
            (17, "IPPROTO_UDP"),
            (41, "IPPROTO_IPV6"),
        ]),
        (
            Call::Send
            | Call::Sendto
            | Call::Sendmsg
            | Call::Sendmmsg
            | Call::Recv
            | Call::Recvfrom
            | Call::Recvmsg
            | Call::Recvmmsg,
            "flags",
        ) => Bits(MESSAGE),
        (Call::EpollCtl, "op") => Valued(&[(1, "EPOLL_CTL_ADD"), (2, "EPOLL_CTL_DEL"), (3, "EPOLL_CTL_MOD")]),
        (Call::EpollCtl, "events") => Bits(EPOLL),
        (Call::EpollCreate, "flags") => Bits(&[(0o2000000, "EPOLL_CLOEXEC")]),
        (Call::Eventfd, "flags") => {
            Bits(&[(1, "EFD_SEMAPHORE"), (0o4000, "EFD_NONBLOCK"), (0o2000000, "EFD_CLOEXEC")])
        }
        (Call::Signalfd, "flags") => Bits(&[(0o4000, "SFD_NONBLOCK"), (0o2000000, "SFD_CLOEXEC")]),
        (Call::TimerfdCreate, "flags") => Bits(&[(0o4000, "TFD_NONBLOCK"), (0o2000000, "TFD_CLOEXEC")]),
        (Call::TimerfdSettime, "flags") => Bits(&[(1, "TFD_TIMER_ABSTIME"), (2, "TFD_TIMER_CANCEL_ON_SET")]),
        (Call::InotifyInit, "flags") => Bits(&[(0o4000, "IN_NONBLOCK"), (0o2000000, "IN_CLOEXEC")]),
        (Call::InotifyAddWatch, "mask") => Bits(INOTIFY),
        (Call::PidfdOpen, "flags") => Bits(&[(0o4000, "PIDFD_NONBLOCK")]),
        _ => return None,
    })
}

const MESSAGE: &[(i64, &str)] = &[
    (0x1, "MSG_OOB"),
    (0x2, "MSG_PEEK"),
    (0x4, "MSG_DONTROUTE"),
    (0x20, "MSG_TRUNC"),
    (0x40, "MSG_DONTWAIT"),
    (0x80, "MSG_EOR"),
    (0x100, "MSG_WAITALL"),
    (0x800, "MSG_CONFIRM"),
    (0x2000, "MSG_ERRQUEUE"),
    (0x4000, "MSG_NOSIGNAL"),
    (0x8000, "MSG_MORE"),
    (0x10000, "MSG_WAITFORONE"),
    (0x400_0000, "MSG_ZEROCOPY"),
    (0x2000_0000, "MSG_FASTOPEN"),
    (0x4000_0000, "MSG_CMSG_CLOEXEC"),
];

const EPOLL: &[(i64, &str)] = &[
    (0x1, "EPOLLIN"),
    (0x2, "EPOLLPRI"),
    (0x4, "EPOLLOUT"),
    (0x8, "EPOLLERR"),
    (0x10, "EPOLLHUP"),
    (0x2000, "EPOLLRDHUP"),
    (0x1000_0000, "EPOLLEXCLUSIVE"),
    (0x2000_0000, "EPOLLWAKEUP"),
    (0x4000_0000, "EPOLLONESHOT"),
    (0x8000_0000, "EPOLLET"),
];

const INOTIFY: &[(i64, &str)] = &[
    (0x1, "IN_ACCESS"),
    (0x2, "IN_MODIFY"),
    (0x4, "IN_ATTRIB"),
    (0x8, "IN_CLOSE_WRITE"),
    (0x10, "IN_CLOSE_NOWRITE"),
    (0x20, "IN_OPEN"),
    (0x40, "IN_MOVED_FROM"),
    (0x80, "IN_MOVED_TO"),
    (0x100, "IN_CREATE"),
    (0x200, "IN_DELETE"),
    (0x400, "IN_DELETE_SELF"),
    (0x800, "IN_MOVE_SELF"),
    (0x100_0000, "IN_ONLYDIR"),
    (0x200_0000, "IN_DONT_FOLLOW"),
    (0x400_0000, "IN_EXCL_UNLINK"),
    (0x2000_0000, "IN_MASK_ADD"),
    (0x8000_0000, "IN_ONESHOT"),
];

#[cfg(test)]
mod tests {
    use super::super::super::symbols::Symbol;
    use syn_trace::calls::{Call, Kind};

    #[test]
    fn sockets_are_written_as_in_their_manual_pages() {
        let show = |call, name, value| Symbol { call, name, kind: Kind::Int, value }.to_string();
        assert_eq!(show(Call::Socket, "domain", 10), "AF_INET6");
        assert_eq!(show(Call::Socket, "type", 0o2000001), "SOCK_STREAM|SOCK_CLOEXEC");
        assert_eq!(show(Call::Socket, "type", 0o4005), "SOCK_SEQPACKET|SOCK_NONBLOCK");
        assert_eq!(show(Call::Socketpair, "type", 2), "SOCK_DGRAM");
        assert_eq!(show(Call::Recv, "flags", 0x102), "MSG_PEEK|MSG_WAITALL");
        assert_eq!(show(Call::Send, "flags", 0), "0");
        assert_eq!(show(Call::Shutdown, "how", 2), "SHUT_RDWR");
        assert_eq!(show(Call::EpollCtl, "op", 3), "EPOLL_CTL_MOD");
        assert_eq!(show(Call::EpollCtl, "events", 0x8000_0005), "EPOLLIN|EPOLLOUT|EPOLLET");
        assert_eq!(show(Call::InotifyAddWatch, "mask", 0x300), "IN_CREATE|IN_DELETE");
    }
}
