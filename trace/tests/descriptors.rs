//! Open files, paths and positions are followed as the kernel would.

use std::path::Path;
use syn_trace::builder::TraceBuilder;
use syn_trace::descriptors::{Descriptors, OpenId, Touched, flags};
use syn_trace::record::INNER;
use syn_trace::{Call, Run};

const REGULAR: i64 = 0o100_644;

/// Applies all events of the only process in a folder of the given threads.
fn follow(threads: &[TraceBuilder]) -> (Descriptors, Vec<(Call, Touched)>) {
    let folder = tempfile::tempdir().unwrap();
    for thread in threads {
        thread.write(folder.path()).unwrap();
    }
    let run = Run::open(folder.path()).unwrap();
    assert_eq!(run.processes.len(), 1);
    let mut descriptors = Descriptors::new("/", threads.len());
    let touched = run
        .process_events(0)
        .map(|(thread, event)| {
            let thread = &run.threads[thread];
            let times = (thread.start_ns(&event), thread.returned_ns(&event));
            (event.call, descriptors.apply(&event, times.0, times.1))
        })
        .collect();
    (descriptors, touched)
}

fn app() -> TraceBuilder {
    TraceBuilder::new(7, 7).process_start("/bin/app", "/home/u", "app")
}

trait Calls {
    fn open(self, at: u64, path: &str, fd: i64) -> Self;
    fn close(self, at: u64, fd: i64) -> Self;
}

impl Calls for TraceBuilder {
    fn open(self, at: u64, path: &str, fd: i64) -> TraceBuilder {
        self.call(Call::Open, at, 5, fd, &[2, 0, REGULAR, 1000, 42], &[path.as_bytes()], &[])
    }
    fn close(self, at: u64, fd: i64) -> TraceBuilder {
        self.call(Call::Close, at, 5, 0, &[fd], &[], &[])
    }
}

fn path_of(descriptors: &Descriptors, fd: i32) -> Option<&str> {
    descriptors.open_file(descriptors.descriptor(fd)?).path.as_deref()
}

fn of(all: &[(Call, Touched)], call: Call) -> Vec<&Touched> {
    all.iter().filter(|(found, _)| *found == call).map(|(_, touched)| touched).collect()
}

#[test]
fn a_file_from_open_to_close() {
    let thread = app()
        .open(100, "data/../in.txt", 3)
        .call(Call::Read, 200, 5, 100, &[3, 512], &[], &[])
        .call(Call::Write, 300, 5, 24, &[3, 24], &[], &[])
        .fail(Call::Read, 400, 5, 4, &[3, 512], &[])
        .close(500, 3);
    let (descriptors, all) = follow(&[thread]);
    let open = of(&all, Call::Open)[0];
    let id = open.opened.unwrap();
    let file = descriptors.open_file(id);
    assert_eq!(file.path.as_deref(), Some("/home/u/in.txt"));
    assert_eq!((file.size, file.inode, file.st_mode, file.offset), (1000, 42, REGULAR as u32, 124));
    assert!(of(&all, Call::Read).iter().all(|touched| touched.file == Some(id)));
    let close = of(&all, Call::Close)[0];
    assert_eq!((close.file, close.released.as_slice()), (Some(id), &[id][..]));
    assert_eq!(close.path.as_deref(), Some("/home/u/in.txt"));
    assert_eq!(descriptors.descriptor(3), None);
}

#[test]
fn failed_calls_change_nothing_but_tell_their_paths() {
    let thread = app()
        .fail(Call::Open, 100, 5, 2, &[0, 0, 0, 0, 0], &[b"missing"])
        .fail(Call::Chdir, 200, 5, 2, &[], &[b"/nowhere"])
        .open(300, "f", 3)
        .fail(Call::Close, 400, 5, 9, &[3], &[]);
    let (descriptors, all) = follow(&[thread]);
    assert_eq!(all[4].1.path.as_deref(), Some("/home/u/missing"));
    assert_eq!(all[4].1.opened, None);
    assert_eq!(path_of(&descriptors, 3), Some("/home/u/f"));
}

#[test]
fn a_failed_close_still_frees_the_descriptor() {
    let thread = app().open(100, "f", 3).fail(Call::Close, 200, 5, 5, &[3], &[]);
    let (descriptors, all) = follow(&[thread]);
    assert_eq!(of(&all, Call::Close)[0].released.len(), 1);
    assert_eq!(descriptors.descriptor(3), None);
}

