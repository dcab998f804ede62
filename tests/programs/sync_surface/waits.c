/* Condition variables, barriers, semaphores, and C11's names for threads, mutexes and conditions. */
#include "surface.h"
#include <semaphore.h>
#include <threads.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn;

enum { FLAGS = 3 }; /* below the number of waiters */

static unsigned waiters_of(const pthread_cond_t *which)
{
    return *(const volatile unsigned *)&which->__data.__wrefs >> FLAGS;
}

static void *wait_for_turn(void *number)
{
    CHECK_OK(pthread_mutex_lock(&mutex));
    while (turn < (intptr_t)number)
        CHECK_OK(pthread_cond_wait(&condition, &mutex));
    CHECK_OK(pthread_mutex_unlock(&mutex));
    return NULL;
}

static void *wait_in_time(void *number)
{
    CHECK_OK(pthread_mutex_lock(&mutex));
    while (turn < (intptr_t)number)
        CHECK_OK(pthread_cond_timedwait(&condition, &mutex, &FAR_AWAY));
    CHECK_OK(pthread_mutex_unlock(&mutex));
    return NULL;
}

static void next_turn(int (*wake)(pthread_cond_t *))
{
    CHECK_OK(pthread_mutex_lock(&mutex));
    turn++;
    CHECK_OK(wake(&condition));
    CHECK_OK(pthread_mutex_unlock(&mutex));
}

/* A signal wakes one thread, a broadcast two; signals that reach nobody; waits that end by themselves. */
void conditions(void)
{
    pthread_condattr_t attributes;
    pthread_cond_t monotonic;
    for (int i = 0; i < 10; i++) {
        CHECK_OK(pthread_cond_signal(&condition));
        CHECK_OK(pthread_cond_broadcast(&condition));
    }
    pthread_t first = start_thread(wait_for_turn, (void *)1);
    UNTIL(waiters_of(&condition) == 1);
    next_turn(pthread_cond_signal);
    join_thread(first);

    first = start_thread(wait_for_turn, (void *)2);
    pthread_t second = start_thread(wait_in_time, (void *)2);
    UNTIL(waiters_of(&condition) == 2);
    next_turn(pthread_cond_broadcast);
    join_thread(first);
    join_thread(second);

    CHECK_OK(pthread_condattr_init(&attributes));
    CHECK_OK(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC));
    CHECK_OK(pthread_cond_init(&monotonic, &attributes));
    CHECK_OK(pthread_mutex_lock(&mutex));
    CHECK_EQ(pthread_cond_timedwait(&condition, &mutex, &LONG_AGO), ETIMEDOUT);
    CHECK_EQ(pthread_cond_timedwait(&monotonic, &mutex, &LONG_AGO), ETIMEDOUT);
    CHECK_EQ(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &LONG_AGO), ETIMEDOUT);
    CHECK_OK(pthread_mutex_unlock(&mutex));
    CHECK_OK(pthread_cond_destroy(&monotonic));
    CHECK_OK(pthread_condattr_destroy(&attributes));
}

static void unlock(void *which)
{
    CHECK_OK(pthread_mutex_unlock(which));
}

static void *wait_until_cancelled(void *semaphore)
{
    if (semaphore)
        CHECK_OK(sem_wait(semaphore));
    CHECK_OK(pthread_mutex_lock(&mutex));
    pthread_cleanup_push(unlock, &mutex);
    for (;;)
        CHECK_OK(pthread_cond_wait(&condition, &mutex));
    pthread_cleanup_pop(1);
    return NULL;
}

static void cancel(pthread_t thread)
{
    void *result;
    CHECK_OK(pthread_cancel(thread));
    CHECK_OK(pthread_join(thread, &result));
    CHECK(result == PTHREAD_CANCELED);
}

/* Cancellation unwinds the stack of a thread that waits, and its clean-up finds the mutex locked. */
void cancelled_waits(void)
{
    enum { WAITERS = 1 };
    sem_t semaphore;
    CHECK_OK(sem_init(&semaphore, 0, 0));
    pthread_t thread = start_thread(wait_until_cancelled, NULL);
    UNTIL(waiters_of(&condition) == 1);
    cancel(thread);
    thread = start_thread(wait_until_cancelled, &semaphore);
    UNTIL(word_of(&semaphore, WAITERS) == 1);
    cancel(thread);
    CHECK_OK(pthread_mutex_trylock(&mutex));
    CHECK_OK(pthread_mutex_unlock(&mutex));
    CHECK_OK(sem_destroy(&semaphore));
}

