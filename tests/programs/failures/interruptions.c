/* Signals, forks and jumps that interrupt whatever the program, or its recorder, is at. */
#include "../files.h"
#include "cases.h"
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

static volatile sig_atomic_t handled;
static int handler_fd;

/* Calls whose arguments differ from those of the ones before, so that their records are not short. */
static void move_about(int fd, long times)
{
    for (long i = 0; i < times; i++)
        CHECK(lseek(fd, i * 40503 % 65536, SEEK_SET) >= 0);
}

static void handle_signal(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
}

/* SIGUSR1 once, in so many microseconds. A child has none of its parent's timers. */
static void signal_in(long microseconds)
{
    static timer_t timer;
    static pid_t owner;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec once = {{0, 0}, {0, microseconds * 1000}};
    if (owner != getpid())
        CHECK_OK(timer_create(CLOCK_MONOTONIC, &event, &timer));
    owner = getpid();
    CHECK_OK(timer_settime(timer, 0, &once, NULL));
}

/* ---- descriptors of the program's -------------------------------------------------------------------------- */

static atomic_bool made_all;

static void *nothing(void *unused)
{
    return unused;
}

static void *make_threads(void *unused)
{
    for (int i = 0; i < 300; i++) {
        pthread_t thread;
        CHECK_OK(pthread_create(&thread, NULL, nothing, NULL));
        CHECK_OK(pthread_join(thread, NULL));
    }
    atomic_store(&made_all, 1);
    return unused;
}

/* While another thread makes threads, the numbers of descriptors are what this one expects, what it puts at a number stays
 * there, and a child has no more than its parent. */
void descriptors_of_ones_own(void)
{
    int fd = new_file("file"), next = dup(fd);
    struct stat own, found;
    pthread_t maker;
    CHECK_OK(close(next));
    CHECK_EQ(write(fd, "text", 4), 4);
    CHECK_OK(fstat(fd, &own));
    CHECK_OK(pthread_create(&maker, NULL, make_threads, NULL));
    for (int round = 0; !atomic_load(&made_all); round++) {
        CHECK_EQ(open("file", O_RDONLY), next);
        CHECK_OK(close(next));
        CHECK_EQ(dup2(fd, next), next);
        for (int i = 0; i < 20; i++)
            CHECK_OK(fstat(next, &found));
        CHECK_EQ(found.st_ino, own.st_ino);
        CHECK_OK(close(next));
        if (round % 100 == 0) {
            pid_t child = fork_child();
            if (child == 0)
                _exit(fcntl(next, F_GETFD) == -1 ? 6 : 7);
            check_exit(child, 6);
        }
    }
    CHECK_OK(pthread_join(maker, NULL));
    CHECK_OK(fstat(fd, &found));
    CHECK_EQ(found.st_size, 4);
    close_and_remove(fd, "file");
}

/* No descriptor is to be had for 30 000 calls, and then for 30 000 more there are some. */
void descriptors_used_up(void)
{
    int fd = new_file("file"), last = fd;
    struct rlimit before, few;
    CHECK_OK(getrlimit(RLIMIT_NOFILE, &before));
    few = before;
    few.rlim_cur = 40;
    CHECK_OK(setrlimit(RLIMIT_NOFILE, &few));
    for (int made; (made = dup(fd)) >= 0;)
        last = made;
    move_about(fd, 30000);
    while (last > fd)
        CHECK_OK(close(last--));
    move_about(fd, 30000);
    CHECK_OK(setrlimit(RLIMIT_NOFILE, &before));
    close_and_remove(fd, "file");
}

/* ---- memory and clocks that are not as usual ------------------------------------------------------------------ */

enum { SHARERS = 3, SHARED_WRITES = 20000, SHARED_STACK = 1 << 16 };

static int write_on(void *fd)
{
    for (int i = 0; i < SHARED_WRITES; i++)
        if (write((int)(long)fd, "y", 1) != 1)
            return 9;
    return 0;
}

/* Three processes share all of this one's memory, thread-locals included, and write all at once; this one writes 20 000
 * times two bytes. */
void memory_shared_at_once(void)
{
    int fd = open("/dev/null", O_WRONLY), flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | SIGCHLD;
    pid_t sharers[SHARERS];
    char *stacks = allocate(SHARERS * SHARED_STACK);
    for (int i = 0; i < SHARERS; i++)
        sharers[i] = clone(write_on, stacks + (i + 1) * SHARED_STACK, flags, (void *)(long)fd);
    for (int i = 0; i < SHARED_WRITES; i++)
        CHECK_EQ(write(fd, "xx", 2), 2);
    for (int i = 0; i < SHARERS; i++)
        check_exit(sharers[i], 0);
    free(stacks);
    CHECK_OK(close(fd));
}

/* Four writes, of which the second and the third, by a child, fall into a time in which the time stamp counter may not be
 * read. */
