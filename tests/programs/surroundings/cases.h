/* What the parts of surroundings share. */
#ifndef CASES_H
#define CASES_H

#include "../processes.h"
#include <sys/stat.h>

/* More writes than a trace holds before its file has to grow, several times over. */
enum { MANY = 300000 };

/* Writes one byte MANY times to the file of this name, which is new, at changing places. */
static inline void write_many(const char *name)
{
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0);
    for (long long i = 0; i < MANY; i++)
        CHECK_EQ(pwrite(fd, "m", 1, i * 40503 % 65536), 1);
    CHECK_OK(close(fd));
}

/* Runs the function in a child, which has to end with the code `expected`; it ends with `after` if the function returns. */
static inline void run_in_child(void (*run)(void), int expected, int after)
{
    pid_t child = fork_child();
    if (child == 0) {
        run();
        _exit(after);
    }
    check_exit(child, expected);
}

/* Tests: one function per way in which a program changes what is around it. */
void root_changed(void);
void root_and_user_changed(void);
void user_changed(void);
void user_changed_at_start(void);
void user_of_files_changed(void);
void names_changed(void);
void folder_hidden(void);
void folder_removed(void);
void strict_mode(void);
void filter_that_kills(void);
void filter_that_kills_long(void);
void filter_that_refuses(void);
void filter_with_others(void);
void filter_of_text(void);
void dispatched_calls(void);
void filters_that_kill_others(void);
void filter_that_kills_nobody(void);
void files_limited(void);
void memory_given_back(void);
void threads_with_open_files(void);
void memory_limited(void);
void memory_locked(void);
void descriptors_limited(void);
void environment_replaced(void);
void preload_replaced(void);
void many_writes(void);

/* The program file itself, for those parts that start it again as `surroundings --child WHAT`. */
extern char self[4096];

/* `--child` bodies. */
int write_file(const char *name);

#endif
