/* Datagrams: UDP and Unix, one by one and many at once. */
#include "surface.h"

static int is_from(const struct sockaddr_in *found, const struct sockaddr_in *expected)
{
    return found->sin_port == expected->sin_port && found->sin_addr.s_addr == expected->sin_addr.s_addr;
}

void udp(void)
{
    struct sockaddr_in one_address, other_address, from;
    socklen_t length = sizeof from, none = 0;
    char found[32] = "";
    int one = bound_socket(SOCK_DGRAM, &one_address), other = bound_socket(SOCK_DGRAM, &other_address);
    CHECK_FAILS(recvfrom(one, found, opaque(8), MSG_DONTWAIT, plain(&from), &length), EAGAIN);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(sendto(one, "datagram", 8, 0, plain(&other_address), sizeof other_address), 8);
    CHECK_EQ(recvfrom(other, found, opaque(sizeof found), MSG_PEEK, plain(&from), &length), 8);
    CHECK(is_from(&from, &one_address));
    from.sin_port = 0;
    CHECK_EQ(recvfrom(other, found, opaque(sizeof found), 0, plain(&from), &length), 8);
    CHECK(is_from(&from, &one_address));
    CHECK_EQ(recvfrom(other, found, opaque(4), MSG_TRUNC, NULL, NULL), 8);
    CHECK_EQ(recv(other, found, opaque(4), 0), 4);
    CHECK_EQ(read(other, found, opaque(sizeof found)), 8);
    /* No room for the address, of which the kernel still tells the length. */
    CHECK_EQ(recvfrom(other, found, opaque(sizeof found), 0, plain(&from), &none), 8);
    CHECK_EQ(none, sizeof from);
    CHECK_EQ(recvfrom(other, found, opaque(sizeof found), 0, NULL, NULL), 8);
    CHECK_FAILS(send(one, "lost", 4, 0), EDESTADDRREQ);
    close_both(one, other);
}

void udp_connected(void)
{
    struct sockaddr_in one_address, other_address;
    struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    char found[32];
    int one = bound_socket(SOCK_DGRAM, &one_address), other = bound_socket(SOCK_DGRAM, &other_address);
    CHECK_OK(connect(one, plain(&other_address), sizeof other_address));
    CHECK_EQ(send(one, "connected", 9, 0), 9);
    CHECK_EQ(write(one, "again", 5), 5);
    CHECK_EQ(recv(other, found, opaque(sizeof found), 0), 9);
    CHECK_EQ(recv(other, found, opaque(sizeof found), 0), 5);
    CHECK_OK(connect(one, &nobody, sizeof nobody));
    CHECK_FAILS(send(one, "lost", 4, 0), EDESTADDRREQ);
    close_both(one, other);
}

void unix_datagrams(void)
{
    struct sockaddr_un one_address = {AF_UNIX, "one"}, other_address = {AF_UNIX, "other"}, from;
    struct sockaddr_un chosen = {.sun_family = AF_UNIX};
    socklen_t length = sizeof from;
    char found[32];
    int one = socket(AF_UNIX, SOCK_DGRAM, 0), other = socket(AF_UNIX, SOCK_DGRAM, 0);
    int third = socket(AF_UNIX, SOCK_DGRAM, 0);
    CHECK_OK(bind(one, plain(&one_address), sizeof one_address));
    CHECK_OK(bind(other, plain(&other_address), sizeof other_address));
    CHECK_OK(bind(third, plain(&chosen), sizeof chosen.sun_family)); /* the kernel chooses an abstract name */
    CHECK_EQ(sendto(one, "named", 5, 0, plain(&other_address), sizeof other_address), 5);
    CHECK_EQ(recvfrom(other, found, opaque(sizeof found), 0, plain(&from), &length), 5);
    CHECK_TEXT(from.sun_path, "one");
    CHECK_EQ(sendto(third, "chosen", 6, 0, plain(&other_address), sizeof other_address), 6);
    length = sizeof from;
    CHECK_EQ(recvfrom(other, found, opaque(sizeof found), 0, plain(&from), &length), 6);
    CHECK_EQ(from.sun_path[0], 0);
    CHECK(length > sizeof from.sun_family);
    close_both(one, other);
    CHECK_OK(close(third));
    CHECK_OK(unlink("one"));
    CHECK_OK(unlink("other"));
}

enum { MANY = 8 };

void vectors_of_messages(void)
{
    struct sockaddr_in from_address, to_address, senders[MANY];
    struct mmsghdr sent[MANY] = {0}, found[MANY] = {0};
    struct iovec parts[MANY], rooms[MANY];
    char buffers[MANY][64];
    struct timespec limit = {60, 0};
    int from = bound_socket(SOCK_DGRAM, &from_address), to = bound_socket(SOCK_DGRAM, &to_address);
    for (int i = 0; i < MANY; i++) {
        parts[i] = (struct iovec){"0123456789", i + 1};
        rooms[i] = (struct iovec){buffers[i], sizeof buffers[i]};
        sent[i].msg_hdr = (struct msghdr){&to_address, sizeof to_address, &parts[i], 1, NULL, 0, 0};
        found[i].msg_hdr = (struct msghdr){&senders[i], sizeof senders[i], &rooms[i], 1, NULL, 0, 0};
    }
    CHECK_EQ(sendmmsg(from, sent, MANY, 0), MANY);
    CHECK_EQ(recvmmsg(to, found, MANY / 2, MSG_WAITFORONE, &limit), MANY / 2);
    CHECK_EQ(recvmmsg(to, found + MANY / 2, MANY / 2, MSG_DONTWAIT, NULL), MANY / 2);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(sent[i].msg_len, i + 1);
        CHECK_EQ(found[i].msg_len, i + 1);
        CHECK(is_from(&senders[i], &from_address));
    }
    CHECK_FAILS(recvmmsg(to, found, MANY, MSG_DONTWAIT, NULL), EAGAIN);
    close_both(from, to);
}
