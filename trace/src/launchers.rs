//! Programs that start the ranks of a parallel job and forward what they print: of them only process creation is recorded.
//! Everything else is a program like any other, shells too: a redirection is a shell's own `open`, `read` its own `read`.

/// Their file names.
const LAUNCHERS: &[&[u8]] = &[
    b"mpirun",
    b"mpiexec",
    b"mpirun.openmpi",
    b"mpiexec.openmpi",
    b"mpirun.mpich",
    b"mpiexec.mpich",
    b"mpiexec.hydra",
    b"orterun",
    b"orted",
    b"prterun",
    b"prun",
    b"prte",
    b"prted",
    b"hydra_pmi_proxy",
    b"hydra_bstrap_proxy",
    b"hydra_nameserver",
    b"srun",
    b"slurmstepd",
];

/// True for the program file of a launcher.
// The recorder asks at the start of every process.
#[unsafe(link_section = ".text.startup")]
pub fn is_launcher(exe: &[u8]) -> bool {
    let name = exe.rsplit(|&byte| byte == b'/').next().unwrap_or(exe);
    LAUNCHERS.contains(&name)
}
