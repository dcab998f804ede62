/* What the parts of sync_surface share. */
#ifndef SURFACE_H
#define SURFACE_H

#include "../common.h"
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>

/* Tests: one function per family of calls. */
void mutexes(void);
void mutexes_in_time(void);
void free_locks(void);
void conditions(void);
void cancelled_waits(void);
void rwlocks(void);
void barriers(void);
void semaphores(void);
void spin_locks(void);
void c11_threads(void);
void sysv_semaphores(void);
void sysv_memory_and_messages(void);
void posix_queues(void);
void named_semaphores(void);
void signals_sent(void);
void signals_awaited(void);
void timers(void);
void interrupted_sleeps(void);
void pausing(void);
void handlers(void);
void small_stacks(void);
void narrow_stacks(void);
void round_trips(void);
void faults(void);
void jumps_out_of_writes(void);
void jumps_by_timer(void);
void handlers_in_children(void);
void deadly_signal(void);
void many_handlers(void);

/* Lets other threads run until the condition holds: what is waited for is certain to come. */
#define UNTIL(condition) \
    do { \
        while (!(condition)) \
            sched_yield(); \
    } while (0)

/* A word of a lock, as it is now. */
static inline unsigned word_of(const void *lock, int index)
{
    return ((const volatile unsigned *)lock)[index];
}

/* A time that has passed by any clock, and one that will not come during the test. */
static const struct timespec LONG_AGO = {1, 5}, FAR_AWAY = {1LL << 32, 7};

/* True once the thread whose id is (or will be) there is in the system call. */
static inline int is_in(const pid_t *thread, long number)
{
    char path[64], text[32] = "";
    pid_t tid = __atomic_load_n(thread, __ATOMIC_ACQUIRE);
    if (tid == 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)tid);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    CHECK(fgets(text, sizeof text, file) != NULL);
    CHECK_OK(fclose(file));
    return strcmp(text, "running\n") != 0 && atol(text) == number;
}

static inline pthread_t start_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    CHECK_OK(pthread_create(&thread, NULL, run, argument));
    return thread;
}

static inline void join_thread(pthread_t thread)
{
    CHECK_OK(pthread_join(thread, NULL));
}

#endif
