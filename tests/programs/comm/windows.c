/* One-sided communication in each kind of epoch: what a replay must do again call by call. Ranks check what they get. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static void check(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "rank %d: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    double *memory, own[64], got[64];
    long number = 1, result;
    MPI_Win window, second, half_window;
    MPI_Comm half;
    MPI_Request request;

    /* Fences. */
    MPI_Win_allocate(64 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    for (int i = 0; i < 64; i++) memory[i] = own[i] = rank;
    MPI_Win_fence(0, window);
    MPI_Put(own, 16, MPI_DOUBLE, next, 8, 16, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    check(memory[8] == before, "put");
    MPI_Get(got, 8, MPI_DOUBLE, next, 0, 8, MPI_DOUBLE, window);
    MPI_Accumulate(own, 4, MPI_DOUBLE, before, 40, 4, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_fence(0, window);
    check(got[0] == next && memory[40] == rank + next, "get and accumulate");

    /* Post, start, complete, wait. */
    MPI_Group all, from, to;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &before, &from);
    MPI_Group_incl(all, 1, &next, &to);
    for (int round = 0; round < 4; round++) {
        MPI_Win_post(from, 0, window);
        MPI_Win_start(to, 0, window);
        own[0] = rank * 10 + round;
        MPI_Put(own, 1, MPI_DOUBLE, next, round, 1, MPI_DOUBLE, window);
        MPI_Win_complete(window);
        int flag = 0;
        if (round % 2) while (!flag) MPI_Win_test(window, &flag);
        else MPI_Win_wait(window);
        check(memory[round] == before * 10 + round, "another round");
    }
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    MPI_Group_free(&all);
    MPI_Win_free(&window);

    /* Locks, atomic calls, requests. */
    long *counters = calloc(4, sizeof(long));
    MPI_Win_create(counters, 4 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &second);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, second);
    MPI_Put(&number, 1, MPI_LONG, next, 0, 1, MPI_LONG, second);
    MPI_Win_flush(next, second);
    MPI_Win_unlock(next, second);
    MPI_Win_lock_all(0, second);
    MPI_Fetch_and_op(&number, &result, MPI_LONG, 0, 1, MPI_SUM, second);
    MPI_Win_flush_all(second);
    check(result >= 0 && result < size, "the counter");
    MPI_Compare_and_swap(&number, &result, &result, MPI_LONG, before, 2, second);
    MPI_Win_flush_local(before, second);
    MPI_Get_accumulate(&number, 1, MPI_LONG, &result, 1, MPI_LONG, 0, 3, 1, MPI_LONG, MPI_SUM, second);
    MPI_Win_flush_local_all(second);
    MPI_Rput(&number, 1, MPI_LONG, next, 0, 1, MPI_LONG, second, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Rget(&result, 1, MPI_LONG, next, 0, 1, MPI_LONG, second, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(second);
    MPI_Barrier(MPI_COMM_WORLD);

    /* Some of the ranks. */
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Win_allocate_shared(100 + rank, 1, MPI_INFO_NULL, half, &memory, &half_window);
    MPI_Win_fence(0, half_window);
    MPI_Put(own, 5, MPI_BYTE, 0, 90, 5, MPI_BYTE, half_window);
    MPI_Win_fence(0, half_window);
    MPI_Win_free(&half_window);
    MPI_Comm_free(&half);
    MPI_Win_free(&second);
    MPI_Finalize();
    return 0;
}
