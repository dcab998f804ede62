/* MPI calls of each form, with a rank that comes late: what it computes meanwhile is known, what the others do in the
 * call depends on the implementation (Open MPI spins, and gives its processor away when ranks are more than processors).
 *
 *   mpi [part ...]      any number of ranks from 2
 */
#include "../common_mpi.h"
#include "time.h"

enum { ROUNDS = 3, COUNT = 64, TAG = 7 };

static int rank, ranks;
static int sent[64 * COUNT], received[64 * COUNT];

/* The last rank computes for longer before each round. */
static void arrive(void)
{
    compute(rank == ranks - 1 ? 20 * MS : 3 * MS);
}

/* Rank 0 waits for the last one. */
static int is_receiver(void) { return rank == 0; }
static int is_sender(void) { return rank == ranks - 1; }

#define RECEIVED MPI_STATUS_IGNORE

static void send_recv(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        arrive();
        if (is_sender())
            MPI_Send(sent, COUNT, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        if (is_receiver())
            MPI_Recv(received, COUNT, MPI_INT, ranks - 1, TAG, MPI_COMM_WORLD, RECEIVED);
    }
}

/* The receiver is late, and the sender waits for it. */
static void late_receiver(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        arrive();
        if (is_sender())
            MPI_Recv(received, COUNT, MPI_INT, 0, TAG, MPI_COMM_WORLD, RECEIVED);
        if (is_receiver())
            MPI_Ssend(sent, COUNT, MPI_INT, ranks - 1, TAG, MPI_COMM_WORLD);
    }
}

/* Posted before the computation, completed behind it; `complete` says how. */
static void nonblocking(void (*complete)(MPI_Request *))
{
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request requests[2];
        int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
        MPI_Irecv(received, COUNT, MPI_INT, left, TAG, MPI_COMM_WORLD, &requests[0]);
        arrive();
        MPI_Isend(sent, COUNT, MPI_INT, right, TAG, MPI_COMM_WORLD, &requests[1]);
        complete(requests);
    }
}

static void complete_each(MPI_Request *requests)
{
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

static void complete_all(MPI_Request *requests)
{
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void complete_any(MPI_Request *requests)
{
    for (int i = 0, index; i < 2; i++)
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}

static void complete_by_testing(MPI_Request *requests)
{
    for (int done = 0; !done;)
        MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
}

/* Computation between the tests, too little to be worth a clock. */
static void complete_between_work(MPI_Request *requests)
{
    for (int done = 0; !done; compute(50 * US))
        MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
}

static void by_wait(void) { nonblocking(complete_each); }
static void by_waitall(void) { nonblocking(complete_all); }
static void by_waitany(void) { nonblocking(complete_any); }
static void by_testing(void) { nonblocking(complete_by_testing); }
static void by_testing_between(void) { nonblocking(complete_between_work); }

static void sendrecv(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        arrive();
        MPI_Sendrecv(sent, COUNT, MPI_INT, (rank + 1) % ranks, TAG, received, COUNT, MPI_INT, (rank + ranks - 1) % ranks,
                     TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void persistent(void)
{
    MPI_Request requests[2];
    MPI_Send_init(sent, COUNT, MPI_INT, (rank + 1) % ranks, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(received, COUNT, MPI_INT, (rank + ranks - 1) % ranks, TAG, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < ROUNDS; i++) {
        arrive();
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void probing(int once)
{
    for (int i = 0; i < ROUNDS; i++) {
        arrive();
        if (is_sender())
            MPI_Send(sent, COUNT, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        if (!is_receiver())
            continue;
        for (int found = once; !found;)
            MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(received, COUNT, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, RECEIVED);
    }
}

static void by_probe(void) { probing(1); }
static void by_iprobe(void) { probing(0); }

static void barrier(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        arrive();
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void broadcast(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        arrive();
        MPI_Bcast(received, COUNT, MPI_INT, ranks - 1, MPI_COMM_WORLD);
    }
}

static void reductions(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        arrive();
        MPI_Allreduce(sent, received, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        arrive();
        MPI_Reduce(sent, received, COUNT, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    }
}

static void gathers(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        arrive();
        MPI_Gather(sent, COUNT, MPI_INT, received, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Scatter(received, COUNT, MPI_INT, sent, COUNT, MPI_INT, ranks - 1, MPI_COMM_WORLD);
        arrive();
        MPI_Allgather(sent, COUNT, MPI_INT, received, COUNT, MPI_INT, MPI_COMM_WORLD);
    }
}

static void all_to_all(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        arrive();
        MPI_Alltoall(sent, COUNT, MPI_INT, received, COUNT, MPI_INT, MPI_COMM_WORLD);
    }
}

/* So many small messages that a clock read at each would be most of the time. */
static void many_small(void)
{
    for (int i = 0; i < 1000; i++) {
        compute(20 * US);
        MPI_Sendrecv(sent, 1, MPI_INT, (rank + 1) % ranks, TAG, received, 1, MPI_INT, (rank + ranks - 1) % ranks, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"send-recv", send_recv},
        {"late-receiver", late_receiver},
        {"wait", by_wait},
        {"waitall", by_waitall},
        {"waitany", by_waitany},
        {"testing", by_testing},
        {"testing-between", by_testing_between},
        {"sendrecv", sendrecv},
        {"persistent", persistent},
        {"probe", by_probe},
        {"iprobe", by_iprobe},
        {"barrier", barrier},
        {"broadcast", broadcast},
        {"reductions", reductions},
        {"gathers", gathers},
        {"all-to-all", all_to_all},
        {"many-small", many_small},
        {NULL, NULL},
    };
    begin_thread();
    start_mpi(&argc, &argv, &rank, &ranks);
    CHECK(ranks >= 2 && ranks <= 64);
    check_parts("mpi", argv + 1, parts);
    run_parts("mpi", argv + 1, parts, 0);
    MPI_Finalize();
    report_thread();
    report_process();
    return 0;
}