#[test]
fn duplicates_share_a_position_and_live_until_the_last() {
    let thread = app()
        .open(100, "f", 3)
        .call(Call::Dup, 200, 5, 4, &[3], &[], &[])
        .call(Call::Fcntl, 300, 5, 10, &[3, 1030, 10], &[], &[])
        .call(Call::Dup2, 400, 5, 0, &[3, 0], &[], &[])
        .call(Call::Dup2, 500, 5, 3, &[3, 3], &[], &[])
        .call(Call::Read, 600, 5, 10, &[4, 10], &[], &[])
        .call(Call::Lseek, 700, 5, 25, &[10, 15, 1], &[], &[])
        .close(800, 3)
        .close(900, 4)
        .call(Call::CloseRange, 1000, 5, 0, &[0, 20, 4], &[], &[])
        .call(Call::CloseRange, 1100, 5, 0, &[3, i64::from(u32::MAX), 0], &[], &[])
        .close(1200, 0);
    let (descriptors, all) = follow(&[thread]);
    let id = of(&all, Call::Open)[0].opened.unwrap();
    let terminal = of(&all, Call::InheritedFd)[0].opened.unwrap();
    assert!(descriptors.open_file(terminal).inherited);
    assert!(of(&all, Call::Dup)[0].duplicated && of(&all, Call::Fcntl)[0].duplicated);
    assert_eq!(of(&all, Call::Dup2)[0].released, [terminal], "dup2 closes what it replaces");
    assert!(of(&all, Call::Dup2)[0].loosened.is_empty(), "it was its last descriptor");
    assert!(!of(&all, Call::Dup2)[1].duplicated);
    assert_eq!(descriptors.open_file(id).offset, 25);
    assert!(of(&all, Call::CloseRange).iter().all(|touched| touched.released.is_empty()));
    let closes: Vec<&[OpenId]> = of(&all, Call::Close).iter().map(|touched| &touched.released[..]).collect();
    assert_eq!(closes, [&[][..], &[], &[id]]);
    assert_eq!(descriptors.descriptor(10), None);
    assert!(descriptors.descriptor(1).is_some());
}

#[test]
fn appending_goes_to_the_end() {
    let append = i64::from(flags::O_WRONLY | flags::O_APPEND);
    let thread = app()
        .call(Call::Open, 100, 5, 3, &[append, 0, REGULAR, 1000, 1], &[b"log"], &[])
        .call(Call::Write, 200, 5, 10, &[3, 10], &[], &[])
        .call(Call::Lseek, 300, 5, 0, &[3, 0, 0], &[], &[])
        .call(Call::Write, 400, 5, 10, &[3, 10], &[], &[])
        .call(Call::Ftruncate, 500, 5, 0, &[3, 100], &[], &[])
        .call(Call::Write, 600, 5, 1, &[3, 1], &[], &[])
        .call(Call::Pwritev, 700, 5, 4, &[3, 4, -1, 1, 0], &[], &[])
        .call(Call::Fcntl, 800, 5, 0, &[3, 4, 0], &[], &[])
        .call(Call::Write, 900, 5, 1, &[3, 1], &[], &[]);
    let (descriptors, all) = follow(&[thread]);
    let file = descriptors.open_file(of(&all, Call::Open)[0].opened.unwrap());
    assert_eq!((file.size, file.offset), (1000, 106));
    assert_eq!(file.flags & flags::O_APPEND, 0, "F_SETFL took it away");
}

