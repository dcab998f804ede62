//! What differs between implementations once they are compiled: constants, handles, statuses. A further one is a
//! further [`Abi`] here and a line in `session::recognise`.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};
use syn_trace::calls::{ANY, COMM_NULL, COMM_SELF, COMM_WORLD, NOBODY, ROOT, UNDEFINED};
use syn_trace::header::{MPI_MPICH, MPI_OPEN_MPI, MPI_STANDARD_ABI};

use crate::symbol::variable;

/// One implementation, or several with the same binary interface.
pub struct Abi {
    /// Its code in a trace header.
    pub implementation: u32,
    /// Bytes of a handle in C: a pointer or an `int`.
    pub handle_bytes: usize,
    /// Fortran handles are numbers of their own, to be converted by the library (`MPI_Comm_f2c` …). Otherwise they
    /// are the C handles.
    pub converts_fortran_handles: bool,
    /// Where things are in an `MPI_Status`, which is the same array of integers in Fortran.
    pub status: StatusLayout,
    /// `MPI_ANY_SOURCE`
    pub any_source: c_int,
    /// `MPI_PROC_NULL`
    pub proc_null: c_int,
    /// `MPI_ROOT`
    pub root: c_int,
    /// `MPI_ANY_TAG`
    pub any_tag: c_int,
    /// `MPI_UNDEFINED`
    pub undefined: c_int,
    /// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE` in C.
    pub status_ignore: usize,
    /// `MPI_IN_PLACE` in C.
    pub in_place: usize,
    /// `MPI_CART`, `MPI_GRAPH`
    pub topologies: [c_int; 2],
    /// `MPI_LOCK_EXCLUSIVE`
    pub lock_exclusive: c_int,
    /// `MPI_SEEK_SET`, `MPI_SEEK_CUR`, `MPI_SEEK_END`
    seek: [c_int; 3],
    /// `MPI_MODE_CREATE`, `_RDONLY`, `_WRONLY`, `_RDWR`, `_DELETE_ON_CLOSE`, `_UNIQUE_OPEN`, `_EXCL`, `_APPEND`,
    /// `_SEQUENTIAL`. In a trace each is the bit of its place here.
    file_modes: [c_int; 9],
    /// `MPI_COMBINER_NAMED`, `_DUP`, `_CONTIGUOUS`, `_VECTOR`, `_HVECTOR`, `_INDEXED`, `_HINDEXED`, `_INDEXED_BLOCK`,
    /// `_HINDEXED_BLOCK`, `_STRUCT`, `_SUBARRAY`, `_RESIZED`. In a trace each is its place here.
    pub combiners: [c_int; 12],
    /// `MPI_ORDER_C`, `MPI_ORDER_FORTRAN`
    pub orders: [c_int; 2],
    /// The handles that exist from the start.
    predefined: Constants,
}

/// The predefined handles of the MPI that runs.
static STARTED: Handles = [const { AtomicUsize::new(0) }; 6];

impl Predefined {
    fn in_order(self) -> [usize; 6] {
        [self.comm_null, self.comm_world, self.comm_self, self.request_null, self.type_null, self.info_null]
    }
}

/// Byte offsets of a status.
pub struct StatusLayout {
    /// Of the whole, and from one to the next in an array.
    pub bytes: usize,
    pub(crate) source: usize,
    pub(crate) tag: usize,
    pub(crate) count: CountField,
    /// Of the `int` whose lowest bit says that the request was cancelled; none where only MPI itself knows.
    pub(crate) cancelled: Option<usize>,
}

/// How a status says how many bytes arrived.
pub(crate) enum CountField {
    /// A `size_t` at this offset.
    Size(usize),
    /// Low half here; the `int` at the second offset has the high bits above its lowest bit, which says "cancelled".
    Halves(usize, usize),
    /// Only MPI itself knows. With it, `MPI_BYTE`.
    Asked(usize),
}

/// How the predefined handles are made known.
enum Constants {
    /// As the addresses of variables of these names.
    Variables {
        comm_null: &'static CStr,
        comm_world: &'static CStr,
        comm_self: &'static CStr,
        request_null: &'static CStr,
        type_null: &'static CStr,
        info_null: &'static CStr,
    },
    /// As numbers in `mpi.h`.
    Numbers(Predefined),
}

