//! Which process is which rank of which `MPI_COMM_WORLD`.

use syn_trace::Run;

/// More ranks than any machine runs. A header that says more is damaged, and nothing is made as large as it says.
const MOST_RANKS: u32 = 1 << 22;

/// One `MPI_COMM_WORLD`. A run has several when its job started several MPI programs.
#[derive(Debug)]
pub struct World {
    /// The process image of every rank; `None` where no readable trace says that it is that rank.
    pub members: Vec<Option<u32>>,
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
    /// Puts every process with a rank into the first world of its size in which that rank is free: worlds of one
    /// size follow each other, and processes stand in the order of their starts.
    pub fn of(run: &Run) -> Worlds {
        let mut found = Worlds {
            worlds: Vec::new(),
            of_process: vec![None; run.processes.len()],
            impossible: Vec::new(),
        };
        for (index, process) in run.processes.iter().enumerate() {
            let Some(rank) = process.rank else { continue };
            if rank >= process.ranks || process.ranks > MOST_RANKS {
                found.impossible.push(index as u32);
                continue;
            }
            let size = process.ranks as usize;
            let free = |world: &World| world.members.len() == size && world.members[rank as usize].is_none();
            let world = found.worlds.iter().position(free).unwrap_or_else(|| {
                found.worlds.push(World { members: vec![None; size] });
                found.worlds.len() - 1
            });
            found.worlds[world].members[rank as usize] = Some(index as u32);
            found.of_process[index] = Some((world as u32, rank));
        }
        found
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
