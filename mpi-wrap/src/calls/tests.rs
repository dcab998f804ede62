//! The call forms with made-up real calls, on the binary interface of MPICH. There is no library to ask here, so
//! sizes of datatypes are 0.

use core::cell::{Cell, RefCell};
use core::ffi::c_int;
use core::ptr::{self, NonNull};
use syn_trace::Call;
use syn_trace::calls::{ANY, COMM_WORLD, UNDEFINED};
use syn_trace::record::MAX_LIST;

use super::Ptr;
use crate::language::{C, Fortran};
use crate::recorder::{MIN_SCRATCH_BYTES, Recorder};
use crate::session::pretend_mpich;

const NULL: u32 = 0x2c00_0000;
const WORLD: usize = 0x4400_0000;
const IGNORE: Ptr = ptr::without_provenance_mut(1);

#[derive(Debug, PartialEq)]
struct Record {
    call: Call,
    result: i64,
    numbers: Vec<i64>,
    list: Vec<i64>,
}

thread_local! {
    static RECORDS: RefCell<Vec<Record>> = const { RefCell::new(Vec::new()) };
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the records of this thread.
struct Keep;

// SAFETY: each call gets memory of its own, which is never given back.
unsafe impl Recorder for Keep {
    type Open = ();
    fn enter(_: Call) -> Option<()> {
        (!INSIDE.replace(true)).then_some(())
    }
    fn enter_untimed(_: Call) -> Option<()> {
        None
    }
    fn count_in_vain<const N: usize>((): (), _: Call, _: &[i64; N]) -> bool {
        false
    }
    fn returned((): ()) {}
    fn leave<const N: usize>((): (), call: Call, result: i64, numbers: &[i64; N], _: &[&[u8]], list: &[i64]) {
        Keep::part((), call, result, numbers, &[], list);
        INSIDE.set(false);
    }
    fn part<const N: usize>((): (), call: Call, result: i64, numbers: &[i64; N], _: &[&[u8]], list: &[i64]) {
        let record = Record { call, result, numbers: numbers.to_vec(), list: list.to_vec() };
        RECORDS.with_borrow_mut(|records| records.push(record));
    }
    fn abandon((): ()) {
        INSIDE.set(false);
    }
    fn began<const N: usize>((): (), call: Call, numbers: &[i64; N]) {
        Keep::part((), call, 0, numbers, &[], &[]);
    }
    fn initialised() {}
    fn world(_: i32, _: i32, _: u32) {}
    fn unsupported(_: &[u8]) {}
    fn unrecorded(_: &[u8]) -> bool {
        true
    }
    fn scratch((): (), _: usize) -> (NonNull<u8>, usize) {
        let memory = Vec::leak(vec![u64::MAX; MIN_SCRATCH_BYTES / 8]);
        (NonNull::from(memory).cast(), MIN_SCRATCH_BYTES)
    }
}

/// What the call recorded.
fn records(call: impl FnOnce()) -> Vec<Record> {
    pretend_mpich();
    RECORDS.take();
    call();
    assert!(!INSIDE.get(), "every call that was opened ends");
    RECORDS.take()
}

fn place<T>(value: &mut T) -> Ptr {
    ptr::from_mut(value).cast()
}

/// Fills a status as MPICH does.
unsafe fn fill(statuses: Ptr, index: usize, [source, tag, bytes]: [c_int; 3]) {
    // SAFETY: the caller's array has this status.
    unsafe { statuses.cast::<[c_int; 5]>().add(index).write_unaligned([bytes, 0, source, tag, 0]) }
}

#[test]
fn a_status_that_the_program_ignores_is_known_all_the_same() {
    let seen = records(|| {
        let real = |status: Ptr| {
            assert_ne!(status, IGNORE);
            // SAFETY: the form passes a status of its own.
            unsafe { fill(status, 0, [3, 7, 40]) };
            0
        };
        // SAFETY: what a program would pass.
        unsafe { super::receive::<Keep, C>(Call::MpiRecv, real, 5, 0x0c00_0000, -2, -1, WORLD, IGNORE) };
    });
    let numbers = vec![0, ANY, ANY, COMM_WORLD, 3, 7, 40];
    assert_eq!(seen, [Record { call: Call::MpiRecv, result: 0, numbers, list: vec![] }]);
}

#[test]
fn a_failed_call_matched_nothing_and_its_results_are_not_read() {
    let seen = records(|| {
        let nowhere = ptr::without_provenance_mut(8);
        // SAFETY: the real call fails, so the places of results are not touched.
        unsafe {
            super::receive::<Keep, C>(Call::MpiRecv, |_| 15, 5, 1, 0, 0, WORLD, nowhere);
            super::isend_irecv::<Keep, C>(Call::MpiIsend, || 15, 5, 1, 0, 0, WORLD, nowhere);
            super::create::<Keep, C>(Call::MpiCommDup, || 15, WORLD, nowhere);
        }
    });
    assert_eq!(seen[0].numbers, [0, 0, 0, COMM_WORLD, UNDEFINED, UNDEFINED, 0]);
    assert_eq!(seen[1].numbers, [0, 0, 0, COMM_WORLD, 0]);
    assert_eq!(seen[2].numbers, [COMM_WORLD, 0]);
    assert!(seen.iter().all(|record| record.result == 15));
}

#[test]
fn calls_inside_a_call_are_made_and_not_recorded() {
    let seen = records(|| {
        // SAFETY: what a program would pass.
        let inner = || unsafe { super::barrier::<Keep, C>(Call::MpiBarrier, || 9, WORLD, super::NO_REQUEST) };
        // SAFETY: as above.
        let result = unsafe { super::barrier::<Keep, C>(Call::MpiBarrier, inner, WORLD, super::NO_REQUEST) };
        assert_eq!(result, 9);
    });
    assert_eq!(seen.len(), 1);
}

#[test]
fn null_requests_are_passed_but_not_listed() {
    let mut requests = [0x9800_0001u32, NULL, 0x9800_0002];
    let at = place(&mut requests);
    let seen = records(|| {
        let real = |statuses: Ptr| {
            // SAFETY: three requests and as many statuses of the form's own.
            unsafe {
                fill(statuses, 0, [1, 10, 100]);
                fill(statuses, 2, [2, 20, 200]);
                at.cast::<[u32; 3]>().write([NULL; 3]);
            }
            0
        };
        // SAFETY: what a program would pass.
        unsafe { super::wait_all::<Keep, C>(Call::MpiWaitall, real, 3, at, IGNORE) };
    });
    assert_eq!(seen[0].numbers, [3, 2]);
    assert_eq!(seen[0].list, [0x9800_0001, 1, 10, 100, 0x9800_0002, 2, 20, 200]);
}

#[test]
fn long_lists_go_on_in_further_records_that_add_up() {
    let mut requests: Vec<u32> = (0..2000).collect();
    let mut statuses = vec![[0 as c_int; 5]; 2000];
    let at: Ptr = requests.as_mut_ptr().cast();
    let statuses: Ptr = statuses.as_mut_ptr().cast();
    let seen = records(|| {
        // SAFETY: what a program would pass.
        unsafe { super::wait_all::<Keep, C>(Call::MpiWaitall, |_| 0, 2000, at, statuses) };
    });
    let each = (MAX_LIST / 4) as i64;
    let numbers: Vec<_> = seen.iter().map(|record| record.numbers.clone()).collect();
    assert_eq!(numbers, [vec![each, each], vec![each, each], vec![2000 - 2 * each; 2]]);
    let handles: Vec<i64> = seen.iter().flat_map(|record| record.list.iter().step_by(4)).copied().collect();
    assert_eq!(handles, (0..2000).collect::<Vec<i64>>());
}

#[test]
fn more_requests_than_memory_are_recorded_without_statuses() {
    let count = 5000;
    let mut requests: Vec<u32> = (1..=count as u32).collect();
    let at: Ptr = requests.as_mut_ptr().cast();
    let seen = records(|| {
        let real = |statuses: Ptr| {
            assert_eq!(statuses, IGNORE, "there is no room for statuses of our own");
            0
        };
        // SAFETY: what a program would pass.
        unsafe { super::wait_all::<Keep, C>(Call::MpiWaitall, real, count, at, IGNORE) };
    });
    assert_eq!(seen.iter().map(|record| record.numbers[1]).sum::<i64>(), i64::from(count));
    assert_eq!(seen[0].list[..8], [1, UNDEFINED, UNDEFINED, 0, 2, UNDEFINED, UNDEFINED, 0]);
}

#[test]
fn a_test_that_completes_nothing_lists_nothing() {
    let (mut request, mut flag) = (0x9800_0001u32, 0);
    let seen = records(|| {
        // SAFETY: what a program would pass.
        unsafe {
            super::test::<Keep, C>(Call::MpiTest, |_| 0, place(&mut request), place(&mut flag), IGNORE);
        }
    });
    assert_eq!((&seen[0].numbers[..], &seen[0].list[..]), (&[1, 0][..], &[][..]));
}

/// `MPI_Waitany` in Fortran on two requests, of which the call completes the second and returns `index`.
fn fortran_wait_any(index: c_int) -> Vec<Record> {
    let mut requests = [0x9800_0001u32, 0x9800_0002];
    let (at, mut returned, mut status) = (place(&mut requests), 0, [0 as c_int; 5]);
    let index_at = place(&mut returned);
    records(|| {
        let real = |status: Ptr| {
            // SAFETY: the program's status, requests and index.
            unsafe {
                fill(status, 0, [4, 5, 6]);
                if index >= 0 {
                    at.cast::<u32>().add(1).write(NULL);
                }
                index_at.cast::<c_int>().write(index);
            }
            0
        };
        // SAFETY: what a program would pass.
        unsafe {
            let status = place(&mut status);
            super::wait_any::<Keep, Fortran>(Call::MpiWaitany, real, &2, at, index_at, status);
        }
    })
}

#[test]
fn indices_in_fortran_start_at_one_except_where_they_do_not() {
    let second = [0x9800_0002, 4, 5, 6];
    assert_eq!(fortran_wait_any(2)[0].list, second);
    assert_eq!(fortran_wait_any(1)[0].list, second, "counted from 0");
    assert_eq!(fortran_wait_any(-32766)[0].numbers, [2, 0]);
    assert_eq!(fortran_wait_any(-32765)[0].numbers, [2, 0], "MPI_UNDEFINED made one-based by mistake");
}
