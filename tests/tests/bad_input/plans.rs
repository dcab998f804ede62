//! Plans that mean harm, and storage that cannot be used.

use crate::says;
use std::path::{Path, PathBuf};
use syn_plan::{About, Balance, File, Initial, Io, Op, Plan, Program, Step, Thread};
use tempfile::TempDir;
use tests::{differences, syn};

const O_WRONLY: i32 = 1;
const O_CREAT: i32 = 0o100;

/// A storage folder with something beside it that must stay as it is, and a plan.
struct Storage {
    folder: TempDir,
    plan: Plan,
}

impl Storage {
    fn new() -> Storage {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        for name in ["outside", "before", "storage"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder in an empty one");
        }
        for name in ["outside", "before"] {
            std::fs::write(folder.path().join(name).join("victim"), "untouched").expect("a file");
        }
        let about = About { command: "./app".into(), recorded_ns: 1_000_000, ..About::default() };
        Storage { folder, plan: Plan { about, ..Plan::default() } }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&mut self, path: &str, initial: Initial) -> u32 {
        self.plan.files.push(File { path: path.into(), initial });
        self.plan.files.len() as u32 - 1
    }

    /// One program that does this, each call as if it had returned this.
    fn program(&mut self, calls: &[(Io, i64)]) {
        let step = |(number, &(call, result)): (u64, &(Io, i64))| Step {
            start_ns: number * 1000,
            took_ns: 500,
            op: Op::Io { call, result },
        };
        let thread = Thread { process: 0, rank: None, pid: 1000, tid: 1000, ends_with_process: false };
        self.plan.programs.push(Program {
            thread,
            balance: Balance::default(),
            steps: (0..).zip(calls).map(step).collect(),
        });
    }

    /// Replays on `storage`; what is beside it stays as it was, and in it nothing is left.
    #[track_caller]
    fn replay_says(&self, storage: &Path, code: i32, words: &[&str]) {
        let plan = self.path("app.syn");
        self.plan.save(&plan).expect("a plan can be written");
        says(syn().arg("replay").arg(&plan).arg("--storage").arg(storage), code, words);
        assert_eq!(differences(&self.path("before"), &self.path("outside")), [] as [String; 0]);
        let left: Vec<_> = self.path("storage").read_dir().expect("the storage").collect();
        assert!(left.is_empty(), "left on the storage: {left:?}");
        let mut beside: Vec<_> =
            self.folder.path().read_dir().expect("a folder").flatten().map(|e| e.file_name()).collect();
        beside.sort();
        assert_eq!(beside, ["app.syn", "before", "outside", "storage"]);
    }

    fn open_for_writing(file: u32) -> Io {
        Io::Open { file, handle: 0, flags: O_WRONLY | O_CREAT, mode: 0o644 }
    }
}

#[test]
fn a_plan_that_climbs_out() {
    let mut storage = Storage::new();
    let victim = format!("/../..{}", storage.path("outside/victim").display());
    let victim = storage.file(&victim, Initial::Regular { bytes: 3 });
    storage.program(&[(Storage::open_for_writing(victim), 0), (Io::Write { handle: 0, bytes: 3 }, 3)]);
    storage.replay_says(&storage.path("storage"), 1, &["..", "nothing was touched"]);
}

/// A link that was made two folders down is moved to the top: it then leads out of the replay's folder.
#[test]
fn a_plan_that_leaves_through_a_link() {
    let mut storage = Storage::new();
    let target = storage.file("/outside", Initial::Absent);
    let (deep, moved) = (storage.file("/a/b/link", Initial::Absent), storage.file("/link", Initial::Absent));
    let (victim, fresh) =
        (storage.file("/link/victim", Initial::Absent), storage.file("/link/fresh", Initial::Absent));
    storage.program(&[
        (Io::Symlink { target, link: deep }, 0),
        (Io::Rename { from: deep, to: moved }, 0),
        (Storage::open_for_writing(victim), 0),
        (Storage::open_for_writing(fresh), 0),
        (Io::Mkdir { file: fresh, mode: 0o755 }, 0),
        (Io::Truncate { file: victim, bytes: 0 }, 0),
        (Io::Unlink { file: victim }, 0),
        (Io::Rename { from: victim, to: fresh }, 0),
    ]);
    let words = ["6 operations did not come out as recorded", "/link/victim", "Invalid cross-device link"];
    storage.replay_says(&storage.path("storage"), 3, &words);
}

#[test]
fn storage_that_cannot_be_used() {
    let mut storage = Storage::new();
    let file = storage.file("/data", Initial::Absent);
    storage.program(&[(Storage::open_for_writing(file), 0), (Io::Write { handle: 0, bytes: 3 }, 3)]);
    storage.replay_says(&storage.path("nowhere"), 1, &["nowhere", "no such folder"]);
    storage.replay_says(&storage.path("outside/victim"), 1, &["victim", "is not a folder"]);
    // Nobody can make a folder there, root neither.
    storage.replay_says(Path::new("/sys/kernel"), 1, &["/sys/kernel", "cannot make a folder in it"]);
}

#[test]
fn storage_that_is_too_small() {
    let mut storage = Storage::new();
    let huge = 1u64 << 60;
    storage.file("/huge", Initial::Regular { bytes: huge });
    storage.program(&[]);
    storage.replay_says(&storage.path("storage"), 1, &["too small", &huge.to_string(), "free"]);
}
