/* Two ends: the ends of a TCP connection take turns by its bytes and nothing else; in each turn a byte is written to a file of the
 * end's own.
 *
 *   two_ends listen|connect ADDRESS PORT TURNS OF EACH
 *
 * Who listens has the first turn and writes to "a", the other one to "b". Verifies that every byte comes.
 */
#include "common.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum { TRIES = 10000 };

static int accepted(const struct sockaddr_in *address)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    CHECK(listener >= 0);
    CHECK_OK(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
    CHECK_OK(bind(listener, (const struct sockaddr *)address, sizeof *address));
    CHECK_OK(listen(listener, 1));
    int connection = accept(listener, NULL, NULL);
    CHECK(connection >= 0);
    CHECK_OK(close(listener));
    return connection;
}

/* As soon as the other end listens. */
static int connected(const struct sockaddr_in *address)
{
    for (int tries = 0; tries < TRIES; tries++) {
        int connection = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(connection >= 0);
        if (connect(connection, (const struct sockaddr *)address, sizeof *address) == 0)
            return connection;
        CHECK_EQ(errno, ECONNREFUSED);
        CHECK_OK(close(connection));
        usleep(1000);
    }
    fail(__FILE__, __LINE__, "nobody listens");
}

int main(int argc, char **argv)
{
    CHECK_EQ(argc, 5);
    int is_second = strcmp(argv[1], "connect") == 0, turns = 2 * atoi(argv[4]), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[3]))};
    CHECK_EQ(inet_pton(AF_INET, argv[2], &address.sin_addr), 1);
    int connection = is_second ? connected(&address) : accepted(&address);
    CHECK_OK(setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    int fd = open(is_second ? "b" : "a", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    char byte = 0;
    for (int turn = 0; turn < turns; turn++) {
        if (turn % 2 == is_second) {
            CHECK_EQ(write(fd, "x", 1), 1);
            CHECK_EQ(send(connection, &byte, 1, 0), 1);
        } else {
            CHECK_EQ(recv(connection, &byte, 1, 0), 1);
        }
    }
    CHECK_OK(close(fd));
    CHECK_OK(close(connection));
    return 0;
}
