//! What the ranks of a parallel job have in common when nothing recorded has started them.
//!
//! A name must be that of one start of one program: the number of a batch job is not, since its script may start several.

use crate::core::procfs::{decimal, read_file};
use crate::core::text::Text;
use crate::core::{hash, sys};
use core::ffi::CStr;

/// Looks for a variable of the environment.
pub type Variable = fn(&[u8]) -> Option<&'static [u8]>;

/// Longer ids are cut.
pub const MOST_BYTES: usize = 200;
/// So many processes may lie between a rank and the one that Hydra has started on its machine (a shell, `env`, `numactl`).
const MOST_ANCESTORS: usize = 16;
/// Arguments of the proxy that Hydra starts on each machine (MPICH), and of the one above that (Intel MPI): where it reaches
/// `mpiexec`, which at any time is one job's alone. (Whether Intel's proxies on many machines all reach `mpiexec` itself could
/// not be tried.)
const CONTROL_PORT: &[u8] = b"--control-port";
const UPSTREAM_HOST: &[u8] = b"--upstream-host";
const UPSTREAM_PORT: &[u8] = b"--upstream-port";
/// The name that Intel MPI's `mpiexec` gives each of its starts, in the environment of the ranks (2021.18; its proxies have no
/// address among their arguments where all ranks are on one machine).
const INTEL_UUID: &[u8] = b"I_MPI_HYDRA_UUID";
/// Steps of Slurm from here on are none that `srun` has started: batch scripts, interactive shells.
const FIRST_SPECIAL_STEP: u32 = 0xffff_fff0;

/// A job, as one of its ranks knows it.
pub struct Job<'a> {
    /// The same for all its ranks.
    pub id: &'a [u8],
    /// The process on this machine from which the id was learnt, and when that started: of two jobs with one id, one after the
    /// other, it is not the same. Empty where there is none.
    pub origin: &'a [u8],
}

/// The job that this process is a rank of.
pub fn find(variable: Variable, room: &mut [u8; 2 * MOST_BYTES]) -> Option<Job<'_>> {
    let set = |name: &[u8]| variable(name).filter(|value| !value.is_empty());
    let (id, origin) = room.split_at_mut(MOST_BYTES);
    let (mut id, mut origin) = (Text::of(id), Text::of(origin));
    let is_rank = set(b"PMI_RANK").or(set(b"PMI_ID")).is_some();
    if let Some(namespace) = set(b"PMIX_NAMESPACE") {
        // PMIx standard, 3.4.3: unique among all running jobs.
        id.push(namespace);
    } else if let Some(uuid) = set(INTEL_UUID).filter(|_| is_rank) {
        id.push(b"hydra-").push(uuid);
    } else if is_rank {
        of_hydra(&mut id, &mut origin);
    }
    if id.is_empty() && is_task_of_slurm(set) {
        id.push(set(b"SLURM_JOB_ID")?).push(b".").push(set(b"SLURM_STEP_ID")?);
    } else if id.is_empty() && is_rank {
        // Started by something unknown: what it has in common with the other ranks is at most too much.
        let batch = [&b"PMI_JOBID"[..], b"SLURM_JOB_ID", b"PBS_JOBID", b"LSB_JOBID"];
        id.push(batch.into_iter().find_map(set)?);
    }
    (!id.is_empty()).then(|| Job { id: id.into_bytes(), origin: origin.into_bytes() })
}

/// A number made from its id, the same on all machines; 0 where none is known.
pub fn number(variable: Variable) -> u64 {
    let mut room = [0; 2 * MOST_BYTES];
    let Some(job) = find(variable, &mut room) else { return 0 };
    hash::of(job.id).max(1)
}

/// True for what `srun` itself has started. Programs that are started from such a task, a shell for instance, have its variables
/// and are none.
fn is_task_of_slurm(set: impl Fn(&[u8]) -> Option<&'static [u8]>) -> bool {
    let number = |name| core::str::from_utf8(set(name)?).ok()?.parse::<u32>().ok();
    // SAFETY: takes no pointers.
    let pid = unsafe { sys::getpid() } as u32;
    number(b"SLURM_TASK_PID") == Some(pid)
        && number(b"SLURM_STEP_ID").is_some_and(|step| step < FIRST_SPECIAL_STEP)
}

/// Hydra tells its ranks nothing that they have in common, but among the arguments of the process that has started them.
fn of_hydra(id: &mut Text<'_>, origin: &mut Text<'_>) -> bool {
    let mut room = [0; 4096];
    // SAFETY: takes no pointers.
    let mut pid = unsafe { sys::getppid() } as u64;
    for _ in 0..MOST_ANCESTORS {
        let Some(arguments) = read_of(pid, b"cmdline", &mut room) else { return false };
        let is_proxy = control_port(arguments, id);
        let Some(stat) = read_of(pid, b"stat", &mut room) else { return is_proxy };
        if is_proxy {
            let mut digits = [0; 20];
            origin.push(decimal(pid, &mut digits)).push(b" ").push(start(stat).unwrap_or(b""));
            return true;
        }
        match parent(stat) {
            Some(parent) if parent > 1 => pid = parent,
            _ => return false,
        }
    }
    false
}

