/* What the parts of process_surface share. */
#ifndef SURFACE_H
#define SURFACE_H

#include "../common.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* Tests: one function per way in which processes, threads and signals come and go. */
void forking(void);
void vforking(void);
void spawning(void);
void shell_commands(void);
void waiting(void);
void daemon_style(void);
void exec_chain(void);
void exec_failures(void);
void exec_from_thread(void);
void ways_to_end(void);
void threads_join(void);
void threads_detach(void);
void threads_cancel(void);
void threads_short(void);
void main_leaves_first(void);
void fork_from_thread(void);
void writing_handler(void);
void jumping_handler(void);
void closing_all(void);
void three_descriptors(void);
void no_descriptor_left(void);

/* The program file itself, for those parts that start it again as `process_surface --child WHAT ...`. */
extern char self[4096];

/* What the program does as `--child WHAT ...`; returns its exit code. */
int child_main(char **words);

/* `--child` bodies that belong to a part in another file. */
int chain_link(int left);
int under_three_descriptors(void);
int with_no_descriptor_left(void);

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
