/* Messages and operations between two groups of several ranks, over three inter-communicators that have the same groups: ranks 0
 * and 1, and all others, each in reverse order. Verifies what arrives. Of ROUNDS rounds on each, every rank of the first group
 * sends each of the second a message, which that one looks for by a probe before it receives it from anybody. */
#include "../common_mpi.h"

enum { ROUNDS = 10, FIRST = 2 };

int main(int argc, char **argv)
{
    int rank, ranks, others;
    start_mpi(&argc, &argv, &rank, &ranks);
    CHECK(ranks > FIRST);
    int is_first = rank < FIRST;
    MPI_Comm group, all[3];
    MPI_Comm_split(MPI_COMM_WORLD, is_first, -rank, &group);
    for (int which = 0; which < 2; which++)
        MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, is_first ? ranks - 1 : FIRST - 1, which, &all[which]);
    MPI_Comm_dup(all[0], &all[2]);
    MPI_Comm_remote_size(all[0], &others);
    for (int round = 0; round < 3 * ROUNDS; round++) {
        MPI_Comm between = all[round % 3];
        for (int other = 0; other < others; other++) {
            int number = rank * 100 + round;
            if (is_first) {
                MPI_Send(&number, 1, MPI_INT, other, round, between);
            } else {
                MPI_Status status;
                MPI_Request request;
                MPI_Probe(MPI_ANY_SOURCE, round, between, &status);
                MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, between, &request);
                MPI_Wait(&request, &status);
                CHECK_EQ(number, (FIRST - 1 - status.MPI_SOURCE) * 100 + round);
            }
        }
        int sum = -1, root = is_first ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : FIRST - 1, told = 10 * round + rank;
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, between);
        CHECK_EQ(sum, is_first ? ranks * (ranks - 1) / 2 - 1 : 1);
        MPI_Bcast(&told, 1, MPI_INT, root, between);
        CHECK_EQ(told, 10 * round + (is_first ? rank : 0));
    }
    for (int which = 0; which < 3; which++)
        MPI_Comm_free(&all[which]);
    MPI_Comm_free(&group);
    MPI_Finalize();
    return 0;
}
