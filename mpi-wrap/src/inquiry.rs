//! What is asked of MPI itself, after the call that is being recorded has succeeded, so that every handle is valid:
//! an inquiry with a bad handle would run the application's error handler, which ends the program by default.
//! Asked through the `PMPI_` names: other tools in the process do not see it.

use core::ffi::{c_char, c_int, c_void};
use core::mem::transmute;

use crate::abi::{CountField, Mpi, Status};
use crate::symbol::Symbol;

const SUCCESS: c_int = 0;

macro_rules! inquiries {
    ($( fn $function:ident = $name:literal ($($argument:ident: $type:ty),*); )*) => { $(
        /// What the MPI function returns, or an error when there is no such function.
        fn $function($($argument: $type),*) -> c_int {
            static SYMBOL: Symbol = Symbol::new(&[$name]);
            type Function = unsafe extern "C-unwind" fn($($type),*) -> c_int;
            match SYMBOL.find() {
                // SAFETY: the function of this name has this signature (handles as wide as a register), and the
                // callers below pass valid handles and places for the results.
                Some(found) => unsafe { transmute::<*mut core::ffi::c_void, Function>(found.address)($($argument),*) },
                None => crate::symbol::NO_SUCH_FUNCTION,
            }
        }
    )* };
}

inquiries! {
    fn initialized = c"PMPI_Initialized" (flag: *mut c_int);
    fn finalized = c"PMPI_Finalized" (flag: *mut c_int);
    fn get_library_version = c"PMPI_Get_library_version" (version: *mut c_char, length: *mut c_int);
    fn type_size = c"PMPI_Type_size" (datatype: usize, size: *mut c_int);
    fn comm_size = c"PMPI_Comm_size" (comm: usize, size: *mut c_int);
    fn comm_rank = c"PMPI_Comm_rank" (comm: usize, rank: *mut c_int);
    fn comm_remote_size = c"PMPI_Comm_remote_size" (comm: usize, size: *mut c_int);
    fn comm_get_parent = c"PMPI_Comm_get_parent" (parent: *mut usize);
    fn comm_test_inter = c"PMPI_Comm_test_inter" (comm: usize, flag: *mut c_int);
    fn comm_remote_group = c"PMPI_Comm_remote_group" (comm: usize, group: *mut usize);
    fn comm_group = c"PMPI_Comm_group" (comm: usize, group: *mut usize);
    fn group_size = c"PMPI_Group_size" (group: usize, size: *mut c_int);
    fn group_translate_ranks = c"PMPI_Group_translate_ranks"
        (group: usize, count: c_int, ranks: *const c_int, other: usize, translated: *mut c_int);
    fn group_free = c"PMPI_Group_free" (group: *mut usize);
    fn get_count = c"PMPI_Get_count_c" (status: *const c_void, datatype: usize, count: *mut i64);
    fn test_cancelled = c"PMPI_Test_cancelled" (status: *const c_void, flag: *mut c_int);
    fn topo_test = c"PMPI_Topo_test" (comm: usize, status: *mut c_int);
    fn cartdim_get = c"PMPI_Cartdim_get" (comm: usize, ndims: *mut c_int);
    fn graph_neighbours_count = c"PMPI_Graph_neighbors_count" (comm: usize, rank: c_int, count: *mut c_int);
    fn dist_graph_neighbours_count = c"PMPI_Dist_graph_neighbors_count"
        (comm: usize, sources: *mut c_int, destinations: *mut c_int, weighted: *mut c_int);
    fn cart_shift = c"PMPI_Cart_shift"
        (comm: usize, direction: c_int, distance: c_int, source: *mut c_int, destination: *mut c_int);
    fn graph_neighbours = c"PMPI_Graph_neighbors" (comm: usize, rank: c_int, most: c_int, neighbours: *mut c_int);
    fn dist_graph_neighbours = c"PMPI_Dist_graph_neighbors"
        (comm: usize, sources: c_int, source: *mut c_int, source_weight: *mut c_int, destinations: c_int, destination: *mut c_int, destination_weight: *mut c_int);
    fn type_get_envelope = c"PMPI_Type_get_envelope"
        (datatype: usize, integers: *mut c_int, addresses: *mut c_int, datatypes: *mut c_int, combiner: *mut c_int);
    fn type_get_contents = c"PMPI_Type_get_contents"
        (datatype: usize, integers: c_int, addresses: c_int, datatypes: c_int, integer: *mut c_int, address: *mut isize, of: *mut c_void);
    fn type_free = c"PMPI_Type_free" (datatype: *mut usize);
    fn info_get_nkeys = c"PMPI_Info_get_nkeys" (info: usize, keys: *mut c_int);
    fn info_get_nthkey = c"PMPI_Info_get_nthkey" (info: usize, n: c_int, key: *mut c_char);
    fn info_get = c"PMPI_Info_get"
        (info: usize, key: *const c_char, length: c_int, value: *mut c_char, flag: *mut c_int);
}