void without_counter(void)
{
    int fd = new_file("file");
    CHECK_OK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0));
    CHECK_OK(prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0));
    CHECK_EQ(write(fd, "1", 1), 1);
    CHECK_OK(syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0));
    CHECK_EQ(write(fd, "2", 1), 1);
    pid_t child = fork_child();
    if (child == 0) {
        CHECK_EQ(write(fd, "3", 1), 1);
        _exit(8);
    }
    check_exit(child, 8);
    CHECK_OK(prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0));
    CHECK_EQ(write(fd, "4", 1), 1);
    close_and_remove(fd, "file");
}

/* ---- ends --------------------------------------------------------------------------------------------------- */

static void move_and_write(int signal)
{
    (void)signal;
    int error = errno;
    CHECK_EQ(write(handler_fd, "h", 1), 1);
    move_about(handler_fd, 600);
    errno = error;
}


/* Signals arrive about when processes exit, fail to become another program, and threads end; nothing else ends them. */
void signals_at_ends(void)
{
    char *nothing_at_all[] = {"nothing", NULL};
    handler_fd = open("handled", O_RDWR | O_CREAT | O_EXCL | O_APPEND, 0644);
    CHECK(handler_fd >= 0);
    for (int round = 0; round < 120; round++) {
        pid_t child = fork_child();
        if (child != 0) {
            check_exit(child, 3);
            continue;
        }
        handle_signal(move_and_write, SA_RESTART);
        signal_in(20 + round);
        if (round % 3 == 1) {
            CHECK_FAILS(execv("/no/such/program", nothing_at_all), ENOENT);
            CHECK_FAILS(execv("/no/such/program", nothing_at_all), ENOENT);
        } else if (round % 3 == 2) {
            for (int i = 0; i < 10; i++) {
                pthread_t thread;
                CHECK_OK(pthread_create(&thread, NULL, nothing, NULL));
                usleep(50 + i);
                pthread_kill(thread, SIGUSR1);
                CHECK_OK(pthread_join(thread, NULL));
            }
        }
        _exit(3);
    }
    close_and_remove(handler_fd, "handled");
}

static void write_and_end(int signal)
{
    (void)signal;
    if (write(handler_fd, "h", 1) == 1)
        _exit(7);
}

/* 60 processes are ended by a handler in the middle of their calls, each with a write of one byte. */
void exits_amid_calls(void)
{
    int fd = new_file("file");
    handler_fd = open("handled", O_RDWR | O_CREAT | O_EXCL | O_APPEND, 0644);
    for (int i = 0; i < 60; i++) {
        pid_t child = fork_child();
        if (child == 0) {
            handle_signal(write_and_end, 0);
            signal_in(500 + i * 7);
            for (;;)
                move_about(fd, 1000);
        }
        check_exit(child, 7);
    }
    CHECK_EQ(lseek(handler_fd, 0, SEEK_END), 60);
    close_and_remove(handler_fd, "handled");
    close_and_remove(fd, "file");
}

/* A process that has given up its rights fails to become another program, and writes ten times more. */
void fails_to_exec_without_rights(void)
{
    char *nothing_at_all[] = {"nothing", NULL};
    int fd = new_file("file");
    pid_t child = fork_child();
    if (child == 0) {
        CHECK_OK(geteuid() == 0 ? setuid(65534) : seteuid(geteuid()));
        CHECK_FAILS(execv("/no/such/program", nothing_at_all), ENOENT);
        for (int i = 0; i < 10; i++)
            CHECK_EQ(write(fd, "w", 1), 1);
        _exit(5);
    }
    check_exit(child, 5);
    close_and_remove(fd, "file");
}

/* ---- forks ---------------------------------------------------------------------------------------------------- */

enum { BLOCKS = 4, BLOCK_BYTES = 1 << 20 };
static char *blocks[BLOCKS];
static int forking_fd = -1;

/* Before a fork: makes so many calls that the recorder asks for other memory, and asks for some as well. */
static void prepare(void)
{
    for (int i = 0; forking_fd >= 0 && i < BLOCKS; i++) {
        move_about(forking_fd, 50000);
        blocks[i] = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(blocks[i] != MAP_FAILED);
        memset(blocks[i], 'A', BLOCK_BYTES);
    }
}

/* The child of a fork finds its parent's memory. */
void forks_keep_memory(void)
{
    int fd = new_file("file");
    CHECK_OK(pthread_atfork(prepare, NULL, NULL));
    move_about(fd, 100000);
    forking_fd = fd;
    pid_t child = fork_child();
    if (child == 0) {
        for (int i = 0; i < BLOCKS; i++)
            for (long byte = 0; byte < BLOCK_BYTES; byte++)
                CHECK_EQ(blocks[i][byte], 'A');
        _exit(9);
    }
    check_exit(child, 9);
    forking_fd = -1;
    for (int i = 0; i < BLOCKS; i++)
        CHECK_OK(munmap(blocks[i], BLOCK_BYTES));
    close_and_remove(fd, "file");
}

static volatile sig_atomic_t is_child;

/* Forks; the child goes back to what was interrupted. */
static void fork_and_return(int signal)
{
    (void)signal;
    int error = errno;
#if __GLIBC_PREREQ(2, 34)
    pid_t child = handled % 2 ? fork() : _Fork();
#else
    pid_t child = fork();
#endif
    is_child = child == 0;
    if (child > 0)
        check_exit(child, 4);
    handled++;
    errno = error;
}

