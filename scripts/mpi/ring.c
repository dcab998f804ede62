/* ring: every rank sends its neighbour 1 KiB and receives as much, again and again; alltoall: 64 bytes to each. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    static char out[1 << 16], in[1 << 16];
    int rank, size, rounds = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < rounds; i++) {
        if (!strcmp(argv[1], "ring"))
            MPI_Sendrecv(out, 1024, MPI_BYTE, (rank + 1) % size, 1, in, 1024, MPI_BYTE, (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Alltoall(out, 64, MPI_BYTE, in, 64, MPI_BYTE, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
