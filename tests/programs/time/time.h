/* What the programs with a known answer for time share.
 *
 * A part computes until its thread's CPU clock has advanced by so much, which is exact however often the thread loses its
 * processor, and waits for what it knows the end of. Each thread and each process prints what it measured itself, in one
 * write to standard output:
 *
 *   pid=1 tid=1 cpu_ns=… wall_ns=… work_ns=… inside_ns=… wait_ns=…
 *   pid=1 cpu_user_sys_ns=…
 *
 * work_ns: computed outside every call of libc and MPI. inside_ns: computed in a handler, constructor or callback, which
 * may run inside such a call. wait_ns: from entering a call to the moment at which another released it, a lower bound of
 * the time blocked there. All are part of the thread's life, which wall_ns spans. Include this header first.
 */
#ifndef TIME_H
#define TIME_H

#include "../parts.h"
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define MS 1000000LL
#define US 1000LL

/* What a thread knows of itself, in nanoseconds. */
struct known {
    long long began, work, inside, wait;
};

/* Volatile: a handler counts in it too. */
static _Thread_local volatile struct known own;

static inline long long clock_ns(clockid_t clock)
{
    struct timespec now;
    CHECK_OK(clock_gettime(clock, &now));
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static inline long long wall_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static inline long long cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Spins until the thread has used `ns` of CPU time; what it used. The clock is read after a part of what is left each time,
 * not every few microseconds: at each system call the kernel may let another thread run, where computation has to wait for
 * a tick of its clock. */
static inline long long spin(long long ns)
{
    long long began = cpu_ns(), used = 0;
    do
        work(5 + (ns - used) / (4 * US));
    while ((used = cpu_ns() - began) < ns);
    return used;
}

/* The thread's CPU time, and in `inside` what handlers have had of it until then: both of one moment. */
static inline long long cpu_beside(long long *inside)
{
    long long now;
    do {
        *inside = own.inside;
        now = cpu_ns();
    } while (own.inside != *inside);
    return now;
}

/* Computes where no call of libc or MPI is open; what handlers do meanwhile is theirs. */
static inline void compute(long long ns)
{
    long long inside_before, inside_after, began = cpu_beside(&inside_before);
    spin(ns);
    long long used = cpu_beside(&inside_after) - began;
    own.work += used - (inside_after - inside_before);
}

/* Computes where one may be open: in a handler, a constructor, a callback. */
static inline void compute_inside(long long ns)
{
    own.inside += spin(ns);
}

/* The thread entered a call at `entered` and could not return before `released`. */
static inline void waited(long long entered, long long released)
{
    if (released > entered)
        own.wait += released - entered;
}

/* Sleeps in nanosleep, whatever interrupts it. */
static inline void sleep_ns(long long ns)
{
    struct timespec left = {ns / 1000000000LL, ns % 1000000000LL};
    long long entered = wall_ns();
    while (nanosleep(&left, &left) != 0)
        CHECK_EQ(errno, EINTR);
    waited(entered, entered + ns);
}

/* At the beginning of each thread, and of each process that fork made. */
static inline void begin_thread(void)
{
    own = (struct known){.began = wall_ns()};
}

/* At the end of each thread. */
static inline void report_thread(void)
{
    dprintf(1, "pid=%d tid=%d cpu_ns=%lld wall_ns=%lld work_ns=%lld inside_ns=%lld wait_ns=%lld\n", (int)getpid(),
            (int)gettid(), cpu_ns(), wall_ns() - own.began, own.work, own.inside, own.wait);
}

/* At the end of each process. */
static inline void report_process(void)
{
    struct rusage usage;
    CHECK_OK(getrusage(RUSAGE_SELF, &usage));
    long long microseconds = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL + usage.ru_utime.tv_usec +
                             usage.ru_stime.tv_usec;
    dprintf(1, "pid=%d cpu_user_sys_ns=%lld\n", (int)getpid(), microseconds * US);
}

/* Ends a process that fork made, with both reports. */
__attribute__((noreturn, unused)) static void end_child(void)
{
    report_thread();
    report_process();
    _exit(0);
}

/* The child's process id; 0 in the child, whose own figures begin. */
static inline pid_t fork_measured(void)
{
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        begin_thread();
    return child;
}

/* Waits for a child that ends well; no wait of a known length. */
static inline void reap(pid_t child)
{
    int status = -1;
    pid_t ended;
    while ((ended = waitpid(child, &status, 0)) < 0)
        CHECK_EQ(errno, EINTR);
    CHECK_EQ(ended, child);
    CHECK_EQ(status, 0);
}

/* A moment that one process or thread writes and another reads. */
static inline _Atomic long long *shared_moment(void)
{
    void *page = mmap(NULL, sizeof(long long), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    return page;
}

/* Runs all parts, or those named on the command line, then reports. */
static inline int time_main(int argc, char **argv, const char *program, const struct part *parts)
{
    begin_thread();
    (void)argc;
    check_parts(program, argv + 1, parts);
    run_parts(program, argv + 1, parts, 0);
    report_thread();
    report_process();
    return 0;
}

#endif
