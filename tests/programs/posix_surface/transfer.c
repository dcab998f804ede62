/* Reading and writing, plain, at a position, and with vectors; positions. */
#include "surface.h"
#include <sys/uio.h>

extern ssize_t __read(int fd, void *buffer, size_t count);
extern ssize_t __write(int fd, const void *buffer, size_t count);
extern ssize_t __pread64(int fd, void *buffer, size_t count, off64_t offset);
extern ssize_t __pwrite64(int fd, const void *buffer, size_t count, off64_t offset);
extern off_t __lseek(int fd, off_t offset, int whence);

void transfers(void)
{
    char buffer[32] = "";
    int fd = new_file("file");
    CHECK_EQ(write(fd, "abcdef", 6), 6);
    CHECK_EQ(__write(fd, "ghij", 4), 4);
    CHECK_EQ(write(fd, "", 0), 0);
    CHECK_EQ(pwrite(fd, "BC", 2, 1), 2);
    CHECK_EQ(pwrite64(fd, "E", 1, 4), 1);
    CHECK_EQ(__pwrite64(fd, "J", 1, 9), 1);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 10); /* pwrite moves nothing */
    check_content(fd, "aBCdEfghiJ");

    CHECK_OK(lseek(fd, 0, SEEK_SET));
    CHECK_EQ(read(fd, buffer, opaque(4)), 4);
    CHECK_EQ(__read(fd, buffer + 4, 4), 4);
    CHECK_EQ(read(fd, buffer + 8, opaque(20)), 2); /* less than asked for */
    CHECK_EQ(read(fd, buffer + 10, opaque(20)), 0);
    CHECK_EQ(read(fd, buffer, 0), 0);
    CHECK_TEXT(buffer, "aBCdEfghiJ");
    memset(buffer, 0, sizeof buffer);
    CHECK_EQ(pread(fd, buffer, opaque(3), 7), 3);
    CHECK_TEXT(buffer, "hiJ");
    CHECK_EQ(pread64(fd, buffer, opaque(3), 0), 3);
    CHECK_TEXT(buffer, "aBC");
    CHECK_EQ(__pread64(fd, buffer, 3, 3), 3);
    CHECK_TEXT(buffer, "dEf");
    CHECK_EQ(pread(fd, buffer, 5, 1000), 0);
    CHECK_FAILS(pread(fd, buffer, 5, opaque(-1)), EINVAL);
    close_and_remove(fd, "file");
}

static struct iovec part_of(void *base, size_t bytes)
{
    return (struct iovec){.iov_base = base, .iov_len = bytes};
}

void vectors(void)
{
    char a[4] = "", b[4] = "", c[8] = "";
    struct iovec out[3] = {part_of("one", 3), part_of("", 0), part_of("two", 3)};
    struct iovec in[3] = {part_of(a, 3), part_of(b, 3), part_of(c, 7)};
    int fd = new_file("file");
    CHECK_EQ(writev(fd, out, 3), 6);
    CHECK_EQ(pwritev(fd, out, 3, 6), 6);
    CHECK_EQ(pwritev64(fd, out, 1, 12), 3);
    CHECK_EQ(pwritev2(fd, out, 3, 15, RWF_DSYNC), 6);
    CHECK_EQ(pwritev2(fd, out, 1, -1, 0), 3); /* where the file stands */
    check_content(fd, "onetwoonetwooneonetwo");
    CHECK_EQ(pwritev64v2(fd, out, 1, 21, 0), 3);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 9);

    CHECK_OK(lseek(fd, 0, SEEK_SET));
    CHECK_EQ(readv(fd, in, 3), 13);
    CHECK_TEXT(a, "one");
    CHECK_TEXT(b, "two");
    CHECK_TEXT(c, "onetwoo");
    CHECK_EQ(preadv(fd, in, 2, 3), 6);
    CHECK_TEXT(a, "two");
    CHECK_EQ(preadv64(fd, in, 1, 6), 3);
    CHECK_TEXT(a, "one");
    CHECK_EQ(preadv2(fd, in, 3, 20, 0), 4); /* less than asked for */
    CHECK_TEXT(a, "oon");
    CHECK_EQ(preadv64v2(fd, in, 2, -1, 0), 6); /* where the file stands */
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 19);
    CHECK_EQ(writev(fd, out, 0), 0);
    CHECK_FAILS(writev(fd, out, opaque(-1)), EINVAL);
    struct iovec *many = allocate(2000 * sizeof *many); /* more than IOV_MAX */
    CHECK_FAILS(writev(fd, many, 2000), EINVAL);
    free(many);
    close_and_remove(fd, "file");
}

void positions(void)
{
    int fd = new_file("file");
    CHECK_EQ(lseek(fd, 100, SEEK_SET), 100);
    CHECK_EQ(lseek64(fd, -40, SEEK_CUR), 60);
    CHECK_EQ(__lseek(fd, 0, SEEK_END), 0);
    CHECK_FAILS(lseek(fd, -1, SEEK_SET), EINVAL);
    CHECK_FAILS(lseek(fd, 0, 77), EINVAL);
    CHECK_EQ(lseek(fd, 1 << 20, SEEK_SET), 1 << 20); /* a hole of 1 MiB, then data */
    CHECK_EQ(write(fd, "data", 4), 4);
    CHECK_EQ(size_of(fd), (1 << 20) + 4);
    CHECK_EQ(lseek(fd, 0, SEEK_HOLE), 0);
    CHECK_EQ(lseek(fd, 0, SEEK_DATA), 1 << 20);
    CHECK_FAILS(lseek(fd, 1 << 21, SEEK_DATA), ENXIO);
    char byte = 1;
    CHECK_EQ(pread(fd, &byte, 1, 12345), 1);
    CHECK_EQ(byte, 0);
    off64_t far = 5LL << 30; /* beyond 32 bits */
    CHECK_EQ(pwrite64(fd, "far", 3, far), 3);
    CHECK_EQ(lseek64(fd, 0, SEEK_END), far + 3);
    int ends[2];
    CHECK_OK(pipe(ends));
    CHECK_FAILS(lseek(ends[0], 0, SEEK_CUR), ESPIPE);
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
    close_and_remove(fd, "file");
}
