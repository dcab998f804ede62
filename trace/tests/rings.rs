//! Files are followed through the queues of io_uring, also those that are registered with a ring.

use syn_trace::builder::TraceBuilder;
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::{Call, Run};

const REGISTER_FILES: i64 = 2;
const UNREGISTER_FILES: i64 = 3;
const REGISTER_FILES_UPDATE: i64 = 6;
const WRITE: i64 = 23;
const CLOSE: i64 = 19;
const FIXED_FILE: i64 = 1;
const SKIP: i64 = -2;

/// Applies all events of a process, which has one thread: what each submission and close was about.
fn follow(thread: TraceBuilder) -> (Descriptors, Vec<Option<String>>) {
    let folder = tempfile::tempdir().unwrap();
    thread.write(folder.path()).unwrap();
    let run = Run::open(folder.path()).unwrap();
    let mut descriptors = Descriptors::new("/", 1);
    let mut about = Vec::new();
    for (thread, event) in run.process_events(0) {
        let thread = &run.threads[thread];
        let Touched { path, .. } =
            descriptors.apply(&event, thread.start_ns(&event), thread.returned_ns(&event));
        if [Call::Sqe, Call::Close].contains(&event.call) {
            about.push(path.map(|path| path.to_string()));
        }
    }
    (descriptors, about)
}

/// A process with a ring, descriptor 3, and two files, 4 and 5.
fn app() -> TraceBuilder {
    let open = |thread: TraceBuilder, path: &str, fd| {
        thread.call(Call::Open, 100, 5, fd, &[0o2, 0, 0o100_644, 0, 7], &[path.as_bytes()], &[])
    };
    let thread = TraceBuilder::new(7, 7).process_start("/bin/app", "/w", "app");
    let thread = thread.call(Call::IoUringSetup, 90, 5, 3, &[8, 0], &[], &[]);
    open(open(thread, "one", 4), "two", 5)
}

fn submit(thread: TraceBuilder, at: u64, operation: i64, flags: i64, fd: i64) -> TraceBuilder {
    thread.call(Call::Sqe, at, 0, 0, &[3, operation, flags, fd, 512, 0, 1], &[], &[])
}

fn register(thread: TraceBuilder, at: u64, operation: i64, files: &[i64]) -> TraceBuilder {
    thread.call(Call::IoUringRegister, at, 5, 0, &[3, operation, files.len() as i64], &[], files)
}

#[test]
fn registered_files_outlive_their_descriptors() {
    let thread = submit(app(), 200, WRITE, 0, 4);
    let thread = register(thread, 300, REGISTER_FILES, &[0, 4, 5, -1]);
    let thread = thread.call(Call::Close, 400, 5, 0, &[4], &[], &[]);
    let thread = submit(thread, 500, WRITE, FIXED_FILE, 0);
    let thread = submit(thread, 600, WRITE, FIXED_FILE, 1);
    let thread = submit(thread, 700, WRITE, FIXED_FILE, 2);
    let thread = register(thread, 800, REGISTER_FILES_UPDATE, &[0, -1, SKIP, 5]);
    let thread = [0, 1, 2]
        .into_iter()
        .fold(thread, |thread, place| submit(thread, 900 + place as u64, WRITE, FIXED_FILE, place));
    let thread = register(thread, 1000, UNREGISTER_FILES, &[]);
    let (_, about) = follow(submit(thread, 1100, WRITE, FIXED_FILE, 1));
    let about: Vec<_> = about.iter().map(Option::as_deref).collect();
    let (one, two) = (Some("/w/one"), Some("/w/two"));
    assert_eq!(about, [one, one, one, two, None, None, two, two, None]);
}

#[test]
fn closing_through_a_ring() {
    let (descriptors, about) = follow(submit(submit(app(), 200, CLOSE, 0, 4), 300, CLOSE, FIXED_FILE, 5));
    assert_eq!(about, [Some("/w/one".to_owned()), None]);
    assert_eq!(descriptors.descriptor(4), None);
    assert!(descriptors.descriptor(5).is_some(), "only its place was given up");
    assert!(descriptors.descriptor(3).is_some(), "the ring");
}

/// Whatever a damaged trace says.
#[test]
fn places_and_descriptors_that_cannot_be() {
    let thread = register(app(), 200, REGISTER_FILES, &[i64::MAX, 4, 5]);
    let thread = register(thread, 300, REGISTER_FILES, &[i64::MIN, i64::MAX, i64::MIN]);
    let (_, about) = follow(submit(thread, 400, CLOSE, FIXED_FILE, i64::MIN));
    assert_eq!(about, [None]);
}