/// Open MPI 1.3 to 5.
pub static OPEN_MPI: Abi = Abi {
    implementation: MPI_OPEN_MPI,
    handle_bytes: 8,
    converts_fortran_handles: true,
    status: StatusLayout { bytes: 24, source: 0, tag: 4, count: CountField::Size(16), cancelled: Some(12) },
    any_source: -1,
    proc_null: -2,
    root: -4,
    any_tag: -1,
    undefined: -32766,
    status_ignore: 0,
    in_place: 1,
    topologies: [1, 2],
    lock_exclusive: 1,
    seek: [600, 602, 604],
    file_modes: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    combiners: [0, 1, 2, 3, 5, 6, 8, 9, 18, 11, 12, 17],
    orders: [0, 1],
    predefined: Constants::Variables {
        comm_null: c"ompi_mpi_comm_null",
        comm_world: OPEN_MPI_MARK,
        comm_self: c"ompi_mpi_comm_self",
        request_null: c"ompi_request_null",
        type_null: c"ompi_mpi_datatype_null",
        info_null: c"ompi_mpi_info_null",
    },
};

/// The variable that tells Open MPI.
pub const OPEN_MPI_MARK: &CStr = c"ompi_mpi_comm_world";

/// MPICH 3.1 to 5 and what has its ABI: Intel MPI, MVAPICH, Cray MPICH, ParaStation MPI.
pub static MPICH: Abi = Abi {
    implementation: MPI_MPICH,
    handle_bytes: 4,
    converts_fortran_handles: false,
    status: StatusLayout {
        bytes: 20,
        source: 8,
        tag: 12,
        count: CountField::Halves(0, 4),
        cancelled: Some(4),
    },
    any_source: -2,
    proc_null: -1,
    root: -3,
    any_tag: -1,
    undefined: -32766,
    status_ignore: 1,
    in_place: usize::MAX,
    topologies: [2, 1],
    lock_exclusive: 234,
    seek: [600, 602, 604],
    file_modes: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    combiners: [1, 2, 3, 4, 6, 7, 9, 10, 19, 12, 13, 18],
    orders: [56, 57],
    predefined: Constants::Numbers(Predefined {
        comm_null: 0x0400_0000,
        comm_world: 0x4400_0000,
        comm_self: 0x4400_0001,
        request_null: 0x2c00_0000,
        type_null: 0x0c00_0000,
        info_null: 0x1c00_0000,
    }),
};

/// The binary interface of MPI 5, the same of all implementations (MPI-5.0, chapter 20).
pub static STANDARD: Abi = Abi {
    implementation: MPI_STANDARD_ABI,
    handle_bytes: 8,
    converts_fortran_handles: true,
    status: StatusLayout { bytes: 32, source: 0, tag: 4, count: CountField::Asked(0x247), cancelled: None },
    any_source: -1,
    proc_null: -3,
    root: -4,
    any_tag: -2,
    undefined: -32766,
    status_ignore: 0,
    in_place: 1,
    topologies: [211, 212],
    lock_exclusive: 301,
    seek: [403, 401, 402],
    file_modes: [2, 16, 256, 32, 4, 128, 8, 1, 64],
    combiners: [101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 116],
    orders: [0xc, 0xf],
    predefined: Constants::Numbers(Predefined {
        comm_null: 0x100,
        comm_world: 0x101,
        comm_self: 0x102,
        request_null: 0x180,
        type_null: 0x200,
        info_null: 0x130,
    }),
};

/// Handles that exist from the start.
#[derive(Clone, Copy)]
pub struct Predefined {
    /// `MPI_COMM_NULL`
    pub comm_null: usize,
    /// `MPI_COMM_WORLD`
    pub comm_world: usize,
    /// `MPI_COMM_SELF`
    pub comm_self: usize,
    /// `MPI_REQUEST_NULL`
    pub request_null: usize,
    /// `MPI_DATATYPE_NULL`
    pub type_null: usize,
    /// `MPI_INFO_NULL`
    pub info_null: usize,
}

impl Abi {
    /// The predefined handles of the loaded library.
    pub fn predefined(&self) -> Predefined {
        match &self.predefined {
            Constants::Numbers(numbers) => *numbers,
            Constants::Variables { comm_null, comm_world, comm_self, request_null, type_null, info_null } => {
                Predefined {
                    comm_null: variable(comm_null) as usize,
                    comm_world: variable(comm_world) as usize,
                    comm_self: variable(comm_self) as usize,
                    request_null: variable(request_null) as usize,
                    type_null: variable(type_null) as usize,
                    info_null: variable(info_null) as usize,
                }
            }
        }
    }
}

