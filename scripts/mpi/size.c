/* Tells of how many ranks it is one. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
    int size;
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("%d\n", size);
    return MPI_Finalize();
}
