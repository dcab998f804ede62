//! What the ranks of a parallel job have in common when nothing recorded has started them.
//!
//! A name must be that of one start of one program: the number of a batch job is not, since its script may start several.

use crate::run_folder::Variable;
use crate::sys;
use crate::thread::decimal;

/// Longer ids are cut.
pub const MOST_BYTES: usize = 200;
/// So many processes may lie between a rank and the one that Hydra has started on its machine (a shell, `env`, `numactl`).
const MOST_ANCESTORS: usize = 16;
/// Arguments of the proxy that Hydra starts on each machine (MPICH), and of the one above that (Intel MPI): where it reaches
/// `mpiexec`, which is the same for all machines and at any time one job's alone.
const CONTROL_PORT: &[u8] = b"--control-port";
const UPSTREAM_HOST: &[u8] = b"--upstream-host";
const UPSTREAM_PORT: &[u8] = b"--upstream-port";

/// The id of the job that this process is a rank of.
pub fn id(variable: Variable, room: &mut [u8; MOST_BYTES]) -> Option<&[u8]> {
    let set = |name: &[u8]| variable(name).filter(|value| !value.is_empty());
    let mut id = Id { room, length: 0 };
    if let Some(namespace) = set(b"PMIX_NAMESPACE") {
        // PMIx standard, 3.4.3: unique among all running jobs.
        id.push(namespace);
    } else if let (Some(job), Some(step)) = (set(b"SLURM_JOB_ID"), set(b"SLURM_STEP_ID")) {
        id.push(job).push(b".").push(step);
    } else if set(b"PMI_RANK").or(set(b"PMI_ID")).is_none() {
        return None;
    } else if let Some(job) = set(b"PMI_JOBID") {
        id.push(job);
    } else {
        of_hydra(&mut id);
    }
    let Id { room, length } = id;
    (length > 0).then_some(&room[..length])
}

/// An id that is being put together.
struct Id<'a> {
    room: &'a mut [u8; MOST_BYTES],
    length: usize,
}

impl Id<'_> {
    fn push(&mut self, part: &[u8]) -> &mut Self {
        let bytes = part.len().min(MOST_BYTES - self.length);
        self.room[self.length..][..bytes].copy_from_slice(&part[..bytes]);
        self.length += bytes;
        self
    }
}

/// Hydra tells its ranks nothing that they have in common, but among the arguments of the process that has started them.
fn of_hydra(id: &mut Id<'_>) {
    let mut room = [0; 4096];
    // SAFETY: takes no pointers.
    let mut pid = unsafe { sys::getppid() } as u64;
    for _ in 0..MOST_ANCESTORS {
        let Some(arguments) = read_of(pid, b"cmdline", &mut room) else { return };
        if control_port(arguments, id) {
            return;
        }
        match read_of(pid, b"stat", &mut room).and_then(parent) {
            Some(parent) if parent > 1 => pid = parent,
            _ => return,
        }
    }
}

/// Puts what leads to `mpiexec` into `id`, if it is among these arguments, which end with zero bytes.
fn control_port(arguments: &[u8], id: &mut Id<'_>) -> bool {
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

/// The parent, of what `/proc/<pid>/stat` holds: behind the name in brackets, which may hold anything, and the state.
fn parent(stat: &[u8]) -> Option<u64> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let field = stat[name_end..].split(|&byte| byte == b' ').nth(2)?;
    core::str::from_utf8(field).ok()?.parse().ok()
}

/// A file about a process.
fn read_of<'a>(pid: u64, name: &[u8], room: &'a mut [u8; 4096]) -> Option<&'a [u8]> {
    let (mut path, mut digits, mut length) = ([0; 48], [0; 20], 0);
    for part in [b"/proc/", decimal(pid, &mut digits), b"/", name] {
        path[length..][..part.len()].copy_from_slice(part);
        length += part.len();
    }
    let path = core::ffi::CStr::from_bytes_until_nul(&path).ok()?;
    sys::read_file(path, room).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(arguments: &[&str]) -> Option<String> {
        let mut room = [0; MOST_BYTES];
        let mut id = Id { room: &mut room, length: 0 };
        let joined = arguments.iter().flat_map(|argument| [argument.as_bytes(), b"\0"].concat());
        let found = control_port(&joined.collect::<Vec<u8>>(), &mut id);
        let length = id.length;
        found.then(|| String::from_utf8_lossy(&room[..length]).into_owned())
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
    fn parents_are_found_behind_any_name() {
        assert_eq!(parent(b"7 (a) b) S 12 7 7 0"), Some(12));
        assert_eq!(parent(b"7 (a"), None);
    }
}
