//! Finds the functions behind ours, without `dlsym`.
//!
//! `dlsym` allocates when a name is missing, takes the loader's lock, and may itself be interposed; an allocator
//! that is only just initialising must not be entered from below. So the loaded objects are walked as the loader
//! linked them, and their GNU hash tables read directly. Those that came later are walked by the loader itself, since they
//! may go again ([`next_function`]).
//!
//! Source: System V gABI, chapter 5 (dynamic linking); `<link.h>`; the GNU hash section as binutils writes it.

pub mod absent;

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

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

#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

/// `struct dl_phdr_info`, as far as it is read here.
#[repr(C)]
struct ObjectInfo {
    base: usize,
    name: *const c_char,
    headers: *const libc::Elf64_Phdr,
    header_count: u16,
}

/// `dl_iterate_phdr` and what it calls.
type Visit = unsafe extern "C" fn(*const ObjectInfo, usize, *mut c_void) -> c_int;
type Walk = unsafe extern "C" fn(Visit, *mut c_void) -> c_int;

#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: usize,
}

unsafe extern "C" {
    /// The loader's list of objects, kept for debuggers; its first entry is the program.
    #[link_name = "_r_debug"]
    static LOADER: DebugInfo;
    /// The first byte of this library, which the linker has a name for.
    #[link_name = "__ehdr_start"]
    static OWN_START: u8;
}

const DT_NULL: i64 = 0;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const DT_VERSYM: i64 = 0x6fff_fff0;
const STT_OBJECT: u8 = 1;
const STT_FUNC: u8 = 2;
const HIDDEN_VERSION: u16 = 0x8000;

/// The tables of one loaded object.
#[derive(Clone, Copy)]
struct Object {
    base: usize,
    strings: *const u8,
    symbols: *const Symbol,
    versions: *const u16,
    hash: *const u32,
}

impl Object {
    /// # Safety
    /// Both must be those of a loaded object.
    unsafe fn of(base: usize, dynamic: *const Dynamic) -> Option<Object> {
        let mut object = Object {
            base,
            strings: core::ptr::null(),
            symbols: core::ptr::null(),
            versions: core::ptr::null(),
            hash: core::ptr::null(),
        };
        let mut entry = dynamic;
        // SAFETY: the dynamic section ends with DT_NULL; the loader has relocated its addresses, except in
        // objects it leaves alone (the vDSO), whose addresses lie below their base.
        unsafe {
            while !entry.is_null() && (*entry).tag != DT_NULL {
                let value = (*entry).value;
                let address = if value < base { value + base } else { value };
                match (*entry).tag {
                    DT_STRTAB => object.strings = address as *const u8,
                    DT_SYMTAB => object.symbols = address as *const Symbol,
                    DT_VERSYM => object.versions = address as *const u16,
                    DT_GNU_HASH => object.hash = address as *const u32,
                    _ => {}
                }
                entry = entry.add(1);
            }
        }
        let usable = !object.hash.is_null() && !object.symbols.is_null() && !object.strings.is_null();
        usable.then_some(object)
    }

    /// The function (or variable, by `kind`) `name`, in its default version if it has one here.
    ///
    /// # Safety
    /// The object must stay loaded.
    unsafe fn symbol(&self, name: &CStr, hash: u32, kind: u8) -> Option<Found> {
        // SAFETY: the layout of a GNU hash section: four words, a bloom filter of 64-bit words, the buckets, and
        // the chains for symbols from `offset` on.
        unsafe {
            let [buckets, offset, bloom_words, shift] = *self.hash.cast::<[u32; 4]>();
            if buckets == 0 || bloom_words == 0 {
                return None;
            }
            let bloom = self.hash.add(4).cast::<u64>();
            let word = bloom.add((hash / 64 % bloom_words) as usize).read_unaligned();
            let mask = 1u64 << (hash % 64) | 1u64 << ((hash >> shift) % 64);
            if word & mask != mask {
                return None;
            }
            let table = bloom.add(bloom_words as usize).cast::<u32>();
            let chain = table.add(buckets as usize);
            let mut index = *table.add((hash % buckets) as usize);
            if index < offset {
                return None;
            }
            let mut old = None;
            loop {
                let link = *chain.add((index - offset) as usize);
                if (link ^ hash) >> 1 == 0 {
                    match self.symbol_at(index as usize, name, kind) {
                        Some(Found::Default(address)) => return Some(Found::Default(address)),
                        found => old = old.or(found),
                    }
                }
                if link & 1 != 0 {
                    return old;
                }
                index += 1;
            }
        }
    }

