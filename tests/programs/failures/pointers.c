/* Bad pointers in places that the kernel does not look at, or not first. */
#include "cases.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

extern char **environ;

/* Prints errno: which of its arguments the kernel looks at first depends on its version. */
#define FAILS(call) \
    do { \
        CHECK_EQ(call, -1); \
        printf("errno %d: %s\n", errno, #call); \
    } while (0)

/* Calls that fail for another reason than a path that cannot be read; of two that rename, the first path can. */
void texts_unread(void)
{
    char *bad = bad_address(), *words[] = {bad, NULL};
    FAILS(rename("missing/one", bad));
    FAILS(renameat2(AT_FDCWD, "missing/two", AT_FDCWD, bad, 0));
    FAILS(link("missing/one", bad));
    FAILS(linkat(AT_FDCWD, "missing/one", AT_FDCWD, bad, 0));
    FAILS(mknod(bad, S_IFDIR, 0));
    FAILS(mknodat(AT_FDCWD, bad, S_IFDIR, 0));
    FAILS(syscall(SYS_rename, "missing/one", bad));
    FAILS(syscall(SYS_mknod, bad, S_IFDIR, 0));

    posix_spawn_file_actions_t actions;
    CHECK_OK(posix_spawn_file_actions_init(&actions));
    CHECK_OK(posix_spawn_file_actions_addopen(&actions, 5, "missing/one", O_RDONLY, 0));
    CHECK_EQ(posix_spawn(NULL, bad, &actions, NULL, words, environ), ENOENT);
    CHECK_OK(posix_spawn_file_actions_destroy(&actions));
    CHECK_EQ(WEXITSTATUS(system(bad)), 127);
}

static void fail_in_prison(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_access, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    char *words[] = {"missing", NULL};
    CHECK_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    CHECK_OK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    CHECK_FAILS(access("missing", F_OK), ENOENT);
    CHECK_FAILS(access(bad_address(), F_OK), EFAULT);
    CHECK_FAILS(execv("missing", words), ENOENT);
    CHECK_FAILS(execv(bad_address(), words), EFAULT);
    _exit(0);
}

/* Two calls of each kind that fail, in a process that may make no other: nobody can ask what there is to read. */
void failures_in_prison(void)
{
    pid_t child = fork_child();
    if (child == 0)
        fail_in_prison();
    check_exit(child, 0);
}
