/* Communicates in one of several ways, by its first argument, as often as the second says, or once: what a replay must do
   again call by call. Ranks check what they receive. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 20
static int rank, size;

static void check(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "rank %d: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static char *room(int bytes) {
    char *memory = calloc(1, bytes);
    check(memory != NULL, "no memory");
    return memory;
}

/* Messages of 8 bytes to 1 MB, there and back; every mode of sending. */
static void ping_pong(void) {
    char *data = room(1 << 20);
    for (int bytes = 8; bytes <= 1 << 20; bytes *= 8) {
        if (rank == 0) {
            MPI_Send(data, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(data, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(data, 1 << 20, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Ssend(data, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
        }
    }
    int length = 1000 + MPI_BSEND_OVERHEAD;
    char *buffer = room(length);
    MPI_Buffer_attach(buffer, length);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Bsend(data, 1000, MPI_BYTE, next, 3, MPI_COMM_WORLD);
    MPI_Recv(data, 1000, MPI_BYTE, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&buffer, &length);
    free(buffer);
    free(data);
}

/* Neighbours in a ring exchange doubles. */
static void halo(void) {
    double out[512] = {rank}, in[512];
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int round = 0; round < ROUNDS; round++) {
        out[0] = rank;
        MPI_Sendrecv(out, 512, MPI_DOUBLE, next, round, in, 512, MPI_DOUBLE, before, round, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        check(in[0] == before, "another one's halo");
        MPI_Sendrecv_replace(in, 16, MPI_DOUBLE, before, 99, next, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double sum;
        MPI_Allreduce(out, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    /* At the border of the domain there is nobody. */
    int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    MPI_Sendrecv(out, 8, MPI_DOUBLE, right, 5, in, 8, MPI_DOUBLE, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Requests completed in each way. */
static void requests(void) {
    MPI_Request all[16];
    static char out[8][5000], in[8][5000];
    for (int way = 0; way < 8; way++) {
        int count = 0;
        for (int other = 0; other < size; other++) {
            if (other == rank) continue;
            MPI_Irecv(in[other], 5000, MPI_BYTE, other, way, MPI_COMM_WORLD, &all[count++]);
            MPI_Isend(out[other], 100 + 4000 * (way % 2), MPI_BYTE, other, way, MPI_COMM_WORLD, &all[count++]);
        }
        int done = 0, flag = 0, index, indices[16], some;
        switch (way) {
        case 0: MPI_Waitall(count, all, MPI_STATUSES_IGNORE); break;
        case 1: for (int i = 0; i < count; i++) MPI_Wait(&all[i], MPI_STATUS_IGNORE); break;
        case 2: for (int i = 0; i < count; i++) MPI_Waitany(count, all, &index, MPI_STATUS_IGNORE); break;
        case 3: while (done < count) { MPI_Waitsome(count, all, &some, indices, MPI_STATUSES_IGNORE); done += some; } break;
        case 4: for (int i = 0; i < count; i++) for (flag = 0; !flag;) MPI_Test(&all[i], &flag, MPI_STATUS_IGNORE); break;
        case 5: while (!flag) MPI_Testall(count, all, &flag, MPI_STATUSES_IGNORE); break;
        case 6: while (done < count) { MPI_Testany(count, all, &index, &flag, MPI_STATUS_IGNORE); done += flag; } break;
        case 7: while (done < count) { MPI_Testsome(count, all, &some, indices, MPI_STATUSES_IGNORE); done += some; } break;
        }
    }
}

static void persistent(void) {
    MPI_Request all[2];
    double out[100] = {0}, in[100];
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Send_init(out, 100, MPI_DOUBLE, next, 4, MPI_COMM_WORLD, &all[0]);
    MPI_Recv_init(in, 100, MPI_DOUBLE, before, 4, MPI_COMM_WORLD, &all[1]);
    for (int round = 0; round < ROUNDS; round++) {
        out[0] = rank * 1000 + round;
        if (round % 2) {
            MPI_Startall(2, all);
        } else {
            MPI_Start(&all[1]);
            MPI_Start(&all[0]);
        }
        MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
        check(in[0] == before * 1000 + round, "another round");
    }
    MPI_Request_free(&all[0]);
    MPI_Request_free(&all[1]);
}

/* Two groups that become one, the higher ranks first. */
static void merged(void) {
    int low = rank < size / 2, got = -1, sum = 0, all, mine;
    MPI_Comm half, between, whole;
    MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? size / 2 : 0, 7, &between);
    MPI_Allreduce(&low, &sum, 1, MPI_INT, MPI_SUM, between);
    check(sum == (low ? 0 : size / 2), "a sum of the other group");
    MPI_Intercomm_merge(between, low, &whole);
    MPI_Comm_free(&between);
    MPI_Comm_rank(whole, &mine);
    MPI_Comm_size(whole, &all);
    check(all == size && mine == (low ? rank + size - size / 2 : rank - size / 2), "both groups as one");
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Sendrecv(&rank, 1, MPI_INT, (mine + 1) % all, i, &got, 1, MPI_INT, (mine + all - 1) % all, i, whole,
                     MPI_STATUS_IGNORE);
        check(got == (rank + size - 1) % size, "from the rank before");
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, whole);
        check(sum == size * (size - 1) / 2, "a sum of both groups");
    }
    MPI_Comm_free(&whole);
    MPI_Comm_free(&half);
}

/* Messages and operations between two groups, of different sizes where there are three ranks, in each direction. */
static void across(MPI_Comm between, int first) {
    static int out[4096], in[4096], counts[64], places[64], back[64], back_places[64];
    static MPI_Datatype types[64];
    int mine, own, others, got = -1, sum, flag;
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Comm_rank(between, &mine);
    MPI_Comm_size(between, &own);
    MPI_Comm_remote_size(between, &others);
    for (int i = 0; i < others; i++) {
        /* From member a of the first group to member b of the second go a + 2 b + 1 numbers, and one more back. */
        counts[i] = first ? mine + 2 * i + 1 : i + 2 * mine + 2;
        back[i] = first ? mine + 2 * i + 2 : i + 2 * mine + 1;
        types[i] = MPI_INT;
        places[i] = i ? places[i - 1] + counts[i - 1] : 0;
        back_places[i] = i ? back_places[i - 1] + back[i - 1] : 0;
    }
    for (int i = 0; i < others; i++) {
        if (first) {
            MPI_Send(&rank, 1, MPI_INT, i, 5, between);
            MPI_Recv(&got, 1, MPI_INT, i, 6, between, &status);
        } else {
            MPI_Probe(MPI_ANY_SOURCE, 5, between, &status);
            MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, 5, between, MPI_STATUS_IGNORE);
            MPI_Ssend(&rank, 1, MPI_INT, status.MPI_SOURCE, 6, between);
        }
        MPI_Message message;
        if (first) {
            MPI_Issend(&rank, 1, MPI_INT, i, 4, between, &requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else {
            MPI_Mprobe(MPI_ANY_SOURCE, 4, between, &message, &status);
            MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        }
    }
    if (mine == 0) {
        MPI_Irecv(in, 100, MPI_INT, MPI_ANY_SOURCE, 7, between, &requests[0]);
        MPI_Isend(out, 100, MPI_INT, 0, 7, between, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Send_init(out, 10, MPI_INT, 0, 8, between, &requests[0]);
        MPI_Recv_init(in, 10, MPI_INT, 0, 8, between, &requests[1]);
        for (int i = 0; i < 3; i++) {
            MPI_Startall(2, requests);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        MPI_Sendrecv(out, 3, MPI_INT, 0, 9, in, 3, MPI_INT, 0, 9, between, MPI_STATUS_IGNORE);
        MPI_Sendrecv_replace(in, 3, MPI_INT, 0, 9, 0, 9, between, MPI_STATUS_IGNORE);
    }
    for (int turn = 0; turn < 2; turn++) { /* The root is the last of one group, then of the other. */
        int gives = turn == first, root = gives ? (mine == own - 1 ? MPI_ROOT : MPI_PROC_NULL) : others - 1;
        MPI_Bcast(out, 40, MPI_INT, root, between);
        MPI_Reduce(out, in, 11, MPI_INT, MPI_SUM, root, between);
        MPI_Gather(out, 9, MPI_INT, in, 9, MPI_INT, root, between);
        MPI_Scatter(out, 7, MPI_INT, in, 7, MPI_INT, root, between);
        MPI_Gatherv(out, gives ? 0 : counts[others - 1], MPI_INT, in, back, back_places, MPI_INT, root, between);
        MPI_Scatterv(out, counts, places, MPI_INT, in, gives ? 0 : back[others - 1], MPI_INT, root, between);
        MPI_Ibcast(out, 40, MPI_DOUBLE, root, between, &requests[0]);
        MPI_Ireduce(out + 100, in, 6, MPI_DOUBLE, MPI_SUM, root, between, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Barrier(between);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, between);
    MPI_Allgather(out, first ? 5 : 3, MPI_INT, in, first ? 3 : 5, MPI_INT, between);
    for (int i = 0; i < others; i++) {
        back[i] = first ? 2 * i + 1 : i + 1;
        back_places[i] = i ? back_places[i - 1] + back[i - 1] : 0;
    }
    MPI_Allgatherv(out, first ? mine + 1 : 2 * mine + 1, MPI_INT, in, back, back_places, MPI_INT, between);
    MPI_Alltoall(out, first ? 4 : 6, MPI_INT, in, first ? 6 : 4, MPI_INT, between);
    for (int i = 0; i < others; i++) {
        back[i] = first ? mine + 2 * i + 2 : i + 2 * mine + 1;
        back_places[i] = i ? back_places[i - 1] + back[i - 1] : 0;
    }
    MPI_Alltoallv(out, counts, places, MPI_INT, in, back, back_places, MPI_INT, between);
    for (int i = 0; i < others; i++) {
        places[i] *= sizeof(int);
        back_places[i] *= sizeof(int);
    }
    MPI_Alltoallw(out, counts, places, types, in, back, back_places, types, between);
    /* What is scattered is as much in both groups: 12 numbers. */
    for (int i = 0; i < own; i++)
        counts[i] = i ? 12 / own - 1 : 12 - (own - 1) * (12 / own - 1);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, between);
    MPI_Reduce_scatter_block(out, in, 12 / own, MPI_INT, MPI_SUM, between);
    MPI_Iallreduce(out, in, 4, MPI_DOUBLE, MPI_MAX, between, &requests[0]);
    for (flag = 0; !flag;)
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(between);
}

/* Inter-communicators, made in each way. */
static void between(void) {
    int first = rank < size / 2, ranks[1] = {0};
    MPI_Comm half, both, twin, again, few;
    MPI_Group own, one;
    MPI_Comm_split(MPI_COMM_WORLD, first, -rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first ? size - 1 : size / 2 - 1, 7, &both);
    across(both, first);
    MPI_Comm_dup_with_info(both, MPI_INFO_NULL, &twin);
    across(twin, !first);
    MPI_Comm_split(twin, 1, rank, &again);
    across(again, first);
    /* The first of each group. */
    MPI_Comm_group(both, &own);
    MPI_Group_incl(own, 1, ranks, &one);
    MPI_Comm_create(both, one, &few);
    if (few != MPI_COMM_NULL) {
        across(few, first);
        MPI_Comm_free(&few);
    }
    MPI_Group_free(&one);
    MPI_Group_free(&own);
    MPI_Comm_free(&again);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
    MPI_Comm_dup(MPI_COMM_SELF, &few);
    MPI_Barrier(few);
    for (int of_copy = 0; rank < 2 && of_copy < 2; of_copy++) { /* Of one rank each. */
        MPI_Intercomm_create(of_copy ? few : MPI_COMM_SELF, 0, MPI_COMM_WORLD, !rank, 9, &both);
        across(both, rank);
        MPI_Comm_free(&both);
    }
    MPI_Comm_free(&few);
}

/* Communicators of communicators, made in each way. */
static void communicators(void) {
    MPI_Comm half, twin, pair, few, again;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_dup(half, &twin);
    int mine, members, sum;
    MPI_Comm_rank(twin, &mine);
    MPI_Comm_size(twin, &members);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, twin);
    check(sum == members * (members - 1) / 2, "members");
    if (members > 1) {
        if (mine == 0) MPI_Send(&sum, 1, MPI_INT, 1, 0, twin);
        if (mine == 1) MPI_Recv(&sum, 1, MPI_INT, 0, 0, twin, MPI_STATUS_IGNORE);
    }
    MPI_Group all, first;
    int ranks[2] = {1, 0};
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, ranks, &first);
    MPI_Comm_create(MPI_COMM_WORLD, first, &pair);
    if (pair != MPI_COMM_NULL) {
        MPI_Bcast(&sum, 1, MPI_INT, 0, pair);
        MPI_Comm_create_group(pair, first, 7, &again);
        MPI_Barrier(again);
        MPI_Comm_free(&again);
        MPI_Comm_free(&pair);
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank ? 1 : MPI_UNDEFINED, 0, &few);
    if (few != MPI_COMM_NULL) {
        MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, few);
        MPI_Comm_free(&few);
    }
    MPI_Barrier(MPI_COMM_SELF);
    MPI_Group_free(&first);
    MPI_Group_free(&all);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&half);
}

/* Every collective operation, those with different counts too; some without blocking. */
static void collectives(void) {
    static int out[4096], in[4096], counts[64], places[64], back[64], back_places[64];
    static MPI_Datatype types[64];
    MPI_Request request;
    for (int i = 0; i < size; i++) {
        counts[i] = 3 * i + 1;
        back[i] = 3 * rank + 1;
        types[i] = MPI_BYTE;
        places[i] = i ? places[i - 1] + counts[i - 1] : 0;
        back_places[i] = i * back[0];
    }
    for (int root = 0; root < size; root++) {
        MPI_Bcast(out, 100, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Reduce(out, in, 10, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
        MPI_Gather(out, 9, MPI_INT, in, 9, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Scatter(out, 9, MPI_INT, in, 9, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Gatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Scatterv(out, counts, places, MPI_INT, in, counts[rank], MPI_INT, root, MPI_COMM_WORLD);
    }
    MPI_Allgather(out, 5, MPI_INT, in, 5, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(out, 7, MPI_INT, in, 7, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallv(out, counts, places, MPI_INT, in, back, back_places, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallw(out, counts, places, types, in, back, back_places, types, MPI_COMM_WORLD);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(out, in, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(out, in, 3, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(out, in, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ibcast(out, 100, MPI_INT, size - 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iallreduce(out, in, 50, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ialltoallv(out, counts, places, MPI_INT, in, back, back_places, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Igatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* As transposing a matrix does; a little to each, and much. */
static void alltoall(void) {
    static double out[8 * 4096], in[8 * 4096];
    for (int round = 0; round < ROUNDS; round++) {
        for (int other = 0; other < size; other++) out[other * 8] = rank * 100 + round;
        MPI_Alltoall(out, 8, MPI_DOUBLE, in, 8, MPI_DOUBLE, MPI_COMM_WORLD);
        for (int other = 0; other < size; other++) check(in[other * 8] == other * 100 + round, "what another one sent");
        if (round % 4 == 0) MPI_Alltoall(out, 4096, MPI_DOUBLE, in, 4096, MPI_DOUBLE, MPI_COMM_WORLD);
    }
}

/* Neighbours put into each other's window between fences. */
static void put(void) {
    double *memory, own[512] = {0};
    MPI_Win window;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Win_allocate(sizeof own, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    for (int round = 0; round < ROUNDS; round++) {
        own[0] = rank * 100 + round;
        MPI_Put(own, round % 2 ? 512 : 8, MPI_DOUBLE, next, 0, round % 2 ? 512 : 8, MPI_DOUBLE, window);
        MPI_Win_fence(0, window);
        check(memory[0] == before * 100 + round, "what another one put");
        MPI_Win_fence(0, window);
    }
    MPI_Win_free(&window);
}

/* Exchanges among the neighbours of a grid, of a graph, and of parts and copies of them. */
static void neighbours(void) {
    static int out[256], in[256], counts[16], places[16], back[16], back_places[16];
    static MPI_Aint at[16];
    static MPI_Datatype types[16];
    MPI_Comm grid, row, copy, ring, graph;
    MPI_Request request;
    int dims[2] = {0, 0}, periods[2] = {1, 1}, keep[2] = {1, 0}, mine;
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Comm_dup(grid, &copy);
    MPI_Cart_sub(grid, keep, &row);
    MPI_Comm_rank(grid, &mine);
    for (int i = 0; i < 64; i++) out[i] = mine * 10 + i % 10;
    for (int i = 0; i < 4; i++) {
        types[i] = MPI_INT;
        places[i] = back_places[i] = 4 * i;
        at[i] = 4 * i * sizeof(int);
    }
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Neighbor_allgather(out, 3, MPI_INT, in, 3, MPI_INT, copy);
        MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid);
    }
    int before, behind;
    MPI_Cart_shift(grid, 0, 1, &before, &behind);
    /* What goes forwards is longer than what goes back. */
    for (int i = 0; i < 4; i++) counts[i] = 1 + i % 2, back[i] = 2 - i % 2;
    MPI_Neighbor_alltoallv(out, counts, places, MPI_INT, in, back, back_places, MPI_INT, grid);
    check(in[0] / 10 == before && in[4] / 10 == behind, "not from a neighbour");
    MPI_Neighbor_alltoallw(out, counts, at, types, in, back, at, types, grid);
    MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, row, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* A ring, by the edges of each; and in both directions, by all edges. */
    int next = (rank + 1) % size, last = (rank + size - 1) % size, weights[1] = {1};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, weights, 1, &next, weights, MPI_INFO_NULL, 0, &ring);
    back[0] = 1 + last;
    MPI_Neighbor_allgatherv(out, 1 + rank, MPI_INT, in, back, places, MPI_INT, ring);
    check(in[0] / 10 == last, "around the ring");
    int index[8], edges[16];
    for (int i = 0; i < size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph);
    MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, graph);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&row);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&grid);
}

/* Rank 0 takes what comes, by each way of asking for anything. */
static void wildcards(void) {
    long note = rank, got;
    MPI_Status status;
    MPI_Request request;
    for (int way = 0; way < 4; way++) {
        for (int i = 0; rank && i < 5; i++) MPI_Send(&note, 1, MPI_LONG, 0, 10 * rank + i, MPI_COMM_WORLD);
        for (int i = 0; !rank && i < 5 * (size - 1); i++) {
            MPI_Message message;
            int flag = 0;
            switch (way) {
            case 0: MPI_Recv(&got, 1, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status); break;
            case 1:
                MPI_Irecv(&got, 1, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, &status);
                break;
            case 2:
                MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
                MPI_Recv(&got, 1, MPI_LONG, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
                break;
            case 3:
                while (!flag) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
                MPI_Mrecv(&got, 1, MPI_LONG, &message, &status);
                break;
            }
            check(got == status.MPI_SOURCE, "another one's message");
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* One that nobody answers. */
    MPI_Irecv(&got, 1, MPI_LONG, MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    static const struct { const char *name; void (*run)(void); } ways[] = {
        {"ping-pong", ping_pong}, {"halo", halo}, {"requests", requests}, {"persistent", persistent},
        {"communicators", communicators}, {"merged", merged}, {"between", between}, {"collectives", collectives}, {"wildcards", wildcards},
        {"alltoall", alltoall}, {"put", put}, {"neighbours", neighbours},
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(argc >= 2 && size > 1 && size <= 8, "usage: patterns WAY [TIMES], on 2 to 8 ranks");
    int known = 0, times = argc > 2 ? atoi(argv[2]) : 1;
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!strcmp(argv[1], ways[i].name)) {
            for (int time = 0; time < times; time++) ways[i].run();
            known = 1;
        }
    }
    check(known, "no such way");
    MPI_Finalize();
    return 0;
}
