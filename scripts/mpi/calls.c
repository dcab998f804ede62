/* CPU time of calls of MPI that wait for nobody, nanoseconds per call: one rank with itself. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 300000 };

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static void tell(const char *what, double start, int calls)
{
    printf("%s,%.2f\n", what, (cpu_ns() - start) / ROUNDS / calls);
}

int main(int argc, char **argv)
{
    double out = 1, in, *memory;
    MPI_Request request;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    double start = cpu_ns();
    for (int round = 0; round < ROUNDS; round++)
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    tell("allreduce", start, 1);
    start = cpu_ns();
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Isend(&out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
        MPI_Recv(&in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    tell("isend recv wait", start, 3);
    MPI_Win_allocate(sizeof out, sizeof out, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &win);
    MPI_Win_lock_all(0, win);
    start = cpu_ns();
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Put(&out, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
        MPI_Win_flush(0, win);
    }
    tell("put flush", start, 2);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
