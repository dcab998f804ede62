/* Bytes that go from one descriptor to another without passing through the program. */
#include "surface.h"
#include <sys/sendfile.h>
#include <sys/uio.h>

/* Where the file stands. */
static long long position(int fd)
{
    return lseek(fd, 0, SEEK_CUR);
}

static void ranges(int in, int out)
{
    loff_t from = 6, to = 10;
    CHECK_EQ(copy_file_range(in, NULL, out, NULL, 4, 0), 4);
    CHECK(position(in) == 4 && position(out) == 4);
    CHECK_EQ(copy_file_range(in, &from, out, &to, 100, 0), 4); /* less than asked for */
    CHECK(from == 10 && to == 14);
    CHECK(position(in) == 4 && position(out) == 4);
    from = 0;
    CHECK_EQ(copy_file_range(in, &from, out, NULL, 6, 0), 6);
    CHECK(from == 6 && position(out) == 10);
    check_content(out, "01230123456789");
    CHECK_EQ(copy_file_range(in, &to, out, NULL, 10, 0), 0); /* behind the end */
    CHECK_EQ(copy_file_range(in, NULL, out, NULL, 0, 0), 0);

    int appending = open("out", O_WRONLY | O_APPEND), here = open(".", O_RDONLY | O_DIRECTORY);
    CHECK_FAILS(copy_file_range(in, NULL, appending, NULL, 4, 0), EBADF);
    CHECK_FAILS(copy_file_range(appending, NULL, out, NULL, 4, 0), EBADF); /* not open for reading */
    CHECK_FAILS(copy_file_range(here, NULL, out, NULL, 4, 0), EISDIR);
    CHECK_FAILS(copy_file_range(in, NULL, out, NULL, 4, opaque(77)), EINVAL);
    from = 0, to = 2;
    CHECK_FAILS(copy_file_range(in, &from, in, &to, 4, 0), EINVAL); /* onto itself */
    CHECK_OK(close(appending));
    CHECK_OK(close(here));
}

static void sent(int in, int out)
{
    off_t from = 7;
    off64_t from64 = 0;
    CHECK_OK(ftruncate(out, 0));
    CHECK_OK(lseek(out, 0, SEEK_SET));
    CHECK_EQ(lseek(in, 2, SEEK_SET), 2);
    CHECK_EQ(sendfile(out, in, NULL, 3), 3);
    CHECK(position(in) == 5 && position(out) == 3);
    CHECK_EQ(sendfile(out, in, &from, 100), 3);
    CHECK(from == 10 && position(in) == 5);
    CHECK_EQ(sendfile64(out, in, &from64, 2), 2);
    CHECK(from64 == 2 && position(out) == 8);
    check_content(out, "23478901");
    CHECK_EQ(sendfile(out, in, &from, 5), 0); /* at the end */
    int ends[2];
    CHECK_OK(pipe(ends));
    CHECK_FAILS(sendfile(out, ends[0], &from, 4), ESPIPE);
    CHECK_EQ(sendfile(ends[1], in, NULL, 5), 5);
    CHECK_EQ(read(ends[0], (char[8]){0}, 8), 5);
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
}

static void spliced(int in, int out)
{
    int ends[2], others[2];
    loff_t from = 1, to = 0;
    CHECK_OK(pipe(ends));
    CHECK_OK(pipe2(others, O_NONBLOCK));
    CHECK_OK(ftruncate(out, 0));
    CHECK_OK(lseek(in, 0, SEEK_SET));
    CHECK_OK(lseek(out, 0, SEEK_SET));
    CHECK_EQ(splice(in, &from, ends[1], NULL, 4, SPLICE_F_MOVE), 4);
    CHECK(from == 5 && position(in) == 0);
    CHECK_EQ(splice(in, NULL, ends[1], NULL, 3, 0), 3);
    CHECK_EQ(position(in), 3);
    CHECK_EQ(tee(ends[0], others[1], 6, 0), 6); /* leaves it where it is */
    CHECK_EQ(splice(ends[0], NULL, out, NULL, 5, SPLICE_F_MORE), 5);
    CHECK_EQ(splice(others[0], NULL, out, NULL, 6, 0), 6);
    CHECK_EQ(position(out), 11);
    CHECK_EQ(splice(ends[0], NULL, out, &to, 100, 0), 2);
    CHECK(to == 2 && position(out) == 11);
    check_content(out, "12340123401");
    CHECK_FAILS(splice(others[0], NULL, out, NULL, 5, SPLICE_F_NONBLOCK), EAGAIN);
    CHECK_FAILS(tee(others[0], ends[1], 5, SPLICE_F_NONBLOCK), EAGAIN);
    CHECK_FAILS(splice(in, &from, ends[1], &to, 4, 0), ESPIPE);
    CHECK_FAILS(splice(in, NULL, out, NULL, 4, 0), EINVAL); /* neither is a pipe */
    CHECK_FAILS(tee(in, ends[1], 4, 0), EINVAL);

    struct iovec pieces[2] = {{"from", 4}, {"memory", 6}};
    char buffer[16] = "";
    struct iovec room = {buffer, 4};
    CHECK_EQ(vmsplice(ends[1], pieces, 2, 0), 10);
    CHECK_EQ(vmsplice(ends[0], &room, 1, 0), 4); /* out of the pipe */
    CHECK_TEXT(buffer, "from");
    CHECK_EQ(read(ends[0], buffer, opaque(sizeof buffer)), 6);
    CHECK_FAILS(vmsplice(in, pieces, 2, 0), EBADF);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(close(ends[i]));
        CHECK_OK(close(others[i]));
    }
}

