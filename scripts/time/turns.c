/* Two that ask each other in turn: `turns HOW TURNS`, each computing some microseconds a turn. HOW says through what: a unix socket,
 * TCP, pipes or semaphores between processes; counters of eventfd or a condition between threads. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { perror(#what); exit(1); } } while (0)

/* Where side 0 and 1 read and write. */
static int in[2], out[2];
static sem_t *semaphores;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void by_descriptor_tell(int side)
{
    uint64_t one = 1;
    CHECK(write(out[side], &one, sizeof one) == sizeof one);
}

static void by_descriptor_await(int side)
{
    uint64_t one;
    CHECK(read(in[side], &one, sizeof one) == sizeof one);
}

static void by_semaphore_tell(int side)
{
    sem_post(&semaphores[side]);
}

static void by_semaphore_await(int side)
{
    sem_wait(&semaphores[!side]);
}

static void by_condition_tell(int side)
{
    pthread_mutex_lock(&mutex);
    turn = !side;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void by_condition_await(int side)
{
    pthread_mutex_lock(&mutex);
    while (turn != side)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void over_unix(void)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    in[0] = out[0] = ends[0], in[1] = out[1] = ends[1];
}

static void over_tcp(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0), asking = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    CHECK(bind(listening, (struct sockaddr *)&address, length) == 0 && listen(listening, 1) == 0);
    CHECK(getsockname(listening, (struct sockaddr *)&address, &length) == 0);
    CHECK(connect(asking, (struct sockaddr *)&address, length) == 0);
    in[0] = out[0] = asking, in[1] = out[1] = accept(listening, NULL, NULL);
    for (int side = 0; side < 2; side++)
        CHECK(setsockopt(in[side], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
}

static void over_pipes(void)
{
    int forth[2], back[2];
    CHECK(pipe(forth) == 0 && pipe(back) == 0);
    out[0] = forth[1], in[1] = forth[0], out[1] = back[1], in[0] = back[0];
}

static void over_eventfd(void)
{
    out[0] = in[1] = eventfd(0, 0), out[1] = in[0] = eventfd(0, 0);
    CHECK(out[0] >= 0 && out[1] >= 0);
}

static void over_semaphores(void)
{
    semaphores = mmap(NULL, 2 * sizeof *semaphores, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(semaphores != MAP_FAILED && sem_init(&semaphores[0], 1, 0) == 0 && sem_init(&semaphores[1], 1, 0) == 0);
}

static void over_nothing(void)
{
}

static const struct way {
    const char *name;
    int threads;
    void (*open)(void), (*tell)(int), (*await)(int);
} WAYS[] = {
    {"unix", 0, over_unix, by_descriptor_tell, by_descriptor_await},
    {"tcp", 0, over_tcp, by_descriptor_tell, by_descriptor_await},
    {"pipes", 0, over_pipes, by_descriptor_tell, by_descriptor_await},
    {"semaphores", 0, over_semaphores, by_semaphore_tell, by_semaphore_await},
    {"eventfd", 1, over_eventfd, by_descriptor_tell, by_descriptor_await},
    {"condition", 1, over_nothing, by_condition_tell, by_condition_await},
};

static const struct way *way;
static long turns;

static void compute(void)
{
    static _Thread_local volatile double sum;
    for (int i = 0; i < 3000; i++)
        sum += i * 0.5;
}

static void *take_turns(void *second)
{
    int side = second != NULL;
    for (long i = 0; i < turns; i++) {
        if (side == 0)
            compute(), way->tell(0), way->await(0);
        else
            way->await(1), compute(), way->tell(1);
    }
    return NULL;
}

int main(int count, char **words)
{
    for (size_t i = 0; count == 3 && i < sizeof WAYS / sizeof *WAYS; i++)
        if (strcmp(words[1], WAYS[i].name) == 0)
            way = &WAYS[i];
    if (way == NULL) {
        fprintf(stderr, "usage: turns HOW TURNS\n");
        return 2;
    }
    turns = atol(words[2]);
    way->open();
    if (way->threads) {
        pthread_t other;
        CHECK(pthread_create(&other, NULL, take_turns, &way) == 0);
        take_turns(NULL);
        pthread_join(other, NULL);
        return 0;
    }
    pid_t child = fork();
    CHECK(child >= 0);
    take_turns(child == 0 ? &way : NULL);
    if (child == 0)
        _exit(0);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    return 0;
}
