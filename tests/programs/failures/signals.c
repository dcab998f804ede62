/* Signals: masks, handlers, and what these do in the middle of everything. */
#include "cases.h"
#include "../interrupts.h"
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>

/* ---- masks ------------------------------------------------------------------------------------------------ */

static sigset_t blocked;

static void choose_mask(void)
{
    CHECK_OK(sigemptyset(&blocked));
    CHECK_OK(sigaddset(&blocked, SIGUSR1));
    CHECK_OK(sigaddset(&blocked, SIGTERM));
    CHECK_OK(sigaddset(&blocked, SIGRTMIN + 3));
}

static void check_mask(const sigset_t *expected)
{
    sigset_t found;
    CHECK_OK(pthread_sigmask(SIG_BLOCK, NULL, &found));
    for (int number = 1; number <= SIGRTMAX; number++)
        if (sigismember(&found, number) != sigismember(expected, number))
            fail(__FILE__, __LINE__, "signal %d is %sblocked", number, sigismember(&found, number) ? "" : "not ");
}

static void *append_with_mask(void *text)
{
    check_mask(&blocked);
    append_text("file", text);
    check_mask(&blocked);
    return NULL;
}

int with_mask(void)
{
    choose_mask();
    append_with_mask("exec ");
    return 0;
}

static volatile sig_atomic_t handled;

static void append_in_handler(int signal)
{
    sigset_t expected = blocked;
    CHECK_OK(sigaddset(&expected, signal));
    CHECK_OK(sigaddset(&expected, SIGALRM)); /* the action's own mask */
    check_mask(&expected);
    append_text("file", "handler ");
    check_mask(&expected);
    handled++;
}

/* The mask is the same before and after I/O: in a process, a thread, a child, another program and a handler, each of which
 * writes once; what is pending stays so. Five writes. */
