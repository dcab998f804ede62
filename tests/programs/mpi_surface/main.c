/* mpi_surface: every form of MPI message, completion, collective and communicator that the recorder knows.
 *
 * Each part is a family of calls and verifies every result it gets: contents, sources, tags, counts, indices. Runs
 * with any number of ranks; with one rank messages go from the rank to itself.
 *
 *   mpirun -np N mpi_surface [part ...]
 */
#include "surface.h"
#include "../parts.h"

int rank, ranks;

static const struct part parts[] = {
    {"blocking", blocking_sends},
    {"nonblocking", nonblocking_sends},
    {"sendrecv", send_and_receive},
    {"wildcards", wildcards},
    {"nobody", nobody},
    {"cancel", cancelled_and_freed},
    {"wait", wait_family},
    {"test", test_family},
    {"empty", empty_completions},
    {"probe", probes},
    {"mprobe", matched_probes},
    {"persistent", persistent_requests},
    {"rooted", rooted_collectives},
    {"all", all_collectives},
    {"reductions", reductions},
    {"icollectives", nonblocking_collectives},
    {"communicators", communicators},
    {"intercommunicators", intercommunicators},
    {"cartesian", cartesian_grids},
    {"graphs", graphs},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    int provided = -1, initialized = -1, finalized = -1, query = -1;
    MPI_Initialized(&initialized);
    CHECK_EQ(initialized, 0);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    CHECK(provided >= MPI_THREAD_FUNNELED);
    MPI_Query_thread(&query);
    CHECK_EQ(query, provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    failure_rank = rank;
    on_failure = abort_job;
    check_parts("mpi_surface", argv + 1, parts);
    run_parts("mpi_surface", argv + 1, parts, rank == 0);
    MPI_Finalize();
    MPI_Finalized(&finalized);
    CHECK_EQ(finalized, 1);
    return 0;
}
