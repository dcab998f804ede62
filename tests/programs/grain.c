// Computes in short pieces, first with nothing between them, then with a call that fails at once. Prints the CPU time of the
// first part, which is that of the second, too, and the wall times of both, nanoseconds. A recorder that stops the thread at calls
// is in the second alone. Argument: the length of a piece, steps of about 1 ns.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PIECES = 5000 };

static volatile unsigned result;

// One chain of multiplications, the same instructions for both parts: where a loop lies changes how long it takes.
__attribute__((noinline)) static void compute(unsigned steps) {
    unsigned value = result;
    for (unsigned step = 0; step < steps; step++)
        value = value * 1664525 + 1013904223;
    result = value;
}

static long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

int main(int argc, char **argv) {
    unsigned steps = argc > 1 ? strtoul(argv[1], NULL, 10) : 24000;
    long cpu_began = now(CLOCK_THREAD_CPUTIME_ID), began = now(CLOCK_MONOTONIC);
    for (int piece = 0; piece < PIECES; piece++)
        compute(steps);
    long cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu_began, first = now(CLOCK_MONOTONIC) - began;
    began = now(CLOCK_MONOTONIC);
    for (int piece = 0; piece < PIECES; piece++) {
        compute(steps);
        syscall(SYS_close, -1);
    }
    printf("%ld %ld %ld\n", cpu, first, now(CLOCK_MONOTONIC) - began);
    return 0;
}
