//! Starting and completing requests.

#![allow(unsafe_code)]

use super::engine::{Engine, until};
use mpi::ffi::{self, MPI_Request};
use std::os::raw::c_int;
use syn_plan::Completion;

/// So many requests are completed without memory of their own.
const FEW: usize = 16;

/// Requests for one call, null at first.
struct Few {
    few: [MPI_Request; FEW],
    many: Vec<MPI_Request>,
    count: usize,
}

impl Few {
    fn new(count: usize) -> Few {
        // SAFETY: a constant of the MPI that is linked.
        let null = unsafe { ffi::RSMPI_REQUEST_NULL };
        let many = if count > FEW { vec![null; count] } else { Vec::new() };
        Few { few: [null; FEW], many, count }
    }

    fn all(&mut self) -> &mut [MPI_Request] {
        if self.count > FEW { &mut self.many } else { &mut self.few[..self.count] }
    }
}

/// So many null requests are passed at most, whatever a plan says.
const MOST_NULL: usize = 1 << 20;

impl Engine<'_> {
    /// Starts the requests in a list.
    ///
    /// # Safety
    /// The plan has been checked, and the buffers are made for its calls.
    pub(super) unsafe fn start(&self, list: u32, all: bool) {
        let numbers = &self.plan.lists[list as usize];
        let mut started = Few::new(numbers.len());
        let mut count = 0;
        for number in numbers.iter().map(|&number| number as u32) {
            let persistent = if self.prepares { self.state().persistent.get(&number).copied() } else { None };
            // SAFETY: as the caller vouches.
            unsafe {
                match persistent {
                    None => {
                        let request = self.requests.get(number);
                        // Of a communicator that is not in the plan there is none: that is replayed as time.
                        if request != ffi::RSMPI_REQUEST_NULL {
                            started.all()[count] = request;
                            count += 1;
                        }
                    }
                    Some(what) => {
                        let mut new = ffi::RSMPI_REQUEST_NULL;
                        self.gather(&what, self.buffers.of_request(number), Some(&mut new));
                        self.keep(number, new);
                    }
                }
            }
        }
        let started = &mut started.all()[..count];
        // SAFETY: these are persistent requests, whose handles starting leaves as they are.
        unsafe {
            if all && !started.is_empty() {
                ffi::MPI_Startall(started.len() as c_int, started.as_mut_ptr());
            } else {
                started.iter_mut().for_each(|request| {
                    ffi::MPI_Start(request);
                });
            }
        }
    }

    /// Completes the requests in a list.
    ///
    /// # Safety
    /// As for [`Engine::start`].
    pub(super) unsafe fn complete(&self, how: Completion, given: u32, list: u32) {
        let numbers = &self.plan.lists[list as usize];
        let count = numbers.len().max((given as usize).min(numbers.len() + MOST_NULL));
        let mut few = Few::new(count);
        let requests = few.all();
        for (request, &number) in requests.iter_mut().zip(numbers) {
            *request = self.requests.get(number as u32);
        }
        let (all, at) = (count as c_int, requests.as_mut_ptr());
        let mut index: c_int = 0;
        // SAFETY: `at` has as many requests, and `indices` room for as many numbers.
        unsafe {
            let (ignored, all_ignored) = (ffi::RSMPI_STATUS_IGNORE, ffi::RSMPI_STATUSES_IGNORE);
            match how {
                Completion::Wait => {
                    ffi::MPI_Wait(at, ignored);
                }
                Completion::Waitall => {
                    ffi::MPI_Waitall(all, at, all_ignored);
                }
                Completion::Waitany => {
                    ffi::MPI_Waitany(all, at, &mut index, ignored);
                }
                Completion::Test => until(|flag| ffi::MPI_Test(at, flag, ignored)),
                Completion::Testall => until(|flag| ffi::MPI_Testall(all, at, flag, all_ignored)),
                Completion::Testany => until(|flag| ffi::MPI_Testany(all, at, &mut index, flag, ignored)),
                Completion::Waitsome | Completion::Testsome => {
                    let some =
                        if how == Completion::Waitsome { ffi::MPI_Waitsome } else { ffi::MPI_Testsome };
                    let (mut few, mut many) = ([0; FEW], Vec::new());
                    let indices = match few.get_mut(..count) {
                        Some(few) => few,
                        None => {
                            many.resize(count, 0);
                            &mut many[..]
                        }
                    };
                    let mut left = numbers.len() as c_int;
                    loop {
                        let mut completed: c_int = 0;
                        some(all, at, &mut completed, indices.as_mut_ptr(), all_ignored);
                        left -= completed;
                        if left <= 0 || completed == ffi::RSMPI_UNDEFINED {
                            break;
                        }
                    }
                }
            }
        }
        for (&mut request, &number) in requests.iter_mut().zip(numbers) {
            self.requests.set(number as u32, request);
        }
    }
}