void signal_masks(void)
{
    sigset_t before, pending;
    pthread_t thread;
    struct sigaction action = {.sa_handler = append_in_handler};
    choose_mask();
    CHECK_OK(pthread_sigmask(SIG_SETMASK, &blocked, &before));
    CHECK(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
    CHECK_OK(raise(SIGUSR1)); /* would end the program */
    append_with_mask("process ");
    CHECK_OK(pthread_create(&thread, NULL, append_with_mask, "thread "));
    CHECK_OK(pthread_join(thread, NULL));
    pid_t child = fork_child();
    if (child == 0) {
        append_with_mask("child ");
        execl(self, self, "--child", "mask", (char *)NULL);
        _exit(1);
    }
    check_exit(child, 0);
    CHECK_OK(sigaddset(&action.sa_mask, SIGALRM));
    CHECK_OK(sigaction(SIGUSR2, &action, NULL));
    handled = 0;
    CHECK_OK(raise(SIGUSR2));
    CHECK_EQ(handled, 1);
    check_mask(&blocked);
    CHECK_OK(sigpending(&pending));
    CHECK_EQ(sigismember(&pending, SIGUSR1), 1);
    CHECK_EQ(sigismember(&pending, SIGTERM), 0);
    CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
    CHECK(signal(SIGUSR2, SIG_IGN) != SIG_ERR);
    CHECK_OK(pthread_sigmask(SIG_SETMASK, &before, NULL));
    check_and_remove("file", "process thread child exec handler ");
}

/* ---- handlers ----------------------------------------------------------------------------------------------- */

static void plain_handler(int signal)
{
    CHECK_EQ(signal, SIGUSR1);
    handled++;
}

static void *guarded;
static int guarded_page_bytes;

/* Makes the page accessible that the program ran into, and lets it go on with another mask. */
static void open_page(int signal, siginfo_t *info, void *context)
{
    CHECK_EQ(signal, SIGSEGV);
    CHECK(info->si_addr == guarded);
    CHECK_OK(mprotect(guarded, guarded_page_bytes, PROT_READ | PROT_WRITE));
    sigaddset(&((ucontext_t *)context)->uc_sigmask, SIGUSR2);
    handled++;
}

static void count_queued(int signal, siginfo_t *info, void *context)
{
    (void)context;
    CHECK_EQ(signal, SIGRTMIN);
    CHECK_EQ(info->si_code, SI_QUEUE);
    CHECK_EQ(info->si_pid, getpid());
    handled += info->si_value.sival_int;
}

/* A program that asks for its handlers gets what it has set, flags and masks with it; information and context arrive,
 * and what a handler changes in the context counts. */
void handlers_asked_for(void)
{
    struct sigaction action = {.sa_handler = plain_handler, .sa_flags = SA_RESETHAND | SA_NODEFER}, found;
    handled = 0;
    CHECK_OK(sigaddset(&action.sa_mask, SIGHUP));
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    CHECK_OK(sigaction(SIGUSR1, NULL, &found));
    CHECK(found.sa_handler == plain_handler);
    CHECK_EQ(found.sa_flags & (SA_RESETHAND | SA_NODEFER | SA_SIGINFO), SA_RESETHAND | SA_NODEFER);
    CHECK_EQ(sigismember(&found.sa_mask, SIGHUP), 1);
    CHECK_OK(raise(SIGUSR1));
    CHECK_EQ(handled, 1);
    CHECK_OK(sigaction(SIGUSR1, NULL, &found));
    CHECK(found.sa_handler == SIG_DFL); /* used once */
    CHECK(signal(SIGUSR1, plain_handler) == SIG_DFL);
    CHECK(signal(SIGUSR1, SIG_IGN) == plain_handler);
    CHECK(signal(SIGUSR1, SIG_DFL) == SIG_IGN);

    guarded_page_bytes = sysconf(_SC_PAGESIZE);
    guarded = mmap(NULL, guarded_page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(guarded != MAP_FAILED);
    action = (struct sigaction){.sa_sigaction = open_page, .sa_flags = SA_SIGINFO};
    CHECK_OK(sigaction(SIGSEGV, &action, &found));
    CHECK(found.sa_handler == SIG_DFL);
    *(volatile char *)guarded = 1;
    CHECK_EQ(handled, 2);
    sigset_t mask;
    CHECK_OK(pthread_sigmask(SIG_BLOCK, NULL, &mask));
    CHECK_EQ(sigismember(&mask, SIGUSR2), 1);
    CHECK_OK(sigdelset(&mask, SIGUSR2));
    CHECK_OK(pthread_sigmask(SIG_SETMASK, &mask, NULL));
    CHECK_OK(sigaction(SIGSEGV, &found, &action));
    CHECK(action.sa_sigaction == open_page && action.sa_flags & SA_SIGINFO);
    CHECK_OK(munmap(guarded, guarded_page_bytes));

    action = (struct sigaction){.sa_sigaction = count_queued, .sa_flags = SA_SIGINFO};
    CHECK_OK(sigaction(SIGRTMIN, &action, NULL));
    CHECK_OK(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 5}));
    CHECK_EQ(handled, 7);
    CHECK(signal(SIGRTMIN, SIG_DFL) != SIG_ERR);
    append_text("file", "handled");
    check_and_remove("file", "handled");
}

/* ---- handlers that do much ---------------------------------------------------------------------------------------- */

enum { FORKS = 50 };

/* Forks; the child opens, writes one byte and closes. */
static void fork_in_handler(int signal)
{
    (void)signal;
    int error = errno;
    if (handled < FORKS) {
        pid_t child = fork();
        if (child == 0) {
            append_text("children", "c");
            _exit(18);
        }
        check_exit(child, 18);
        handled++;
    }
    errno = error;
}

/* A handler that interrupts writes at any point forks 50 children, each of which writes one byte. The last call of the
 * program, lseek, tells how many writes there were around, one byte each. */
