/* common.h for MPI programs: a failed check ends the whole job. */
#ifndef COMMON_MPI_H
#define COMMON_MPI_H

#include "common.h"
#include <mpi.h>

static void abort_job(void)
{
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* MPI_Init; the rank and number of ranks in MPI_COMM_WORLD. */
static inline void start_mpi(int *argc, char ***argv, int *rank, int *ranks)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, ranks);
    failure_rank = *rank;
    on_failure = abort_job;
}

#endif
