/* Collectives: each with its own buffers and with MPI_IN_PLACE where the standard has it, from every root. */
#include "surface.h"

enum { COUNT = 7 };

/* Room for one block of COUNT values per rank, twice over. */
static int *blocks(void)
{
    return allocate(2 * ranks * COUNT * sizeof(int));
}

/* Uneven parts: rank r has r + 1 values, one value apart from its neighbour's. */
static void uneven(int *counts, int *places)
{
    for (int r = 0, place = 0; r < ranks; r++) {
        counts[r] = r + 1;
        places[r] = place;
        place += r + 2;
    }
}

static int *uneven_room(void)
{
    return allocate(ranks * (ranks + 3) * sizeof(int));
}

static void check_blocks(const int *values, int tag)
{
    for (int r = 0; r < ranks; r++)
        check_message(values + r * COUNT, COUNT, r, tag);
}

static void gather_and_scatter(int root, const int *counts, const int *places)
{
    int mine[COUNT], me = rank == root, *all = blocks(), *parts = uneven_room(), *own = allocate(ranks * sizeof(int));
    fill(mine, COUNT, rank, root);
    MPI_Gather(mine, COUNT, MPI_INT, all, COUNT, MPI_INT, root, MPI_COMM_WORLD);
    if (me)
        check_blocks(all, root);
    fill(all + rank * COUNT, COUNT, rank, root + 1);
    MPI_Gather(me ? MPI_IN_PLACE : all + rank * COUNT, COUNT, MPI_INT, all, COUNT, MPI_INT, root, MPI_COMM_WORLD);
    if (me)
        check_blocks(all, root + 1);

    MPI_Scatter(all, COUNT, MPI_INT, mine, COUNT, MPI_INT, root, MPI_COMM_WORLD);
    check_message(mine, COUNT, rank, root + 1);
    MPI_Scatter(all, COUNT, MPI_INT, me ? MPI_IN_PLACE : mine, COUNT, MPI_INT, root, MPI_COMM_WORLD);
    check_message(me ? all + rank * COUNT : mine, COUNT, rank, root + 1);

    fill(own, counts[rank], rank, root);
    MPI_Gatherv(own, counts[rank], MPI_INT, parts, counts, places, MPI_INT, root, MPI_COMM_WORLD);
    for (int r = 0; me && r < ranks; r++)
        check_message(parts + places[r], counts[r], r, root);
    MPI_Gatherv(me ? MPI_IN_PLACE : own, counts[rank], MPI_INT, parts, counts, places, MPI_INT, root,
                MPI_COMM_WORLD);
    memset(own, 0, counts[rank] * sizeof(int));
    MPI_Scatterv(parts, counts, places, MPI_INT, own, counts[rank], MPI_INT, root, MPI_COMM_WORLD);
    check_message(own, counts[rank], rank, root);
    MPI_Scatterv(parts, counts, places, MPI_INT, me ? MPI_IN_PLACE : own, counts[rank], MPI_INT, root,
                 MPI_COMM_WORLD);
    free(all);
    free(parts);
    free(own);
}

