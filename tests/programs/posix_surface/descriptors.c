/* Descriptors: duplicates, flags, pipes, seals. */
#include "surface.h"
#include <signal.h>
#include <sys/mman.h>

extern int __dup2(int oldfd, int newfd);
extern int __fcntl(int fd, int command, ...);
extern int __pipe(int ends[2]);

void duplicates(void)
{
    int fd = new_file("file"), copies[8];
    CHECK_EQ(write(fd, "abc", 3), 3);
    copies[0] = dup(fd);
    CHECK(copies[0] > fd);
    CHECK_EQ(copies[1] = dup2(fd, 50), 50);
    CHECK_EQ(copies[2] = __dup2(fd, 51), 51);
    CHECK_EQ(copies[3] = dup3(fd, 52, O_CLOEXEC), 52);
    CHECK_EQ(copies[4] = fcntl(fd, F_DUPFD, 60), 60);
    CHECK_EQ(copies[5] = fcntl(fd, F_DUPFD_CLOEXEC, 60), 61);
    CHECK_EQ(copies[6] = fcntl64(fd, F_DUPFD, 60), 62);
    CHECK_EQ(copies[7] = __fcntl(fd, F_DUPFD, 70), 70);
    for (int i = 0; i < 8; i++) { /* all of them have one position */
        CHECK_EQ(lseek(copies[i], 0, SEEK_CUR), 3 + i);
        CHECK_EQ(write(copies[i], "x", 1), 1);
        CHECK_EQ(fcntl(copies[i], F_GETFD), i == 3 || i == 5 ? FD_CLOEXEC : 0);
    }
    check_content(fd, "abcxxxxxxxx");
    CHECK_EQ(dup2(fd, fd), fd);
    CHECK_FAILS(dup3(fd, fd, 0), EINVAL);
    CHECK_FAILS(dup2(-1, 53), EBADF);

    int other = new_file("other"); /* takes the place of an open one, which is closed by it */
    CHECK_EQ(dup2(other, copies[0]), copies[0]);
    CHECK_EQ(write(copies[0], "y", 1), 1);
    check_content(other, "y");
    CHECK_EQ(size_of(fd), 11);
    close_and_remove(other, "other");

    CHECK_OK(close(copies[0]));
    CHECK_OK(close_range(50, 52, 0));
    CHECK_OK(close_range(60, 62, CLOSE_RANGE_CLOEXEC));
    CHECK_FAILS(fcntl(51, F_GETFD), EBADF);
    CHECK_EQ(fcntl(60, F_GETFD), FD_CLOEXEC);
    CHECK_OK(close_range(60, 70, 0));
    CHECK_FAILS(close_range(5, 4, 0), EINVAL);
    close_and_remove(fd, "file");
}

void descriptor_flags(void)
{
    int fd = new_file("file");
    CHECK_OK(fcntl(fd, F_SETFD, FD_CLOEXEC));
    CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    CHECK_EQ(write(fd, "abc", 3), 3);
    CHECK_OK(lseek(fd, 0, SEEK_SET));
    CHECK_OK(fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK));
    CHECK_EQ(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK), O_RDWR | O_APPEND | O_NONBLOCK);
    CHECK_EQ(write(fd, "def", 3), 3); /* appends from now on */
    check_content(fd, "abcdef");
    CHECK_FAILS(fcntl(fd, 99999, 0), EINVAL);
    close_and_remove(fd, "file");
}

void pipes(void)
{
    int ends[2];
    char buffer[8] = "";
    CHECK_OK(pipe(ends));
    CHECK_EQ(write(ends[1], "hello", 5), 5);
    CHECK_EQ(read(ends[0], buffer, opaque(sizeof buffer)), 5);
    CHECK_TEXT(buffer, "hello");
    CHECK_EQ(fcntl(ends[1], F_SETPIPE_SZ, 128 << 10), 128 << 10);
    CHECK_EQ(fcntl(ends[0], F_GETPIPE_SZ), 128 << 10);
    CHECK_FAILS(pwrite(ends[1], "x", 1, 0), ESPIPE);
    CHECK_OK(close(ends[1]));
    CHECK_EQ(read(ends[0], buffer, sizeof buffer), 0); /* all writers are gone */
    CHECK_OK(close(ends[0]));

    CHECK_OK(pipe2(ends, O_NONBLOCK | O_CLOEXEC));
    CHECK_EQ(fcntl(ends[0], F_GETFD), FD_CLOEXEC);
    CHECK_FAILS(read(ends[0], buffer, sizeof buffer), EAGAIN);
    CHECK_OK(close(ends[0]));
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    CHECK_FAILS(write(ends[1], "x", 1), EPIPE); /* all readers are gone */
    signal(SIGPIPE, before);
    CHECK_OK(close(ends[1]));
    CHECK_OK(__pipe(ends));
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
    CHECK_FAILS(pipe2(ends, opaque(12345)), EINVAL);
}

void seals(void)
{
    int fd = memfd_create("sealed", MFD_ALLOW_SEALING);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, "fixed", 5), 5);
    CHECK_OK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW));
    CHECK_EQ(fcntl(fd, F_GET_SEALS), F_SEAL_WRITE | F_SEAL_GROW);
    CHECK_FAILS(pwrite(fd, "x", 1, 0), EPERM);
    CHECK_FAILS(ftruncate(fd, 100), EPERM);
    check_content(fd, "fixed");
    CHECK_OK(close(fd));
}
