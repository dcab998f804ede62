//! Calls of MPI: written and read, refused where they cannot be, compared with each other.

use syn_plan::{
    ANY, About, Access, BETWEEN, Balance, Collective, Completion, Creation, Epoch, Fault, File, FileCall,
    FileTransfer, Initial, Lock, MPI_ROWS, Mpi, NOBODY, NONE, Op, Plan, PlanFile, Program, SendMode, Step,
    Thread, VERSION, WORLD, Window,
};

/// One of each call, in the order of their numbers. On rank 0 of two; [`plan`] has the other one's.
const CALLS: [Mpi; 42] = [
    Mpi::Send { mode: SendMode::Buffered, comm: 2, peer: 0, tag: 7, bytes: 1 << 20 },
    Mpi::Isend { mode: SendMode::Standard, comm: 0, peer: 1, tag: 0, bytes: 8, request: 0 },
    Mpi::SendInit { mode: SendMode::Ready, comm: 0, peer: NOBODY, tag: 0, bytes: 8, request: 1 },
    Mpi::Recv { comm: 0, peer: NOBODY, tag: ANY, bytes: 9 },
    Mpi::Irecv { comm: 0, peer: NOBODY, tag: 3, bytes: 9, request: 2 },
    Mpi::RecvInit { comm: 0, peer: NOBODY, tag: 3, bytes: 9, request: 3 },
    Mpi::Sendrecv { comm: 0, peer: 0, tag: 1, bytes: 2, source: 0, received_tag: 1, room: 2, replace: false },
    Mpi::Probe { comm: 0, peer: NOBODY, tag: 4, test: true },
    Mpi::Mprobe { comm: 0, peer: NOBODY, tag: 4, test: false, request: 4 },
    Mpi::Mrecv { request: 4, bytes: 5 },
    Mpi::Imrecv { request: 4, bytes: 5, new: 5 },
    Mpi::Start { list: 1, all: true },
    Mpi::RequestFree { request: 1 },
    Mpi::Cancel { request: 2 },
    Mpi::Complete { how: Completion::Waitany, given: 4, list: 1 },
    gatherv(0),
    Mpi::Icollective {
        kind: Collective::Bcast,
        comm: 2,
        root: 0,
        sent: 0,
        received: 4,
        counts: 0,
        from: 0,
        request: 6,
    },
    Mpi::CollectiveInit {
        kind: Collective::Barrier,
        comm: 0,
        root: NOBODY,
        sent: 0,
        received: 0,
        counts: 0,
        from: 0,
        request: 6,
    },
    Mpi::MakeComm { how: Creation::Split, comm: 0, new: 2 },
    Mpi::FreeComm { comm: 2 },
    Mpi::Init,
    Mpi::Finalize,
    Mpi::FileOpen { comm: 2, file: 0, opened: 0, mode: 9, hints: 0 },
    Mpi::FileClose { opened: 0 },
    Mpi::FileDelete { file: 0 },
    VIEW,
    Mpi::FileSeek { opened: 0, distance: -1, whence: 2, shared: false },
    Mpi::FileCall { how: FileCall::SetSize, opened: 0, number: 1 << 40, hints: 0 },
    WRITE_ALL,
    Mpi::FileItransfer { how: FileTransfer::IreadAt, opened: 0, offset: 1 << 40, bytes: 9, request: 7 },
    Mpi::FileLeave,
    Mpi::FileEnter,
    Mpi::WinMake { how: Window::Allocate, comm: 2, window: 0, bytes: 1 << 20, unit: 8 },
    Mpi::WinFree { window: 0 },
    FENCE,
    Mpi::WinLock { how: Lock::Lock, window: 0, peer: 0, exclusive: true },
    Mpi::Rma { how: Access::Put, window: 0, peer: 0, at: 1023, bytes: 8 },
    Mpi::RmaRequest { how: Access::Rget, window: 0, peer: 1, at: 0, bytes: 9, request: 8 },
    // Rank 0 of the world is rank 1 of communicator 3, and sends to the other one alone.
    Mpi::MakeTopology { comm: 0, new: 3, sources: 0, destinations: 4 },
    Mpi::InitEnter,
    Mpi::FinalizeEnter,
    Mpi::MakeBridge { comm: 1, new: 4 },
];

