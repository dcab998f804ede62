//! The tables of one loaded object, and a symbol looked for in one after the other.
//!
//! Source: System V gABI, chapter 5 (dynamic linking); the GNU hash section as binutils writes it.

use core::ffi::CStr;
use core::ops::Range;

#[repr(C)]
pub struct Dynamic {
    pub tag: i64,
    pub value: usize,
}

#[repr(C)]
pub struct Symbol {
    pub name: u32,
    pub info: u8,
    other: u8,
    pub section: u16,
    pub value: usize,
    size: usize,
}

pub const DT_NULL: i64 = 0;
pub const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const DT_VERSYM: i64 = 0x6fff_fff0;
pub const STT_OBJECT: u8 = 1;
pub const STT_FUNC: u8 = 2;
const HIDDEN_VERSION: u16 = 0x8000;

/// The tables of one loaded object.
#[derive(Clone, Copy)]
pub struct Object {
    base: usize,
    pub strings: *const u8,
    pub symbols: *const Symbol,
    versions: *const u16,
    hash: *const u32,
}

impl Object {
    /// # Safety
    /// Both must be those of a loaded object.
    pub unsafe fn of(base: usize, dynamic: *const Dynamic) -> Option<Object> {
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

    /// Where it was loaded.
    pub fn base(&self) -> usize {
        self.base
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
    pub unsafe fn defined(&self) -> Range<usize> {
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

/// A function, or a variable, looked for in one object after the other.
pub struct Search<'a> {
    name: &'a CStr,
    hash: u32,
    kind: u8,
    found: Option<(usize, usize)>,
    old: Option<(usize, usize)>,
}

impl<'a> Search<'a> {
    /// For a symbol of this kind, [`STT_FUNC`] or [`STT_OBJECT`].
    pub fn of(name: &'a CStr, kind: u8) -> Search<'a> {
        Search { name, hash: gnu_hash(name), kind, found: None, old: None }
    }

    /// Looks in one more; true when no further one needs a look.
    ///
    /// # Safety
    /// The object must be loaded.
    #[unsafe(link_section = ".text.startup")]
    pub unsafe fn is_over_with(&mut self, object: &Object) -> bool {
        // SAFETY: as the caller vouches.
        match unsafe { object.symbol(self.name, self.hash, self.kind) } {
            Some(Found::Default(address)) => self.found = Some((object.base, address)),
            Some(Found::Old(address)) => self.old = self.old.or(Some((object.base, address))),
            None => {}
        }
        self.found.is_some()
    }

    /// The base of the object that has it, and its address.
    pub fn result(&self) -> Option<(usize, usize)> {
        self.found.or(self.old)
    }
}

/// Looks in objects that stay loaded.
#[unsafe(link_section = ".text.startup")]
pub fn search(mut objects: impl Iterator<Item = Object>, name: &CStr, kind: u8) -> Option<(usize, usize)> {
    let mut search = Search::of(name, kind);
    // SAFETY: as the caller vouches.
    let _ = objects.any(|object| unsafe { search.is_over_with(&object) });
    search.result()
}
