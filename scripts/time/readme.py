"""The record's README: a table of programs, and the balances side by side."""

import datetime
import os
import pathlib
import platform
import statistics
import subprocess

INTRODUCTION = """\
# How right the replay's time is, {date}

`scripts/bench-time{words}`, commit {commit}. Every single measurement stands in raw.csv
(`program,kind,round,variant,measure,value`; seconds, percent, counts).

| | |
|---|---|
| processor | {processor}, {cores} cores{virtual} |
| kernel | {kernel} |
| C library | {libc} |
| applications and replays | {disk}; run folders and plans on {memory} |
| load average | {before} before, {after} after |

In each of {rounds} rounds: the application unrecorded, recorded, the replay of the plan made of that recording, the
application unrecorded again. Medians; the spread is (largest − smallest) / median. *error* = (application − replay) ·
100 / application: what the prediction is off on the storage of the recording. Of programs that a launcher starts, its own
start and end (recorded wall time − recorded span, the median over the rounds) are taken off the application's time.
*CPU plan / kernel*: CPU time in the plan against the kernel's of the same processes at their ends, then of the process that
is worst beyond 2 ms. *unexplained + unmeasured* and *open* are parts of the plan's wall time.
"""

COLUMNS = [
    "program", "application s (spread)", "recorded s", "replay s (spread)", "error %", "CPU plan / kernel %", "worst process %",
    "unexplained + unmeasured %", "open %", "divergences",
]
# The parts of the balances, and how a plan and a replay call them.
PARTS = ["work_s", "calls_cpu_s", "calls_wait_s", "sleep_s", "explained_s", "unexplained_calls_s", "unexplained_s", "preempted_s",
         "recording_s", "unmeasured_s"]


LOAD = """
Beside threads that take half of the processors: recorded, replayed alone. What the application itself takes there changes as
well, with what it shares with those threads and where it spins or waits for others: *unrecorded* is the kernel's CPU time of
the application and all that it waited for, launchers included.

"""
LOAD_COLUMNS = ["program", "CPU in the plan s, alone", "beside load", "change %", "unrecorded, alone", "beside load", "change %",
                "CPU plan / kernel %", "replay s"]


def command(words, folder):
    asked = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return asked.stdout.strip()


def row(cells):
    return "| " + " | ".join(cells) + " |\n"


def heading(cells):
    return row(cells) + "|---" + "|---:" * (len(cells) - 1) + "|\n"


def spread(values):
    return f"{statistics.median(values):.3f} ({100 * (max(values) - min(values)) / statistics.median(values):.1f} %)"


def number(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}"


def is_beside_load(turn):
    return str(turn).startswith("load")


class Figures:
    """What one program's rounds come to. Rounds beside load stand apart."""

    def __init__(self, record, workload):
        self.rows = [row for row in record.rows if row[0] == workload.name]
        self.workload = workload

    def values(self, variant, measure, load=False):
        return [row[5] for row in self.rows if row[3:5] == (variant, measure) and is_beside_load(row[2]) == load]

    def median(self, variant, measure, load=False):
        found = self.values(variant, measure, load)
        return statistics.median(found) if found else None

    def application(self):
        outside = self.median("replay", "outside_s") if self.workload.launched else 0.0
        return [wall - (outside or 0.0) for wall in self.values("application", "wall_s")]

    def replayed(self):
        return self.values("replay", "replayed_s")

    def ratio(self, load=False):
        planned = self.median("cpu", "plan_of_compared_s", load)
        by_kernel = self.median("cpu", "kernel_of_compared_s", load)
        return 100 * planned / by_kernel if planned is not None and by_kernel else None

    def part(self, variant, name):
        """A part of a balance; of one that is given by rule, the sum."""
        sums = {}
        for _, _, turn, found, measure, value in self.rows:
            if not is_beside_load(turn) and found == variant and (measure == name or measure.startswith(name + ".")):
                sums[turn] = sums.get(turn, 0.0) + value
        return statistics.median(sums.values()) if sums else None

    def unknown(self):
        wall = self.part("plan", "wall_s")
        if not wall:
            return None
        parts = ("unexplained_calls_s", "unexplained_s", "unmeasured_s")
        return 100 * sum(self.part("plan", name) or 0.0 for name in parts) / wall


