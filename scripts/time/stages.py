"""Runs one program unrecorded, recorded and replayed, and keeps what was measured."""

import collections
import csv
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

SETTINGS = (pathlib.Path(__file__).parents[1] / "mpi" / "environment").read_text()
# Ranks are not bound to the first processors, either, which others may have.
MPI = {
    **dict(line.removeprefix("export ").split("=", 1) for line in SETTINGS.splitlines() if line.startswith("export ")),
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}

Ran = collections.namedtuple("Ran", "wall cpu code output complaints")


class Failed(Exception):
    """A stage that did not come out, with what it said."""


def say(text):
    print(f"{pathlib.Path(sys.argv[0]).name}: {text}", file=sys.stderr, flush=True)


class Record:
    """Every measurement: program, kind, round, variant, measure, value; and what else is to be known."""

    def __init__(self, path):
        self.rows, self.notes, self.failed, self.programs = [], [], {}, {}
        self.path = path
        with path.open("w", newline="") as out:
            csv.writer(out).writerow(["program", "kind", "round", "variant", "measure", "value"])

    def add(self, workload, number, variant, **measures):
        self.programs[workload.name] = workload
        with self.path.open("a", newline="") as out:
            for measure, value in measures.items():
                row = (workload.name, workload.kind, number, variant, measure, round(value, 6))
                self.rows.append(row)
                csv.writer(out).writerow(row)

    def values(self, program, variant, measure):
        """In the order of the rounds."""
        return [row[5] for row in self.rows if (row[0], row[3], row[4]) == (program, variant, measure)]

    def note(self, text):
        say(text)
        self.notes.append(text)


def run(words, folder, environment, limit, log, user=None):
    """Runs a command in a session of its own; wall time, CPU time of it and of all that it waited for, in seconds."""
    with open(log, "wb") as out, open(f"{log}.err", "wb") as complaints:
        began = time.monotonic()
        child = subprocess.Popen(
            words, cwd=folder, env={**os.environ, **MPI, **environment}, stdin=subprocess.DEVNULL, stdout=out,
            stderr=complaints, start_new_session=True, user=user,
        )
        late = threading.Event()

        def end():
            late.set()
            os.killpg(child.pid, signal.SIGKILL)

        timer = threading.Timer(limit, end)
        timer.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            # The folders are removed next, which its processes must not fill meanwhile.
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise
        finally:
            timer.cancel()
        wall = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
    # What it left behind is in its session's process group, if anything is.
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    output, complaints = (pathlib.Path(name).read_text(errors="replace") for name in (log, f"{log}.err"))
    if late.is_set():
        raise Failed(f"was ended after {limit} s")
    return Ran(wall, usage.ru_utime + usage.ru_stime, child.returncode, output, complaints)


def numbers(prefix, value):
    """A balance as flat measures."""
    found = {}
    for name, inner in (value or {}).items():
        if isinstance(inner, dict):
            found.update(numbers(f"{prefix}{name}.", inner))
        elif isinstance(inner, (int, float)):
            found[prefix + name] = inner
    return found


def as_list(value):
    return value if isinstance(value, list) else [value]


def cpu_of_plan(plan):
    """CPU seconds by process id; empty where the plan gives no balance."""
    found = collections.defaultdict(float)
    for thread in plan.get("thread_list", []):
        found[thread["pid"]] += thread["work_s"] + thread["calls_cpu_s"] + thread["polling_cpu_s"] + thread["recording_s"]
    return found


