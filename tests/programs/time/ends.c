/* Children that use the processor behind their last calls: the kernel gives their memory back, or they compute until they
 * are killed. Prints what each has used in all.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MEMORY (256L << 20)

static void check(int is_well, const char *what)
{
    if (!is_well) {
        perror(what);
        exit(1);
    }
}

static void fill(void)
{
    void *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, "mmap");
    memset(memory, 1, MEMORY);
}

static void reap(pid_t child)
{
    struct rusage usage;
    check(wait4(child, NULL, 0, &usage) == child, "wait4");
    long us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000L + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    printf("%d %ld\n", (int)child, us);
    fflush(stdout);
}

int main(void)
{
    pid_t child = fork();
    check(child >= 0, "fork");
    if (child == 0) {
        fill();
        _exit(0);
    }
    reap(child);
    /* One that returns from main, with a child of its own whose time is not its own. */
    child = fork();
    check(child >= 0, "fork");
    if (child == 0) {
        pid_t grandchild = fork();
        check(grandchild >= 0, "fork");
        if (grandchild == 0) {
            fill();
            _exit(0);
        }
        check(waitpid(grandchild, NULL, 0) == grandchild, "waitpid");
        return 0;
    }
    reap(child);
    child = fork();
    check(child >= 0, "fork");
    if (child == 0)
        for (;;) {
        }
    check(nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL) == 0, "nanosleep");
    check(kill(child, SIGKILL) == 0, "kill");
    reap(child);
    return 0;
}
