"""The programs that bench-time measures: how their inputs are made, and how each is started in a folder with them."""

import dataclasses
import glob
import os
import pathlib
import shutil
import socket
import subprocess
import typing

import inputs


@dataclasses.dataclass
class Workload:
    """`make(folder, quick, project)` leaves inputs in the folder and returns the words of the command, which runs there."""

    name: str
    make: typing.Callable
    needs: tuple = ()
    kind: str = "real"
    on_disk: bool = True
    environment: dict = dataclasses.field(default_factory=dict)
    # A launcher's own start and end are taken off the application's time.
    launched: bool = False
    # Seconds for one run.
    limit: int = 120
    # `ptrace` for programs that a preloaded library cannot enter.
    backend: str = "shim"
    # Who starts it; without one, whoever measures.
    user: typing.Optional[str] = None

    def missing(self):
        """What it needs and is not here: commands, and files by their absolute paths."""
        here = {need: os.path.exists(need) if need.startswith("/") else shutil.which(need) for need in self.needs}
        return [need for need, found in here.items() if not found]

    def prepare(self, folder, quick, project):
        return [str(word) for word in self.make(folder, quick, project)]


def tool(words, folder, **settings):
    """A command that prepares an input."""
    subprocess.run(list(map(str, words)), cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=300, **settings)



def compiled(compiler, source, folder, *options):
    program = folder / source.stem
    tool([compiler, "-O2", source, "-o", program, *options], folder)
    return f"./{source.stem}"


def mpirun(ranks, *words):
    return ["mpirun", "-np", ranks, *words]


# --- programs with a known answer --------------------------------------------------------------------------------------


def known(name, compiler="gcc", extension="c", ranks=0, options=(), **settings):
    """A program of tests/programs/time with all its parts."""

    def make(folder, quick, project):
        programs = project / "tests" / "programs"
        program = compiled(compiler, programs / "time" / f"{name}.{extension}", folder, "-pthread", *options)
        if name == "calls":
            tool(["gcc", "-O2", "-shared", "-fPIC", programs / "libraries" / "computing.c", "-o", "computing.so"], folder)
        return mpirun(ranks, program) if ranks else [program]

    label = f"known-{name}" + (f"-{ranks}" if ranks else "")
    needs = (compiler, "mpirun") if ranks else (compiler,)
    return Workload(label, make, needs, "known", launched=bool(ranks), **settings)


def known_script(name, interpreter, *options):
    def make(folder, quick, project):
        shutil.copy(project / "tests" / "programs" / "time" / name, folder)
        return [inputs.interpreter(interpreter), *options, name]

    return Workload(f"known-{interpreter}", make, (interpreter,), "known")


# --- real programs -------------------------------------------------------------------------------------------------------


def gromacs(folder, quick, project):
    inputs.water_box(folder, tool)
    steps = 200 if quick else 2000
    return ["gmx", "mdrun", "-ntmpi", 1, "-ntomp", 1, "-nb", "cpu", "-pin", "off", "-s", "md.tpr", "-deffnm", "md", "-nsteps", steps]


def make_j(jobs):
    def make(folder, quick, project):
        inputs.c_files(folder, 4 if quick else 12)
        return ["make", "-s", f"-j{jobs}"]

    return make


def python_json(folder, quick, project):
    (folder / "table.py").write_text(inputs.JSON_PROGRAM)
    return [inputs.interpreter("python3"), "-S", "-E", "table.py", 2 if quick else 10]


def python_mapped(folder, quick, project):
    shutil.copy(project / "scripts" / "time" / "mapped.py", folder)
    for name in "one", "other":
        (folder / name).write_bytes(bytes(range(256)) * ((4 if quick else 32) << 12))
    return [inputs.interpreter("python3"), "-S", "-E", "mapped.py", 2 if quick else 16]


def sort(folder, quick, project):
    inputs.lines(folder / "lines", 150_000 if quick else 1_500_000)
    return ["sort", "-S", "1M" if quick else "8M", "-T", ".", "lines", "-o", "sorted"]


def sqlite(folder, quick, project):
    inputs.inserts(folder / "inserts.sql", transactions=30 if quick else 200, rows=50)
    return ["sqlite3", "base.db", ".read inserts.sql"]


def tar_gzip(folder, quick, project):
    inputs.tree(folder / "tree", files=100 if quick else 600)
    return ["sh", "-c", "tar -cf - tree | gzip -6 >tree.tar.gz"]


