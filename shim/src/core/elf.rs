//! Finds the functions behind ours, without `dlsym`.
//!
//! `dlsym` allocates when a name is missing, takes the loader's lock, and may itself be interposed; an allocator
//! that is only just initialising must not be entered from below. So the loaded objects are walked as the loader
//! linked them, and their GNU hash tables read directly. Those that came later are walked by the loader itself, since they
//! may go again ([`next_function`]).
//!
//! Source: System V gABI, chapter 5 (dynamic linking); `<link.h>`; the GNU hash section as binutils writes it.

pub mod absent;
pub mod needs;
mod tables;

use crate::core::stack_start;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use tables::{Dynamic, Object, Search, search};
pub use tables::{STT_FUNC, STT_OBJECT};

#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: *const Dynamic,
    next: *const LinkMap,
    previous: *const LinkMap,
}

#[repr(C)]
struct DebugInfo {
    version: c_int,
    map: *const LinkMap,
}

/// `struct dl_phdr_info`, as far as it is read here: a loaded object.
#[repr(C)]
pub struct ObjectInfo {
    /// What is added to the addresses in its file.
    pub base: usize,
    name: *const c_char,
    headers: *const libc::Elf64_Phdr,
    header_count: u16,
    /// How many objects have been loaded, and unloaded, since the process began.
    pub loaded_so_far: u64,
    pub unloaded_so_far: u64,
}

unsafe extern "C" {
    /// The loader's list of objects, kept for debuggers; its first entry is the program.
    #[link_name = "_r_debug"]
    static LOADER: DebugInfo;
    /// The first byte of this library, which the linker has a name for.
    #[link_name = "__ehdr_start"]
    static OWN_START: u8;
}

/// The last of the objects that the process was started with, once that is known.
static LAST_STARTED_WITH: AtomicPtr<LinkMap> = AtomicPtr::new(core::ptr::null_mut());

/// Notes which objects the process was started with. To be called from the constructor.
pub fn note_started_with() {
    if let Some(last) = started_with().last() {
        LAST_STARTED_WITH.store(core::ptr::from_ref(last).cast_mut(), Ordering::Relaxed);
    }
}

/// Where this library was loaded.
fn own_base() -> usize {
    (&raw const OWN_START) as usize
}

/// True for an address in this library, as it was loaded.
pub fn is_own(address: usize) -> bool {
    // SAFETY: a library begins with its header, and the program headers are loaded with it.
    let headers = unsafe {
        let header = &*(own_base() as *const libc::Elf64_Ehdr);
        let first = (own_base() + header.e_phoff as usize) as *const libc::Elf64_Phdr;
        core::slice::from_raw_parts(first, header.e_phnum.into())
    };
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let end = loaded.map(|header| header.p_vaddr + header.p_memsz).max().unwrap_or(0);
    address.wrapping_sub(own_base()) < end as usize
}

/// The objects that the process was started with, from the program on; all there are, until that is known.
///
/// Other threads may load and unload libraries meanwhile. These objects are never unloaded, and come before all others:
/// the walk does not touch what lies behind them.
fn from_program() -> Walk {
    let last = LAST_STARTED_WITH.load(Ordering::Relaxed).cast_const();
    // SAFETY: see above. Until the last one is known, the process has one thread, and the loader keeps the list whole
    // while it calls constructors.
    Walk { next: unsafe { LOADER.map.as_ref() }, last }
}

/// Those of them that were loaded behind this library, in search order.
#[unsafe(link_section = ".text.startup")]
fn started_with() -> Walk {
    let mut objects = from_program();
    let own = own_base();
    while objects.next.is_some_and(|map| map.base != own) {
        objects.next();
    }
    objects.next();
    objects
}

/// A walk to the last of these objects. (A type of its own, so that its code lies with what else runs at start.)
struct Walk {
    next: Option<&'static LinkMap>,
    last: *const LinkMap,
}

impl Iterator for Walk {
    type Item = &'static LinkMap;

    #[inline(always)]
    fn next(&mut self) -> Option<&'static LinkMap> {
        let map = self.next?;
        // SAFETY: see above.
        self.next = if core::ptr::eq(map, self.last) { None } else { unsafe { map.next.as_ref() } };
        Some(map)
    }
}

