/* Children: fork, vfork, posix_spawn, the shell, waiting for them, daemons, and the ways in which a process ends. */
#include "surface.h"
#include <spawn.h>
#include <sys/resource.h>

extern char **environ;

void forking(void)
{
    int fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0644), ends[2];
    CHECK(fd >= 0);
    CHECK_OK(pipe(ends));
    CHECK_EQ(write(fd, "parent ", 7), 7);
    pid_t child = fork_child();
    if (child == 0) {
        CHECK_EQ(write(fd, "child ", 6), 6); /* one position for both */
        pid_t grandchild = fork_child();
        if (grandchild == 0) {
            CHECK_EQ(write(fd, "grandchild ", 11), 11);
            exit(5);
        }
        check_exit(grandchild, 5);
        CHECK_EQ(write(ends[1], "done", 4), 4);
        exit(7);
    }
    char word[5] = "";
    CHECK_EQ(read(ends[0], word, 4), 4);
    CHECK_TEXT(word, "done");
    check_exit(child, 7);
    CHECK_EQ(write(fd, "parent", 6), 6);
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
    CHECK_OK(close(fd));
    check_and_remove("file", "parent child grandchild parent");
}

void vforking(void)
{
    char *const words[] = {self, "--child", "append", "file", "by the child", NULL};
    pid_t child = vfork();
    CHECK(child >= 0);
    if (child == 0) {
        execv(self, words);
        _exit(127);
    }
    check_exit(child, 0);
    check_and_remove("file", "by the child");
    child = vfork();
    if (child == 0)
        _exit(9);
    check_exit(child, 9);
    child = vfork();
    if (child == 0) {
        execv("missing", words);
        _exit(errno == ENOENT ? 10 : 11);
    }
    check_exit(child, 10);
}

void spawning(void)
{
    char *const words[] = {self, "--child", "print", "spawned", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t child = -1;
    CHECK_OK(posix_spawn_file_actions_init(&actions));
    CHECK_OK(posix_spawn_file_actions_addopen(&actions, 5, "file", O_WRONLY | O_CREAT, 0644));
    CHECK_OK(posix_spawn_file_actions_adddup2(&actions, 5, STDOUT_FILENO));
    CHECK_OK(posix_spawn_file_actions_addclose(&actions, 5));
    CHECK_OK(posix_spawnattr_init(&attributes));
    CHECK_OK(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP));
    CHECK_OK(posix_spawn(&child, self, &actions, &attributes, words, environ));
    check_exit(child, 0);
    check_and_remove("file", "spawned\n");
    CHECK_OK(posix_spawnp(&child, self, &actions, NULL, words, environ));
    check_exit(child, 0);
    check_and_remove("file", "spawned\n");
    CHECK_OK(posix_spawnattr_destroy(&attributes));
    CHECK_OK(posix_spawn_file_actions_destroy(&actions));
    CHECK_EQ(posix_spawn(&child, "missing", NULL, NULL, words, environ), ENOENT); /* the error is the result */
}

void shell_commands(void)
{
    CHECK(system(NULL) != 0);
    int status = system("exit 3");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    CHECK_OK(system("echo shell > file"));
    check_and_remove("file", "shell\n");
    FILE *from = popen("echo piped", "r");
    CHECK(from != NULL);
    char line[16] = "";
    CHECK(fgets(line, sizeof line, from) == line);
    CHECK_TEXT(line, "piped\n");
    CHECK_OK(pclose(from));
}

static pid_t child_that_exits(int code)
{
    pid_t child = fork_child();
    if (child == 0)
        exit(code);
    return child;
}

void waiting(void)
{
    int status = -1;
    struct rusage usage;
    siginfo_t info;
    pid_t child = child_that_exits(1);
    CHECK_EQ(wait(&status), child);
    CHECK_EQ(WEXITSTATUS(status), 1);
    child = child_that_exits(2);
    CHECK_EQ(wait3(&status, 0, &usage), child);
    CHECK_EQ(WEXITSTATUS(status), 2);
    child = child_that_exits(3);
    CHECK_EQ(wait4(child, &status, 0, &usage), child);
    CHECK_EQ(WEXITSTATUS(status), 3);
    child = child_that_exits(4);
    CHECK_OK(waitid(P_PID, child, &info, WEXITED | WNOWAIT)); /* leaves it for the next */
    CHECK_EQ(info.si_status, 4);
    CHECK_OK(waitid(P_ALL, 0, &info, WEXITED));
    CHECK_EQ(info.si_pid, child);
    CHECK_FAILS(waitpid(-1, &status, WNOHANG), ECHILD);
    CHECK_FAILS(wait(NULL), ECHILD);

    int ends[2]; /* a child that waits until the pipe is closed */
    CHECK_OK(pipe(ends));
    child = fork_child();
    if (child == 0) {
        char byte;
        CHECK_OK(close(ends[1]));
        CHECK_EQ(read(ends[0], &byte, 1), 0);
        exit(6);
    }
    CHECK_EQ(waitpid(child, &status, WNOHANG), 0);
    CHECK_OK(close(ends[1]));
    check_exit(child, 6);
    CHECK_OK(close(ends[0]));
    child = fork_child();
    if (child == 0)
        for (;;)
            pause();
    CHECK_OK(kill(child, SIGKILL));
    check_killed(child, SIGKILL);
}

/* A daemon: the grandchild lives on without a terminal or standard streams; the end of its pipe tells of its end. */
void daemon_style(void)
{
    int ends[2];
    char byte;
    CHECK_OK(pipe(ends));
    pid_t child = fork_child();
    if (child == 0) {
        CHECK(setsid() > 0);
        if (fork_child() != 0)
            _exit(0);
        for (int fd = 0; fd < 3; fd++)
            CHECK_OK(close(fd));
        if (open("/dev/null", O_RDWR) != 0 || dup(0) != 1 || dup(0) != 2)
            _exit(1);
        append_text("daemon", "I serve");
        exit(0);
    }
    CHECK_OK(close(ends[1]));
    check_exit(child, 0);
    CHECK_EQ(read(ends[0], &byte, 1), 0);
    CHECK_OK(close(ends[0]));
    check_and_remove("daemon", "I serve");
}

static void append_at_exit(void)
{
    append_text("file", "at exit");
}

static void end_in_child(int way)
{
    CHECK_OK(atexit(append_at_exit));
    CHECK_OK(at_quick_exit(append_at_exit));
    if (way == 0)
        exit(20);
    if (way == 1)
        quick_exit(21);
    if (way == 2)
        _exit(22);
    if (way == 3)
        _Exit(23);
    if (way == 4)
        abort();
    raise(SIGKILL);
}

void ways_to_end(void)
{
    static const char *const left[] = {"at exit", "at exit", "", "", "", ""};
    for (int way = 0; way < 6; way++) {
        append_text("file", "");
        pid_t child = fork_child();
        if (child == 0)
            end_in_child(way);
        if (way < 4)
            check_exit(child, 20 + way);
        else
            check_killed(child, way == 4 ? SIGABRT : SIGKILL);
        check_and_remove("file", left[way]);
    }
}
