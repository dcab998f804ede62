//! What the kernel puts where the stack begins: the arguments, the environment, and what it tells a program of itself (getauxval(3)).
//! Read there: libc's functions for it lie on pages that a short program does not touch otherwise.

use core::ffi::{CStr, c_char};

unsafe extern "C" {
    /// Where the stack began, a variable of the dynamic loader: there the kernel has put the number of arguments, these, a
    /// null pointer, the environment, a null pointer, and pairs of words.
    static __libc_stack_end: *const usize;
}

/// The environment as the kernel gave it to the process.
pub fn environment() -> *const *const c_char {
    // SAFETY: the loader sets it before it loads libraries; the stack's beginning stays.
    unsafe {
        match __libc_stack_end.as_ref() {
            Some(&arguments) => __libc_stack_end.add(1 + arguments + 1).cast(),
            None => core::ptr::null(),
        }
    }
}

/// What the kernel tells of this kind, 0 where it does not. To be called before `main`, which may change the environment in its place.
#[unsafe(link_section = ".text.startup")]
pub fn told(kind: libc::c_ulong) -> usize {
    let mut at = environment();
    // SAFETY: as it lies there.
    unsafe {
        while !at.as_ref().is_none_or(|entry| entry.is_null()) {
            at = at.add(1);
        }
        let mut pair: *const [usize; 2] = if at.is_null() { return 0 } else { at.add(1).cast() };
        loop {
            match *pair {
                [found, value] if found == kind as usize => return value,
                [0, _] => return 0,
                _ => pair = pair.add(1),
            }
        }
    }
}

/// The string at an address. (Its end is looked for here: see above.)
///
/// # Safety
/// There is one, and it stays.
#[unsafe(link_section = ".text.startup")]
pub unsafe fn string_at(start: *const c_char) -> &'static CStr {
    // SAFETY: as the caller vouches. Volatile, or the compiler would call libc all the same.
    unsafe {
        let mut end = start;
        while end.read_volatile() != 0 {
            end = end.add(1);
        }
        let bytes = end.offset_from(start) as usize + 1;
        CStr::from_bytes_with_nul_unchecked(core::slice::from_raw_parts(start.cast(), bytes))
    }
}

/// What comes behind `name` and an equals sign in a string, if it begins so.
///
/// # Safety
/// There is one, and it stays.
#[unsafe(link_section = ".text.startup")]
pub unsafe fn value_at(start: *const c_char, name: &[u8]) -> Option<&'static [u8]> {
    let parts = name.iter().chain(b"=");
    // SAFETY: as the caller vouches; it goes on behind each byte that is not its end.
    let is_it = parts.zip(0..).all(|(&byte, at)| unsafe { *start.add(at) } as u8 == byte);
    // SAFETY: as above.
    is_it.then(|| unsafe { string_at(start.add(name.len() + 1)) }.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_tells_is_what_libc_says() {
        for kind in [libc::AT_PHDR, libc::AT_PHNUM, libc::AT_EXECFN, libc::AT_PAGESZ] {
            // SAFETY: takes no pointers.
            assert_eq!(told(kind) as u64, unsafe { libc::getauxval(kind) }, "{kind}");
        }
        assert_eq!(told(0xffff), 0);
    }

    #[test]
    fn a_variable_is_found_by_its_whole_name() {
        let value = |entry: &'static CStr, name: &[u8]| {
            // SAFETY: a string that stays.
            unsafe { value_at(entry.as_ptr(), name) }
        };
        assert_eq!(value(c"SYN_RUN=/x", b"SYN_RUN"), Some(&b"/x"[..]));
        assert_eq!(value(c"SYN_RUN=", b"SYN_RUN"), Some(&b""[..]));
        for other in [c"SYN_RUNS=/x", c"SYN_RUN", c"SYN", c""] {
            assert_eq!(value(other, b"SYN_RUN"), None);
        }
    }
}
