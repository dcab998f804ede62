//! What an argument is in C and in Fortran.
//!
//! Fortran passes everything by reference. Handles are integers there; statuses are arrays of integers with the
//! layout of the C structure; indices count from 1; constants such as `MPI_STATUS_IGNORE` are variables known by
//! their address. The `mpi_f08` module passes its types, which hold just such an integer or array, in the same way.

use core::ffi::{c_int, c_void};
use core::marker::PhantomData;
use core::mem::transmute;

use crate::abi::Mpi;
use crate::symbol::{Symbol, c_name};

/// The place of a result or an array.
pub(crate) type Ptr = *mut c_void;

/// Kinds of handles that records hold.
#[derive(Clone, Copy)]
pub enum Handle {
    /// `MPI_Comm`
    Comm,
    /// `MPI_Datatype`
    Datatype,
    /// `MPI_Request`
    Request,
    /// `MPI_Message`
    Message,
    /// `MPI_Win`
    Window,
    /// `MPI_File`, which is a pointer in C everywhere.
    File,
    /// `MPI_Info`
    Info,
    /// `MPI_Group`
    Group,
}

/// How a language passes arguments.
///
/// # Safety
/// The functions read what the application passed: each must only be called with an argument of its kind, and where
/// the argument is a result, only after the call has succeeded.
pub trait Language {
    /// An integer that the call takes.
    type Int: Copy;
    /// A number of elements that the call takes.
    type Count: Copy;
    /// An `MPI_Aint`, `MPI_Offset` or `MPI_Count` that the call takes whatever its form.
    type Long: Copy;
    /// A handle that the call takes.
    type Handle: Copy;
    /// A buffer, an array, or the place of a result.
    type Ptr: Copy;
    /// Where array indices start.
    const FIRST_INDEX: c_int;

    /// The integer.
    unsafe fn int(value: Self::Int) -> c_int;
    /// The number of elements.
    unsafe fn count(value: Self::Count) -> i64;
    /// The number of elements at `index` of an array.
    unsafe fn count_at(array: *mut c_void, index: usize) -> i64;
    /// The long integer.
    unsafe fn long(value: Self::Long) -> i64;
    /// The handle as it is in C.
    unsafe fn handle(mpi: Mpi, kind: Handle, value: Self::Handle) -> usize;
    /// The handle at `index` of an array, as it is in C.
    unsafe fn handle_at(mpi: Mpi, kind: Handle, array: *mut c_void, index: usize) -> usize;
    /// Is this the constant for "no status wanted"?
    fn ignores_status(mpi: Mpi, status: *mut c_void) -> bool;
    /// Is this the constant for "no statuses wanted"?
    fn ignores_statuses(mpi: Mpi, statuses: *mut c_void) -> bool;
    /// Is this `MPI_IN_PLACE`?
    fn is_in_place(mpi: Mpi, buffer: *mut c_void) -> bool;
}

/// How C counts elements: `int`, or `MPI_Count` in the large-count functions, whose names end in `_c`.
pub trait CountType: Copy + Into<i64> {}
impl CountType for c_int {}
impl CountType for i64 {}

/// The C binding.
pub struct C<N = c_int>(PhantomData<N>);

impl<N: CountType> Language for C<N> {
    type Int = c_int;
    type Count = N;
    type Long = i64;
    type Handle = usize;
    type Ptr = *mut c_void;
    const FIRST_INDEX: c_int = 0;

    #[inline(always)]
    unsafe fn int(value: c_int) -> c_int {
        value
    }
    #[inline(always)]
    unsafe fn count(value: N) -> i64 {
        value.into()
    }
    #[inline(always)]
    unsafe fn count_at(array: *mut c_void, index: usize) -> i64 {
        // SAFETY: the caller vouches for the array, which holds numbers of this type.
        unsafe { array.cast::<N>().add(index).read_unaligned().into() }
    }
    #[inline(always)]
    unsafe fn long(value: i64) -> i64 {
        value
    }
    #[inline(always)]
    unsafe fn handle(mpi: Mpi, kind: Handle, value: usize) -> usize {
        if let Handle::File = kind { value } else { mpi.handle(value) }
    }
    #[inline(always)]
    unsafe fn handle_at(mpi: Mpi, kind: Handle, array: *mut c_void, index: usize) -> usize {
        // SAFETY: the caller vouches for the array.
        unsafe {
            match kind {
                Handle::File => array.cast::<usize>().add(index).read_unaligned(),
                _ => mpi.handle_at(array, index),
            }
        }
    }
    #[inline(always)]
    fn ignores_status(mpi: Mpi, status: *mut c_void) -> bool {
        status as usize == mpi.abi.status_ignore
    }
    #[inline(always)]
    fn ignores_statuses(mpi: Mpi, statuses: *mut c_void) -> bool {
        statuses as usize == mpi.abi.status_ignore
    }
    #[inline(always)]
    fn is_in_place(mpi: Mpi, buffer: *mut c_void) -> bool {
        buffer as usize == mpi.abi.in_place
    }
}

macro_rules! special {
    (variables: $lower:literal $upper:literal, pointers: $($pointer:literal)+) => {
        Special {
            variables: [
                Symbol::variable(&[c_name(concat!($lower, "_\0"))]),
                Symbol::variable(&[c_name(concat!($lower, "__\0"))]),
                Symbol::variable(&[c_name(concat!($lower, "\0"))]),
                Symbol::variable(&[c_name(concat!($upper, "\0"))]),
            ],
            pointers: [$(Symbol::variable(&[$pointer])),+],
        }
    };
}