/// A loaded part of an object that the process was started with, by whole pages, and the file that it is mapped from.
#[derive(Clone, Copy)]
pub struct Segment {
    /// Its first address.
    pub start: usize,
    /// Its length.
    pub bytes: usize,
    /// The path of the file, as the loader has it.
    pub path: *const c_char,
    /// Where in the file it begins.
    pub offset: u64,
    /// What the linker called this build of the file by; empty where it did not.
    pub build: &'static [u8],
}

/// The part in which `address` lies.
pub fn segment_of(address: usize) -> Option<Segment> {
    const IN_PAGE: u64 = 4095;
    from_program().find_map(|map| {
        // SAFETY: the objects of a process begin with their header, but for one whose base is 0, and stay loaded.
        let headers = unsafe {
            let header = (map.base as *const libc::Elf64_Ehdr).as_ref()?;
            let first = (map.base + header.e_phoff as usize) as *const libc::Elf64_Phdr;
            core::slice::from_raw_parts(first, header.e_phnum.into())
        };
        let at = address.checked_sub(map.base)? as u64;
        let mut loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let part = loaded.find(|header| (header.p_vaddr..header.p_vaddr + header.p_filesz).contains(&at))?;
        let before = part.p_vaddr & IN_PAGE;
        Some(Segment {
            start: map.base + (part.p_vaddr - before) as usize,
            bytes: ((before + part.p_filesz + IN_PAGE) & !IN_PAGE) as usize,
            path: map.name,
            offset: part.p_offset - before,
            // SAFETY: the object stays loaded.
            build: unsafe { note(headers, map.base, b"GNU\0", NT_GNU_BUILD_ID) }.unwrap_or(&[]),
        })
    })
}

/// The type of the note that names a build.
const NT_GNU_BUILD_ID: usize = 3;

/// What the first note of this owner and type says in a loaded object (elf(5), "Notes").
///
/// # Safety
/// `headers` are of an object that is loaded at `base`, and stays so.
#[unsafe(link_section = ".text.startup")]
unsafe fn note(
    headers: &[libc::Elf64_Phdr],
    base: usize,
    owner: &[u8],
    kind: usize,
) -> Option<&'static [u8]> {
    const HEAD_BYTES: usize = 3 * size_of::<u32>();
    headers.iter().filter(|header| header.p_type == libc::PT_NOTE).find_map(|segment| {
        let start = base.wrapping_add(segment.p_vaddr as usize) as *const u8;
        // SAFETY: as the caller vouches.
        let mut rest: &[u8] = unsafe { core::slice::from_raw_parts(start, segment.p_filesz as usize) };
        while let Some((head, behind)) = rest.split_at_checked(HEAD_BYTES) {
            let word =
                |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
            let (name_bytes, content_bytes) = (word(0), word(4));
            let content = behind.get(name_bytes.next_multiple_of(4)..)?;
            if behind.get(..name_bytes) == Some(owner) && word(8) == kind {
                return content.get(..content_bytes);
            }
            rest = content.get(content_bytes.next_multiple_of(4)..).unwrap_or(&[]);
        }
        None
    })
}

/// The paths of the libraries that the process was started with, but for this one, as the loader has them; that of the program is empty.
#[unsafe(link_section = ".text.startup")]
pub fn paths_started_with() -> impl Iterator<Item = &'static [u8]> {
    let own = own_base();
    // SAFETY: names are strings that stay.
    from_program()
        .filter(move |map| map.base != own)
        .map(|map| unsafe { stack_start::string_at(map.name) }.to_bytes())
}

/// True when the process was started with a library whose path has `part` in it.
pub fn is_started_with(part: &[u8]) -> bool {
    paths_started_with().any(|path| path.windows(part.len()).any(|window| window == part))
}

/// The type of the note by which Go's linker names a build.
const GO_BUILD_ID: usize = 4;

/// True when the program was made by Go's linker, which leaves a note with the owner `Go`: it makes its system calls itself, libc
/// or not.
#[unsafe(link_section = ".text.startup")]
pub fn is_go_program() -> bool {
    // SAFETY: the loader's own list of headers, of the program that it has loaded.
    let headers = unsafe {
        let first = stack_start::told(libc::AT_PHDR) as *const libc::Elf64_Phdr;
        let count = stack_start::told(libc::AT_PHNUM);
        if first.is_null() { &[][..] } else { core::slice::from_raw_parts(first, count) }
    };
    let Some(own) = headers.iter().find(|header| header.p_type == libc::PT_PHDR) else { return false };
    let base = (headers.as_ptr() as usize).wrapping_sub(own.p_vaddr as usize);
    // SAFETY: the program stays loaded.
    unsafe { note(headers, base, b"Go\0\0", GO_BUILD_ID) }.is_some()
}

