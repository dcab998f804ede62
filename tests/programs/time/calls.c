/* Computation before, between and inside calls on files, and waiting inside them.
 *
 *   calls [part ...]      works in the current folder
 */
#include "time.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

enum { BLOCK = 4096 };

static char block[16 * BLOCK];

static int created(const char *name)
{
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    return fd;
}

static FILE *created_stream(const char *name)
{
    FILE *stream = fopen(name, "w");
    CHECK(stream != NULL);
    return stream;
}

static void before_write(void)
{
    int fd = created("write.dat");
    for (int i = 0; i < 6; i++) {
        compute(15 * MS);
        CHECK_EQ(write(fd, block, BLOCK), BLOCK);
    }
    CHECK_OK(close(fd));
}

/* The outer call encloses the one that writes. */
static void before_fflush(void)
{
    FILE *stream = created_stream("fflush.dat");
    for (int i = 0; i < 6; i++) {
        compute(15 * MS);
        fprintf(stream, "round %d\n", i);
        CHECK_OK(fflush(stream));
    }
    CHECK_OK(fclose(stream));
}

/* fwrite of more than the buffer holds writes inside. */
static void before_large_fwrite(void)
{
    FILE *stream = created_stream("fwrite.dat");
    for (int i = 0; i < 6; i++) {
        compute(15 * MS);
        CHECK_EQ(fwrite(block, 1, sizeof block, stream), sizeof block);
    }
    CHECK_OK(fclose(stream));
}

/* Only now and then does the buffer spill: most of these calls are none for the kernel. */
static void before_spill(void)
{
    FILE *stream = created_stream("spill.dat");
    for (int i = 0; i < 100; i++) {
        compute(1 * MS);
        CHECK_EQ(fwrite(block, 1, 500, stream), 500);
    }
    CHECK_OK(fclose(stream));
}

/* Nothing written before the end: fclose encloses the only write. */
static void before_fclose(void)
{
    FILE *stream = created_stream("fclose.dat");
    compute(30 * MS);
    fprintf(stream, "at last\n");
    compute(30 * MS);
    CHECK_OK(fclose(stream));
}

/* A reader takes a page every 15 ms: the writer waits inside fflush for room. */
static void slow_pipe(void)
{
    int ends[2];
    CHECK_OK(pipe(ends));
    CHECK_EQ(fcntl(ends[1], F_SETPIPE_SZ, BLOCK), BLOCK);
    _Atomic long long *taken = shared_moment();
    pid_t reader = fork_measured();
    if (reader == 0) {
        CHECK_OK(close(ends[1]));
        for (ssize_t length = 1; length > 0;) {
            sleep_ns(15 * MS);
            *taken = wall_ns();
            length = read(ends[0], block, BLOCK);
            CHECK(length >= 0);
        }
        end_child();
    }
    CHECK_OK(close(ends[0]));
    FILE *stream = fdopen(ends[1], "w");
    CHECK(stream != NULL);
    for (int i = 0; i < 8; i++) {
        compute(2 * MS);
        long long entered = wall_ns();
        CHECK(fprintf(stream, "%-4095d\n", i) == BLOCK);
        CHECK_OK(fflush(stream));
        waited(entered, *taken);
    }
    CHECK_OK(fclose(stream));
    reap(reader);
}

/* Gaps far shorter than any clock's cost would suggest to measure. */
static void fine_grain(void)
{
    int fd = created("fine.dat");
    for (int i = 0; i < 1500; i++) {
        compute(20 * US);
        CHECK_EQ(pwrite(fd, block, 64, i * 64), 64);
    }
    for (int i = 0; i < 400; i++) {
        compute(100 * US);
        CHECK_EQ(pread(fd, block, 64, i * 64), 64);
    }
    CHECK_OK(close(fd));
}

/* Many calls with nothing between: all the time is theirs. */
static void calls_alone(void)
{
    int fd = created("alone.dat");
    for (int i = 0; i < 20000; i++)
        CHECK_EQ(pwrite(fd, block, 512, i % 64 * 512), 512);
    CHECK_OK(close(fd));
}

