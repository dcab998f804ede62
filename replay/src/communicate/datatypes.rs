//! File types of views, made as they were made.

#![allow(unsafe_code)]

use mpi::ffi::{self, MPI_Aint, MPI_Datatype};
use std::os::raw::c_int;
use syn_plan::{Constructor, Datatype};

/// A datatype, which is freed with this if it is a derived one.
pub struct Type {
    pub handle: MPI_Datatype,
    is_derived: bool,
}

impl Type {
    /// A datatype of so many bytes: a basic one where there is one of this size.
    pub fn of_bytes(bytes: c_int) -> Type {
        // SAFETY: constants of the MPI that is linked, and a place for the new handle.
        unsafe {
            let basic = match bytes {
                1 => ffi::RSMPI_UINT8_T,
                2 => ffi::RSMPI_UINT16_T,
                4 => ffi::RSMPI_INT32_T,
                8 => ffi::RSMPI_DOUBLE,
                16 => ffi::RSMPI_DOUBLE_COMPLEX,
                _ => {
                    let mut handle = ffi::RSMPI_DATATYPE_NULL;
                    ffi::MPI_Type_contiguous(bytes, ffi::RSMPI_UINT8_T, &mut handle);
                    return Type { handle, is_derived: true };
                }
            };
            Type { handle: basic, is_derived: false }
        }
    }

    /// The same datatype as was recorded, but for which basic types it is made of.
    pub fn of(datatype: &Datatype) -> Type {
        let (by, integers, addresses, of) = match datatype {
            Datatype::Basic(bytes) => return Type::of_bytes(*bytes),
            Datatype::Made { by, integers, addresses, of } => (by, integers, addresses, of),
        };
        let addresses: Vec<MPI_Aint> = addresses.iter().map(|&address| address as MPI_Aint).collect();
        let parts: Vec<Type> = of.iter().map(Type::of).collect();
        let handles: Vec<MPI_Datatype> = parts.iter().map(|part| part.handle).collect();
        let count = integers.first().copied().unwrap_or(0);
        // The n-th list of integers behind the count.
        let list = |nth: c_int| integers[1 + nth as usize * count as usize..].as_ptr();
        // SAFETY: lists have as many numbers as the constructor takes: `Datatype` has checked it.
        unsafe {
            let part = handles.first().copied().unwrap_or(ffi::RSMPI_UINT8_T);
            let mut handle = ffi::RSMPI_DATATYPE_NULL;
            match by {
                Constructor::Dup => ffi::MPI_Type_dup(part, &mut handle),
                Constructor::Contiguous => ffi::MPI_Type_contiguous(count, part, &mut handle),
                Constructor::Vector => {
                    ffi::MPI_Type_vector(count, integers[1], integers[2], part, &mut handle)
                }
                Constructor::Hvector => {
                    ffi::MPI_Type_create_hvector(count, integers[1], addresses[0], part, &mut handle)
                }
                Constructor::Indexed => ffi::MPI_Type_indexed(count, list(0), list(1), part, &mut handle),
                Constructor::Hindexed => {
                    ffi::MPI_Type_create_hindexed(count, list(0), addresses.as_ptr(), part, &mut handle)
                }
                Constructor::IndexedBlock => ffi::MPI_Type_create_indexed_block(
                    count,
                    integers[1],
                    integers[2..].as_ptr(),
                    part,
                    &mut handle,
                ),
                Constructor::HindexedBlock => ffi::MPI_Type_create_hindexed_block(
                    count,
                    integers[1],
                    addresses.as_ptr(),
                    part,
                    &mut handle,
                ),
                Constructor::Struct => ffi::MPI_Type_create_struct(
                    count,
                    list(0),
                    addresses.as_ptr(),
                    handles.as_ptr(),
                    &mut handle,
                ),
                Constructor::Subarray => {
                    let order = match integers.last() {
                        Some(1) => ffi::MPI_ORDER_FORTRAN,
                        _ => ffi::MPI_ORDER_C,
                    };
                    let order = order as c_int;
                    ffi::MPI_Type_create_subarray(count, list(0), list(1), list(2), order, part, &mut handle)
                }
                Constructor::Resized => {
                    ffi::MPI_Type_create_resized(part, addresses[0], addresses[1], &mut handle)
                }
            };
            Type { handle, is_derived: true }
        }
    }

    /// Makes it ready for use.
    pub fn committed(mut self) -> Type {
        if self.is_derived {
            // SAFETY: a datatype of ours.
            unsafe { ffi::MPI_Type_commit(&mut self.handle) };
        }
        self
    }
}

impl Drop for Type {
    fn drop(&mut self) {
        if self.is_derived {
            // SAFETY: a datatype of ours, which nobody else frees.
            unsafe { ffi::MPI_Type_free(&mut self.handle) };
        }
    }
}
