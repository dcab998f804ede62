/* Waiting for descriptors in every way there is. */
#include "surface.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>

static const struct timespec no_time = {0, 0};

/* A pair of which the first end can be read and written, the second only written. */
static struct connection half_full(void)
{
    int ends[2];
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    CHECK_EQ(send(ends[1], "x", 1, 0), 1);
    return (struct connection){ends[0], ends[1]};
}

void polling(void)
{
    struct connection pair = half_full();
    struct pollfd entries[3] = {{pair.client, POLLIN | POLLOUT, 0}, {pair.server, POLLIN, 0}, {-1, POLLIN, 0}};
    struct timespec second = {1, 0};
    sigset_t mask;
    sigemptyset(&mask);
    CHECK_EQ(poll(entries, 3, -1), 1);
    CHECK_EQ(entries[0].revents, POLLIN | POLLOUT);
    CHECK_EQ(entries[1].revents, 0);
    CHECK_EQ(poll(entries, opaque(2), 0), 1);
    CHECK_EQ(__poll(entries, 1, 1000), 1);
    CHECK_EQ(ppoll(entries, 3, NULL, NULL), 1);
    CHECK_EQ(ppoll(entries, opaque(2), &second, &mask), 1);
    CHECK_EQ(poll(entries + 1, 1, 0), 0);
    CHECK_EQ(ppoll(entries + 1, opaque(1), &no_time, NULL), 0);
    CHECK_EQ(poll(NULL, 0, 1), 0); /* a short sleep */
    CHECK_EQ(ppoll(NULL, 0, &no_time, NULL), 0);
    entries[2].fd = 12345;
    CHECK_EQ(poll(entries, 3, -1), 2);
    CHECK_EQ(entries[2].revents, POLLNVAL);
    CHECK_OK(shutdown(pair.server, SHUT_RDWR));
    CHECK_EQ(poll(entries, 1, -1), 1);
    CHECK_EQ(entries[0].revents & POLLHUP, POLLHUP);
    close_both(pair.client, pair.server);
}

