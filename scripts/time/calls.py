"""Which calls a recording, a plan and a recorded replay hold: by kind, path and outcome."""

import collections
import datetime
import errno

import readme

# The names of one kind of call: in recordings, and in plans.
KINDS = {
    "open": "open openat openat2 creat",
    "close": "close",
    "dup": "dup dup2 dup3",
    "read": "read readv",
    "write": "write writev",
    "pread": "pread preadv preadv2",
    "pwrite": "pwrite pwritev pwritev2",
    "lseek": "lseek",
    "stat": "stat lstat fstatat statx",
    "fstat": "fstat",
    "access": "access faccessat faccessat2",
    "readlink": "readlink readlinkat",
    "unlink": "unlink",
    "rmdir": "rmdir",
    "mkdir": "mkdir mkdirat",
    "rename": "rename renameat renameat2",
    "link": "link linkat",
    "symlink": "symlink symlinkat",
    "truncate": "truncate",
    "ftruncate": "ftruncate",
    "fallocate": "fallocate",
    "posix_fallocate": "posix_fallocate",
    "chmod": "chmod fchmodat fchmodat2",
    "fchmod": "fchmod",
    "chown": "chown lchown fchownat",
    "fchown": "fchown",
    "utimens": "utimensat utimens utime utimes lutimes futimesat",
    "futimens": "futimens futimes",
    "getxattr": "getxattr lgetxattr",
    "fgetxattr": "fgetxattr",
    "setxattr": "setxattr lsetxattr",
    "fsetxattr": "fsetxattr",
    "listxattr": "listxattr llistxattr",
    "flistxattr": "flistxattr",
    "removexattr": "removexattr lremovexattr",
    "fremovexattr": "fremovexattr",
    "mknod": "mknod mknodat mkfifo mkfifoat",
    "statfs": "statfs",
    "fstatfs": "fstatfs",
    "fsync": "fsync",
    "fdatasync": "fdatasync",
    "sync_file_range": "sync_file_range",
    "fadvise": "posix_fadvise",
    "readahead": "readahead",
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in [kind, *names.split()]}
F_DUPFD, F_DUPFD_CLOEXEC = 0, 1030
AT_REMOVEDIR, AT_EMPTY_PATH = 0x200, 0x1000
O_PATH = 0o10000000


def kind_of(step):
    """The kind of a recorded call; `place` for a folder that is opened to name things in it. None: not compared."""
    name, arguments = step["call"], step.get("args", {})
    if name == "fcntl":
        return "dup" if arguments.get("cmd") in (F_DUPFD, F_DUPFD_CLOEXEC) else None
    if name == "unlinkat":
        return "rmdir" if arguments.get("flags", 0) & AT_REMOVEDIR else "unlink"
    kind = KIND_OF.get(name)
    if kind == "stat" and name in ("fstatat", "statx") and arguments.get("flags", 0) & AT_EMPTY_PATH and not arguments.get("pathname"):
        return "fstat"
    if kind == "utimens" and name == "utimensat" and not {"file", "pathname"} & arguments.keys():
        return "futimens"
    if kind == "open" and arguments.get("flags", 0) & O_PATH:
        return "place"
    return kind


def outcome_of(step):
    return errno.errorcode.get(step["errno"], str(step["errno"])) if step.get("errno") else ""


def of_recording(dump):
    """By kind, path and outcome, of the calls that an application's recording holds one by one."""
    tally = collections.Counter()
    for step in dump:
        kind = kind_of(step)
        if kind and step["layer"] == "posix" and not step.get("began"):
            tally[kind, step.get("path") or "", outcome_of(step)] += 1
    return tally


def of_plan(dump):
    """The same of a plan's steps. `found` are descriptors that a process begins with."""
    tally, handles = collections.Counter(), {}
    # Threads of a process share descriptors.
    for step in sorted(dump, key=lambda step: (step["start_ns"], step["end_ns"])):
        name, arguments, process = step["call"], step.get("args", {}), step["process"]
        kind = "found" if name == "inherited" else kind_of(step)
        if not kind:
            continue
        if kind == "symlink":
            # Its own, as in a recording, not what it holds.
            path = step.get("second_path") or ""
        elif "file" in arguments or step.get("path"):
            path = step.get("path") or ""
        else:
            path = handles.get((process, arguments.get("handle")), "")
        if "handle" in arguments and name in ("open", "inherited"):
            handles[process, arguments["handle"]] = path
        if name == "dup":
            handles[process, arguments["new"]] = path
        tally[kind, path, outcome_of(step)] += 1
    return tally


def of_replay(dump, storage):
    """The same of a recorded replay, below its folder, without the process that prepares and removes."""
    tally, leader = collections.Counter(), None
    for step in dump:
        if step["call"] == "process-start" and leader is None:
            leader = step["pid"]
        kind, path = kind_of(step), step.get("path") or ""
        if not kind or step["pid"] == leader or step.get("began") or not path.startswith(storage + "/"):
            continue
        path = "/" + "/".join(path[len(storage) + 1:].split("/")[1:])
        tally[kind, path, outcome_of(step)] += 1
    return tally


# What a plan and a recording may call differently: a status by descriptor or path (fstatat(2) with AT_EMPTY_PATH), and bytes at
# a position that others move as well.
TOGETHER = {"fstat": "stat", "futimens": "utimens", "pread": "read", "pwrite": "write", "place": "open"}
# A plan has more of these than the recording: dup2(2) closes, positions are kept per open file, and a fork leaves descriptors
# open.
OF_DESCRIPTORS = {"close", "dup", "lseek", "found"}


def together(tally):
    """By kind, as far as recordings and plans tell them apart, and path; outcomes together."""
    merged = collections.Counter()
    for (kind, path, _), count in tally.items():
        if kind not in OF_DESCRIPTORS:
            merged[TOGETHER.get(kind, kind), path] += count
    return merged


