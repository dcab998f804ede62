//! Sockets and their addresses are followed, and so are the descriptors that stand for no file.

use syn_trace::builder::TraceBuilder;
use syn_trace::descriptors::{Descriptors, OpenFile, Touched, flags};
use syn_trace::{Call, Run};

/// What a process has open at its start: 0, 1 and 2.
const STANDARD: u32 = 3;
const SOCKET: u32 = 0o140_000;
const STREAM: i64 = 1;
const NONBLOCK: i64 = flags::O_NONBLOCK as i64;
const EINPROGRESS: i32 = 115;

/// Applies all events of a process, which has one thread.
fn follow(thread: &TraceBuilder) -> (Descriptors, Vec<Touched>) {
    let folder = tempfile::tempdir().unwrap();
    thread.write(folder.path()).unwrap();
    let run = Run::open(folder.path()).unwrap();
    let mut descriptors = Descriptors::new("/", 1);
    let touched = run
        .process_events(0)
        .map(|(thread, event)| (&run.threads[thread], event))
        .map(|(thread, event)| descriptors.apply(&event, thread.start_ns(&event), thread.returned_ns(&event)))
        .collect();
    (descriptors, touched)
}

fn app() -> TraceBuilder {
    TraceBuilder::new(7, 7).process_start("/bin/app", "/home/u", "app")
}

fn at(descriptors: &Descriptors, fd: i32) -> &OpenFile {
    descriptors.open_file(descriptors.descriptor(fd).expect("an open descriptor"))
}

fn addresses(file: &OpenFile) -> (Option<&str>, Option<&str>) {
    (file.local.as_deref(), file.peer.as_deref())
}

#[test]
fn both_ends_of_a_connection() {
    let (server, client) = (b"inet:127.0.0.1:80", b"inet:127.0.0.1:40000");
    let thread = app()
        .call(Call::Socket, 100, 5, 3, &[2, STREAM, 0, 33], &[], &[])
        .call(Call::Bind, 200, 5, 0, &[3], &[server], &[])
        .call(Call::Socket, 300, 5, 4, &[2, STREAM | NONBLOCK, 0, 44], &[], &[])
        .fail(Call::Connect, 400, 5, EINPROGRESS, &[4], &[client, server])
        .call(Call::Accept, 500, 5, 5, &[3, NONBLOCK, 55, 0], &[server, client], &[])
        .call(Call::Write, 600, 5, 9, &[5, 9], &[], &[])
        .call(Call::Close, 700, 5, 0, &[3], &[], &[]);
    let (descriptors, touched) = follow(&thread);
    let (connected, accepted) = (at(&descriptors, 4), at(&descriptors, 5));
    let [server, client] = [&server[..], client].map(|text| std::str::from_utf8(text).ok());
    assert_eq!(addresses(connected), (client, server));
    assert_eq!(addresses(accepted), (server, client));
    assert_eq!((accepted.st_mode, accepted.inode, accepted.path.as_deref()), (SOCKET, 55, None));
    assert_eq!(accepted.flags, flags::O_RDWR | flags::O_NONBLOCK);
    let listening = descriptors.open_file(STANDARD);
    assert_eq!((listening.inode, addresses(listening)), (33, (server, None)));
    let write = &touched[touched.len() - 2];
    assert_eq!(
        (write.file, write.peer.as_deref(), write.path.as_deref()),
        (Some(STANDARD + 2), client, None)
    );
    assert_eq!(touched.last().unwrap().released, [STANDARD]);
    assert_eq!(descriptors.descriptor(3), None);
}

#[test]
fn a_connect_that_failed_names_nobody() {
    let thread = app().call(Call::Socket, 100, 5, 3, &[2, STREAM, 0, 33], &[], &[]).fail(
        Call::Connect,
        200,
        5,
        111,
        &[3],
        &[b"", b"inet:127.0.0.1:9"],
    );
    let (descriptors, _) = follow(&thread);
    assert_eq!(addresses(at(&descriptors, 3)), (None, None));
}

#[test]
fn names_that_are_asked_for_are_known_from_then_on() {
    let thread = app()
        .call(Call::InheritedFd, 50, 0, 0, &[9, 2, 0, i64::from(SOCKET), 0, 99], &[b""], &[])
        .call(Call::Getsockname, 100, 5, 0, &[9], &[b"unix:/run/s"], &[])
        .call(Call::Getpeername, 200, 5, 0, &[9], &[b"unix:"], &[]);
    let (descriptors, _) = follow(&thread);
    let file = at(&descriptors, 9);
    assert_eq!(
        (file.inherited, file.inode, addresses(file)),
        (true, 99, (Some("unix:/run/s"), Some("unix:")))
    );
}