#[test]
fn streams_open_only_what_was_not_seen_inside() {
    let fopen: &[i64] = &[3, REGULAR, 0, 9];
    let seen = app()
        .flags(INNER)
        .open(100, "out", 3)
        .call(Call::Fopen, 95, 15, 0, fopen, &[b"out", b"w"], &[])
        .flags(INNER)
        .close(200, 3)
        .call(Call::Fclose, 195, 15, 0, &[3], &[], &[]);
    let (descriptors, all) = follow(&[seen]);
    let id = of(&all, Call::Open)[0].opened.unwrap();
    let (fopen_touched, fclose) = (of(&all, Call::Fopen)[0], of(&all, Call::Fclose)[0]);
    assert_eq!((fopen_touched.file, fopen_touched.opened), (Some(id), None));
    assert_eq!(of(&all, Call::Close)[0].released, [id]);
    assert_eq!((fclose.file, fclose.path.as_deref()), (Some(id), Some("/home/u/out")));
    assert!(fclose.released.is_empty());
    assert_eq!(descriptors.descriptor(3), None);

    let unseen = app()
        .call(Call::Fopen, 100, 15, 0, fopen, &[b"out", b"a+"], &[])
        .call(Call::Freopen, 200, 15, 0, fopen, &[b"other", b"r"], &[])
        .call(Call::Fclose, 300, 15, 0, &[3], &[], &[]);
    let (descriptors, all) = follow(&[unseen]);
    let opened = of(&all, Call::Fopen)[0].opened.unwrap();
    assert_eq!(descriptors.open_file(opened).flags, flags::O_RDWR | flags::O_CREAT | flags::O_APPEND);
    assert_eq!(of(&all, Call::Freopen)[0].released, [opened]);
    assert_eq!(of(&all, Call::Fclose)[0].released, [of(&all, Call::Freopen)[0].opened.unwrap()]);
    assert_eq!(descriptors.descriptor(3), None);
}

#[test]
fn another_thread_gets_the_number_before_close_returns() {
    // Descriptor 3 is closed by the first thread from 200 to 400; the second thread's open gets it at 300.
    let closing = app().open(100, "a", 3).call(Call::Close, 200, 200, 0, &[3], &[], &[]).call(
        Call::Sync,
        500,
        5,
        0,
        &[],
        &[],
        &[],
    );
    let opening =
        TraceBuilder::new(7, 8).starts(10).open(290, "b", 3).call(Call::Read, 600, 5, 8, &[3, 8], &[], &[]);
    let (descriptors, all) = follow(&[closing, opening]);
    let [a, b] = of(&all, Call::Open)[..] else { panic!("two opens") };
    assert_eq!(b.released, [], "its close is under way");
    let close = of(&all, Call::Close)[0];
    assert_eq!((close.file, &close.released[..]), (a.opened, &[a.opened.unwrap()][..]));
    assert_eq!(of(&all, Call::Read)[0].file, b.opened);
    assert_eq!(path_of(&descriptors, 3), Some("/home/u/b"));
}

#[test]
fn another_thread_opens_and_closes_at_the_number_before_close_returns() {
    // The second thread's first close began after its open had returned: it is not the one under way since 200.
    let closing = app().open(100, "a", 3).call(Call::Close, 200, 300, 0, &[3], &[], &[]);
    let others = TraceBuilder::new(7, 8).starts(10).open(290, "b", 3).close(310, 3).open(330, "c", 3);
    let (descriptors, all) = follow(&[closing, others.close(600, 3)]);
    let closed: Vec<Option<OpenId>> = of(&all, Call::Close).iter().map(|touched| touched.file).collect();
    let [a, b, c] = of(&all, Call::Open)[..] else { panic!("three opens") };
    assert_eq!(closed, [b.opened, a.opened, c.opened]);
    assert!(
        of(&all, Call::Close).iter().all(|touched| touched.released.as_slice() == touched.file.as_slice())
    );
    assert_eq!(descriptors.descriptor(3), None);
}

#[test]
fn a_close_that_was_not_recorded_is_not_expected_for_ever() {
    let thread = || app().open(100, "a", 3).open(200, "b", 3).open(300, "c", 3);
    let (_, alone) = follow(&[thread()]);
    let [a, b, c] = of(&alone, Call::Open)[..] else { panic!("three opens") };
    assert_eq!([&b.released[..], &c.released[..]], [&[a.opened.unwrap()], &[b.opened.unwrap()]]);
    let (_, beside_another) =
        follow(&[thread(), TraceBuilder::new(7, 8).starts(10).call(Call::Sync, 20, 5, 0, &[], &[], &[])]);
    let [a, b, c] = of(&beside_another, Call::Open)[..] else { panic!("three opens") };
    assert_eq!([&b.released[..], &c.released[..]], [&[][..], &[a.opened.unwrap()]]);
}

#[test]
fn another_thread_gets_the_number_inside_fclose() {
    let closing =
        app().open(100, "a", 3).flags(INNER).close(200, 3).call(Call::Fclose, 190, 310, 0, &[3], &[], &[]);
    let opening = TraceBuilder::new(7, 8).starts(10).open(290, "b", 3);
    let (descriptors, all) = follow(&[closing, opening]);
    assert_eq!(of(&all, Call::Fclose)[0].path.as_deref(), Some("/home/u/a"));
    assert_eq!(path_of(&descriptors, 3), Some("/home/u/b"));
}

