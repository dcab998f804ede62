/* What the parts of mpi_surface share. */
#ifndef SURFACE_H
#define SURFACE_H

#include "../common_mpi.h"

extern int rank, ranks;

/* Tests: one function per family of calls. */
void blocking_sends(void);
void nonblocking_sends(void);
void send_and_receive(void);
void wildcards(void);
void nobody(void);
void cancelled_and_freed(void);
void wait_family(void);
void test_family(void);
void empty_completions(void);
void probes(void);
void matched_probes(void);
void persistent_requests(void);
void rooted_collectives(void);
void all_collectives(void);
void reductions(void);
void nonblocking_collectives(void);
void communicators(void);
void intercommunicators(void);
void cartesian_grids(void);
void graphs(void);

/* The neighbours in a ring of all ranks; with one rank both are that rank. */
static inline int right_of(int which)
{
    return (which + 1) % ranks;
}

static inline int left_of(int which)
{
    return (which + ranks - 1) % ranks;
}

/* The value at `index` of message `tag` from `sender`. */
static inline int content(int sender, int tag, int index)
{
    return sender * 1000003 + tag * 1009 + index;
}

static inline void fill(int *message, int count, int sender, int tag)
{
    for (int i = 0; i < count; i++)
        message[i] = content(sender, tag, i);
}

static inline void check_message(const int *message, int count, int sender, int tag)
{
    for (int i = 0; i < count; i++)
        CHECK_EQ(message[i], content(sender, tag, i));
}

/* The status names this message. */
static inline void check_status(const MPI_Status *status, int source, int tag, int count)
{
    int received = -1;
    MPI_Get_count(status, MPI_INT, &received);
    CHECK_EQ(status->MPI_SOURCE, source);
    CHECK_EQ(status->MPI_TAG, tag);
    CHECK_EQ(received, count);
}

/* Every member of `comm` is reached, by a collective and along a ring of messages. */
static inline void check_communicator(MPI_Comm comm)
{
    int me, size, sum = -1, neighbour = -1;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK_EQ(sum, size * (size - 1) / 2);
    MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % size, 5, &neighbour, 1, MPI_INT, (me + size - 1) % size, 5, comm,
                 MPI_STATUS_IGNORE);
    CHECK_EQ(neighbour, (me + size - 1) % size);
}

#endif