pub mod datatype;
pub mod hints;

/// The one number that an inquiry gives; `None` when it fails.
fn number(inquiry: impl FnOnce(*mut c_int) -> c_int) -> Option<c_int> {
    let mut number = 0;
    (inquiry(&mut number) == SUCCESS).then_some(number)
}

/// Has MPI been initialised and not finalized? May be asked at any time.
pub fn is_running() -> bool {
    number(initialized).unwrap_or(0) != 0 && number(finalized).unwrap_or(1) == 0
}

/// Bytes that a status counts; `byte` is `MPI_BYTE`.
fn count_in(status: *const c_void, byte: usize) -> i64 {
    let mut count = 0;
    if get_count(status, byte, &mut count) == SUCCESS { count.max(0) } else { 0 }
}

/// The longest `MPI_MAX_LIBRARY_VERSION_STRING`, that of MPICH.
pub const VERSION_BYTES: usize = 8192;

/// What the library says about itself: the first line of it.
pub fn library_version(buffer: &mut [u8]) -> &[u8] {
    if buffer.len() < VERSION_BYTES
        || number(|length| get_library_version(buffer.as_mut_ptr().cast(), length)).is_none()
    {
        return b"";
    }
    first_line(buffer)
}

fn first_line(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&byte| byte == 0 || byte == b'\n').unwrap_or(text.len());
    text[..end.min(256)].trim_ascii()
}

/// Whose members are asked for.
#[derive(Clone, Copy)]
pub enum Of {
    /// A communicator's, of its local group.
    Comm(usize),
    /// An inter-communicator's, of its remote group.
    Remote(usize),
    /// A group's.
    Group(usize),
}

impl Mpi {
    /// The status at `index` of an array.
    ///
    /// # Safety
    /// The array must be that long and the call that fills it must have succeeded.
    #[inline]
    pub unsafe fn status_at(self, array: *const c_void, index: usize) -> Status {
        let layout = &self.abi.status;
        // SAFETY: the fields lie inside this status, whose layout is the implementation's.
        unsafe {
            let status = array.cast::<u8>().add(index * layout.bytes);
            let int = |offset: usize| status.add(offset).cast::<c_int>().read_unaligned();
            Status {
                source: self.rank(int(layout.source)),
                tag: self.tag(int(layout.tag)),
                bytes: match layout.count {
                    CountField::Size(offset) => status.add(offset).cast::<i64>().read_unaligned(),
                    CountField::Halves(low, high) => {
                        i64::from(int(low) as u32) | (i64::from(int(high) as u32 >> 1) << 32)
                    }
                    CountField::Asked(byte) => count_in(status.cast(), byte),
                },
            }
        }
    }

    /// What the status at `index` says of a request that has completed; of one that was cancelled it may say anything.
    ///
    /// # Safety
    /// As of [`Mpi::status_at`].
    #[inline]
    pub unsafe fn completion_at(self, array: *const c_void, index: usize) -> Status {
        let layout = &self.abi.status;
        // SAFETY: the field lies inside this status, whose layout is the implementation's.
        let is_cancelled = unsafe {
            let status = array.cast::<u8>().add(index * layout.bytes);
            match layout.cancelled {
                Some(offset) => status.add(offset).cast::<c_int>().read_unaligned() & 1 != 0,
                None => number(|flag| test_cancelled(status.cast(), flag)).unwrap_or(0) != 0,
            }
        };
        // SAFETY: as the caller vouches.
        if is_cancelled { Status::UNKNOWN } else { unsafe { self.status_at(array, index) } }
    }

    /// Bytes of `count` elements of a datatype.
    #[inline]
    pub fn bytes(self, count: i64, datatype: usize) -> i64 {
        if count <= 0 || datatype == self.type_null() {
            return 0;
        }
        let size = number(|size| type_size(datatype, size)).unwrap_or(0);
        // A size that an int cannot hold is negative: MPI_UNDEFINED.
        count.saturating_mul(size.max(0).into())
    }

    /// This process's rank in a communicator.
    pub fn rank_in(self, comm: usize) -> Option<c_int> {
        number(|rank| comm_rank(comm, rank))
    }

    /// Number of processes in a communicator, of the local group if it has two.
    pub fn size_of(self, comm: usize) -> c_int {
        number(|size| comm_size(comm, size)).unwrap_or(0)
    }

    /// Is it an intercommunicator?
    pub fn is_inter(self, comm: usize) -> bool {
        comm != self.comm_world() && number(|flag| comm_test_inter(comm, flag)).unwrap_or(0) != 0
    }

    /// The inter-communicator with those who have started this world at run time.
    pub fn parent(self) -> Option<usize> {
        let mut parent = 0;
        let asked = comm_get_parent(&mut parent);
        Some(self.handle(parent)).filter(|&parent| asked == SUCCESS && parent != self.comm_null())
    }