def program_row(figures):
    application, replayed = figures.application(), figures.replayed()
    middle = statistics.median(application)
    error = (middle - statistics.median(replayed)) * 100 / middle
    return row([
        figures.workload.name, spread(application), number(figures.median("replay", "recorded_s"), 3), spread(replayed),
        f"{error:+.1f}", number(figures.ratio()), number(figures.median("cpu", "worst_percent_beyond_2ms")),
        number(figures.unknown()), number(figures.median("plan", "open_percent"), 3),
        f"{figures.median('replay', 'divergences'):.0f}",
    ])


def balance_rows(figures):
    text = ""
    for title, variant in (("in the plan", "plan"), ("replayed", "replay balance")):
        parts = [figures.part(variant, name) for name in PARTS]
        if any(part is not None for part in parts):
            text += row([f"{figures.workload.name}, {title}", *(number(part, 3) for part in parts)])
    return text


def load_row(figures):
    cells = [figures.workload.name]
    for variant, measure in (("cpu", "plan_s"), ("application", "tree_cpu_s")):
        alone, beside = figures.median(variant, measure), figures.median(variant, measure, load=True)
        change = None if not alone or beside is None else (beside - alone) * 100 / alone
        cells += [number(alone, 3), number(beside, 3), number(change)]
    return row([*cells, number(figures.ratio(load=True)), number(figures.median("replay", "replayed_s", load=True), 3)])


def commit(project):
    """What is measured."""
    name = command(["git", "rev-parse", "--short", "HEAD"], project) or "unknown"
    watched = ["shim", "trace", "merge", "plan", "replay", "scripts"]
    changed = command(["git", "status", "--porcelain", "--", *watched], project)
    return name + " with changes not yet committed" * bool(changed)


def file_system(folder):
    return command(["stat", "-f", "-c", "%T", str(folder)], folder)


def text(record, chosen, project, load_before, disk, memory):
    processor = pathlib.Path("/proc/cpuinfo").read_text()
    names = [line.split(":", 1)[1].strip() for line in processor.splitlines() if line.startswith("model name")]
    words = "".join(f" --{name.replace('_', '-')}" for name in ("quick", "beside_load") if getattr(chosen, name))
    result = INTRODUCTION.format(
        date=datetime.date.today(), words="".join([words, *(f" {name}" for name in chosen.names)]), commit=commit(project),
        processor=names[0] if names else platform.machine(), cores=os.cpu_count(),
        virtual=", virtual machine" if " hypervisor" in processor else "", kernel=platform.release(),
        libc=" ".join(platform.libc_ver()), disk=file_system(disk), memory=file_system(memory),
        before=" ".join(f"{value:.2f}" for value in load_before),
        after=" ".join(f"{value:.2f}" for value in os.getloadavg()), rounds=chosen.rounds,
    )
    measured = [Figures(record, workload) for workload in record.programs.values()]
    measured = [figures for figures in measured if figures.replayed() and figures.application()]
    result += "\n" + heading(COLUMNS) + "".join(program_row(figures) for figures in measured)
    balances = "".join(balance_rows(figures) for figures in measured)
    if balances:
        result += "\nThe two balances, in seconds of all threads together (medians; – where one side has no such part):\n\n"
        result += heading(["program", *(name.removesuffix("_s") for name in PARTS)]) + balances
    else:
        result += "\nNeither the plans nor the reports gave a balance.\n"
    if any(figures.values("replay", "replayed_s", load=True) for figures in measured):
        result += LOAD + heading(LOAD_COLUMNS)
        result += "".join(load_row(figures) for figures in measured if figures.values("replay", "replayed_s", load=True))
    if record.failed:
        result += "\nFailed (its rounds before that count above):\n\n"
        result += "".join(f"- {name}: {why}\n" for name, why in record.failed.items())
    left_out = [note for note in record.notes if "left out" in note]
    if left_out:
        result += "\nNot measured:\n\n" + "".join(f"- {note}\n" for note in left_out)
    return result