#[test]
fn relative_paths_start_from_the_folder_or_a_directory() {
    let directory = i64::from(flags::O_DIRECTORY);
    let thread = app()
        .call(Call::Chdir, 100, 5, 0, &[], &[b"../v"], &[])
        .call(Call::Open, 200, 5, 3, &[directory, 0, 0o040_755, 0, 1], &[b"/srv/data"], &[])
        .call(Call::Openat, 300, 5, 4, &[3, 0, 0, REGULAR, 0, 2], &[b"x"], &[])
        .call(Call::Renameat, 400, 5, 0, &[3, -100, 0], &[b"x", b"y"], &[])
        .call(Call::Fstatat, 500, 5, 0, &[4, 0x1000, REGULAR, 0], &[b""], &[])
        .call(Call::Symlink, 600, 5, 0, &[], &[b"../t", b"/a/b/link"], &[])
        .call(Call::Fchdir, 700, 5, 0, &[3], &[], &[])
        .call(Call::Unlink, 800, 5, 0, &[], &[b"z\xff"], &[])
        .call(Call::Faccessat, 900, 5, 0, &[99, 0, 0], &[b"of an unknown folder"], &[])
        .call(Call::PosixSpawn, 1000, 5, 0, &[50], &[b"gzip"], &[]);
    let (_, all) = follow(&[thread]);
    let paths = |call| {
        let touched = of(&all, call)[0];
        (touched.path.as_deref(), touched.second_path.as_deref())
    };
    assert_eq!(paths(Call::Openat), (Some("/srv/data/x"), None));
    assert_eq!(paths(Call::Renameat), (Some("/srv/data/x"), Some("/home/v/y")));
    assert_eq!(paths(Call::Fstatat), (Some("/srv/data/x"), None));
    assert_eq!(paths(Call::Symlink), (Some("/a/b/link"), Some("/a/t")));
    assert_eq!(paths(Call::Unlink), (Some(r"/srv/data/z\xff"), None));
    assert_eq!(paths(Call::Faccessat), (None, None));
    assert_eq!(paths(Call::PosixSpawn), (None, None));
}

#[test]
fn transfers_inside_the_kernel_move_what_has_no_offset() {
    let thread = app()
        .open(100, "from", 3)
        .open(200, "to", 4)
        .call(Call::CopyFileRange, 300, 5, 600, &[3, 4, -1, -1, 4096, 0], &[], &[])
        .call(Call::CopyFileRange, 400, 5, 10, &[3, 4, 50, 1990, 10, 0], &[], &[])
        .call(Call::Sendfile, 500, 5, 7, &[3, 4, -1, 7], &[], &[])
        .call(Call::Sendfile, 600, 5, 8, &[3, 4, 0, 8], &[], &[])
        .call(Call::CloneRange, 650, 5, 0, &[3, 4, 0, 3000, 12], &[], &[])
        .call(Call::Pipe, 700, 5, 0, &[5, 6, 0, 77], &[], &[])
        .call(Call::Splice, 800, 5, 20, &[3, 6, 100, -1, 20, 0], &[], &[])
        .call(Call::Splice, 900, 5, 5, &[5, 4, -1, -1, 5, 0], &[], &[])
        .call(Call::Tee, 1000, 5, 9, &[5, 6, 9, 0], &[], &[])
        .fail(Call::Splice, 1100, 5, 22, &[3, 4, -1, -1, 5, 0], &[])
        .fail(Call::Sendfile, 1200, 5, 9, &[3, 90, -1, 5], &[])
        .call(Call::Lseek, 1300, 5, 3, &[4, 3, 0], &[], &[])
        .call(Call::Fcntl, 1400, 5, 0, &[4, 4, i64::from(flags::O_APPEND)], &[], &[])
        .call(Call::Write, 1500, 5, 1, &[4, 1], &[], &[]);
    let (descriptors, all) = follow(&[thread]);
    let [from, to] = of(&all, Call::Open)[..] else { panic!("two opens") };
    let (from, to) = (from.opened, to.opened);
    let reader = of(&all, Call::Pipe)[0].opened;
    let writer = reader.map(|reader| reader + 1);
    let ends = |call| of(&all, call).iter().map(|seen| (seen.file, seen.second_file)).collect::<Vec<_>>();
    assert_eq!(ends(Call::CopyFileRange), [(from, to); 2]);
    assert_eq!(ends(Call::Sendfile), [(from, to), (from, to), (from, None)]);
    assert_eq!(ends(Call::Splice), [(from, writer), (reader, to), (from, to)], "a failed one tells them too");
    assert_eq!(ends(Call::Tee), [(reader, writer)]);
    assert_eq!(ends(Call::CloneRange), [(from, to)]);
    let copy = of(&all, Call::CopyFileRange)[0];
    assert_eq!(copy.path.as_deref(), Some("/home/u/from"));
    assert_eq!(copy.second_path.as_deref(), Some("/home/u/to"));
    let file = |id: Option<OpenId>| descriptors.open_file(id.unwrap());
    assert_eq!(file(from).offset, 607, "what had an offset moved nothing");
    assert_eq!(file(to).offset, 3013, "appended behind the farthest byte written");
    assert_eq!((file(reader).inode, file(writer).inode), (77, 77));
    assert_eq!(file(writer).offset, 20);
}