    /// Number of processes this one exchanges data with in a collective: the remote group if there is one.
    pub fn peers_in(self, comm: usize) -> c_int {
        if self.is_inter(comm) {
            number(|size| comm_remote_size(comm, size)).unwrap_or(0)
        } else {
            self.size_of(comm)
        }
    }

    /// From how many processes this one receives in a neighbourhood collective, and to how many it sends.
    pub fn neighbours_in(self, comm: usize) -> (c_int, c_int) {
        let [cart, graph] = self.abi.topologies;
        let both = |count: Option<c_int>| (count.unwrap_or(0), count.unwrap_or(0));
        match number(|status| topo_test(comm, status)) {
            Some(status) if status == cart => {
                both(number(|ndims| cartdim_get(comm, ndims)).map(|dimensions| 2 * dimensions))
            }
            Some(status) if status == graph => {
                let rank = self.rank_in(comm).unwrap_or(0);
                both(number(|count| graph_neighbours_count(comm, rank, count)))
            }
            _ => {
                let (mut sources, mut destinations, mut weighted) = (0, 0, 0);
                dist_graph_neighbours_count(comm, &mut sources, &mut destinations, &mut weighted);
                (sources, destinations)
            }
        }
    }

    /// The neighbours of this process in a communicator with a topology, in the order in which collective calls take them: the ranks
    /// from which it receives, and those to which it sends; how many the former are, and whether it is a grid. None where there is not enough room.
    pub fn neighbours(self, comm: usize, room: &mut [c_int]) -> Option<(bool, usize, &[c_int])> {
        let (sources, destinations) = self.neighbours_in(comm);
        let (from, all) = (sources.max(0) as usize, (sources.max(0) + destinations.max(0)) as usize);
        // Behind the ranks are their weights.
        if 2 * all > room.len() {
            return None;
        }
        let (ranks, weights) = room.split_at_mut(all);
        let [cart, graph] = self.abi.topologies;
        let kind = number(|status| topo_test(comm, status))?;
        let known = match kind {
            status if status == cart => {
                let mut known = true;
                for (direction, pair) in (0..).zip(ranks[..from].chunks_exact_mut(2)) {
                    let [before, behind] = pair else { continue };
                    known &= cart_shift(comm, direction, 1, before, behind) == SUCCESS;
                }
                ranks.copy_within(..from, from);
                known
            }
            status if status == graph => {
                let mine = self.rank_in(comm)?;
                let known = graph_neighbours(comm, mine, sources, ranks.as_mut_ptr()) == SUCCESS;
                ranks.copy_within(..from, from);
                known
            }
            _ => {
                let ((source, destination), (one, other)) =
                    (ranks.split_at_mut(from), weights.split_at_mut(from));
                let [source, one, destination, other] =
                    [source, one, destination, other].map(|part| part.as_mut_ptr());
                dist_graph_neighbours(comm, sources, source, one, destinations, destination, other) == SUCCESS
            }
        };
        known.then_some((kind == cart, from, ranks))
    }

    /// The ranks in `MPI_COMM_WORLD` of the members, in rank order, a piece of
    /// `ranks.len()` at a time.
    pub fn world_ranks(
        self,
        of: Of,
        ranks: &mut [c_int],
        translated: &mut [c_int],
        mut piece: impl FnMut(&[c_int]),
    ) {
        let (mut group, mut world) = (0, 0);
        match of {
            Of::Comm(comm) if comm_group(comm, &mut group) != SUCCESS => return,
            Of::Remote(comm) if comm_remote_group(comm, &mut group) != SUCCESS => return,
            Of::Comm(_) | Of::Remote(_) => {}
            Of::Group(of) => group = of,
        }
        if comm_group(self.comm_world(), &mut world) == SUCCESS {
            let size = number(|size| group_size(group, size)).unwrap_or(0);
            let mut first = 0;
            while first < size {
                let count = (size - first).min(ranks.len().min(translated.len()) as c_int);
                for (rank, place) in (first..first + count).zip(ranks.iter_mut()) {
                    *place = rank;
                }
                let done =
                    group_translate_ranks(group, count, ranks.as_ptr(), world, translated.as_mut_ptr());
                if count == 0 || done != SUCCESS {
                    break;
                }
                piece(&translated[..count as usize]);
                first += count;
            }
            group_free(&mut world);
        }
        if !matches!(of, Of::Group(_)) {
            group_free(&mut group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_line_of_the_version_is_kept() {
        assert_eq!(
            first_line(b"MPICH Version:      4.0.2\nMPICH Release date: x\0zz"),
            b"MPICH Version:      4.0.2"
        );
        assert_eq!(
            first_line(b"Open MPI v4.1.4, package: Debian\0\0\0"),
            b"Open MPI v4.1.4, package: Debian"
        );
        assert_eq!(first_line(&[b'x'; 300]).len(), 256);
    }
}
