/* Connections: TCP, Unix stream sockets, pairs. */
#include "surface.h"
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>

/* Sends in every way, and receives in every way. */
static void talk(int from, int to)
{
    char found[64] = "";
    struct iovec parts[2] = {{"ve", 2}, {"ctor", 4}};
    CHECK_EQ(send(from, "one ", 4, 0), 4);
    CHECK_EQ(__send(from, "two ", 4, MSG_NOSIGNAL), 4);
    CHECK_EQ(sendto(from, "three ", 6, 0, NULL, 0), 6);
    CHECK_EQ(write(from, "four ", 5), 5);
    CHECK_EQ(writev(from, parts, 2), 6);
    CHECK_EQ(recv(to, found, opaque(4), MSG_PEEK | MSG_WAITALL), 4);
    CHECK_TEXT(found, "one ");
    CHECK_EQ(recv(to, found, opaque(4), MSG_WAITALL), 4);
    CHECK_EQ(recvfrom(to, found, opaque(4), MSG_WAITALL, NULL, NULL), 4);
    CHECK_TEXT(found, "two ");
    CHECK_EQ(recv(to, found, 11, MSG_WAITALL), 11);
    CHECK_TEXT(found, "three four ");
    struct iovec rooms[2] = {{found, 3}, {found + 3, 3}};
    wait_for_data(to);
    CHECK_EQ(readv(to, rooms, 2), 6);
    CHECK_EQ(memcmp(found, "vector", 6), 0);
}

static void end(int one, int other)
{
    char byte;
    CHECK_OK(shutdown(one, SHUT_WR));
    CHECK_EQ(read(other, &byte, 1), 0);
    CHECK_EQ(recv(other, &byte, opaque(1), 0), 0);
    close_both(one, other);
}

void tcp(void)
{
    struct sockaddr_in address, peer;
    socklen_t length = sizeof peer;
    int listening = bound_socket(SOCK_STREAM, &address), client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_OK(listen(listening, 5));
    CHECK_OK(connect(client, plain(&address), sizeof address));
    int server = accept(listening, plain(&peer), &length);
    CHECK(server >= 0);
    CHECK_EQ(length, sizeof peer);
    CHECK_OK(getsockname(client, plain(&address), &length));
    CHECK_EQ(peer.sin_port, address.sin_port);
    CHECK_OK(getpeername(server, plain(&address), &length));
    CHECK_EQ(peer.sin_port, address.sin_port);
    talk(client, server);
    talk(server, client);
    end(client, server);
    CHECK_OK(close(listening));
}

void tcp_in_version_6(void)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t length = sizeof address;
    int listening = socket(AF_INET6, SOCK_STREAM, 0);
    if (listening < 0 || bind(listening, plain(&address), sizeof address) != 0) {
        /* A machine without IPv6. */
        if (listening >= 0)
            CHECK_OK(close(listening));
        return;
    }
    CHECK_OK(getsockname(listening, plain(&address), &length));
    CHECK_OK(listen(listening, 1));
    int client = socket(AF_INET6, SOCK_STREAM, 0);
    CHECK_OK(__connect(client, plain(&address), sizeof address));
    int server = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    talk(client, server);
    end(server, client);
    CHECK_OK(close(listening));
}

