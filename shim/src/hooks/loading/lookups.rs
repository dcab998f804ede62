//! Where the loader has looked for a library in vain.
//!
//! A library that is needed by its name is looked for in one folder after the other, until it is in one (ld.so(8)). Each of the others is an
//! open that fails. When the loader comes to a folder for the first time, it tries its subfolders too ([`library_folders`]), and asks of each
//! whether it is there. This goes over that again, by what the loader has gone by.
//!
//! Source: glibc, `elf/dl-load.c` (`_dl_map_object`, `open_path`, `fillin_rpath`).

use super::told::{OPENED, Told, is_told};
use crate::core::elf::ObjectInfo;
use crate::core::elf::needs::{DT_RPATH, DT_RUNPATH, Needs};
use crate::core::text::Text;
use crate::core::{file_status, hash, library_folders, sys};
use crate::recording::process::{self, settings};
use core::ops::ControlFlow::{self, Break, Continue};
use core::sync::atomic::{AtomicU64, Ordering};
use syn_trace::calls::Call;
use syn_trace::folders::is_of_system;
use syn_trace::loader::DESCRIPTOR;
use syn_trace::status;

/// Who has loaded who has loaded the library: so far back at most.
const MOST_REQUESTERS: usize = 16;

/// The longest path of the current folder with which a listed one is told.
const CURRENT_BYTES: usize = 512;

/// The folders that the loader has come to: hashes of their paths, the last bit of which says whether it is there. Further ones are
/// taken for such that it has come to.
static FOLDERS: [AtomicU64; 512] = [const { AtomicU64::new(0) }; 512];

const LIBRARY_PATH: &[u8] = b"LD_LIBRARY_PATH";

/// True where the environment makes the loader look in folders that are not the system's.
#[unsafe(link_section = ".text.startup")]
pub fn are_everywhere() -> bool {
    let listed = settings::variable_at_start(LIBRARY_PATH).unwrap_or_default();
    !listed.is_empty() && !listed.split(|byte| matches!(byte, b':' | b';')).all(is_of_system)
}

/// In front of a folder that is listed relative to the current one: the loader takes all of its subfolders to be there, each time.
const RELATIVE: u8 = 1;

/// The folders in which the loader has looked for a library until it was found, one behind the other, each with a zero byte behind it.
pub struct Folders<'a>(&'a [u8]);

/// Those for this one. As many as have room.
pub fn folders<'a>(object: &ObjectInfo, room: &'a mut [u8]) -> Folders<'a> {
    let path = object.path().to_bytes();
    let name = file_name(path);
    // The loader itself was there first.
    let was_sought = path.starts_with(b"/") && !name.starts_with(b"ld-linux");
    let Some(requester) = was_sought.then(|| requester(object.base, name)).flatten() else {
        return Folders(&[]);
    };
    let mut text = Text::of(room);
    let _ = each_folder(&requester, &mut text, &mut |folder| is_below(folder, name, path));
    Folders(text.into_bytes())
}

/// Whether the library was found in that folder, or in one of its subfolders.
fn is_below(folder: &[u8], name: &[u8], path: &[u8]) -> bool {
    let Some(inside) = path.strip_prefix(folder) else { return false };
    inside == name || library_folders::any_subfolder(|subfolder| inside.strip_prefix(subfolder) == Some(name))
}

/// Tells what the loader has done there, to find what it has found at `path` in the end.
pub fn tell(told: &mut Told<'_>, folders: &Folders<'_>, path: &[u8], room: &mut [u8]) {
    for folder in folders.0.split(|&byte| byte == 0) {
        let absolute = folder.strip_prefix(&[RELATIVE]);
        let (folder, is_relative) = (absolute.unwrap_or(folder), absolute.is_some());
        let mut text = Text::of(room);
        if is_told(folder) && !text.push(folder).is_cut() {
            look_in(told, &mut text, is_relative, file_name(path), path);
        }
    }
}

/// The object for which the loader has looked for the one that lies there, by this name.
fn requester<'a>(object: usize, name: &[u8]) -> Option<Needs<'a>> {
    // SAFETY: the loader's walk is at an object, so that nothing is unloaded.
    unsafe { Needs::of_first(object, |earlier| earlier.has(name)) }
}