/// The path under which this library was loaded.
pub fn own_path() -> Option<&'static CStr> {
    let own = from_program().find(|map| map.base == own_base())?;
    // SAFETY: names are strings that stay.
    Some(unsafe { stack_start::string_at(own.name) })
}

/// The loader's walk over its own list, past any that the program has put in its place; 0 until it has been looked up.
static WALK: AtomicUsize = AtomicUsize::new(0);

fn walk() -> Option<usize> {
    let known = WALK.load(Ordering::Relaxed);
    if known != 0 {
        return Some(known);
    }
    let found = function_started_with(c"dl_iterate_phdr")?;
    WALK.store(found, Ordering::Relaxed);
    Some(found)
}

type Visit = unsafe extern "C" fn(*const ObjectInfo, usize, *mut c_void) -> c_int;

/// Calls `each` for every object that is loaded, until it says true.
///
/// Other threads may unload libraries meanwhile, of which neither the loader's entry nor the tables can be read any more.
/// The loader's own walk keeps them from that, as the unwinding of exceptions needs it to. The lock that it holds is held
/// by others only while the list is changed or walked, and a thread may take it again: unlike that of `dlsym`, it is not
/// held while constructors run, which may wait for this thread. (Nor does the walk allocate.)
pub fn for_each_loaded<F: FnMut(&ObjectInfo) -> bool>(mut each: F) {
    unsafe extern "C" fn visit<F: FnMut(&ObjectInfo) -> bool>(
        info: *const ObjectInfo,
        _: usize,
        each: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader hands over an entry of its own, whose object stays loaded meanwhile, and the closure that it was
        // given.
        unsafe { (*each.cast::<F>())(&*info).into() }
    }
    type Walk = unsafe extern "C" fn(Visit, *mut c_void) -> c_int;
    if let Some(walk) = walk() {
        // SAFETY: the function behind this name has this type, and uses the closure only while it runs.
        unsafe { core::mem::transmute::<usize, Walk>(walk)(visit::<F>, (&raw mut each).cast()) };
    }
}

impl ObjectInfo {
    /// Where the loader has found it; empty for the program.
    pub fn path(&self) -> &CStr {
        // SAFETY: the loader's own list.
        unsafe { stack_start::string_at(self.name) }
    }

    /// True for this library.
    pub fn is_own(&self) -> bool {
        self.base == own_base()
    }

    /// What of its file is mapped, by whole pages: the addresses, where in the file it begins, and its protection (mmap(2)). Memory behind
    /// that is no file's.
    pub fn parts(&self) -> impl Iterator<Item = (Range<usize>, u64, c_int)> {
        const BITS: [(u32, c_int); 3] =
            [(libc::PF_R, libc::PROT_READ), (libc::PF_W, libc::PROT_WRITE), (libc::PF_X, libc::PROT_EXEC)];
        const IN_PAGE: u64 = 4095;
        let of_file = |part: &&libc::Elf64_Phdr| part.p_type == libc::PT_LOAD && part.p_filesz > 0;
        self.headers().iter().filter(of_file).map(|part| {
            let before = part.p_vaddr & IN_PAGE;
            let start = self.base.wrapping_add((part.p_vaddr - before) as usize);
            let bytes = (before + part.p_filesz + IN_PAGE) & !IN_PAGE;
            let range = start..start.wrapping_add(bytes as usize);
            let protection = BITS.iter().filter(|(flag, _)| part.p_flags & flag != 0).map(|(_, bit)| bit);
            (range, part.p_offset - before, protection.sum())
        })
    }

    fn headers(&self) -> &[libc::Elf64_Phdr] {
        // SAFETY: the loader's own list.
        unsafe { core::slice::from_raw_parts(self.headers, self.header_count.into()) }
    }

    fn object(&self) -> Option<Object> {
        let dynamic = self.headers().iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        // SAFETY: the object is loaded while this is.
        unsafe { Object::of(self.base, (self.base + dynamic.p_vaddr as usize) as *const Dynamic) }
    }
}

