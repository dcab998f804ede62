/* The environment: cleared, replaced, or wrong for a recorder. */
#include "cases.h"
#include <spawn.h>
#include <wordexp.h>

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

/* The command for a shell that starts what the others start. */
static const char *command(void)
{
    static char text[sizeof self + 64];
    CHECK_OK(clearenv());
    snprintf(text, sizeof text, "%s --child write file", self);
    return text;
}

static void shell_without(void)
{
    CHECK_EQ(system(command()), 0);
    CHECK_EQ(system("test -z \"$LD_PRELOAD$SYN_JOB$SYN_ADDED\""), 0);
    _exit(0);
}

static void pipe_without(void)
{
    FILE *stream = popen(command(), "r");
    CHECK(stream != NULL);
    CHECK_EQ(pclose(stream), 0);
    _exit(0);
}

static void words_without(void)
{
    wordexp_t found;
    char text[sizeof self + 128];
    snprintf(text, sizeof text, "$(%s)", command());
    CHECK_EQ(wordexp(text, &found, 0), 0);
    wordfree(&found);
    _exit(0);
}

/* Twelve processes become, or make, another one in whose environment nothing is left of ours; each writes five bytes. */
void environment_replaced(void)
{
    static void (*const ways[])(void) = {
        clear_and_exec, exec_without,  exec_with_other,  exec_with_list,  search_with_other,
        exec_descriptor, spawn_without, exec_with_broken, vfork_without,  shell_without,
        pipe_without,   words_without,
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        run_in_child(ways[i], 0, 1);
    check_and_remove("file", "childchildchildchildchildchildchildchildchildchildchildchild");
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