#[test]
fn memory_that_is_a_file_has_no_path() {
    let thread = app()
        .call(Call::MemfdCreate, 100, 5, 3, &[1, 9], &[b"name"], &[])
        .call(Call::Write, 200, 5, 24, &[3, 24], &[], &[])
        .close(300, 3);
    let (descriptors, all) = follow(&[thread]);
    let made = of(&all, Call::MemfdCreate)[0];
    let file = descriptors.open_file(made.opened.unwrap());
    assert_eq!((file.path.as_deref(), file.inode, file.st_mode, file.offset), (None, 9, 0o100_777, 24));
    assert_eq!(of(&all, Call::Write)[0].path, None);
    assert_eq!(of(&all, Call::Close)[0].released, [made.opened.unwrap()]);
}

#[test]
fn a_message_queue_is_a_descriptor() {
    let thread = app()
        .call(Call::MqOpen, 100, 5, 3, &[2, 0o600, 9], &[b"/queue"], &[])
        .call(Call::MqSend, 200, 5, 0, &[3, 5, 1, -1], &[], &[])
        .close(300, 3);
    let (descriptors, all) = follow(&[thread]);
    let made = of(&all, Call::MqOpen)[0];
    let file = descriptors.open_file(made.opened.unwrap());
    assert_eq!((file.path.as_deref(), file.inode), (None, 9));
    assert_eq!(of(&all, Call::MqSend)[0].file, made.opened);
    assert_eq!(of(&all, Call::Close)[0].released, [made.opened.unwrap()]);
}

#[test]
fn openat2_opens_below_its_directory() {
    let directory = i64::from(flags::O_DIRECTORY);
    let thread = app()
        .call(Call::Open, 100, 5, 3, &[directory, 0, 0o040_755, 0, 1], &[b"/srv"], &[])
        .call(Call::Openat2, 200, 5, 4, &[3, 2, 0, 8, REGULAR, 50, 6], &[b"x"], &[])
        .call(Call::Getdents, 300, 5, 120, &[3, 4096], &[], &[]);
    let (descriptors, all) = follow(&[thread]);
    let file = descriptors.open_file(of(&all, Call::Openat2)[0].opened.unwrap());
    assert_eq!((file.path.as_deref(), file.flags, file.size, file.inode), (Some("/srv/x"), 2, 50, 6));
    assert_eq!(of(&all, Call::Getdents)[0].path.as_deref(), Some("/srv"));
}