/// The function `name` in the first object behind this library that has it (what `RTLD_NEXT` means, and objects that came later),
/// in its default version. A name that has none, such as `__pthread_mutex_lock` since glibc 2.34, can only be asked for by
/// programs that were linked before: they get the version that is left. What is found stays loaded as long as the program may
/// call it.
pub fn next_function(name: &CStr) -> Option<usize> {
    locate(name, STT_FUNC).map(|(_, address)| address)
}

/// A function behind this library, or a variable in whichever object has it first, the program before all others, but not in this
/// one: the base of the object, and the address.
pub fn locate(name: &CStr, kind: u8) -> Option<(usize, usize)> {
    let mut search = Search::of(name, kind);
    let mut may_be_here = kind == STT_OBJECT;
    for_each_loaded(|info| {
        if info.is_own() {
            may_be_here = true;
            return false;
        }
        let object = if may_be_here { info.object() } else { None };
        // SAFETY: the object is loaded while the loader's walk is at it.
        object.is_some_and(|object| unsafe { search.is_over_with(&object) })
    });
    search.result()
}

/// The object in which an address lies: its base, and the path under which it was loaded, empty for the program, as long as it is
/// loaded.
pub fn object_of(address: usize) -> Option<(usize, *const c_char)> {
    let mut found = None;
    for_each_loaded(|info| {
        let mut parts = info.headers().iter().filter(|header| header.p_type == libc::PT_LOAD);
        let at = address.wrapping_sub(info.base) as u64;
        let is_it = parts.any(|part| at.wrapping_sub(part.p_vaddr) < part.p_memsz);
        found = is_it.then_some((info.base, info.name));
        is_it
    });
    found
}

/// Keeps the object in which an address lies from being unloaded, if it may be, by the loader's own function behind ours.
pub fn keep_loaded(address: usize) {
    type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
    let Some((base, path)) = object_of(address) else { return };
    if from_program().any(|map| map.base == base) {
        return;
    }
    if let Some(open) = function_started_with(c"dlopen") {
        // SAFETY: the function of this name has this type; nothing is loaded that is not loaded yet.
        unsafe { core::mem::transmute::<usize, Open>(open)(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    }
}

/// The same among the objects that the process was started with: it stays where it is.
pub fn function_started_with(name: &CStr) -> Option<usize> {
    symbol_started_with(name, STT_FUNC)
}

/// A function of libc itself, past libraries that stand in front of it with functions of the same name.
pub fn function_of_libc(name: &CStr) -> Option<usize> {
    let (base, _) = search(objects_started_with(), c"gnu_get_libc_version", STT_FUNC)?;
    let libc = objects_started_with().filter(|object| object.base() == base);
    search(libc, name, STT_FUNC).map(|(_, address)| address)
}

/// A variable there.
pub fn variable_started_with(name: &CStr) -> Option<usize> {
    symbol_started_with(name, STT_OBJECT)
}

fn symbol_started_with(name: &CStr, kind: u8) -> Option<usize> {
    search(objects_started_with(), name, kind).map(|(_, address)| address)
}

/// The most objects whose tables are kept; programs have a dozen.
const KEPT: usize = 64;

/// The objects that the process was started with, their tables found once for many searches.
pub struct Objects {
    kept: [Option<Object>; KEPT],
}

impl Objects {
    /// Finds them. (A loop of its own, so that it lies with what else runs at start.)
    #[unsafe(link_section = ".text.startup")]
    pub fn started_with() -> Objects {
        let (mut kept, mut count) = ([None; KEPT], 0);
        for map in started_with() {
            if count == KEPT {
                break;
            }
            // SAFETY: these objects stay loaded.
            kept[count] = unsafe { Object::of(map.base, map.dynamic) };
            count += usize::from(kept[count].is_some());
        }
        Objects { kept }
    }

    /// What [`function_started_with`] says, and the base of the object.
    #[unsafe(link_section = ".text.startup")]
    pub fn function(&self, name: &CStr) -> Option<(usize, usize)> {
        // Programs with more are searched on, which takes longer.
        let rest = self.kept[KEPT - 1].and(Some(objects_started_with().skip(KEPT)));
        search(self.kept.iter().map_while(|object| *object).chain(rest.into_iter().flatten()), name, STT_FUNC)
    }
}

fn objects_started_with() -> impl Iterator<Item = Object> {
    // SAFETY: these objects stay loaded.
    started_with().filter_map(|map| unsafe { Object::of(map.base, map.dynamic) })
}
