"""Inputs of the real programs: generated, the same each time."""

import pathlib
import random
import re
import shutil
import subprocess

JSON_PROGRAM = """\
import json, sys

for turn in range(int(sys.argv[1])):
    table = {str(key): {"name": "entry %d" % key, "values": list(range(key % 40))} for key in range(20000)}
    with open("table%d.json" % turn, "w") as out:
        json.dump(table, out)
    with open("table%d.json" % turn) as lines:
        assert json.load(lines) == table
"""

# A server on loopback for one benchmark. It is asked to end, and told to where the benchmark fails.
REDIS_SCRIPT = """\
redis-server --port "$1" --bind 127.0.0.1 --save '' --appendonly yes --appendfsync "$3" --dir . >server.log &
server=$!
trap 'kill $server 2>/dev/null' EXIT
tries=0
until redis-cli -p "$1" ping >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || exit 1
    sleep 0.05
done
redis-benchmark -p "$1" -n "$2" -c 8 -t set,get -q || exit 1
redis-cli -p "$1" shutdown nosave
wait $server
"""

TOPOLOGY = """\
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spc.itp"
[ system ]
water
[ molecules ]
SOL {molecules}
"""

# A log line every 20 steps and a frame every 50: both through buffered streams.
DYNAMICS = """\
integrator = md
dt = 0.001
nsteps = 1000
nstlog = 20
nstenergy = 20
nstxout = 50
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
gen_vel = yes
gen_temp = 300
gen_seed = 1
constraints = none
"""


def interpreter(name):
    """Itself, where `python3` may be a script that chooses one."""
    if name != "python3":
        return name
    asked = subprocess.run([name, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=True)
    return asked.stdout.strip()


def water_box(folder, tool):
    """md.tpr: some 1000 atoms of water, made with GROMACS's own tools and data."""
    tool(["gmx", "solvate", "-cs", "spc216.gro", "-box", 2.2, 2.2, 2.2, "-o", "water.gro"], folder)
    atoms = int((folder / "water.gro").read_text().splitlines()[1])
    (folder / "topol.top").write_text(TOPOLOGY.format(molecules=atoms // 3))
    (folder / "md.mdp").write_text(DYNAMICS)
    tool(["gmx", "grompp", "-f", "md.mdp", "-c", "water.gro", "-p", "topol.top", "-o", "md.tpr", "-maxwarn", 5], folder)


def c_files(folder, count):
    """Source files that take a compiler some tenths of a second each, and their Makefile."""
    for number in range(count):
        functions = "".join(
            f"double f{number}_{f}(double *a, int n) {{ double s = {f}; for (int i = 0; i < n; i++) "
            f"{{ a[i] = sqrt(a[i] * {f} + i); if (a[i] > s) s += a[i] / (i + 1); }} char t[64]; "
            f'snprintf(t, sizeof t, "%g", s); return s + strlen(t); }}\n'
            for f in range(25)
        )
        (folder / f"part{number}.c").write_text(f"#include <math.h>\n#include <stdio.h>\n#include <string.h>\n{functions}")
    (folder / "main.c").write_text("int main(void) { return 0; }\n")
    objects = " ".join(f"part{number}.o" for number in range(count))
    makefile = f"program: main.o {objects}\n\tgcc $^ -lm -o $@\n%.o: %.c\n\tgcc -O2 -c $< -o $@\n"
    (folder / "Makefile").write_text(makefile)


def lines(path, count):
    chance = random.Random(1)
    path.write_text("".join(f"{chance.getrandbits(48):012x} line\n" for _ in range(count)))


def inserts(path, transactions, rows):
    text = ["CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, value REAL);\nCREATE INDEX names ON t (name);\n"]
    for transaction in range(transactions):
        values = (f"INSERT INTO t (name, value) VALUES ('name {(transaction * 7919 + row * 104729) % 100003}', {row}.5);\n" for row in range(rows))
        text.append("BEGIN;\n" + "".join(values) + "COMMIT;\n")
    text.append("SELECT count(*), sum(value) FROM t;\n")
    path.write_text("".join(text))


def words(chance, count):
    return " ".join(f"word{chance.randrange(5000)}" for _ in range(count)) + "\n"


def tree(folder, files):
    chance = random.Random(2)
    for number in range(files):
        inner = folder / f"d{number % 20}"
        inner.mkdir(parents=True, exist_ok=True)
        (inner / f"file{number}").write_text("".join(words(chance, 12) for _ in range(400)))


def repository(folder, tool, commits):
    """Each commit changes a few of 120 files."""
    chance = random.Random(3)
    folder.mkdir()
    tool(["git", "init", "--quiet", "."], folder)
    author = ["-c", "user.name=n", "-c", "user.email=n@localhost", "-c", "gc.auto=0"]
    for number in range(commits):
        for changed in range(120) if number == 0 else chance.sample(range(120), 12):
            (folder / f"file{changed}").write_text("".join(words(chance, 10) for _ in range(60)))
        tool(["git", *author, "add", "."], folder)
        tool(["git", *author, "commit", "--quiet", "-m", f"change {number}"], folder)


def database(folder, tool, programs, user, scale):
    """data: a cluster with pgbench's tables, that the server's user owns."""
    folder.chmod(0o777)
    tool([f"{programs}/initdb", "-D", "data", "-U", "postgres", "--auth=trust", "--no-locale"], folder, user=user)
    server = [f"{programs}/pg_ctl", "-D", "data", "-w", "-l", "data/log", "-o", f"-k {folder} -c listen_addresses="]
    tool([*server, "start"], folder, user=user)
    try:
        tool([f"{programs}/pgbench", "-h", folder, "-U", "postgres", "-i", "-q", "-s", scale, "postgres"], folder, user=user)
    finally:
        tool([*server, "stop"], folder, user=user)


def hpcc_input(text, size):
    """The package's example with a matrix of this order on one row of two processes."""
    for name, value in (("Ns", size), ("Ps", 1), ("Qs", 2)):
        text = re.sub(rf"^\d+( +){name}", rf"{value}\1{name}", text, flags=re.MULTILINE)
    return text


def alignment(file, species=14, sites=900):
    """DNA of species that descend from each other, in PHYLIP's format."""
    random.seed(3)
    first = [random.choice("ACGT") for _ in range(sites)]
    all_species = []
    for number in range(species):
        own = list(first if number < 4 else random.choice(all_species))
        for _ in range(60):
            own[random.randrange(sites)] = random.choice("ACGT")
        all_species.append(own)
    lines = [f"t{number:<9}{''.join(own)}" for number, own in enumerate(all_species)]
    file.write_text("\n".join([f"{species} {sites}", *lines, ""]))
