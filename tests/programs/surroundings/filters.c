/* Filters of seccomp(2) that another program inherits. */
#include "cases.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static int by_number, forks, killed;
/* Where it is not 0, the call is let through but with this first argument. */
static int only_with;

static void exec_under_filter(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)killed, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | (only_with ? BPF_JEQ : BPF_JGE) | BPF_K, (unsigned)only_with, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CHECK_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (by_number)
        CHECK_OK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
    else
        CHECK_OK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    pid_t child = forks ? fork() : 0;
    if (child == 0)
        execl("/bin/sh", "sh", "-c", "\"$0\" --child write \"$1\"; exit $?", self, "file", (char *)NULL);
    check_exit(child, 0);
    _exit(0);
}

/* A program and one that it starts, in the third round in a child, under filters of which each kills at one system call
 * that programs do not make when they start, or that this one makes otherwise: five bytes each. */
void filters_that_kill_others(void)
{
    static const int calls[][2] = {
        {SYS_fallocate}, {SYS_rename}, {SYS_getrusage}, {SYS_readlink}, {SYS_getrusage, RUSAGE_THREAD},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        killed = calls[i][0];
        only_with = calls[i][1];
        by_number = i == 1;
        forks = i == 2;
        run_in_child(exec_under_filter, 0, 1);
        check_and_remove("file", "child");
    }
}

/* The same under a filter that kills at a call which nobody makes. */
void filter_that_kills_nobody(void)
{
    killed = SYS_reboot;
    only_with = 0;
    run_in_child(exec_under_filter, 0, 1);
    check_and_remove("file", "child");
}
