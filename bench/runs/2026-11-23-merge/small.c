/* 32 ranks: small collectives and neighbour exchanges. */
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, size, rounds = argc > 1 ? atoi(argv[1]) : 1000;
    double in[64] = {0}, out[64] = {0}, a[8] = {0}, b[8] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < rounds; i++) {
        MPI_Request r[4];
        int left = (rank + size - 1) % size, right = (rank + 1) % size;
        MPI_Irecv(a, 8, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(b, 8, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &r[1]);
        MPI_Isend(in, 8, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &r[2]);
        MPI_Isend(in, 8, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &r[3]);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        MPI_Sendrecv(in, 8, MPI_DOUBLE, right, 3, out, 8, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (i % 4 == 0) MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (i % 16 == 0) MPI_Bcast(out, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
