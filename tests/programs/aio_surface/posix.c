/* POSIX asynchronous I/O: libc's own threads make the transfers. */
#include "surface.h"
#include <aio.h>
#include <dirent.h>
#include <sched.h>
#include <time.h>

static struct aiocb block_at(int fd, char *data, int place)
{
    return (struct aiocb){
        .aio_fildes = fd,
        .aio_buf = data,
        .aio_nbytes = BLOCK,
        .aio_offset = (off_t)place * BLOCK,
        .aio_sigevent.sigev_notify = SIGEV_NONE,
    };
}

static void wait_for(const struct aiocb *block)
{
    while (aio_error(block) == EINPROGRESS)
        CHECK_OK(aio_suspend(&block, 1, NULL));
}

void posix_transfers(void)
{
    char written[BLOCK], read_back[BLOCK];
    int fd = new_file("posix");
    for (int place = 0; place < 3; place++) {
        fill(written, place);
        struct aiocb block = block_at(fd, written, place);
        CHECK_OK(aio_write(&block));
        wait_for(&block);
        CHECK_EQ(aio_error(&block), 0);
        CHECK_EQ(aio_return(&block), BLOCK);
        CHECK_EQ(aio_cancel(fd, &block), AIO_ALLDONE);
    }
    struct aiocb sync = block_at(fd, NULL, 0);
    CHECK_OK(aio_fsync(O_DSYNC, &sync));
    wait_for(&sync);
    CHECK_EQ(aio_return(&sync), 0);

    struct aiocb64 last = {.aio_fildes = fd, .aio_buf = read_back, .aio_nbytes = 2 * BLOCK, .aio_offset = 2 * BLOCK};
    last.aio_nbytes = BLOCK;
    last.aio_sigevent.sigev_notify = SIGEV_NONE;
    CHECK_OK(aio_read64(&last));
    const struct aiocb64 *waited[2] = {NULL, &last};
    const struct timespec minute = {.tv_sec = 60};
    CHECK_OK(aio_suspend64(waited, 2, &minute));
    CHECK_EQ(aio_error64(&last), 0);
    CHECK_EQ(aio_return64(&last), BLOCK);
    check_block(read_back, 2);

    /* A transfer that fails says why in its control block only. */
    int closed = dup(fd);
    CHECK_OK(close(closed));
    struct aiocb bad = block_at(closed, read_back, 0);
    CHECK_OK(aio_read(&bad));
    wait_for(&bad);
    CHECK_EQ(aio_error(&bad), EBADF);
    CHECK_EQ(aio_return(&bad), -1);
    bad.aio_reqprio = -1;
    CHECK_FAILS(aio_read(&bad), EINVAL);
    close_and_remove(fd, "posix");
}

void posix_lists(void)
{
    enum { COUNT = 4 };
    static char data[COUNT][BLOCK];
    struct aiocb blocks[COUNT];
    struct aiocb *list[COUNT + 2] = {NULL};
    int fd = new_file("list");
    for (int place = 0; place < COUNT; place++) {
        fill(data[place], place);
        blocks[place] = block_at(fd, data[place], place);
        blocks[place].aio_lio_opcode = LIO_WRITE;
        list[place + 1] = &blocks[place];
    }
    CHECK_OK(lio_listio(LIO_WAIT, list, COUNT + 2, NULL));
    for (int place = 0; place < COUNT; place++) {
        CHECK_EQ(aio_return(&blocks[place]), BLOCK);
        memset(data[place], 0, BLOCK);
        blocks[place].aio_lio_opcode = place == 0 ? LIO_NOP : LIO_READ;
    }
    CHECK_OK(lio_listio(LIO_NOWAIT, list, COUNT + 2, NULL));
    for (int place = 1; place < COUNT; place++) {
        wait_for(&blocks[place]);
        CHECK_EQ(aio_return(&blocks[place]), BLOCK);
        check_block(data[place], place);
    }
    /* What libc refuses it has not looked at. */
    struct aiocb *nowhere = (struct aiocb *)(uintptr_t)opaque(8);
    CHECK_FAILS(lio_listio(77, (struct aiocb **)nowhere, 1, NULL), EINVAL);
    CHECK_FAILS(aio_fsync(77, nowhere), EINVAL);
    close_and_remove(fd, "list");
}

static int entries_of(const char *folder)
{
    DIR *directory = opendir(folder);
    CHECK(directory != NULL);
    int count = 0;
    while (readdir(directory))
        count++;
    CHECK_OK(closedir(directory));
    return count;
}

static int mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    int lines = 0, c;
    while ((c = getc(maps)) != EOF)
        lines += c == '\n';
    CHECK_OK(fclose(maps));
    return lines;
}

/* libc's threads end when they have had nothing to do for a second, and take with them what belonged to them. */
void posix_idle(void)
{
    enum { ROUNDS = 4, ONE_TASK = 3 }; /* with the folder itself and the one above */
    struct aioinit settings = {.aio_threads = 1, .aio_num = 1, .aio_idle_time = 1};
    aio_init(&settings);
    int fd = new_file("idle"), lines[ROUNDS];
    /* A recorder keeps a page of its file's beginning when it maps more of it for the first time: that is behind us then. */
    for (int call = 0; call < 4000; call++)
        CHECK_EQ(lseek(fd, call, SEEK_SET), call);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    for (int round = 0; round < ROUNDS; round++) {
        char data[BLOCK];
        fill(data, round);
        struct aiocb block = block_at(fd, data, round);
        CHECK_OK(aio_write(&block));
        wait_for(&block);
        CHECK_EQ(aio_return(&block), BLOCK);
        struct timespec limit, now;
        CHECK_OK(clock_gettime(CLOCK_MONOTONIC, &limit));
        limit.tv_sec += 30;
        while (entries_of("/proc/self/task") > ONE_TASK) {
            CHECK_OK(clock_gettime(CLOCK_MONOTONIC, &now));
            CHECK(now.tv_sec < limit.tv_sec);
            usleep(20000);
        }
        lines[round] = mappings();
    }
    CHECK_EQ(lines[ROUNDS - 1], lines[1]);
    close_and_remove(fd, "idle");
}
