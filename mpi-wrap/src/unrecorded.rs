//! MPI procedures that take time or set an order and are not recorded. They have entry points all the same, which go
//! on to the real function with whatever the caller passed. The first call of each is told to the recorder: nobody is
//! to believe that a trace holds what it does not.
//!
//! ```text
//! MPI_Comm_idup:  r11 = addresses[0]; if r11 != 0 { jump to r11 }      every further call
//!                 first_call → first::<R> → note, look up, remember     the first one
//! ```

use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::recorder::Recorder;
use crate::symbol::{self, NO_SUCH_FUNCTION};

/// In how many ways a name is spelled: as in C, and the five of Fortran.
pub const SPELLINGS: usize = 6;
const NAME_BYTES: usize = 48;

/// One procedure. It holds its name and no pointer to it, as [`crate::symbol::Symbol`] does.
#[repr(C)]
pub struct Procedure {
    /// The real function of each spelling; 0 until it has been called.
    pub addresses: [AtomicUsize; SPELLINGS],
    is_noted: AtomicBool,
    name: [u8; NAME_BYTES],
}

impl Procedure {
    /// The procedure of this name in C.
    pub const fn new(name: &str) -> Procedure {
        assert!(name.len() + "p_f08_".len() < NAME_BYTES);
        let mut bytes = [0; NAME_BYTES];
        bytes.split_at_mut(name.len()).0.copy_from_slice(name.as_bytes());
        Procedure {
            addresses: [const { AtomicUsize::new(0) }; SPELLINGS],
            is_noted: AtomicBool::new(false),
            name: bytes,
        }
    }

    fn name(&self) -> &[u8] {
        let end = self.name.iter().position(|&byte| byte == 0).unwrap_or(NAME_BYTES);
        &self.name[..end]
    }

    /// The name in a spelling, as the macro below makes them, and with the P of the profiling interface before it.
    fn spelled(&self, spelling: usize) -> [u8; NAME_BYTES] {
        let mut bytes = [0; NAME_BYTES];
        let (name, behind): (_, &[u8]) = (self.name(), [&b""[..], b"_", b"__", b"_f08_", b"", b""][spelling]);
        bytes[0] = if matches!(spelling, 0 | 5) { b'P' } else { b'p' };
        for (to, from) in bytes[1..].iter_mut().zip(name) {
            *to = match spelling {
                0 => *from,
                5 => from.to_ascii_uppercase(),
                _ => from.to_ascii_lowercase(),
            };
        }
        bytes[1 + name.len()..][..behind.len()].copy_from_slice(behind);
        bytes
    }
}

/// The procedure is called for the first time in this spelling, or inside a call of MPI, whose own matter that is. Returns
/// where to go on.
pub fn first<R: Recorder>(procedure: &Procedure, spelling: usize) -> usize {
    let name = procedure.spelled(spelling);
    let [plain, profiling] = [1, 0]
        .map(|skipped| symbol::function(CStr::from_bytes_until_nul(&name[skipped..]).unwrap_or_default()));
    let Some((_, address)) = plain.or(profiling) else {
        return no_such_function as *const () as usize;
    };
    // The last two spellings are good names for functions of others, too.
    let is_in_one_object = || matches!((plain, profiling), (Some(one), Some(other)) if one.0 == other.0);
    let is_foreign = spelling >= 4 && !is_in_one_object();
    let is_noted = is_foreign || procedure.is_noted.load(Ordering::Relaxed);
    if is_noted || R::unrecorded(procedure.name()) {
        procedure.is_noted.store(!is_foreign, Ordering::Relaxed);
        procedure.addresses[spelling].store(address, Ordering::Release);
    }
    address
}

extern "C" fn no_such_function() -> c_int {
    NO_SUCH_FUNCTION
}