#[test]
fn names_by_way_of_the_process_itself() {
    let directory = i64::from(flags::O_DIRECTORY);
    let thread = app()
        .call(Call::Open, 100, 5, 3, &[directory, 0, 0o040_755, 0, 1], &[b"/srv"], &[])
        .call(Call::Mkdir, 200, 5, 0, &[0o755], &[b"/proc/self/cwd/made"], &[])
        .call(Call::Rename, 300, 5, 0, &[], &[b"/proc/self/cwd//old", b"/proc/self/fd/3/new"], &[])
        .call(Call::Unlink, 400, 5, 0, &[], &[b"/proc/thread-self/root/tmp/gone"], &[])
        .call(Call::Stat, 500, 5, 0, &[0, 0], &[b"/proc/self/cwd"], &[])
        .call(Call::Stat, 600, 5, 0, &[0, 0], &[b"/proc/self/fd/3"], &[])
        .call(Call::Stat, 700, 5, 0, &[0, 0], &[b"/proc/self/fd/9/x"], &[]);
    let (_, all) = follow(&[thread]);
    let path = |call: Call, nth: usize| of(&all, call)[nth].path.as_deref().unwrap_or("").to_owned();
    let folder = path(Call::Mkdir, 0).strip_suffix("/made").unwrap().to_owned();
    assert!(folder.starts_with('/') && !folder.starts_with("/proc"), "{folder}");
    assert_eq!(path(Call::Rename, 0), format!("{folder}/old"));
    assert_eq!(of(&all, Call::Rename)[0].second_path.as_deref(), Some("/srv/new"));
    assert_eq!(path(Call::Unlink, 0), "/tmp/gone");
    let unchanged = ["/proc/self/cwd", "/proc/self/fd/3", "/proc/self/fd/9/x"];
    assert_eq!([0, 1, 2].map(|nth| path(Call::Stat, nth)), unchanged);
}

#[test]
fn what_has_no_path() {
    let unnamed = i64::from(flags::O_TMPFILE | flags::O_RDWR);
    let thread = app()
        .call(Call::Pipe, 100, 5, 0, &[3, 4, 0, 77], &[], &[])
        .call(Call::Open, 200, 5, 5, &[unnamed, 0, REGULAR, 0, 1], &[b"/tmp"], &[])
        .call(Call::Popen, 300, 5, 0, &[6], &[b"ls", b"r"], &[])
        .call(Call::InheritedFd, 400, 0, 0, &[70_000, 0, 0, 0o140_777, 0, 5], &[b"socket:[5]"], &[])
        .call(Call::InheritedFd, 450, 0, 0, &[7, unnamed, 0, REGULAR, 0, 1], &[b"/tmp/#1 (deleted)"], &[])
        .call(Call::Pclose, 500, 5, 0, &[6], &[], &[])
        .close(600, 70_000);
    let (descriptors, all) = follow(&[thread]);
    let pipe = of(&all, Call::Pipe)[0].opened.unwrap();
    assert_eq!((descriptors.descriptor(3), descriptors.descriptor(4)), (Some(pipe), Some(pipe + 1)));
    assert_eq!((path_of(&descriptors, 3), path_of(&descriptors, 5)), (None, Some("/tmp/#1")));
    assert_eq!(path_of(&descriptors, 7), Some("/tmp/#1"), "a child has the same file");
    assert_eq!(of(&all, Call::Open)[0].path.as_deref(), Some("/tmp"));
    assert_eq!(of(&all, Call::Pclose)[0].released.len(), 1);
    assert_eq!(of(&all, Call::Close)[0].released.len(), 1, "high descriptors are followed too");
}

#[test]
fn events_of_a_process_come_in_time_order() {
    let folder = tempfile::tempdir().unwrap();
    let thread = |tid, times: [u64; 3]| {
        let builder = TraceBuilder::new(7, tid);
        times.into_iter().fold(builder, |builder, at| builder.call(Call::Sync, at, 10, 0, &[], &[], &[]))
    };
    thread(7, [100, 400, 500]).write(folder.path()).unwrap();
    thread(8, [50, 200, 600]).write(folder.path()).unwrap();
    TraceBuilder::new(9, 9).call(Call::Sync, 5, 1, 0, &[], &[], &[]).write(Path::new(folder.path())).unwrap();
    let run = Run::open(folder.path()).unwrap();
    let process = run.processes.iter().position(|process| process.pid == 7).unwrap();
    let events: Vec<(u32, u64)> = run
        .process_events(process)
        .map(|(thread, event)| (run.threads[thread].tid(), run.threads[thread].start_ns(&event)))
        .collect();
    assert_eq!(events, [(8, 50), (7, 100), (8, 200), (7, 400), (7, 500), (8, 600)]);
}

