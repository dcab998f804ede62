/* Turns: two ranks take turns by MPI and nothing else; in each turn a byte is written to a file of the rank's own.
 *
 *   turns message|barrier [TURNS OF EACH]
 *
 * Rank 0 writes to "a", rank 1 to "b". Verifies nothing of its own: that turns are in order is MPI's matter.
 */
#include "../common_mpi.h"
#include <fcntl.h>

enum { ROUNDS = 4 };

static void pass_by_message(int rank, int turn)
{
    char byte = 0;
    if (rank == turn)
        MPI_Send(&byte, 1, MPI_BYTE, !rank, turn, MPI_COMM_WORLD);
    else
        MPI_Recv(&byte, 1, MPI_BYTE, !rank, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    start_mpi(&argc, &argv, &rank, &ranks);
    CHECK(argc == 2 || argc == 3);
    CHECK_EQ(ranks, 2);
    int rounds = argc == 3 ? atoi(argv[2]) : ROUNDS;
    int by_barrier = strcmp(argv[1], "barrier") == 0;
    CHECK(by_barrier || strcmp(argv[1], "message") == 0);
    int fd = open(rank ? "b" : "a", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    for (int turn = 0; turn < 2 * rounds; turn++) {
        if (turn % 2 == rank)
            CHECK_EQ(write(fd, "x", 1), 1);
        if (by_barrier)
            MPI_Barrier(MPI_COMM_WORLD);
        else
            pass_by_message(rank, turn % 2);
    }
    CHECK_OK(close(fd));
    MPI_Finalize();
    return 0;
}