const FENCE: Mpi = Mpi::WinSync { how: Epoch::Fence, window: 0, members: 0 };

const VIEW: Mpi = Mpi::FileView { opened: 0, from: 1 << 33, etype: 4, bytes: 8, made: 3, hints: 0 };
const WRITE_ALL: Mpi =
    Mpi::FileTransfer { how: FileTransfer::WriteAll, opened: 0, offset: 0, bytes: 1 << 20 };

const fn gatherv(rank: u64) -> Mpi {
    let (kind, received) = (Collective::Gatherv, if rank == 0 { 30 } else { 0 });
    Mpi::Collective { kind, comm: WORLD, root: 0, sent: 10 + rank * 10, received, counts: 2, from: 0 }
}

/// Two ranks with these calls.
fn plan(calls: [&[Mpi]; 2]) -> Plan {
    let program = |rank: u32| {
        let step =
            |(&call, start_ns)| Step { start_ns, took_ns: 5, op: Op::Mpi { call, cpu_ns: 3, idle_ns: 1 } };
        let thread =
            Thread { process: rank, rank: Some(rank), pid: rank, tid: rank, ends_with_process: false };
        let steps = calls[rank as usize].iter().zip((0..).step_by(10)).map(step).collect();
        Program { thread, balance: Balance::default(), steps }
    };
    Plan {
        about: About { ranks: 2, ..About::default() },
        communicators: vec![vec![(1, -1, 2)], vec![(1, -1, 2)], vec![(0, 1, 1), BETWEEN, (1, 1, 1)]],
        lists: vec![vec![], vec![3, 1], vec![10, 20], vec![3, 3, 0, 1, 2, 1, 3, 0, 4], vec![0], vec![1]],
        files: vec![File { path: "/data".into(), initial: Initial::Absent }],
        programs: [0, 1].map(program).into(),
        ..Plan::default()
    }
}

/// The other rank's part in [`CALLS`].
const OTHER: [Mpi; 20] = [
    Mpi::Init,
    Mpi::MakeComm { how: Creation::Split, comm: 0, new: 2 },
    Mpi::Recv { comm: 0, peer: 0, tag: 0, bytes: 8 },
    Mpi::Recv { comm: 2, peer: ANY, tag: 7, bytes: 8 },
    gatherv(1),
    Mpi::Icollective {
        kind: Collective::Bcast,
        comm: 2,
        root: 0,
        sent: 4,
        received: 0,
        counts: 0,
        from: 0,
        request: 0,
    },
    Mpi::CollectiveInit {
        kind: Collective::Barrier,
        comm: 0,
        root: NOBODY,
        sent: 0,
        received: 0,
        counts: 0,
        from: 0,
        request: 6,
    },
    Mpi::FreeComm { comm: 2 },
    Mpi::Finalize,
    Mpi::FileOpen { comm: 2, file: 0, opened: 5, mode: 9, hints: 0 },
    Mpi::FileClose { opened: 5 },
    Mpi::FileView { opened: 5, from: 0, etype: 1, bytes: 1, made: 0, hints: 0 },
    Mpi::FileCall { how: FileCall::SetSize, opened: 5, number: 1 << 40, hints: 0 },
    Mpi::FileTransfer { how: FileTransfer::WriteAll, opened: 5, offset: 0, bytes: 0 },
    Mpi::FileTransfer { how: FileTransfer::WriteAt, opened: 5, offset: 0, bytes: 0 },
    Mpi::WinMake { how: Window::Allocate, comm: 2, window: 0, bytes: 8192, unit: 8 },
    FENCE,
    Mpi::WinFree { window: 0 },
    Mpi::MakeTopology { comm: 0, new: 3, sources: 5, destinations: 0 },
    Mpi::MakeBridge { comm: 1, new: 4 },
];

/// Every call. Who enters the beginning of MPI begins it, and who enters its end ends it.
fn every_call() -> Plan {
    let enters_end = CALLS.iter().position(|call| matches!(call, Mpi::FinalizeEnter)).expect("in the table");
    let (before, end) = CALLS.split_at(enters_end);
    let (end, behind) = end.split_at(1);
    plan([&[before, &[Mpi::Init], end, &[Mpi::Finalize], behind].concat(), &OTHER])
}

