/* The environment: cleared, replaced, or wrong for a recorder. */
#include "cases.h"
#include <spawn.h>

extern char **environ;

static char *const words[] = {self, "--child", "write", "file", NULL};

static void clear_and_exec(void)
{
    CHECK_OK(clearenv());
    execv(self, words);
}

static void exec_without(void)
{
    execve(self, words, NULL);
}

static void exec_with_other(void)
{
    execve(self, words, (char *[]){"OTHER=1", NULL});
}

static void exec_with_list(void)
{
    execle(self, self, "--child", "write", "file", (char *)NULL, (char *[]){"OTHER=2", NULL});
}

static void search_with_other(void)
{
    execvpe(self, words, (char *[]){NULL});
}

static void exec_descriptor(void)
{
    fexecve(open(self, O_RDONLY | O_CLOEXEC), words, (char *[]){NULL});
}

static void spawn_without(void)
{
    pid_t child;
    CHECK_OK(posix_spawn(&child, self, NULL, NULL, words, (char *[]){NULL}));
    check_exit(child, 0);
    _exit(0);
}

static void exec_with_broken(void)
{
    environ = (char *[]){"no equals sign", "", "=", "LD_PRELOAD_=x", "SYN_=", NULL};
    execv(self, words);
}

static void vfork_without(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execve(self, words, (char *[]){NULL});
        _exit(1);
    }
    check_exit(child, 0);
    _exit(0);
}

/* Nine processes become, or make, another one in whose environment nothing is left of ours; each writes five bytes. */
void environment_replaced(void)
{
    static void (*const ways[])(void) = {
        clear_and_exec, exec_without,  exec_with_other,  exec_with_list,  search_with_other,
        exec_descriptor, spawn_without, exec_with_broken, vfork_without,
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        run_in_child(ways[i], 0, 1);
    check_and_remove("file", "childchildchildchildchildchildchildchildchild");
}

static void exec_without_preload(void)
{
    CHECK_OK(unsetenv("LD_PRELOAD"));
    execv(self, words);
}

static void exec_with_other_preload(void)
{
    CHECK_OK(setenv("LD_PRELOAD", "libm.so.6", 1));
    execv(self, words);
}

static void exec_with_empty_preload(void)
{
    CHECK_OK(setenv("LD_PRELOAD", "", 1));
    execv(self, words);
}

/* Three processes become another one with other libraries to preload, which writes five bytes. */
void preload_replaced(void)
{
    run_in_child(exec_without_preload, 0, 1);
    run_in_child(exec_with_other_preload, 0, 1);
    run_in_child(exec_with_empty_preload, 0, 1);
    check_and_remove("file", "childchildchild");
}
