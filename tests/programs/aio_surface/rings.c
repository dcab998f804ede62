/* io_uring through liburing. */
#include "surface.h"
#include <liburing.h>
#include <poll.h>
#include <sys/syscall.h>

/* A ring with these flags; 0 where the kernel does not have it. */
static int make_ring(struct io_uring *ring, unsigned entries, unsigned flags)
{
    int error = io_uring_queue_init(entries, ring, flags);
    if (error == 0)
        return 1;
    CHECK(error == -ENOSYS || error == -EPERM || error == -EINVAL);
    printf("aio_surface: no io_uring with flags %#x here: %s\n", flags, strerror(-error));
    return 0;
}

static struct io_uring_sqe *entry(struct io_uring *ring)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    CHECK(sqe != NULL);
    return sqe;
}

/* Takes the completion of the request with this tag, the only one under way. */
static int result_of(struct io_uring *ring, unsigned long tag)
{
    struct io_uring_cqe *cqe;
    CHECK_EQ(io_uring_wait_cqe(ring, &cqe), 0);
    CHECK_EQ(cqe->user_data, tag);
    int result = cqe->res;
    io_uring_cqe_seen(ring, cqe);
    return result;
}

/* Takes all of `count` completions, which succeed with `each` bytes. */
static void take(struct io_uring *ring, unsigned count, int each)
{
    for (; count > 0; count--) {
        struct io_uring_cqe *cqe;
        CHECK_EQ(io_uring_wait_cqe(ring, &cqe), 0);
        CHECK_EQ(cqe->res, each);
        io_uring_cqe_seen(ring, cqe);
    }
}

void ring_transfers(void)
{
    enum { COUNT = 6 };
    static char data[COUNT][BLOCK];
    struct iovec parts[2];
    struct io_uring_cqe *cqes[COUNT];
    struct io_uring ring;
    struct io_uring_sqe *sqe;
    if (!make_ring(&ring, 8, 0))
        return;
    int fd = new_file("ring");
    for (int place = 0; place < COUNT; place++) {
        fill(data[place], place);
        io_uring_prep_write(sqe = entry(&ring), fd, data[place], BLOCK, (unsigned)place * BLOCK);
        io_uring_sqe_set_data64(sqe, 100 + (unsigned)place);
    }
    CHECK_EQ(io_uring_submit(&ring), COUNT);
    take(&ring, COUNT, BLOCK);

    /* One hand-over of two that depend on each other. */
    parts[0] = (struct iovec){data[1], BLOCK};
    parts[1] = (struct iovec){data[0], BLOCK};
    io_uring_prep_writev(sqe = entry(&ring), fd, parts, 2, COUNT * BLOCK);
    sqe->flags |= IOSQE_IO_LINK;
    io_uring_sqe_set_data64(sqe, 200);
    io_uring_prep_fsync(sqe = entry(&ring), fd, IORING_FSYNC_DATASYNC);
    io_uring_sqe_set_data64(sqe, 201);
    CHECK_EQ(io_uring_submit_and_wait(&ring, 2), 2);
    CHECK_EQ(io_uring_peek_batch_cqe(&ring, cqes, COUNT), 2);
    CHECK_EQ(cqes[0]->res, 2 * BLOCK);
    CHECK_EQ(cqes[1]->res, 0);
    io_uring_cq_advance(&ring, 2);

    memset(data, 0, sizeof data);
    io_uring_prep_readv(sqe = entry(&ring), fd, parts, 2, COUNT * BLOCK);
    io_uring_sqe_set_data64(sqe, 300);
    struct __kernel_timespec minute = {.tv_sec = 60};
    CHECK_EQ(io_uring_submit_and_wait_timeout(&ring, cqes, 1, &minute, NULL), 1);
    CHECK_EQ(result_of(&ring, 300), 2 * BLOCK);
    check_block(data[0], 0);
    check_block(data[1], 1);

    /* More than once around the queues. */
    for (unsigned round = 0; round < 20; round++) {
        unsigned place = round % COUNT;
        io_uring_prep_read(sqe = entry(&ring), fd, data[place], BLOCK, place * BLOCK);
        io_uring_sqe_set_data64(sqe, 400 + round);
        CHECK_EQ(io_uring_submit(&ring), 1);
        CHECK_EQ(result_of(&ring, 400 + round), BLOCK);
        check_block(data[place], (int)place);
    }
    io_uring_prep_read(sqe = entry(&ring), 1000, data[0], BLOCK, 0);
    io_uring_sqe_set_data64(sqe, 500);
    CHECK_EQ(io_uring_submit(&ring), 1);
    CHECK_EQ(result_of(&ring, 500), -EBADF);
    CHECK_EQ(io_uring_peek_batch_cqe(&ring, cqes, COUNT), 0);
    CHECK_EQ(io_uring_peek_cqe(&ring, cqes), -EAGAIN);
    io_uring_queue_exit(&ring);
    close_and_remove(fd, "ring");
}

