//! What the trace holds.

use crate::classes::{CLASSES, Class, WAIT};
use crate::objects::{BY_DESCRIPTOR, NOTHING, Names};
use crate::tally::Counted;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::LazyLock;
use syn_trace::calls::{Call, Kind};
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::record::{BEGAN, FAILED};
use syn_trace::{Event, Run};
use tests::Job;

const AT_SYMLINK_NOFOLLOW: i64 = 0x100;
const EOPNOTSUPP: i32 = 95;

/// Counts the records of a run.
pub fn counted(run: &Run, names: &mut Names) -> Counted {
    let table = table();
    let (mut counted, mut forked) = (Counted::default(), BTreeSet::new());
    for (index, process) in run.processes.iter().enumerate() {
        let mut descriptors = Descriptors::new(&process.cwd, process.threads.len());
        let mut last: HashMap<usize, Vec<Entry>> = HashMap::new();
        let mut inner: HashMap<usize, u64> = HashMap::new();
        for (thread, event) in run.process_events(index) {
            let times = (run.threads[thread].start_ns(&event), run.threads[thread].returned_ns(&event));
            let touched = descriptors.apply(&event, times.0, times.1);
            if event.call == Call::Fork && !event.has(FAILED) {
                forked.insert(event.result as u32);
            }
            let middle_of_inner = inner.remove(&thread);
            let is_outer = event.depth() == 0 && middle_of_inner.is_some_and(|middle| middle > event.start);
            if event.depth() > 0 {
                inner.insert(thread, event.start.midpoint(event.end));
            }
            if is_outer && is_made_of_others(&event) {
                continue;
            }
            // No calls of the program's, and not counted on the other side either.
            if event.is_of_loader() {
                continue;
            }
            let times = if event.call == Call::Repeats { event.numbers[0] } else { 1 };
            if event.call != Call::Repeats {
                last.insert(thread, entries(&event, &touched, &descriptors, &table, names));
            }
            for entry in last.get(&thread).into_iter().flatten() {
                (0..times)
                    .for_each(|_| counted.add(process.pid, entry.class, entry.object.clone(), entry.bytes));
            }
        }
    }
    count_programs(run, &forked, &mut counted);
    counted
}

/// Every process image began with a program, but the first one of a process that was forked.
fn count_programs(run: &Run, forked: &BTreeSet<u32>, counted: &mut Counted) {
    let mut known = BTreeSet::new();
    for process in &run.processes {
        if !known.insert(process.pid) || !forked.contains(&process.pid) {
            counted.add(process.pid, "program", String::new(), 0);
        }
    }
}

/// Of libc's functions with a class of their own: those that do nothing themselves where the calls in them are recorded.
/// euidaccess(3) looks at the status and asks access(2).
fn is_made_of_others(event: &Event<'_>) -> bool {
    const AT_EACCESS: i64 = 0x200;
    event.call == Call::Faccessat && event.number("flags") == Some(AT_EACCESS)
}

/// What a record counts as.
struct Entry {
    class: &'static str,
    object: String,
    bytes: i64,
}

impl Entry {
    fn of(class: &'static str) -> Entry {
        Entry { class, object: String::new(), bytes: 0 }
    }
}

fn table() -> BTreeMap<&'static str, &'static Class> {
    let classes = CLASSES.iter().chain([&WAIT]);
    classes.flat_map(|class| class.trace.split_whitespace().map(move |name| (name, class))).collect()
}

fn entries(
    event: &Event<'_>,
    touched: &Touched,
    descriptors: &Descriptors,
    table: &BTreeMap<&'static str, &'static Class>,
    names: &mut Names,
) -> Vec<Entry> {
    let Some(class) = table.get(event.call.name()) else {
        return outcome(event, touched, descriptors, names);
    };
    let bytes = if class.bytes { event.result } else { 0 };
    let spares_links = || event.call == Call::Fchmodat && event.number("flags") == Some(AT_SYMLINK_NOFOLLOW);
    if spares_links() && !*SPARED_BY_KERNEL {
        return changed_without_links(event, object(event, touched, descriptors, names));
    }
    if class.name == "copy" {
        let mut object = |position: usize| {
            let file = descriptors.descriptor(event.numbers[position] as i32);
            file.map_or_else(|| NOTHING.into(), |file| names.of_open_file(descriptors.open_file(file)))
        };
        return vec![
            Entry { class: "copy from", object: object(0), bytes },
            Entry { class: "copy to", object: object(1), bytes },
        ];
    }
    let has_object = class.kernel.iter().any(|(object, _)| *object != crate::classes::Object::Nothing);
    let object = if has_object { object(event, touched, descriptors, names) } else { String::new() };
    vec![Entry { class: class.name, object, bytes }]
}