/* More than fits into a pipe or a page. */
static void large(void)
{
    enum { BYTES = 1 << 20 };
    char *data = allocate(BYTES);
    int in = new_file("in"), out = new_file("out");
    fill_pattern(data, BYTES, 0, 1);
    CHECK_EQ(write(in, data, BYTES), BYTES);
    CHECK_OK(lseek(in, 0, SEEK_SET));
    long long moved = 0;
    for (ssize_t bytes; moved < BYTES / 2; moved += bytes) {
        bytes = copy_file_range(in, NULL, out, NULL, BYTES / 2 - moved, 0);
        CHECK(bytes > 0);
    }
    for (ssize_t bytes; moved < BYTES; moved += bytes) {
        bytes = sendfile(out, in, NULL, BYTES - moved);
        CHECK(bytes > 0);
    }
    memset(data, 0, BYTES);
    CHECK_EQ(pread(out, data, BYTES, 0), BYTES);
    check_pattern(data, BYTES, 0, 1);
    free(data);
    close_and_remove(in, "in");
    close_and_remove(out, "out");
}

void kernel_copies(void)
{
    int in = new_file("in"), out = new_file("out");
    CHECK_EQ(write(in, "0123456789", 10), 10);
    CHECK_OK(lseek(in, 0, SEEK_SET));
    ranges(in, out);
    sent(in, out);
    spliced(in, out);
    close_and_remove(in, "in");
    close_and_remove(out, "out");
    large();
}

void hints(void)
{
    int fd = new_file("file"), ends[2];
    CHECK_EQ(write(fd, "0123456789", 10), 10);
    for (int advice = POSIX_FADV_NORMAL; advice <= POSIX_FADV_NOREUSE; advice++)
        CHECK_OK(posix_fadvise(fd, 0, 0, advice));
    CHECK_OK(posix_fadvise64(fd, 1LL << 40, 4096, POSIX_FADV_WILLNEED));
    CHECK_EQ(posix_fadvise(fd, 0, 0, 77), EINVAL); /* the error is the result */
    CHECK_EQ(posix_fadvise(-1, 0, 0, POSIX_FADV_NORMAL), EBADF);
    CHECK_OK(readahead(fd, 0, 4096));
    CHECK_FAILS(readahead(-1, 0, 4096), EBADF);
    CHECK_OK(pipe(ends));
    CHECK_EQ(posix_fadvise(ends[0], 0, 0, POSIX_FADV_NORMAL), ESPIPE);
    CHECK_FAILS(readahead(ends[0], 0, 4096), EINVAL);
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
    close_and_remove(fd, "file");

    /* Around the page cache, where the file system can. */
    fd = open("file", O_RDWR | O_CREAT | O_EXCL | O_DIRECT, 0644);
    if (fd < 0) {
        CHECK_EQ(errno, EINVAL);
        unlink("file"); /* some kernels have made it by then */
        return;
    }
    enum { BLOCK = 4096 };
    void *block;
    CHECK_OK(posix_memalign(&block, BLOCK, BLOCK));
    fill_pattern(block, BLOCK, 0, 2);
    CHECK_EQ(write(fd, block, BLOCK), BLOCK);
    memset(block, 0, BLOCK);
    CHECK_EQ(pread(fd, block, BLOCK, 0), BLOCK);
    check_pattern(block, BLOCK, 0, 2);
    CHECK_EQ(fcntl(fd, F_GETFL) & O_DIRECT, O_DIRECT);
    free(block);
    close_and_remove(fd, "file");
}