def static_busybox(folder, quick, project):
    inputs.tree(folder / "tree", files=100 if quick else 600)
    inputs.lines(folder / "lines", 30_000 if quick else 300_000)
    shutil.copy(shutil.which("busybox"), folder / "busybox")
    steps = ["./busybox tar -cf - tree | ./busybox gzip >tree.gz", "./busybox gzip -dc tree.gz | ./busybox md5sum >sum", "./busybox sort lines >sorted"]
    return ["./busybox", "sh", "-c", "; ".join(steps)]


def short_processes(folder, quick, project):
    return ["sh", "-c", f"seq {50 if quick else 400} | xargs -P 2 -n 1 /bin/true"]


def programs_in_turn(folder, quick, project):
    return ["dash", "-c", f"i=0; while [ $i -lt {40 if quick else 400} ]; do /bin/true; i=$((i + 1)); done"]


def git_gc(folder, quick, project):
    inputs.repository(folder / "repository", tool, commits=10 if quick else 60)
    return ["git", "-C", "repository", "gc", "--quiet", "--aggressive", "--prune=now"]


def git_clone(folder, quick, project):
    inputs.repository(folder / "repository", tool, commits=10 if quick else 60)
    return ["sh", "-c", "git clone --quiet --no-local repository clone && git -C clone gc --quiet --prune=now"]


def tar(folder, quick, project):
    inputs.tree(folder / "tree", files=200 if quick else 3000)
    return ["sh", "-c", "tar -cf tree.tar tree && mkdir out && tar -xf tree.tar -C out"]


def rsync(folder, quick, project):
    inputs.tree(folder / "tree", files=200 if quick else 2000)
    return ["rsync", "-a", "tree/", "copy/"]


def python_pool(folder, quick, project):
    shutil.copy(project / "scripts" / "time" / "pool.py", folder)
    return [inputs.interpreter("python3"), "-S", "-E", "pool.py", 40 if quick else 400]


def shell_loops(shell):
    def make(folder, quick, project):
        shutil.copy(project / "scripts" / "time" / "loops.sh", folder)
        inputs.lines(folder / "lines", 2000 if quick else 20_000)
        return [shell, "loops.sh", 2000 if quick else 20_000]

    return make


def java(folder, quick, project):
    tool(["javac", "-d", ".", project / "scripts" / "time" / "Table.java"], folder)
    return ["java", "-cp", ".", "Table", 40 if quick else 800]


JAVA_CLASS = """import java.util.*;
public class C{0} {{
    int sum(int count) {{
        List<Integer> list = new ArrayList<>();
        for (int i = 0; i < count; i++) list.add(i * {0});
        return list.stream().mapToInt(Integer::intValue).filter(i -> i % 3 == 0).sum();
    }}
    public static void main(String[] words) {{ System.out.println(new C{0}().sum(1000)); }}
}}
"""


def java_compiler(folder, quick, project):
    """Some thirty threads, which take turns at the locks of the virtual machine."""
    for number in range(20 if quick else 250):
        (folder / f"C{number}.java").write_text(JAVA_CLASS.format(number))
    return ["sh", "-c", "mkdir classes && javac -d classes *.java && java -cp classes C7"]


def node(folder, quick, project):
    shutil.copy(project / "scripts" / "time" / "files.js", folder)
    return ["node", "files.js", 40 if quick else 800]


def go(folder, quick, project):
    settings = {"CGO_ENABLED": "0", "GOCACHE": str(folder / "cache")}
    tool(["go", "build", "-o", folder / "files", project / "scripts" / "time" / "files.go"], folder, env={**os.environ, **settings})
    shutil.rmtree(folder / "cache")
    return ["./files", 10 if quick else 200]


def postgresql(folder, quick, project):
    inputs.database(folder, tool, POSTGRESQL, UNPRIVILEGED, scale=1 if quick else 2)
    shutil.copy(project / "scripts" / "time" / "pgbench.sh", folder)
    return ["sh", "pgbench.sh", POSTGRESQL, 50 if quick else 500]


