/* Writes a file through MPI as benchmarks and applications do, and computes between: scripts/bench-mpi-io.
   files MODE FILE ROUNDS [BLOCK]: collective, independent, shared and split write a block of each rank a round (as IOR does with a
   segment a round), strided parts of the rows of an array by a view (as BT-IO does). Each round computes for 5 ms. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void compute(void) {
    volatile double sum = 0;
    for (double end = now(CLOCK_THREAD_CPUTIME_ID) + 0.005; now(CLOCK_THREAD_CPUTIME_ID) < end;)
        for (int i = 0; i < 1000; i++) sum += i;
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 4) MPI_Abort(MPI_COMM_WORLD, 2);
    const char *mode = argv[1];
    int rounds = atoi(argv[3]), block = argc > 4 ? atoi(argv[4]) : 1 << 20;
    char *data = malloc(block);
    memset(data, rank, block);
    if (MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) MPI_Abort(MPI_COMM_WORLD, 1);
    if (!strcmp(mode, "strided")) {
        MPI_Datatype part;
        int rows = 64, row = block / rows / 8;
        int all[2] = {rows, row * size}, mine[2] = {rows, row}, first[2] = {0, row * rank};
        MPI_Type_create_subarray(2, all, mine, first, MPI_ORDER_C, MPI_DOUBLE, &part);
        MPI_Type_commit(&part);
        MPI_File_set_view(file, 0, MPI_DOUBLE, part, "native", MPI_INFO_NULL);
    }
    for (int round = 0; round < rounds; round++) {
        MPI_Offset at = ((MPI_Offset)round * size + rank) * block;
        compute();
        if (!strcmp(mode, "collective")) MPI_File_write_at_all(file, at, data, block, MPI_BYTE, MPI_STATUS_IGNORE);
        if (!strcmp(mode, "independent")) MPI_File_write_at(file, at, data, block, MPI_BYTE, MPI_STATUS_IGNORE);
        if (!strcmp(mode, "shared")) MPI_File_write_shared(file, data, block, MPI_BYTE, MPI_STATUS_IGNORE);
        if (!strcmp(mode, "strided")) MPI_File_write_all(file, data, block / 8, MPI_DOUBLE, MPI_STATUS_IGNORE);
        if (!strcmp(mode, "split")) {
            MPI_File_write_at_all_begin(file, at, data, block, MPI_BYTE);
            compute();
            MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE);
        }
    }
    MPI_File_sync(file);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
