/* io_uring by system calls and mappings of the program's own. */
#include "surface.h"
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

struct raw_ring {
    int fd;
    struct io_uring_params params;
    char *queues, *completions;
    size_t bytes;
    struct io_uring_sqe *entries;
};

static unsigned *at(char *base, unsigned offset)
{
    return (unsigned *)(void *)(base + offset);
}

static int open_ring(struct raw_ring *ring, unsigned entries)
{
    memset(ring, 0, sizeof *ring);
    ring->fd = (int)syscall(SYS_io_uring_setup, entries, &ring->params);
    if (ring->fd < 0) {
        CHECK(errno == ENOSYS || errno == EPERM);
        printf("aio_surface: no io_uring here: %s\n", strerror(errno));
        return 0;
    }
    CHECK(ring->params.features & IORING_FEAT_SINGLE_MMAP);
    size_t sq = ring->params.sq_off.array + ring->params.sq_entries * sizeof(unsigned);
    size_t cq = ring->params.cq_off.cqes + ring->params.cq_entries * sizeof(struct io_uring_cqe);
    ring->bytes = sq > cq ? sq : cq;
    ring->queues = mmap(NULL, ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQ_RING);
    CHECK(ring->queues != MAP_FAILED);
    ring->entries = mmap(NULL, ring->params.sq_entries * sizeof *ring->entries, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQES);
    CHECK((void *)ring->entries != MAP_FAILED);
    return 1;
}

static void close_ring(struct raw_ring *ring)
{
    CHECK_OK(munmap(ring->entries, ring->params.sq_entries * sizeof *ring->entries));
    CHECK_OK(munmap(ring->queues, ring->bytes));
    CHECK_OK(close(ring->fd));
}

/* Puts an entry into the queue, at a place that is not the one it has in the order. */
static void put(struct raw_ring *ring, const struct io_uring_sqe *entry)
{
    unsigned *tail = at(ring->queues, ring->params.sq_off.tail);
    unsigned mask = *at(ring->queues, ring->params.sq_off.ring_mask);
    unsigned place = mask - (*tail & mask);
    ring->entries[place] = *entry;
    at(ring->queues, ring->params.sq_off.array)[*tail & mask] = place;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
}

struct result {
    unsigned long long tag;
    int value;
};

static struct result next_result(struct raw_ring *ring)
{
    unsigned *head = at(ring->queues, ring->params.cq_off.head);
    unsigned mask = *at(ring->queues, ring->params.cq_off.ring_mask);
    CHECK(__atomic_load_n(at(ring->queues, ring->params.cq_off.tail), __ATOMIC_ACQUIRE) != *head);
    const struct io_uring_cqe *all = (const void *)(ring->queues + ring->params.cq_off.cqes);
    struct result result = {all[*head & mask].user_data, all[*head & mask].res};
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return result;
}

void ring_by_number(void)
{
    static char data[BLOCK], read_back[BLOCK];
    struct raw_ring ring;
    if (!open_ring(&ring, 4))
        return;
    int fd = new_file("by-number");
    for (unsigned round = 0; round < 6; round++) {
        fill(data, (int)round);
        struct io_uring_sqe sqe = {
            .opcode = IORING_OP_WRITE,
            .fd = fd,
            .addr = (uintptr_t)data,
            .len = BLOCK,
            .off = round * BLOCK,
            .user_data = 50 + round,
        };
        put(&ring, &sqe);
        sqe.opcode = IORING_OP_NOP;
        sqe.user_data = 60 + round;
        put(&ring, &sqe);
        CHECK_EQ(syscall(SYS_io_uring_enter, ring.fd, 2, 2, IORING_ENTER_GETEVENTS, NULL, 0), 2);
        for (int i = 0; i < 2; i++) {
            struct result result = next_result(&ring);
            CHECK_EQ(result.value, result.tag < 60 ? BLOCK : 0);
        }
        CHECK_EQ(pread(fd, read_back, BLOCK, round * BLOCK), BLOCK);
        check_block(read_back, (int)round);
    }
    CHECK_OK(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_FILES, &fd, 1));
    CHECK_FAILS(syscall(SYS_io_uring_enter, 1000, 1, 0, 0, NULL, 0), EBADF);
    CHECK_FAILS(syscall(SYS_io_uring_setup, 4, opaque(8)), EFAULT);
    close_ring(&ring);
    close_and_remove(fd, "by-number");
}

/* One submission; then the ring is closed, its memory stays, and its number becomes that of a file, which is mapped. */
void ring_closed(void)
{
    enum { WORDS = 1024 };
    static unsigned words[WORDS];
    struct raw_ring ring;
    if (!open_ring(&ring, 4))
        return;
    put(&ring, &(struct io_uring_sqe){.opcode = IORING_OP_NOP, .user_data = 3000});
    CHECK_EQ(syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0), 1);
    CHECK_EQ(next_result(&ring).tag, 3000);
    CHECK_OK(close(ring.fd));
    CHECK_EQ(new_file("closed"), ring.fd);
    for (int i = 0; i < WORDS; i++)
        words[i] = 0x41414141;
    CHECK_EQ(write(ring.fd, words, sizeof words), sizeof words);
    const unsigned *mapped = mmap(NULL, sizeof words, PROT_READ, MAP_PRIVATE, ring.fd, 0);
    CHECK(mapped != MAP_FAILED);
    CHECK_EQ(mapped[0], words[0]);
    close_and_remove(ring.fd, "closed");
}
