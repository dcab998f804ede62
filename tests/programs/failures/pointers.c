/* Bad pointers in places that the kernel does not look at, or not first. */
#include "../confined.h"
#include "cases.h"
#include <spawn.h>
#include <sys/stat.h>

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
    char *words[] = {"missing", NULL};
    allow_only(SYS_access, SYS_execve, SYS_exit_group);
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