void forks_in_handler(void)
{
    int fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    handled = 0;
    timer_t timer = start_interrupts(fork_in_handler);
    long long count = 0;
    for (; handled < FORKS; count++)
        CHECK_EQ(pwrite(fd, "f", 1, count), 1);
    stop_interrupts(timer);
    CHECK_EQ(lseek(fd, 0, SEEK_END), count);
    CHECK_OK(close(fd));
    CHECK_OK(unlink("file"));
    struct stat status;
    CHECK_OK(stat("children", &status));
    CHECK_EQ(status.st_size, FORKS);
    CHECK_OK(unlink("children"));
}

static void become_another(int signal)
{
    struct stat status;
    (void)signal;
    append_text("file", "handler ");
    CHECK_OK(stat("file", &status));
    CHECK_FAILS(open("missing", O_RDONLY), ENOENT);
    execl(self, self, "--child", "append", "file", "another", (char *)NULL);
    _exit(1);
}

/* A handler opens, writes, asks, and becomes another program: two writes. */
void exec_in_handler(void)
{
    pid_t child = fork_child();
    if (child == 0) {
        CHECK(signal(SIGUSR1, become_another) != SIG_ERR);
        int fd = open("busy", O_RDWR | O_CREAT | O_EXCL, 0644);
        CHECK_OK(kill(getpid(), SIGUSR1));
        for (;;)
            CHECK_EQ(pwrite(fd, "b", 1, 0), 1);
    }
    check_exit(child, 0);
    CHECK_OK(unlink("busy"));
    check_and_remove("file", "handler another");
}

/* ---- handlers while libc waits in a function that is made of others --------------------------------------------- */

/* What `-D_FORTIFY_SOURCE` makes of read(2). */
extern ssize_t __read_chk(int fd, void *buffer, size_t count, size_t room);

static int ends[2];

/* Appends one byte, and gives whoever waits something to read. */
static void append_and_answer(int signal)
{
    (void)signal;
    append_text("file", "h");
    CHECK_EQ(write(ends[1], "a", 1), 1);
}

/* A child that sends the signal once its parent sleeps. */
static pid_t interrupter(void)
{
    pid_t child = fork_child();
    if (child == 0) {
        let_sleep(getppid());
        CHECK_OK(kill(getppid(), SIGUSR1));
        _exit(0);
    }
    return child;
}

/* A child that has locked the file, until it gets an answer. */
static pid_t holder(int locked)
{
    int ready[2];
    char byte;
    CHECK_OK(pipe(ready));
    pid_t child = fork_child();
    if (child == 0) {
        CHECK_OK(lockf(locked, F_LOCK, 0));
        CHECK_EQ(write(ready[1], "r", 1), 1);
        CHECK_EQ(read(ends[0], &byte, 1), 1);
        _exit(0);
    }
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    CHECK_OK(close(ready[0]));
    CHECK_OK(close(ready[1]));
    return child;
}

/* A handler runs while __read_chk, preadv2, lockf and system wait, which may be made of other functions of libc: four
 * writes of one byte to the file. */
void handlers_in_waiting_calls(void)
{
    struct sigaction action = {.sa_handler = append_and_answer, .sa_flags = SA_RESTART};
    char bytes[2];
    struct iovec vector = {bytes, 1};
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    CHECK_OK(pipe(ends));

    pid_t child = interrupter();
    CHECK_EQ(__read_chk(ends[0], bytes, 1, sizeof bytes), 1);
    check_exit(child, 0);

    child = interrupter();
    CHECK_EQ(preadv2(ends[0], &vector, 1, -1, 0), 1);
    check_exit(child, 0);

    int locked = open("locked", O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK(locked >= 0);
    pid_t other = holder(locked);
    child = interrupter();
    CHECK_OK(lockf(locked, F_LOCK, 0));
    check_exit(child, 0);
    check_exit(other, 0);
    CHECK_OK(close(locked));
    CHECK_OK(unlink("locked"));

    CHECK_EQ(system("kill -USR1 $PPID"), 0);
    CHECK_EQ(read(ends[0], bytes, 1), 1);

    CHECK(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
    check_and_remove("file", "hhhh");
}
