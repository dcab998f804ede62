/* What programs share that confine themselves. */
#ifndef CONFINED_H
#define CONFINED_H

#include "common.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* From now on the process is under this filter. */
static inline void filter_calls(struct sock_filter *filter, unsigned short length)
{
    struct sock_fprog program = {length, filter};
    CHECK_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    CHECK_OK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* From now on, any other system call than these ends the process. */
static inline void allow_only(int one, int another, int third)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, another, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, third, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    filter_calls(filter, sizeof filter / sizeof *filter);
}

#endif