/* 60 children are forked in the middle of their parent's calls, go on from there, and write a hundred bytes each. */
void forks_amid_calls(void)
{
    int fd = new_file("file");
    handler_fd = open("children", O_RDWR | O_CREAT | O_EXCL | O_APPEND, 0644);
    handle_signal(fork_and_return, SA_RESTART);
    for (handled = 0; handled < 60;) {
        int before = handled;
        signal_in(60 + handled * 7);
        while (handled == before)
            move_about(fd, 100);
        for (int i = 0; is_child && i < 100; i++)
            CHECK_EQ(write(handler_fd, "c", 1), 1);
        if (is_child)
            _exit(4);
    }
    CHECK_EQ(lseek(handler_fd, 0, SEEK_END), 6000);
    close_and_remove(handler_fd, "children");
    close_and_remove(fd, "file");
}

/* ---- jumps, and handlers on other stacks ------------------------------------------------------------------------ */

static sigjmp_buf back;
static volatile sig_atomic_t may_jump;

static void jump_back(int signal)
{
    (void)signal;
    if (may_jump) {
        may_jump = 0;
        siglongjmp(back, 1);
    }
}

__attribute__((noinline)) static char write_deep(int fd, int depth)
{
    volatile char frame[4096];
    frame[0] = depth > 0 ? write_deep(fd, depth - 1) : 0;
    for (int i = 0; depth == 0 && i < 500; i++)
        CHECK_EQ(pwrite(fd, "d", 1, i % 7), 1);
    return frame[0];
}

/* A handler jumps out of calls 30 times; 500 writes follow each time, all of them from deeper on the stack. */
void jumps_to_deeper_calls(void)
{
    int fd = new_file("file"), deep = new_file("deep");
    handle_signal(jump_back, 0);
    for (volatile int i = 0; i < 30; i++) {
        if (sigsetjmp(back, 1) == 0) {
            may_jump = 1;
            signal_in(300 + i * 7);
            for (;;)
                move_about(fd, 1000);
        }
        write_deep(deep, 4);
    }
    close_and_remove(deep, "deep");
    close_and_remove(fd, "file");
}

static struct {
    char coroutine[32768];
    char handler[32768];
} stacks __attribute__((aligned(4096)));
static ucontext_t main_context, coroutine_context;
static int coroutine_fd;

static void seek_in_handler(int signal)
{
    (void)signal;
    CHECK_EQ(lseek(handler_fd, handled, SEEK_SET), handled);
    handled++;
}

static void run_coroutine(void)
{
    for (int before = -1; handled < 200;) {
        if (handled != before) {
            before = handled;
            signal_in(40 + before % 50);
        }
        move_about(coroutine_fd, 300);
    }
}

/* A coroutine is interrupted 200 times by a handler whose stack lies just above its own. */
void handlers_above_coroutines(void)
{
    stack_t alternate = {.ss_sp = stacks.handler, .ss_size = sizeof stacks.handler};
    coroutine_fd = new_file("file");
    handler_fd = new_file("handled");
    handled = 0;
    CHECK_OK(sigaltstack(&alternate, NULL));
    handle_signal(seek_in_handler, SA_RESTART | SA_ONSTACK);
    CHECK_OK(getcontext(&coroutine_context));
    coroutine_context.uc_stack.ss_sp = stacks.coroutine;
    coroutine_context.uc_stack.ss_size = sizeof stacks.coroutine;
    coroutine_context.uc_link = &main_context;
    makecontext(&coroutine_context, run_coroutine, 0);
    CHECK_OK(swapcontext(&main_context, &coroutine_context));
    CHECK(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
    CHECK_EQ(write(coroutine_fd, "end", 3), 3);
    close_and_remove(handler_fd, "handled");
    close_and_remove(coroutine_fd, "file");
}

enum { POLLED = 100 };
static struct pollfd own[POLLED], of_handler[POLLED];

static void poll_in_handler(int signal)
{
    (void)signal;
    CHECK_EQ(poll(of_handler, POLLED, 0), POLLED);
    handled++;
}

/* Polls of a hundred descriptors are interrupted 200 times by polls of a hundred others; the program's wait without end. */
void polls_in_handlers(void)
{
    int fd = new_file("file");
    for (int i = 0; i < POLLED; i++) {
        own[i] = (struct pollfd){.fd = dup(fd), .events = POLLOUT};
        of_handler[i] = (struct pollfd){.fd = dup(fd), .events = POLLIN};
        CHECK(own[i].fd >= 0 && of_handler[i].fd >= 0);
    }
    handled = 0;
    handle_signal(poll_in_handler, SA_RESTART);
    for (int before = -1; handled < 200;) {
        if (handled != before) {
            before = handled;
            signal_in(40 + before % 50);
        }
        for (int i = 0; i < 10; i++)
            CHECK_EQ(poll(own, POLLED, -1), POLLED);
    }
    for (int i = 0; i < POLLED; i++) {
        CHECK_OK(close(own[i].fd));
        CHECK_OK(close(of_handler[i].fd));
    }
    close_and_remove(fd, "file");
}
