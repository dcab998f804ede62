//! Files whose closing costs something, and questions about them: a file system that is told of each `close` (flush), and is asked
//! what a file is each time that a program asks. The recorder must not close copies of the program's descriptors, nor open any of its own
//! where threads share them, nor ask what is known.

use crate::single_bytes;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, LockOwner, ReplyAttr, ReplyEmpty,
    ReplyEntry, Request,
};
use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::{Duration, UNIX_EPOCH};
use syn_trace::{Call, Run};
use tests::{Job, program, shim};

const FILE: INodeNo = INodeNo(2);
/// What the file system says of a file holds for no time.
const FOR_NO_TIME: Duration = Duration::ZERO;

/// Messages to a file system.
#[derive(Default)]
struct Messages {
    flushes: AtomicU64,
    questions: AtomicU64,
}

/// A folder with one file, `file`, whose flushes are counted, and the questions about it.
struct Counting(Arc<Messages>);

fn attributes(ino: INodeNo, kind: FileType) -> FileAttr {
    let perm = if kind == FileType::Directory { 0o755 } else { 0o644 };
    FileAttr {
        ino,
        size: 5,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind,
        perm,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        flags: 0,
        blksize: 4096,
    }
}

impl Filesystem for Counting {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == "file" {
            true => reply.entry(&FOR_NO_TIME, &attributes(FILE, FileType::RegularFile), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let kind = if ino == FILE { FileType::RegularFile } else { FileType::Directory };
        self.0.questions.fetch_add(1, SeqCst);
        reply.attr(&FOR_NO_TIME, &attributes(ino, kind));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        self.0.flushes.fetch_add(1, SeqCst);
        reply.ok();
    }
}

/// 100 threads that each write a byte, while 40 descriptors are open on the file: as many flushes with the shim as without, no
/// question more, and no thread had to be helped to a descriptor of its own, but for the one that looks at the program's pages at the end.
#[test]
fn threads_leave_descriptors_alone() {
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let [disk, run] = ["disk", "run"].map(|name| scratch.path().join(name));
    std::fs::create_dir(&disk).expect("a folder in an empty one");
    let messages = Arc::new(Messages::default());
    let job = Job::new(program("surroundings")).arg("open-files").env("FOLDER", &disk);
    let sent = |job: &Job| {
        let now = || [&messages.flushes, &messages.questions].map(|count| count.load(SeqCst));
        let before = now();
        let _ = job.run_in(scratch.path()).succeeded();
        let [flushes, questions] = now();
        (flushes - before[0], questions - before[1])
    };
    let recording = job.clone().env("LD_PRELOAD", shim()).env("SYN_RUN", &run);
    match fuser::spawn_mount(Counting(messages.clone()), &disk, &fuser::Config::default()) {
        Ok(_mounted) => {
            let bare = sent(&job);
            assert_eq!((bare.0, sent(&recording)), (40, bare));
        }
        Err(error) => {
            eprintln!(
                "messages are not counted: this machine does not let a test mount a file system: {error}"
            );
            std::fs::write(disk.join("file"), "").expect("a file");
            sent(&recording);
        }
    }
    let run = Run::open(&run).expect("a run folder");
    assert_eq!((run.threads.len(), single_bytes(&run, Call::Write), run.dropped()), (101, 100, 0));
    let helped = run.threads.iter().filter(|thread| thread.trace.header().helpers_cpu_ns.load(Relaxed) > 0);
    let looked =
        |thread: &syn_trace::run::Thread| thread.events().any(|event| event.call == Call::PagesTouched);
    assert!(helped.clone().all(looked) && helped.count() <= 1, "threads that were helped");
}
