//! The requests of one completion call. When one record cannot hold the list, further records of the same call hold
//! the rest; each stands for as many requests as it lists, and the last one for those that did not complete, too.

use core::ffi::c_int;
use syn_trace::Call;
use syn_trace::record::MAX_LIST;

use super::{Ptr, SUCCESS, int_at};
use crate::abi::{Mpi, Status};
use crate::language::{Handle, Language};
use crate::recorder::Recorder;
use crate::scratch::Scratch;

/// Numbers that a record holds for each completed request.
const EACH: usize = 4;

/// The requests of one completion call, copied before it sets them to null, and the list of those it completed.
pub struct Batch<'a> {
    mpi: &'a Mpi,
    /// How many requests were passed.
    pub count: usize,
    /// Their handles, or as many as there was room for.
    handles: &'a [usize],
    /// Where the call puts the statuses: the application's array or ours; none when there was no room for ours.
    pub statuses: Option<Ptr>,
    list: &'a mut [i64],
    used: usize,
    /// How many completed requests earlier records of this call list.
    listed_before: usize,
}

impl<'a> Batch<'a> {
    /// Copies the handles. `statuses` is the array to read from, or none when the application ignores them.
    ///
    /// # Safety
    /// The arrays must be those of the application's call.
    #[inline(always)]
    pub unsafe fn new<R: Recorder, L: Language>(
        open: R::Open,
        mpi: &'a Mpi,
        count: L::Int,
        requests: Ptr,
        statuses: Option<Ptr>,
    ) -> Self {
        // SAFETY: as the caller vouches.
        let count = usize::try_from(unsafe { L::int(count) }).unwrap_or(0);
        let status_bytes = if statuses.is_none() { count.saturating_mul(mpi.abi.status.bytes) } else { 0 };
        let list = count.saturating_mul(EACH).clamp(EACH, MAX_LIST);
        let handles = count.saturating_mul(size_of::<usize>());
        let wanted = handles.saturating_add(status_bytes).saturating_add(list * size_of::<i64>() + 8);
        let mut scratch = Scratch::of::<R>(open, wanted);
        let list = scratch.take_up_to(list);
        let handles: &mut [usize] = scratch.take_up_to(count);
        for (index, place) in handles.iter_mut().enumerate() {
            // SAFETY: the array is that long.
            *place = unsafe { L::handle_at(*mpi, Handle::Request, requests, index) };
        }
        let own = || scratch.take::<u8>(status_bytes).map(|statuses| statuses.as_mut_ptr().cast());
        Batch { mpi, count, handles, statuses: statuses.or_else(own), list, used: 0, listed_before: 0 }
    }

    /// Lists the request at `index` as completed, with the status at `position`.
    ///
    /// # Safety
    /// The call must have filled that status.
    pub unsafe fn add<R: Recorder>(&mut self, open: R::Open, call: Call, index: usize, position: usize) {
        // A handle that found no room is listed as 0, which is no handle of any implementation.
        let handle = self.handles.get(index).copied().unwrap_or(0);
        if handle == self.mpi.request_null() {
            return;
        }
        if self.used + EACH > self.list.len() {
            let listed = (self.used / EACH) as i64;
            R::part(open, call, SUCCESS.into(), &[listed, listed], &[], &self.list[..self.used]);
            self.listed_before += self.used / EACH;
            self.used = 0;
        }
        let status = match self.statuses {
            // SAFETY: as the caller vouches.
            Some(statuses) => unsafe { self.mpi.completion_at(statuses, position) },
            None => Status::UNKNOWN,
        };
        let completion = [handle as i64, status.source, status.tag, status.bytes];
        self.list[self.used..self.used + EACH].copy_from_slice(&completion);
        self.used += EACH;
    }

    /// Lists the requests at these indices as completed, with the statuses in the same order.
    ///
    /// # Safety
    /// The arrays must be those of the application's call, which has filled so many indices and statuses.
    pub unsafe fn add_indexed<R: Recorder, L: Language>(
        &mut self,
        open: R::Open,
        call: Call,
        requests: Ptr,
        indices: Ptr,
        completed: usize,
    ) {
        // SAFETY: as the caller vouches.
        unsafe {
            let first = self.first_index::<L>(requests, indices, completed);
            for position in 0..completed {
                // A negative index is MPI_UNDEFINED: all requests were null.
                if let Ok(index) = usize::try_from(int_at(indices, position) - first) {
                    self.add::<R>(open, call, index, position);
                }
            }
        }
    }

    /// Where the indices of this call start. MPICH before 4.1 counts from 0 in the `mpi_f08` module, too; it shows
    /// in the requests that have become null.
    unsafe fn first_index<L: Language>(&self, requests: Ptr, indices: Ptr, completed: usize) -> c_int {
        let null = self.mpi.request_null();
        let is_done = |index: usize| {
            let before = self.handles.get(index).copied().unwrap_or(null);
            // SAFETY: the application's array has at least as many requests as were copied.
            before != null && unsafe { L::handle_at(*self.mpi, Handle::Request, requests, index) } == null
        };
        let counts_from_zero = |position: usize| {
            // SAFETY: as the caller vouches.
            match usize::try_from(unsafe { int_at(indices, position) }) {
                Ok(0) => true,
                Ok(index) => !is_done(index - 1) && is_done(index),
                Err(_) => false,
            }
        };
        if L::FIRST_INDEX == 0 || (0..completed).any(counts_from_zero) { 0 } else { L::FIRST_INDEX }
    }

    /// Counts the call as one that completed nothing, if its time was left out: then it is over.
    pub fn count_in_vain<R: Recorder>(&self, open: R::Open, call: Call) -> bool {
        R::count_in_vain(open, call, &[self.count as i64, 0])
    }

    /// Writes the (last) record and ends the call.
    pub fn leave<R: Recorder>(self, open: R::Open, call: Call, result: c_int) {
        let numbers = [self.count.saturating_sub(self.listed_before) as i64, (self.used / EACH) as i64];
        R::leave(open, call, result.into(), &numbers, &[], &self.list[..self.used]);
    }
}
