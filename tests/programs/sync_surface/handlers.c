/* Handlers: that they run as installed, that they are read back as they were set, and that they may be left. */
#include "surface.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* sigset, sigignore and siginterrupt are deprecated, and used */

static volatile sig_atomic_t plain_count, info_count, nested_count, depth;
static int handler_fd = -1;

static void plain(int signal)
{
    CHECK(signal == SIGUSR1 || signal == SIGUSR2);
    plain_count++;
    errno = ECHILD; /* which is the program's business */
}

static void with_info(int signal, siginfo_t *info, void *context)
{
    CHECK_EQ(info->si_signo, signal);
    CHECK(((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] != 0);
    info_count++;
}

static void nested(int signal)
{
    nested_count++;
    if (++depth < 5)
        CHECK_OK(raise(signal)); /* SA_NODEFER */
    depth--;
    CHECK_EQ(pwrite(handler_fd, "n", 1, nested_count), 1);
}

static void set_handler(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    CHECK_OK(sigaction(signal, &action, NULL));
}

static void set_with_info(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO};
    CHECK_OK(sigaction(signal, &action, NULL));
}

/* Plain, with information, nested five deep with I/O, for one time only. */
void handlers(void)
{
    struct sigaction found;
    handler_fd = open("handlers", O_RDWR | O_CREAT | O_EXCL, 0644);
    set_handler(SIGUSR1, plain, 0);
    errno = 0;
    CHECK_OK(raise(SIGUSR1));
    CHECK_EQ(errno, ECHILD);
    set_with_info(SIGUSR1, with_info, 0);
    CHECK_OK(raise(SIGUSR1));
    set_handler(SIGUSR1, nested, SA_NODEFER);
    CHECK_OK(raise(SIGUSR1));
    set_handler(SIGUSR1, plain, SA_RESETHAND);
    CHECK_OK(raise(SIGUSR1));
    CHECK_OK(sigaction(SIGUSR1, NULL, &found));
    CHECK(found.sa_handler == SIG_DFL);

    CHECK_EQ(plain_count, 2);
    CHECK_EQ(info_count, 1);
    CHECK_EQ(nested_count, 5);
    CHECK_OK(close(handler_fd));
    CHECK_OK(unlink("handlers"));
}

static stack_t handler_stack;

static void on_own_stack(int signal)
{
    char here, *low = handler_stack.ss_sp;
    CHECK_EQ(signal, SIGUSR2);
    CHECK(&here >= low && &here < low + handler_stack.ss_size);
    plain_count++;
}

/* With so many bytes beside what the kernel puts there. */
static void raise_on_stack(size_t spare, int times)
{
    stack_t before;
    handler_stack.ss_size = sysconf(_SC_MINSIGSTKSZ) + spare;
    handler_stack.ss_sp = allocate(handler_stack.ss_size);
    CHECK_OK(sigaltstack(&handler_stack, &before));
    set_handler(SIGUSR2, on_own_stack, SA_ONSTACK);
    plain_count = 0;
    for (int i = 0; i < times; i++)
        CHECK_OK(raise(SIGUSR2));
    CHECK_EQ(plain_count, times);
    CHECK(signal(SIGUSR2, SIG_DFL) == on_own_stack);
    CHECK_OK(sigaltstack(&before, NULL));
    free(handler_stack.ss_sp);
}

/* A stack with room for a little more than the handler. */
void small_stacks(void)
{
    raise_on_stack(2048, 100);
}

/* And one with hardly any. */
void narrow_stacks(void)
{
    raise_on_stack(640, 5);
}

static void one(int signal) { (void)signal; }
static void two(int signal) { (void)signal; }

static void check_installed(int signal, void (*handler)(int))
{
    struct sigaction found;
    CHECK_OK(sigaction(signal, NULL, &found));
    CHECK(found.sa_handler == handler);
}

