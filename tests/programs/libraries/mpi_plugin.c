/* An MPI program in a library, as Python has it: nobody has loaded an MPI library before. Every rank sends 64 bytes around a
 * ring and writes eight bytes to `<name>.<rank>`. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int plugin_run(const char *name)
{
    char out[64] = "around", in[64], file[256];
    int rank, ranks;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Sendrecv(out, 64, MPI_CHAR, (rank + 1) % ranks, 1, in, 64, MPI_CHAR, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    snprintf(file, sizeof file, "%s.%d", name, rank);
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int good = fd >= 0 && write(fd, "received", 8) == 8 && close(fd) == 0;
    MPI_Finalize();
    return good ? 0 : 1;
}