class Comparison:
    """Of one program: what of the recording the plan lacks, and what the replay lacks of the plan, and does besides."""

    def __init__(self, application, planned, replayed, left_out):
        recorded, steps = together(application), together(planned)
        self.recorded = total(recorded)
        # Listed by the plan, in all places together; by kind.
        self.listed = collections.Counter()
        for entry in left_out:
            kind = KIND_OF.get(entry["call"].split(" ")[0])
            if kind and kind not in OF_DESCRIPTORS:
                self.listed[TOGETHER.get(kind, kind)] += entry["count"]
        lacking = collections.Counter()
        for (kind, _), count in (recorded - steps).items():
            lacking[kind] += count
        self.unlisted, self.overlisted = lacking - self.listed, self.listed - lacking
        self.invented = steps - recorded
        expected = collections.Counter()
        for (kind, path, outcome), count in planned.items():
            expected["open" if kind == "found" else kind, path, outcome] += count
        self.steps = total(expected)
        self.missing, extra = expected - replayed, replayed - expected
        # A file system is asked for by a name that is looked for, and by that name's folder.
        for (kind, path, outcome), count in list(self.missing.items()):
            if kind == "statfs" and extra["access", path, outcome] >= count:
                folder = path.rpartition("/")[0] or "/"
                extra["access", path, outcome] -= count
                if outcome == "":
                    extra["fstatfs", folder, ""] -= count
                del self.missing[kind, path, outcome]
        # Where a name's folder is missing, that is what is found out.
        def is_missing(path):
            return ("place", path, "ENOENT") in extra

        absent = [key for key in self.missing if key[2] == "ENOENT" and (is_missing(key[1]) or is_missing(key[1].rpartition("/")[0]))]
        found_out = sum(count for (kind, _, outcome), count in extra.items() if kind == "place" and outcome == "ENOENT")
        self.absent = sum(self.missing[key] for key in absent)
        if self.absent <= found_out:
            for key in absent:
                del self.missing[key]
        self.places = sum(count for (kind, _, _), count in extra.items() if kind == "place")
        # Folders that names are looked up in, and descriptors that a process was begun with, are closed at its end.
        self.closes = sum(count for (kind, _, _), count in extra.items() if kind == "close")
        # What a process was begun with stands somewhere.
        for (kind, path, _), count in planned.items():
            if kind == "found":
                extra["lseek", path, ""] -= count
        self.extra = +collections.Counter({key: count for key, count in extra.items() if key[0] not in ("place", "close")})


def total(tally):
    return sum(tally.values())


def named(tally):
    """The most frequent, in words."""
    shown = [" ".join(map(str, key)).strip() if isinstance(key, tuple) else key for key, _ in tally.most_common(6)]
    counts = [count for _, count in tally.most_common(6)]
    words = ", ".join(f"{count} {what}" for what, count in zip(shown, counts))
    return words + (", …" if len(tally) > 6 else "")


INTRODUCTION = """\
# What a replay does, call by call, {date}

`scripts/bench-calls{words}`, commit {commit}. Inputs of `bench-time --quick`; applications and replays on {disk}.

Each program is recorded and merged, and its replay is recorded by ptrace. *recorded*: calls about files and what is in them, by
kind and path, in the application's recording; *left out*: those of which the plan lists that it leaves them out (devices,
pipes, the system's own files), by kind; *in neither*: recorded, and not in the plan, and not listed; *invented*: in the plan, and
not recorded (the file of a socket, which bind(2) makes, is a `mknod` there). *steps*: what the plan asks of the system, closing,
duplicating and positioning of descriptors included; *not made*,
*besides*: by kind, path below the storage folder and outcome (errno), what the replay's own recording lacks, and what it holds
besides. Not compared: sizes, positions and order; the listing of folders, of which a step stands for as many calls as it takes;
copies inside the kernel; syncfs. Not counted there: positioning what a process is begun with; opening a folder to name what is in it, once in a
process or when folders are renamed (*folders*; names in a folder that was missing are asked for in this way, *absent*); asking for
a file system by a name, for which the name is looked for and its folder asked; and closing these and what a process was begun with (*closes*).
"""


def text(found, chosen, disk, project):
    """The record's README. Paths are told from the folder where applications and replays work."""
    words = "".join(f" {word}" for word in chosen.words)
    values = {"date": datetime.date.today(), "disk": readme.file_system(disk), "words": words, "commit": readme.commit(project)}
    columns = ["program", "recorded", "left out", "in neither", "invented", "steps", "not made", "besides", "folders", "absent", "closes"]
    lines = [INTRODUCTION.format(**values), "\n", readme.heading(columns)]
    remarks = []
    for name, comparison in found.items():
        if isinstance(comparison, str):
            lines.append(readme.row([name, comparison] + [""] * (len(columns) - 2)))
            continue
        cells = [comparison.recorded, total(comparison.listed), total(comparison.unlisted),
                 total(comparison.invented), comparison.steps,
                 total(comparison.missing), total(comparison.extra), comparison.places, comparison.absent, comparison.closes]
        lines.append(readme.row([name, *map(str, cells)]))
        for what in ("unlisted", "overlisted", "invented", "missing", "extra"):
            if tally := getattr(comparison, what):
                remarks.append(f"- {name}, {WORDS[what]}: {named(tally)}\n".replace(f"{disk}/", ""))
    return "".join(lines + ["\n"] * bool(remarks) + remarks)


WORDS = {
    "unlisted": "in neither", "overlisted": "listed as left out, though not recorded so", "invented": "in the plan, but not recorded",
    "missing": "not made", "extra": "besides",
}
