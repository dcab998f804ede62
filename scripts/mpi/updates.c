/* Polls in vain between accesses all over a table of 16 MiB, as hpcc's random access makes them, and either alone: ns of
   CPU time of each. A processor overlaps as many accesses as lie within the instructions that it looks ahead over. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 10000000, PLACES = 1 << 21, ROW = 1024 };

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    uint64_t *table = malloc(PLACES * sizeof *table), random = 1;
    for (size_t place = 0; place < PLACES; place++) table[place] = place;
    int received, index, flag;
    MPI_Request request;
    MPI_Irecv(&received, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
    const char *names[] = {"poll of one request", "update", "poll and update"};
    for (int what = 1; what <= 3; what++) {
        double begun = cpu_ns();
        for (int call = 0; call < CALLS; call++) {
            if (call % ROW == 0) MPI_Barrier(MPI_COMM_SELF);
            if (what & 1) MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
            if (what & 2) {
                random = random << 1 ^ ((int64_t)random < 0 ? 7 : 0);
                table[random % PLACES] ^= random;
            }
        }
        printf("%s,%.2f\n", names[what - 1], (cpu_ns() - begun) / CALLS);
    }
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return table[5] == 42;
}
