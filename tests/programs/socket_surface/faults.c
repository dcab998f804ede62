/* What must fail, and in the way the kernel says: whoever stands between must not look first. */
#include "surface.h"
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

enum { NO_FD = 12345 };

void bad_descriptors(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    char buffer[8] = "";
    struct iovec data = {buffer, sizeof buffer};
    struct msghdr message = {NULL, 0, &data, 1, NULL, 0, 0};
    struct mmsghdr messages[1] = {{message, 0}};
    struct epoll_event event = {0};
    socklen_t length = sizeof address;
    for (int fd = -1; fd <= NO_FD; fd += NO_FD + 1) {
        CHECK_FAILS(bind(fd, plain(&address), length), EBADF);
        CHECK_FAILS(listen(fd, 1), EBADF);
        CHECK_FAILS(accept(fd, NULL, NULL), EBADF);
        CHECK_FAILS(accept4(fd, plain(&address), &length, SOCK_CLOEXEC), EBADF);
        CHECK_FAILS(connect(fd, plain(&address), length), EBADF);
        CHECK_FAILS(send(fd, buffer, 8, 0), EBADF);
        CHECK_FAILS(recv(fd, buffer, opaque(8), 0), EBADF);
        CHECK_FAILS(sendto(fd, buffer, 8, 0, plain(&address), length), EBADF);
        CHECK_FAILS(recvfrom(fd, buffer, opaque(8), 0, plain(&address), &length), EBADF);
        CHECK_FAILS(sendmsg(fd, &message, 0), EBADF);
        CHECK_FAILS(recvmsg(fd, &message, 0), EBADF);
        CHECK_FAILS(sendmmsg(fd, messages, 1, 0), EBADF);
        CHECK_FAILS(recvmmsg(fd, messages, 1, 0, NULL), EBADF);
        CHECK_FAILS(shutdown(fd, SHUT_RDWR), EBADF);
        CHECK_FAILS(getsockname(fd, plain(&address), &length), EBADF);
        CHECK_FAILS(getpeername(fd, plain(&address), &length), EBADF);
        CHECK_FAILS(epoll_ctl(fd, EPOLL_CTL_ADD, 0, &event), EBADF);
        CHECK_FAILS(epoll_wait(fd, &event, 1, 0), EBADF);
    }
    CHECK_FAILS(socket(AF_INET, 99, 0), EINVAL);
    CHECK_FAILS(socket(-1, SOCK_STREAM, 0), EAFNOSUPPORT);
    CHECK_FAILS(socketpair(AF_INET, SOCK_STREAM, 0, (int[2]){0}), EOPNOTSUPP);
    CHECK_FAILS(listen(0, 1), ENOTSOCK);
}

#if defined(__SANITIZE_ADDRESS__)
/* The sanitizer reads the arguments itself and takes bad ones for errors of the program. */
void bad_addresses(void)
{
}
#else
static void bad_names(int stream, int datagram)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    void *bad = bad_address();
    char buffer[8];
    CHECK_FAILS(bind(stream, bad, length), EFAULT);
    CHECK_FAILS(connect(stream, bad, length), EFAULT);
    CHECK_FAILS(connect(stream, plain(&address), 9999), EINVAL);
    CHECK_FAILS(getsockname(stream, bad, &length), EFAULT);
    CHECK_FAILS(getsockname(stream, plain(&address), bad), EFAULT);
    CHECK_FAILS(socketpair(AF_UNIX, SOCK_STREAM, 0, bad), EFAULT);
    CHECK_FAILS(setsockopt(stream, SOL_SOCKET, SO_REUSEADDR, bad, sizeof(int)), EFAULT);
    CHECK_FAILS(getsockopt(stream, SOL_SOCKET, SO_TYPE, bad, &length), EFAULT);
    CHECK_FAILS(sendto(datagram, "x", 1, 0, bad, length), EFAULT);
    CHECK_FAILS(send(stream, bad, 8, 0), EFAULT);
    CHECK_FAILS(recv(stream, bad, 8, 0), EFAULT);
    for (int i = 0; i < 3; i++) {
        length = sizeof address;
        CHECK_OK(getsockname(datagram, plain(&address), &length));
        CHECK_EQ(sendto(datagram, "x", 1, 0, plain(&address), length), 1);
    }
    /* The data have been taken by the time that the address cannot be written. */
    CHECK_FAILS(recvfrom(datagram, buffer, opaque(8), 0, plain(&address), bad), EFAULT);
    CHECK_FAILS(recvfrom(datagram, buffer, opaque(8), 0, bad, &length), EFAULT);
    CHECK_EQ(recvfrom(datagram, buffer, opaque(8), 0, NULL, bad), 1); /* not looked at */
}

