/* Calls of every kind, on two ranks or more; checks what it gets. The first argument is the name of a file to be made. Which
 * header declares MPI depends on the MPI that it is built for. */
#ifdef STANDARD_ABI
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                              \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            fprintf(stderr, "calls: %s, line %d\n", #condition, __LINE__);                                            \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                             \
        }                                                                                                             \
    } while (0)

static int rank, ranks, right, left;

static void messages(void)
{
    int out[4] = {rank, 1, 2, 3}, in[4];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int round = 0; round < 20; round++) {
        MPI_Irecv(in, 4, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, 3, MPI_INT, right, 7, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        CHECK(in[0] == left && statuses[0].MPI_SOURCE == left && statuses[0].MPI_TAG == 7);
    }
    MPI_Sendrecv(out, 4, MPI_INT, right, 1, in, 4, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send_init(out, 4, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, 4, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Message message;
    MPI_Isend(out, 2, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Mprobe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &statuses[0]);
    MPI_Mrecv(in, 4, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Send(out, 4, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
#ifdef LARGE_COUNTS
    MPI_Isend_c(out, 4, MPI_INT, right, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_c(in, 4, MPI_INT, left, 4, MPI_COMM_WORLD, &statuses[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Count sum, one = 1;
    MPI_Allreduce_c(&one, &sum, 1, MPI_COUNT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == ranks && in[0] == left);
#endif
}

static void collectives(void)
{
    int one = 1, sum = 0, counts[64], places[64], all[64];
    for (int index = 0; index < ranks; index++)
        counts[index] = 1, places[index] = index;
    for (int round = 0; round < 10; round++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == ranks);
    MPI_Bcast(&sum, 1, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Gatherv(&rank, 1, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Alltoallv(all, counts, places, MPI_INT, all + 32, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Request requests[3];
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibcast(all, 4, MPI_INT, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Comm half, grid, copy;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Barrier(half);
    int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &grid);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, grid);
    CHECK(all[0] == left && all[1] == right);
    MPI_Comm_idup(grid, &copy, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&half);
}

static void windows(void)
{
    int *memory, value = rank;
    MPI_Win win;
    MPI_Win_allocate(4 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, right, 1, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(memory[1] == left);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    MPI_Accumulate(&value, 1, MPI_INT, right, 2, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Win_flush(right, win);
    MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
}

static void files(const char *name)
{
    MPI_File file;
    MPI_Status status;
    int numbers[4] = {rank, 1, 2, 3}, count;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_at_all(file, 4 * rank, numbers, 4, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 4);
    /* Another rank may have written it, and is not done before that (MPI 4.1, section 14.6.1). */
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    MPI_File_seek(file, 4 * rank, MPI_SEEK_SET);
    MPI_File_read(file, numbers, 2, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(numbers[0] == rank);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(ranks >= 2 && ranks <= 32);
    right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    messages();
    collectives();
    windows();
    files(argv[1]);
    MPI_Finalize();
    return 0;
}