static void sleeping(void)
{
    int fd = created("sleep.dat");
    for (int i = 0; i < 4; i++) {
        compute(10 * MS);
        sleep_ns(20 * MS);
        CHECK_EQ(write(fd, block, BLOCK), BLOCK);
        long long entered = wall_ns();
        CHECK_OK(usleep(15000));
        waited(entered, entered + 15 * MS);
    }
    CHECK_OK(close(fd));
}

/* One timer that goes off again and again, waited for by epoll, poll and read. */
static void timers(void)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, 0), set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    CHECK_OK(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
    struct itimerspec every = {.it_value.tv_nsec = 20 * MS, .it_interval.tv_nsec = 20 * MS};
    long long due = wall_ns();
    CHECK_OK(timerfd_settime(fd, 0, &every, NULL));
    for (int i = 0; i < 9; i++) {
        compute(5 * MS);
        long long entered = wall_ns();
        uint64_t times = 0;
        if (i % 3 == 0)
            CHECK_EQ(epoll_wait(set, &event, 1, -1), 1);
        else if (i % 3 == 1)
            CHECK_EQ(poll(&polled, 1, -1), 1);
        CHECK_EQ(read(fd, &times, sizeof times), sizeof times);
        due += (long long)times * 20 * MS;
        waited(entered, due);
    }
    CHECK_OK(close(set));
    CHECK_OK(close(fd));
}

/* The device is waited for in calls that move no bytes. */
static void syncing(void)
{
    int fd = created("sync.dat");
    for (int i = 0; i < 8; i++) {
        compute(5 * MS);
        CHECK_EQ(pwrite(fd, block, sizeof block, i * (off_t)sizeof block), sizeof block);
        CHECK_OK(fsync(fd));
    }
    CHECK_OK(close(fd));
    CHECK_OK(unlink("sync.dat"));
}

static void opening(void)
{
    for (int i = 0; i < 60; i++) {
        char name[32];
        struct stat status;
        snprintf(name, sizeof name, "open%d.dat", i);
        compute(1 * MS);
        CHECK_OK(close(created(name)));
        CHECK_OK(stat(name, &status));
        CHECK_OK(rename(name, "renamed.dat"));
        CHECK_OK(unlink("renamed.dat"));
    }
}

/* Pages that are read from the file where memory is touched: kernel time and waiting outside every call. */
static void page_faults(void)
{
    enum { BYTES = 8 << 20 };
    int fd = created("mapped.dat");
    for (int at = 0; at < BYTES; at += (int)sizeof block)
        CHECK_EQ(pwrite(fd, block, sizeof block, at), sizeof block);
    CHECK_OK(fsync(fd));
    CHECK_OK(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
    volatile char *mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(mapped != MAP_FAILED);
    for (int at = 0; at < BYTES; at += BLOCK) {
        mapped[at] = (char)(mapped[at] + 1);
        if (at % (64 * BLOCK) == 0)
            compute(2 * MS);
    }
    CHECK_OK(munmap((void *)mapped, BYTES));
    CHECK_OK(close(fd));
}

/* The library of TIME_LIBRARY computes for 40 ms in its constructor. */
static void constructor(void)
{
    const char *path = getenv("TIME_LIBRARY");
    CHECK(path != NULL);
    compute(20 * MS);
    long long before = cpu_ns();
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    long long used = cpu_ns() - before;
    CHECK(used >= 40 * MS);
    own.inside += used;
    compute(20 * MS);
    CHECK_OK(dlclose(library));
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"write", before_write},
        {"fflush", before_fflush},
        {"large-fwrite", before_large_fwrite},
        {"spill", before_spill},
        {"fclose", before_fclose},
        {"slow-pipe", slow_pipe},
        {"fine-grain", fine_grain},
        {"calls-alone", calls_alone},
        {"sleep", sleeping},
        {"timers", timers},
        {"fsync", syncing},
        {"open", opening},
        {"page-faults", page_faults},
        {"constructor", constructor},
        {NULL, NULL},
    };
    return time_main(argc, argv, "calls", parts);
}
