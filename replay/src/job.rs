//! What is replayed, on which machine, how.

use crate::args::Args;
use crate::burn::Speed;
use crate::communicate::{Comm, MpiIo};
use crate::delays::Delays;
use crate::demands::own::OwnMemory;
use crate::io::{Handles, Target};
use crate::mode::Mode;
use crate::storage::{Folder, Parents, Paths, Root};
use crate::transport::polls;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use syn_plan::{Mpi, Op, Plan, Program, Step};

/// How fast this machine is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine {
    /// How fast it computes.
    pub speed: Speed,
    /// What the replay itself adds to the time of a call, nanoseconds.
    pub io_inside_ns: f64,
    /// The same of a wait.
    pub wait_inside_ns: f64,
    /// What going to a computation and from it costs, nanoseconds.
    pub compute_step_ns: f64,
    /// Nanoseconds in a tick of the processor's counter; 0 where it does not tell the time.
    pub tick_ns: f64,
    /// How much later than asked for a sleep ends, nanoseconds.
    pub wake_ns: f64,
}

/// One replay of a plan.
#[derive(Debug)]
pub struct Job<'a> {
    /// What is replayed.
    pub plan: &'a Plan,
    /// Its files below the root, by number.
    pub paths: &'a Paths,
    /// Where.
    pub root: &'a Root,
    /// Grows when a process changes what the path of a folder leads to; `None` where processes cannot tell each other.
    pub generation: Option<&'a AtomicU64>,
    /// When operations are issued.
    pub mode: Mode,
    /// How fast the machine is.
    pub machine: Machine,
    /// What computation is multiplied with.
    pub cpu_scale: f64,
    /// Whether messages are waited for by polling.
    pub polls: bool,
    /// Memory of the replay's processes themselves; `None` where no demand asks for it.
    pub own: Option<OwnMemory<'a>>,
    /// The partner of demands on the network; without it a thread of the replay.
    pub peer: Option<&'a str>,
    /// Delays that a test asked for.
    pub delays: Option<Delays>,
    /// What becomes of communication through MPI.
    pub comm: Comm,
    /// And of files that were used through it.
    pub mpi_io: MpiIo,
    /// Where the root is, for libraries that open files by name.
    #[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "MPI is one"))]
    pub folder: &'a Path,
}

impl<'a> Job<'a> {
    /// As the command line says; `generation` and `own` are in memory that processes share.
    pub fn new(
        args: &'a Args,
        plan: &'a Plan,
        paths: &'a Paths,
        folder: &'a Folder,
        (generation, own): (Option<&'a AtomicU64>, Option<OwnMemory<'a>>),
        machine: Machine,
        (comm, mpi_io): (Comm, MpiIo),
    ) -> Job<'a> {
        let polls = polls(plan, args.wait);
        Job {
            plan,
            paths,
            root: &folder.root,
            generation,
            mode: args.mode,
            machine,
            cpu_scale: args.cpu_scale,
            polls,
            own,
            peer: args.peer.as_deref(),
            delays: None,
            comm,
            mpi_io,
            folder: &folder.path,
        }
    }

    /// Whether the way in which communication is replayed does without this.
    pub fn leaves_out(&self, op: &Op) -> bool {
        if self.mode != Mode::Closed {
            return false;
        }
        match *op {
            Op::Signal { edge } | Op::Wait { edge, .. } => {
                !self.comm.follows(&self.plan.edges[edge as usize])
            }
            Op::Mpi { call: Mpi::FileEnter, .. } => self.mpi_io == MpiIo::Posix,
            Op::Mpi { call, .. } if call.is_on_file() => false,
            Op::Mpi { .. } => self.comm == Comm::None,
            _ => false,
        }
    }

    /// The steps of a program that are done, repeats followed, each with its number in the plan.
    pub fn done<'p>(&'p self, program: &'p Program) -> impl Iterator<Item = (u64, Step)> + 'p {
        (0..).zip(program.steps.unrolled()).filter(|(_, step)| !self.leaves_out(&step.op))
    }

    /// The programs with these numbers, as one process with its own open files.
    pub fn target(&self, programs: &[usize]) -> Target<'a> {
        let handles = Handles::for_programs(programs.iter().map(|&index| &self.plan.programs[index]));
        let (root, files, paths) = (self.root, &self.plan.files[..], self.paths);
        let names = &self.plan.names[..];
        let parents = Parents::new(root, paths, self.generation);
        Target { root, files, paths, parents, names, handles, direct_refused: AtomicU64::new(0) }
    }
}
