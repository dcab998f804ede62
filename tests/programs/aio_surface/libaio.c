/* The kernel's asynchronous I/O, through libaio and by system calls. */
#include "surface.h"
#include <libaio.h>
#include <poll.h>
#include <sys/syscall.h>

void libaio_transfers(void)
{
    char data[6][BLOCK];
    struct iovec parts[2];
    struct iocb blocks[4], *list[4];
    struct io_event events[8];
    io_context_t context = NULL;
    int fd = new_file("libaio");
    for (int place = 0; place < 6; place++)
        fill(data[place], place);
    CHECK_EQ(io_setup(16, &context), 0);

    for (int i = 0; i < 4; i++)
        list[i] = &blocks[i];
    io_prep_pwrite(&blocks[0], fd, data[0], BLOCK, 0);
    io_prep_pwrite(&blocks[1], fd, data[1], BLOCK, BLOCK);
    parts[0] = (struct iovec){data[2], BLOCK};
    parts[1] = (struct iovec){data[3], BLOCK};
    io_prep_pwritev(&blocks[2], fd, parts, 2, 2 * BLOCK);
    CHECK_EQ(io_submit(context, 3, list), 3);
    CHECK_EQ(io_getevents(context, 3, 8, events, NULL), 3);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(events[i].res, events[i].obj == &blocks[2] ? 2 * BLOCK : BLOCK);

    io_prep_fsync(&blocks[0], fd);
    CHECK_EQ(io_submit(context, 1, list), 1);
    struct timespec minute = {.tv_sec = 60};
    CHECK_EQ(io_getevents(context, 1, 1, events, &minute), 1);
    CHECK_EQ(events[0].res, 0);

    memset(data, 0, sizeof data);
    io_prep_pread(&blocks[0], fd, data[0], BLOCK, 0);
    parts[0].iov_base = data[2];
    parts[1].iov_base = data[3];
    io_prep_preadv(&blocks[1], fd, parts, 2, 2 * BLOCK);
    io_prep_pread(&blocks[2], fd, data[4], BLOCK, 100 * BLOCK);
    CHECK_EQ(io_submit(context, 3, list), 3);
    CHECK_EQ(io_pgetevents(context, 3, 3, events, &minute, NULL), 3);
    check_block(data[0], 0);
    check_block(data[2], 2);
    check_block(data[3], 3);
    struct timespec none = {0};
    CHECK_EQ(io_getevents(context, 0, 1, events, &none), 0);

    int ends[2];
    CHECK_OK(pipe(ends));
    io_prep_poll(&blocks[0], ends[0], POLLIN);
    CHECK_EQ(io_submit(context, 1, list), 1);
    CHECK_EQ(write(ends[1], "x", 1), 1);
    CHECK_EQ(io_getevents(context, 1, 1, events, NULL), 1);
    CHECK_EQ(events[0].res & POLLIN, POLLIN);
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
    CHECK_EQ(io_destroy(context), 0);
    close_and_remove(fd, "libaio");
}

/* What the kernel refuses it must refuse as before, and what it takes before that counts. */
void libaio_refusals(void)
{
    char data[BLOCK];
    struct iocb good, bad, *list[2] = {&good, &bad};
    struct io_event event;
    io_context_t context = NULL;
    int fd = new_file("refused");
    fill(data, 0);
    CHECK_EQ(io_setup(-1, &context), -EINVAL);
    CHECK_EQ(io_setup(4, &context), 0);
    io_prep_pwrite(&good, fd, data, BLOCK, 0);
    io_prep_pwrite(&bad, 1000, data, BLOCK, 0);
    CHECK_EQ(io_submit(context, 2, list), 1);
    CHECK_EQ(io_getevents(context, 1, 1, &event, NULL), 1);
    CHECK_EQ(io_submit(context, 1, &list[1]), -EBADF);
    CHECK_EQ(io_submit(context, -1, list), -EINVAL);
    CHECK_EQ(io_submit(context, 1, (struct iocb **)(uintptr_t)opaque(8)), -EFAULT);
    list[1] = (struct iocb *)(uintptr_t)opaque(8);
    CHECK_EQ(io_submit(context, 1, &list[1]), -EFAULT);
    CHECK(io_cancel(context, &good, &event) < 0);
    errno = 0;
    CHECK_EQ(io_destroy(context), 0);
    CHECK_EQ(io_destroy(context), -EINVAL);
    CHECK_EQ(errno, 0); /* libaio leaves it alone */
    close_and_remove(fd, "refused");
}

static int completed;

static void on_completion(io_context_t context, struct iocb *block, long result, long second)
{
    (void)context;
    (void)block;
    CHECK_EQ(result, BLOCK);
    CHECK_EQ(second, 0);
    completed++;
}

void libaio_queue(void)
{
    char data[BLOCK];
    struct iocb block, *list[1] = {&block};
    io_context_t context = NULL;
    int fd = new_file("queue");
    fill(data, 5);
    CHECK_EQ(io_queue_init(4, &context), 0);
    io_prep_pwrite(&block, fd, data, BLOCK, 0);
    io_set_callback(&block, on_completion);
    CHECK_EQ(io_submit(context, 1, list), 1);
    while (completed == 0)
        CHECK_EQ(io_queue_run(context), 0);
    CHECK_EQ(completed, 1);
    CHECK_EQ(io_queue_release(context), 0);
    close_and_remove(fd, "queue");
}

void libaio_by_number(void)
{
    char data[2][BLOCK];
    struct iocb block, *list[1] = {&block};
    struct io_event event;
    unsigned long context = 0;
    int fd = new_file("numbered");
    fill(data[0], 7);
    CHECK_OK(syscall(SYS_io_setup, 4, &context));
    io_prep_pwrite(&block, fd, data[0], BLOCK, BLOCK);
    CHECK_EQ(syscall(SYS_io_submit, context, 1L, list), 1);
    CHECK_EQ(syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL), 1);
    CHECK_EQ(event.res, BLOCK);
    io_prep_pread(&block, fd, data[1], BLOCK, BLOCK);
    CHECK_EQ(syscall(SYS_io_submit, context, 1L, list), 1);
    CHECK_EQ(syscall(SYS_io_pgetevents, context, 1L, 1L, &event, NULL, NULL), 1);
    check_block(data[1], 7);
    CHECK_FAILS(syscall(SYS_io_submit, context, 1L, opaque(8)), EFAULT);
    CHECK_OK(syscall(SYS_io_destroy, context));
    CHECK_FAILS(syscall(SYS_io_destroy, context), EINVAL);
    close_and_remove(fd, "numbered");
}