#[test]
fn every_call_comes_back() {
    let numbers: Vec<u8> = CALLS.iter().map(Mpi::number).collect();
    assert_eq!(numbers, MPI_ROWS.iter().map(|row| row.number).collect::<Vec<_>>());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("app.syn");
    let plan = every_call();
    plan.save(&path).expect("saved");
    assert_eq!(Plan::load(&path).expect("loaded"), plan);
    // Rank 1 names the empty list, the one of bytes and its neighbour.
    let part = PlanFile::open(&path).expect("opened").excerpt([1]).expect("an excerpt").plan;
    assert_eq!((part.communicators, part.lists), (plan.communicators, vec![vec![], vec![10, 20], vec![1]]));
    let gatherv = part.programs[0].steps.iter().nth(4).expect("a step").op;
    assert!(matches!(gatherv, Op::Mpi { call: Mpi::Collective { counts: 1, from: 0, .. }, .. }), "{gatherv}");
}

#[test]
fn the_golden_file_is_what_is_written() {
    let golden = format!("{}/golden/v{VERSION}-mpi.syn", env!("CARGO_MANIFEST_DIR"));
    let plan = every_call();
    if std::env::var_os("SYN_BLESS").is_some() {
        plan.save(golden.as_ref()).expect("saved");
    }
    assert_eq!(Plan::load(golden.as_ref()).expect("loaded"), plan);
}

#[test]
fn what_cannot_be_is_refused() {
    let check = |call: Mpi| plan([&[call], &[]]).check();
    let refused = [
        Mpi::Send { mode: SendMode::Standard, comm: 5, peer: 1, tag: 0, bytes: 1 },
        Mpi::Send { mode: SendMode::Standard, comm: NONE, peer: 1, tag: 0, bytes: 1 },
        Mpi::Send { mode: SendMode::Standard, comm: 0, peer: 2, tag: 0, bytes: 1 },
        Mpi::Send { mode: SendMode::Standard, comm: 0, peer: ANY, tag: 0, bytes: 1 },
        Mpi::Recv { comm: 0, peer: 1, tag: 0, bytes: 1 << 31 },
        Mpi::Irecv { comm: 0, peer: 1, tag: 0, bytes: 1, request: 1 << 20 },
        Mpi::Start { list: 6, all: false },
        Mpi::MakeComm { how: Creation::Dup, comm: 0, new: 0 },
        Mpi::FreeComm { comm: WORLD },
        Mpi::MakeBridge { comm: NONE, new: 4 },
        Mpi::MakeBridge { comm: 1, new: NONE },
        Mpi::MakeTopology { comm: 0, new: NONE, sources: 0, destinations: 0 },
        Mpi::MakeTopology { comm: 0, new: 2, sources: 1, destinations: 0 },
        Mpi::WinMake { how: Window::Create, comm: NONE, window: 0, bytes: 8, unit: 1 },
        Mpi::WinMake { how: Window::Create, comm: 0, window: 0, bytes: 8, unit: 0 },
        Mpi::WinSync { how: Epoch::Post, window: 0, members: 2 },
        Mpi::Rma { how: Access::FetchAndOp, window: 0, peer: 0, at: 0, bytes: 3 },
        Mpi::Rma { how: Access::Rput, window: 0, peer: 0, at: 0, bytes: 8 },
        Mpi::FileOpen { comm: NONE, file: 0, opened: 0, mode: 2, hints: 0 },
        Mpi::FileOpen { comm: 0, file: 0, opened: 1 << 20, mode: 2, hints: 0 },
        Mpi::FileOpen { comm: 0, file: 1, opened: 0, mode: 2, hints: 0 },
        Mpi::FileOpen { comm: 0, file: 0, opened: 0, mode: 2, hints: 6 },
        Mpi::FileView { opened: 0, from: 0, etype: 1, bytes: 1, made: 1, hints: 0 },
        Mpi::FileTransfer { how: FileTransfer::Iread, opened: 0, offset: 0, bytes: 1 },
        Mpi::FileTransfer { how: FileTransfer::Read, opened: 0, offset: 0, bytes: 1 << 31 },
        Mpi::FileItransfer { how: FileTransfer::Read, opened: 0, offset: 0, bytes: 1, request: 0 },
        Mpi::Collective {
            kind: Collective::Gatherv,
            comm: 0,
            root: 0,
            sent: 1,
            received: 1,
            counts: 0,
            from: 0,
        },
        Mpi::Collective {
            kind: Collective::Bcast,
            comm: 0,
            root: 2,
            sent: 1,
            received: 1,
            counts: 0,
            from: 0,
        },
        Mpi::Collective {
            kind: Collective::Allreduce,
            comm: 4,
            root: 0,
            sent: 0,
            received: 1 << 20,
            counts: 0,
            from: 0,
        },
    ];
    for call in refused {
        assert!(matches!(check(call), Err(Fault::BadMpi { step: 0, .. })), "{call}: {:?}", check(call));
    }
    let (one, other) = ((0, 1, 1), (1, 1, 1));
    for members in [
        vec![],
        vec![(0, 1, 3)],
        vec![(0, 0, 2)],
        vec![one, one],
        vec![(2, 1, 1)],
        vec![one, BETWEEN],
        vec![BETWEEN, one],
        vec![one, BETWEEN, BETWEEN, other],
        vec![one, (1, 1, 0), other],
        vec![one, BETWEEN, one],
    ] {
        let communicators = vec![members];
        let fault = Plan { communicators, ..plan([&[], &[]]) }.check();
        assert!(matches!(fault, Err(Fault::BadCommunicator { comm: 2, .. })), "{fault:?}");
    }
}