/* Raises the soft limit; how many descriptors there may be. */
static long descriptors_allowed(void)
{
    struct rlimit limit;
    CHECK_OK(getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max;
    CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
    return limit.rlim_cur > 100000 ? 100000 : (long)limit.rlim_cur;
}

/* More than a list of the recorder has room for, where the system allows it. */
void polling_many(void)
{
    long count = descriptors_allowed() > 4000 ? 4000 : 1000;
    struct connection pair = half_full();
    struct pollfd *entries = allocate(count * sizeof *entries);
    for (long i = 0; i < count; i++)
        entries[i] = (struct pollfd){i % 2 ? pair.client : pair.server, POLLIN, 0};
    CHECK_EQ(poll(entries, count, -1), count / 2);
    for (long i = 0; i < count; i++)
        entries[i].events = POLLOUT;
    CHECK_EQ(poll(entries, count, -1), count);
    close_both(pair.client, pair.server);
    free(entries);
}

void selecting(void)
{
    struct connection pair = half_full();
    int count = (pair.client > pair.server ? pair.client : pair.server) + 1;
    struct timeval second = {1, 0}, none = {0, 0};
    struct timespec long_time = {60, 0};
    fd_set read_set, write_set, empty;
    FD_ZERO(&empty);
    FD_ZERO(&read_set);
    FD_SET(pair.client, &read_set);
    FD_SET(pair.server, &read_set);
    write_set = read_set;
    CHECK_EQ(select(count, &read_set, &write_set, &empty, NULL), 3);
    CHECK(FD_ISSET(pair.client, &read_set) && !FD_ISSET(pair.server, &read_set));
    CHECK_EQ(select(count, &read_set, NULL, NULL, &second), 1);
    CHECK_EQ(__select(count, NULL, &write_set, NULL, &none), 2);
    CHECK_EQ(pselect(count, &read_set, NULL, NULL, &long_time, NULL), 1);
    CHECK_EQ(pselect(count, &read_set, &write_set, NULL, NULL, NULL), 3);
    FD_CLR(pair.client, &read_set);
    FD_SET(pair.server, &read_set);
    CHECK_EQ(select(count, &read_set, NULL, NULL, &none), 0);
    CHECK_EQ(select(0, NULL, NULL, NULL, &none), 0);
    CHECK_EQ(pselect(0, NULL, NULL, NULL, &no_time, NULL), 0);
    CHECK_FAILS(select(-1, NULL, NULL, NULL, &none), EINVAL);
    FD_SET(12, &read_set);
    CHECK_FAILS(select(13, &read_set, NULL, NULL, &none), EBADF);

    /* A set that ends where memory ends, and a count that goes beyond: the kernel stops at what can be open. */
    size_t page = sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    CHECK_OK(munmap(memory + page, page));
    fd_set *last = (fd_set *)(memory + page - sizeof *last);
    FD_SET(pair.client, last);
    none = (struct timeval){0, 0};
    int ready = select(1 << 20, last, NULL, NULL, &none);
    CHECK(ready == 1 || (ready == -1 && errno == EFAULT)); /* a process that had many open */
    CHECK_OK(munmap(memory, page));
    close_both(pair.client, pair.server);
}

/* Descriptors above those that an fd_set has room for. */
void selecting_high(void)
{
    enum { HIGH = 2500, LONGS = 64 };
    if (descriptors_allowed() <= HIGH)
        return;
    struct connection pair = half_full();
    int high = fcntl(pair.client, F_DUPFD, HIGH);
    CHECK(high >= HIGH && high < LONGS * 64);
    unsigned long *set = allocate(LONGS * sizeof *set);
    set[high / 64] |= 1ul << high % 64;
    CHECK_EQ(select(high + 1, (fd_set *)set, NULL, NULL, NULL), 1);
    CHECK_EQ(set[high / 64], 1ul << high % 64);
    CHECK_OK(close(high));
    close_both(pair.client, pair.server);
    free(set);
}

void epolling(void)
{
    enum { MANY = 60 };
    struct connection pair = half_full(), others[MANY];
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0x123456789abcdef0}, found[MANY];
    struct timespec long_time = {60, 0};
    int epoll = epoll_create1(EPOLL_CLOEXEC), second = epoll_create(1);
    CHECK_OK(epoll_ctl(epoll, EPOLL_CTL_ADD, pair.client, &event));
    CHECK_FAILS(epoll_ctl(epoll, EPOLL_CTL_ADD, pair.client, &event), EEXIST);
    CHECK_EQ(epoll_wait(epoll, found, MANY, -1), 1);
    CHECK_EQ(found[0].data.u64, 0x123456789abcdef0);
    CHECK_EQ(found[0].events, EPOLLIN);
    event.events = EPOLLIN | EPOLLOUT;
    CHECK_OK(epoll_ctl(epoll, EPOLL_CTL_MOD, pair.client, &event));
    CHECK_EQ(epoll_pwait(epoll, found, MANY, 0, NULL), 1);
    CHECK_EQ(found[0].events, EPOLLIN | EPOLLOUT);
    CHECK_EQ(epoll_pwait2(epoll, found, MANY, &long_time, NULL), 1);
    CHECK_EQ(epoll_pwait2(epoll, found, MANY, NULL, NULL), 1);
    CHECK_OK(epoll_ctl(epoll, EPOLL_CTL_DEL, pair.client, NULL));
    CHECK_FAILS(epoll_ctl(epoll, EPOLL_CTL_DEL, pair.client, NULL), ENOENT);
    CHECK_EQ(epoll_wait(epoll, found, MANY, 0), 0);
    for (int i = 0; i < MANY; i++) {
        others[i] = half_full();
        event = (struct epoll_event){.events = EPOLLIN, .data.fd = i};
        CHECK_OK(epoll_ctl(second, EPOLL_CTL_ADD, others[i].client, &event));
    }
    CHECK_EQ(epoll_wait(second, found, MANY, -1), MANY);
    for (int i = 0; i < MANY; i++)
        close_both(others[i].client, others[i].server);
    close_both(epoll, second);
    close_both(pair.client, pair.server);
}

/* ---- cancellation ------------------------------------------------------------------------------------------------ */

static struct connection quiet;

static void in_recv(void)
{
    char byte;
    recv(quiet.client, &byte, 1, 0);
}

static void in_recvmsg(void)
{
    char byte;
    struct iovec room = {&byte, 1};
    struct msghdr message = {NULL, 0, &room, 1, NULL, 0, 0};
    recvmsg(quiet.client, &message, 0);
}

static void in_poll(void)
{
    struct pollfd entry = {quiet.client, POLLIN, 0};
    poll(&entry, opaque(1), -1);
}

static void in_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(quiet.client, &set);
    select(quiet.client + 1, &set, NULL, NULL, NULL);
}

static void in_accept(void)
{
    struct sockaddr_in address;
    int listening = bound_socket(SOCK_STREAM, &address);
    CHECK_OK(listen(listening, 1));
    CHECK_EQ(dup3(listening, quiet.server, 0), quiet.server);
    CHECK_OK(close(listening));
    accept(quiet.server, NULL, NULL);
}

static void clean_up(void *cleaned)
{
    ++*(int *)cleaned;
}

static void *wait_forever(void *wait)
{
    static int cleaned;
    cleaned = 0;
    pthread_cleanup_push(clean_up, &cleaned);
    ((void (*)(void))wait)();
    CHECK(!"cancelled");
    pthread_cleanup_pop(0);
    return &cleaned;
}

void cancelling(void)
{
    void (*const waits[])(void) = {in_recv, in_recvmsg, in_poll, in_select, in_accept};
    int ends[2];
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    quiet = (struct connection){ends[0], ends[1]};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        pthread_t thread;
        void *result;
        CHECK_OK(pthread_create(&thread, NULL, wait_forever, waits[i]));
        CHECK_OK(pthread_cancel(thread));
        CHECK_OK(pthread_join(thread, &result));
        CHECK(result == PTHREAD_CANCELED);
    }
    close_both(ends[0], ends[1]);
}