def compare_processes(run_info, plan):
    """CPU time in the plan against the kernel's, of the processes of which both are known."""
    planned, by_kernel = cpu_of_plan(plan), {}
    for entry in run_info.get("process_list", []):
        if entry.get("cpu_s") is not None:
            # A process that becomes another program has an entry for each.
            by_kernel[entry["pid"]] = entry["cpu_s"] + by_kernel.get(entry["pid"], 0.0)
    whole = sum(planned.values())
    both = planned.keys() & by_kernel.keys()
    # What the plan says that it leaves out: threads that libraries made for themselves, and launchers.
    for threads in plan.get("left_out_threads", []):
        if threads["pid"] in both:
            planned[threads["pid"]] += threads["cpu_s"]
    if not both:
        return {"plan_s": whole} if planned else {}
    # A difference of 2 ms is allowed, whatever part of the CPU time it is.
    worst = max(max(0.0, abs(planned[pid] - by_kernel[pid]) - 0.002) / max(by_kernel[pid], 1e-6) for pid in both)
    return {
        "plan_s": whole,
        "plan_of_compared_s": sum(planned[pid] for pid in both),
        "kernel_of_compared_s": sum(by_kernel[pid] for pid in both),
        "worst_percent_beyond_2ms": 100 * worst,
        "not_compared": len(planned.keys() ^ by_kernel.keys()),
    }


def refuse_recorder(parser):
    """Ends the script where the recorder is on already."""
    if set_already := [name for name in os.environ if name == "LD_PRELOAD" or name.startswith("SYN_")]:
        parser.error(f"{', '.join(set_already)} is set; unset it, it would fall on the unrecorded runs too")


# So often is a program recorded beside load, at most.
LOAD_ROUNDS = 3

PROGRAMS = ["syn", "syn-merge", "syn-replay", "libsynshim.so"]


def build(bin_folder, project):
    """Copies of the programs under test: a build that starts meanwhile must not change what is measured."""
    packages = ["syn-cli", "syn-merge", "syn-replay", "synshim"]
    subprocess.run(["cargo", "build", "--quiet", "--release", *(f"-p{name}" for name in packages)], cwd=project, check=True)
    release = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", project / "target")) / "release"
    for name in PROGRAMS:
        shutil.copy(release / name, bin_folder)


