#!/usr/bin/env python3
"""Plans of the same recordings without and with the rules on locks, channels, signals and IPC.

  measure.py BIN_FOLDER OUT.csv ROUNDS [--quick] NAME ...

In each round: the application unrecorded, recorded, both plans replayed (in turns the one or the other first), the
application again. NAME is one of `scripts/bench-time --list`.
"""
import csv, json, os, pathlib, shutil, subprocess, sys, tempfile, time

project = pathlib.Path(__file__).resolve().parents[3]
sys.dont_write_bytecode = True
sys.path.insert(0, str(project / "scripts" / "time"))
import stages, workloads

RULES = "mutex,rwlock,condition,barrier,semaphore,futex,pipe,socket,eventfd,signal,file-lock,ipc"
bins, out, rounds = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
quick, names = "--quick" in sys.argv, [word for word in sys.argv[4:] if not word.startswith("-")]
rows = csv.writer(out.open("a", newline=""))
if out.stat().st_size == 0:
    rows.writerow(["program", "round", "plan", "measure", "value"])


def run(words, folder, environment=(), good=(0,), limit=200):
    began = time.monotonic()
    ran = subprocess.run([str(word) for word in words], cwd=folder, env={**os.environ, **dict(environment)},
                         capture_output=True, text=True, timeout=limit)
    if ran.returncode not in good:
        raise SystemExit(f"{words}: {ran.returncode}\n{ran.stdout[-800:]}{ran.stderr[-800:]}")
    return time.monotonic() - began, ran.stdout


def application(workload, words, inputs, base, environment=()):
    work = base / "work"
    shutil.rmtree(work, ignore_errors=True)
    subprocess.run(["cp", "-a", inputs, work], check=True)
    return run(words, work, {**stages.MPI, **workload.environment, **dict(environment)})[0]


def plan(base, number, workload, kind, more):
    file = base / f"{kind}.syn"
    merge_s, _ = run([bins / "syn", "merge", base / "run", "-o", file, *more], base, good=(0, 3))
    info = json.loads(run([bins / "syn", "info", "--json", file], base, good=(0, 3))[1])
    balance = info["balance"]
    unexplained = balance["unexplained_calls_s"] + balance["unexplained_s"]
    measures = {"merge_s": merge_s, "plan_bytes": file.stat().st_size, "wall_s": balance["wall_s"],
                "explained_s": sum(balance["explained_s"].values()), "unexplained_calls_s": balance["unexplained_calls_s"],
                "unexplained_s": unexplained, "unexplained_percent": 100 * unexplained / balance["wall_s"]}
    measures.update({f"edges {rule}": count for rule, count in info["edges"].items() if count})
    for name, value in measures.items():
        rows.writerow([workload.name, number, kind, name, round(value, 6)])
    return file


def replay(base, number, workload, kind, file):
    (base / "storage").mkdir(exist_ok=True)
    run([bins / "syn", "replay", "--storage", base / "storage", "--report", base / "report.json", file], base, good=(0, 3))
    told = json.loads((base / "report.json").read_text())
    replayed = told["replayed_s"][0] if isinstance(told["replayed_s"], list) else told["replayed_s"]
    rows.writerow([workload.name, number, kind, "replayed_s", round(replayed, 6)])
    return replayed, told["recorded_s"]


for workload in [workload for workload in workloads.ALL if workload.name in names]:
    base = pathlib.Path(tempfile.mkdtemp(prefix="syn-edges.", dir="/dev/shm"))
    try:
        (base / "inputs").mkdir()
        words = workload.prepare(base / "inputs", quick, project)
        for number in range(1, rounds + 1):
            first = application(workload, words, base / "inputs", base)
            shutil.rmtree(base / "run", ignore_errors=True)
            (base / "run").mkdir()
            recorder = {"LD_PRELOAD": str(bins / "libsynshim.so"), "SYN_RUN": str(base / "run")}
            recorded = application(workload, words, base / "inputs", base, recorder)
            kinds = [("without", ["--without", RULES]), ("with", [])]
            plans = [(kind, plan(base, number, workload, kind, more)) for kind, more in kinds]
            told = {kind: replay(base, number, workload, kind, file) for kind, file in (plans if number % 2 else plans[::-1])}
            second = application(workload, words, base / "inputs", base)
            outside = max(0.0, recorded - told["with"][1])
            for name, value in (("application_s", first - outside), ("application_s", second - outside), ("recorded_s", told["with"][1])):
                rows.writerow([workload.name, number, "", name, round(value, 6)])
            mine = (first + second) / 2 - outside
            errors = {kind: 100 * (mine - replayed) / mine for kind, (replayed, _) in told.items()}
            for kind, error in errors.items():
                rows.writerow([workload.name, number, kind, "error_percent", round(error, 3)])
            print(workload.name, number, f"application {mine:.3f}, recorded {told['with'][1]:.3f},",
                  ", ".join(f"{kind} {told[kind][0]:.3f} ({errors[kind]:+.1f} %)" for kind in errors), flush=True)
    finally:
        shutil.rmtree(base)
