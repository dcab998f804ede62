/* Mutexes, read-write locks, spin locks. */
#include "surface.h"

enum { FREE_ROUNDS = 1000 };

/* Locks that nobody else wants: nothing of this may leave a record. */
void free_locks(void)
{
    pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_spinlock_t spin;
    CHECK_OK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
    for (int i = 0; i < FREE_ROUNDS; i++) {
        CHECK_OK(pthread_mutex_lock(&plain));
        CHECK_EQ(pthread_mutex_trylock(&plain), EBUSY);
        CHECK_OK(pthread_mutex_unlock(&plain));
        CHECK_OK(pthread_mutex_lock(&again));
        CHECK_OK(pthread_mutex_lock(&again));
        CHECK_OK(pthread_mutex_unlock(&again));
        CHECK_OK(pthread_mutex_unlock(&again));
        CHECK_OK(pthread_mutex_timedlock(&plain, &LONG_AGO));
        CHECK_OK(pthread_mutex_unlock(&plain));
        CHECK_OK(pthread_rwlock_rdlock(&lock));
        CHECK_OK(pthread_rwlock_rdlock(&lock));
        CHECK_OK(pthread_rwlock_unlock(&lock));
        CHECK_OK(pthread_rwlock_unlock(&lock));
        CHECK_OK(pthread_rwlock_wrlock(&lock));
        CHECK_OK(pthread_rwlock_unlock(&lock));
        CHECK_OK(pthread_spin_lock(&spin));
        CHECK_OK(pthread_spin_unlock(&spin));
    }
    CHECK_OK(pthread_spin_destroy(&spin));
}

static void *lock_and_unlock(void *mutex)
{
    CHECK_OK(pthread_mutex_lock(mutex));
    CHECK_OK(pthread_mutex_unlock(mutex));
    return NULL;
}

static int is_awaited(const pthread_mutex_t *mutex)
{
    int holds_owner = mutex->__data.__kind & (16 | 32);
    unsigned word = word_of(mutex, 0);
    return holds_owner ? word >> 31 : word == 2;
}

/* One thread waits for each kind of mutex, until the other gives it back. */
void mutexes(void)
{
    for (int kind = 0; kind < 5; kind++) {
        pthread_mutex_t *mutex = allocate(sizeof *mutex); /* so that no two have the same address */
        pthread_mutexattr_t attributes;
        CHECK_OK(pthread_mutexattr_init(&attributes));
        if (kind < 3)
            CHECK_OK(pthread_mutexattr_settype(&attributes, kind));
        if (kind == 3)
            CHECK_OK(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT));
        if (kind == 4)
            CHECK_OK(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
        CHECK_OK(pthread_mutex_init(mutex, &attributes));
        CHECK_OK(pthread_mutex_lock(mutex));
        if (kind == PTHREAD_MUTEX_ERRORCHECK)
            CHECK_EQ(pthread_mutex_lock(mutex), EDEADLK);
        pthread_t thread = start_thread(lock_and_unlock, mutex);
        UNTIL(is_awaited(mutex));
        CHECK_OK(pthread_mutex_unlock(mutex));
        join_thread(thread);
        CHECK_OK(pthread_mutexattr_destroy(&attributes));
    }
}

static pid_t waiting;

static void *lock_in_time(void *mutex)
{
    CHECK_EQ(pthread_mutex_timedlock(mutex, &LONG_AGO), ETIMEDOUT);
    CHECK_EQ(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &LONG_AGO), ETIMEDOUT);
    __atomic_store_n(&waiting, gettid(), __ATOMIC_RELEASE);
    CHECK_OK(pthread_mutex_timedlock(mutex, &FAR_AWAY));
    CHECK_OK(pthread_mutex_unlock(mutex));
    return NULL;
}

void mutexes_in_time(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    CHECK_OK(pthread_mutex_lock(&mutex));
    pthread_t thread = start_thread(lock_in_time, &mutex);
    UNTIL(is_in(&waiting, SYS_futex));
    CHECK_OK(pthread_mutex_unlock(&mutex));
    join_thread(thread);
}

static void *read_once(void *lock)
{
    CHECK_OK(pthread_rwlock_rdlock(lock));
    CHECK_OK(pthread_rwlock_unlock(lock));
    return NULL;
}

static void *write_once(void *lock)
{
    CHECK_OK(pthread_rwlock_wrlock(lock));
    CHECK_OK(pthread_rwlock_unlock(lock));
    return NULL;
}

/* A reader waits for a writer, a writer for a reader, a writer for a writer; and three of them give up. */
void rwlocks(void)
{
    enum { READERS = 0, READER = 8, WRITE_LOCKED = 2, WRITERS_FUTEX = 3, FUTEX_USED = 2 };
    static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    CHECK_OK(pthread_rwlock_wrlock(&lock));
    CHECK_EQ(pthread_rwlock_timedrdlock(&lock, &FAR_AWAY), EDEADLK);
    pthread_t thread = start_thread(read_once, &lock);
    UNTIL(word_of(&lock, READERS) >= READER);
    CHECK_OK(pthread_rwlock_unlock(&lock));
    join_thread(thread);

    CHECK_OK(pthread_rwlock_rdlock(&lock));
    CHECK_EQ(pthread_rwlock_timedwrlock(&lock, &LONG_AGO), ETIMEDOUT);
    CHECK_EQ(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &LONG_AGO), ETIMEDOUT);
    thread = start_thread(write_once, &lock);
    UNTIL(word_of(&lock, READERS) & WRITE_LOCKED);
    CHECK_OK(pthread_rwlock_unlock(&lock));
    join_thread(thread);

    CHECK_OK(pthread_rwlock_wrlock(&lock));
    thread = start_thread(write_once, &lock);
    UNTIL(word_of(&lock, WRITERS_FUTEX) & FUTEX_USED);
    CHECK_OK(pthread_rwlock_unlock(&lock));
    join_thread(thread);
}

static void *spin_once(void *lock)
{
    CHECK_OK(pthread_spin_lock(lock));
    CHECK_OK(pthread_spin_unlock(lock));
    return NULL;
}

void spin_locks(void)
{
    static pthread_spinlock_t lock;
    CHECK_OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
    CHECK_OK(pthread_spin_lock(&lock));
    pthread_t thread = start_thread(spin_once, (void *)&lock);
    UNTIL((int)word_of((void *)&lock, 0) < 0);
    CHECK_OK(pthread_spin_unlock(&lock));
    join_thread(thread);
}
