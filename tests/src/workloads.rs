//! Real programs as jobs, small enough for tests. They leave the same files and print the same each time.

use crate::job::{Job, mpirun};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Lennard-Jones melt of `scripts/lammps/in.melt` with 4 n³ atoms and this number of steps.
pub fn lammps(ranks: u32, n: u32, steps: u32) -> Job {
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/lammps/in.melt");
    let input = input.canonicalize().expect("the input of LAMMPS is part of the project");
    let job = mpirun(ranks).args(["lmp", "-log", "none", "-screen", "none", "-in"]).arg(input);
    let variables = [("n", n), ("steps", steps), ("dump", 5), ("force", 10), ("restart", 20), ("thermo", 10)];
    variables.into_iter().fold(job, |job, (name, value)| job.args(["-var", name, &value.to_string()]))
}

/// A Python program: files in text and binary, JSON, a child process, and which descriptors it finds open.
pub fn python() -> Job {
    const PROGRAM: &str = r#"
import json, os, subprocess, sys
with open("text", "w") as out:
    for number in range(3000):
        print("line", number, file=out)
with open("text") as lines:
    assert lines.readline() == "line 0\n"
    assert sum(1 for line in lines) == 2999
with open("data", "wb", buffering=0) as out:
    assert out.write(bytes(range(256)) * 300) == 76800
with open("data", "r+b") as both:
    both.seek(70000)
    assert len(both.read()) == 6800
    both.write(b"end")
with open("table.json", "w") as out:
    json.dump({str(number): [number] * 3 for number in range(500)}, out)
with open("table.json") as table:
    assert len(json.load(table)) == 500
child = subprocess.run([sys.executable, "-c", "open('child', 'w').write('c' * 5000)"])
assert child.returncode == 0 and os.path.getsize("child") == 5000
print(sorted(os.listdir("/proc/self/fd"), key=int))
"#;
    // -S and -E: nothing of the machine's packages and settings.
    Job::new(python_itself()).args(["-S", "-E", "-c", PROGRAM])
}

/// The interpreter, where `python3` may be a script that chooses one.
///
/// # Panics
/// When there is none.
pub fn python_itself() -> PathBuf {
    let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let path = asked.expect("python3 can be started").stdout;
    String::from_utf8(path).expect("a path in UTF-8").trim().into()
}

/// Numbers made, sorted, packed, unpacked and compared by the usual tools, from a shell.
pub fn tools() -> Job {
    const SCRIPT: &str = "set -e
        mkdir d
        seq 1 30000 > d/numbers
        sort -r --parallel=2 -S 64k -T . d/numbers -o d/sorted
        tar -c --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -f d.tar d
        gzip -n -k -9 d.tar
        gzip -t d.tar.gz
        mkdir e
        tar -x -z -C e -f d.tar.gz
        sort -n e/d/sorted > resorted
        cmp resorted d/numbers
        tar -c -z --mtime=@0 --owner=0 --group=0 -f - -C e d/numbers | tar -t -z
        wc -l resorted";
    Job::new("sh").args(["-c", SCRIPT])
}

/// Files and folders copied by the usual tools, which leave it to the kernel where they can, from a shell.
pub fn copies() -> Job {
    const SCRIPT: &str = "set -e
        mkdir d d/e
        seq 1 30000 > numbers
        cat numbers > again
        cat numbers numbers >> appended
        cat numbers | cat > piped
        cp numbers d/copy
        cp --sparse=always --preserve=all numbers d/e/sparse
        cp -r d f
        dd if=numbers of=part bs=1k skip=3 count=20 status=none
        mv f/copy f/moved
        install -m 600 numbers installed
        ls -lR d f > /dev/null
        cmp again f/moved";
    Job::new("sh").args(["-c", SCRIPT])
}

/// What the launchers of these jobs are called: of them only process creation is recorded.
pub const LAUNCHERS: [&str; 7] =
    ["mpirun", "mpirun.openmpi", "orterun", "prterun", "prte", "mpiexec.hydra", "hydra_pmi_proxy"];
