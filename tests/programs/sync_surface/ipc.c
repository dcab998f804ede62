/* Semaphores, memory and messages between processes. */
#include "surface.h"
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int set;

static void *take_both(void *unused)
{
    struct sembuf take[2] = {{0, -1, 0}, {1, -2, SEM_UNDO}};
    CHECK_OK(semop(set, take, 2));
    return unused;
}

void sysv_semaphores(void)
{
    union {
        int value;
        struct semid_ds *status;
        unsigned short *values;
    } zeros = {.values = (unsigned short[2]){0, 0}};
    struct sembuf give[2] = {{0, 1, 0}, {1, 2, 0}}, take = {0, -1, 0};
    struct timespec at_once = {0, 1};
    set = semget(IPC_PRIVATE, 2, IPC_CREAT | 0600);
    CHECK(set >= 0);
    CHECK_OK(semctl(set, 0, SETALL, zeros));
    take.sem_flg = IPC_NOWAIT;
    CHECK_FAILS(semop(set, &take, 1), EAGAIN);
    take.sem_flg = 0;
    CHECK_FAILS(semtimedop(set, &take, 1, &at_once), EAGAIN);
    CHECK_FAILS(semop(set, bad_address(), 1), EFAULT);
    CHECK_FAILS(semtimedop(set, &take, 1, bad_address()), EFAULT);
    pthread_t thread = start_thread(take_both, NULL);
    UNTIL(semctl(set, 0, GETNCNT) == 1);
    CHECK_OK(semop(set, give, 2));
    join_thread(thread);
    CHECK_OK(semctl(set, 0, IPC_RMID));
    CHECK_FAILS(semop(set, &take, 1), EINVAL);
}

void sysv_memory_and_messages(void)
{
    struct {
        long kind;
        char text[16];
    } message = {7, "seven"};
    int memory = shmget(IPC_PRIVATE, 8192, IPC_CREAT | 0600);
    CHECK(memory >= 0);
    char *address = shmat(memory, NULL, 0);
    CHECK(address != (char *)-1);
    strcpy(address, "shared");
    CHECK_OK(shmdt(address));
    CHECK_FAILS(shmdt(address), EINVAL);
    CHECK_OK(shmctl(memory, IPC_RMID, NULL));
    CHECK(shmat(memory, NULL, 0) == (void *)-1);

    int queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    CHECK(queue >= 0);
    CHECK_OK(msgsnd(queue, &message, 6, 0));
    CHECK_FAILS(msgsnd(queue, bad_address(), 6, 0), EFAULT);
    memset(message.text, 0, sizeof message.text);
    CHECK_EQ(msgrcv(queue, &message, sizeof message.text, 7, 0), 6);
    CHECK_TEXT(message.text, "seven");
    CHECK_FAILS(msgrcv(queue, &message, sizeof message.text, 0, IPC_NOWAIT), ENOMSG);
    CHECK_OK(msgctl(queue, IPC_RMID, NULL));
}

static void unique_name(char *name, size_t bytes)
{
    snprintf(name, bytes, "/sync_surface.%d", (int)getpid());
}

static void *receive_one(void *queue)
{
    char text[64] = "";
    unsigned priority = 0;
    CHECK_EQ(mq_receive(*(mqd_t *)queue, text, sizeof text, &priority), 5);
    CHECK_TEXT(text, "hello");
    CHECK_EQ(priority, 3);
    return NULL;
}

void posix_queues(void)
{
    char name[64], text[64];
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 64};
    unique_name(name, sizeof name);
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
    CHECK(queue >= 0);
    CHECK_OK(mq_send(queue, "first", 5, 9));
    CHECK_OK(mq_timedsend(queue, "second", 6, 1, &FAR_AWAY));
    CHECK_FAILS(mq_timedsend(queue, "third", 5, 1, &LONG_AGO), ETIMEDOUT);
    CHECK_EQ(mq_timedreceive(queue, text, sizeof text, NULL, &FAR_AWAY), 5);
    CHECK_EQ(mq_receive(queue, text, sizeof text, NULL), 6);
    CHECK_FAILS(mq_timedreceive(queue, text, sizeof text, NULL, &LONG_AGO), ETIMEDOUT);
    pthread_t thread = start_thread(receive_one, &queue);
    CHECK_OK(mq_send(queue, "hello", 5, 3));
    join_thread(thread);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(read(queue, text, sizeof text) > 0 ? 0 : 1);
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    mqd_t again = mq_open(name, (int)opaque(O_RDONLY));
    CHECK(again >= 0);
    CHECK_OK(mq_close(again));
    CHECK_OK(mq_close(queue));
    CHECK_FAILS(mq_close(queue), EBADF);
    CHECK_OK(mq_unlink(name));
    CHECK_FAILS(mq_open(name, O_RDONLY), ENOENT);
}

void named_semaphores(void)
{
    char name[64];
    unique_name(name, sizeof name);
    sem_t *semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
    CHECK(semaphore != SEM_FAILED);
    CHECK_OK(sem_wait(semaphore));
    CHECK_FAILS(sem_timedwait(semaphore, &LONG_AGO), ETIMEDOUT);
    CHECK_OK(sem_close(semaphore));
    CHECK_OK(sem_unlink(name));
    CHECK_FAILS(sem_unlink(name), ENOENT);
    CHECK(sem_open(name, 0) == SEM_FAILED);
}
