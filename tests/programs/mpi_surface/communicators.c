/* Communicators: every way to make one, use of each, and their end. */
#include "surface.h"

static void check_members(MPI_Comm comm, int expected_rank, int expected_size)
{
    int me = -1, size = -1;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    CHECK_EQ(me, expected_rank);
    CHECK_EQ(size, expected_size);
    check_communicator(comm);
}

static void check_groups(void)
{
    MPI_Group world, even;
    MPI_Comm comm;
    int range[1][3] = {{0, ranks - 1, 2}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &even);
    MPI_Comm_create(MPI_COMM_WORLD, even, &comm);
    if (rank % 2 == 0) {
        check_members(comm, rank / 2, (ranks + 1) / 2);
        MPI_Comm_free(&comm);
        MPI_Comm_create_group(MPI_COMM_WORLD, even, 17, &comm); /* without the others */
        check_members(comm, rank / 2, (ranks + 1) / 2);
        MPI_Comm_free(&comm);
    }
    CHECK(comm == MPI_COMM_NULL);
    MPI_Group_free(&even);
    MPI_Group_free(&world);
}

void communicators(void)
{
    MPI_Comm comm, nested;
    check_communicator(MPI_COMM_WORLD);
    check_members(MPI_COMM_SELF, 0, 1);

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    check_members(comm, rank, ranks);
    MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &nested);
    check_members(nested, rank, ranks);
    /* The same source, tag and value in three communicators: none takes the other's message. */
    MPI_Comm all[3] = {MPI_COMM_WORLD, comm, nested};
    MPI_Request requests[3];
    int got[3] = {-1, -1, -1}, sent[3] = {rank * 10, rank * 10 + 1, rank * 10 + 2};
    for (int i = 0; i < 3; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, left_of(rank), 4, all[i], &requests[i]);
    for (int i = 2; i >= 0; i--)
        MPI_Send(&sent[i], 1, MPI_INT, right_of(rank), 4, all[i]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(got[i], left_of(rank) * 10 + i);
    MPI_Comm_disconnect(&nested);
    MPI_Comm_free(&comm);
    CHECK(comm == MPI_COMM_NULL && nested == MPI_COMM_NULL);

    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm); /* all, in reverse order */
    check_members(comm, ranks - 1 - rank, ranks);
    int me, size;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_split(comm, me % 2, me, &nested); /* halves of it, by rank in it */
    check_members(nested, me / 2, (ranks + 1 - me % 2) / 2);
    MPI_Comm_free(&nested);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, rank, &comm); /* all but rank 0 */
    CHECK_EQ(comm == MPI_COMM_NULL, rank == 0);
    if (rank != 0) {
        check_members(comm, rank - 1, ranks - 1);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm);
    MPI_Comm_size(comm, &size);
    CHECK(size >= 1 && size <= ranks);
    check_communicator(comm);
    MPI_Comm_free(&comm);
    check_groups();
    for (int i = 0; i < 8; i++) { /* handles that are used again */
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        check_communicator(comm);
        MPI_Comm_free(&comm);
    }
}

void intercommunicators(void)
{
    if (ranks < 2)
        return;
    MPI_Comm half, across, merged;
    int low = rank < ranks / 2, sizes[2] = {ranks - ranks / 2, ranks / 2}, remote = -1, me;
    MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? ranks / 2 : 0, 18, &across);
    MPI_Comm_remote_size(across, &remote);
    CHECK_EQ(remote, sizes[!low]);
    MPI_Comm_rank(across, &me);

    /* Each rank of the low half sends to the rank of the same number on the other side. */
    int got = -1;
    if (low)
        MPI_Send(&rank, 1, MPI_INT, me, 1, across);
    else if (me < sizes[1]) {
        MPI_Status status;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, across, &status);
        check_status(&status, me, 1, 1);
        CHECK_EQ(got, me);
    }
    /* From the first of the low half to all of the high half. */
    int value = rank == 0 ? 55 : -1;
    MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? MPI_ROOT : low ? MPI_PROC_NULL : 0, across);
    CHECK_EQ(value, rank == 0 || !low ? 55 : -1);
    /* Each side gets the other's sum. */
    int one = 1, sum = -1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, across);
    CHECK_EQ(sum, remote);

    MPI_Intercomm_merge(across, low, &merged); /* the high half comes first */
    check_members(merged, low ? rank + sizes[0] : rank - sizes[1], ranks);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&across);
    MPI_Comm_free(&half);
}

void cartesian_grids(void)
{
    MPI_Comm grid, row;
    int dims[2] = {0, 0}, periods[2] = {1, 0}, at[2] = {-1, -1}, source, destination, got = -1;
    MPI_Dims_create(ranks, 2, dims);
    CHECK_EQ(dims[0] * dims[1], ranks);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    check_members(grid, rank, ranks);
    MPI_Cart_coords(grid, rank, 2, at);
    CHECK(at[0] == rank / dims[1] && at[1] == rank % dims[1]);
    for (int direction = 0; direction < 2; direction++) {
        MPI_Cart_shift(grid, direction, 1, &source, &destination);
        got = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, destination, 2, &got, 1, MPI_INT, source, 2, grid, MPI_STATUS_IGNORE);
        CHECK_EQ(got, source == MPI_PROC_NULL ? -1 : source);
    }
    int keep[2] = {0, 1};
    MPI_Cart_sub(grid, keep, &row);
    check_members(row, at[1], dims[1]);
    MPI_Comm_free(&row);
    MPI_Comm_free(&grid);

    int one = 1, still = 0; /* a grid of one rank: all others are not in it */
    MPI_Cart_create(MPI_COMM_WORLD, 1, &one, &still, 0, &grid);
    CHECK_EQ(grid == MPI_COMM_NULL, rank != 0);
    if (grid != MPI_COMM_NULL)
        MPI_Comm_free(&grid);
}

void graphs(void)
{
    MPI_Comm graph;
    /* A line: every rank is the neighbour of the one before and the one behind. */
    int *index = allocate(ranks * sizeof(int)), *edges = allocate(2 * ranks * sizeof(int)), count = 0;
    for (int r = 0; r < ranks; r++) {
        if (r > 0)
            edges[count++] = r - 1;
        if (r + 1 < ranks)
            edges[count++] = r + 1;
        index[r] = count;
    }
    MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 0, &graph);
    check_members(graph, rank, ranks);
    int neighbours = -1;
    MPI_Graph_neighbors_count(graph, rank, &neighbours);
    CHECK_EQ(neighbours, (rank > 0) + (rank + 1 < ranks));
    MPI_Comm_free(&graph);
    free(index);
    free(edges);

    int left = left_of(rank), right = right_of(rank), degree = 1, weight = 3, in = -1, out = -1, weighted = -1;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, &right, &weight, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 1 && out == 1 && weighted);
    check_members(graph, rank, ranks);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &weight, 1, &right, &weight, MPI_INFO_NULL, 0,
                                   &graph);
    check_members(graph, rank, ranks);
    int from_left = -1;
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, &from_left, 1, MPI_INT, graph);
    CHECK_EQ(from_left, left);
    MPI_Comm_free(&graph);
}
