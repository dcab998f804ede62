//! Where the real functions are.
//!
//! Usually behind the shim in the global scope. Not so when MPI came in by `dlopen(…, RTLD_LOCAL)`, as it does in
//! Python: then every loaded object is asked.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// What an entry point returns when there is no such function to call: any code but `MPI_SUCCESS`. This one is
/// `MPI_ERR_OTHER` of Open MPI.
pub const NO_SUCH_FUNCTION: c_int = 16;

/// The name in a string that ends with the only zero byte of it.
pub const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a symbol name ends with a zero byte"),
    }
}

/// A function or variable of an MPI library, looked up when first needed.
pub struct Symbol {
    names: Names<160>,
    /// Of a [`Kind::PlainFunction`].
    confirmed_by: Names<48>,
    kind: Kind,
    address: AtomicPtr<c_void>,
    foreign: AtomicBool,
}

enum Kind {
    /// The definition behind our own. One that is nowhere is looked for again: its library may come later.
    Function,
    /// As a function, but its names are so plain that others use them as well: it is MPI's only if the object that
    /// defines it defines one of those that confirm it, too.
    PlainFunction,
    /// The definition that the process uses, which is often the program's own copy. One that is nowhere is not
    /// looked for again: each library has those of its own implementation only.
    Variable,
}

/// Names, each with its final zero, one behind the other. They stand here themselves, since pointers to them would have to
/// be set in every process that loads the shim, MPI or not, and each page that holds one would be copied.
struct Names<const N: usize>([u8; N]);

impl<const N: usize> Names<N> {
    const fn new(names: &[&CStr]) -> Names<N> {
        let mut packed = [0; N];
        let (mut index, mut end) = (0, 0);
        while index < names.len() {
            let name = names[index].to_bytes_with_nul();
            packed.split_at_mut(end).1.split_at_mut(name.len()).0.copy_from_slice(name);
            (index, end) = (index + 1, end + name.len());
        }
        Names(packed)
    }

    fn iter(&self) -> impl Iterator<Item = &CStr> {
        let mut rest = &self.0[..];
        core::iter::from_fn(move || {
            let name = CStr::from_bytes_until_nul(rest).ok().filter(|name| !name.is_empty())?;
            rest = &rest[name.to_bytes_with_nul().len()..];
            Some(name)
        })
    }
}

/// Stands for a variable that is nowhere.
const NOWHERE: *mut c_void = ptr::without_provenance_mut(usize::MAX);

/// Where a symbol was found.
#[derive(Clone, Copy)]
pub struct Found {
    /// Its address, not null.
    pub address: *mut c_void,
    /// True when it has the name of an MPI function but belongs to something else.
    pub foreign: bool,
}

impl Symbol {
    /// A function that goes by any of these names, the preferred one first.
    pub const fn new(names: &[&CStr]) -> Symbol {
        Symbol::of(names, &[], Kind::Function)
    }

    /// A function whose names may be somebody else's, unless the same object defines one of `confirmed_by`.
    pub const fn confirmed(names: &[&CStr], confirmed_by: &[&CStr]) -> Symbol {
        Symbol::of(names, confirmed_by, Kind::PlainFunction)
    }

    /// A variable.
    pub const fn variable(names: &[&CStr]) -> Symbol {
        Symbol::of(names, &[], Kind::Variable)
    }

    const fn of(names: &[&CStr], confirmed_by: &[&CStr], kind: Kind) -> Symbol {
        Symbol {
            names: Names::new(names),
            confirmed_by: Names::new(confirmed_by),
            kind,
            address: AtomicPtr::new(ptr::null_mut()),
            foreign: AtomicBool::new(false),
        }
    }

    /// Where it is.
    #[inline]
    pub fn find(&self) -> Option<Found> {
        match self.address.load(Ordering::Acquire) {
            NOWHERE => None,
            address if address.is_null() => self.look_up(),
            address => Some(Found { address, foreign: self.foreign.load(Ordering::Relaxed) }),
        }
    }

    /// The address, null when there is none.
    #[inline]
    pub fn address(&self) -> *mut c_void {
        self.find().map_or(ptr::null_mut(), |found| found.address)
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self) -> Option<Found> {
        let scope = if let Kind::Variable = self.kind { libc::RTLD_DEFAULT } else { libc::RTLD_NEXT };
        let Some(address) = self.names.iter().map(|name| locate(scope, name)).find(|it| !it.is_null()) else {
            if let Kind::Variable = self.kind {
                self.address.store(NOWHERE, Ordering::Relaxed);
            }
            return None;
        };
        let foreign = match self.kind {
            Kind::PlainFunction => !self.confirmed_by.iter().any(|name| {
                let other = locate(scope, name);
                !other.is_null() && object_base(other) == object_base(address)
            }),
            _ => false,
        };
        self.foreign.store(foreign, Ordering::Relaxed);
        self.address.store(address, Ordering::Release);
        Some(Found { address, foreign })
    }
}

/// The variable of this name that the process uses; null when there is none. Not remembered.
pub fn variable(name: &CStr) -> *mut c_void {
    locate(libc::RTLD_DEFAULT, name)
}

/// The function of this name behind our own; null when there is none. Not remembered.
pub fn function(name: &CStr) -> *mut c_void {
    locate(libc::RTLD_NEXT, name)
}

/// Do both addresses lie in one object?
pub fn is_in_one_object(one: *mut c_void, other: *mut c_void) -> bool {
    !one.is_null() && !other.is_null() && object_base(one) == object_base(other)
}