    /// The indices of the symbols that it defines: those that its hash table knows.
    ///
    /// # Safety
    /// The object must stay loaded.
    unsafe fn defined(&self) -> Range<usize> {
        // SAFETY: the layout of a GNU hash section, as above; the longest chain is the last one.
        unsafe {
            let [buckets, offset, bloom_words, _] = *self.hash.cast::<[u32; 4]>();
            let table = self.hash.add(4 + 2 * bloom_words as usize);
            let chain = table.add(buckets as usize);
            let last = (0..buckets as usize).map(|bucket| *table.add(bucket)).max().unwrap_or(0);
            let mut end = last.max(offset);
            while end >= offset && last >= offset && *chain.add((end - offset) as usize) & 1 == 0 {
                end += 1;
            }
            offset as usize..if last >= offset { end as usize + 1 } else { offset as usize }
        }
    }

    unsafe fn symbol_at(&self, index: usize, name: &CStr, kind: u8) -> Option<Found> {
        // SAFETY: the index comes from the hash table of the same object.
        unsafe {
            let symbol = &*self.symbols.add(index);
            let text = self.strings.add(symbol.name as usize);
            // Byte by byte, not beyond the final zero of either. (Comparing `CStr`s finds both lengths first.)
            let is_called = || (0..).zip(name.to_bytes_with_nul()).all(|(at, &byte)| *text.add(at) == byte);
            let is_it = symbol.section != 0 && symbol.info & 15 == kind && is_called();
            let hidden = !self.versions.is_null() && *self.versions.add(index) & HIDDEN_VERSION != 0;
            let address = self.base + symbol.value;
            is_it.then_some(if hidden { Found::Old(address) } else { Found::Default(address) })
        }
    }
}

/// An address, by the version of its symbol.
#[derive(Clone, Copy)]
enum Found {
    /// The version that programs are linked against today, or the only one.
    Default(usize),
    /// A version kept for programs that were linked against an older library.
    Old(usize),
}

fn gnu_hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(5381u32, |hash, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
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
fn from_program() -> impl Iterator<Item = &'static LinkMap> {
    let last = LAST_STARTED_WITH.load(Ordering::Relaxed).cast_const();
    // SAFETY: see above. Until the last one is known, the process has one thread, and the loader keeps the list whole
    // while it calls constructors.
    core::iter::successors(unsafe { LOADER.map.as_ref() }, move |map| unsafe {
        if core::ptr::eq(*map, last) { None } else { map.next.as_ref() }
    })
}

/// Those of them that were loaded behind this library, in search order.
fn started_with() -> impl Iterator<Item = &'static LinkMap> {
    from_program().skip_while(|map| map.base != own_base()).skip(1)
}

/// The file that an address of a loaded object comes from: its path, and where in it. Of an object that the process was started
/// with.
pub fn source_of(address: usize) -> Option<(*const c_char, u64)> {
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
        Some((map.name, at - part.p_vaddr + part.p_offset))
    })
}

/// True when the process was started with a library whose path has `part` in it.
pub fn is_started_with(part: &[u8]) -> bool {
    // SAFETY: names are strings that stay.
    let mut paths = from_program().map(|map| unsafe { CStr::from_ptr(map.name) }.to_bytes());
    paths.any(|path| path.windows(part.len()).any(|window| window == part))
}

/// True when the program was made by Go's linker, which leaves a note with the owner `Go` (elf(5), "Notes"): it makes its system
/// calls itself, libc or not.
pub fn is_go_program() -> bool {
    const OWNER: &[u8] = b"Go\0\0";
    const NOTE_BYTES: usize = 3 * size_of::<u32>();
    // SAFETY: the loader's own list of headers, of the program that it has loaded.
    let headers = unsafe {
        let first = libc::getauxval(libc::AT_PHDR) as *const libc::Elf64_Phdr;
        let count = libc::getauxval(libc::AT_PHNUM) as usize;
        if first.is_null() { &[][..] } else { core::slice::from_raw_parts(first, count) }
    };
    let of_type = |wanted| headers.iter().filter(move |header| header.p_type == wanted);
    let Some(own) = of_type(libc::PT_PHDR).next() else { return false };
    let base = (headers.as_ptr() as usize).wrapping_sub(own.p_vaddr as usize);
    of_type(libc::PT_NOTE).any(|note| {
        // SAFETY: the segment is loaded.
        let notes = unsafe {
            core::slice::from_raw_parts(
                base.wrapping_add(note.p_vaddr as usize) as *const u8,
                note.p_filesz as usize,
            )
        };
        let mut rest = notes;
        while let Some((head, behind)) = rest.split_at_checked(NOTE_BYTES) {
            let word =
                |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
            let (name_bytes, content_bytes) = (word(0), word(4));
            if behind.get(..name_bytes) == Some(OWNER) {
                return true;
            }
            rest = behind
                .get(name_bytes.next_multiple_of(4) + content_bytes.next_multiple_of(4)..)
                .unwrap_or(&[]);
        }
        false
    })
}

