//! What the loader goes by when it looks for the libraries that a loaded object needs.
//!
//! Source: System V gABI, chapter 5, "Dynamic Section"; ld.so(8).

use super::tables::{DT_NULL, DT_STRTAB, Dynamic};
use super::{ObjectInfo, for_each_loaded};
use core::ffi::{CStr, c_char};

/// The name of a library that it needs.
const DT_NEEDED: i64 = 1;
/// Folders in which the loader looks for these.
pub const DT_RPATH: i64 = 15;
pub const DT_RUNPATH: i64 = 29;

/// Of one loaded object.
#[derive(Clone, Copy)]
pub struct Needs<'a> {
    base: usize,
    dynamic: *const Dynamic,
    strings: *const c_char,
    path: &'a CStr,
}

impl<'a> Needs<'a> {
    /// `None` where it has no dynamic section.
    pub fn of(object: &'a ObjectInfo) -> Option<Needs<'a>> {
        let dynamic = object.headers().iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let dynamic = object.base.wrapping_add(dynamic.p_vaddr as usize) as *const Dynamic;
        let nothing = core::ptr::null();
        let needs = Needs { base: object.base, dynamic, strings: nothing, path: object.path() };
        let address = needs.values(DT_STRTAB).next()?;
        // The loader has relocated it, but in objects that it leaves alone.
        let address = if address < object.base { address + object.base } else { address };
        Some(Needs { strings: address as *const c_char, ..needs })
    }

    /// Of the first object in the loader's list for which `is_it` says so, before the one that lies at `end`.
    ///
    /// # Safety
    /// No object is unloaded as long as the result is used.
    pub unsafe fn of_first(end: usize, is_it: impl Fn(&Needs<'_>) -> bool) -> Option<Needs<'a>> {
        let mut found = None;
        for_each_loaded(|object| {
            if object.base == end || object.is_own() {
                return object.base == end;
            }
            // SAFETY: as the caller vouches, what the loader tells of the object stays.
            let needs =
                Needs::of(object).map(|needs| unsafe { core::mem::transmute::<Needs<'_>, Needs<'a>>(needs) });
            found = needs.filter(&is_it);
            found.is_some()
        });
        found
    }

    /// Where it lies.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Where the loader has found it; empty for the program.
    pub fn path(&self) -> &'a [u8] {
        self.path.to_bytes()
    }

    /// Whether it needs a library by this name.
    pub fn has(&self, name: &[u8]) -> bool {
        let with_end = || (0..).zip(name.iter().chain(&[0]));
        // SAFETY: byte by byte, not beyond the end of either.
        self.starts(DT_NEEDED)
            .any(|text| with_end().all(|(at, &byte)| unsafe { *text.add(at) } as u8 == byte))
    }

    /// The texts of its entries with this tag.
    pub fn texts(&self, tag: i64) -> impl Iterator<Item = &'a CStr> {
        // SAFETY: a text that is loaded while the object is.
        self.starts(tag).map(|text| unsafe { CStr::from_ptr(text) })
    }

    fn starts(&self, tag: i64) -> impl Iterator<Item = *const c_char> + use<> {
        let strings = self.strings;
        // Such an entry holds where in the table of strings its text begins.
        self.values(tag).map(move |at| strings.wrapping_add(at))
    }

    fn values(&self, tag: i64) -> impl Iterator<Item = usize> + use<> {
        let mut entry = self.dynamic;
        let entries = core::iter::from_fn(move || {
            // SAFETY: the dynamic section ends with DT_NULL, and is loaded while the object is.
            unsafe {
                let found = entry.as_ref().filter(|entry| entry.tag != DT_NULL)?;
                entry = entry.add(1);
                Some((found.tag, found.value))
            }
        });
        entries.filter_map(move |(found, value)| (found == tag).then_some(value))
    }
}
