/* Time of calls of MPI between ranks, nanoseconds per call: messages of 8 bytes there and back between neighbours, a sum of all, and
   8 bytes put into a neighbour's window. Blocks of calls are timed; the median block counts. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 101 };
static int rank, size, rounds;
static double times[BLOCKS];

static int compare(const void *one, const void *other)
{
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

static void tell(const char *what, int calls)
{
    qsort(times, BLOCKS, sizeof *times, compare);
    if (rank == 0) printf("%d ranks: %s,%.2f\n", size, what, times[BLOCKS / 2] * 1e9 / rounds / calls);
}

int main(int argc, char **argv)
{
    double out = 1, in, *memory;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rounds = argc > 1 ? atoi(argv[1]) : 1000;
    int other = rank ^ 1;
    for (int block = 0; block < BLOCKS; block++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int round = 0; round < rounds; round++) {
            if (rank % 2 == 0) MPI_Send(&out, 8, MPI_BYTE, other, 0, MPI_COMM_WORLD);
            MPI_Recv(&in, 8, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank % 2 == 1) MPI_Send(&out, 8, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        }
        times[block] = MPI_Wtime() - start;
    }
    tell("send recv", 2);
    for (int block = 0; block < BLOCKS; block++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int round = 0; round < rounds; round++) MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        times[block] = MPI_Wtime() - start;
    }
    tell("allreduce", 1);
    MPI_Win_allocate(sizeof out, sizeof out, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    for (int block = 0; block < BLOCKS; block++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int round = 0; round < rounds; round++) {
            MPI_Put(&out, 1, MPI_DOUBLE, other, 0, 1, MPI_DOUBLE, win);
            MPI_Win_flush(other, win);
        }
        times[block] = MPI_Wtime() - start;
    }
    tell("put flush", 2);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
