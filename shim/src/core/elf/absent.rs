//! Functions of this library that stand for ones which the process does not have: nobody finds them.

use super::tables::{DT_NULL, Dynamic, Object};
use super::{ObjectInfo, for_each_loaded, from_program, is_own, own_base};
use crate::core::sys;
use core::ffi::CStr;

#[repr(C)]
struct Relocation {
    offset: usize,
    info: u64,
    addend: i64,
}

const PAGE_BYTES: usize = 4096;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_PLTRELSZ: i64 = 2;
const DT_JMPREL: i64 = 23;
const PT_GNU_RELRO: u32 = 0x6474_e552;
const R_X86_64_64: u32 = 1;
const R_X86_64_GLOB_DAT: u32 = 6;
const R_X86_64_JUMP_SLOT: u32 = 7;
const STB_WEAK: u8 = 2;

/// Takes functions of this library out of the loader's sight: those whose names begin with `prefix` and for which
/// `is_missing` says so. From then on a reference to them finds the next definition, or none if it is weak.
///
/// The loader passes over symbols without a value. Only the table that it reads is changed; other threads may read it
/// meanwhile, since a value is one word.
pub fn hide_own_functions(prefix: &[u8], mut is_missing: impl FnMut(&CStr) -> bool) {
    let own = from_program().find(|map| map.base == own_base());
    // SAFETY: this library, which stays loaded.
    let Some(object) = own.and_then(|map| unsafe { Object::of(map.base, map.dynamic) }) else { return };
    // SAFETY: the tables of this library; `indices` are those of its symbols.
    unsafe {
        let indices = object.defined();
        let (first, last) = (object.symbols.add(indices.start), object.symbols.add(indices.end));
        let start = first as usize & !(PAGE_BYTES - 1);
        let bytes = (last as usize).next_multiple_of(PAGE_BYTES) - start;
        // The table lies among others that are only read.
        if sys::mprotect(start, bytes, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return;
        }
        for index in indices {
            let symbol = object.symbols.add(index).cast_mut();
            let name = CStr::from_ptr(object.strings.add((*symbol).name as usize).cast());
            if name.to_bytes().starts_with(prefix) && is_missing(name) {
                (&raw mut (*symbol).value).write_volatile(0);
            }
        }
        sys::mprotect(start, bytes, libc::PROT_READ);
    }
}

/// Makes null again what weak references of all loaded objects were bound to in this library, for the functions whose
/// names begin with `prefix` and for which `is_missing` says so.
pub fn unbind_weak_references(prefix: &[u8], mut is_missing: impl FnMut(&CStr) -> bool) {
    let mut unbind = |name: &CStr| name.to_bytes().starts_with(prefix) && is_missing(name);
    for_each_loaded(|info| {
        unbind_in(info, &mut unbind);
        false
    });
}

fn unbind_in(info: &ObjectInfo, unbind: &mut dyn FnMut(&CStr) -> bool) {
    let headers = info.headers();
    // SAFETY: the object is loaded while the loader's walk is at it; its relocations name its own symbols and places in its own
    // memory.
    unsafe {
        let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else { return };
        let dynamic = (info.base + dynamic.p_vaddr as usize) as *const Dynamic;
        let Some(object) = Object::of(info.base, dynamic) else { return };
        let read_only = headers.iter().find(|header| header.p_type == PT_GNU_RELRO);
        let tables = [(DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)];
        for (start, bytes) in
            tables.map(|(start, bytes)| (value_of(dynamic, start), value_of(dynamic, bytes)))
        {
            let start = if start < info.base { start + info.base } else { start } as *const Relocation;
            for relocation in (0..bytes / size_of::<Relocation>()).map(|index| &*start.add(index)) {
                let symbol = &*object.symbols.add((relocation.info >> 32) as usize);
                let place = (info.base + relocation.offset) as *mut usize;
                let is_bound_to_us = || is_own(place.read_volatile());
                if symbol.section != 0
                    || symbol.info >> 4 != STB_WEAK
                    || !matches!(relocation.info as u32, R_X86_64_64 | R_X86_64_GLOB_DAT | R_X86_64_JUMP_SLOT)
                    || !is_bound_to_us()
                    || !unbind(CStr::from_ptr(object.strings.add(symbol.name as usize).cast()))
                {
                    continue;
                }
                let is_read_only = read_only.is_some_and(|header| {
                    let (start, bytes) = (header.p_vaddr as usize, header.p_memsz as usize);
                    (start..start + bytes).contains(&relocation.offset)
                });
                write_bound(place, 0, is_read_only);
            }
        }
    }
}

/// What an entry of a dynamic section says; 0 when it is not there.
unsafe fn value_of(mut entry: *const Dynamic, tag: i64) -> usize {
    // SAFETY: the dynamic section of a loaded object ends with DT_NULL.
    unsafe {
        while (*entry).tag != DT_NULL {
            if (*entry).tag == tag {
                return (*entry).value;
            }
            entry = entry.add(1);
        }
    }
    0
}

/// Writes where the loader has written; it may have made the page read-only since.
unsafe fn write_bound(place: *mut usize, value: usize, is_read_only: bool) {
    let page = place as usize & !(PAGE_BYTES - 1);
    // SAFETY: a place of the loader's in an object that stays loaded meanwhile.
    unsafe {
        if is_read_only && sys::mprotect(page, PAGE_BYTES, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return;
        }
        place.write_volatile(value);
        if is_read_only {
            sys::mprotect(page, PAGE_BYTES, libc::PROT_READ);
        }
    }
}
