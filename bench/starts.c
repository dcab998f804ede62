/* Starts a program again and again, one after the other, as scripts and build tools do.
 *
 *   starts fork|spawn TIMES PROGRAM [ARGUMENT]...
 *   starts thread TIMES
 *
 * fork: fork(2), then execv(3) in the child, as a shell does; the child is an image of its own in a trace. spawn:
 * posix_spawn(3). thread: threads that do nothing. A program that does not exit with 0 ends everything. */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *nothing(void *unused)
{
    return unused;
}

static int start_threads(int times)
{
    for (int i = 0; i < times; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0) {
            fprintf(stderr, "starts: a thread could not be started\n");
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "thread") == 0)
        return start_threads(atoi(argv[2]));
    if (argc < 4 || (strcmp(argv[1], "fork") != 0 && strcmp(argv[1], "spawn") != 0)) {
        fprintf(stderr, "usage: starts fork|spawn TIMES PROGRAM [ARGUMENT]... | thread TIMES\n");
        return 2;
    }
    int forks = strcmp(argv[1], "fork") == 0, times = atoi(argv[2]);
    char **command = argv + 3;
    for (int i = 0; i < times; i++) {
        pid_t pid = -1;
        int status;
        if (forks && (pid = fork()) == 0) {
            execv(command[0], command);
            _exit(127);
        }
        if (!forks && posix_spawn(&pid, command[0], NULL, NULL, command, environ) != 0)
            pid = -1;
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
            fprintf(stderr, "starts: %s could not be started, or failed\n", command[0]);
            return 1;
        }
    }
    return 0;
}
