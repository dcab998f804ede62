/* OpenMP regions: workers compute between no recorded calls at all, the first thread logs each round.
 *
 *   openmp [part ...]      OMP_NUM_THREADS and OMP_WAIT_POLICY as the user likes
 */
#include "time.h"
#include <omp.h>

enum { MOST = 64 };

/* What each thread of the team knows at the end; the first prints for all. */
static struct {
    int tid;
    long long cpu, work, wall;
} team[MOST];

static void report_team(void)
{
    long long began = own.began;
#pragma omp parallel
    {
        int number = omp_get_thread_num();
        CHECK(number < MOST);
        team[number].tid = (int)gettid();
        team[number].cpu = cpu_ns();
        team[number].work = own.work;
        team[number].wall = wall_ns() - began;
    }
    for (int i = 1; i < omp_get_max_threads(); i++)
        dprintf(1, "pid=%d tid=%d cpu_ns=%lld wall_ns=%lld work_ns=%lld inside_ns=0 wait_ns=0\n", (int)getpid(),
                team[i].tid, team[i].cpu, team[i].wall, team[i].work);
}

static void log_round(FILE *stream, int round)
{
    fprintf(stream, "round %d\n", round);
    CHECK_OK(fflush(stream));
}

static FILE *log_file(void)
{
    FILE *stream = fopen("openmp.log", "w");
    CHECK(stream != NULL);
    return stream;
}

/* All threads have as much to do. */
static void equal(void)
{
    FILE *stream = log_file();
    for (int round = 0; round < 5; round++) {
#pragma omp parallel
        compute(12 * MS);
        log_round(stream, round);
    }
    CHECK_OK(fclose(stream));
    report_team();
}

/* The last thread has three times as much to do: the others wait at the end of the region, in whichever way. */
static void unequal(void)
{
    FILE *stream = log_file();
    for (int round = 0; round < 4; round++) {
#pragma omp parallel
        compute(omp_get_thread_num() == omp_get_num_threads() - 1 ? 24 * MS : 8 * MS);
        log_round(stream, round);
    }
    CHECK_OK(fclose(stream));
    report_team();
}

static void dynamic(void)
{
    FILE *stream = log_file();
    for (int round = 0; round < 3; round++) {
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < 16; i++)
            compute((1 + i % 4) * MS);
        log_round(stream, round);
    }
    CHECK_OK(fclose(stream));
    report_team();
}

/* The first thread computes alone between the regions. */
static void serial_parts(void)
{
    for (int round = 0; round < 4; round++) {
        compute(10 * MS);
#pragma omp parallel
        compute(10 * MS);
    }
    report_team();
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"equal", equal},
        {"unequal", unequal},
        {"dynamic", dynamic},
        {"serial-parts", serial_parts},
        {NULL, NULL},
    };
    return time_main(argc, argv, "openmp", parts);
}
