/* Bad pointers in places that the kernel does not look at, or not first; what it, or somebody else, writes over meanwhile. */
#include "../confined.h"
#include "cases.h"
#include <execinfo.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>

extern char **environ;

/* Prints errno: which of its arguments the kernel looks at first depends on its version. */
#define FAILS(call) \
    do { \
        CHECK_EQ(call, -1); \
        printf("errno %d: %s\n", errno, #call); \
    } while (0)

/* Calls that fail for another reason than a path that cannot be read; of two that rename, the first path can. */
void texts_unread(void)
{
    char *bad = bad_address(), *words[] = {bad, NULL};
    FAILS(rename("missing/one", bad));
    FAILS(renameat2(AT_FDCWD, "missing/two", AT_FDCWD, bad, 0));
    FAILS(link("missing/one", bad));
    FAILS(linkat(AT_FDCWD, "missing/one", AT_FDCWD, bad, 0));
    FAILS(mknod(bad, S_IFDIR, 0));
    FAILS(mknodat(AT_FDCWD, bad, S_IFDIR, 0));
    FAILS(syscall(SYS_rename, "missing/one", bad));
    FAILS(syscall(SYS_mknod, bad, S_IFDIR, 0));

    posix_spawn_file_actions_t actions;
    CHECK_OK(posix_spawn_file_actions_init(&actions));
    CHECK_OK(posix_spawn_file_actions_addopen(&actions, 5, "missing/one", O_RDONLY, 0));
    CHECK_EQ(posix_spawn(NULL, bad, &actions, NULL, words, environ), ENOENT);
    CHECK_OK(posix_spawn_file_actions_destroy(&actions));
    CHECK_EQ(WEXITSTATUS(system(bad)), 127);
}

static void fail_in_prison(void)
{
    char *words[] = {"missing", NULL};
    allow_only(SYS_access, SYS_execve, SYS_exit_group);
    CHECK_FAILS(access("missing", F_OK), ENOENT);
    CHECK_FAILS(access(bad_address(), F_OK), EFAULT);
    CHECK_FAILS(execv("missing", words), ENOENT);
    CHECK_FAILS(execv(bad_address(), words), EFAULT);
    _exit(0);
}

/* Two calls of each kind that fail, in a process that may make no other: nobody can ask what there is to read. */
void failures_in_prison(void)
{
    pid_t child = fork_child();
    if (child == 0)
        fail_in_prison();
    check_exit(child, 0);
}

enum { TARGET_BYTES = 16 };

/* A link's target in place of its name: in a buffer with room, and in one that the target fills up to the end of what can be read. */
void paths_written_over(void)
{
    CHECK_OK(symlink("some-long-target", "link"));
    char room[64] = "link", *volatile name = room; /* the compiler minds, the kernel does not */
    CHECK_EQ(readlink(name, room, sizeof room), TARGET_BYTES);
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    CHECK_OK(mprotect(page + 4096, 4096, PROT_NONE));
    char *end = page + 4096 - TARGET_BYTES;
    name = strcpy(end, "link");
    CHECK_EQ(readlink(name, end, TARGET_BYTES), TARGET_BYTES);
    name = strcpy(end, "link");
    CHECK_EQ(readlinkat(AT_FDCWD, name, end, TARGET_BYTES), TARGET_BYTES);
    CHECK_OK(munmap(page, 8192));
    CHECK_OK(unlink("link"));
}

enum { MESSAGES = 50, HALF = 150000 };

struct message {
    struct iovec parts[2];
    char bytes[2 * HALF];
};

static int ends[2];
static _Atomic(struct message *) handed_over;

static struct message *mapped_message(void)
{
    struct message *message =
        mmap(NULL, sizeof *message, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(message != MAP_FAILED);
    message->parts[0] = (struct iovec){message->bytes, HALF};
    message->parts[1] = (struct iovec){message->bytes + HALF, HALF};
    return message;
}

static void *take_messages(void *unused)
{
    static char bytes[2 * HALF];
    for (int count = 0; count < MESSAGES; count++) {
        for (size_t taken = 0; taken < sizeof bytes;) {
            ssize_t more = read(ends[0], bytes, sizeof bytes - taken);
            CHECK(more > 0);
            taken += more;
        }
        CHECK_OK(munmap(handed_over, sizeof(struct message)));
        handed_over = NULL;
    }
    return unused;
}

/* A message in a pipe is the reader's once it has all of it: the writer may still be on its way back. */
void parts_given_back(void)
{
    CHECK_OK(pipe(ends));
    pthread_t reader;
    CHECK_OK(pthread_create(&reader, NULL, take_messages, NULL));
    for (int count = 0; count < MESSAGES; count++) {
        struct message *message = mapped_message();
        handed_over = message;
        const struct iovec *volatile parts = message->parts; /* of which the compiler believes that they are one */
        CHECK_EQ(writev(ends[1], parts, 2), 2 * HALF);
        while (handed_over)
            sched_yield();
    }
    CHECK_OK(pthread_join(reader, NULL));
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
}

/* By number, ppoll and pselect write over the time that they were asked to wait what is left of it. */
void times_written_over(void)
{
    struct timespec time = {0, 3000000};
    CHECK_EQ(syscall(SYS_ppoll, NULL, 0, &time, NULL, 8), 0);
    time = (struct timespec){0, 4000000};
    CHECK_EQ(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &time, NULL), 0);
    CHECK_EQ(time.tv_nsec, 0);
}

enum { SAMPLES = 300 };
static volatile int samples, without_caller;

static void sample(int number)
{
    void *callers[64];
    int count = backtrace(callers, 64), found = 0;
    for (int at = 0; at < count; at++)
        found |= callers[at] >= (void *)callers_of_numbers && callers[at] < (void *)callers_of_numbers + 4096;
    samples++;
    without_caller += !found;
    (void)number;
}

/* Profilers find their way from every instruction of syscall(2). */
void callers_of_numbers(void)
{
    void *callers[4];
    backtrace(callers, 4); /* which loads a library */
    struct sigaction action = {.sa_handler = sample, .sa_flags = SA_RESTART};
    CHECK_OK(sigaction(SIGPROF, &action, NULL));
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    CHECK_OK(setitimer(ITIMER_PROF, &often, NULL));
    while (samples < SAMPLES)
        syscall(SYS_getppid);
    CHECK_OK(setitimer(ITIMER_PROF, &never, NULL));
    CHECK_EQ(without_caller, 0);
}
