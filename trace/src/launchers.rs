//! Programs that start others and have no I/O of their own worth replaying: of them only process creation is recorded.

/// Their file names.
const LAUNCHERS: &[&[u8]] = &[
    b"mpirun",
    b"mpiexec",
    b"mpirun.openmpi",
    b"mpiexec.openmpi",
    b"mpiexec.hydra",
    b"orterun",
    b"orted",
    b"prterun",
    b"prte",
    b"prted",
    b"hydra_pmi_proxy",
    b"srun",
    b"slurmstepd",
    b"sh",
    b"bash",
    b"dash",
    b"ash",
    b"zsh",
    b"ksh",
    b"csh",
    b"tcsh",
    b"fish",
    b"env",
    b"nice",
    b"nohup",
    b"setsid",
    b"stdbuf",
    b"taskset",
    b"numactl",
    b"time",
    b"timeout",
    b"strace",
    b"ltrace",
    b"gdb",
    b"perf",
];

/// True for the program file of a launcher or shell.
pub fn is_launcher(exe: &[u8]) -> bool {
    let name = exe.rsplit(|&byte| byte == b'/').next().unwrap_or(exe);
    LAUNCHERS.contains(&name)
}