static void bad_messages(int stream)
{
    void *bad = bad_address();
    struct iovec nowhere = {bad, 8};
    struct msghdr message = {NULL, 0, bad, 1, NULL, 0, 0};
    CHECK_FAILS(sendmsg(stream, bad, 0), EFAULT);
    CHECK_FAILS(recvmsg(stream, bad, 0), EFAULT);
    CHECK_FAILS(sendmmsg(stream, bad, 1, 0), EFAULT);
    CHECK_FAILS(recvmmsg(stream, bad, 1, MSG_DONTWAIT, NULL), EFAULT);
    CHECK_FAILS(sendmsg(stream, &message, 0), EFAULT);
    CHECK_FAILS(recvmsg(stream, &message, 0), EFAULT);
    message.msg_iov = &nowhere;
    CHECK_FAILS(sendmsg(stream, &message, 0), EFAULT);
    message.msg_iovlen = 100000;
    CHECK_FAILS(sendmsg(stream, &message, 0), EMSGSIZE);
}

static void bad_waits(int stream)
{
    void *bad = bad_address();
    struct epoll_event event = {0};
    int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_REALTIME, 0);
    CHECK_FAILS(poll(bad, 1, 0), EFAULT);
    CHECK_FAILS(ppoll(bad, 1, NULL, NULL), EFAULT);
    CHECK_FAILS(select(8, bad, NULL, NULL, NULL), EFAULT);
    CHECK_FAILS(pselect(8, NULL, bad, NULL, NULL, NULL), EFAULT);
    CHECK_FAILS(epoll_ctl(epoll, EPOLL_CTL_ADD, stream, bad), EFAULT);
    CHECK_OK(epoll_ctl(epoll, EPOLL_CTL_ADD, stream, &event));
    event.events = EPOLLOUT;
    CHECK_OK(epoll_ctl(epoll, EPOLL_CTL_MOD, stream, &event));
    CHECK_FAILS(epoll_wait(epoll, bad, 1, -1), EFAULT);
    CHECK_FAILS(timerfd_settime(timer, 0, bad, NULL), EFAULT);
    CHECK_FAILS(timerfd_gettime(timer, bad), EFAULT);
    close_both(epoll, timer);
}

void bad_addresses(void)
{
    struct sockaddr_in address;
    struct connection connection = tcp_connection();
    int datagram = bound_socket(SOCK_DGRAM, &address);
    CHECK_EQ(send(connection.server, "x", 1, 0), 1);
    wait_for_data(connection.client);
    bad_names(connection.client, datagram);
    bad_messages(connection.client);
    bad_waits(connection.client);
    close_both(connection.client, connection.server);
    CHECK_OK(close(datagram));
}
#endif

void nobody_there(void)
{
    struct sockaddr_in address;
    struct sockaddr_un missing = {AF_UNIX, "missing"};
    int ends[2], taken = bound_socket(SOCK_STREAM, &address);
    int one = socket(AF_INET, SOCK_STREAM, 0), other = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_FAILS(connect(one, plain(&address), sizeof address), ECONNREFUSED); /* it does not listen */
    CHECK_FAILS(connect(other, plain(&missing), sizeof missing), ENOENT);
    CHECK_FAILS(bind(one, plain(&address), sizeof address), EADDRINUSE);
    CHECK_FAILS(getpeername(one, plain(&address), &(socklen_t){sizeof address}), ENOTCONN);
    CHECK_FAILS(shutdown(one, SHUT_RD), ENOTCONN);
    close_both(one, other);
    CHECK_OK(close(taken));

    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    CHECK_OK(close(ends[1]));
    CHECK_FAILS(send(ends[0], "x", 1, MSG_NOSIGNAL), EPIPE);
    CHECK(signal(SIGPIPE, SIG_IGN) == SIG_DFL);
    CHECK_FAILS(write(ends[0], "x", 1), EPIPE);
    CHECK(signal(SIGPIPE, SIG_DFL) == SIG_IGN);
    CHECK_OK(close(ends[0]));
}

void killed(void)
{
    int ends[2], status;
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    CHECK_OK(close(ends[1]));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        send(ends[0], "x", 1, 0);
        _exit(1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
    CHECK_OK(close(ends[0]));
}