/// Defines the entry points of all procedures that are not recorded, telling this implementation of
/// [`Recorder`](crate::Recorder) of them.
#[macro_export]
macro_rules! mpi_unrecorded {
    ($recorder:ty) => { $crate::mpi_unrecorded_procedures! { $recorder;
        MPI_Comm_idup MPI_Comm_idup_with_info
        MPI_Comm_create_from_group MPI_Intercomm_create_from_groups MPI_Session_init MPI_Session_finalize
        MPI_Open_port MPI_Close_port MPI_Publish_name MPI_Unpublish_name MPI_Lookup_name
        MPI_Grequest_start MPI_Grequest_complete
        MPI_Request_get_status_all MPI_Request_get_status_any MPI_Request_get_status_some
        MPI_Comm_detach_buffer MPI_Comm_detach_buffer_c MPI_Comm_flush_buffer MPI_Comm_iflush_buffer
        MPI_Session_detach_buffer MPI_Session_detach_buffer_c MPI_Session_flush_buffer MPI_Session_iflush_buffer
        MPI_Buffer_iflush MPI_Register_datarep MPI_Register_datarep_c
    } };
}

/// Makes the entry points of these procedures, and a list of them.
#[doc(hidden)]
#[macro_export]
macro_rules! mpi_unrecorded_procedures {
    ($recorder:ty; $($name:ident)*) => { $crate::pastey::paste! { const _: () = {
        use $crate::unrecorded::Procedure;

        /// `r11`: the procedure, `r10`: the spelling. Keeps all registers that arguments may be in.
        #[unsafe(naked)]
        unsafe extern "C" fn first_call() {
            ::core::arch::naked_asm!(
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                "sub rsp, 128",
                "movups [rsp], xmm0", "movups [rsp + 16], xmm1", "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
                "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5", "movups [rsp + 96], xmm6",
                "movups [rsp + 112], xmm7",
                "mov rdi, r11", "mov rsi, r10", "call {first}", "mov r11, rax",
                "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]", "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
                "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]", "movups xmm6, [rsp + 96]",
                "movups xmm7, [rsp + 112]",
                "add rsp, 128",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp r11",
                first = sym first,
            )
        }

        extern "C" fn first(procedure: &Procedure, spelling: usize) -> usize {
            $crate::unrecorded::first::<$recorder>(procedure, spelling)
        }

        $( const _: () = {
            static PROCEDURE: Procedure = Procedure::new(stringify!($name));
            $crate::mpi_unrecorded_spelling! { $name 0 }
            $crate::mpi_unrecorded_spelling! { [<$name:lower _>] 1 }
            $crate::mpi_unrecorded_spelling! { [<$name:lower __>] 2 }
            $crate::mpi_unrecorded_spelling! { [<$name:lower _f08_>] 3 }
            $crate::mpi_unrecorded_spelling! { [<$name:lower>] 4 }
            $crate::mpi_unrecorded_spelling! { [<$name:upper>] 5 }
        }; )*
    };

    /// The MPI procedures that are not recorded, though they take time or set an order.
    #[allow(dead_code)]
    pub const MPI_UNRECORDED: &[&str] = &[ $( stringify!($name) ),* ];
    } };
}

/// One entry point.
#[doc(hidden)]
#[macro_export]
macro_rules! mpi_unrecorded_spelling {
    ($spelling:ident $index:literal) => {
        /// Goes on to the function of this name.
        ///
        /// # Safety
        /// As that function.
        #[allow(non_snake_case, dead_code)]
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $spelling() {
            ::core::arch::naked_asm!(
                "mov r11, [rip + {procedure} + 8 * {index}]",
                "test r11, r11",
                "jz 2f",
                "jmp r11",
                "2:",
                "lea r11, [rip + {procedure}]",
                "mov r10d, {index}",
                "jmp {first_call}",
                procedure = sym PROCEDURE, index = const $index, first_call = sym first_call,
            )
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_those_of_the_entry_points() {
        let procedure = Procedure::new("MPI_Comm_idup");
        let spelled = [0, 1, 2, 3, 4, 5].map(|spelling| {
            let name = procedure.spelled(spelling);
            CStr::from_bytes_until_nul(&name).unwrap().to_str().unwrap().to_owned()
        });
        let expected = ["PMPI_Comm_idup", "pmpi_comm_idup_", "pmpi_comm_idup__", "pmpi_comm_idup_f08_"];
        assert_eq!(spelled[..4], expected);
        assert_eq!(spelled[4..], ["pmpi_comm_idup", "PMPI_COMM_IDUP"]);
    }
}
