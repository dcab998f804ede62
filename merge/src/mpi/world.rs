//! Which process is which rank of which `MPI_COMM_WORLD`.

use super::members::count;
use std::collections::{BTreeMap, BTreeSet};
use syn_trace::calls::effect::{Effect, Mpi};
use syn_trace::{Call, Run};

/// More ranks than any machine runs. A header that says more is damaged, and nothing is made as large as it says.
const MOST_RANKS: u32 = 1 << 22;

/// One `MPI_COMM_WORLD`. A run has several when its job started several MPI programs.
#[derive(Debug)]
pub struct World {
    /// The process image of every rank; `None` where no readable trace says that it is that rank.
    pub members: Vec<Option<u32>>,
    /// Another one of its size began before its ranks had met, and nothing tells which process is of which.
    pub is_guess: bool,
    /// How many ranks of another world have started it at run time; nothing where it was not started so, or is alone in the run.
    pub started_by: Option<u32>,
    /// When its first process began.
    pub began_ns: u64,
}

impl World {
    /// The ranks of which there is no trace.
    pub fn missing(&self) -> Vec<usize> {
        (0..self.members.len()).filter(|&rank| self.members[rank].is_none()).collect()
    }
}

/// Every world of a run.
#[derive(Debug)]
pub struct Worlds {
    /// By the start of their first process.
    pub worlds: Vec<World>,
    /// World and rank of every process that has one.
    pub of_process: Vec<Option<(u32, u32)>>,
    /// Processes that say they are a rank that cannot be.
    pub impossible: Vec<u32>,
}

impl Worlds {
    /// Puts every process with a rank into the first world of its job and size in which that rank is free: worlds of one
    /// job and size follow each other, and processes stand in the order of their starts.
    pub fn of(run: &Run) -> Worlds {
        let mut found = Worlds {
            worlds: Vec::new(),
            of_process: vec![None; run.processes.len()],
            impossible: Vec::new(),
        };
        let several = sizes_of_several(run);
        let mut alike: BTreeMap<(usize, u64), Vec<usize>> = BTreeMap::new();
        for (index, process) in run.processes.iter().enumerate() {
            let Some(rank) = process.rank else { continue };
            if rank >= process.ranks || process.ranks > MOST_RANKS {
                found.impossible.push(index as u32);
                continue;
            }
            let size = process.ranks as usize;
            // Where there is one world, its ranks need not know their job.
            let job = if several.contains(&process.ranks) { process.job } else { 0 };
            let alike = alike.entry((size, job)).or_default();
            let free = |world: &&usize| found.worlds[**world].members[rank as usize].is_none();
            let world = alike.iter().find(free).copied().unwrap_or_else(|| {
                alike.push(found.worlds.len());
                found.worlds.push(World {
                    members: vec![None; size],
                    is_guess: false,
                    started_by: None,
                    began_ns: 0,
                });
                found.worlds.len() - 1
            });
            found.worlds[world].members[rank as usize] = Some(index as u32);
            found.of_process[index] = Some((world as u32, rank));
        }
        // Where there is one, nobody has started it.
        if found.worlds.len() > 1 {
            for world in &mut found.worlds {
                let members = || world.members.iter().flatten().copied();
                world.began_ns = members().map(|process| began_ns(run, process)).min().unwrap_or(0);
                world.started_by = members().find_map(|process| starters(run, process)).flatten();
            }
        }
        for ((size, _), alike) in &alike {
            // Who is alone has nobody to be confused with.
            if *size > 1 && alike.len() > 1 {
                found.find_guesses(run, alike);
            }
        }
        found
    }

    /// Worlds of one job and size are told apart by time alone: the ranks of one have met in `MPI_Init` before the next begins.
    fn find_guesses(&mut self, run: &Run, alike: &[usize]) {
        let met = |&world: &usize| {
            let members = self.worlds[world].members.iter().flatten();
            members.map(|&process| met_ns(run, process)).min().unwrap_or(0)
        };
        let began: Vec<u64> = alike.iter().map(|&world| self.worlds[world].began_ns).collect();
        let met: Vec<u64> = alike.iter().map(met).collect();
        for later in 1..alike.len() {
            for earlier in (0..later).filter(|&earlier| began[later] < met[earlier]) {
                self.worlds[alike[later]].is_guess = true;
                self.worlds[alike[earlier]].is_guess = true;
            }
        }
    }

    /// World and rank of a process whose world is known for certain.
    pub fn known(&self, process: u32) -> Option<(u32, u32)> {
        self.of_process[process as usize].filter(|&(world, _)| !self.worlds[world as usize].is_guess)
    }

    /// Whether the job had one world and this process is of it: what a replay that makes the calls can do.
    pub fn is_one(&self, process: u32) -> bool {
        self.worlds.len() == 1 && self.of_process[process as usize].is_some()
    }

    /// The number of ranks of the largest world, 0 without MPI.
    pub fn ranks(&self) -> usize {
        self.worlds.iter().map(|world| world.members.len()).max().unwrap_or(0)
    }
}

/// How many ranks the worlds have of which there are several.
fn sizes_of_several(run: &Run) -> BTreeSet<u32> {
    let mut ranks = BTreeSet::new();
    let again = |process: &&syn_trace::run::Process| match process.rank {
        Some(rank) => !ranks.insert((process.ranks, rank)),
        None => false,
    };
    run.processes.iter().filter(again).map(|process| process.ranks).collect()
}

/// When the first call of a process is on record.
fn began_ns(run: &Run, process: u32) -> u64 {
    let threads = run.processes[process as usize].threads.iter().map(|&thread| &run.threads[thread]);
    threads.filter_map(|thread| Some(thread.start_ns(&thread.events().next()?))).min().unwrap_or(0)
}

/// By how many ranks of another world a process was started: a note behind its `MPI_Init` tells that group. Nothing where that is not on
/// record.
fn starters(run: &Run, process: u32) -> Option<Option<u32>> {
    run.processes[process as usize].threads.iter().find_map(|&thread| {
        let mut events = run.threads[thread].events();
        events.find(|event| is_init(event.call))?;
        let note = events.next().filter(|note| note.call == Call::MpiRemoteGroup);
        let count = note.map(|note| count(&note.list.iter().collect::<Vec<_>>()));
        Some(count.filter(|count| (1..=i64::from(MOST_RANKS)).contains(count)).map(|count| count as u32))
    })
}

fn is_init(call: Call) -> bool {
    call.effect() == Effect::Mpi(Mpi::Init)
}

/// When a process had begun MPI; where that is not on record, when it ended.
fn met_ns(run: &Run, process: u32) -> u64 {
    let threads = || run.processes[process as usize].threads.iter().map(|&thread| &run.threads[thread]);
    let begins = threads().filter_map(|thread| {
        let begins = thread.events().find(|event| is_init(event.call))?;
        Some(thread.returned_ns(&begins))
    });
    let ends = || threads().filter_map(|thread| Some(thread.returned_ns(&thread.events().last()?)));
    begins.min().or_else(|| ends().max()).unwrap_or(0)
}
