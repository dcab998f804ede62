"""Computation and waiting in Python: JSON in text files, a thread, a child process, sleep.

Prints what it measured itself, as time.h does. Works in the current folder.
"""

import json
import os
import subprocess
import sys
import threading
import time

MS = 1_000_000


def spin(ns):
    """Until the thread has used `ns` of CPU time; what it used."""
    began = time.thread_time_ns()
    while time.thread_time_ns() - began < ns:
        sum(range(200))
    return time.thread_time_ns() - began


def report(began, work, wait):
    line = "pid=%d tid=%d cpu_ns=%d wall_ns=%d work_ns=%d inside_ns=0 wait_ns=%d\n"
    values = (os.getpid(), threading.get_native_id(), time.thread_time_ns(), time.monotonic_ns() - began, work, wait)
    os.write(1, (line % values).encode())


def beside():
    began = time.monotonic_ns()
    report(began, spin(20 * MS), 0)


def child():
    os.write(1, b"pid=%d cpu_user_sys_ns=%d\n" % (os.getpid(), time.process_time_ns()))


def main():
    began, work, wait = time.monotonic_ns(), 0, 0
    for number in range(4):
        work += spin(15 * MS)
        with open("table.json", "w") as out:
            json.dump({str(key): [key] * 5 for key in range(2000)}, out)
        with open("table.json") as table:
            assert len(json.load(table)) == 2000
        time.sleep(0.015)
        wait += 15 * MS
    thread = threading.Thread(target=beside)
    thread.start()
    thread.join()
    subprocess.run([sys.executable, "-S", "-E", __file__, "child"], check=True)
    report(began, work, wait)
    child()


child() if sys.argv[1:] == ["child"] else main()
