/* Threads that compute: joined, detached, alive at the end, without any call, more than processors.
 *
 *   threads [part ...]
 */
#include "time.h"
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>

enum { THREADS = 8 };

static sem_t done;

static pthread_t started(void *(*routine)(void *), void *argument)
{
    pthread_t thread;
    CHECK_OK(pthread_create(&thread, NULL, routine, argument));
    return thread;
}

static void *computes_and_reports(void *argument)
{
    begin_thread();
    compute(40 * MS);
    report_thread();
    return argument;
}

static void joined(void)
{
    pthread_t thread = started(computes_and_reports, NULL);
    compute(30 * MS);
    CHECK_OK(pthread_join(thread, NULL));
}

/* A thread whose figures another prints, so that it makes no call of its own. */
struct silent {
    struct known known;
    int tid;
    long long cpu, wall;
};

static void *computes_silently(void *argument)
{
    struct silent *mine = argument;
    begin_thread();
    mine->tid = (int)gettid();
    compute(40 * MS);
    mine->known = own;
    mine->wall = wall_ns() - own.began;
    mine->cpu = cpu_ns();
    return argument;
}

static void print_for(const struct silent *thread)
{
    dprintf(1, "pid=%d tid=%d cpu_ns=%lld wall_ns=%lld work_ns=%lld inside_ns=0 wait_ns=0\n", (int)getpid(), thread->tid,
            thread->cpu, thread->wall, thread->known.work);
}

static void without_calls(void)
{
    struct silent silent[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        threads[i] = started(computes_silently, &silent[i]);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(pthread_join(threads[i], NULL));
        print_for(&silent[i]);
    }
}

static void *computes_and_posts(void *argument)
{
    computes_and_reports(argument);
    CHECK_OK(sem_post(&done));
    return argument;
}

static void detached(void)
{
    CHECK_OK(sem_init(&done, 0, 0));
    CHECK_OK(pthread_detach(started(computes_and_posts, NULL)));
    CHECK_OK(sem_wait(&done));
    CHECK_OK(sem_destroy(&done));
}

static void *writes_between(void *number)
{
    char name[32], block[4096] = "";
    begin_thread();
    snprintf(name, sizeof name, "thread%d.dat", (int)(intptr_t)number);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    for (int i = 0; i < 5; i++) {
        compute(4 * MS);
        CHECK_EQ(write(fd, block, sizeof block), sizeof block);
    }
    CHECK_OK(close(fd));
    report_thread();
    return number;
}

/* More threads than processors: most of their lives they are ready, and not running. */
static void many(void)
{
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        threads[i] = started(writes_between, (void *)i);
    for (int i = 0; i < THREADS; i++)
        CHECK_OK(pthread_join(threads[i], NULL));
}

/* Made, used and joined one after the other. */
static void one_by_one(void)
{
    for (int i = 0; i < 6; i++) {
        CHECK_OK(pthread_join(started(writes_between, (void *)(intptr_t)i), NULL));
        compute(2 * MS);
    }
}

static void *computes_and_stays(void *argument)
{
    computes_and_posts(argument);
    while (opaque(1))
        pause();
    return argument;
}

static void *computes_silently_and_stays(void *argument)
{
    computes_silently(argument);
    CHECK_OK(sem_post(&done));
    while (opaque(1))
        pause();
    return argument;
}

/* Alive when the process ends, asleep: what they computed is the process's all the same. */
static void alive_at_exit(void)
{
    static struct silent silent;
    CHECK_OK(sem_init(&done, 0, 0));
    started(computes_and_stays, NULL);
    started(computes_silently_and_stays, &silent);
    CHECK_OK(sem_wait(&done));
    CHECK_OK(sem_wait(&done));
    print_for(&silent);
}

/* A thread other than the first ends the process. */
static void *ends_the_process(void *argument)
{
    computes_and_reports(argument);
    report_process();
    exit(0);
    return argument;
}

static void exit_in_thread(void)
{
    started(ends_the_process, NULL);
    compute(20 * MS);
    report_thread();
    while (opaque(1))
        pause();
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"joined", joined},
        {"without-calls", without_calls},
        {"detached", detached},
        {"many", many},
        {"one-by-one", one_by_one},
        {"alive-at-exit", alive_at_exit},
        {"exit-in-thread", exit_in_thread},
        {NULL, NULL},
    };
    return time_main(argc, argv, "threads", parts);
}