/// What the record is about: its path, or the file that its descriptor stands for.
fn object(event: &Event<'_>, touched: &Touched, descriptors: &Descriptors, names: &mut Names) -> String {
    let args = event.call.args();
    // Not what was accepted, what is watched, or where the clone comes from.
    let position = match event.call {
        Call::Accept | Call::InotifyAddWatch => Some(0),
        Call::CloneRange => Some(1),
        _ => None,
    };
    if let Some(position) = position {
        let file = descriptors.descriptor(event.numbers[position] as i32);
        return file.map_or_else(|| NOTHING.into(), |file| names.of_open_file(descriptors.open_file(file)));
    }
    let has_path = args.iter().any(|arg| arg.kind == Kind::Path);
    match (has_path, &touched.path, touched.file) {
        (true, Some(path), _) => names.of_path(path),
        (_, _, Some(file)) => names.of_open_file(descriptors.open_file(file)),
        // sync(2) has neither.
        _ if !has_path && !args.iter().any(|arg| arg.kind == Kind::Fd) => String::new(),
        _ => NOTHING.into(),
    }
}

/// Whether libc has the kernel change a mode unless it is a link's: glibc from 2.39 on with Linux from 6.6 on, fchmodat2(2).
static SPARED_BY_KERNEL: LazyLock<bool> = LazyLock::new(|| {
    let version = |text: &str| -> Option<(u32, u32)> {
        let mut numbers = text.trim().split(|c: char| !c.is_ascii_digit()).map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    let libc = Job::new("getconf").arg("GNU_LIBC_VERSION").run_in(Path::new("/")).succeeded().stdout;
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release of the kernel");
    let libc = libc.strip_prefix("glibc ").and_then(version).expect("a version of libc");
    libc >= (2, 39) && version(&kernel).expect("a version of the kernel") >= (6, 6)
});

/// Where the kernel does not know of that flag, libc opens the file, looks whether it is a link, changes the mode through the
/// descriptor's name and closes it.
fn changed_without_links(event: &Event<'_>, object: String) -> Vec<Entry> {
    let entry = |class| Entry { object: object.clone(), ..Entry::of(class) };
    match (event.has(FAILED), event.errno) {
        (false, _) => {
            let mode = Entry { object: BY_DESCRIPTOR.into(), ..Entry::of("mode") };
            vec![entry("open"), entry("status"), mode, entry("close")]
        }
        (true, EOPNOTSUPP) => vec![entry("open"), entry("status"), entry("close")],
        (true, _) => vec![entry("open")],
    }
}

/// Processes, threads and ends; and calls of libc that consist of several system calls which are not recorded one by one.
fn outcome(event: &Event<'_>, touched: &Touched, descriptors: &Descriptors, names: &mut Names) -> Vec<Entry> {
    let failed = event.has(FAILED);
    match event.call {
        Call::Exit if event.has(BEGAN) => {
            vec![Entry { object: format!("with {}", event.numbers[0] & 0xff), ..Entry::of("end") }]
        }
        _ if failed => Vec::new(),
        Call::Fork | Call::Vfork => vec![Entry::of("process")],
        Call::PosixSpawn if event.result == 0 => vec![Entry::of("process")],
        Call::PthreadCreate if event.result == 0 => vec![Entry::of("thread")],
        Call::System => vec![Entry::of("process"), Entry::of("wait")],
        Call::Pclose => vec![Entry::of("wait")],
        // It looks at the flags and sets close-on-exec, without the functions that do that for others.
        Call::Fdopendir => (0..2)
            .map(|_| Entry { object: object(event, touched, descriptors, names), ..Entry::of("control") })
            .collect(),
        Call::Popen => {
            let end = touched.file.map(|file| names.of_open_file(descriptors.open_file(file)));
            let close = Entry { object: end.unwrap_or_default(), ..Entry::of("close") };
            vec![Entry::of("pipe"), Entry::of("process"), close]
        }
        _ => Vec::new(),
    }
}
