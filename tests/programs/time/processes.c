/* Processes that compute and are waited for, however they are started. Each reports its own figures.
 *
 *   processes [part ...]
 */
#include "time.h"
#include <spawn.h>

extern char **environ;

static char self[4096];

static void child_computes(void)
{
    compute(40 * MS);
    end_child();
}

static void fork_and_wait(void)
{
    compute(20 * MS);
    pid_t child = fork_measured();
    if (child == 0)
        child_computes();
    reap(child);
    compute(20 * MS);
}

static void fork_beside(void)
{
    pid_t child = fork_measured();
    if (child == 0)
        child_computes();
    compute(50 * MS);
    reap(child);
}

static void sleeping_child(void)
{
    _Atomic long long *ended = shared_moment();
    compute(10 * MS);
    pid_t child = fork_measured();
    if (child == 0) {
        sleep_ns(70 * MS);
        *ended = wall_ns();
        end_child();
    }
    long long entered = wall_ns();
    reap(child);
    waited(entered, *ended);
    compute(10 * MS);
}

static void grandchildren(void)
{
    pid_t child = fork_measured();
    if (child == 0) {
        compute(10 * MS);
        pid_t grandchild = fork_measured();
        if (grandchild == 0)
            child_computes();
        reap(grandchild);
        end_child();
    }
    reap(child);
}

/* Computation before each fork, and in children that do nothing else. */
static void many_children(void)
{
    for (int i = 0; i < 12; i++) {
        compute(3 * MS);
        pid_t child = fork_measured();
        if (child == 0) {
            compute(3 * MS);
            end_child();
        }
        reap(child);
    }
}

static void vfork_and_exec(void)
{
    char *words[] = {self, "--child", "30", NULL};
    compute(20 * MS);
    pid_t child = vfork();
    if (child == 0) {
        execv(self, words);
        _exit(127);
    }
    CHECK(child > 0);
    reap(child);
    compute(20 * MS);
}

static void spawned(void)
{
    char *words[] = {self, "--child", "30", NULL};
    pid_t child;
    compute(20 * MS);
    CHECK_OK(posix_spawn(&child, self, NULL, NULL, words, environ));
    reap(child);
    compute(20 * MS);
}

/* One process, two programs: the kernel counts on. */
static void exec_in_child(void)
{
    pid_t child = fork_measured();
    if (child == 0) {
        compute(30 * MS);
        execl(self, self, "--child", "30", (char *)NULL);
        _exit(127);
    }
    reap(child);
}

static void by_shell(void)
{
    char command[5000];
    snprintf(command, sizeof command, "'%s' --child 30", self);
    compute(20 * MS);
    CHECK_OK(system(command));
    compute(20 * MS);
}

static void by_popen(void)
{
    char command[5000], line[512];
    snprintf(command, sizeof command, "'%s' --child 30", self);
    compute(20 * MS);
    FILE *stream = popen(command, "r");
    CHECK(stream != NULL);
    while (fgets(line, sizeof line, stream))
        dprintf(1, "%s", line);
    CHECK_OK(pclose(stream));
    compute(20 * MS);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"fork", fork_and_wait},
        {"fork-beside", fork_beside},
        {"sleeping-child", sleeping_child},
        {"grandchildren", grandchildren},
        {"many-children", many_children},
        {"vfork-exec", vfork_and_exec},
        {"posix-spawn", spawned},
        {"exec", exec_in_child},
        {"system", by_shell},
        {"popen", by_popen},
        {NULL, NULL},
    };
    CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    if (argc == 3 && strcmp(argv[1], "--child") == 0) {
        begin_thread();
        compute(atoi(argv[2]) * MS);
        end_child();
    }
    return time_main(argc, argv, "processes", parts);
}
