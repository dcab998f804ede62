/* Threads that are cancelled while they wait, in every way in which a program can wait. */
#include "cases.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>

/* What nobody ever does anything with. */
static struct {
    int pipe[2], sockets[2], listening, epoll, locked, queue;
    FILE *stream;
    pid_t child;
    pthread_t thread;
    sem_t semaphore;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
} silent = {.mutex = PTHREAD_MUTEX_INITIALIZER, .condition = PTHREAD_COND_INITIALIZER};

static char byte;
static struct iovec vector = {&byte, 1};

static void by_read(void) { (void)!read(silent.pipe[0], &byte, 1); }
static void by_readv(void) { (void)!readv(silent.pipe[0], &vector, 1); }
static void by_fgetc(void) { fgetc(silent.stream); }
static void by_poll(void) { poll(&(struct pollfd){silent.pipe[0], POLLIN, 0}, 1, -1); }
static void by_ppoll(void) { ppoll(&(struct pollfd){silent.pipe[0], POLLIN, 0}, 1, NULL, NULL); }
static void by_recv(void) { recv(silent.sockets[0], &byte, 1, 0); }
static void by_recvfrom(void) { recvfrom(silent.sockets[0], &byte, 1, 0, NULL, NULL); }
static void by_recvmsg(void) { recvmsg(silent.sockets[0], &(struct msghdr){.msg_iov = &vector, .msg_iovlen = 1}, 0); }
static void by_accept(void) { accept(silent.listening, NULL, NULL); }
static void by_epoll_wait(void) { epoll_wait(silent.epoll, &(struct epoll_event){0}, 1, -1); }
static void by_waitpid(void) { waitpid(silent.child, NULL, 0); }
static void by_sleep(void) { sleep(1000); }
static void by_nanosleep(void) { nanosleep(&(struct timespec){1000, 0}, NULL); }
static void by_clock_nanosleep(void) { clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){1000, 0}, NULL); }
static void by_pause(void) { pause(); }
static void by_sem_wait(void) { sem_wait(&silent.semaphore); }
static void by_join(void) { pthread_join(silent.thread, NULL); }
static void by_lock(void) { fcntl(silent.locked, F_SETLKW, &(struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET}); }
static void by_open(void) { (void)!open("fifo", O_RDONLY); }
static void by_msgrcv(void) { msgrcv(silent.queue, &(struct { long type; char text[1]; }){0}, 1, 0, 0); }

static void by_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(silent.pipe[0], &set);
    select(silent.pipe[0] + 1, &set, NULL, NULL, NULL);
}

static void by_sigsuspend(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigsuspend(&none);
}

static void by_sigwait(void)
{
    int number;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigwait(&set, &number);
}

static void unlock(void *mutex)
{
    CHECK_OK(pthread_mutex_unlock(mutex));
}

static void by_cond_wait(void)
{
    CHECK_OK(pthread_mutex_lock(&silent.mutex));
    pthread_cleanup_push(unlock, &silent.mutex);
    pthread_cond_wait(&silent.condition, &silent.mutex);
    pthread_cleanup_pop(1);
}

static void (*const ways[])(void) = {
    by_read, by_readv, by_fgetc, by_poll, by_ppoll, by_select, by_recv, by_recvfrom, by_recvmsg, by_accept, by_epoll_wait,
    by_waitpid, by_sleep, by_nanosleep, by_clock_nanosleep, by_pause, by_sigsuspend, by_sigwait, by_sem_wait, by_cond_wait,
    by_join, by_lock, by_open, by_msgrcv,
};

static void *wait_forever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* Another process holds the lock for as long as it lives. */
static void start_child(void)
{
    int ready[2];
    CHECK_OK(pipe(ready));
    silent.child = fork_child();
    if (silent.child == 0) {
        CHECK_OK(fcntl(silent.locked, F_SETLK, &(struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET}));
        CHECK_EQ(write(ready[1], "r", 1), 1);
        wait_forever(NULL);
    }
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    CHECK_OK(close(ready[0]));
    CHECK_OK(close(ready[1]));
}