/* Whatever is set by one interface is what every other one reads. */
void round_trips(void)
{
    static void (*const all[])(int) = {one, SIG_IGN, two, SIG_DFL, one, two};
    void (*before)(int) = SIG_DFL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void (*handler)(int) = all[i];
        struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
        CHECK_OK(sigaddset(&action.sa_mask, SIGUSR2));
        CHECK_OK(sigaction(SIGUSR1, &action, &old));
        CHECK(old.sa_handler == before);
        CHECK_OK(sigaction(SIGUSR1, NULL, &old));
        CHECK(old.sa_handler == handler);
        CHECK_EQ(old.sa_flags & ~0x04000000, SA_RESTART); /* libc shows its restorer */
        CHECK(sigismember(&old.sa_mask, SIGUSR2) == 1);
        CHECK(signal(SIGUSR1, one) == handler);
        check_installed(SIGUSR1, one);
        CHECK(ssignal(SIGUSR1, handler) == one);
        CHECK(sysv_signal(SIGUSR1, two) == handler);
        check_installed(SIGUSR1, two);
        CHECK(sigset(SIGUSR1, handler) == two);
        CHECK_OK(siginterrupt(SIGUSR1, 1));
        check_installed(SIGUSR1, handler);
        CHECK(sigset(SIGUSR1, SIG_HOLD) == handler);
        CHECK(sigset(SIGUSR1, two) == SIG_HOLD);
        /* Old and new action may be one variable. */
        struct sigaction both = {.sa_handler = handler};
        CHECK_OK(sigaction(SIGUSR1, &both, (struct sigaction *)opaque((long)&both)));
        CHECK(both.sa_handler == two);
        before = handler;
    }
    CHECK_OK(sigignore(SIGUSR1));
    check_installed(SIGUSR1, SIG_IGN);
    CHECK_FAILS(sigaction(SIGKILL, &(struct sigaction){.sa_handler = one}, NULL), EINVAL);
    CHECK_FAILS(sigaction(1000, bad_address(), NULL), EINVAL);
    CHECK(signal(SIGSTOP, one) == SIG_ERR && errno == EINVAL);
    CHECK(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
}

static sigjmp_buf back;
static volatile sig_atomic_t fault;

static void leave(int signal, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    fault = signal;
    siglongjmp(back, 1);
}

static void cause(int signal, volatile char *file)
{
    volatile int zero = 0;
    switch (signal) {
    case SIGSEGV: *(volatile char *)bad_address() = 1; break;
    case SIGBUS: *file = 1; break;
    case SIGFPE: __asm__ volatile("idivl %0" : : "m"(zero), "a"(1), "d"(0)); break;
    case SIGILL: __asm__ volatile("ud2"); break;
    case SIGTRAP: __asm__ volatile("int3"); break;
    default: siglongjmp(back, 1);
    }
}

static void provoke(int signal, volatile char *file)
{
    fault = 0;
    if (sigsetjmp(back, 1) == 0)
        cause(signal, file);
    CHECK_EQ(fault, signal);
}

/* Handlers of what the program itself does wrong, on the thread's stack and on another one. */
void faults(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    size_t bytes = sysconf(_SC_MINSIGSTKSZ) + 2048;
    stack_t stack = {.ss_sp = allocate(bytes), .ss_size = bytes}, before;
    int fd = open("empty", O_RDWR | O_CREAT | O_EXCL, 0644);
    char *file = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(file != MAP_FAILED);
    provoke(0, file); /* so that the loader need not look for siglongjmp on the small stack */
    CHECK_OK(sigaltstack(&stack, &before));
    for (int i = 0; i < 10; i++) {
        int signal = signals[i % 5];
        set_with_info(signal, leave, i < 5 ? SA_ONSTACK : 0);
        provoke(signal, file);
        set_handler(signal, SIG_DFL, 0);
    }
    CHECK_OK(sigaltstack(&before, NULL));
    CHECK_OK(munmap(file, 4096));
    CHECK_OK(close(fd));
    CHECK_OK(unlink("empty"));
    free(stack.ss_sp);
}

