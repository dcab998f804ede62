//! Transfers to and from files that have a path, as strace saw them and as they are on record.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use tests::strace::{self, Maker, Syscall, same_name};
use tests::{Direction, Dump, Seen, Tally};

/// Calls and bytes by thread, class of call, direction, and path. Directories are read without one: `nftw` opens them in a
/// way that cannot be seen.
pub type Moved = BTreeMap<(u32, &'static str, Direction, String), Tally>;

/// Calls that are counted together.
struct Class {
    name: &'static str,
    /// The kernel's names.
    kernel: &'static [&'static str],
    /// The names in a trace.
    trace: &'static [&'static str],
    moves: Moves,
}

/// What a call does with descriptors, by their positions among the system call's arguments.
enum Moves {
    Out(usize),
    In(usize),
    Across { from: usize, to: usize },
    Entries,
}

const CLASSES: [Class; 6] = [
    Class {
        name: "read",
        kernel: &["read", "pread64", "readv", "preadv", "preadv2"],
        trace: &["read", "pread", "readv", "preadv"],
        moves: Moves::Out(0),
    },
    Class {
        name: "write",
        kernel: &["write", "pwrite64", "writev", "pwritev", "pwritev2"],
        trace: &["write", "pwrite", "writev", "pwritev"],
        moves: Moves::In(0),
    },
    Class {
        name: "copy_file_range",
        kernel: &["copy_file_range"],
        trace: &["copy_file_range"],
        moves: Moves::Across { from: 0, to: 2 },
    },
    Class {
        name: "sendfile",
        kernel: &["sendfile"],
        trace: &["sendfile"],
        moves: Moves::Across { from: 1, to: 0 },
    },
    Class {
        name: "splice",
        kernel: &["splice"],
        trace: &["splice"],
        moves: Moves::Across { from: 0, to: 2 },
    },
    Class { name: "getdents64", kernel: &["getdents64"], trace: &["getdents64"], moves: Moves::Entries },
];

/// The calls that strace is to tell, separated by commas.
pub fn calls() -> String {
    CLASSES.iter().flat_map(|class| class.kernel).copied().collect::<Vec<_>>().join(",")
}

/// Calls `with` for every system call that a program, or libc on its behalf, made. What the dynamic loader and the shim
/// do for themselves is left out, and so are launchers.
pub fn for_each_of_programs(
    output: &Path,
    folder: &Path,
    launchers: &[&str],
    mut with: impl FnMut(u32, &Syscall),
) {
    strace::for_each_call(output, folder, |caller, call| {
        let name = caller.program.file_name().unwrap_or_default();
        if !matches!(caller.maker(call), Maker::Loader | Maker::Shim)
            && !launchers.iter().any(|launcher| name == *launcher)
        {
            with(caller.tid, call);
        }
    });
}

/// What strace saw in `output` of a job that was started in `folder`.
pub fn seen_by_kernel(output: &Path, folder: &Path, launchers: &[&str]) -> Moved {
    let mut moved = Moved::new();
    for_each_of_programs(output, folder, launchers, |tid, call| {
        let Some(class) = CLASSES.iter().find(|class| class.kernel.contains(&&*call.name)) else { return };
        let object = |position| call.descriptor(position).map(|descriptor| descriptor.object);
        let (source, target) = match class.moves {
            Moves::Out(fd) => (object(fd), None),
            Moves::In(fd) => (None, object(fd)),
            Moves::Across { from, to } => (object(from), object(to)),
            Moves::Entries => return count(&mut moved, (tid, class.name, Direction::Read, ""), call.result),
        };
        for (direction, path) in [(Direction::Read, source), (Direction::Write, target)] {
            if let Some(path) = path.filter(|path| path.starts_with('/') && !is_nameless(path)) {
                count(&mut moved, (tid, class.name, direction, &same_name(path)), call.result);
            }
        }
    });
    moved
}

/// What is on record in the run folder.
pub fn seen_by_shim(folder: &Path) -> Moved {
    let mut moved = Moved::new();
    for_each_record(folder, |seen| {
        let Some(class) = CLASSES.iter().find(|class| class.trace.contains(&&*seen.call)) else { return };
        let (source, target) = match class.moves {
            Moves::Out(_) => (&seen.path, &None),
            Moves::In(_) => (&None, &seen.path),
            Moves::Across { .. } => (&seen.path, &seen.second_path),
            Moves::Entries => {
                return count(&mut moved, (seen.tid, class.name, Direction::Read, ""), seen.result);
            }
        };
        for (direction, path) in [(Direction::Read, source), (Direction::Write, target)] {
            if let Some(path) = path.as_deref().filter(|path| !is_nameless(path)) {
                count(&mut moved, (seen.tid, class.name, direction, &same_name(path)), seen.result);
            }
        }
    });
    moved
}

/// Calls `with` for every call on record, as often as it was made, but for what the kernel and the loader did.
pub fn for_each_record(folder: &Path, mut with: impl FnMut(&Seen)) {
    let mut latest: HashMap<u32, Seen> = HashMap::new();
    for seen in Dump::of(folder).0.into_iter().filter(|seen| !seen.is_of_loader()) {
        if seen.call == "repeats" {
            let times = seen.args["count"].as_u64().expect("a number");
            let repeated = &latest[&seen.tid];
            (0..times).for_each(|_| with(repeated));
        } else {
            with(&seen);
            latest.insert(seen.tid, seen);
        }
    }
}

fn count(moved: &mut Moved, key: (u32, &'static str, Direction, &str), result: i64) {
    let (tid, class, direction, path) = key;
    moved.entry((tid, class, direction, path.to_owned())).or_default().add(result);
}

/// A file that never had a name: memfd_create(2), `O_TMPFILE`.
fn is_nameless(path: &str) -> bool {
    let path = path.trim_end_matches("(deleted)").trim_end();
    let number = path.rsplit('/').next().and_then(|name| name.strip_prefix('#'));
    path.starts_with("/memfd:") || number.is_some_and(|number| number.parse::<u64>().is_ok())
}
