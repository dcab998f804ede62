/* Threads and signal handlers: many, on small stacks, in the middle of something, and after everything. */
#include "cases.h"
#include "../interrupts.h"
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

enum { HANDLED = 200 };

static volatile sig_atomic_t handled;
static int handler_fd;

static void write_from_handler(int signal)
{
    (void)signal;
    int error = errno;
    if (handled < HANDLED && write(handler_fd, "h", 1) == 1)
        handled++;
    errno = error;
}

/* A handler writes 200 bytes, one at a time, while the program writes lines through a stream and flushes each. The
 * last call, lseek, tells how many bytes the lines had, five each. */
void handler_amid_streams(void)
{
    FILE *lines = fopen("lines", "w");
    handler_fd = open("handler", O_RDWR | O_CREAT | O_EXCL | O_APPEND, 0644);
    CHECK(lines != NULL && handler_fd >= 0);
    timer_t timer = start_interrupts(write_from_handler);
    long long count = 0;
    for (; handled < HANDLED; count++) {
        CHECK_EQ(fprintf(lines, "%s\n", "line"), 5);
        CHECK_OK(fflush(lines));
    }
    stop_interrupts(timer);
    CHECK_EQ(lseek(fileno(lines), 0, SEEK_END), count * 5);
    CHECK_EQ(lseek(handler_fd, 0, SEEK_END), HANDLED);
    CHECK_OK(fclose(lines));
    CHECK_OK(close(handler_fd));
    CHECK_OK(unlink("lines"));
    CHECK_OK(unlink("handler"));
}

static void append_from_handler(int signal)
{
    (void)signal;
    append_text("file", "from a small stack");
}

/* The handler opens, writes and closes on an alternate stack with one page beside what the kernel puts there. */
void handler_on_small_stack(void)
{
    long bytes = sysconf(_SC_MINSIGSTKSZ) + 4096;
    stack_t stack = {.ss_sp = allocate(bytes), .ss_size = bytes}, before;
    struct sigaction action = {.sa_handler = append_from_handler, .sa_flags = SA_ONSTACK};
    CHECK_OK(sigaltstack(&stack, &before));
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    CHECK_OK(raise(SIGUSR1));
    CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
    CHECK_OK(sigaltstack(&before, NULL));
    free(stack.ss_sp);
    check_and_remove("file", "from a small stack");
}

static int shared_fd;

static void *write_byte(void *number)
{
    CHECK_EQ(pwrite(shared_fd, "t", 1, (intptr_t)number), 1);
    return NULL;
}

/* 2000 threads, 8 at a time, each with one write of one byte. */
void thousands_of_threads(void)
{
    enum { ROUNDS = 250, AT_ONCE = 8 };
    pthread_t threads[AT_ONCE];
    shared_fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    for (intptr_t round = 0; round < ROUNDS; round++) {
        for (intptr_t i = 0; i < AT_ONCE; i++)
            CHECK_OK(pthread_create(&threads[i], NULL, write_byte, (void *)(round * AT_ONCE + i)));
        for (int i = 0; i < AT_ONCE; i++)
            CHECK_OK(pthread_join(threads[i], NULL));
    }
    CHECK_EQ(lseek(shared_fd, 0, SEEK_END), ROUNDS * AT_ONCE);
    CHECK_OK(close(shared_fd));
    CHECK_OK(unlink("file"));
}

static void *use_file(void *name)
{
    char found[8];
    struct stat status;
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK_EQ(write(fd, "small", 5), 5);
    CHECK_EQ(pread(fd, found, opaque(5), 0), 5);
    CHECK_OK(fstat(fd, &status));
    CHECK_OK(fsync(fd));
    CHECK_OK(close(fd));
    CHECK_OK(unlink(name));
    return NULL;
}

/* A thread on the smallest stack there is: one write of five bytes. */
void smallest_stacks(void)
{
    pthread_t thread;
    pthread_attr_t small;
    CHECK_OK(pthread_attr_init(&small));
    CHECK_OK(pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN));
    CHECK_OK(pthread_create(&thread, &small, use_file, "file"));
    CHECK_OK(pthread_join(thread, NULL));
    CHECK_OK(pthread_attr_destroy(&small));
}

static pthread_key_t key;
static int rounds;

static void write_in_destructor(void *fd)
{
    CHECK_EQ(write((int)(intptr_t)fd - 1, "d", 1), 1);
    if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
        CHECK_OK(pthread_setspecific(key, fd)); /* once more, in the next round */
}

static void *leave_value(void *fd)
{
    CHECK_OK(pthread_setspecific(key, fd));
    return NULL;
}

/* A thread writes one byte in each of the four rounds of its destructors. */
void last_words_of_thread(void)
{
    pthread_t thread;
    int fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK_OK(pthread_key_create(&key, write_in_destructor));
    CHECK_OK(pthread_create(&thread, NULL, leave_value, (void *)(intptr_t)(fd + 1)));
    CHECK_OK(pthread_join(thread, NULL));
    CHECK_OK(pthread_key_delete(key));
    CHECK_OK(close(fd));
    check_and_remove("file", "dddd");
}

static atomic_int stop;

static void *write_until_stopped(void *unused)
{
    int fd = open("busy", O_RDWR | O_CREAT | O_EXCL, 0644);
    while (!atomic_load(&stop))
        CHECK_EQ(pwrite(fd, "busy", 4, 0), 4);
    CHECK_OK(close(fd));
    CHECK_OK(unlink("busy"));
    return unused;
}

/* 200 forks while another thread writes; each child writes five bytes to a file of its own, and ends by _exit. */
void forks_while_writing(void)
{
    pthread_t writing;
    atomic_store(&stop, 0);
    CHECK_OK(pthread_create(&writing, NULL, write_until_stopped, NULL));
    for (int number = 0; number < 200; number++) {
        char name[32];
        snprintf(name, sizeof name, "child.%d", number);
        pid_t child = fork_child();
        if (child == 0) {
            append_text(name, "child");
            _exit(17);
        }
        check_exit(child, 17);
        check_and_remove(name, "child");
    }
    atomic_store(&stop, 1);
    CHECK_OK(pthread_join(writing, NULL));
}

/* ---- the first thread ends first -------------------------------------------------------------------------------- */

static int without_room;

static void *writes_without_descriptors(void *unused)
{
    for (int i = 0; i < 100; i++)
        CHECK_EQ(pwrite(without_room, "x", 1, 0), 1);
    return unused;
}

static void *outlives_first_thread(void *first)
{
    pthread_t thread;
    struct rlimit before, none;
    CHECK_OK(pthread_join(*(pthread_t *)first, NULL));
    CHECK_OK(getrlimit(RLIMIT_NOFILE, &before));
    none = before;
    none.rlim_cur = 0;
    CHECK_OK(setrlimit(RLIMIT_NOFILE, &none));
    CHECK_OK(pthread_create(&thread, NULL, writes_without_descriptors, NULL));
    CHECK_OK(pthread_join(thread, NULL));
    CHECK_OK(setrlimit(RLIMIT_NOFILE, &before));
    CHECK_OK(close(without_room));
    CHECK_OK(unlink("file"));
    exit(0);
}

/* When the first thread has ended, another one writes 100 bytes for which no descriptor can be opened any more. */
void first_thread_ends_first(void)
{
    static pthread_t self;
    pthread_t thread;
    self = pthread_self();
    without_room = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK_OK(pthread_create(&thread, NULL, outlives_first_thread, &self));
    pthread_exit(NULL);
}