void tcp_without_waiting(void)
{
    enum { NEVER = 1 << 14 };
    struct sockaddr_in address;
    char byte, *block = allocate(1 << 16);
    int listening = bound_socket(SOCK_STREAM | SOCK_NONBLOCK, &address), failure = -1;
    socklen_t length = sizeof failure;
    CHECK_OK(listen(listening, 1));
    CHECK_FAILS(accept4(listening, NULL, NULL, 0), EAGAIN);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CHECK_FAILS(connect(client, plain(&address), sizeof address), EINPROGRESS);
    struct pollfd entry = {client, POLLOUT, 0};
    CHECK_EQ(poll(&entry, 1, -1), 1);
    CHECK_OK(getsockopt(client, SOL_SOCKET, SO_ERROR, &failure, &length));
    CHECK_EQ(failure, 0);
    CHECK_OK(connect(client, plain(&address), sizeof address)); /* it is told once that it has succeeded */
    CHECK_FAILS(connect(client, plain(&address), sizeof address), EISCONN);
    wait_for_data(listening);
    int server = accept4(listening, NULL, NULL, SOCK_NONBLOCK);
    CHECK(server >= 0);
    CHECK_EQ(fcntl(server, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    CHECK_FAILS(recv(client, &byte, opaque(1), 0), EAGAIN);
    CHECK_FAILS(read(client, &byte, 1), EAGAIN);
    /* Fill it up. */
    int sent = 0;
    while (sent < NEVER && send(client, block, 1 << 16, MSG_DONTWAIT) > 0)
        sent++;
    CHECK(sent < NEVER);
    CHECK_EQ(errno, EAGAIN);
    close_both(client, server);
    CHECK_OK(close(listening));
    free(block);
}

enum { ROUNDS = 50, BLOCK = 3000 };

static void *echo(void *argument)
{
    int listening = *(int *)argument, fd = accept(listening, NULL, NULL);
    char block[BLOCK];
    CHECK(fd >= 0);
    for (ssize_t bytes; (bytes = recv(fd, block, opaque(sizeof block), MSG_WAITALL)) > 0;)
        CHECK_EQ(send(fd, block, bytes, 0), bytes);
    CHECK_OK(close(fd));
    return NULL;
}

void tcp_between_threads(void)
{
    struct sockaddr_in address;
    pthread_t thread;
    char sent[BLOCK], found[BLOCK];
    int listening = bound_socket(SOCK_STREAM, &address);
    CHECK_OK(listen(listening, 1));
    CHECK_OK(pthread_create(&thread, NULL, echo, &listening));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_OK(connect(fd, plain(&address), sizeof address));
    for (int round = 0; round < ROUNDS; round++) {
        memset(sent, 'a' + round % 26, sizeof sent);
        CHECK_EQ(write(fd, sent, sizeof sent), BLOCK);
        CHECK_EQ(recv(fd, found, sizeof found, MSG_WAITALL), BLOCK);
        CHECK_EQ(memcmp(sent, found, BLOCK), 0);
    }
    CHECK_OK(shutdown(fd, SHUT_WR));
    CHECK_EQ(read(fd, found, 1), 0);
    CHECK_OK(pthread_join(thread, NULL));
    close_both(fd, listening);
}

/* The abstract name must be nobody else's: it has our process id in it. */
static socklen_t abstract_name(struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int letters = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "socket_surface.%d", getpid());
    return offsetof(struct sockaddr_un, sun_path) + 1 + letters;
}

static void unix_stream(struct sockaddr_un *address, socklen_t length)
{
    struct sockaddr_un peer;
    socklen_t room = sizeof peer;
    int listening = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_OK(bind(listening, plain(address), length));
    CHECK_OK(listen(listening, 3));
    CHECK_OK(connect(client, plain(address), length));
    int server = accept(listening, plain(&peer), &room);
    CHECK_EQ(room, sizeof peer.sun_family); /* unnamed */
    room = sizeof peer;
    peer = (struct sockaddr_un){0};
    CHECK_OK(getpeername(client, plain(&peer), &room));
    CHECK_EQ(memcmp(address->sun_path, peer.sun_path, length - sizeof peer.sun_family), 0);
    talk(client, server);
    talk(server, client);
    end(client, server);
    CHECK_OK(close(listening));
}

void unix_streams(void)
{
    struct sockaddr_un address = {AF_UNIX, "stream"};
    unix_stream(&address, sizeof address);
    CHECK_OK(unlink("stream"));
    unix_stream(&address, abstract_name(&address));
}

void pairs(void)
{
    int ends[2];
    char found[16] = "";
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    talk(ends[0], ends[1]);
    end(ends[1], ends[0]);
    CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends));
    CHECK_EQ(send(ends[0], "packet", 6, 0), 6);
    CHECK_EQ(write(ends[0], "", 0), 0);
    CHECK_EQ(read(ends[1], found, opaque(3)), 3);
    CHECK_TEXT(found, "pac");
    CHECK_EQ(read(ends[1], found, opaque(3)), 0); /* the empty packet */
    CHECK_FAILS(read(ends[1], found, opaque(3)), EAGAIN);
    close_both(ends[0], ends[1]);
}

void options(void)
{
    int value = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t length = sizeof value;
    CHECK_OK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &value, sizeof value));
    CHECK_OK(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof value));
    CHECK_OK(getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &length));
    CHECK_EQ(value, SOCK_STREAM);
    CHECK_FAILS(setsockopt(fd, SOL_SOCKET, 12345, &value, sizeof value), ENOPROTOOPT);
    CHECK_FAILS(getsockopt(fd, SOL_SOCKET, 12345, &value, &length), ENOPROTOOPT);
    CHECK_OK(close(fd));
}
