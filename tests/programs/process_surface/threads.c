/* Threads: joined, detached, cancelled, many short ones, and those that outlive main or fork. */
#include "surface.h"
#include <pthread.h>
#include <semaphore.h>

enum { THREADS = 4, BLOCKS = 16, BLOCK = 512 };

struct job {
    int fd, number;
};

/* Writes its part of the file and reads it back. */
static void *write_part(void *argument)
{
    const struct job *job = argument;
    uint64_t block[BLOCK / 8];
    for (int b = 0; b < BLOCKS; b++) {
        off_t offset = (off_t)(job->number * BLOCKS + b) * BLOCK;
        fill_pattern(block, BLOCK, offset, job->number);
        CHECK_EQ(pwrite(job->fd, block, BLOCK, offset), BLOCK);
        CHECK_EQ(pread(job->fd, block, BLOCK, offset), BLOCK);
        check_pattern(block, BLOCK, offset, job->number);
    }
    return argument;
}

void threads_join(void)
{
    pthread_t threads[THREADS];
    struct job jobs[THREADS];
    int fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){fd, i};
        CHECK_OK(pthread_create(&threads[i], NULL, write_part, &jobs[i]));
    }
    for (int i = THREADS - 1; i >= 0; i--) {
        void *result = NULL;
        CHECK_OK(pthread_join(threads[i], &result));
        CHECK(result == &jobs[i]);
    }
    CHECK_EQ(lseek(fd, 0, SEEK_END), THREADS * BLOCKS * BLOCK);
    CHECK_OK(close(fd));
    CHECK_OK(unlink("file"));
}

static sem_t finished;

static void *append_and_post(void *name)
{
    append_text(name, "x");
    CHECK_OK(sem_post(&finished));
    pthread_exit(NULL);
}

void threads_detach(void)
{
    pthread_t thread;
    pthread_attr_t detached;
    CHECK_OK(sem_init(&finished, 0, 0));
    CHECK_OK(pthread_attr_init(&detached));
    CHECK_OK(pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED));
    for (int i = 0; i < THREADS; i++) {
        CHECK_OK(pthread_create(&thread, i % 2 ? &detached : NULL, append_and_post, "file"));
        if (i % 2 == 0)
            CHECK_OK(pthread_detach(thread));
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_OK(sem_wait(&finished));
    CHECK_OK(pthread_attr_destroy(&detached));
    CHECK_OK(sem_destroy(&finished));
    check_and_remove("file", "xxxx");
}

static void append_when_cancelled(void *name)
{
    append_text(name, "cleaned up");
}

static int never_written[2];

static void *read_forever(void *name)
{
    char byte;
    pthread_cleanup_push(append_when_cancelled, name);
    CHECK_OK(sem_post(&finished));
    if (read(never_written[0], &byte, 1) >= 0)
        fail(__FILE__, __LINE__, "a read of an empty pipe returned");
    pthread_cleanup_pop(0);
    return NULL;
}

/* Cancellation unwinds the stack of a thread that is inside read. */
void threads_cancel(void)
{
    pthread_t thread;
    void *result = NULL;
    CHECK_OK(pipe(never_written));
    CHECK_OK(sem_init(&finished, 0, 0));
    CHECK_OK(pthread_create(&thread, NULL, read_forever, "file"));
    CHECK_OK(sem_wait(&finished));
    CHECK_OK(pthread_cancel(thread));
    CHECK_OK(pthread_join(thread, &result));
    CHECK(result == PTHREAD_CANCELED);
    check_and_remove("file", "cleaned up");
    append_text("file", "afterwards"); /* and I/O goes on */
    check_and_remove("file", "afterwards");
    CHECK_OK(sem_destroy(&finished));
    CHECK_OK(close(never_written[0]));
    CHECK_OK(close(never_written[1]));
}

static void *write_byte(void *argument)
{
    const struct job *job = argument;
    CHECK_EQ(pwrite(job->fd, "s", 1, job->number), 1);
    return NULL;
}

void threads_short(void)
{
    enum { ROUNDS = 100, AT_ONCE = 4 };
    pthread_t threads[AT_ONCE];
    struct job jobs[AT_ONCE];
    int fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            jobs[i] = (struct job){fd, round * AT_ONCE + i};
            CHECK_OK(pthread_create(&threads[i], NULL, write_byte, &jobs[i]));
        }
        for (int i = 0; i < AT_ONCE; i++)
            CHECK_OK(pthread_join(threads[i], NULL));
    }
    CHECK_EQ(lseek(fd, 0, SEEK_END), ROUNDS * AT_ONCE);
    CHECK_OK(close(fd));
    CHECK_OK(unlink("file"));
}

static void *end_process(void *first)
{
    CHECK_OK(pthread_join(*(pthread_t *)first, NULL));
    append_text("file", "the last one");
    exit(12);
}

/* The first thread ends before the process does. */
void main_leaves_first(void)
{
    pid_t child = fork_child();
    if (child == 0) {
        static pthread_t first;
        pthread_t last;
        first = pthread_self();
        CHECK_OK(pthread_create(&last, NULL, end_process, &first));
        pthread_exit(NULL);
    }
    check_exit(child, 12);
    check_and_remove("file", "the last one");
}

static void *fork_and_wait(void *name)
{
    pid_t child = fork_child();
    if (child == 0) {
        append_text(name, "child of a thread");
        exit(13);
    }
    check_exit(child, 13);
    return NULL;
}

/* A child that is forked while another thread does I/O has that thread's state and not the thread. */
void fork_from_thread(void)
{
    pthread_t writing, forking;
    int fd = open("busy", O_RDWR | O_CREAT | O_EXCL, 0644);
    struct job job = {fd, 0};
    CHECK_OK(pthread_create(&writing, NULL, write_part, &job));
    CHECK_OK(pthread_create(&forking, NULL, fork_and_wait, "file"));
    CHECK_OK(pthread_join(forking, NULL));
    CHECK_OK(pthread_join(writing, NULL));
    CHECK_OK(close(fd));
    CHECK_OK(unlink("busy"));
    check_and_remove("file", "child of a thread");
}
