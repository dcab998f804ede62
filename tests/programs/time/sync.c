/* Waiting for locks and notices between threads: whoever releases sleeps for a known time first.
 *
 *   sync [part ...]
 */
#include "time.h"
#include <pthread.h>
#include <semaphore.h>

enum { ROUNDS = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier, together;
static sem_t posted;
static int ready;
static _Atomic int flag;
/* When the other thread last released what this one waits for. */
static _Atomic long long released;

/* Runs the other side in a thread of its own; both report. */
static void *other_side(void *side)
{
    begin_thread();
    ((void (*)(void))side)();
    report_thread();
    return NULL;
}

static void beside(void (*side)(void), void (*mine)(void))
{
    pthread_t thread;
    CHECK_OK(pthread_barrier_init(&together, NULL, 2));
    CHECK_OK(pthread_create(&thread, NULL, other_side, (void *)side));
    mine();
    CHECK_OK(pthread_join(thread, NULL));
    CHECK_OK(pthread_barrier_destroy(&together));
}

/* Both sides begin a round at once; computation follows, so that the other side has certainly taken its lock. */
static void meet(void)
{
    int result = pthread_barrier_wait(&together);
    CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void hold_mutex(void (*meanwhile)(long long))
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_OK(pthread_mutex_lock(&mutex));
        meet();
        meanwhile(35 * MS);
        released = wall_ns();
        CHECK_OK(pthread_mutex_unlock(&mutex));
        meet();
    }
}

static void holds_and_sleeps(void)
{
    hold_mutex(sleep_ns);
}

static void holds_and_computes(void)
{
    hold_mutex(compute);
}

static void wants_mutex(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        meet();
        compute(10 * MS);
        long long entered = wall_ns();
        CHECK_OK(pthread_mutex_lock(&mutex));
        waited(entered, released);
        CHECK_OK(pthread_mutex_unlock(&mutex));
        meet();
    }
}

static void holds_rwlock(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_OK(pthread_rwlock_wrlock(&rwlock));
        meet();
        sleep_ns(30 * MS);
        released = wall_ns();
        CHECK_OK(pthread_rwlock_unlock(&rwlock));
        meet();
    }
}

static void wants_rwlock(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        meet();
        compute(8 * MS);
        long long entered = wall_ns();
        CHECK_OK(pthread_rwlock_rdlock(&rwlock));
        waited(entered, released);
        CHECK_OK(pthread_rwlock_unlock(&rwlock));
        meet();
    }
}

static void signals_condition(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        meet();
        sleep_ns(30 * MS);
        CHECK_OK(pthread_mutex_lock(&mutex));
        ready = 1;
        released = wall_ns();
        CHECK_OK(pthread_cond_signal(&condition));
        CHECK_OK(pthread_mutex_unlock(&mutex));
    }
}

static void awaits_condition(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        meet();
        compute(5 * MS);
        CHECK_OK(pthread_mutex_lock(&mutex));
        long long entered = wall_ns();
        while (!ready)
            CHECK_OK(pthread_cond_wait(&condition, &mutex));
        waited(entered, released);
        ready = 0;
        CHECK_OK(pthread_mutex_unlock(&mutex));
    }
}

/* Nobody signals: the wait ends by its own time limit. */
static void condition_times_out(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec until;
        compute(10 * MS);
        CHECK_OK(pthread_mutex_lock(&mutex));
        CHECK_OK(clock_gettime(CLOCK_REALTIME, &until));
        until.tv_nsec += 30 * MS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        long long entered = wall_ns();
        int result = 0;
        while (result == 0)
            result = pthread_cond_timedwait(&condition, &mutex, &until);
        CHECK_EQ(result, ETIMEDOUT);
        waited(entered, entered + 29 * MS);
        CHECK_OK(pthread_mutex_unlock(&mutex));
    }
}

static void posts(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        meet();
        sleep_ns(30 * MS);
        released = wall_ns();
        CHECK_OK(sem_post(&posted));
    }
}

static void awaits_post(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        meet();
        compute(5 * MS);
        long long entered = wall_ns();
        CHECK_OK(sem_wait(&posted));
        waited(entered, released);
    }
}

static void comes_late(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        compute(5 * MS);
        sleep_ns(30 * MS);
        released = wall_ns();
        pthread_barrier_wait(&barrier);
        meet();
    }
}

static void comes_early(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        compute(10 * MS);
        long long entered = wall_ns();
        pthread_barrier_wait(&barrier);
        waited(entered, released);
        meet();
    }
}

/* Waiting in user space is computation for the kernel, and no call is there to know better. */
static void spins(void)
{
    long long before = cpu_ns();
    while (!flag)
        work(5);
    own.work += cpu_ns() - before;
}

static void ends_the_spinning(void)
{
    sleep_ns(60 * MS);
    flag = 1;
}

static void mutex_of_sleeper(void) { beside(holds_and_sleeps, wants_mutex); }
static void mutex_of_worker(void) { beside(holds_and_computes, wants_mutex); }
static void reader_writer(void) { beside(holds_rwlock, wants_rwlock); }
static void condition_signaled(void) { beside(signals_condition, awaits_condition); }
static void user_space(void) { beside(ends_the_spinning, spins); }

static void semaphore(void)
{
    CHECK_OK(sem_init(&posted, 0, 0));
    beside(posts, awaits_post);
    CHECK_OK(sem_destroy(&posted));
}

static void barriers(void)
{
    CHECK_OK(pthread_barrier_init(&barrier, NULL, 2));
    beside(comes_late, comes_early);
    CHECK_OK(pthread_barrier_destroy(&barrier));
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"mutex", mutex_of_sleeper},
        {"mutex-of-worker", mutex_of_worker},
        {"rwlock", reader_writer},
        {"condition", condition_signaled},
        {"condition-timeout", condition_times_out},
        {"semaphore", semaphore},
        {"barrier", barriers},
        {"user-space", user_space},
        {NULL, NULL},
    };
    return time_main(argc, argv, "sync", parts);
}