void ring_registered(void)
{
    static char data[2][BLOCK];
    struct io_uring ring;
    struct io_uring_sqe *sqe;
    if (!make_ring(&ring, 4, 0))
        return;
    int other = new_file("unused"), fd = new_file("registered"), fds[2] = {-1, fd};
    struct iovec buffers[2] = {{data[0], BLOCK}, {data[1], BLOCK}};
    CHECK_EQ(io_uring_register_files(&ring, fds, 2), 0);
    CHECK_EQ(io_uring_register_buffers(&ring, buffers, 2), 0);
    CHECK_EQ(io_uring_register_files_update(&ring, 0, &other, 1), 1);
    CHECK_OK(close(fd)); /* the ring keeps the file */
    fill(data[0], 3);
    io_uring_prep_write_fixed(sqe = entry(&ring), 1, data[0], BLOCK, BLOCK, 0);
    sqe->flags |= IOSQE_FIXED_FILE;
    CHECK_EQ(io_uring_submit(&ring), 1);
    take(&ring, 1, BLOCK);
    io_uring_prep_read_fixed(sqe = entry(&ring), 1, data[1], BLOCK, BLOCK, 1);
    sqe->flags |= IOSQE_FIXED_FILE;
    CHECK_EQ(io_uring_submit(&ring), 1);
    take(&ring, 1, BLOCK);
    check_block(data[1], 3);
    CHECK_EQ(io_uring_unregister_buffers(&ring), 0);
    CHECK_EQ(io_uring_unregister_files(&ring), 0);
    io_uring_queue_exit(&ring);
    CHECK_OK(unlink("registered"));
    close_and_remove(other, "unused");
}

/* Opening and closing through the ring. */
void ring_descriptors(void)
{
    char data[2][BLOCK];
    struct io_uring ring;
    struct io_uring_sqe *sqe;
    if (!make_ring(&ring, 4, 0))
        return;
    io_uring_prep_openat(sqe = entry(&ring), AT_FDCWD, "opened", O_RDWR | O_CREAT | O_EXCL, 0644);
    io_uring_sqe_set_data64(sqe, 1);
    CHECK_EQ(io_uring_submit(&ring), 1);
    int fd = result_of(&ring, 1);
    CHECK(fd >= 0);
    fill(data[0], 9);
    io_uring_prep_write(sqe = entry(&ring), fd, data[0], BLOCK, 0);
    io_uring_sqe_set_data64(sqe, 2);
    CHECK_EQ(io_uring_submit_and_wait(&ring, 1), 1);
    CHECK_EQ(result_of(&ring, 2), BLOCK);
    CHECK_EQ(pread(fd, data[1], BLOCK, 0), BLOCK);
    check_block(data[1], 9);
    io_uring_prep_close(sqe = entry(&ring), fd);
    io_uring_sqe_set_data64(sqe, 3);
    CHECK_EQ(io_uring_submit(&ring), 1);
    CHECK_EQ(result_of(&ring, 3), 0);
    CHECK_FAILS(close(fd), EBADF);
    io_uring_queue_exit(&ring);
    CHECK_OK(unlink("opened"));
}

/* One submission, several completions. */
void ring_multishot(void)
{
    struct io_uring ring;
    struct io_uring_sqe *sqe;
    int ends[2];
    if (!make_ring(&ring, 4, 0))
        return;
    CHECK_OK(pipe(ends));
    io_uring_prep_poll_multishot(sqe = entry(&ring), ends[0], POLLIN);
    io_uring_sqe_set_data64(sqe, 11);
    CHECK_EQ(io_uring_submit(&ring), 1);
    for (int i = 0; i < 3; i++) {
        char byte;
        CHECK_EQ(write(ends[1], "x", 1), 1);
        struct io_uring_cqe *cqe;
        CHECK_EQ(io_uring_wait_cqe(&ring, &cqe), 0);
        CHECK_EQ(cqe->user_data, 11);
        CHECK(cqe->flags & IORING_CQE_F_MORE);
        io_uring_cqe_seen(&ring, cqe);
        CHECK_EQ(read(ends[0], &byte, 1), 1);
    }
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
    io_uring_queue_exit(&ring);
}