static pthread_barrier_t barrier;
static int serial;

static void *meet(void *unused)
{
    for (int round = 0; round < 3; round++) {
        int result = pthread_barrier_wait(&barrier);
        CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
        if (result != 0)
            __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED);
    }
    return unused;
}

void barriers(void)
{
    CHECK_OK(pthread_barrier_init(&barrier, NULL, 2));
    pthread_t thread = start_thread(meet, NULL);
    meet(NULL);
    join_thread(thread);
    CHECK_EQ(serial, 3);
    CHECK_OK(pthread_barrier_destroy(&barrier));
}

static int taken;

static void *take_two(void *semaphore)
{
    CHECK_OK(sem_wait(semaphore));
    __atomic_store_n(&taken, 1, __ATOMIC_RELEASE);
    CHECK_OK(sem_timedwait(semaphore, &FAR_AWAY));
    return NULL;
}

void semaphores(void)
{
    enum { WAITERS = 1 };
    static sem_t semaphore;
    CHECK_OK(sem_init(&semaphore, 0, 0));
    for (int i = 0; i < 10; i++) { /* the value is there, nobody waits */
        CHECK_OK(sem_post(&semaphore));
        CHECK_OK(sem_wait(&semaphore));
    }
    CHECK_FAILS(sem_trywait(&semaphore), EAGAIN);
    CHECK_FAILS(sem_timedwait(&semaphore, &LONG_AGO), ETIMEDOUT);
    CHECK_FAILS(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &LONG_AGO), ETIMEDOUT);
    pthread_t thread = start_thread(take_two, &semaphore);
    for (int i = 0; i < 2; i++) {
        UNTIL(__atomic_load_n(&taken, __ATOMIC_ACQUIRE) == i && word_of(&semaphore, WAITERS) == 1);
        CHECK_OK(sem_post(&semaphore));
    }
    join_thread(thread);
    CHECK_OK(sem_destroy(&semaphore));
}

static mtx_t c11_mutex;
static cnd_t c11_condition;
static int c11_turn;
static pid_t c11_waiting;

static int c11_wait(void *unused)
{
    (void)unused;
    __atomic_store_n(&c11_waiting, gettid(), __ATOMIC_RELEASE);
    CHECK_EQ(mtx_lock(&c11_mutex), thrd_success);
    while (c11_turn == 0)
        CHECK_EQ(cnd_wait(&c11_condition, &c11_mutex), thrd_success);
    CHECK_EQ(mtx_unlock(&c11_mutex), thrd_success);
    return 42;
}

void c11_threads(void)
{
    thrd_t thread;
    int result = 0;
    struct timespec nothing = {0, 1};
    CHECK_EQ(mtx_init(&c11_mutex, mtx_timed), thrd_success);
    CHECK_EQ(cnd_init(&c11_condition), thrd_success);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(mtx_lock(&c11_mutex), thrd_success);
        CHECK_EQ(mtx_unlock(&c11_mutex), thrd_success);
        CHECK_EQ(cnd_signal(&c11_condition), thrd_success);
        CHECK_EQ(cnd_broadcast(&c11_condition), thrd_success);
    }
    CHECK_EQ(mtx_lock(&c11_mutex), thrd_success);
    CHECK_EQ(cnd_timedwait(&c11_condition, &c11_mutex, &LONG_AGO), thrd_timedout);
    CHECK_EQ(thrd_create(&thread, c11_wait, NULL), thrd_success);
    UNTIL(is_in(&c11_waiting, SYS_futex));
    CHECK_EQ(mtx_unlock(&c11_mutex), thrd_success);
    UNTIL(waiters_of((pthread_cond_t *)&c11_condition) == 1);
    CHECK_EQ(mtx_lock(&c11_mutex), thrd_success);
    c11_turn = 1;
    CHECK_EQ(cnd_signal(&c11_condition), thrd_success);
    CHECK_EQ(mtx_unlock(&c11_mutex), thrd_success);
    CHECK_EQ(thrd_join(thread, &result), thrd_success);
    CHECK_EQ(result, 42);
    CHECK_OK(thrd_sleep(&nothing, NULL));
    cnd_destroy(&c11_condition);
    mtx_destroy(&c11_mutex);
}
