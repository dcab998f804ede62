//! Constants of sockets, of waiting for descriptors, and of descriptors that tell of events.

use super::names::Names::{self, Bits, Counted, Valued};
use syn_trace::calls::Kind;

/// As [`super::of`].
pub fn of(kind: Kind) -> Option<Names> {
    Some(match kind {
        Kind::AddressFamily => Valued(&[
            (0, "AF_UNSPEC"),
            (1, "AF_UNIX"),
            (2, "AF_INET"),
            (10, "AF_INET6"),
            (16, "AF_NETLINK"),
            (17, "AF_PACKET"),
            (38, "AF_ALG"),
            (40, "AF_VSOCK"),
        ]),
        Kind::SocketType => Bits(&[
            // Those that include the bit of another come first.
            (5, "SOCK_SEQPACKET"),
            (3, "SOCK_RAW"),
            (2, "SOCK_DGRAM"),
            (1, "SOCK_STREAM"),
            (0o4000, "SOCK_NONBLOCK"),
            (0o2000000, "SOCK_CLOEXEC"),
        ]),
        Kind::AcceptFlags => Bits(&[(0o4000, "SOCK_NONBLOCK"), (0o2000000, "SOCK_CLOEXEC")]),
        Kind::ShutdownHow => Counted(&["SHUT_RD", "SHUT_WR", "SHUT_RDWR"]),
        Kind::SocketLevel => Valued(&[
            (0, "IPPROTO_IP"),
            (1, "SOL_SOCKET"),
            (6, "IPPROTO_TCP"),
            (17, "IPPROTO_UDP"),
            (41, "IPPROTO_IPV6"),
        ]),
        Kind::MessageFlags => Bits(MESSAGE),
        Kind::EpollOperation => Valued(&[(1, "EPOLL_CTL_ADD"), (2, "EPOLL_CTL_DEL"), (3, "EPOLL_CTL_MOD")]),
        Kind::EpollEvents => Bits(EPOLL),
        Kind::EpollFlags => Bits(&[(0o2000000, "EPOLL_CLOEXEC")]),
        Kind::EventfdFlags => {
            Bits(&[(1, "EFD_SEMAPHORE"), (0o4000, "EFD_NONBLOCK"), (0o2000000, "EFD_CLOEXEC")])
        }
        Kind::SignalfdFlags => Bits(&[(0o4000, "SFD_NONBLOCK"), (0o2000000, "SFD_CLOEXEC")]),
        Kind::TimerfdFlags => Bits(&[(0o4000, "TFD_NONBLOCK"), (0o2000000, "TFD_CLOEXEC")]),
        Kind::TimerfdSetFlags => Bits(&[(1, "TFD_TIMER_ABSTIME"), (2, "TFD_TIMER_CANCEL_ON_SET")]),
        Kind::InotifyFlags => Bits(&[(0o4000, "IN_NONBLOCK"), (0o2000000, "IN_CLOEXEC")]),
        Kind::InotifyMask => Bits(INOTIFY),
        Kind::PidfdFlags => Bits(&[(0o4000, "PIDFD_NONBLOCK")]),
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
    use syn_trace::calls::Kind;

    #[test]
    fn sockets_are_written_as_in_their_manual_pages() {
        let show = |kind, value| Symbol { kind, value }.to_string();
        assert_eq!(show(Kind::AddressFamily, 10), "AF_INET6");
        assert_eq!(show(Kind::SocketType, 0o2000001), "SOCK_STREAM|SOCK_CLOEXEC");
        assert_eq!(show(Kind::SocketType, 0o4005), "SOCK_SEQPACKET|SOCK_NONBLOCK");
        assert_eq!(show(Kind::SocketType, 2), "SOCK_DGRAM");
        assert_eq!(show(Kind::MessageFlags, 0x102), "MSG_PEEK|MSG_WAITALL");
        assert_eq!(show(Kind::MessageFlags, 0), "0");
        assert_eq!(show(Kind::ShutdownHow, 2), "SHUT_RDWR");
        assert_eq!(show(Kind::EpollOperation, 3), "EPOLL_CTL_MOD");
        assert_eq!(show(Kind::EpollEvents, 0x8000_0005), "EPOLLIN|EPOLLOUT|EPOLLET");
        assert_eq!(show(Kind::InotifyMask, 0x300), "IN_CREATE|IN_DELETE");
    }
}