def redis(fsync, requests):
    def make(folder, quick, project):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (folder / "benchmark.sh").write_text(inputs.REDIS_SCRIPT)
        return ["sh", "benchmark.sh", port, requests // 15 if quick else requests, fsync]

    return make


def openmp(folder, quick, project):
    program = compiled("gcc", project / "scripts" / "time" / "stencil.c", folder, "-fopenmp")
    return [program, 100 if quick else 3000]


def lammps(ranks):
    def command(folder, quick, project):
        script = project / "scripts" / "lammps" / "in.melt"
        sizes = {"n": 8, "steps": 100} if quick else {"n": 16, "steps": 600}
        variables = [word for name, value in sizes.items() for word in ("-var", name, value)]
        return mpirun(ranks, "lmp", "-log", "none", "-screen", "none", "-in", script, *variables)
    return command


def hpcc(folder, quick, project):
    text = pathlib.Path(HPCC_EXAMPLE).read_text()
    (folder / "hpccinf.txt").write_text(inputs.hpcc_input(text, 200 if quick else 1000))
    return mpirun(2, "hpcc")


def science(words, *needed, ranks=2):
    """An MPI application with inputs of `scripts/time/mpi`; `scripts/setup programs` installs them all."""
    def make(folder, quick, project):
        for name in needed:
            shutil.copy(project / "scripts" / "time" / "mpi" / name, folder)
        return mpirun(ranks, *words)
    return make


def with_library(name):
    """A program of `scripts/time/data`; `scripts/setup data` installs the libraries."""
    def make(folder, quick, project):
        shutil.copy(project / "scripts" / "time" / "data" / f"with_{name}.py", folder)
        return [LIBRARIES / "bin" / "python", f"with_{name}.py"]
    return make


def phyml(folder, quick, project):
    inputs.alignment(folder / "s.phy")
    return mpirun(2, "phyml-mpi", "-i", "s.phy", "-b", 2 if quick else 4, "--r_seed", 1, "-m", "HKY85", "--quiet")


def openfoam(folder, quick, project):
    shutil.copytree(project / "scripts" / "time" / "mpi" / "cavity", folder, dirs_exist_ok=True)
    for words in ["blockMesh"], ["decomposePar"]:
        tool(words, folder, env={**os.environ, **OPENFOAM})
    return mpirun(2, "icoFoam", "-parallel")


def turns(how):
    def make(folder, quick, project):
        program = compiled("gcc", project / "scripts" / "time" / "turns.c", folder, "-pthread")
        return [program, how, 1000 if quick else 10_000]

    return make


def workers(folder, quick, project):
    return [compiled("gcc", project / "scripts" / "time" / "workers.c", folder, "-pthread"), 100 if quick else 400]


def moves(folder, quick, project):
    (folder / "new").mkdir()
    for number in range(10 if quick else 40):
        (folder / f"file{number}").write_bytes(os.urandom(20_000))
    steps = ["for file in file*; do cp -p $file new/$file.part; mv new/$file.part new/$file; install -m 600 $file new/$file.copy; done", "mv new out"]
    return ["sh", "-c", "; ".join(steps)]


def starts(folder, quick, project):
    return ["sh", "-c", f"for i in $(seq {10 if quick else 60}); do {compiled('gcc', project / 'scripts' / 'time' / 'loads.c', folder)}; done"]


def scripts(folder, quick, project):
    (folder / "script.sh").write_text("#!/bin/sh\nexit 0\n")
    (folder / "script.sh").chmod(0o755)
    return ["sh", "-c", f"for i in $(seq {10 if quick else 40}); do ./script.sh; done"]


def libraries(folder, quick, project):
    """A program that loads twenty libraries and uses a page of each, five times."""
    sources = project / "scripts" / "time"
    program = compiled("gcc", sources / "loads.c", folder)
    compiled("gcc", sources / "loaded.c", folder, "-shared", "-fPIC")
    names = [f"./loaded{number}.so" for number in range(20)]
    for name in names:
        shutil.copy(folder / "loaded", folder / name)
    return ["sh", "-c", f"for i in {'1' if quick else '1 2 3 4 5'}; do {program} {' '.join(names)}; done"]


def packages(folder, quick, project):
    """A program with twenty libraries in as many folders, as package managers of clusters install them, started three times."""
    sources = project / "scripts" / "time"
    compiled("gcc", sources / "loaded.c", folder, "-shared", "-fPIC")
    places = [pathlib.Path(f"package{number}") / "lib" for number in range(20)]
    for number, place in enumerate(places):
        (folder / place).mkdir(parents=True)
        shutil.copy(folder / "loaded", folder / place / f"loaded{number}.so")
    needed = [word for number, place in enumerate(places) for word in (f"-L{place}", f"-l:loaded{number}.so")]
    listed = ":".join(f"$ORIGIN/{place}" for place in places)
    program = compiled("gcc", sources / "loads.c", folder, "-Wl,--no-as-needed", *needed, f"-Wl,--disable-new-dtags,-rpath,{listed}")
    return ["sh", "-c", f"for i in {'1' if quick else '1 2 3'}; do {program}; done"]


def modules(folder, quick, project):
    """Programs of the system where LD_LIBRARY_PATH lists six folders, as environment modules set it."""
    places = [f"module{number}/lib" for number in range(6)]
    for place in places:
        (folder / place).mkdir(parents=True)
    listed = ":".join(f"$PWD/{place}" for place in places)
    return ["sh", "-c", f"export LD_LIBRARY_PATH={listed}; for i in $(seq {2 if quick else 8}); do ls / >list; done"]


def numpy(folder, quick, project):
    """Python with a copy of numpy in its folder; `scripts/setup data` installs that."""
    [site] = glob.glob(f"{LIBRARIES}/lib/python3*/site-packages")
    for name in ("numpy", "numpy.libs"):
        shutil.copytree(pathlib.Path(site) / name, folder / "site" / name)
    program = "import sys; sys.path.insert(0, 'site'); import numpy; print(numpy.arange(1000).sum())"
    return [LIBRARIES / "bin" / "python3", "-S", "-c", program]


def fio(engine, *options):
    def make(folder, quick, project):
        (folder / "data").write_bytes(os.urandom((4 if quick else 32) << 20))
        return ["fio", "--name=random", "--filename=data", "--bs=4k", f"--ioengine={engine}", "--invalidate=1",
                "--fadvise_hint=random", f"--size={4 if quick else 32}M", "--output=fio.txt", *options]
    return make


ASYNCHRONOUS = ["--rw=randrw", "--iodepth=8", "--randseed=7", "--fsync=64"]


def mpi_small(part, ranks, rounds):
    def make(folder, quick, project):
        program = compiled("mpicc", project / "scripts" / "time" / "small.c", folder)
        return mpirun(ranks, program, part, rounds // 10 if quick else rounds)

    return make


# The server refuses to be started by root.
UNPRIVILEGED = "nobody" if os.geteuid() == 0 else None
# The newest that is installed; its programs are in no search path.
POSTGRESQL = max(glob.glob("/usr/lib/postgresql/*/bin"), default="/usr/lib/postgresql")
HPCC_EXAMPLE = "/usr/share/doc/hpcc/examples/_hpccinf.txt"
MPI = ("mpicc", "mpirun")
REDIS = ("redis-server", "redis-benchmark", "redis-cli")
# MPI programs that would use threads besides.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
OPENFOAM = {"WM_PROJECT_DIR": "/usr/share/openfoam"}
LIBRARIES = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "syn" / "data"
GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}

ALL = [
    known("calls", environment={"TIME_LIBRARY": "./computing.so"}),
    known("signals"),
    known("sync"),
    known("processes"),
    known("threads"),
    known("confined"),
    known("openmp", options=["-fopenmp"], environment={"OMP_NUM_THREADS": "2"}),
    known("mpi", "mpicc", ranks=2),
    known("mpi", "mpicc", ranks=4),
    known("fortran", "gfortran", "f90"),
    known("cxx", "g++", "cpp"),
    known_script("script.py", "python3", "-S", "-E"),
    known_script("waiting.pl", "perl"),
    known_script("shell.sh", "sh"),
    Workload("gromacs", gromacs, ("gmx", "/usr/share/gromacs/top/oplsaa.ff")),
    Workload("make-j2", make_j(2), ("make", "gcc")),
    Workload("make-j4", make_j(4), ("make", "gcc")),
    Workload("python-json", python_json, ("python3",)),
    Workload("python-mapped", python_mapped, ("python3",)),
    Workload("sort", sort, ("sort",)),
    Workload("sqlite3", sqlite, ("sqlite3",)),
    Workload("tar-gzip", tar_gzip, ("tar", "gzip")),
    Workload("git-gc", git_gc, ("git",), environment=GIT),
    Workload("git-clone", git_clone, ("git",), environment=GIT),
    Workload("tar", tar, ("tar",)),
    Workload("rsync", rsync, ("rsync",)),
    Workload("python-pool", python_pool, ("python3",)),
    Workload("dash-loops", shell_loops("dash"), ("dash", "seq")),
    Workload("bash-loops", shell_loops("bash"), ("bash", "seq")),
    Workload("xargs-2", short_processes, ("xargs", "seq")),
    Workload("dash-programs", programs_in_turn, ("dash",)),
    Workload("java", java, ("java", "javac")),
    Workload("javac", java_compiler, ("javac", "java")),
    Workload("node", node, ("node",)),
    Workload("busybox-ptrace", static_busybox, ("busybox",), backend="ptrace"),
    Workload("go-ptrace", go, ("go",), backend="ptrace"),
    Workload("postgresql", postgresql, (f"{POSTGRESQL}/postgres", f"{POSTGRESQL}/pgbench"), user=UNPRIVILEGED),
    Workload("redis", redis("everysec", 30_000), REDIS),
    Workload("redis-always", redis("always", 3000), REDIS),
    Workload("openmp-stencil", openmp, ("gcc",), environment={"OMP_NUM_THREADS": "2"}),
    *(Workload(f"turns-{how}", turns(how), ("gcc",)) for how in ("unix", "tcp", "pipes", "semaphores", "eventfd", "condition")),
    Workload("workers", workers, ("gcc",)),
    Workload("moves", moves, ("cp", "mv", "install")),
    Workload("starts", starts, ("gcc",)),
    Workload("scripts", scripts),
    Workload("libraries", libraries, ("gcc",)),
    Workload("packages", packages, ("gcc",)),
    Workload("modules", modules, ("ls",)),
    Workload("numpy", numpy, (f"{LIBRARIES}/complete",)),
    Workload("fio-psync", fio("psync", "--rw=randread"), ("fio",)),
    *(Workload(f"fio-{engine}", fio(engine, *ASYNCHRONOUS), ("fio",)) for engine in ("libaio", "posixaio")),
    Workload("lammps", lammps(4), ("lmp", "mpirun"), launched=True),
    Workload("lammps-2", lammps(2), ("lmp", "mpirun"), launched=True),
    Workload("hpcc", hpcc, ("hpcc", "mpirun", HPCC_EXAMPLE), launched=True),
    *(Workload(name, make, (program, "mpirun"), launched=True, environment=environment) for name, make, program, environment in [
        ("quantum-espresso", science(["pw.x", "-in", "silicon.in"], "silicon.in"), "pw.x", ONE_THREAD),
        ("cp2k", science(["cp2k.psmp", "-i", "water.inp", "-o", "out.txt"], "water.inp"), "cp2k.psmp", ONE_THREAD),
        ("nwchem", science(["nwchem.openmpi", "water.nw"], "water.nw"), "nwchem.openmpi", ONE_THREAD),
        ("openfoam", openfoam, "icoFoam", OPENFOAM),
        ("meep", science(["/usr/bin/python3", "waveguide.py"], "waveguide.py"), "/usr/lib/python3/dist-packages/meep", ONE_THREAD),
        ("freefem", science(["FreeFem++-mpi", "-nw", "-v", 0, "poisson.edp"], "poisson.edp"), "FreeFem++-mpi", ONE_THREAD),
        ("phyml", phyml, "phyml-mpi", ONE_THREAD),
        ("netpipe", science(["NPopenmpi", "-u", 1_000_000, "-n", 300]), "NPopenmpi", {}),
        ("mpi4py-futures", science(["/usr/bin/python3", "futures.py"], "futures.py", ranks=1), "/usr/lib/python3/dist-packages/mpi4py", {}),
    ]),
    *(Workload(name, with_library(name), (f"{LIBRARIES}/complete",)) for name in ("duckdb", "polars", "dask", "ray", "jax")),
    Workload("mpi-messages-4", mpi_small("messages", 4, 60_000), MPI, launched=True),
    Workload("mpi-broadcasts-4", mpi_small("broadcasts", 4, 60_000), MPI, launched=True),
    Workload("mpi-alltoall-8", mpi_small("alltoall", 8, 6_000), MPI, launched=True),
    Workload("mpi-alltoall-16", mpi_small("alltoall", 16, 2_000), MPI, launched=True, limit=240),
]
