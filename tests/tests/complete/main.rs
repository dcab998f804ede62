//! Complete and harmless over real programs.
//!
//! Each program runs once by itself, once under the shim and strace at the same time, and once under strace alone. What it
//! prints, how it ends, which files it leaves and which calls fail must be the same each time. Of the second run, the numbers
//! of calls and bytes must be the same in both records for every process, class of calls ([`classes`]) and object
//! ([`objects`]); [`allowed`] lists what may differ.
//!
//! strace tells of every call which instruction made it, and so whether it was the program's, the dynamic loader's or the
//! shim's own. Programs that a preloaded library cannot enter are traced by the other recorder, which takes strace's place:
//! a thread has one tracer at a time. They are compared in a test of their own.

mod allowed;
mod classes;
mod compare;
mod kernel;
mod objects;
mod programs;
mod recorded;
mod tally;

use compare::check;

#[test]
fn coreutils() {
    check(&programs::coreutils());
}

#[test]
fn libc() {
    check(&programs::libc());
}

#[test]
fn tail_follows() {
    check(&programs::tail());
}

#[test]
fn archives() {
    check(&programs::archives());
}

#[test]
fn git() {
    check(&programs::git());
}

#[test]
fn sqlite() {
    check(&programs::sqlite());
}

#[test]
fn python_files() {
    check(&programs::python_files());
}

#[test]
fn python_events() {
    check(&programs::python_events());
}

#[test]
fn python_workers() {
    check(&programs::python_workers());
}

#[test]
fn perl() {
    check(&programs::perl());
}

#[test]
fn compiler() {
    check(&programs::compiler());
}

#[test]
fn web() {
    check(&programs::web());
}

#[test]
fn redis() {
    check(&programs::redis());
}

#[test]
fn fio() {
    check(&programs::fio());
}

#[test]
fn fio_between_processes() {
    check(&programs::fio_between_processes());
}

#[test]
fn lammps() {
    check(&programs::lammps());
}

#[test]
fn hpcc() {
    check(&programs::hpcc());
}

#[test]
fn fortran() {
    check(&programs::fortran());
}

#[test]
fn fortran_mpi() {
    check(&programs::fortran_mpi());
}