/// The MPI of this process: values in, canonical values of the trace out.
#[derive(Clone, Copy)]
pub struct Mpi {
    /// Its binary interface.
    pub abi: &'static Abi,
    /// Its predefined handles; read where they are needed, since most calls need none.
    handles: &'static Handles,
}

/// Handles in the order of the fields of [`Predefined`].
type Handles = [AtomicUsize; 6];

/// What a status says, in canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Rank of the sender.
    pub source: i64,
    /// Tag of the message.
    pub tag: i64,
    /// Bytes that arrived.
    pub bytes: i64,
}

impl Status {
    /// Where nothing is known about a message, or there was none.
    pub const UNKNOWN: Status = Status { source: UNDEFINED, tag: UNDEFINED, bytes: 0 };
}

impl Mpi {
    /// The one that runs: it has been started.
    #[inline(always)]
    pub fn running(abi: &'static Abi) -> Mpi {
        Mpi { abi, handles: &STARTED }
    }

    /// The one that is being started. Whoever does so publishes it by a release store of its own.
    pub fn start(abi: &'static Abi, predefined: Predefined) -> Mpi {
        for (place, value) in STARTED.iter().zip(predefined.in_order()) {
            place.store(value, Ordering::Relaxed);
        }
        Mpi::running(abi)
    }

    #[inline(always)]
    fn predefined(self, index: usize) -> usize {
        self.handles[index].load(Ordering::Relaxed)
    }
    /// `MPI_COMM_NULL`
    #[inline(always)]
    pub fn comm_null(self) -> usize {
        self.predefined(0)
    }
    /// `MPI_COMM_WORLD`
    #[inline(always)]
    pub fn comm_world(self) -> usize {
        self.predefined(1)
    }
    /// `MPI_COMM_SELF`
    #[inline(always)]
    pub fn comm_self(self) -> usize {
        self.predefined(2)
    }
    /// `MPI_REQUEST_NULL`
    #[inline(always)]
    pub fn request_null(self) -> usize {
        self.predefined(3)
    }
    /// `MPI_TYPE_NULL`
    #[inline(always)]
    pub fn type_null(self) -> usize {
        self.predefined(4)
    }
    /// `MPI_INFO_NULL`
    pub fn info_null(self) -> usize {
        self.predefined(5)
    }

    /// A handle as it was passed: `int` handles leave the upper half of a register undefined.
    #[inline]
    pub fn handle(self, raw: usize) -> usize {
        if self.abi.handle_bytes == 4 { raw & 0xffff_ffff } else { raw }
    }

    /// The handle at `index` of an array of handles in C.
    ///
    /// # Safety
    /// The array must be that long.
    #[inline]
    pub unsafe fn handle_at(self, array: *const c_void, index: usize) -> usize {
        // SAFETY: inside the array, which holds handles of this size.
        unsafe {
            if self.abi.handle_bytes == 4 {
                array.cast::<u32>().add(index).read_unaligned() as usize
            } else {
                array.cast::<usize>().add(index).read_unaligned()
            }
        }
    }

    /// A communicator.
    #[inline]
    pub fn comm(self, handle: usize) -> i64 {
        if handle == self.comm_world() {
            COMM_WORLD
        } else if handle == self.comm_self() {
            COMM_SELF
        } else if handle == self.comm_null() {
            COMM_NULL
        } else {
            handle as i64
        }
    }

    /// A rank, source or root.
    #[inline]
    pub fn rank(self, rank: c_int) -> i64 {
        if rank >= 0 {
            i64::from(rank)
        } else if rank == self.abi.any_source {
            ANY
        } else if rank == self.abi.proc_null {
            NOBODY
        } else if rank == self.abi.root {
            ROOT
        } else {
            UNDEFINED
        }
    }

    /// A tag.
    #[inline]
    pub fn tag(self, tag: c_int) -> i64 {
        if tag == self.abi.any_tag { ANY } else { i64::from(tag) }
    }

    /// Flags that a file is opened with: those of Open MPI and MPICH.
    pub fn file_mode(self, mode: c_int) -> i64 {
        let bits = self.abi.file_modes.iter().enumerate();
        bits.filter(|(_, flag)| mode & **flag != 0).map(|(bit, _)| 1 << bit).sum()
    }