/// A replay leaves out what is computed while MPI begins and ends: it must have done so at some time.
#[test]
fn who_enters_the_beginning_or_the_end_of_mpi_leaves_it() {
    let check = |calls: &[Mpi]| plan([calls, &[]]).check();
    use Mpi::{Finalize, FinalizeEnter, Init, InitEnter};
    assert_eq!(check(&[InitEnter, Init, FinalizeEnter, Finalize]), Ok(()));
    let never_begun = "mpi_init_enter: is followed by no call that has begun MPI";
    let never_ended = "mpi_finalize_enter: is followed by no call that has ended MPI";
    for (calls, why) in [
        (&[InitEnter][..], never_begun),
        (&[Init, InitEnter, Finalize], never_begun),
        (&[InitEnter, InitEnter, Init], never_begun),
        (&[InitEnter, FinalizeEnter, Init, Finalize], never_begun),
        (&[Init, Finalize, FinalizeEnter], never_ended),
        (&[FinalizeEnter, Init], never_ended),
        (&[FinalizeEnter, Init, Finalize], never_ended),
        (&[InitEnter, Finalize, Init], never_begun),
    ] {
        let error = check(calls).expect_err("refused").to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn calls_match() {
    let check = |calls: [&[Mpi]; 2]| plan(calls).check_communication();
    assert_eq!(check([&CALLS, &OTHER]), Ok(()));
    for (missing, call) in OTHER.iter().enumerate() {
        // Nobody waits for who frees, or has never started.
        let waited_for = !matches!(
            call,
            Mpi::FreeComm { .. }
                | Mpi::CollectiveInit { .. }
                | Mpi::FileTransfer { how: FileTransfer::WriteAt, .. }
        );
        let rest: Vec<Mpi> =
            OTHER.iter().enumerate().filter(|&(at, _)| at != missing).map(|(_, &other)| other).collect();
        assert_eq!(check([&CALLS, &rest]).is_err(), waited_for, "without {call}");
    }
    let send = |tag| Mpi::Send { mode: SendMode::Standard, comm: 0, peer: 1, tag, bytes: 1 };
    let receive = |tag| Mpi::Recv { comm: 0, peer: 0, tag, bytes: 1 };
    assert_eq!(check([&[send(1), send(2)], &[receive(2), receive(1)]]), Ok(()));
    assert!(check([&[send(1), send(2)], &[receive(1), receive(1)]]).is_err());
    assert_eq!(check([&[send(1), send(2)], &[receive(ANY), receive(1)]]), Ok(()));
    // On the second communicator rank 1 of the world is the first.
    let make = |bytes| Mpi::WinMake { how: Window::Create, comm: 2, window: 3, bytes, unit: 4 };
    let put = |peer, at| Mpi::Rma { how: Access::Put, window: 3, peer, at, bytes: 8 };
    assert_eq!(check([&[make(8), put(0, 2), put(1, 0)], &[make(16)]]), Ok(()));
    for beyond in [put(0, 3), put(1, 1), put(2, 0), put(0, u64::MAX)] {
        assert!(check([&[make(8), beyond], &[make(16)]]).is_err(), "{beyond}");
    }
    assert!(check([&[put(0, 0)], &[]]).is_err(), "without a window");
}

#[test]
fn neighbours_get_what_they_are_given() {
    let check = |calls: [&[Mpi]; 2]| plan(calls).check_communication();
    let [mine, its] = [CALLS[38], OTHER[18]];
    let exchange = |kind, sent, received, counts, from| Mpi::Collective {
        kind,
        comm: 3,
        root: NOBODY,
        sent,
        received,
        counts,
        from,
    };
    let give = |bytes| exchange(Collective::NeighborAllgather, bytes, 0, 0, 0);
    let get = |bytes| exchange(Collective::NeighborAllgather, 8, bytes, 0, 0);
    assert_eq!(check([&[mine, give(9)], &[its, get(9)]]), Ok(()));
    assert!(check([&[mine, give(9)], &[its, get(10)]]).is_err(), "another length");
    assert!(check([&[give(9)], &[its, get(9)]]).is_err(), "without a topology");
    assert!(check([&[mine], &[mine]]).is_err(), "both send, and nobody receives");
    // Lists 4 and 5 have one number: 0 and 1.
    let give = |counts| exchange(Collective::NeighborAlltoallv, 1, 0, counts, 0);
    let get = |from| exchange(Collective::NeighborAlltoallv, 0, 1, 0, from);
    assert_eq!(check([&[mine, give(5)], &[its, get(5)]]), Ok(()));
    assert!(check([&[mine, give(5)], &[its, get(4)]]).is_err(), "other lengths");
    assert!(check([&[mine, give(2)], &[its, get(5)]]).is_err(), "more lengths than neighbours");
}

/// In the numbers of a communicator of two groups one is behind the other.
#[test]
fn groups_give_each_other_what_they_get() {
    let check = |calls: [&[Mpi]; 2]| plan(calls).check_communication();
    let send = |peer| Mpi::Send { mode: SendMode::Standard, comm: 4, peer, tag: 0, bytes: 1 };
    let receive = |peer| Mpi::Recv { comm: 4, peer, tag: 0, bytes: 1 };
    assert_eq!(check([&[send(1)], &[receive(0)]]), Ok(()));
    assert!(check([&[send(0)], &[receive(0)]]).is_err(), "to itself");
    assert!(check([&[send(0), receive(0)], &[]]).is_err(), "to and from itself");
    let gather = |kind, root, sent, received, counts| Mpi::Collective {
        kind,
        comm: 4,
        root,
        sent,
        received,
        counts,
        from: 0,
    };
    // Each side gives another length; of a root nobody else gives anything.
    let all = |sent, received| gather(Collective::Allgather, NOBODY, sent, received, 0);
    assert_eq!(check([&[all(1, 2)], &[all(2, 1)]]), Ok(()));
    let reduce = |root, sent, received| gather(Collective::Reduce, root, sent, received, 0);
    assert_eq!(check([&[reduce(0, 0, 8)], &[reduce(0, 8, 0)]]), Ok(()));
    assert!(check([&[reduce(0, 0, 8)], &[reduce(1, 8, 0)]]).is_err(), "another root");
    let gatherv = |counts| gather(Collective::Gatherv, 0, 0, 0, counts);
    assert_eq!(check([&[gatherv(2)], &[gatherv(2)]]), Ok(()));
    assert!(check([&[gatherv(2)], &[gatherv(1)]]).is_err(), "other lengths");
}