enum { JUMPS = 10000, TIMED_JUMPS = 1000 };

/* A write to a pipe that nobody reads is left from inside, 10 000 times; then one write ends as it should. */
void jumps_out_of_writes(void)
{
    static int ends[2];
    static volatile int jumps;
    CHECK_OK(pipe(ends));
    CHECK_OK(close(ends[0]));
    set_with_info(SIGPIPE, leave, 0);
    for (jumps = 0; jumps < JUMPS; jumps++) {
        fault = 0;
        if (sigsetjmp(back, 1) == 0) {
            CHECK_FAILS(write(ends[1], "x", 1), 0);
        }
        CHECK_EQ(fault, SIGPIPE);
    }
    CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    CHECK_FAILS(write(ends[1], "x", 1), EPIPE);
    CHECK_OK(close(ends[1]));
    int fd = open("afterwards", O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK_EQ(write(fd, "afterwards", 10), 10);
    CHECK_OK(close(fd));
    CHECK_OK(unlink("afterwards"));
    CHECK(signal(SIGPIPE, SIG_DFL) == SIG_IGN);
}

static volatile int timed_jumps;

static void leave_or_stop(int signal)
{
    if (++timed_jumps == TIMED_JUMPS)
        CHECK(sigset(signal, SIG_IGN) != SIG_ERR); /* one that is pending vanishes */
    siglongjmp(back, 1);
}

/* A handler leaves what it interrupts, wherever that is: writes, and what a recorder does around them. */
void jumps_by_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec interval = {{0, 100000}, {0, 100000}};
    static timer_t timer;
    static int fd;
    fd = open("interrupted", O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0);
    CHECK_OK(timer_create(CLOCK_MONOTONIC, &event, &timer));
    set_handler(SIGUSR1, leave_or_stop, 0);
    if (sigsetjmp(back, 1) == 0)
        CHECK_OK(timer_settime(timer, 0, &interval, NULL));
    while (timed_jumps < TIMED_JUMPS)
        CHECK_EQ(pwrite(fd, "x", 1, 0), 1);
    CHECK_OK(timer_delete(timer));
    CHECK(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
    CHECK_EQ(pwrite(fd, "the end", 7, 0), 7);
    CHECK_OK(close(fd));
    CHECK_OK(unlink("interrupted"));
}

static void check_child(pid_t child)
{
    int status;
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A forked child has its parent's handlers; the child of a vfork resets one before it becomes another program. */
void handlers_in_children(void)
{
    set_handler(SIGUSR1, plain, 0);
    set_handler(SIGUSR2, plain, 0);
    pid_t child = fork();
    if (child == 0) {
        plain_count = 0;
        raise(SIGUSR1);
        check_installed(SIGUSR1, plain);
        _exit(plain_count != 1);
    }
    check_child(child);
    child = vfork();
    if (child == 0) {
        signal(SIGUSR2, SIG_IGN);
        execl("/bin/sh", "sh", "-c", "kill -USR2 $$", (char *)NULL);
        _exit(127);
    }
    check_child(child);
    check_installed(SIGUSR2, plain); /* signal actions are not shared */
    CHECK(signal(SIGUSR1, SIG_DFL) == plain);
    CHECK(signal(SIGUSR2, SIG_DFL) == plain);
}

/* More handlers than a recorder has places for; all are read back, and the last one is called. */
void many_handlers(void)
{
    plain_count = 0;
    for (uintptr_t i = 0; i < 1000; i++) {
        void (*handler)(int) = (void (*)(int))(0x1000 + 16 * i);
        set_handler(SIGUSR1, handler, 0);
        check_installed(SIGUSR1, handler);
    }
    set_handler(SIGUSR1, plain, 0);
    check_installed(SIGUSR1, plain);
    CHECK_OK(raise(SIGUSR1));
    CHECK_EQ(plain_count, 1);
    CHECK(signal(SIGUSR1, SIG_DFL) == plain);
}