static void set_up(void)
{
    struct sockaddr_un address = {AF_UNIX, "listening"};
    CHECK_OK(pipe(silent.pipe));
    CHECK((silent.stream = fdopen(dup(silent.pipe[0]), "r")) != NULL);
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, silent.sockets));
    CHECK((silent.listening = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0);
    CHECK_OK(bind(silent.listening, (struct sockaddr *)&address, sizeof address));
    CHECK_OK(listen(silent.listening, 1));
    CHECK((silent.epoll = epoll_create1(0)) >= 0);
    CHECK((silent.locked = open("locked", O_RDWR | O_CREAT | O_EXCL, 0644)) >= 0);
    CHECK((silent.queue = msgget(IPC_PRIVATE, 0600)) >= 0);
    CHECK_OK(sem_init(&silent.semaphore, 0, 0));
    CHECK_OK(mkfifo("fifo", 0644));
    CHECK_OK(pthread_create(&silent.thread, NULL, wait_forever, NULL));
    start_child();
}

static void take_down(void)
{
    CHECK_OK(kill(silent.child, SIGKILL));
    check_killed(silent.child, SIGKILL);
    CHECK_OK(pthread_cancel(silent.thread));
    CHECK_OK(pthread_join(silent.thread, NULL));
    CHECK_OK(sem_destroy(&silent.semaphore));
    CHECK_OK(msgctl(silent.queue, IPC_RMID, NULL));
    CHECK_OK(fclose(silent.stream));
    int *const descriptors[] = {&silent.pipe[0], &silent.pipe[1], &silent.sockets[0], &silent.sockets[1],
                                &silent.listening, &silent.epoll, &silent.locked};
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        CHECK_OK(close(*descriptors[i]));
    CHECK_OK(unlink("fifo"));
    CHECK_OK(unlink("listening"));
    CHECK_OK(unlink("locked"));
}

static atomic_int waiting_tid;
static int file;

static void write_when_cancelled(void *unused)
{
    (void)unused;
    CHECK_EQ(write(file, "c", 1), 1);
}

static void *wait_in(void *way)
{
    pthread_cleanup_push(write_when_cancelled, NULL);
    atomic_store(&waiting_tid, gettid());
    ways[(intptr_t)way]();
    pthread_cleanup_pop(0);
    fail(__FILE__, __LINE__, "way %d to wait has an end", (int)(intptr_t)way);
}

/* 24 threads wait, each in another call, and are cancelled there; their stacks are unwound, and each writes one byte in
 * its clean-up. */
void cancelled_everywhere(void)
{
    set_up();
    file = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    intptr_t count = sizeof ways / sizeof *ways;
    CHECK_EQ(count, 24);
    for (intptr_t way = 0; way < count; way++) {
        pthread_t thread;
        void *result = NULL;
        int tid;
        atomic_store(&waiting_tid, 0);
        CHECK_OK(pthread_create(&thread, NULL, wait_in, (void *)way));
        while ((tid = atomic_load(&waiting_tid)) == 0)
            sched_yield();
        let_sleep(tid);
        CHECK_OK(pthread_cancel(thread));
        CHECK_OK(pthread_join(thread, &result));
        CHECK(result == PTHREAD_CANCELED);
    }
    take_down();
    CHECK_OK(close(file));
    check_and_remove("file", "cccccccccccccccccccccccc");
}

static void *write_until_cancelled(void *counter)
{
    for (;;) {
        CHECK_EQ(write(file, "w", 1), 1);
        atomic_fetch_add((atomic_int *)counter, 1);
    }
    return NULL;
}

/* 100 threads are cancelled amid writes of one byte. The last call, lseek, tells how many there were. */
void cancelled_amid_writes(void)
{
    file = open("file", O_RDWR | O_CREAT | O_EXCL | O_APPEND, 0644);
    for (int i = 0; i < 100; i++) {
        atomic_int counter = 0;
        pthread_t thread;
        CHECK_OK(pthread_create(&thread, NULL, write_until_cancelled, &counter));
        while (atomic_load(&counter) <= i)
            sched_yield();
        CHECK_OK(pthread_cancel(thread));
        CHECK_OK(pthread_join(thread, NULL));
    }
    CHECK(lseek(file, 0, SEEK_END) >= 100);
    CHECK_OK(close(file));
    CHECK_OK(unlink("file"));
}
