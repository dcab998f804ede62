/* Signal handlers on stacks of their own: small ones, and where the program's own stack has come to its end. */
#include "cases.h"
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/resource.h>

static volatile sig_atomic_t handled;

/* What a handler and its calls may take of its stack, beside what the kernel puts there. */
enum { HANDLER_BYTES = 2048 };

static int handler_fd;

static void do_nothing(int signal)
{
    (void)signal;
}

static void write_once(int signal)
{
    (void)signal;
    int error = errno;
    if (pwrite(handler_fd, "small", 5, 0) == 5 && write(handler_fd, "s", 0) == 0)
        handled++;
    errno = error;
}

/* Runs the handler on a stack of this many bytes, below which is a page that must not be touched; how many of them it
 * takes. */
static long run_on_stack(void (*handler)(int), long bytes)
{
    long page = sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page, untouched = 0;
    char *memory = mmap(NULL, page + whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    CHECK_OK(mprotect(memory, page, PROT_NONE));
    memset(memory + page, '?', bytes);
    stack_t stack = {.ss_sp = memory + page, .ss_size = bytes}, before;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    CHECK_OK(sigaltstack(&stack, &before));
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    CHECK_OK(raise(SIGUSR1));
    CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
    CHECK_OK(sigaltstack(&before, NULL));
    while (memory[page + untouched] == '?')
        untouched++;
    CHECK_OK(munmap(memory, page + whole));
    return bytes - untouched;
}

/* A handler writes five bytes and then none, in 2 KiB of stack; three times it does so. */
void smallest_signal_stack(void)
{
    handled = 0;
    handler_fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    write_once(0); /* binds the functions, for which the dynamic linker takes more */
    long nothing = run_on_stack(do_nothing, 65536), writing = run_on_stack(write_once, 65536);
    if (writing - nothing > HANDLER_BYTES)
        fail(__FILE__, __LINE__, "two calls took %ld bytes of the stack", writing - nothing);
    run_on_stack(write_once, sysconf(_SC_MINSIGSTKSZ) + HANDLER_BYTES);
    CHECK_EQ(handled, 3);
    CHECK_OK(close(handler_fd));
    check_and_remove("file", "small");
}

static sigjmp_buf back;
static int deep_fd;

static void leave_overflow(int signal)
{
    (void)signal;
    CHECK_EQ(write(handler_fd, "o", 1), 1);
    siglongjmp(back, 1);
}

/* Writes once in every frame; no stack has room for all of them. */
static long overflow_stack(long frames)
{
    volatile char frame[512];
    frame[0] = (char)frames;
    CHECK_EQ(pwrite(deep_fd, "d", 1, 0), 1);
    return frames ? overflow_stack(frames - 1) + frame[0] : 0;
}

/* Twenty times the stack overflows amid writes, and a handler on another stack writes one byte and leaves by
 * siglongjmp, wherever the program was. */
void overflow_caught(void)
{
    enum { TIMES = 20 };
    struct rlimit limit, small;
    static char memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory}, before;
    struct sigaction action = {.sa_handler = leave_overflow, .sa_flags = SA_ONSTACK}, old;
    CHECK_OK(getrlimit(RLIMIT_STACK, &limit));
    small = limit;
    small.rlim_cur = 1 << 20;
    CHECK_OK(setrlimit(RLIMIT_STACK, &small));
    handler_fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    deep_fd = open("deep", O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK_OK(sigaltstack(&stack, &before));
    CHECK_OK(sigaction(SIGSEGV, &action, &old));
    for (volatile int time = 0; time < TIMES; time++)
        if (sigsetjmp(back, 1) == 0)
            fail(__FILE__, __LINE__, "no overflow: %ld", overflow_stack(opaque(1L << 40)));
    CHECK_OK(sigaction(SIGSEGV, &old, NULL));
    CHECK_OK(sigaltstack(&before, NULL));
    CHECK_OK(setrlimit(RLIMIT_STACK, &limit));
    CHECK_EQ(lseek(handler_fd, 0, SEEK_END), TIMES);
    CHECK_OK(close(handler_fd));
    CHECK_OK(close(deep_fd));
    append_text("file", " and on");
    check_and_remove("file", "oooooooooooooooooooo and on");
    CHECK_OK(unlink("deep"));
}
