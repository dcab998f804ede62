//! Sockets, waiting and event descriptors: complete, and harmless.
//!
//! Each program runs without the shim and with it, and must do the same; and once under the shim and strace at the same
//! time. Then every thread must have made the same calls in both records, one after the other, with the same results, on
//! the same sockets; and on every socket, in each direction, the calls and bytes must be the same.

mod kernel;
mod steps;
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use steps::{Moved, Step};
use syn_trace::Run;
use tests::workloads::python_itself;
use tests::{Dump, Job, program, program_fortified, record, strace};

/// asyncio over the loopback interface: a server and its clients in one process, with a thread, a timer and a child.
const ASYNCIO: &str = r#"
import asyncio, socket, sys

async def serve(reader, writer):
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()
    writer.close()

async def ask(port, name):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    found = []
    for number in range(20):
        writer.write(f"{name} {number}\n".encode() * 50)
        found.append([await reader.readline() for _ in range(50)][-1])
        await asyncio.sleep(0)
    writer.close()
    await writer.wait_closed()
    return len(found), found[-1].decode()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(await asyncio.gather(*(ask(port, f"client {index}") for index in range(5))))
    print(await asyncio.get_running_loop().run_in_executor(None, lambda: sum(range(1000))))
    child = await asyncio.create_subprocess_exec(sys.executable, "-S", "-E", "-c", "print(input())",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    print(await child.communicate(b"through two pipes\n"))
    one, other = socket.socketpair()
    reader, writer = await asyncio.open_unix_connection(sock=one)
    await asyncio.get_running_loop().sock_sendall(other, b"pair\n")
    print(await reader.readline())
    server.close()

asyncio.run(main())
"#;

fn asyncio() -> Job {
    // -S and -E: nothing of the machine's packages and settings.
    Job::new(python_itself()).args(["-S", "-E", "-c", ASYNCIO])
}

/// Compares the two records of a job, which makes these calls among others.
#[track_caller]
fn compare(job: &Job, makes: &[&str]) {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let [strace, work] = ["strace", "work"].map(|name| scratch.path().join(name));
    std::fs::create_dir(&strace).expect("a folder in an empty one");
    std::fs::create_dir(&work).expect("a folder in an empty one");
    let folder = scratch.path().join("run");
    let outcome = strace::job(&strace, &folder, &kernel::calls()).followed_by(job).run_in(&work).succeeded();
    let run = Run::open(&folder).unwrap_or_else(|error| panic!("{error}\n{}", outcome.stderr));
    assert_eq!(run.dropped(), 0, "dropped records");
    let (kernel, trace) = (kernel::steps(&strace, &work), trace::steps(&run));
    let threads: BTreeSet<&u32> = kernel.keys().chain(trace.keys()).collect();
    for tid in threads {
        let of = |steps: &'_ BTreeMap<u32, Vec<Step>>| steps.get(tid).cloned().unwrap_or_default();
        same(*tid, &of(&kernel), &of(&trace));
    }
    assert_eq!(
        steps::moved(&kernel),
        steps::moved(&trace),
        "calls and bytes in the kernel (left) and in the trace"
    );
    let made: BTreeSet<&str> = trace.values().flatten().map(|step| step.call.as_str()).collect();
    let missing: Vec<_> = makes.iter().filter(|call| !made.contains(*call)).collect();
    assert!(missing.is_empty(), "the program made no such calls: {missing:?}");
}

/// The same steps in the same order.
#[track_caller]
fn same(tid: u32, kernel: &[Step], trace: &[Step]) {
    let differing = (0..kernel.len().max(trace.len())).find(|&index| kernel.get(index) != trace.get(index));
    if let Some(index) = differing {
        let around = |steps: &[Step]| {
            let shown = steps.iter().enumerate().skip(index.saturating_sub(3)).take(7);
            shown.map(|(index, step)| format!("  {index}: {step:?}\n")).collect::<String>()
        };
        panic!("thread {tid} differs at {index}: kernel\n{}trace\n{}", around(kernel), around(trace));
    }
}

/// All parts but one: a call in which a signal ends the process does not return to anybody who could record it.
#[test]
fn every_call() {
    let parts = "tcp tcp6 tcp-nonblocking tcp-threads udp udp-connected unix-streams unix-datagrams pairs options vectors \
                 messages descriptors many-descriptors select poll poll-many select-high epoll cancel eventfd timerfd \
                 signalfd inotify pidfd libc bad-descriptors bad-addresses nobody-there";
    let makes = [
        "socket",
        "socketpair",
        "bind",
        "listen",
        "accept",
        "connect",
        "shutdown",
        "setsockopt",
        "getsockopt",
        "getsockname",
        "getpeername",
        "send",
        "receive",
        "sendmmsg",
        "recvmmsg",
        "read",
        "write",
        "poll",
        "select",
        "epoll_create",
        "epoll_ctl",
        "epoll_wait",
        "eventfd",
        "signalfd",
        "timerfd_create",
        "timerfd_settime",
        "timerfd_gettime",
        "inotify_init",
        "inotify_add_watch",
        "inotify_rm_watch",
        "pidfd_open",
    ];
    for program in [program("socket_surface"), program_fortified("socket_surface")] {
        compare(&Job::new(program).args(parts.split_whitespace()), &makes);
    }
}

#[test]
fn every_call_in_python() {
    compare(&asyncio(), &["socketpair", "accept", "connect", "send", "receive", "epoll_wait"]);
}

#[test]
fn nobody_notices() {
    for job in [Job::new(program("socket_surface")), Job::new(program_fortified("socket_surface")), asyncio()]
    {
        let recorded = record(&job);
        assert!(recorded.plain.status.success(), "{job:?}: {}", recorded.plain.stderr);
        assert_eq!(recorded.run.unobserved(), [], "{job:?}");
    }
}

/// Whoever was accepted has connected, and each of the two knows the other's address.
#[test]
fn both_ends_are_found() {
    let recorded = record(&asyncio());
    let ends = trace::connected(&recorded.run);
    let over_inet: Vec<_> = ends.iter().filter(|end| end.local.starts_with("inet:127.0.0.1:")).collect();
    assert_eq!(over_inet.len(), 10, "five clients, five times the server: {over_inet:?}");
    for end in &ends {
        let other = ends.iter().filter(|other| other.local == end.peer && other.peer == end.local);
        assert_eq!(other.count(), 1, "{end:?} has one other end among {ends:?}");
    }
}

/// What was sent to a peer is what the peer received, as far as both were read to the end.
#[test]
fn what_one_end_sends_the_other_receives() {
    let recorded = record(&asyncio());
    let Moved { sent, received } = trace::moved_between(&recorded.run);
    assert!(sent.len() >= 10, "ten directions between five clients and the server: {sent:?}");
    for ((from, to), bytes) in &sent {
        assert_eq!(received.get(&(to.clone(), from.clone())), Some(bytes), "from {from} to {to}");
    }
}

#[test]
fn the_dump_tells_the_peer() {
    let recorded = record(&Job::new(program("socket_surface")).args(["tcp", "unix-streams", "udp"]));
    let dump = Dump::of(&recorded.run_folder());
    let peers: Vec<&str> = dump.calls("write").filter_map(|seen| seen.args.get("peer")?.as_str()).collect();
    assert!(peers.iter().filter(|peer| peer.starts_with("inet:127.0.0.1:")).count() >= 2, "{peers:?}");
    assert!(peers.contains(&"unix:stream"), "{peers:?}");
    assert!(
        dump.calls("write").filter(|seen| seen.args.contains_key("peer")).all(|seen| seen.path.is_none())
    );
    let accepted =
        dump.calls("accept").find(|seen| seen.args["local"] == "unix:stream").expect("the server's end");
    assert_eq!((&accepted.args["peer"], &accepted.args["pid"]), (&"unix:".into(), &accepted.pid.into()));
    let datagrams = dump.calls("recvfrom").filter(|seen| seen.result == 8 && seen.args["src_addr"] != "");
    let senders: BTreeSet<String> = datagrams.map(|seen| seen.args["src_addr"].to_string()).collect();
    assert_eq!(senders.len(), 1, "all datagrams came from one socket: {senders:?}");
}