/// Puts together the folders in which the loader looks for what an object needs, in its order, each with a slash at its end and a zero byte
/// behind that, until `is_last` says so of one.
fn each_folder(
    requester: &Needs<'_>,
    text: &mut Text<'_>,
    is_last: &mut impl FnMut(&[u8]) -> bool,
) -> ControlFlow<()> {
    if requester.texts(DT_RUNPATH).next().is_none() {
        let (mut at, mut left, mut was_program) = (Some(*requester), MOST_REQUESTERS, false);
        while let Some(object) = at.filter(|_| left > 0) {
            each_of(&object, DT_RPATH, text, is_last)?;
            was_program |= object.path().is_empty();
            at = self::requester(object.base(), file_name(object.path()));
            left -= 1;
        }
        // SAFETY: as in `requester`.
        let program = unsafe { Needs::of_first(0, |_| true) };
        if let Some(program) = program.filter(|_| !was_program) {
            each_of(&program, DT_RPATH, text, is_last)?;
        }
    }
    let listed = settings::variable_at_start(LIBRARY_PATH).unwrap_or_default();
    each_listed(listed, b":;", folder_of(process::program()), text, is_last)?;
    each_of(requester, DT_RUNPATH, text, is_last)
}

/// The same for those that an object lists itself. The older list counts where the newer is missing.
fn each_of(
    object: &Needs<'_>,
    tag: i64,
    text: &mut Text<'_>,
    is_last: &mut impl FnMut(&[u8]) -> bool,
) -> ControlFlow<()> {
    let path = if object.path().is_empty() { process::program() } else { object.path() };
    let counts = tag == DT_RUNPATH || object.texts(DT_RUNPATH).next().is_none();
    let mut lists = object.texts(tag).filter(|_| counts);
    lists.try_for_each(|list| each_listed(list.to_bytes(), b":", folder_of(path), text, is_last))
}

fn each_listed(
    list: &[u8],
    separators: &[u8],
    origin: &[u8],
    text: &mut Text<'_>,
    is_last: &mut impl FnMut(&[u8]) -> bool,
) -> ControlFlow<()> {
    let elements = || list.split(|byte| separators.contains(byte));
    // An empty list is none.
    for (number, element) in elements().enumerate().filter(|_| !list.is_empty()) {
        let length = text.as_bytes().len();
        // What is listed twice is looked in once.
        if elements().take(number).any(|earlier| earlier == element) {
            continue;
        }
        let is_relative = !element.starts_with(b"/") && !element.starts_with(b"$");
        if is_relative {
            text.push(&[RELATIVE]);
        }
        let start = text.as_bytes().len();
        if !expand(element, is_relative, origin, text) {
            text.cut(length);
        } else if is_last(&text.as_bytes()[start..]) {
            return Break(());
        } else {
            text.push(&[0]);
        }
    }
    Continue(())
}

/// Adds the path of a listed folder. False where that is not known, as the loader puts in what it was built with, or has no room.
fn expand(element: &[u8], is_relative: bool, origin: &[u8], text: &mut Text<'_>) -> bool {
    let start = text.as_bytes().len();
    let mut rest = element;
    if is_relative {
        // Of the current folder. (Nobody is asked for that but the kernel.)
        let mut room = [0; CURRENT_BYTES];
        // SAFETY: there is room for as many bytes as said.
        let bytes = unsafe { sys::getcwd(room.as_mut_ptr(), room.len()) };
        let Some(current) = usize::try_from(bytes).ok().and_then(|bytes| room.get(..bytes)) else {
            return false;
        };
        text.push(current.strip_suffix(b"\0").unwrap_or(current)).push(b"/");
    }
    while let Some(at) = rest.iter().position(|&byte| byte == b'$') {
        text.push(&rest[..at]);
        let behind =
            ["$ORIGIN", "${ORIGIN}"].iter().find_map(|name| rest[at..].strip_prefix(name.as_bytes()));
        let Some(behind) = behind else { return false };
        text.push(origin);
        rest = behind;
    }
    text.push(rest);
    let path = &text.as_bytes()[start..];
    let length = path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    if text.is_cut() || !path.starts_with(b"/") {
        return false;
    }
    text.cut(start + length);
    !text.push(b"/").is_cut()
}

