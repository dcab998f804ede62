/* A pool of threads: `workers JOBS`. One hands out a job each 0.5 ms, three wait for them with a mutex and a condition; a job writes
 * 4 KiB to a file of the worker's and syncs it, without the mutex. Where that is quick one worker does all, where it takes
 * milliseconds all three are at work. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { perror(#what); exit(1); } } while (0)

enum { WORKERS = 3, BLOCK = 4096 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int jobs, given, taken;

/* The next job; none is left if there is no such. */
static int job(void)
{
    CHECK(pthread_mutex_lock(&mutex) == 0);
    while (taken == given && given < jobs)
        CHECK(pthread_cond_wait(&changed, &mutex) == 0);
    int job = taken < given ? taken++ : jobs;
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    return job;
}

static void *work(void *name)
{
    static const char block[BLOCK];
    int file = open(name, O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0);
    for (int number; (number = job()) < jobs;) {
        CHECK(pwrite(file, block, BLOCK, (off_t)number * BLOCK) == BLOCK);
        CHECK(fdatasync(file) == 0);
    }
    CHECK(close(file) == 0);
    return NULL;
}

int main(int argc, char **argv)
{
    char names[WORKERS][16];
    pthread_t threads[WORKERS];
    jobs = argc > 1 ? atoi(argv[1]) : 100;
    for (int at = 0; at < WORKERS; at++) {
        snprintf(names[at], sizeof names[at], "worker%d", at);
        CHECK(pthread_create(&threads[at], NULL, work, names[at]) == 0);
    }
    for (int number = 0; number < jobs; number++) {
        usleep(500);
        CHECK(pthread_mutex_lock(&mutex) == 0);
        given++;
        CHECK(pthread_mutex_unlock(&mutex) == 0);
        CHECK((given < jobs ? pthread_cond_signal : pthread_cond_broadcast)(&changed) == 0);
    }
    for (int at = 0; at < WORKERS; at++)
        CHECK(pthread_join(threads[at], NULL) == 0);
    return 0;
}