#[test]
fn calls_that_wait_keep_the_file_they_began_with() {
    let read = |builder: TraceBuilder, at, took| builder.call(Call::Read, at, took, 4, &[3, 4], &[], &[]);
    let closing = app()
        .open(100, "a", 3)
        .close(300, 3)
        .open(400, "b", 3)
        .close(800, 3)
        .open(850, "c", 3)
        .close(900, 3)
        .open(950, "d", 3)
        .open(960, "to", 4)
        .call(Call::Dup2, 1300, 5, 3, &[4, 3], &[], &[])
        .close(1500, 3);
    let reading = TraceBuilder::new(7, 8);
    let reading = read(reading, 200, 300); // across a close and an open
    let reading = read(reading, 600, 10);
    let reading = read(reading, 700, 350); // across two of each
    let reading = read(reading, 1100, 10);
    let splice = [3, 4, -1, -1, 4, 0];
    let reading = reading.call(Call::Splice, 1200, 150, 4, &splice, &[], &[]); // across a dup2
    let reading = read(reading, 1450, 100); // across a close alone
    let (descriptors, all) = follow(&[closing, reading]);
    let paths = |call| -> Vec<_> { of(&all, call).iter().map(|touched| touched.path.as_deref()).collect() };
    let in_folder = |name: &str| format!("/home/u/{name}");
    let expected = ["a", "b", "b", "d", "to"].map(in_folder);
    assert_eq!(paths(Call::Read), expected.each_ref().map(|path| Some(path.as_str())));
    assert_eq!(paths(Call::Splice), [Some(in_folder("d").as_str())]);
    let opened = |nth: usize| of(&all, Call::Open)[nth].opened.expect("an open file");
    let offsets = [0, 1, 2, 3].map(|nth| descriptors.open_file(opened(nth)).offset);
    assert_eq!(offsets, [4, 8, 0, 8], "each read and splice moves its own file's position");
}

#[test]
fn mappings_outlive_their_descriptors() {
    const AT: i64 = 0x7f00_0000_0000;
    let map = |builder: TraceBuilder, at, address, fd, bytes, flags| {
        builder.call(Call::Mmap, at, 5, address, &[fd, bytes, 3, flags, 0], &[], &[])
    };
    let about = |builder: TraceBuilder, call, at, address, bytes| {
        let numbers: &[i64] = if call == Call::Munmap { &[address, bytes] } else { &[address, bytes, 4] };
        builder.call(call, at, 5, 0, numbers, &[], &[])
    };
    let thread = map(app().open(100, "a", 3), 200, AT, 3, 0x10_000, 1).close(300, 3).open(400, "b", 3);
    // A hole of anonymous memory, a piece of another file, and a piece that moves elsewhere and grows.
    let thread = map(thread, 500, AT + 0x4000, -1, 0x1000, 0x32);
    let thread = map(thread, 600, AT + 0x8000, 3, 0x1800, 0x11);
    let numbers = [AT + 0xc000, 0x4000, 0x6000, 1];
    let thread = thread.call(Call::Mremap, 700, 5, AT + 0x10_0000, &numbers, &[], &[]);
    let thread = about(thread, Call::Msync, 800, AT, 0x1000);
    let thread = about(thread, Call::Msync, 900, AT + 0x4000, 0x1000);
    let thread = about(thread, Call::Msync, 1000, AT + 0x9000, 0x1000);
    let thread = about(thread, Call::Msync, 1100, AT + 0xc000, 0x4000);
    let thread = about(thread, Call::Msync, 1200, AT + 0x10_5000, 0x1000);
    let thread = thread.fail(Call::Munmap, 1300, 5, 22, &[AT, 0], &[]);
    let thread = about(thread, Call::Munmap, 1400, AT + 0x2000, 0x20_0000);
    let thread = about(thread, Call::Msync, 1500, AT + 0x1000, 0x10_000);
    let thread = about(thread, Call::Msync, 1600, AT + 0x2000, 0x20_0000);
    let (_, all) = follow(&[thread]);
    let paths: Vec<_> = of(&all, Call::Msync).iter().map(|touched| touched.path.as_deref()).collect();
    let (a, b) = (Some("/home/u/a"), Some("/home/u/b"));
    assert_eq!(paths, [a, None, b, None, a, a, None]);
    assert_eq!(of(&all, Call::Munmap)[1].path.as_deref(), a);
}

