/* survivor: threads that write, and count what has been written in memory that outlives the process.
 *
 * Each thread writes blocks to a file of its own. After each write has returned it adds one to its counter in the file
 * `counters`, which is mapped shared: whatever ends the process, the counters then say how many writes every thread has
 * completed. The file is an array of {thread id, completed writes}, two 64-bit words per thread.
 *
 *   survivor [--threads N] [--writes N] [--end WAY]
 *
 * `--end`: what the last thread does after its writes, while the others are still writing. `never` writes until the
 * process is killed from outside.
 */
#include "common.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { BLOCK = 64, BLOCKS = 1024, MOST_THREADS = 64 };

struct counter {
    _Atomic int64_t tid, completed;
};

static struct counter *counters;
static long long threads = 4, writes = 2000;
static const char *way = "never";
static pthread_barrier_t together;

static struct counter *map_counters(void)
{
    int fd = open("counters", O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0);
    CHECK_OK(ftruncate(fd, threads * (off_t)sizeof *counters));
    void *mapped = mmap(NULL, threads * sizeof *counters, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(mapped != MAP_FAILED);
    CHECK_OK(close(fd));
    return mapped;
}

static void write_block(int fd, struct counter *counter)
{
    static const char block[BLOCK] = "completed";
    off_t offset = atomic_load(&counter->completed) % BLOCKS * BLOCK;
    CHECK_EQ(pwrite(fd, block, BLOCK, offset), BLOCK);
    atomic_fetch_add(&counter->completed, 1);
}

/* Writes once in every frame; no stack has room for `frames` that do not end. */
static long overflow_stack(int fd, struct counter *counter, long frames)
{
    volatile char frame[1024];
    frame[0] = (char)frames;
    write_block(fd, counter);
    return frames ? overflow_stack(fd, counter, frames - 1) + frame[0] : 0;
}

static void end_process(int fd, struct counter *counter)
{
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "overflow") == 0)
        printf("%ld\n", overflow_stack(fd, counter, opaque(1L << 40)));
    if (strcmp(way, "_exit") == 0)
        _exit(3);
    if (strcmp(way, "exit_group") == 0)
        syscall(SYS_exit_group, 4);
    if (strcmp(way, "quick_exit") == 0)
        quick_exit(5);
    if (strcmp(way, "exit") == 0)
        exit(6);
    if (strcmp(way, "execv") == 0)
        execv("/bin/true", (char *[]){"true", NULL});
    if (strcmp(way, "raise") == 0)
        raise(SIGKILL);
}

static void *keep_writing(void *number)
{
    char name[32];
    long long thread = (intptr_t)number;
    struct counter *counter = &counters[thread];
    snprintf(name, sizeof name, "survivor.%lld", thread);
    int fd = open(name, O_WRONLY | O_CREAT, 0644);
    CHECK(fd >= 0);
    atomic_store(&counter->tid, (int64_t)gettid());
    pthread_barrier_wait(&together);
    int ends = thread == threads - 1 && strcmp(way, "never") != 0;
    while (!ends || atomic_load(&counter->completed) < writes)
        write_block(fd, counter);
    end_process(fd, counter);
    fail(__FILE__, __LINE__, "no way to end is called %s", way);
}

int main(int argc, char **argv)
{
    pthread_t others[MOST_THREADS];
    const struct setting settings[] = {
        {"--threads", NUMBER, &threads, "threads that write (4)"},
        {"--writes", NUMBER, &writes, "writes of the last thread before it ends the process (2000)"},
        {"--end", TEXT, &way, "never, abort, overflow, _exit, exit_group, quick_exit, exit, execv, raise (never)"},
        {NULL, FLAG, NULL, NULL},
    };
    parse_options(argc, argv, settings);
    REQUIRE(threads >= 1 && threads <= MOST_THREADS);
    alarm(60);
    counters = map_counters();
    CHECK_OK(pthread_barrier_init(&together, NULL, threads));
    for (intptr_t i = 0; i + 1 < threads; i++)
        CHECK_OK(pthread_create(&others[i], NULL, keep_writing, (void *)i));
    keep_writing((void *)(intptr_t)(threads - 1));
    return 0;
}