/* Entries and completions of double size. */
void ring_wide(void)
{
    enum { COUNT = 10 };
    struct io_uring ring;
    if (!make_ring(&ring, 4, IORING_SETUP_SQE128 | IORING_SETUP_CQE32))
        return;
    for (unsigned i = 0; i < COUNT; i++) {
        struct io_uring_sqe *sqe = entry(&ring);
        io_uring_prep_nop(sqe);
        io_uring_sqe_set_data64(sqe, 1000 + i);
        CHECK_EQ(io_uring_submit(&ring), 1);
        CHECK_EQ(result_of(&ring, 1000 + i), 0);
    }
    io_uring_queue_exit(&ring);
}

/* The kernel takes submissions without a call. */
void ring_polled(void)
{
    enum { COUNT = 12 };
    static char data[BLOCK];
    struct io_uring ring;
    if (!make_ring(&ring, 4, IORING_SETUP_SQPOLL))
        return;
    int fd = new_file("polled");
    for (unsigned place = 0; place < COUNT; place++) {
        fill(data, (int)place);
        struct io_uring_sqe *sqe;
        while (!(sqe = io_uring_get_sqe(&ring)))
            CHECK_EQ(io_uring_sqring_wait(&ring), 0);
        io_uring_prep_write(sqe, fd, data, BLOCK, place * BLOCK);
        io_uring_sqe_set_data64(sqe, place);
        CHECK_EQ(io_uring_submit(&ring), 1);
        CHECK_EQ(result_of(&ring, place), BLOCK);
    }
    io_uring_queue_exit(&ring);
    close_and_remove(fd, "polled");
}

/* The program ends with completions that nobody has asked for. */
void ring_left(void)
{
    static struct io_uring ring;
    struct io_uring_sqe *sqe;
    if (!make_ring(&ring, 4, 0))
        return;
    for (unsigned tag = 0; tag < 3; tag++) {
        io_uring_prep_nop(sqe = entry(&ring));
        io_uring_sqe_set_data64(sqe, 2000 + tag);
        CHECK_EQ(io_uring_submit(&ring), 1);
    }
    /* Taken out without a call. */
    while (io_uring_cq_ready(&ring) < 3)
        ;
    io_uring_cq_advance(&ring, 3);
}

/* Functions that liburing has since 2.4, 2.6 and 2.8. */
void ring_later(void)
{
#if IO_URING_VERSION_MAJOR * 100 + IO_URING_VERSION_MINOR >= 208
    enum { ENTRIES = 4, GROUP = 7 };
    static char data[BLOCK];
    struct io_uring ring, other;
    struct io_uring_napi napi = {.busy_poll_to = 1};
    struct io_uring_clock_register clock = {.clockid = CLOCK_BOOTTIME};
    struct iovec part = {data, BLOCK};
    uint16_t head = 9;
    int error = 0;
    if (!make_ring(&ring, 4, 0) || !make_ring(&other, 4, 0))
        return;
    struct io_uring_buf_ring *buffers = io_uring_setup_buf_ring(&ring, ENTRIES, GROUP, 0, &error);
    CHECK(buffers != NULL);
    CHECK_EQ(io_uring_buf_ring_head(&ring, GROUP, &head), 0);
    CHECK_EQ(head, 0);
    CHECK(io_uring_setup_buf_ring(&ring, ENTRIES, GROUP, 0, &error) == NULL);
    CHECK_EQ(error, -EEXIST);
    CHECK_EQ(io_uring_free_buf_ring(&ring, buffers, ENTRIES, GROUP), 0);
    /* As the kernel was built. */
    io_uring_register_napi(&ring, &napi);
    io_uring_unregister_napi(&ring, &napi);
    io_uring_register_clock(&ring, &clock);
    CHECK_EQ(io_uring_register_buffers(&ring, &part, 1), 0);
    int cloned = io_uring_clone_buffers(&other, &ring);
    CHECK(cloned == 0 || cloned == -EINVAL);
    io_uring_queue_exit(&other);
    /* From here on the ring has a number of its thread, and no descriptor. */
    CHECK_EQ(io_uring_register_ring_fd(&ring), 1);
    for (unsigned tag = 4000; tag < 4004; tag++) {
        struct io_uring_sqe *sqe = entry(&ring);
        io_uring_prep_nop(sqe);
        io_uring_sqe_set_data64(sqe, tag);
        CHECK_EQ(io_uring_submit(&ring), 1);
        CHECK_EQ(result_of(&ring, tag), 0);
        if (tag == 4001)
            CHECK_EQ(io_uring_close_ring_fd(&ring), 1);
    }
    io_uring_queue_exit(&ring);
#else
    printf("aio_surface: no io_uring of liburing 2.8 here\n");
#endif
}