#[test]
fn another_thread_gets_the_addresses_before_munmap_returns() {
    const AT: i64 = 0x7f00_0000_0000;
    let map: &[i64] = &[3, 0x4000, 3, 1, 0];
    let unmapping = app().open(100, "a", 3).call(Call::Mmap, 150, 5, AT, map, &[], &[]).call(
        Call::Munmap,
        200,
        200,
        0,
        &[AT, 0x4000],
        &[],
        &[],
    );
    let mapping = TraceBuilder::new(7, 8)
        .starts(10)
        .open(250, "b", 4)
        .call(Call::Mmap, 300, 5, AT, &[4, 0x4000, 3, 1, 0], &[], &[])
        .call(Call::Msync, 600, 5, 0, &[AT, 0x4000, 4], &[], &[]);
    let (_, all) = follow(&[unmapping, mapping]);
    assert_eq!(of(&all, Call::Munmap)[0].path.as_deref(), Some("/home/u/a"));
    assert_eq!(of(&all, Call::Msync)[0].path.as_deref(), Some("/home/u/b"));
}

#[test]
fn a_forked_child_is_told_of_its_mappings() {
    const AT: i64 = 0x7f00_0000_0000;
    let numbers = [AT, 0x4000, 3, 1, 0];
    let thread = app().call(Call::InheritedMapping, 100, 0, 0, &numbers, &[b"/data/file"], &[]).call(
        Call::PagesTouched,
        200,
        0,
        0,
        &[AT, 0x4000, 0, 4096, 4096],
        &[],
        &[0, 1, 1],
    );
    let (descriptors, all) = follow(&[thread]);
    let touched = of(&all, Call::PagesTouched)[0];
    assert_eq!(touched.path.as_deref(), Some("/data/file"));
    assert!(descriptors.open_file(touched.file.unwrap()).inherited);
}

/// A file is mapped as long as a page of it is.
#[test]
fn the_last_piece_of_a_file_is_told() {
    const AT: i64 = 0x7f00_0000_0000;
    let at = |pages: i64| AT + pages * 0x1000;
    let map = |fd: i64, pages: i64, flags: i64| [fd, pages * 0x1000, 3, flags, 0];
    let thread = app()
        .open(10, "a", 3)
        .open(20, "b", 4)
        .call(Call::Mmap, 100, 5, at(0), &map(3, 8, 1), &[], &[])
        .call(Call::Munmap, 110, 5, 0, &[at(6), 0x2000], &[], &[])
        .call(Call::Mmap, 120, 5, at(2), &map(4, 2, 0x11), &[], &[])
        .call(Call::Munmap, 130, 5, 0, &[at(0), 0x2000], &[], &[])
        .call(Call::Mremap, 140, 5, at(20), &[at(4), 0x2000, 0x4000, 1], &[], &[])
        .call(Call::Mmap, 150, 5, at(23), &map(4, 1, 0x11), &[], &[])
        .call(Call::Munmap, 160, 5, 0, &[at(2), 0x2000], &[], &[])
        .call(Call::Munmap, 170, 5, 0, &[at(20), 0x4000], &[], &[]);
    let (descriptors, all) = follow(&[thread]);
    let name = |&file: &u32| descriptors.open_file(file).path.as_deref().map(|path| path.chars().last());
    let lost = |call| -> Vec<Vec<_>> {
        of(&all, call).iter().map(|touched| touched.unmapped.iter().map(name).collect()).collect()
    };
    let both = vec![Some(Some('a')), Some(Some('b'))];
    assert_eq!(lost(Call::Munmap), [vec![], vec![], vec![], both]);
    assert_eq!([lost(Call::Mmap), lost(Call::Mremap)].concat().concat(), []);
}

/// Whatever a damaged trace says, it is followed without a panic.
#[test]
fn impossible_addresses() {
    let extremes = [i64::MIN, -1, 0, 1, 4096, i64::MAX];
    let mut thread = app().open(1, "a", 3);
    let mut at = 10;
    for first in extremes {
        for second in extremes {
            thread = thread
                .call(Call::Mmap, at, 1, first, &[3, second, 3, 1, 0], &[], &[])
                .call(Call::Mremap, at + 1, 1, second, &[first, second, first, 4], &[], &[])
                .call(Call::Mremap, at + 2, 1, first, &[second, 0, first, 1], &[], &[])
                .call(Call::Msync, at + 3, 1, 0, &[second, first, 4], &[], &[])
                .call(Call::Munmap, at + 4, 1, 0, &[second, first], &[], &[]);
            at += 10;
        }
    }
    let (_, all) = follow(&[thread]);
    assert_eq!(of(&all, Call::Munmap).len(), 36);
}