/// The path under which this library was loaded.
pub fn own_path() -> Option<&'static CStr> {
    let own = from_program().find(|map| map.base == own_base())?;
    // SAFETY: names are strings that stay.
    Some(unsafe { CStr::from_ptr(own.name) })
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

/// The function `name` in the first object behind this library that has it (what `RTLD_NEXT` means), in its default
/// version. A name that has none, such as `__pthread_mutex_lock` since glibc 2.34, can only be asked for by programs
/// that were linked before: they get the version that is left.
///
/// Other threads may unload libraries meanwhile, of which neither the loader's entry nor the tables can be read any more.
/// The loader's own walk keeps them from that, as the unwinding of exceptions needs it to. The lock that it holds is held
/// by others only while the list is changed or walked, and a thread may take it again: unlike that of `dlsym`, it is not
/// held while constructors run, which may wait for this thread. (Nor does the walk allocate.) What is found stays loaded as
/// long as the program may call it.
pub fn next_function(name: &CStr) -> Option<usize> {
    let walk = walk()?;
    let mut search = Search::of(name);
    // SAFETY: the function behind this name has this type; `visit` uses the search only while the walk lasts.
    unsafe {
        core::mem::transmute::<usize, Walk>(walk)(visit, (&raw mut search).cast());
    }
    search.result().map(|(_, address)| address)
}

/// One step of the loader's walk; other than 0 ends it.
unsafe extern "C" fn visit(info: *const ObjectInfo, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: the loader hands over an entry of its own, whose object stays loaded meanwhile, and the search that it was
    // given.
    unsafe {
        let (info, search) = (&*info, &mut *search.cast::<Search<'_>>());
        if !search.is_behind_us {
            search.is_behind_us = info.base == own_base();
            return 0;
        }
        let headers = core::slice::from_raw_parts(info.headers, info.header_count.into());
        let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC);
        let Some(dynamic) = dynamic else { return 0 };
        let object = Object::of(info.base, (info.base + dynamic.p_vaddr as usize) as *const Dynamic);
        object.is_some_and(|object| search.is_over_with(&object)).into()
    }
}

/// The same among the objects that the process was started with: it stays where it is.
pub fn function_started_with(name: &CStr) -> Option<usize> {
    symbol_started_with(name, STT_FUNC)
}

/// A variable there.
pub fn variable_started_with(name: &CStr) -> Option<usize> {
    symbol_started_with(name, STT_OBJECT)
}

fn symbol_started_with(name: &CStr, kind: u8) -> Option<usize> {
    search(objects_started_with(), name, kind).map(|(_, address)| address)
}

/// A function, or a variable, looked for in one object after the other.
struct Search<'a> {
    name: &'a CStr,
    hash: u32,
    kind: u8,
    is_behind_us: bool,
    found: Option<(usize, usize)>,
    old: Option<(usize, usize)>,
}

impl<'a> Search<'a> {
    fn of(name: &'a CStr) -> Search<'a> {
        Search { name, hash: gnu_hash(name), kind: STT_FUNC, is_behind_us: false, found: None, old: None }
    }

    /// Looks in one more; true when no further one needs a look.
    ///
    /// # Safety
    /// The object must be loaded.
    unsafe fn is_over_with(&mut self, object: &Object) -> bool {
        // SAFETY: as the caller vouches.
        match unsafe { object.symbol(self.name, self.hash, self.kind) } {
            Some(Found::Default(address)) => self.found = Some((object.base, address)),
            Some(Found::Old(address)) => self.old = self.old.or(Some((object.base, address))),
            None => {}
        }
        self.found.is_some()
    }

    /// The base of the object that has the function, and its address.
    fn result(&self) -> Option<(usize, usize)> {
        self.found.or(self.old)
    }
}

/// Looks in objects that stay loaded.
fn search(mut objects: impl Iterator<Item = Object>, name: &CStr, kind: u8) -> Option<(usize, usize)> {
    let mut search = Search { kind, ..Search::of(name) };
    // SAFETY: as the caller vouches.
    let _ = objects.any(|object| unsafe { search.is_over_with(&object) });
    search.result()
}

/// The most objects whose tables are kept; programs have a dozen.
const KEPT: usize = 64;

/// The objects that the process was started with, their tables found once for many searches.
pub struct Objects {
    kept: [Option<Object>; KEPT],
}

impl Objects {
    /// Finds them.
    pub fn started_with() -> Objects {
        let mut kept = [None; KEPT];
        for (place, object) in kept.iter_mut().zip(objects_started_with()) {
            *place = Some(object);
        }
        Objects { kept }
    }

    /// What [`function_started_with`] says, and the base of the object.
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
