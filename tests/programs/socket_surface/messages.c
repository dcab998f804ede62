/* Messages with headers, and the descriptors that go with them. */
#include "surface.h"
#include <fcntl.h>

enum { MOST = 100 };

/* Room for control data with as many descriptors as a test sends. */
union control {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(MOST * sizeof(int))];
};

static struct msghdr with_rights(struct iovec *data, union control *control, const int *fds, int count)
{
    memset(control, 0, sizeof *control);
    struct msghdr message = {NULL, 0, data, 1, control, CMSG_SPACE(count * sizeof *fds), 0};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof *fds);
    memcpy(CMSG_DATA(header), fds, count * sizeof *fds);
    return message;
}

/* Takes the descriptors out of a message; how many there were. */
static int take_rights(struct msghdr *message, int *fds)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header))
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
            memcpy(fds, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
            return (header->cmsg_len - CMSG_LEN(0)) / sizeof *fds;
        }
    return 0;
}

void messages(void)
{
    struct sockaddr_in one_address, other_address, from;
    char found[16] = "";
    struct iovec data[2] = {{"in two ", 7}, {"parts", 5}}, rooms[2] = {{found, 7}, {found + 7, 8}};
    int one = bound_socket(SOCK_DGRAM, &one_address), other = bound_socket(SOCK_DGRAM, &other_address);
    struct msghdr sent = {&other_address, sizeof other_address, data, 2, NULL, 0, 0};
    struct msghdr received = {&from, sizeof from, rooms, 2, NULL, 0, 0};
    CHECK_FAILS(recvmsg(other, &received, MSG_DONTWAIT), EAGAIN);
    CHECK_EQ(sendmsg(one, &sent, 0), 12);
    CHECK_EQ(sendmsg(one, &sent, 0), 12);
    CHECK_EQ(recvmsg(other, &received, MSG_PEEK), 12);
    CHECK_EQ(recvmsg(other, &received, 0), 12);
    CHECK_TEXT(found, "in two parts");
    CHECK_EQ(from.sin_port, one_address.sin_port);
    struct msghdr nameless = {NULL, 0, rooms, 1, NULL, 0, 0};
    CHECK_EQ(recvmsg(other, &nameless, 0), 7);
    CHECK_EQ(nameless.msg_flags, MSG_TRUNC);
    close_both(one, other);
}

void descriptors_in_messages(void)
{
    int ends[2], got[MOST], yes = 1, file = open("passed", O_RDWR | O_CREAT | O_EXCL, 0644);
    char byte, found[16] = "";
    struct iovec data = {"!", 1}, room = {&byte, 1};
    union control control;
    CHECK_EQ(write(file, "some content", 12), 12);
    CHECK_EQ(lseek(file, 5, SEEK_SET), 5);
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    int given[3] = {file, ends[0], file};
    struct msghdr sent = with_rights(&data, &control, given, 3);
    CHECK_EQ(sendmsg(ends[0], &sent, 0), 1);
    struct msghdr received = {NULL, 0, &room, 1, &control, sizeof control, 0};
    CHECK_OK(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes));
    CHECK_EQ(recvmsg(ends[1], &received, MSG_CMSG_CLOEXEC), 1);
    CHECK_EQ(take_rights(&received, got), 3);
    CHECK_EQ(read(got[0], found, opaque(4)), 4);
    CHECK_TEXT(found, "cont");
    CHECK_EQ(read(got[2], found, opaque(3)), 3); /* the same open file */
    CHECK_EQ(lseek(file, 0, SEEK_CUR), 12);
    CHECK_EQ(write(got[1], "through", 7), 7);
    CHECK_EQ(read(ends[1], found, 7), 7);
    for (int i = 0; i < 3; i++)
        CHECK_OK(close(got[i]));
    close_both(ends[0], ends[1]);
    CHECK_OK(close(file));
    CHECK_OK(unlink("passed"));
}

/* Several messages at once, one with more descriptors than fit on a page of a list. */
void descriptors_in_many_messages(void)
{
    int ends[2], given[MOST], got[MOST];
    char bytes[2];
    struct iovec data = {"?", 1}, rooms[2] = {{&bytes[0], 1}, {&bytes[1], 1}};
    static union control control[2];
    CHECK_OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
    for (int i = 0; i < MOST; i++)
        given[i] = ends[i % 2];
    struct mmsghdr sent[2] = {{with_rights(&data, &control[0], given, MOST), 0},
                              {with_rights(&data, &control[1], given, 1), 0}};
    CHECK_EQ(sendmmsg(ends[0], sent, 2, 0), 2);
    CHECK_EQ(sendmsg(ends[0], &sent[0].msg_hdr, 0), 1);
    struct mmsghdr received[2] = {0};
    for (int i = 0; i < 2; i++)
        received[i].msg_hdr = (struct msghdr){NULL, 0, &rooms[i], 1, &control[i], sizeof control[i], 0};
    CHECK_EQ(recvmmsg(ends[1], received, 2, 0, NULL), 2);
    for (int i = 0; i < 2; i++) {
        int count = take_rights(&received[i].msg_hdr, got);
        CHECK_EQ(count, i == 0 ? MOST : 1);
        while (count > 0)
            CHECK_OK(close(got[--count]));
    }
    received[0].msg_hdr.msg_controllen = sizeof control[0];
    CHECK_EQ(recvmsg(ends[1], &received[0].msg_hdr, 0), 1);
    CHECK_EQ(take_rights(&received[0].msg_hdr, got), MOST);
    for (int i = 0; i < MOST; i++)
        CHECK_OK(close(got[i]));
    close_both(ends[0], ends[1]);
}
