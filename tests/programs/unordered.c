/* Two threads or processes that use the same things at the same times, and never wait for each other: nothing orders them.
 *
 *   unordered threads|processes
 *
 * Each side writes bytes to a file of its own ("a", "b"). In between it takes locks that are free or can be shared, semaphores and
 * counters that have enough for all, reads what was written before, and writes to a part of a file that is its own; each by itself,
 * at whatever time it comes to it. Verifies what the calls return.
 */
#include "common.h"
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { ROUNDS = 40, PLENTY = 1000 };

static struct area {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_cond_t condition;
    sem_t semaphore;
} *area;
static int counter, set, data;

static void set_up(int shared)
{
    int kind = shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
    pthread_mutexattr_t mutex;
    pthread_rwlockattr_t rwlock;
    pthread_condattr_t condition;
    CHECK_OK(pthread_mutexattr_init(&mutex) + pthread_mutexattr_setpshared(&mutex, kind));
    CHECK_OK(pthread_mutex_init(&area->mutex, &mutex));
    CHECK_OK(pthread_rwlockattr_init(&rwlock) + pthread_rwlockattr_setpshared(&rwlock, kind));
    CHECK_OK(pthread_rwlock_init(&area->rwlock, &rwlock));
    CHECK_OK(pthread_condattr_init(&condition) + pthread_condattr_setpshared(&condition, kind));
    CHECK_OK(pthread_cond_init(&area->condition, &condition));
    CHECK_OK(sem_init(&area->semaphore, shared, PLENTY));
    CHECK((counter = eventfd(PLENTY, EFD_SEMAPHORE)) >= 0);
    CHECK((set = semget(IPC_PRIVATE, 1, 0600)) >= 0);
    CHECK_OK(semctl(set, 0, SETVAL, PLENTY));
    CHECK((data = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600)) >= 0);
    for (int i = 0; i < 2 * ROUNDS; i++)
        CHECK_EQ(pwrite(data, "x", 1, i), 1);
}

static void use_locks(void)
{
    if (pthread_mutex_trylock(&area->mutex) == 0)
        CHECK_OK(pthread_mutex_unlock(&area->mutex));
    CHECK_OK(pthread_rwlock_rdlock(&area->rwlock));
    CHECK_OK(pthread_rwlock_unlock(&area->rwlock));
    CHECK_OK(pthread_cond_broadcast(&area->condition));
    CHECK_OK(sem_wait(&area->semaphore));
    CHECK_OK(sem_post(&area->semaphore));
}

static void use_counters(void)
{
    struct sembuf take = {0, -1, 0}, give = {0, 1, 0};
    CHECK_OK(semop(set, &take, 1));
    CHECK_OK(semop(set, &give, 1));
    eventfd_t one;
    CHECK_OK(eventfd_read(counter, &one));
    CHECK_EQ(one, 1);
    CHECK_OK(eventfd_write(counter, 1));
}

static void use_files(int side, int round)
{
    char byte;
    struct stat status;
    struct flock bytes = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 100 * side, .l_len = 10};
    int own = open("data", O_RDWR);
    CHECK(own >= 0);
    CHECK_OK(flock(own, LOCK_SH));
    CHECK_OK(fcntl(own, F_OFD_SETLKW, &bytes));
    CHECK_EQ(pread(own, &byte, 1, side * ROUNDS + round), 1);
    CHECK_EQ(pwrite(own, "y", 1, side * ROUNDS + round), 1);
    CHECK_OK(stat("data", &status));
    CHECK_OK(close(own));
}

static void *use_all(void *name)
{
    int side = *(const char *)name - 'a', fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_EQ(write(fd, "x", 1), 1);
        use_locks();
        use_counters();
        use_files(side, round);
        usleep(100);
    }
    CHECK_OK(close(fd));
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK_EQ(argc, 2);
    int shared = strcmp(argv[1], "processes") == 0;
    area = mmap(NULL, sizeof *area, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);
    CHECK(area != MAP_FAILED);
    set_up(shared);
    if (shared) {
        pid_t child = fork();
        CHECK(child >= 0);
        use_all(child == 0 ? "b" : "a");
        if (child == 0)
            exit(0);
        int status;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    } else {
        pthread_t other;
        CHECK_OK(pthread_create(&other, NULL, use_all, "b"));
        use_all("a");
        CHECK_OK(pthread_join(other, NULL));
    }
    CHECK_OK(semctl(set, 0, IPC_RMID));
    return 0;
}