    /// What an offset is counted from, as of `lseek(2)`; the argument itself when it is none of them.
    pub fn whence(self, whence: c_int) -> i64 {
        match self.abi.seek.iter().position(|&known| known == whence) {
            Some(position) => position as i64,
            None => whence.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beside the one of this process, which other tests start.
    fn with(abi: &'static Abi, predefined: Predefined) -> Mpi {
        Mpi { abi, handles: Box::leak(Box::new(predefined.in_order().map(AtomicUsize::new))) }
    }

    fn open_mpi() -> Mpi {
        let predefined = Predefined {
            comm_null: 0x10,
            comm_world: 0x20,
            comm_self: 0x30,
            request_null: 0x40,
            type_null: 0x50,
            info_null: 0x60,
        };
        with(&OPEN_MPI, predefined)
    }

    fn mpich() -> Mpi {
        with(&MPICH, MPICH.predefined())
    }

    fn standard() -> Mpi {
        with(&STANDARD, STANDARD.predefined())
    }

    #[test]
    fn constants_become_canonical() {
        let ranks = |mpi: Mpi| [0, 7, -1, -2, -3, -4, -32766].map(|rank| mpi.rank(rank));
        assert_eq!(ranks(open_mpi()), [0, 7, ANY, NOBODY, UNDEFINED, ROOT, UNDEFINED]);
        assert_eq!(ranks(mpich()), [0, 7, NOBODY, ANY, ROOT, UNDEFINED, UNDEFINED]);
        for mpi in [open_mpi(), mpich()] {
            assert_eq!([mpi.tag(-1), mpi.tag(0), mpi.tag(99)], [ANY, 0, 99]);
        }
        assert_eq!(ranks(standard()), [0, 7, ANY, UNDEFINED, NOBODY, ROOT, UNDEFINED]);
        assert_eq!([-2, 0].map(|tag| standard().tag(tag)), [ANY, 0]);
    }

    #[test]
    fn flags_of_files_become_canonical() {
        let (create, write_only, append) = (1, 4, 128);
        assert_eq!(open_mpi().file_mode(create | write_only), create as i64 | write_only as i64);
        assert_eq!(standard().file_mode(2 | 256 | 1), i64::from(create | write_only | append));
        assert_eq!([403, 401, 402].map(|whence| standard().whence(whence)), [0, 1, 2]);
        assert_eq!([600, 602, 604].map(|whence| mpich().whence(whence)), [0, 1, 2]);
    }

    #[test]
    fn communicators_become_canonical() {
        assert_eq!([0x10, 0x20, 0x30, 0x1234].map(|comm| open_mpi().comm(comm)), [0, 1, 2, 0x1234]);
        let passed = [0x0400_0000, 0x4400_0000, 0xdead_beef_4400_0001, 0xffff_ffff_8400_0002usize];
        assert_eq!(passed.map(|comm| mpich().comm(mpich().handle(comm))), [0, 1, 2, 0x8400_0002]);
    }

    #[test]
    fn handles_have_the_size_of_the_implementation() {
        let pointers = [5usize, 1 << 40];
        let ints = [0x2c00_0000u32, 0x9800_0001];
        // SAFETY: both arrays have two elements of the handle's size.
        unsafe {
            assert_eq!(open_mpi().handle_at(pointers.as_ptr().cast(), 1), 1 << 40);
            assert_eq!(mpich().handle_at(ints.as_ptr().cast(), 1), 0x9800_0001);
        }
    }

    #[test]
    fn statuses_are_decoded() {
        let second = Status { source: 3, tag: 42, bytes: 5 << 32 | 0xffff_fff0 };
        let mut open = [0i32; 12];
        open[6..8].copy_from_slice(&[3, 42]);
        open[10..12].copy_from_slice(&[0xffff_fff0u32 as i32, 5]);
        // SAFETY: two statuses of 24 bytes.
        unsafe {
            assert_eq!(open_mpi().status_at(open.as_ptr().cast(), 1), second);
            assert_eq!(open_mpi().completion_at(open.as_ptr().cast(), 1), second);
            open[9] = 1;
            assert_eq!(open_mpi().completion_at(open.as_ptr().cast(), 1), Status::UNKNOWN);
        }
        // A count above 4 GiB with the cancelled bit set, which is not part of it.
        let mpich_statuses = [0, 0, -1, -1, 0, 0xffff_fff0u32 as i32, 5 << 1 | 1, 3, 42, 0];
        // SAFETY: two statuses of 20 bytes.
        unsafe {
            assert_eq!(mpich().status_at(mpich_statuses.as_ptr().cast(), 1), second);
            assert_eq!(mpich().completion_at(mpich_statuses.as_ptr().cast(), 1), Status::UNKNOWN);
            let nobody = Status { source: NOBODY, tag: ANY, bytes: 0 };
            assert_eq!(mpich().status_at(mpich_statuses.as_ptr().cast(), 0), nobody);
        }
    }
}
