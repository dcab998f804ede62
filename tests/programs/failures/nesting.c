/* Handlers that interrupt each other's calls, at any instruction of them.
 *
 * The processor's trap flag makes a signal behind every instruction. Its handler is installed without libc, so that no recorder
 * knows of it. Now and then it sends another signal, whose handler makes calls of its own, and is stepped through as well.
 */
#include "../files.h"
#include "cases.h"
#include <poll.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* `POLLED`: twice as many numbers are more than a short list holds. `SPACED`: instructions between two interruptions of one
 * call; what they record has room until that call's record is whole. */
enum { TRAP = 0x100, LEVELS = 13, LEVEL_BYTES = 1000, POLLED = 9, SPACED = 30, PLACES = 8, NEVER = 1 << 30 };

/* What is to interrupt the calls of a level: the first time behind `first` instructions, then behind `next` each, `left` times. */
struct plan {
    long first, next, left;
};
static struct plan plans[LEVELS];

static volatile int level;
static long made, steps;
static int only_seeks, files[LEVELS];
static struct pollfd polled[LEVELS][POLLED];

static long call_kernel(long number, long a, long b, long c, long d)
{
    register long fourth __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

/* What lies below the stack pointer may be in use. */
static void step_below(int here)
{
    if (plans[here].left == 0)
        return;
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq %0, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::"i"(TRAP) : "cc", "memory");
}

static void step_no_more(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq %0, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::"i"(~TRAP) : "cc", "memory");
}

static void stepped(int signal, siginfo_t *info, void *context)
{
    struct plan *plan = &plans[level];
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)registers[REG_RIP];
    (void)signal, (void)info;
    steps++;
    if (plan->left > 0 && --plan->first <= 0) {
        plan->first = plan->next;
        plan->left--;
        call_kernel(SYS_tkill, call_kernel(SYS_gettid, 0, 0, 0, 0), SIGUSR1, 0, 0);
    }
    /* Where signals are blocked, the next one of ours would end the program. */
    int blocks = code[0] == 0x0f && code[1] == 0x05 && registers[REG_RAX] == SYS_rt_sigprocmask;
    if (blocks || plan->left == 0)
        registers[REG_EFL] &= ~TRAP;
}

static void count_one(void)
{
    __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
}

/* Each level has arguments of its own, and what its calls return tells which they were. */
static void make_calls(int here)
{
    char bytes[LEVELS], path[] = "file/a";
    path[5] = (char)('a' + here);
    long place = here * LEVEL_BYTES + made % LEVEL_BYTES;
    step_below(here);
    CHECK_EQ(lseek(files[here], place, SEEK_SET), place);
    step_no_more();
    count_one();
    if (only_seeks)
        return;
    step_below(here);
    CHECK_EQ(pread(files[here], bytes, sizeof bytes, LEVEL_BYTES - 1 - here), 1 + here);
    step_below(here);
    CHECK_FAILS(open(path, O_RDONLY | here << 12), ENOTDIR);
    step_below(here);
    CHECK_EQ(poll(polled[here], POLLED, here), POLLED);
    step_no_more();
    for (int i = 0; i < 3; i++)
        count_one();
}

static void interrupting(int signal)
{
    int outer = level, before = errno;
    (void)signal;
    count_one();
    level = outer + 1;
    make_calls(outer + 1);
    level = outer;
    errno = before;
}

__attribute__((naked)) static void come_back(void)
{
    __asm__("mov $15, %eax; syscall");
}

static void install_without_libc(void (*handler)(int, siginfo_t *, void *))
{
    enum { RESTORER = 0x04000000 };
    struct {
        void (*handler)(int, siginfo_t *, void *);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } action = {handler, SA_SIGINFO | SA_NODEFER | RESTORER, come_back, 0};
    CHECK_OK(call_kernel(SYS_rt_sigaction, SIGTRAP, (long)&action, 0, sizeof action.mask));
}

/* Always the same row of numbers. */
static long pick(long below)
{
    static unsigned long seed = 1;
    seed = seed * 6364136223846793005 + 1442695040888963407;
    return 1 + (long)(seed >> 33) % below;
}

static void make_rows(void)
{
    /* At every instruction of a call in a handler that has interrupted the same call, at some places of it. */
    only_seeks = 1;
    for (int i = 0; i < 2; i++) {
        steps = 0;
        plans[0] = (struct plan){NEVER, 0, 1};
        make_calls(0);
    }
    long all = steps;
    for (int place = 4; place < PLACES; place++)
        for (int offset = 1; offset <= SPACED; offset++) {
            plans[0] = (struct plan){all * place / PLACES, 0, 1};
            plans[1] = (struct plan){offset, SPACED, 2 * all / SPACED};
            make_calls(0);
        }
    /* Calls whose lists and texts are put together somewhere. */
    only_seeks = 0;
    for (int round = 0; round < 15; round++) {
        plans[0] = (struct plan){pick(4 * all), 0, 1};
        plans[1] = (struct plan){pick(400), 400, 12};
        make_calls(0);
    }
    /* Each level interrupts the one before. */
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < LEVELS - 1; i++)
            plans[i] = (struct plan){pick(3 * all), 0, 1};
        make_calls(0);
    }
}

/* In handlers and outside: at level n the descriptor, the offset, the flags and the timeout tell n. The last seek returns how
 * many calls there were, and handlers. */
void handlers_that_nest(void)
{
    struct sigaction action = {.sa_handler = interrupting, .sa_flags = SA_NODEFER};
    char zeros[LEVEL_BYTES] = {0};
    int fd = new_file("file"), one = dup(fd);
    CHECK_EQ(write(fd, zeros, sizeof zeros), (long)sizeof zeros);
    for (int i = 0; i < LEVELS; i++) {
        files[i] = fcntl(fd, F_DUPFD, 50 + i);
        CHECK_EQ(files[i], 50 + i);
        for (int k = 0; k < POLLED; k++)
            polled[i][k] = (struct pollfd){.fd = fcntl(fd, F_DUPFD, 100 * (i + 1)), .events = POLLIN};
    }
    install_without_libc(stepped);
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    make_rows();
    CHECK_EQ(lseek(one, made, SEEK_SET), made);
    for (int i = 0; i < LEVELS; i++) {
        for (int k = 0; k < POLLED; k++)
            CHECK_OK(close(polled[i][k].fd));
        CHECK_OK(close(files[i]));
    }
    CHECK_OK(close(one));
    close_and_remove(fd, "file");
}
