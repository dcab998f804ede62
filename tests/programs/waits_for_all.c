/* One waits for several: a and b are written by children, c behind that by the parent, which goes on when both have done their part.
 *
 *   waits_for_all MECHANISM[-again]
 *
 * With -again, for locks of files that can be shared: a is written by who has the lock alone and then shares it, b behind that by who
 * shares it.
 */
#include "processes.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sem.h>

enum { CHILDREN = 2 };

#define UNUSED __attribute__((unused))

/* What nobody waits for by a call is not on record. */
static struct {
    atomic_int asking, done;
    pthread_rwlock_t rwlock;
    pthread_barrier_t barrier;
} *area;

static int lock, semaphore;

/* ---- locks of files --------------------------------------------------------------------------------------- */

static void open_lock(void)
{
    lock = open("lock", O_RDWR | O_CREAT, 0600);
    CHECK(lock >= 0);
}

static void set_flock(int kind) { CHECK_OK(flock(lock, kind)); }
static void share_flock(UNUSED int nth) { set_flock(LOCK_SH); }
static void give_flock(UNUSED int nth) { set_flock(LOCK_UN); }
static void have_flock(void) { set_flock(LOCK_EX); }

static void set_bytes(int command, int kind, int start, int length)
{
    struct flock bytes = {.l_type = kind, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    CHECK_OK(fcntl(lock, command, &bytes));
}

static void share_bytes(UNUSED int nth) { set_bytes(F_SETLKW, F_RDLCK, 0, 0); }
static void give_bytes(UNUSED int nth) { set_bytes(F_SETLKW, F_UNLCK, 0, 0); }
static void have_bytes(void) { set_bytes(F_SETLKW, F_WRLCK, 0, 0); }
static void share_open(UNUSED int nth) { set_bytes(F_OFD_SETLKW, F_RDLCK, 0, 0); }
static void give_open(UNUSED int nth) { set_bytes(F_OFD_SETLKW, F_UNLCK, 0, 0); }
static void have_open(void) { set_bytes(F_OFD_SETLKW, F_WRLCK, 0, 0); }
static void have_part(int nth) { set_bytes(F_SETLKW, F_WRLCK, nth, 1); }
static void give_part(int nth) { set_bytes(F_SETLKW, F_UNLCK, nth, 1); }

/* ---- others ----------------------------------------------------------------------------------------------- */

static void change(int by)
{
    struct sembuf operation = {.sem_op = by};
    CHECK_OK(semop(semaphore, &operation, 1));
}

static void take_one(UNUSED int nth) { change(-1); }
static void await_zero(void) { change(0); }
static void post_one(UNUSED int nth) { change(1); }
static void take_all(void) { change(-CHILDREN); }

static void read_lock(UNUSED int nth) { CHECK_OK(pthread_rwlock_rdlock(&area->rwlock)); }
static void read_unlock(UNUSED int nth) { CHECK_OK(pthread_rwlock_unlock(&area->rwlock)); }
static void write_lock(void) { CHECK_OK(pthread_rwlock_wrlock(&area->rwlock)); }

static void meet(void)
{
    int told = pthread_barrier_wait(&area->barrier);
    CHECK(told == 0 || told == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void meet_others(UNUSED int nth) { meet(); }

static const struct mechanism {
    const char *name;
    void (*begin)(int nth);
    void (*end)(int nth);
    void (*wait)(void);
} mechanisms[] = {
    {"flock", share_flock, give_flock, have_flock},
    {"process-lock", share_bytes, give_bytes, have_bytes},
    {"open-file-lock", share_open, give_open, have_open},
    {"parts", have_part, give_part, have_bytes},
    {"sysv-zero", NULL, take_one, await_zero},
    {"sysv-several", NULL, post_one, take_all},
    {"rwlock", read_lock, read_unlock, write_lock},
    {"barrier", NULL, meet_others, meet},
};

static void let_wait(pid_t who)
{
    while (!area->asking)
        usleep(50);
    let_sleep(who);
}

static void wait_for_all(const struct mechanism *by)
{
    static const char *const names[CHILDREN] = {"a", "b"};
    int ready[2];
    pid_t children[CHILDREN];
    CHECK_OK(pipe(ready));
    for (int nth = 0; nth < CHILDREN; nth++) {
        children[nth] = fork_child();
        if (children[nth] != 0)
            continue;
        open_lock();
        if (by->begin)
            by->begin(nth);
        CHECK_EQ(write(ready[1], "", 1), 1);
        let_wait(getppid());
        while (area->done < nth)
            usleep(50);
        append_text(names[nth], "x");
        area->done++;
        by->end(nth);
        _exit(0);
    }
    open_lock();
    for (int nth = 0; nth < CHILDREN; nth++) {
        char byte;
        CHECK_EQ(read(ready[0], &byte, 1), 1);
    }
    area->asking = 1;
    by->wait();
    append_text("c", "x");
    for (int nth = 0; nth < CHILDREN; nth++)
        check_exit(children[nth], 0);
}

static void share_again(const struct mechanism *by)
{
    open_lock();
    by->wait();
    pid_t child = fork_child();
    if (child == 0) {
        open_lock();
        area->asking = 1;
        by->begin(0);
        append_text("b", "x");
        _exit(0);
    }
    let_wait(child);
    append_text("a", "x");
    by->begin(0);
    check_exit(child, 0);
}

static void set_up(void)
{
    pthread_rwlockattr_t of_rwlock;
    pthread_barrierattr_t of_barrier;
    area = mmap(NULL, sizeof *area, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    CHECK_OK(pthread_rwlockattr_init(&of_rwlock));
    CHECK_OK(pthread_rwlockattr_setpshared(&of_rwlock, PTHREAD_PROCESS_SHARED));
    CHECK_OK(pthread_rwlock_init(&area->rwlock, &of_rwlock));
    CHECK_OK(pthread_barrierattr_init(&of_barrier));
    CHECK_OK(pthread_barrierattr_setpshared(&of_barrier, PTHREAD_PROCESS_SHARED));
    CHECK_OK(pthread_barrier_init(&area->barrier, &of_barrier, CHILDREN + 1));
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    set_up();
    const char *again = strstr(argv[1], "-again");
    size_t length = again ? (size_t)(again - argv[1]) : strlen(argv[1]);
    semaphore = semget(IPC_PRIVATE, 1, 0600);
    CHECK(semaphore >= 0);
    CHECK_OK(semctl(semaphore, 0, SETVAL, strcmp(argv[1], "sysv-zero") == 0 ? CHILDREN : 0));
    for (const struct mechanism *by = mechanisms; by < mechanisms + sizeof mechanisms / sizeof *mechanisms; by++)
        if (strlen(by->name) == length && strncmp(by->name, argv[1], length) == 0) {
            (again ? share_again : wait_for_all)(by);
            CHECK_OK(semctl(semaphore, 0, IPC_RMID));
            return 0;
        }
    return 2;
}
