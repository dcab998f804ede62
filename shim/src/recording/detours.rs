//! Which functions of libc get a detour, and what a trace says where they get none.

use crate::core::detour::{self, Patch, Refused};
use crate::core::procfs::directory_entries;
use crate::core::{elf, file_status, real, single_thread, sys};
use crate::recording::process::{self, settings};
use crate::recording::thread::private_table;
use core::ffi::CStr;
use core::mem::MaybeUninit;
use syn_trace::header;

/// The most functions that can be detoured.
const MAX_PATCHES: usize = 64;

/// What a trace says when there are no detours; each reason goes on from here.
macro_rules! unseen {
    ($reason:literal) => {
        Err(concat!("libc's own calls: ", $reason, "; streams are recorded at fread and fwrite").as_bytes())
    };
}

/// Places all detours, or none. Called from the constructor.
///
/// # Errors
/// What the trace is to say of it.
#[unsafe(link_section = ".text.startup")]
pub fn install() -> Result<(), &'static [u8]> {
    if elf::is_started_with(b"vgpreload_") {
        private_table::stay_on_thread();
        single_thread::is_never_known();
        file_status::give_path();
        return unseen!("Valgrind runs the program, and replaces some of its entries itself");
    }
    if !settings::wants_detours() {
        return unseen!("SYN_DETOURS=0 leaves its entries alone");
    }
    if !has_one_thread() {
        return unseen!("the process had several threads, or no /proc, when it was entered");
    }
    let mut found = Found::new();
    found.look();
    if found.count == 0 {
        return unseen!("the process's libc is not one that is known here");
    }
    let patches = found.all();
    let note = || process::machine().to_bytes();
    match process::with_folder(|folder| detour::place(patches, enough, (process::pid(), folder), note)) {
        Err(Refused::NoRoom) => return unseen!("no free memory within reach of its entries"),
        Err(Refused::Immovable) => {
            return unseen!("its entries begin with instructions that cannot be moved");
        }
        Err(Refused::Forbidden) => return unseen!("this system does not let code be changed"),
        Ok(found) => {
            found.as_ref().inspect(|machine| process::know_machine(machine));
        }
    }
    for_trampolines(found.all(), real::Inner::set);
    real::redirect_all();
    process::add_capability(header::SEES_LIBC_INTERNAL);
    Ok(())
}

/// stdio writes, reads and opens through these: without all of them the trace would claim more than it saw.
const ESSENTIAL: [&CStr; 4] = [c"write", c"read", c"open64", c"lseek64"];

/// Whether they are among those that can be moved.
#[unsafe(link_section = ".text.startup")]
fn enough(patches: &[Patch]) -> bool {
    let mut placed = 0;
    for_trampolines(patches, |inner, _| placed += usize::from(ESSENTIAL.contains(&inner.name())));
    placed == ESSENTIAL.len()
}

/// Does something with each function that has been moved and with where it goes on. The patches are in the order of the functions.
/// (Loops, so that all of it lies with what else runs at start.)
#[inline(always)]
fn for_trampolines(patches: &[Patch], mut action: impl FnMut(&'static real::Inner, usize)) {
    let mut rest = patches.iter();
    let mut next = rest.next();
    for inner in real::inners() {
        let Some(patch) = next else { return };
        if patch.hook != inner.hook as usize {
            continue;
        }
        if let Some(trampoline) = patch.trampoline() {
            action(inner, trampoline);
        }
        next = rest.next();
    }
}

/// The functions of libc that are to be detoured, each once.
struct Found {
    patches: [MaybeUninit<Patch>; MAX_PATCHES],
    count: usize,
}

impl Found {
    const fn new() -> Found {
        Found { patches: [const { MaybeUninit::uninit() }; MAX_PATCHES], count: 0 }
    }

    /// Another library may stand in front of libc, and its functions are not ours to patch: libc is what has
    /// `gnu_get_libc_version`. Before glibc 2.34 libpthread has some of libc's functions again, and may stand there, too: libc's
    /// streams do not use those.
    #[unsafe(link_section = ".text.startup")]
    fn look(&mut self) {
        let objects = elf::Objects::started_with();
        let base_of = |name| objects.function(name).map(|(base, _)| base);
        let (libc, libpthread) = (base_of(c"gnu_get_libc_version"), base_of(c"__pthread_get_minstack"));
        let is_before_2_33 = base_of(c"fstatat64").is_none();
        for inner in real::inners() {
            if !is_before_2_33 && is_status_by_version(inner.name()) {
                continue;
            }
            let address = match objects.function(inner.name()) {
                Some((base, address)) if Some(base) == libc => Some(address),
                Some((base, _)) if Some(base) == libpthread => elf::function_of_libc(inner.name()),
                _ => None,
            };
            let Some(address) = address else { continue };
            let is_new = self.all().iter().all(|patch| patch.address != address);
            if self.count < MAX_PATCHES && is_new {
                self.patches[self.count].write(Patch::new(address, inner.hook as usize, inner.number()));
                self.count += 1;
            }
        }
    }

    fn all(&mut self) -> &mut [Patch] {
        // SAFETY: the first `count` have been written.
        unsafe { core::slice::from_raw_parts_mut(self.patches.as_mut_ptr().cast(), self.count) }
    }
}

/// `__xstat64` and its kin, which libc makes of functions without a version where it has these.
fn is_status_by_version(name: &CStr) -> bool {
    let name = name.to_bytes();
    name.starts_with(b"__") && (name.ends_with(b"xstat64") || name.ends_with(b"xstatat64"))
}

/// libc says so, and nothing but the loader and it has run before us. Else the kernel counts threads among the links of the
/// folder that lists them, or lists them.
fn has_one_thread() -> bool {
    if single_thread::says_libc() {
        return true;
    }
    // SAFETY: the path ends with a zero byte, a zeroed status is valid and is filled in.
    let links = unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        match sys::stat(c"/proc/self/task".as_ptr().cast(), &mut status) {
            0 => status.st_nlink,
            _ => 0,
        }
    };
    links == 3 || listed_threads() == 1
}

#[cold]
#[inline(never)]
fn listed_threads() -> usize {
    let mut entries = [0u8; 512];
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero byte, the buffer is as long as said.
    unsafe {
        let folder = sys::openat(libc::AT_FDCWD, c"/proc/self/task".as_ptr().cast(), flags, 0) as i32;
        if folder < 0 {
            return 0;
        }
        let filled = sys::getdents64(folder, entries.as_mut_ptr(), entries.len()).max(0) as usize;
        sys::close(folder);
        directory_entries(&entries[..filled]).filter(|name| !name.starts_with(b".")).count()
    }
}
