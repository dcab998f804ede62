/* What programs share that start processes and verify through small files what these did. */
#ifndef PROCESSES_H
#define PROCESSES_H

#include "common.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

/* What /proc says of a process or thread. */
static inline void read_proc(pid_t id, const char *file, char text[512])
{
    char path[64];
    memset(text, 0, 512);
    snprintf(path, sizeof path, "/proc/%d/%s", (int)id, file);
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    CHECK(read(fd, text, 511) > 0);
    CHECK_OK(close(fd));
}

/* True when a process or thread sleeps and has left the processor: its state, behind the name in parentheses, says so before it has
 * left it, and if it is woken by then it stays there. From then on there is a function in which it waits (proc_pid_wchan(5)). */
static inline int sleeps(pid_t id)
{
    char text[512];
    read_proc(id, "stat", text);
    const char *behind = strrchr(text, ')');
    CHECK(behind != NULL);
    if (behind[2] != 'S')
        return 0;
    read_proc(id, "wchan", text);
    return strcmp(text, "0") != 0;
}

/* Until it sleeps, and for a moment more: of less than 50 us nobody knows whether it was a sleep. */
static inline void let_sleep(pid_t id)
{
    for (int tries = 0; tries < 1000000; tries++) {
        if (sleeps(id)) {
            usleep(100);
            return;
        }
        sched_yield();
    }
    fail(__FILE__, __LINE__, "%d does not sleep", (int)id);
}

/* Appends the text to the file in one write. */
static inline void append_text(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
    CHECK_OK(close(fd));
}

/* The file holds exactly this text; removes it. */
static inline void check_and_remove(const char *name, const char *text)
{
    char found[256] = "";
    int fd = open(name, O_RDONLY);
    CHECK(fd >= 0);
    CHECK_EQ(read(fd, found, sizeof found - 1), strlen(text));
    CHECK_TEXT(found, text);
    CHECK_OK(close(fd));
    CHECK_OK(unlink(name));
}

/* fork; the parent's buffered output is not the child's. */
static inline pid_t fork_child(void)
{
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    return child;
}

/* The child ends with this exit code. */
static inline void check_exit(pid_t child, int code)
{
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), code);
}

/* The child ends by this signal. */
static inline void check_killed(pid_t child, int signal)
{
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), signal);
}

#endif
