/* What a thread or a child takes away, and another still has or uses. */
#include "cases.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>

enum { DETACHED = 500, PAGE = 4096 };

struct job {
    pthread_t thread;
};

static sem_t gone;

static void *give_back(void *job)
{
    CHECK_OK(munmap(job, PAGE));
    CHECK_OK(sem_post(&gone));
    return NULL;
}

/* 500 detached threads give back the memory in which their handle stands, at once: on one processor, often before
 * their creator is back from pthread_create. */
void detached_threads(void)
{
    cpu_set_t all, one;
    pthread_attr_t detached;
    CHECK_OK(sched_getaffinity(0, sizeof all, &all));
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    CHECK_OK(sched_setaffinity(0, sizeof one, &one));
    CHECK_OK(sem_init(&gone, 0, 0));
    CHECK_OK(pthread_attr_init(&detached));
    CHECK_OK(pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED));
    for (int i = 0; i < DETACHED; i++) {
        struct job *job = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(job != MAP_FAILED);
        CHECK_OK(pthread_create(&job->thread, &detached, give_back, job));
        CHECK_OK(sem_wait(&gone));
    }
    CHECK_OK(pthread_attr_destroy(&detached));
    CHECK_OK(sem_destroy(&gone));
    CHECK_OK(sched_setaffinity(0, sizeof all, &all));
}

static int lent_fd;

static int close_and_become(void *unused)
{
    char *words[] = {self, "--child", "print", "became another", NULL}, *nothing[] = {NULL};
    close(lent_fd);
    execve(self, words, nothing);
    (void)unused;
    _exit(1);
}

/* A child that runs in its parent's memory closes the parent's file, which is its own copy, and becomes another program;
 * the parent writes five bytes to the file. */
void borrowed_memory(void)
{
    enum { STACK = 65536 };
    char *stack = allocate(STACK);
    fflush(stdout);
    lent_fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    check_exit(clone(close_and_become, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL), 0);
    CHECK_EQ(write(lent_fd, "after", 5), 5);
    CHECK_OK(close(lent_fd));
    free(stack);
    check_and_remove("file", "after");
}
