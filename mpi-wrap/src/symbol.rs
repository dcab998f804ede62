//! Where the real functions are.
//!
//! Usually behind the shim among the libraries that the process was started with. Not so when MPI came in by
//! `dlopen(…, RTLD_LOCAL)`, as it does in Python: then every loaded object is asked. Who asks the loader is not told here: its
//! own functions for that (`dlsym`, `dlopen`) are among those that a recorder replaces.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// What the recorder knows of the loaded objects.
#[derive(Clone, Copy)]
pub struct Loader {
    /// The function (or variable) of this name: the base of the object that has it, and its address. A function behind the
    /// recorder; a variable in the first object that has it, which is often the program with a copy of its own. Not in the recorder.
    pub locate: fn(name: &CStr, is_variable: bool) -> Option<(usize, usize)>,
    /// The path of the object in which an address lies, as long as that is loaded.
    pub path_of: fn(address: usize) -> Option<*const c_char>,
    /// Keeps the object in which an address lies from being unloaded.
    pub keep_loaded: fn(address: usize),
}

/// That of this process; null before it is set.
static LOADER: AtomicPtr<Loader> = AtomicPtr::new(ptr::null_mut());

/// To be called before any function of MPI.
pub fn set_loader(loader: &'static Loader) {
    LOADER.store(ptr::from_ref(loader).cast_mut(), Ordering::Release);
}

fn loader() -> Option<&'static Loader> {
    // SAFETY: null, or what `set_loader` was given.
    unsafe { LOADER.load(Ordering::Acquire).as_ref() }
}

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

    /// Where it is, of a function.
    #[inline(always)]
    pub fn function(&self) -> Option<*mut c_void> {
        self.known().or_else(|| self.look_up().map(|found| found.address))
    }

    /// The same, once it has been looked up.
    #[inline(always)]
    pub fn known(&self) -> Option<*mut c_void> {
        let address = self.address.load(Ordering::Acquire);
        (!address.is_null()).then_some(address)
    }

    /// The address, null when there is none.
    #[inline]
    pub fn address(&self) -> *mut c_void {
        self.find().map_or(ptr::null_mut(), |found| found.address)
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self) -> Option<Found> {
        let is_variable = matches!(self.kind, Kind::Variable);
        let Some((object, address)) = self.names.iter().find_map(|name| locate(name, is_variable)) else {
            if is_variable {
                self.address.store(NOWHERE, Ordering::Relaxed);
            }
            return None;
        };
        let is_confirmed = |name| locate(name, is_variable).is_some_and(|(other, _)| other == object);
        let foreign = matches!(self.kind, Kind::PlainFunction) && !self.confirmed_by.iter().any(is_confirmed);
        // The address is kept, and so the object has to be.
        if LAST_KEPT.swap(object, Ordering::Relaxed) != object {
            loader().iter().for_each(|loader| (loader.keep_loaded)(address));
        }
        let address = ptr::with_exposed_provenance_mut(address);
        self.foreign.store(foreign, Ordering::Relaxed);
        self.address.store(address, Ordering::Release);
        Some(Found { address, foreign })
    }
}

/// The base of the object that was the last to be kept: the next symbol is most likely there as well.
static LAST_KEPT: AtomicUsize = AtomicUsize::new(0);

fn locate(name: &CStr, is_variable: bool) -> Option<(usize, usize)> {
    (loader()?.locate)(name, is_variable)
}

/// The variable of this name that the process uses; null when there is none. Not remembered.
pub fn variable(name: &CStr) -> *mut c_void {
    locate(name, true).map_or(ptr::null_mut(), |(_, address)| ptr::with_exposed_provenance_mut(address))
}

/// The function of this name behind our own, and the base of the object that has it. Not remembered.
pub fn function(name: &CStr) -> Option<(usize, usize)> {
    locate(name, false)
}

/// The file name of the object that holds this address, without its folders; empty when unknown.
pub fn object_name(address: *mut c_void) -> &'static [u8] {
    let path = loader().and_then(|loader| (loader.path_of)(address.addr()));
    let Some(path) = path.filter(|path| !path.is_null()) else { return b"" };
    // SAFETY: the loader keeps the name as long as the object, and MPI is never unloaded while it is used.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info_of(address: usize) -> libc::Dl_info {
        // SAFETY: zeros are a value of this structure, which the call fills in; any address may be asked for.
        unsafe {
            let mut info = core::mem::zeroed();
            libc::dladdr(address as *const c_void, &mut info);
            info
        }
    }

    /// The loader's own functions: in a test nothing is replaced.
    static OF_LIBC: Loader = Loader {
        locate: |name, is_variable| {
            let scope = if is_variable { libc::RTLD_DEFAULT } else { libc::RTLD_NEXT };
            // SAFETY: one of the loader's own scopes and a name that ends with zero.
            let address = unsafe { libc::dlsym(scope, name.as_ptr()) } as usize;
            (address != 0).then(|| (info_of(address).dli_fbase as usize, address))
        },
        path_of: |address| Some(info_of(address).dli_fname),
        keep_loaded: |_| {},
    };

    #[test]
    fn finds_what_is_behind_us_and_nothing_else() {
        set_loader(&OF_LIBC);
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
    fn a_plain_name_needs_its_confirmation() {
        set_loader(&OF_LIBC);
        static CONFIRMED: Symbol = Symbol::confirmed(&[c"getpid"], &[c"no_such_name", c"getppid"]);
        static FOREIGN: Symbol = Symbol::confirmed(&[c"getpid"], &[c"no_such_name"]);
        assert_eq!(CONFIRMED.find().map(|found| found.foreign), Some(false));
        assert_eq!(FOREIGN.find().map(|found| found.foreign), Some(true));
    }
}
