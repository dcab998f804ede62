/* Descriptors that tell of events. */
#include "surface.h"
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#if __has_include(<sys/pidfd.h>)
#include <sys/pidfd.h>
#define HAS_PIDFD
#endif

void events(void)
{
    uint64_t value = 3;
    int fd = eventfd(4, EFD_NONBLOCK | EFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, &value, sizeof value), 8);
    CHECK_EQ(read(fd, &value, opaque(sizeof value)), 8);
    CHECK_EQ(value, 7);
    CHECK_FAILS(read(fd, &value, opaque(sizeof value)), EAGAIN);
    CHECK_OK(eventfd_write(fd, 5));
    CHECK_OK(eventfd_read(fd, &value));
    CHECK_EQ(value, 5);
    CHECK_FAILS(eventfd(0, 12345), EINVAL);
    CHECK_OK(close(fd));
}

void timers(void)
{
    struct itimerspec soon = {{0, 0}, {0, 1}}, old, now;
    uint64_t expirations;
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    CHECK_OK(timerfd_gettime(fd, &now));
    CHECK_EQ(now.it_value.tv_sec + now.it_value.tv_nsec, 0);
    CHECK_OK(timerfd_settime(fd, 0, &soon, &old));
    CHECK_EQ(read(fd, &expirations, opaque(8)), 8);
    CHECK_EQ(expirations, 1);
    soon.it_value = (struct timespec){1, 0};
    CHECK_OK(timerfd_settime(fd, TFD_TIMER_ABSTIME, &soon, NULL));
    CHECK_EQ(read(fd, &expirations, 8), 8);
    CHECK_FAILS(timerfd_settime(0, 0, &soon, NULL), EINVAL);
    CHECK_FAILS(timerfd_create(12345, 0), EINVAL);
    CHECK_OK(close(fd));
}

void signals(void)
{
    struct signalfd_siginfo found;
    sigset_t mask, before;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    CHECK_OK(sigprocmask(SIG_BLOCK, &mask, &before));
    int fd = signalfd(-1, &mask, SFD_NONBLOCK);
    CHECK(fd >= 0);
    CHECK_FAILS(read(fd, &found, opaque(sizeof found)), EAGAIN);
    CHECK_OK(raise(SIGUSR1));
    CHECK_EQ(read(fd, &found, opaque(sizeof found)), sizeof found);
    CHECK_EQ(found.ssi_signo, SIGUSR1);
    sigaddset(&mask, SIGUSR2);
    CHECK_EQ(signalfd(fd, &mask, 0), fd); /* another mask */
    CHECK_FAILS(signalfd(0, &mask, 0), EINVAL);
    CHECK_OK(close(fd));
    CHECK_OK(sigprocmask(SIG_SETMASK, &before, NULL));
}

void watches(void)
{
    char found[256];
    int fd = inotify_init1(IN_NONBLOCK), second = inotify_init();
    CHECK(fd >= 0 && second >= 0);
    int watch = inotify_add_watch(fd, ".", IN_CREATE);
    CHECK(watch > 0);
    CHECK_FAILS(inotify_add_watch(fd, "missing", IN_CREATE), ENOENT);
    CHECK_FAILS(read(fd, found, opaque(sizeof found)), EAGAIN);
    CHECK_OK(close(creat("watched", 0644)));
    CHECK_EQ(read(fd, found, opaque(sizeof found)), sizeof(struct inotify_event) + 16);
    CHECK_OK(inotify_rm_watch(fd, watch));
    CHECK_FAILS(inotify_rm_watch(fd, watch), EINVAL);
    CHECK_OK(unlink("watched"));
    close_both(fd, second);
}

#ifdef HAS_PIDFD
void processes(void)
{
    int ends[2];
    char byte;
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        /* Until the parent closes its end. */
        close(ends[0]);
        _exit(read(ends[1], &byte, 1) == 0 ? 0 : 1);
    }
    int fd = pidfd_open(child, 0), status;
    if (fd >= 0) {
        int taken = pidfd_getfd(fd, ends[1], 0); /* not everywhere allowed */
        CHECK(taken >= 0 || errno == EPERM || errno == ENOSYS);
        if (taken >= 0) {
            CHECK_EQ(send(taken, "x", 1, 0), 1);
            CHECK_EQ(recv(ends[0], &byte, 1, 0), 1);
            CHECK_OK(close(taken));
        }
    }
    close_both(ends[0], ends[1]);
    if (fd >= 0) {
        wait_for_data(fd);
        CHECK_OK(close(fd));
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_FAILS(pidfd_open(-1, 0), EINVAL);
}
#else
void processes(void)
{
}
#endif

/* What libc does with sockets of its own: it asks the kernel which addresses this machine has. */
void libc_itself(void)
{
    struct addrinfo *found, hints = {.ai_flags = AI_ADDRCONFIG | AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct ifaddrs *interfaces;
    CHECK_OK(getaddrinfo("127.0.0.1", NULL, &hints, &found));
    freeaddrinfo(found);
    CHECK_OK(getifaddrs(&interfaces));
    freeifaddrs(interfaces);
}
