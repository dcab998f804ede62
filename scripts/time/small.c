/* Many small MPI calls with little computation between them, and a line of a log at times.
 *
 *   small messages|broadcasts|alltoall ROUNDS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, WORDS = 64 };

static int rank, ranks, out[MOST * WORDS], in[MOST * WORDS];
static volatile double result = 1;

static void compute(int steps)
{
    double x = result;
    while (steps-- > 0)
        x = x * 0.999999 + 0.000001;
    result = x;
}

static void messages(int round)
{
    MPI_Request requests[2];
    int length = 1 + round % WORDS, left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    MPI_Irecv(in, length, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, length, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]);
    compute(2000);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void broadcasts(int round)
{
    MPI_Bcast(in, 1 + round % 8, MPI_INT, round % ranks, MPI_COMM_WORLD);
    compute(1000);
    MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static void alltoall(int round)
{
    int length = 1 << round % 5;
    MPI_Alltoall(out, length, MPI_INT, in, length, MPI_INT, MPI_COMM_WORLD);
    compute(1000);
    MPI_Allreduce(out, in, WORDS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*round)(int);
    } parts[] = {{"messages", messages}, {"broadcasts", broadcasts}, {"alltoall", alltoall}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int rounds = argc == 3 ? atoi(argv[2]) : 0, part = 0;
    while (argc == 3 && part < 3 && strcmp(parts[part].name, argv[1]) != 0)
        part++;
    char name[32];
    snprintf(name, sizeof name, "small.%d", rank);
    FILE *log = fopen(name, "w");
    if (rounds <= 0 || part == 3 || ranks > MOST || !log)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int round = 0; round < rounds; round++) {
        parts[part].round(round);
        if (round % 1000 == 0)
            fprintf(log, "%d\n", round);
    }
    fclose(log);
    MPI_Finalize();
    return 0;
}
