/* Fitness: ranks read disjoint parts of one file in turn, one after the other.
 *
 * Rank r waits for a message from rank r - 1, reads its part block by block, and sends a message to rank r + 1; with
 * several rounds the last rank starts the next round at rank 0. No two ranks ever read at the same time, so a replay
 * that loses the messages reads N times too much at once. The file is made by rank 0 before a barrier, or by an
 * earlier call with --prepare and used with --prepared, for reads that no write of the same run precedes.
 *
 * Verifies every word that is read, and that the turn arrives in order.
 * Source: the Fitness workload generator in Mesnier et al., "//TRACE", FAST'07, section 5.
 */
#include "common_mpi.h"
#include <fcntl.h>

enum { TURN = 7, SEED = 42 };

static const char *dir = ".";
static long long bytes = 1 << 20, block = 64 << 10, rounds = 1, compute = 0;
static int prepare, prepared;
static int rank, ranks;

static void make_file(const char *path, void *buffer)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    for (off_t offset = 0; offset < bytes * ranks; offset += block) {
        fill_pattern(buffer, block, offset, SEED);
        CHECK_EQ(write(fd, buffer, block), block);
    }
    CHECK_OK(close(fd));
}

static void read_part(int fd, void *buffer)
{
    CHECK_EQ(lseek(fd, rank * bytes, SEEK_SET), rank * bytes);
    for (off_t offset = rank * bytes; offset < (rank + 1) * bytes; offset += block) {
        CHECK_EQ(read(fd, buffer, block), block);
        check_pattern(buffer, block, offset, SEED);
        work(compute);
    }
}

/* The turn carries how many parts have been read before. */
static void take_turns(int fd, void *buffer)
{
    for (long long round = 0; round < rounds; round++) {
        long long turn = round * ranks + rank, parts_read = turn;
        if (turn > 0 && ranks > 1)
            MPI_Recv(&parts_read, 1, MPI_LONG_LONG, (rank + ranks - 1) % ranks, TURN, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK_EQ(parts_read, turn);
        read_part(fd, buffer);
        parts_read++;
        if (parts_read < rounds * ranks && ranks > 1)
            MPI_Send(&parts_read, 1, MPI_LONG_LONG, (rank + 1) % ranks, TURN, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    start_mpi(&argc, &argv, &rank, &ranks);
    const struct setting settings[] = {
        {"--dir", TEXT, &dir, "folder of the file (.)"},
        {"--bytes", NUMBER, &bytes, "bytes that each rank reads, a multiple of the block (1M)"},
        {"--block", NUMBER, &block, "bytes of one read, a multiple of 8 (64k)"},
        {"--steps", NUMBER, &rounds, "rounds of turns (1)"},
        {"--compute", NUMBER, &compute, "units of work after each read (0)"},
        {"--prepare", FLAG, &prepare, "make the file for this number of ranks, and nothing else"},
        {"--prepared", FLAG, &prepared, "the file is there"},
        {NULL, FLAG, NULL, NULL},
    };
    parse_options(argc, argv, settings);
    REQUIRE(block > 0 && block % 8 == 0 && bytes % block == 0);

    char *path = path_in(dir, "fitness.data");
    void *buffer = allocate(block);
    if (rank == 0 && !prepared)
        make_file(path, buffer);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!prepare) {
        int fd = open(path, O_RDONLY);
        CHECK(fd >= 0);
        take_turns(fd, buffer);
        CHECK_OK(close(fd));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && prepare)
        printf("fitness: %lld bytes prepared\n", bytes * ranks);
    else if (rank == 0)
        printf("fitness: %lld bytes verified in %lld turns, %lld units of work\n", rounds * ranks * bytes,
               rounds * ranks, rounds * ranks * (bytes / block) * compute);
    free(buffer);
    free(path);
    MPI_Finalize();
    return 0;
}
