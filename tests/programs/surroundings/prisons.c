/* seccomp(2): only these system calls from now on. */
#include "../confined.h"
#include "cases.h"
#include <linux/audit.h>
#include <pthread.h>
#include <sys/mman.h>

enum { WRITES = 1000, WORK = 200 };

static int file;

/* Between the writes there is time: now and then more than a recorder lets pass without looking at a clock. */
static void write_with_pauses(void)
{
    for (int i = 0; i < WRITES; i++) {
        CHECK_EQ(write(file, "s", 1), 1);
        if (i % 10 == 0)
            work(WORK);
    }
}

static void write_in_strict_mode(void)
{
    file = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK_EQ(write(file, "s", 1), 1);
    CHECK_OK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
    write_with_pauses();
    syscall(SYS_exit, 31); /* exit_group is not among the four calls of this mode */
}

/* 1001 writes of one byte, all but the first in the strict mode: whatever system call comes beside, kills. */
void strict_mode(void)
{
    run_in_child(write_in_strict_mode, 31, 1);
    CHECK_OK(unlink("file"));
}

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Allows what a program needs that has opened its files already; the others get `otherwise`. */
static void install_filter(unsigned otherwise)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(read), ALLOW(write), ALLOW(pwrite64), ALLOW(lseek), ALLOW(rt_sigreturn), ALLOW(exit_group),
        BPF_STMT(BPF_RET | BPF_K, otherwise),
    };
    filter_calls(filter, sizeof filter / sizeof *filter);
}

static void write_under_killer(void)
{
    file = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    install_filter(SECCOMP_RET_KILL_PROCESS);
    write_with_pauses();
    _exit(32);
}

/* 1000 writes of one byte and the end of the process, under a filter that kills at whatever else is called. */
void filter_that_kills(void)
{
    run_in_child(write_under_killer, 32, 1);
    CHECK_OK(unlink("file"));
}

static void write_many_under_killer(void)
{
    file = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    install_filter(SECCOMP_RET_KILL_PROCESS);
    for (long long i = 0; i < MANY; i++)
        CHECK_EQ(pwrite(file, "m", 1, i * 40503 % 65536), 1);
    _exit(33);
}

/* 300 000 writes of one byte under such a filter. */
void filter_that_kills_long(void)
{
    run_in_child(write_many_under_killer, 33, 1);
    CHECK_OK(unlink("file"));
}

static void *write_in_thread(void *unused)
{
    for (int i = 0; i < 10; i++)
        CHECK_EQ(write(file, "t", 1), 1);
    return unused;
}

static void make_others_under_killer(void)
{
    pthread_t thread;
    file = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(write), ALLOW(exit), ALLOW(exit_group), ALLOW(clone), ALLOW(clone3), ALLOW(wait4), ALLOW(mmap), ALLOW(mprotect),
        ALLOW(munmap), ALLOW(madvise), ALLOW(futex), ALLOW(rseq), ALLOW(set_robust_list), ALLOW(rt_sigprocmask),
        ALLOW(rt_sigaction),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    filter_calls(filter, sizeof filter / sizeof *filter);
    CHECK_OK(pthread_create(&thread, NULL, write_in_thread, NULL));
    CHECK_OK(pthread_join(thread, NULL));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        write_in_thread(NULL);
        _exit(36);
    }
    check_exit(child, 36);
    write_in_thread(NULL);
    _exit(35);
}

/* A thread, a child and the program itself write ten bytes each, under a filter that allows what this takes and kills at
 * whatever else is called: no file can be opened, and nobody can ask for the time or for ids. */
void filter_with_others(void)
{
    run_in_child(make_others_under_killer, 35, 1);
    CHECK_OK(unlink("file"));
}

static void write_under_refusal(void)
{
    file = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    install_filter(SECCOMP_RET_ERRNO | EPERM);
    write_with_pauses();
    CHECK_FAILS(open("file", O_RDONLY), EPERM);
    for (long long i = 0; i < MANY; i++)
        CHECK_EQ(pwrite(file, "m", 1, i * 40503 % 65536), 1);
    _exit(34);
}

/* 301 000 writes of one byte under a filter that answers whatever else is called with an error. */
void filter_that_refuses(void)
{
    run_in_child(write_under_refusal, 34, 1);
    CHECK_OK(unlink("file"));
}

/* No more than 64 KiB that are there already may become executable: the low halves of the length and of the protection. */
static void filter_execution(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 64 << 10, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
    };
    filter_calls(filter, sizeof filter / sizeof *filter);
    execl("/bin/sh", "sh", "-c", "echo text > file", NULL);
}

/* A program where libc's text does not become executable again once it was writable. */
void filter_of_text(void)
{
    run_in_child(filter_execution, 0, 1);
    CHECK_OK(unlink("file"));
}

/* While this is 1, the kernel makes no system call and sends SIGSYS: PR_SET_SYSCALL_USER_DISPATCH of prctl(2). */
static volatile char dispatches;
static volatile int dispatched, dispatched_number;

static void take_dispatched(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    dispatches = 0;
    dispatched_number = info->si_syscall;
    dispatched++;
}

/* A program that is told of its own system calls, as Wine is, hears of no others; 1000 bytes are written meanwhile, and 10 by a child. */
void dispatched_calls(void)
{
    file = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    struct sigaction action = {.sa_sigaction = take_dispatched, .sa_flags = SA_SIGINFO};
    CHECK_OK(sigaction(SIGSYS, &action, NULL));
    pid_t self = getpid();
    /* 59, 1: since Linux 5.11. */
    int is_known = prctl(59, 1, 0, 0, &dispatches) == 0;
    CHECK(is_known || errno == EINVAL);
    for (int i = 0; i < 1000; i++) {
        dispatches = 1;
        kill(self, 0);
        CHECK_EQ(dispatched, is_known ? i + 1 : 0);
        CHECK_EQ(dispatched_number, is_known ? SYS_kill : 0);
        CHECK_EQ(write(file, "d", 1), 1);
    }
    /* The kernel does not do so in a child. */
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        for (int i = 0; i < 10; i++)
            CHECK_EQ(write(file, "c", 1), 1);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_OK(close(file));
    CHECK_OK(unlink("file"));
}
