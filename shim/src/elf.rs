//! Finds the functions behind ours, without `dlsym`.
//!
//! `dlsym` allocates when a name is missing, takes the loader's lock, and may itself be interposed; an allocator
//! that is only just initialising must not be entered from below. So the loaded objects are walked as the loader
//! linked them, and their GNU hash tables read directly.
//!
//! Source: System V gABI, chapter 5 (dynamic linking); `<link.h>`; the GNU hash section as binutils writes it.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicPtr, Ordering};

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
}

const DT_NULL: i64 = 0;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const DT_VERSYM: i64 = 0x6fff_fff0;
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
    /// `map` must be an entry of the loader's list.
    unsafe fn of(map: &LinkMap) -> Option<Object> {
        let mut object = Object {
            base: map.base,
            strings: core::ptr::null(),
            symbols: core::ptr::null(),
            versions: core::ptr::null(),
            hash: core::ptr::null(),
        };
        let mut entry = map.dynamic;
        // SAFETY: the dynamic section ends with DT_NULL; the loader has relocated its addresses, except in
        // objects it leaves alone (the vDSO), whose addresses lie below their base.
        unsafe {
            while !entry.is_null() && (*entry).tag != DT_NULL {
                let value = (*entry).value;
                let address = if value < map.base { value + map.base } else { value };
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

    /// The function `name`, in its default version if it has one here.
    ///
    /// # Safety
    /// The object must stay loaded.
    unsafe fn function(&self, name: &CStr, hash: u32) -> Option<Found> {
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
                    match self.function_at(index as usize, name) {
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

    unsafe fn function_at(&self, index: usize, name: &CStr) -> Option<Found> {
        // SAFETY: the index comes from the hash table of the same object.
        unsafe {
            let symbol = &*self.symbols.add(index);
            let is_it = symbol.section != 0
                && symbol.info & 15 == STT_FUNC
                && CStr::from_ptr(self.strings.add(symbol.name as usize).cast()) == name;
            let hidden = !self.versions.is_null() && *self.versions.add(index) & HIDDEN_VERSION != 0;
            let address = self.base + symbol.value;
            is_it.then_some(if hidden { Found::Old(address) } else { Found::Default(address) })
        }
    }
}

/// A function, by the version of its symbol.
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
    if let Some(last) = behind_us().last() {
        LAST_STARTED_WITH.store(core::ptr::from_ref(last).cast_mut(), Ordering::Relaxed);
    }
}

/// The objects loaded behind this library, in search order.
fn behind_us() -> impl Iterator<Item = &'static LinkMap> {
    let here = gnu_hash as *const () as usize;
    // SAFETY: the loader keeps the list whole while it calls constructors, and only ever appends to it; entries of
    // libraries that the process was started with are never removed.
    let all = core::iter::successors(unsafe { LOADER.map.as_ref() }, |map| unsafe { map.next.as_ref() });
    let mut passed = false;
    let base = object_base(here);
    all.filter(move |map| {
        let was = passed;
        passed |= map.base == base;
        was
    })
}

/// Those of them that the process was started with; all there are, until that is known.
fn started_with() -> impl Iterator<Item = &'static LinkMap> {
    let last = LAST_STARTED_WITH.load(Ordering::Relaxed).cast_const();
    let mut is_behind = false;
    behind_us().take_while(move |map| {
        let is_in = !is_behind;
        is_behind = core::ptr::eq(*map, last);
        is_in
    })
}

/// The path under which this library was loaded.
pub fn own_path() -> Option<&'static CStr> {
    let base = object_base(gnu_hash as *const () as usize);
    // SAFETY: as in `behind_us`; names are strings that stay.
    unsafe {
        let mut all = core::iter::successors(LOADER.map.as_ref(), |map| map.next.as_ref());
        all.find(|map| map.base == base).map(|map| CStr::from_ptr(map.name))
    }
}

/// The load address of the object that holds `address`: the nearest base below it.
pub fn object_base(address: usize) -> usize {
    let mut best = 0;
    // SAFETY: as in `behind_us`.
    let mut map = unsafe { LOADER.map.as_ref() };
    while let Some(entry) = map {
        if entry.base <= address && entry.base > best {
            best = entry.base;
        }
        // SAFETY: as in `behind_us`.
        map = unsafe { entry.next.as_ref() };
    }
    best
}

/// The function `name` in the first object behind this library that has it (what `RTLD_NEXT` means), in its default
/// version. A name that has none, such as `__pthread_mutex_lock` since glibc 2.34, can only be asked for by programs
/// that were linked before: they get the version that is left.
pub fn next_function(name: &CStr) -> Option<usize> {
    // SAFETY: the caller uses no function of a library that has been unloaded.
    search(behind_us().filter_map(|map| unsafe { Object::of(map) }), name).map(|(_, address)| address)
}

/// The same among the objects that the process was started with: it stays where it is.
pub fn function_started_with(name: &CStr) -> Option<usize> {
    // SAFETY: these objects stay loaded.
    search(started_with().filter_map(|map| unsafe { Object::of(map) }), name).map(|(_, address)| address)
}

/// The base of the object that has the function, and its address.
fn search(objects: impl Iterator<Item = Object>, name: &CStr) -> Option<(usize, usize)> {
    let hash = gnu_hash(name);
    let mut old = None;
    for object in objects {
        // SAFETY: whoever made the object vouches for it.
        match unsafe { object.function(name, hash) } {
            Some(Found::Default(address)) => return Some((object.base, address)),
            Some(Found::Old(address)) => old = old.or(Some((object.base, address))),
            None => {}
        }
    }
    old
}

/// The objects that the process was started with, their tables found once for many searches.
pub struct Objects {
    first: *mut Object,
    count: usize,
    bytes: usize,
}

impl Objects {
    /// `None`: no memory.
    pub fn started_with() -> Option<Objects> {
        let bytes = started_with().count() * size_of::<Object>();
        let first: *mut Object = crate::sys::map_anonymous(bytes)?.cast();
        let mut count = 0;
        // SAFETY: these objects stay loaded.
        for object in started_with().filter_map(|map| unsafe { Object::of(map) }) {
            // SAFETY: there is room for as many as were counted.
            unsafe { first.add(count).write(object) };
            count += 1;
        }
        Some(Objects { first, count, bytes })
    }

    /// What [`function_started_with`] says, and the base of the object.
    pub fn function(&self, name: &CStr) -> Option<(usize, usize)> {
        // SAFETY: so many were written.
        let objects = unsafe { core::slice::from_raw_parts(self.first, self.count) };
        search(objects.iter().copied(), name)
    }

    /// Gives the memory back.
    pub fn release(self) {
        // SAFETY: mapped by `started_with`; nothing points into it.
        unsafe { crate::sys::munmap(self.first as usize, self.bytes) };
    }
}