void rooted_collectives(void)
{
    int *counts = allocate(ranks * sizeof(int)), *places = allocate(ranks * sizeof(int));
    uneven(counts, places);
    for (int root = 0; root < ranks; root++) {
        int message[COUNT] = {0}, mine[COUNT], sums[COUNT] = {0};
        if (rank == root)
            fill(message, COUNT, root, 3);
        MPI_Bcast(message, COUNT, MPI_INT, root, MPI_COMM_WORLD);
        check_message(message, COUNT, root, 3);

        for (int i = 0; i < COUNT; i++)
            mine[i] = rank + i;
        MPI_Reduce(mine, sums, COUNT, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
        for (int i = 0; rank == root && i < COUNT; i++)
            CHECK_EQ(sums[i], ranks * (ranks - 1) / 2 + ranks * i);
        MPI_Reduce(rank == root ? MPI_IN_PLACE : mine, mine, COUNT, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
        for (int i = 0; rank == root && i < COUNT; i++)
            CHECK_EQ(mine[i], ranks - 1 + i);
        gather_and_scatter(root, counts, places);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(counts);
    free(places);
}

/* Value for `receiver` from `sender`, COUNT of them. */
static void fill_for_all(int *out)
{
    for (int receiver = 0; receiver < ranks; receiver++)
        fill(out + receiver * COUNT, COUNT, rank, receiver);
}

static void check_from_all(const int *in)
{
    for (int sender = 0; sender < ranks; sender++)
        check_message(in + sender * COUNT, COUNT, sender, rank);
}

static void gather_to_all(const int *counts, const int *places)
{
    int mine[COUNT], *all = blocks(), *parts = uneven_room(), *own = allocate(ranks * sizeof(int));
    fill(mine, COUNT, rank, 1);
    MPI_Allgather(mine, COUNT, MPI_INT, all, COUNT, MPI_INT, MPI_COMM_WORLD);
    check_blocks(all, 1);
    fill(all + rank * COUNT, COUNT, rank, 2);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, COUNT, MPI_INT, MPI_COMM_WORLD);
    check_blocks(all, 2);

    fill(own, counts[rank], rank, 3);
    MPI_Allgatherv(own, counts[rank], MPI_INT, parts, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++)
        check_message(parts + places[r], counts[r], r, 3);
    fill(parts + places[rank], counts[rank], rank, 4);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, parts, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++)
        check_message(parts + places[r], counts[r], r, 4);
    free(all);
    free(parts);
    free(own);
}

void all_collectives(void)
{
    int *counts = allocate(ranks * sizeof(int)), *places = allocate(ranks * sizeof(int));
    int *out = blocks(), *in = blocks();
    uneven(counts, places);
    gather_to_all(counts, places);

    fill_for_all(out);
    MPI_Alltoall(out, COUNT, MPI_INT, in, COUNT, MPI_INT, MPI_COMM_WORLD);
    check_from_all(in);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, COUNT, MPI_INT, MPI_COMM_WORLD);
    check_from_all(out);

    for (int r = 0; r < ranks; r++) {
        counts[r] = COUNT;
        places[r] = r * COUNT;
    }
    fill_for_all(out);
    memset(in, 0, ranks * COUNT * sizeof(int));
    MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
    check_from_all(in);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, counts, places, MPI_INT, MPI_COMM_WORLD);
    check_from_all(out);

    MPI_Datatype *types = allocate(ranks * sizeof(MPI_Datatype));
    for (int r = 0; r < ranks; r++) {
        places[r] = r * COUNT * (int)sizeof(int); /* bytes here */
        types[r] = MPI_INT;
    }
    fill_for_all(out);
    memset(in, 0, ranks * COUNT * sizeof(int));
    MPI_Alltoallw(out, counts, places, types, in, counts, places, types, MPI_COMM_WORLD);
    check_from_all(in);
    free(types);
    free(counts);
    free(places);
    free(out);
    free(in);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void reduce_and_scatter(void)
{
    int *counts = allocate(ranks * sizeof(int)), *values = allocate(ranks * ranks * sizeof(int)), *mine = blocks();
    int total = ranks * (ranks + 1) / 2;
    for (int r = 0; r < ranks; r++)
        counts[r] = r + 1;
    for (int i = 0; i < total; i++)
        values[i] = rank + i;
    MPI_Reduce_scatter(values, mine, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i <= rank; i++)
        CHECK_EQ(mine[i], ranks * (ranks - 1) / 2 + ranks * (rank * (rank + 1) / 2 + i));
    MPI_Reduce_scatter(MPI_IN_PLACE, values, counts, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK_EQ(values[0], ranks - 1 + rank * (rank + 1) / 2);

    for (int i = 0; i < ranks; i++)
        values[i] = rank * i;
    MPI_Reduce_scatter_block(values, mine, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(mine[0], ranks * (ranks - 1) / 2 * rank);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(values[0], ranks * (ranks - 1) / 2 * rank);
    free(counts);
    free(values);
    free(mine);
}

void reductions(void)
{
    int mine = rank + 1, result = -1, sum = ranks * (ranks + 1) / 2;
    MPI_Allreduce(&mine, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(result, sum);
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK_EQ(mine, ranks);
    reduce_and_scatter();

    mine = rank + 1;
    MPI_Scan(&mine, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(result, (rank + 1) * (rank + 2) / 2);
    MPI_Scan(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(mine, (rank + 1) * (rank + 2) / 2);
    mine = rank + 1;
    MPI_Exscan(&mine, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank > 0)
        CHECK_EQ(result, rank * (rank + 1) / 2);
    MPI_Exscan(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank > 0)
        CHECK_EQ(mine, rank * (rank + 1) / 2);

    /* An operation and a datatype of the program's own: every second of 2 COUNT values. */
    MPI_Op operation;
    MPI_Datatype second;
    MPI_Op_create(add, 1, &operation);
    int values[2 * COUNT];
    for (int i = 0; i < 2 * COUNT; i++)
        values[i] = i;
    MPI_Allreduce(MPI_IN_PLACE, values, 2 * COUNT, MPI_INT, operation, MPI_COMM_WORLD);
    for (int i = 0; i < 2 * COUNT; i++)
        CHECK_EQ(values[i], i * ranks);
    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &second);
    MPI_Type_commit(&second);
    for (int i = 0; i < 2 * COUNT; i++)
        values[i] = rank == 0 ? i : -1;
    MPI_Bcast(values, 1, second, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2 * COUNT; i++)
        CHECK_EQ(values[i], rank == 0 || i % 2 == 0 ? i : -1);
    MPI_Type_free(&second);
    MPI_Op_free(&operation);
}

/* Requests of collectives and of messages in one Waitall. */
void nonblocking_collectives(void)
{
    int mine = rank + 1, sum = -1, value = rank == 0 ? 77 : -1, got = -1;
    MPI_Request requests[5];
    MPI_Irecv(&got, 1, MPI_INT, left_of(rank), 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
    MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Isend(&rank, 1, MPI_INT, right_of(rank), 1, MPI_COMM_WORLD, &requests[4]);
    MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    CHECK_EQ(sum, ranks * (ranks + 1) / 2);
    CHECK_EQ(value, 77);
    CHECK_EQ(got, left_of(rank));
}