class Bench:
    """The folders and the programs under test."""

    def __init__(self, memory, disk, record, project):
        self.memory, self.disk, self.record, self.project = memory, disk, record, project
        self.shim = memory / "libsynshim.so"
        self.put_aside = 0

    def measure(self, workload, rounds, quick, beside_load):
        missing = workload.missing()
        if missing:
            self.record.note(f"{workload.name}: left out, not installed: {', '.join(missing)}.")
            return
        self.inputs = self.memory / "inputs"
        shutil.rmtree(self.inputs, ignore_errors=True)
        self.inputs.mkdir()
        stage = "preparing"
        try:
            words = workload.prepare(self.inputs, quick, self.project)
            for number in range(1, rounds + 1):
                say(f"{workload.name}, round {number} of {rounds}")
                stage = "application"
                self.application(workload, words, number, "application")
                stage = "recording"
                recorded = self.recorded(workload, words, number)
                stage = "merge"
                run_info, plan = self.merged(workload, number)
                stage = "replay"
                self.replayed(workload, number, recorded)
                stage = "application"
                self.application(workload, words, number, "application")
                self.record.add(workload, number, "cpu", **compare_processes(run_info, plan))
            for number in range(1, min(rounds, LOAD_ROUNDS) + 1) if beside_load else ():
                say(f"{workload.name}, beside load, round {number}")
                stage = "beside load"
                self.beside_load(workload, words, f"load {number}")
        except (Failed, OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
            self.record.programs[workload.name] = workload
            self.record.failed[workload.name] = f"{stage}: {error}"
            self.record.note(f"{workload.name}: failed, {stage}: {error}")

    def aside(self, folder):
        """Takes a folder out of the way. On the disk it stays until all has been measured: ext4 passes over inodes that were freed in
        the last minutes, one by one, so that whatever makes files soon after others were removed takes longer."""
        if folder.parent == self.memory:
            shutil.rmtree(folder, ignore_errors=True)
        elif folder.exists():
            self.put_aside += 1
            folder.rename(folder.parent / f"aside-{self.put_aside}")

    def in_fresh_folder(self, workload, words, environment):
        """The application in a new copy of its inputs, always at the same place."""
        work = (self.disk if workload.on_disk else self.memory) / "work"
        self.aside(work)
        # Unlike shutil.copytree, with the owners.
        subprocess.run(["cp", "-a", self.inputs, work], check=True)
        os.sync()
        ran = run(words, work, {**workload.environment, **environment}, workload.limit, self.memory / "log", workload.user)
        self.aside(work)
        if ran.code != 0:
            raise Failed(f"exit code {ran.code}: {tail(ran)}")
        return ran

    def application(self, workload, words, number, variant):
        ran = self.in_fresh_folder(workload, words, {})
        self.record.add(workload, number, variant, wall_s=ran.wall, tree_cpu_s=ran.cpu)

    def recorded(self, workload, words, number):
        folder = self.memory / "run"
        shutil.rmtree(folder, ignore_errors=True)
        # The program may be another user's.
        folder.mkdir()
        folder.chmod(0o777)
        recorder = {}
        if workload.launched:
            # Not by `syn record`: what it tries out behind a run of short processes would be taken for the launcher's time.
            recorder = {"LD_PRELOAD": str(self.shim), "SYN_RUN": str(folder)}
        else:
            how = ["--backend=ptrace"] if workload.backend == "ptrace" else ["--shim", self.shim]
            words = [self.memory / "syn", "record", *how, "--join", "-o", folder, "--", *words]
        ran = self.in_fresh_folder(workload, words, recorder)
        self.record.add(workload, number, "recorded", wall_s=ran.wall, tree_cpu_s=ran.cpu)
        return ran

    def syn(self, program, *words, good=(0,), limit=300):
        ran = run([str(self.memory / program), *map(str, words)], self.memory, {}, limit, self.memory / "log")
        if ran.code not in good:
            raise Failed(f"{program} {words[0]}: exit code {ran.code}: {tail(ran)}")
        return ran

    def info(self, what):
        return json.loads(self.syn("syn", "info", "--json", what, good=(0, 3)).output)

    def merged(self, workload, number):
        """What `syn info` says of the run and of the plan."""
        self.syn("syn-merge", self.memory / "run", "-o", self.memory / "app.syn", good=(0, 3))
        run_info, plan = self.info(self.memory / "run"), self.info(self.memory / "app.syn")
        self.record.add(workload, number, "run", elapsed_s=run_info["elapsed_s"], **numbers("", run_info.get("balance")))
        self.record.add(workload, number, "plan", **numbers("", plan.get("balance")))
        return run_info, plan

    def replay_of(self, workload, plan, folder):
        """Replays a plan in a new folder below this one: the report, and what the replay took."""
        storage = folder / "storage"
        self.aside(storage)
        storage.mkdir()
        report = self.memory / "report.json"
        words = ["--keep", "--storage", storage, "--report", report, plan]
        ran = self.syn("syn-replay", *words, good=(0, 3), limit=workload.limit + 120)
        self.aside(storage)
        return json.loads(report.read_text()), ran

    def replayed(self, workload, number, recorded):
        folder = self.disk if workload.on_disk else self.memory
        told, ran = self.replay_of(workload, self.memory / "app.syn", folder)
        measures = {"replayed_s": as_list(told["replayed_s"])[0], "recorded_s": told["recorded_s"]}
        measures["divergences"] = (told.get("divergences") or {}).get("total", 0)
        # The launcher's start and end are no part of the plan.
        measures["outside_s"] = max(0.0, recorded.wall - told["recorded_s"])
        self.record.add(workload, number, "replay", wall_s=ran.wall, cpu_s=ran.cpu, **measures)
        balance = told.get("balance") or {}
        self.record.add(workload, number, "replay balance", **numbers("", balance.get("replayed")))

    def beside_load(self, workload, words, number):
        """The application, unrecorded and recorded, while half of the processors are taken, replayed alone."""
        loads = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(max(1, (os.cpu_count() or 2) // 2))]
        try:
            self.application(workload, words, number, "application")
            recorded = self.recorded(workload, words, number)
        finally:
            for load in loads:
                load.kill()
                load.wait()
        run_info, plan = self.merged(workload, number)
        self.record.add(workload, number, "cpu", **compare_processes(run_info, plan))
        self.replayed(workload, number, recorded)


def tail(ran):
    text = ran.complaints.strip() or ran.output.strip()
    return " / ".join(text.splitlines()[-3:])[-400:]
