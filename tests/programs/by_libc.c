/* What libc does with processes and descriptors inside its own functions. b is written after a; what goes to standard output behind
 * `daemon` and in `forkpty`'s child goes elsewhere.
 *
 *   by_libc daemon|forkpty|waitid|waitid-group
 */
#include "processes.h"
#include <pty.h>

static void become_daemon(void)
{
    int ends[2];
    char byte;
    CHECK_OK(pipe(ends));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        append_text("a", "x");
        CHECK_OK(daemon(1, 0));
        CHECK_EQ(write(1, "to /dev/null", 12), 12);
        append_text("b", "x");
        _exit(0);
    }
    CHECK_OK(close(ends[1]));
    CHECK_EQ(read(ends[0], &byte, 1), 0);
    CHECK_EQ(waitpid(child, NULL, 0), child);
}

static void fork_to_terminal(void)
{
    int master;
    char text[64];
    pid_t child = forkpty(&master, NULL, NULL, NULL);
    CHECK(child >= 0);
    if (child == 0) {
        usleep(20000);
        append_text("a", "x");
        CHECK_EQ(write(1, "to the terminal", 15), 15);
        raise(SIGSTOP);
    }
    CHECK_EQ(read(master, text, sizeof text), 15);
    append_text("b", "x");
    /* Who is killed inside a call leaves no record of it: this one has left its `write`. */
    CHECK_EQ(waitpid(child, NULL, WUNTRACED), child);
    CHECK_OK(kill(child, SIGKILL));
    CHECK_EQ(waitpid(child, NULL, 0), child);
}

static void wait_for_any(idtype_t kind)
{
    siginfo_t info;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_OK(setpgid(0, 0));
        usleep(20000);
        append_text("a", "x");
        _exit(0);
    }
    CHECK(setpgid(child, child) == 0 || errno == EACCES);
    CHECK_OK(waitid(kind, child, &info, WEXITED));
    CHECK_EQ(info.si_pid, child);
    append_text("b", "x");
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    if (strcmp(argv[1], "daemon") == 0)
        become_daemon();
    else if (strcmp(argv[1], "forkpty") == 0)
        fork_to_terminal();
    else
        wait_for_any(strcmp(argv[1], "waitid") == 0 ? P_ALL : P_PGID);
    return 0;
}