/// The Fortran bindings: `mpif.h`, `use mpi`, `use mpi_f08`.
pub struct Fortran;

impl Language for Fortran {
    type Int = *const c_int;
    type Count = *const c_int;
    type Long = *const i64;
    type Handle = *const c_int;
    type Ptr = *mut c_void;
    const FIRST_INDEX: c_int = 1;

    unsafe fn int(value: *const c_int) -> c_int {
        // SAFETY: Fortran passes integers by reference.
        unsafe { value.read_unaligned() }
    }
    unsafe fn count(value: *const c_int) -> i64 {
        // SAFETY: as above.
        i64::from(unsafe { value.read_unaligned() })
    }
    unsafe fn count_at(array: *mut c_void, index: usize) -> i64 {
        // SAFETY: the caller vouches for the array of integers.
        i64::from(unsafe { array.cast::<c_int>().add(index).read_unaligned() })
    }
    unsafe fn long(value: *const i64) -> i64 {
        // SAFETY: as above; integers of these kinds have 64 bits.
        unsafe { value.read_unaligned() }
    }
    unsafe fn handle(mpi: Mpi, kind: Handle, value: *const c_int) -> usize {
        // SAFETY: Fortran passes handles, which are integers, by reference.
        to_c(mpi, kind, unsafe { value.read_unaligned() })
    }
    unsafe fn handle_at(mpi: Mpi, kind: Handle, array: *mut c_void, index: usize) -> usize {
        // SAFETY: the caller vouches for the array; Fortran's handles are integers.
        to_c(mpi, kind, unsafe { array.cast::<c_int>().add(index).read_unaligned() })
    }
    fn ignores_status(_: Mpi, status: *mut c_void) -> bool {
        static STATUS_IGNORE: Special<2> = special! {
            variables: "mpi_fortran_status_ignore" "MPI_FORTRAN_STATUS_IGNORE",
            pointers: c"MPI_F_STATUS_IGNORE" c"MPI_F08_STATUS_IGNORE"
        };
        STATUS_IGNORE.is(status)
    }
    fn ignores_statuses(_: Mpi, statuses: *mut c_void) -> bool {
        static STATUSES_IGNORE: Special<2> = special! {
            variables: "mpi_fortran_statuses_ignore" "MPI_FORTRAN_STATUSES_IGNORE",
            pointers: c"MPI_F_STATUSES_IGNORE" c"MPI_F08_STATUSES_IGNORE"
        };
        STATUSES_IGNORE.is(statuses)
    }
    fn is_in_place(_: Mpi, buffer: *mut c_void) -> bool {
        static IN_PLACE: Special<1> = special! {
            variables: "mpi_fortran_in_place" "MPI_FORTRAN_IN_PLACE",
            pointers: c"MPIR_F_MPI_IN_PLACE"
        };
        IN_PLACE.is(buffer)
    }
}

/// A constant of Fortran that is known by its address.
struct Special<const N: usize> {
    /// It is the address of one of these: Open MPI has a common block for each spelling of Fortran names.
    variables: [Symbol; 4],
    /// One of these holds its address, once Fortran's part of MPI is initialised: MPICH, and in part the standard.
    pointers: [Symbol; N],
}

impl<const N: usize> Special<N> {
    fn is(&self, argument: *mut c_void) -> bool {
        if argument.is_null() {
            return false;
        }
        self.variables.iter().any(|variable| variable.address() == argument)
            || self.pointers.iter().any(|pointer| {
                let place = pointer.address().cast::<*mut c_void>();
                // SAFETY: MPI's variables of these names are pointers, set when MPI is initialised.
                !place.is_null() && unsafe { place.read() } == argument
            })
    }
}

/// The C handle of a Fortran handle. The library looks it up in a table; an unknown number becomes a null handle.
fn to_c(mpi: Mpi, kind: Handle, handle: c_int) -> usize {
    static COMM: Symbol = Symbol::new(&[c"PMPI_Comm_f2c", c"PMPI_Comm_fromint"]);
    static DATATYPE: Symbol = Symbol::new(&[c"PMPI_Type_f2c", c"PMPI_Type_fromint"]);
    static REQUEST: Symbol = Symbol::new(&[c"PMPI_Request_f2c", c"PMPI_Request_fromint"]);
    static MESSAGE: Symbol = Symbol::new(&[c"PMPI_Message_f2c", c"PMPI_Message_fromint"]);
    static WINDOW: Symbol = Symbol::new(&[c"PMPI_Win_f2c", c"PMPI_Win_fromint"]);
    static GROUP: Symbol = Symbol::new(&[c"PMPI_Group_f2c", c"PMPI_Group_fromint"]);
    static INFO: Symbol = Symbol::new(&[c"PMPI_Info_f2c", c"PMPI_Info_fromint"]);
    static FILE: Symbol = Symbol::new(&[c"PMPI_File_f2c", c"PMPI_File_fromint"]);
    let symbol = match kind {
        Handle::File => &FILE,
        _ if !mpi.abi.converts_fortran_handles => return handle as u32 as usize,
        Handle::Comm => &COMM,
        Handle::Datatype => &DATATYPE,
        Handle::Request => &REQUEST,
        Handle::Message => &MESSAGE,
        Handle::Window => &WINDOW,
        Handle::Info => &INFO,
        Handle::Group => &GROUP,
    };
    match symbol.find() {
        // SAFETY: these functions take a Fortran integer and return a handle, here a pointer.
        Some(found) => unsafe {
            transmute::<*mut c_void, unsafe extern "C-unwind" fn(c_int) -> usize>(found.address)(handle)
        },
        None => 0,
    }
}
