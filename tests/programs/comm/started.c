/* Worlds that others start at run time, one after the other: the first by all ranks, then one of two ranks by each for itself. Every rank of a
 * world that was started gets a message from each rank that started it, and answers; then come operations of both groups, over the
 * inter-communicator, over what it is merged to, and over a duplicate of that. Verifies what arrives. */
#include "../common_mpi.h"

enum { STARTED = 3, PAIR = 2, ROUNDS = 10 };

static void meet(MPI_Comm between, int is_started)
{
    int rank, others, all, mine, sum;
    MPI_Comm merged, again;
    MPI_Comm_rank(between, &rank);
    MPI_Comm_remote_size(between, &others);
    for (int round = 0; round < ROUNDS; round++)
        for (int other = 0; other < others; other++) {
            int number = 1000 * round + rank;
            MPI_Status status;
            if (is_started) {
                MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, round, between, &status);
                CHECK_EQ(number, 1000 * round + status.MPI_SOURCE);
                MPI_Send(&number, 1, MPI_INT, status.MPI_SOURCE, round, between);
            } else {
                MPI_Send(&number, 1, MPI_INT, other, round, between);
                MPI_Recv(&number, 1, MPI_INT, other, round, between, &status);
                CHECK_EQ(number, 1000 * round + rank);
            }
        }
    MPI_Barrier(between);
    MPI_Intercomm_merge(between, is_started, &merged);
    MPI_Comm_dup(merged, &again);
    MPI_Comm_size(again, &all);
    MPI_Comm_rank(again, &mine);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, again);
    CHECK_EQ(sum, all * (all - 1) / 2);
    int next = (mine + 1) % all, before = (mine + all - 1) % all, got = -1;
    MPI_Sendrecv(&mine, 1, MPI_INT, next, 7, &got, 1, MPI_INT, before, 7, merged, MPI_STATUS_IGNORE);
    CHECK_EQ(got, before);
    MPI_Comm_free(&again);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&between);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Comm between;
    start_mpi(&argc, &argv, &rank, &ranks);
    MPI_Comm_get_parent(&between);
    if (between != MPI_COMM_NULL) {
        meet(between, 1);
    } else {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, STARTED, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
        meet(between, 0);
        for (int turn = 0; turn < ranks; turn++) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (turn != rank) continue;
            MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, PAIR, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between, MPI_ERRCODES_IGNORE);
            meet(between, 0);
        }
    }
    MPI_Finalize();
    return 0;
}