/// The folder in which a file lies, without a slash at its end.
fn folder_of(path: &[u8]) -> &[u8] {
    &path[..(path.len() - file_name(path).len()).saturating_sub(1)]
}

fn file_name(path: &[u8]) -> &[u8] {
    &path[path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1)..]
}

/// What it has done in this folder.
fn look_in(told: &mut Told<'_>, text: &mut Text<'_>, is_relative: bool, name: &[u8], path: &[u8]) {
    let folder = text.as_bytes().len();
    let known = if is_relative { Folder::New } else { Folder::known(text.as_bytes()) };
    if known == Folder::Missing {
        return;
    }
    let inside = path.strip_prefix(text.as_bytes());
    let is_in = |subfolder: &[u8]| inside.and_then(|path| path.strip_prefix(subfolder)) == Some(name);
    let is_new = known == Folder::New;
    let is_here = is_in(b"");
    let is_below = is_new
        && library_folders::any_subfolder(|subfolder| {
            text.push(subfolder);
            let is_it = is_in(subfolder);
            if !is_it {
                tell_open(told, text, name);
                if !is_relative {
                    tell_status(told, text, None);
                }
            }
            text.cut(folder);
            is_it
        });
    let is_found = is_here || is_below;
    if !is_found {
        tell_open(told, text, name);
    }
    if is_relative {
        return;
    }
    if is_found {
        Folder::note(text.as_bytes(), true);
    } else if is_new {
        let found = text.as_string(folder - 1, file_status::named);
        tell_status(told, text, found.as_ref());
        Folder::note(text.as_bytes(), found.is_some());
    }
}

/// An open of that name in this folder, which has failed.
fn tell_open(told: &mut Told<'_>, folder: &mut Text<'_>, name: &[u8]) {
    let length = folder.as_bytes().len();
    if !folder.push(name).is_cut() {
        let numbers = [DESCRIPTOR, OPENED, 0, 0, 0, 0];
        told.record(Call::Openat, Err(libc::ENOENT), &numbers, &[folder.as_bytes()]);
    }
    folder.cut(length);
}

/// Whether it was there, which the loader has asked.
fn tell_status(told: &mut Told<'_>, folder: &Text<'_>, found: Option<&libc::statx>) {
    let [mode, size, _] = found.map_or([0; 3], status::numbers);
    let outcome = if found.is_some() { Ok(0) } else { Err(libc::ENOENT) };
    if let Some((_, path)) = folder.as_bytes().split_last().filter(|_| !folder.is_cut()) {
        told.record(Call::Fstatat, outcome, &[DESCRIPTOR, 0, mode, size], &[path]);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Folder {
    /// The loader has not come to it yet.
    New,
    There,
    Missing,
}

impl Folder {
    fn known(path: &[u8]) -> Folder {
        let hash = hash(path);
        match Folder::place(hash).map(|place| place.load(Ordering::Relaxed)) {
            Some(0) => Folder::New,
            Some(found) if found & 1 == 0 => Folder::Missing,
            _ => Folder::There,
        }
    }

    fn note(path: &[u8], is_there: bool) {
        let hash = hash(path);
        if let Some(place) = Folder::place(hash) {
            place.store(hash | u64::from(is_there), Ordering::Relaxed);
        }
    }

    /// Where that is noted. `None` where there is no room left.
    fn place(hash: u64) -> Option<&'static AtomicU64> {
        let places = FOLDERS.iter().cycle().skip(hash as usize / 2 % FOLDERS.len()).take(FOLDERS.len());
        let is_its = |place: &&AtomicU64| matches!(place.load(Ordering::Relaxed), found if found == 0 || found & !1 == hash);
        places.into_iter().find(is_its)
    }
}

/// With the last bit left free; not 0.
fn hash(path: &[u8]) -> u64 {
    (hash::of(path) & !1).max(2)
}
