/* Computation and waiting under a filter of seccomp(2), where the recorder may ask the kernel less.
 *
 *   confined [part ...]
 */
#include "time.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { ROUNDS = 6 };

/* Computes and sleeps, and waits for a child that answers every 15 ms, from the third round on under the filter. */
static void rounds(const struct sock_fprog *filter)
{
    int answers[2];
    CHECK_OK(pipe(answers));
    _Atomic long long *answered = shared_moment();
    pid_t child = fork_measured();
    if (child == 0) {
        for (int i = 0; i < ROUNDS; i++) {
            sleep_ns(15 * MS);
            *answered = wall_ns();
            CHECK_EQ(write(answers[1], "", 1), 1);
        }
        end_child();
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (i == 2)
            CHECK_OK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter));
        compute(5 * MS);
        long long entered = wall_ns();
        char byte;
        CHECK_EQ(read(answers[0], &byte, 1), 1);
        waited(entered, *answered);
    }
    sleep_ns(20 * MS);
    compute(5 * MS);
    reap(child);
    CHECK_OK(close(answers[0]));
    CHECK_OK(close(answers[1]));
}

/* In a process of its own: what is made under a filter is not recorded. */
static void rounds_under(const struct sock_fprog *filter)
{
    pid_t child = fork_measured();
    if (child == 0) {
        rounds(filter);
        end_child();
    }
    reap(child);
}

/* One that other calls than ours are for. */
static void clocks_and_usage(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    rounds_under(&(struct sock_fprog){sizeof code / sizeof *code, code});
}

/* One that lets clocks be read, and kills who asks for any usage but that of the whole process, which this program asks for. */
static void clocks_alone(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RUSAGE_SELF, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    rounds_under(&(struct sock_fprog){sizeof code / sizeof *code, code});
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"clocks-and-usage", clocks_and_usage},
        {"clocks-alone", clocks_alone},
        {NULL, NULL},
    };
    CHECK_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    return time_main(argc, argv, "confined", parts);
}
