//! What the kernel saw, by way of strace.

use crate::allowed::ALLOWED;
use crate::classes::{CLASSES, Class, LEFT_OUT, Object, WAIT};
use crate::objects::{BY_DESCRIPTOR, Names};
use crate::tally::Counted;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tests::strace::{self, Caller, Maker, Syscall};

/// What strace is asked for: all kinds of calls that have to do with files, descriptors, sockets and processes, so that one
/// that is in no table is found as well; and those of the table that are of no such kind.
pub fn calls() -> String {
    let names = CLASSES.iter().flat_map(|class| class.kernel).flat_map(|(_, names)| names.split_whitespace());
    // The question mark: no matter if this strace does not know it.
    names.fold("%file,%desc,%network,%process".to_owned(), |all, name| format!("{all},?{name}"))
}

/// Counts the calls of a job that ran in `folder`, and notes what was renamed.
///
/// # Panics
/// When there is a call that is in no table.
pub fn counted(output: &Path, folder: &Path, names: &mut Names) -> Counted {
    let table = table();
    let left_out: BTreeSet<&str> = LEFT_OUT.iter().flat_map(|(names, _)| names.split_whitespace()).collect();
    let (mut counted, mut unknown) = (Counted::default(), BTreeSet::new());
    strace::for_each_call(output, folder, |caller, call| {
        note_renaming(caller, call, names);
        if ALLOWED.iter().any(|allowed| (allowed.is)(caller, call)) {
            return;
        }
        if let Some((class, object)) = outcome(call) {
            counted.add(caller.pid, class, object, 0);
        } else if let Some(&(class, object)) = table.get(call.name.as_str()) {
            count(caller, call, class, object, names, &mut counted);
        } else if !left_out.contains(call.name.as_str()) {
            unknown.insert(call.name.clone());
        }
    });
    assert!(unknown.is_empty(), "calls that the tables of this test do not have: {unknown:?}");
    counted
}

/// How often which call of which program failed for which reason. What the loader and the shim do is left out, and so is
/// what only tells whose turn it was.
pub fn errors(output: &Path, folder: &Path) -> BTreeMap<(String, String, String), u64> {
    let mut found = BTreeMap::new();
    strace::for_each_call(output, folder, |caller, call| {
        let reason = call.error.as_ref().filter(|error| !["EAGAIN", "EINTR"].contains(&error.as_str()));
        if let (Maker::Program, Some(error)) = (caller.maker(call), reason) {
            let program = caller.program.file_name().unwrap_or_default().to_string_lossy();
            *found.entry((program.into(), call.name.clone(), error.clone())).or_default() += 1;
        }
    });
    found
}

fn table() -> BTreeMap<&'static str, (&'static Class, Object)> {
    let classes = CLASSES.iter().chain([&WAIT]);
    let rows =
        classes.flat_map(|class| class.kernel.iter().map(move |(object, names)| (class, *object, *names)));
    rows.flat_map(|(class, object, names)| names.split_whitespace().map(move |name| (name, (class, object))))
        .collect()
}

fn count(
    caller: &Caller,
    call: &Syscall,
    class: &Class,
    object: Object,
    names: &mut Names,
    counted: &mut Counted,
) {
    let bytes = if class.bytes { call.result } else { 0 };
    let is_mapped = |how: &str| call.argument(3).contains(how);
    let mut descriptor = |position| names.of_descriptor(call.descriptor(position).map_or("", |it| it.object));
    match object {
        Object::Nothing => counted.add(caller.pid, class.name, String::new(), bytes),
        // Memory that is no file's, and the process's own.
        Object::Descriptor(4)
            if is_mapped("MAP_ANONYMOUS") && (is_mapped("MAP_PRIVATE") || is_mapped("MAP_DROPPABLE")) => {}
        Object::Descriptor(position) => counted.add(caller.pid, class.name, descriptor(position), bytes),
        Object::Copied(from, to) => {
            counted.add(caller.pid, "copy from", descriptor(from), bytes);
            counted.add(caller.pid, "copy to", descriptor(to), bytes);
        }
        Object::Path(_) | Object::PathAt(_) => {
            let object = path(caller, call, object, names);
            counted.add(caller.pid, class.name, object, bytes);
        }
    }
}

fn path(caller: &Caller, call: &Syscall, object: Object, names: &mut Names) -> String {
    let text = match object {
        Object::Path(position) => call.text(position),
        Object::PathAt(position) => call.text(position + 1),
        _ => None,
    };
    // The trace resolves such a name, and strace tells what it led to.
    if !call.opened.is_empty() && text.is_some_and(|path| path.starts_with(BY_DESCRIPTOR)) {
        return names.of_descriptor(&call.opened);
    }
    match object {
        Object::PathAt(position) => {
            let folder = call.descriptor(position).map_or("", |descriptor| descriptor.object);
            match text {
                Some(path) if !path.is_empty() => names.of_path_in(Path::new(folder), path),
                _ => names.of_descriptor(folder),
            }
        }
        Object::Path(_) => names.of_path_in(&caller.folder, text.unwrap_or_default()),
        _ => String::new(),
    }
}

/// Processes, threads, programs and ends.
fn outcome(call: &Syscall) -> Option<(&'static str, String)> {
    if let Some(made) = call.made_thread() {
        return Some((if made.is_thread { "thread" } else { "process" }, String::new()));
    }
    match call.name.as_str() {
        "execve" | "execveat" => Some(("program", String::new())),
        "exit_group" => Some(("end", format!("with {}", call.number(0).unwrap_or(0) & 0xff))),
        _ => None,
    }
}

fn note_renaming(caller: &Caller, call: &Syscall, names: &mut Names) {
    let objects = match call.name.as_str() {
        _ if call.result != 0 => return,
        "rename" => [Object::Path(0), Object::Path(1)],
        "renameat" | "renameat2" => [Object::PathAt(0), Object::PathAt(2)],
        _ => return,
    };
    let [old, new] = objects.map(|object| path(caller, call, object, names));
    names.rename(old, new);
}