/// Puts what leads to `mpiexec` into `id`, if it is among these arguments, which end with zero bytes.
fn control_port(arguments: &[u8], id: &mut Text<'_>) -> bool {
    let behind = |name: &[u8]| {
        let mut rest = arguments.split(|&byte| byte == 0).skip_while(|argument| *argument != name);
        rest.nth(1).filter(|value| !value.is_empty())
    };
    match (behind(CONTROL_PORT), behind(UPSTREAM_HOST), behind(UPSTREAM_PORT)) {
        (Some(address), ..) => id.push(b"hydra-").push(address),
        (None, Some(host), Some(port)) => id.push(b"hydra-").push(host).push(b":").push(port),
        _ => return false,
    };
    true
}

/// A field of what `/proc/<pid>/stat` holds, by its number in proc_pid_stat(5); the third one, the state, is the first behind
/// the name in brackets, which may hold anything.
fn field(stat: &[u8], number: usize) -> Option<&[u8]> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    stat[name_end..].split(|&byte| byte == b' ').nth(number - 2)
}

fn parent(stat: &[u8]) -> Option<u64> {
    core::str::from_utf8(field(stat, 4)?).ok()?.parse().ok()
}

/// When the process started, in ticks since the machine did.
fn start(stat: &[u8]) -> Option<&[u8]> {
    field(stat, 22)
}

/// A file about a process.
fn read_of<'a>(pid: u64, name: &[u8], room: &'a mut [u8; 4096]) -> Option<&'a [u8]> {
    let (mut path, mut digits, mut length) = ([0; 48], [0; 20], 0);
    for part in [b"/proc/", decimal(pid, &mut digits), b"/", name] {
        path[length..][..part.len()].copy_from_slice(part);
        length += part.len();
    }
    read_file(CStr::from_bytes_until_nul(&path).ok()?, room).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(arguments: &[&str]) -> Option<String> {
        let mut room = [0; MOST_BYTES];
        let mut id = Text::of(&mut room);
        let joined = arguments.iter().flat_map(|argument| [argument.as_bytes(), b"\0"].concat());
        let found = control_port(&joined.collect::<Vec<u8>>(), &mut id);
        found.then(|| String::from_utf8_lossy(id.into_bytes()).into_owned())
    }

    #[test]
    fn the_way_to_mpiexec_names_the_job() {
        let of_mpich = ["hydra_pmi_proxy", "--control-port", "node1:40123", "--rmk", "user"];
        assert_eq!(id_of(&of_mpich).as_deref(), Some("hydra-node1:40123"));
        let of_intel =
            ["hydra_bstrap_proxy", "--upstream-host", "node1", "--upstream-port", "37003", "--pgid", "0"];
        assert_eq!(id_of(&of_intel).as_deref(), Some("hydra-node1:37003"));
        assert_eq!(id_of(&["sh", "-c", "app --control-port"]), None);
        assert_eq!(id_of(&["app", "--control-port"]), None);
    }

    #[test]
    fn fields_are_found_behind_any_name() {
        let stat = b"7 (a) b) S 12 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 7777 8192";
        assert_eq!((parent(stat), start(stat)), (Some(12), Some(&b"7777"[..])));
        assert_eq!(parent(b"7 (a"), None);
    }

    fn id_with(variable: Variable) -> Option<String> {
        let mut room = [0; 2 * MOST_BYTES];
        find(variable, &mut room).map(|job| String::from_utf8_lossy(job.id).into_owned())
    }

    /// A batch job's number names no job by itself, and a shell's task none that is started from it.
    #[test]
    fn variables_that_name_a_job() {
        assert_eq!(id_with(|_| None), None);
        assert_eq!(id_with(|name| (name == b"PBS_JOBID").then_some(&b"17"[..])), None);
        let unknown: Variable = |name| match name {
            b"PMI_RANK" => Some(b"3"),
            b"PBS_JOBID" => Some(b"17"),
            _ => None,
        };
        assert_eq!(id_with(unknown).as_deref(), Some("17"));
        assert_eq!(
            id_with(|name| (name == b"PMIX_NAMESPACE").then_some(&b"n@1"[..])).as_deref(),
            Some("n@1")
        );
        let of_intel: Variable = |name| match name {
            b"PMI_RANK" => Some(b"1"),
            b"I_MPI_HYDRA_UUID" => Some(b"2046-fb56"),
            _ => None,
        };
        assert_eq!(id_with(of_intel).as_deref(), Some("hydra-2046-fb56"));
        let of_another: Variable = |name| match name {
            b"SLURM_JOB_ID" => Some(b"5"),
            b"SLURM_STEP_ID" => Some(b"0"),
            b"SLURM_TASK_PID" => Some(b"1"),
            _ => None,
        };
        assert_eq!(id_with(of_another), None);
        let numbers = [unknown, of_intel, of_another].map(number);
        assert!(numbers[0] != 0 && numbers[1] != 0 && numbers[0] != numbers[1] && numbers[2] == 0);
    }
}