#[test]
fn a_datagram_socket_lets_go_of_its_peer() {
    let thread = app()
        .call(Call::Socket, 100, 5, 3, &[2, 2, 0, 33], &[], &[])
        .call(Call::Connect, 200, 5, 0, &[3], &[b"inet:127.0.0.1:5", b"inet:127.0.0.1:6"], &[])
        .call(Call::Connect, 300, 5, 0, &[3], &[b"inet:127.0.0.1:5", b""], &[]);
    let (descriptors, _) = follow(&thread);
    assert_eq!(addresses(at(&descriptors, 3)), (Some("inet:127.0.0.1:5"), None));
}

#[test]
fn the_ends_of_a_pair_name_each_other() {
    let thread = app()
        // Closed by someone whom nobody saw: the number is taken by the pair.
        .call(Call::Open, 50, 5, 3, &[0, 0, 0o100_644, 10, 1], &[b"/gone"], &[])
        .call(Call::Socketpair, 100, 5, 0, &[3, 4, 1, STREAM, 0, 71, 72], &[], &[])
        .call(Call::Dup, 200, 5, 8, &[4], &[], &[])
        .call(Call::Getsockname, 300, 5, 0, &[3], &[b"unix:"], &[]);
    let (descriptors, touched) = follow(&thread);
    let (one, two) = (at(&descriptors, 3), at(&descriptors, 8));
    assert_eq!((one.inode, two.inode, one.path.as_deref()), (71, 72, None));
    assert_eq!(addresses(one), (Some("unix:[71]"), Some("unix:[72]")));
    assert_eq!(addresses(two), (Some("unix:[72]"), Some("unix:[71]")));
    let pair = touched.iter().find(|touched| touched.opened == Some(STANDARD + 1)).expect("the pair");
    assert_eq!((pair.file, pair.released.as_slice()), (Some(STANDARD + 1), &[STANDARD][..]));
}

#[test]
fn a_descriptor_that_came_in_a_message() {
    let thread = app()
        .call(Call::Socketpair, 100, 5, 0, &[3, 4, 1, STREAM, 0, 71, 72], &[], &[])
        .call(Call::Recvmsg, 200, 5, 1, &[4, 1, 0], &[b""], &[5])
        .call(Call::InheritedFd, 210, 0, 0, &[5, 0, 30, 0o100_644, 100, 6], &[b"/data"], &[])
        .call(Call::Read, 300, 5, 10, &[5, 10], &[], &[]);
    let (descriptors, touched) = follow(&thread);
    let file = at(&descriptors, 5);
    assert_eq!((file.path.as_deref(), file.offset, file.inherited), (Some("/data"), 40, true));
    assert_eq!(touched.last().unwrap().path.as_deref(), Some("/data"));
}

#[test]
fn descriptors_that_stand_for_no_file() {
    let thread = app()
        .call(Call::EpollCreate, 100, 5, 3, &[0], &[], &[])
        .call(Call::Eventfd, 200, 5, 4, &[0, NONBLOCK], &[], &[])
        .call(Call::Signalfd, 300, 5, 5, &[-1, 2, 0], &[], &[])
        .call(Call::Signalfd, 301, 5, 5, &[5, 6, 0], &[], &[])
        .call(Call::TimerfdCreate, 400, 5, 6, &[1, 0], &[], &[])
        .call(Call::InotifyInit, 500, 5, 7, &[0], &[], &[])
        .call(Call::PidfdOpen, 600, 5, 8, &[7, 0], &[], &[])
        .call(Call::Read, 700, 5, 8, &[4, 8], &[], &[]);
    let (descriptors, touched) = follow(&thread);
    for fd in 3..=8 {
        let file = at(&descriptors, fd);
        assert_eq!(descriptors.descriptor(fd), Some(STANDARD + fd as u32 - 3), "descriptor {fd}");
        assert_eq!((file.st_mode, file.path.as_deref(), file.inherited), (0, None, false), "descriptor {fd}");
    }
    assert_eq!(at(&descriptors, 4).flags & flags::O_NONBLOCK, flags::O_NONBLOCK);
    assert_eq!(touched.last().unwrap().file, Some(STANDARD + 1));
}
