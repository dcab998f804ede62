/* interrupted: reads from a pipe that a signal interrupts, by a handler with which the kernel goes on reading
 * (`--restart`) or without. Another process sends the signal when the reader sleeps, and then what there is to read.
 */
#include "processes.h"
#include <sched.h>
#include <sys/mman.h>

static volatile sig_atomic_t *handled;

static void handler(int signal)
{
    (void)signal;
    *handled = 1;
}

static void sender(pid_t reader, int end)
{
    let_sleep(reader);
    CHECK_OK(kill(reader, SIGUSR1));
    while (!*handled)
        sched_yield();
    CHECK_EQ(write(end, "r", 1), 1);
}

int main(int argc, char **argv)
{
    int restarts = 0, ends[2];
    const struct setting settings[] = {
        {"--restart", FLAG, &restarts, "the kernel goes on with the call behind the handler"},
        {NULL, FLAG, NULL, NULL},
    };
    parse_options(argc, argv, settings);
    alarm(60);
    handled = mmap(NULL, sizeof *handled, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(handled != MAP_FAILED);
    struct sigaction action = {.sa_handler = handler, .sa_flags = restarts ? SA_RESTART : 0};
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    CHECK_OK(pipe(ends));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        sender(getppid(), ends[1]);
        _exit(0);
    }
    char byte;
    ssize_t length = read(ends[0], &byte, 1);
    if (!restarts) {
        CHECK_EQ(length, -1);
        CHECK_EQ(errno, EINTR);
        length = read(ends[0], &byte, 1);
    }
    CHECK_EQ(length, 1);
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    puts("interrupted: passed");
    return 0;
}
