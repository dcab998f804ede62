/* What the parts of socket_surface share. */
#ifndef SURFACE_H
#define SURFACE_H

#include "../common.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

/* Tests: one function per family of calls. */
void tcp(void);
void tcp_in_version_6(void);
void tcp_without_waiting(void);
void tcp_between_threads(void);
void udp(void);
void udp_connected(void);
void unix_streams(void);
void unix_datagrams(void);
void pairs(void);
void options(void);
void vectors_of_messages(void);
void messages(void);
void descriptors_in_messages(void);
void descriptors_in_many_messages(void);
void polling(void);
void polling_many(void);
void selecting(void);
void selecting_high(void);
void epolling(void);
void cancelling(void);
void events(void);
void timers(void);
void signals(void);
void watches(void);
void processes(void);
void libc_itself(void);
void bad_descriptors(void);
void bad_addresses(void);
void nobody_there(void);
void killed(void);

/* libc's other names for some calls. */
int __connect(int fd, const struct sockaddr *address, socklen_t length);
ssize_t __send(int fd, const void *buffer, size_t count, int flags);
int __poll(struct pollfd *fds, nfds_t count, int timeout);
int __select(int count, fd_set *read, fd_set *write, fd_set *except, struct timeval *timeout);

/* Two ends of a connection. */
struct connection {
    int client, server;
};

static inline struct sockaddr *plain(void *address)
{
    return address;
}

/* A socket with an address of its own on the loopback interface, which is returned in `address`. */
static inline int bound_socket(int kind, struct sockaddr_in *address)
{
    socklen_t length = sizeof *address;
    int fd = socket(AF_INET, kind, 0);
    CHECK(fd >= 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK_OK(bind(fd, plain(address), sizeof *address));
    CHECK_OK(getsockname(fd, plain(address), &length));
    CHECK_EQ(length, sizeof *address);
    return fd;
}

/* A connection over the loopback interface. */
static inline struct connection tcp_connection(void)
{
    struct sockaddr_in address;
    struct connection connection;
    int listening = bound_socket(SOCK_STREAM, &address);
    CHECK_OK(listen(listening, 1));
    CHECK((connection.client = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    CHECK_OK(connect(connection.client, plain(&address), sizeof address));
    CHECK((connection.server = accept(listening, NULL, NULL)) >= 0);
    CHECK_OK(close(listening));
    return connection;
}

static inline void close_both(int one, int other)
{
    CHECK_OK(close(one));
    CHECK_OK(close(other));
}

/* Waits until there is something to read. */
static inline void wait_for_data(int fd)
{
    struct pollfd entry = {fd, POLLIN, 0};
    CHECK_EQ(poll(&entry, opaque(1), -1), 1);
}

#endif
