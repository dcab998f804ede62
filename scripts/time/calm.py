"""Waits until nobody slows the processors, so that what is measured at different times can be compared."""

import concurrent.futures
import os
import statistics
import time

# A loop takes at most so much longer than the fastest one where nobody else slows the processors. Processors that are shared are up to
# 1.7 times slower for minutes: a plan is then as wrong as its recording's minute differs from the application's, and which plan is best is
# chance.
CALM = 1.25


class Calm:
    """Waits until no processor is slower than it was at best."""

    def __init__(self, seconds):
        self.seconds, self.best, self.in_vain = seconds, {}, 0

    def wait(self):
        until = time.monotonic() + self.seconds
        while self.seconds and not self.is_calm():
            if time.monotonic() > until:
                self.in_vain += 1
                return
            time.sleep(0.5)

    def is_calm(self):
        with concurrent.futures.ProcessPoolExecutor() as pool:
            taken = dict(pool.map(loops, sorted(os.sched_getaffinity(0))))
        self.best = {cpu: min(taken[cpu], self.best.get(cpu, taken[cpu])) for cpu in taken}
        return all(taken[cpu] <= CALM * self.best[cpu] for cpu in taken)


def loops(cpu):
    """The median time of some short loops on this processor."""
    os.sched_setaffinity(0, {cpu})
    times = []
    for _ in range(15):
        began = time.perf_counter()
        sum(range(500_000))
        times.append(time.perf_counter() - began)
    return cpu, statistics.median(times)
