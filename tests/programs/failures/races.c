/* What one thread takes away while another is still in a call. */
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