/// The definition of `name` in this part of the global scope, or else in any loaded object; null when there is none.
fn locate(scope: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: one of the loader's own scopes and a name that ends with zero.
    let address = unsafe { libc::dlsym(scope, name.as_ptr()) };
    if address.is_null() { locate_in_loaded_objects(name) } else { address }
}

/// The object that had a symbol last: the next one is most likely there as well.
static LIBRARY: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

fn locate_in_loaded_objects(name: &CStr) -> *mut c_void {
    let known = LIBRARY.load(Ordering::Acquire);
    if !known.is_null() {
        let address = locate_in(known, name);
        if !address.is_null() {
            return address;
        }
    }
    let mut path = MaybeUninit::<[c_char; libc::PATH_MAX as usize]>::uninit();
    let mut position = 0;
    while object_path(position, &mut path) {
        position += 1;
        // SAFETY: `object_path` has put a path there that ends with zero; nothing is loaded that is not loaded yet.
        let object = unsafe { libc::dlopen(path.as_ptr().cast(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if object.is_null() {
            continue;
        }
        let address = locate_in(object, name);
        if !address.is_null() {
            // The reference stays, so that the object does.
            LIBRARY.store(object, Ordering::Release);
            return address;
        }
        // SAFETY: gives back the reference taken above.
        unsafe { libc::dlclose(object) };
    }
    ptr::null_mut()
}

/// The definition in an object or in what it depends on, unless it is our own.
fn locate_in(object: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: a handle from `dlopen` and a name that ends with zero.
    let address = unsafe { libc::dlsym(object, name.as_ptr()) };
    let ours = object_base(ptr::from_ref(&LIBRARY).cast_mut().cast());
    if object_base(address) == ours { ptr::null_mut() } else { address }
}

type Path = MaybeUninit<[c_char; libc::PATH_MAX as usize]>;

/// Puts the path of the loaded object at `position` into `path`; false behind the last one. Objects are not opened
/// from inside the walk: it holds a lock of the loader.
fn object_path(position: usize, path: &mut Path) -> bool {
    struct Walk<'a> {
        left: usize,
        path: &'a mut Path,
        found: bool,
    }
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, walk: *mut c_void) -> c_int {
        // SAFETY: the loader hands over its own entry and the walk we passed.
        let (info, walk) = unsafe { (&*info, &mut *walk.cast::<Walk<'_>>()) };
        if info.dlpi_name.is_null() {
            return 0;
        }
        // SAFETY: the name of a loaded object, valid during the walk.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes_with_nul();
        // The program itself has no name.
        if name.len() < 2 || name.len() > libc::PATH_MAX as usize {
            return 0;
        }
        if walk.left > 0 {
            walk.left -= 1;
            return 0;
        }
        // SAFETY: checked above that it fits.
        unsafe { ptr::copy_nonoverlapping(name.as_ptr(), walk.path.as_mut_ptr().cast::<u8>(), name.len()) };
        walk.found = true;
        1
    }
    let mut walk = Walk { left: position, path, found: false };
    // SAFETY: the callback uses the walk only while it lasts.
    unsafe { libc::dl_iterate_phdr(Some(visit), ptr::from_mut(&mut walk).cast()) };
    walk.found
}

/// Where the object that holds this address begins; null when there is none.
fn object_base(address: *mut c_void) -> *mut c_void {
    object_info(address).map_or(ptr::null_mut(), |info| info.dli_fbase)
}

fn object_info(address: *mut c_void) -> Option<libc::Dl_info> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: fills the structure when it returns other than 0; any address may be asked for.
    let known = unsafe { libc::dladdr(address, info.as_mut_ptr()) } != 0;
    // SAFETY: zeros are a value of this structure.
    known.then(|| unsafe { info.assume_init() })
}

/// The file name of the object that holds this address, without its folders; empty when unknown.
pub fn object_name(address: *mut c_void) -> &'static [u8] {
    match object_info(address) {
        Some(info) if !info.dli_fname.is_null() => {
            // SAFETY: the loader keeps the name as long as the object, and MPI is never unloaded while it is used.
            let path = unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes();
            path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
        }
        _ => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_behind_us_and_nothing_else() {
        static FOUND: Symbol = Symbol::new(&[c"no_such_name", c"getpid"]);
        static MISSING: Symbol = Symbol::new(&[c"no_such_name"]);
        static VARIABLE: Symbol = Symbol::variable(&[c"no_such_name", c"environ"]);
        static NO_VARIABLE: Symbol = Symbol::variable(&[c"no_such_name"]);
        assert_eq!(FOUND.address(), libc::getpid as *mut c_void);
        assert_eq!(object_name(FOUND.address()), b"libc.so.6");
        assert!(!VARIABLE.address().is_null());
        assert!(MISSING.find().is_none());
        for _ in 0..2 {
            assert!(NO_VARIABLE.address().is_null());
        }
    }

    #[test]
    fn walks_the_loaded_objects() {
        assert_eq!(locate_in_loaded_objects(c"getpid"), libc::getpid as *mut c_void);
        assert!(locate_in_loaded_objects(c"no_such_name").is_null());
    }

    #[test]
    fn a_plain_name_needs_its_confirmation() {
        static CONFIRMED: Symbol = Symbol::confirmed(&[c"getpid"], &[c"no_such_name", c"getppid"]);
        static FOREIGN: Symbol = Symbol::confirmed(&[c"getpid"], &[c"no_such_name"]);
        assert_eq!(CONFIRMED.find().map(|found| found.foreign), Some(false));
        assert_eq!(FOREIGN.find().map(|found| found.foreign), Some(true));
    }
}
