/* Messages: all blocking and non-blocking sends, wildcards, MPI_PROC_NULL, cancelled and freed requests. */
#include "surface.h"

enum { SMALL = 16, LARGE = 100000, FORMS = 4 };

typedef int (*send_call)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*isend_call)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void *attach_buffer(int messages, int count)
{
    int bytes = messages * (count * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
    void *buffer = allocate(bytes);
    MPI_Buffer_attach(buffer, bytes);
    return buffer;
}

static void detach_buffer(void *buffer)
{
    void *detached = NULL;
    int bytes = 0;
    MPI_Buffer_detach(&detached, &bytes);
    CHECK(detached == buffer);
    free(buffer);
}

/* Every other rank sends `count` values in each form to rank 0, which receives them in turn. The ready send waits for
 * a message that says its receive has been posted. */
static void send_in_all_forms(int count)
{
    static const send_call forms[FORMS] = {MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend};
    int *message = allocate(count * sizeof(int));
    void *buffer = attach_buffer(1, count);
    for (int sender = 1; sender < ranks; sender++)
        for (int form = 0; form < FORMS; form++) {
            int ready = forms[form] == MPI_Rsend;
            if (rank == sender) {
                if (ready)
                    MPI_Recv(NULL, 0, MPI_BYTE, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                fill(message, count, rank, form);
                forms[form](message, count, MPI_INT, 0, form, MPI_COMM_WORLD);
            } else if (rank == 0 && ready) {
                MPI_Request request;
                MPI_Irecv(message, count, MPI_INT, sender, form, MPI_COMM_WORLD, &request);
                MPI_Send(NULL, 0, MPI_BYTE, sender, 99, MPI_COMM_WORLD);
                MPI_Status status;
                MPI_Wait(&request, &status);
                check_status(&status, sender, form, count);
                check_message(message, count, sender, form);
            } else if (rank == 0) {
                MPI_Status status;
                MPI_Recv(message, count, MPI_INT, sender, form, MPI_COMM_WORLD, &status);
                check_status(&status, sender, form, count);
                check_message(message, count, sender, form);
            }
        }
    detach_buffer(buffer);
    free(message);
}

void blocking_sends(void)
{
    send_in_all_forms(0);
    send_in_all_forms(SMALL);
    send_in_all_forms(LARGE); /* too long to be sent before it is received */
}

void nonblocking_sends(void)
{
    static const isend_call forms[FORMS] = {MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend};
    int *out = allocate(FORMS * LARGE * sizeof(int)), *in = allocate(FORMS * LARGE * sizeof(int));
    void *buffer = attach_buffer(1, LARGE);
    MPI_Request requests[2 * FORMS];
    MPI_Status statuses[2 * FORMS];
    for (int form = 0; form < FORMS; form++)
        MPI_Irecv(in + form * LARGE, LARGE, MPI_INT, left_of(rank), form, MPI_COMM_WORLD, &requests[form]);
    MPI_Barrier(MPI_COMM_WORLD); /* all receives are posted, as the ready send demands */
    for (int form = 0; form < FORMS; form++) {
        fill(out + form * LARGE, LARGE, rank, form);
        forms[form](out + form * LARGE, LARGE, MPI_INT, right_of(rank), form, MPI_COMM_WORLD,
                    &requests[FORMS + form]);
    }
    MPI_Waitall(2 * FORMS, requests, statuses);
    for (int form = 0; form < FORMS; form++) {
        check_status(&statuses[form], left_of(rank), form, LARGE);
        check_message(in + form * LARGE, LARGE, left_of(rank), form);
        CHECK(requests[form] == MPI_REQUEST_NULL && requests[FORMS + form] == MPI_REQUEST_NULL);
    }
    detach_buffer(buffer);
    free(out);
    free(in);
}

void send_and_receive(void)
{
    int out[SMALL], in[SMALL];
    MPI_Status status;
    fill(out, SMALL, rank, 1);
    MPI_Sendrecv(out, SMALL, MPI_INT, right_of(rank), 1, in, SMALL, MPI_INT, left_of(rank), 1, MPI_COMM_WORLD,
                 &status);
    check_status(&status, left_of(rank), 1, SMALL);
    check_message(in, SMALL, left_of(rank), 1);

    MPI_Sendrecv_replace(out, SMALL, MPI_INT, left_of(rank), 2, right_of(rank), 2, MPI_COMM_WORLD, &status);
    check_status(&status, right_of(rank), 2, SMALL);
    check_message(out, SMALL, right_of(rank), 1);

    /* Along a line instead of a ring: the ends send to and receive from nobody. */
    int next = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL, before = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int value = rank, got = -1;
    MPI_Sendrecv(&value, 1, MPI_INT, next, 3, &got, 1, MPI_INT, before, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK_EQ(got, rank - 1);
    check_status(&status, before, rank > 0 ? 3 : MPI_ANY_TAG, rank > 0);
}

static void send_for_wildcards(void)
{
    int message[SMALL];
    fill(message, SMALL, rank, rank + 10);
    MPI_Send(message, SMALL, MPI_INT, 0, rank + 10, MPI_COMM_WORLD);
    MPI_Send(message, SMALL, MPI_INT, 0, 500, MPI_COMM_WORLD);
    MPI_Send(message, SMALL, MPI_INT, 0, 600 + rank, MPI_COMM_WORLD);
}

static void receive_by_wildcards(void)
{
    int message[SMALL], *seen = allocate(ranks * sizeof(int));
    for (int i = 1; i < ranks; i++) {
        MPI_Status status;
        MPI_Recv(message, SMALL, MPI_INT, i, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        check_status(&status, i, i + 10, SMALL);
        check_message(message, SMALL, i, i + 10);
    }
    for (int i = 1; i < ranks; i++) {
        MPI_Status status;
        MPI_Recv(message, SMALL, MPI_INT, MPI_ANY_SOURCE, 500, MPI_COMM_WORLD, &status);
        check_message(message, SMALL, status.MPI_SOURCE, status.MPI_SOURCE + 10);
        CHECK_EQ(seen[status.MPI_SOURCE]++, 0);
    }
    for (int i = 1; i < ranks; i++) {
        MPI_Status status;
        MPI_Request request;
        MPI_Irecv(message, SMALL, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        check_status(&status, status.MPI_SOURCE, 600 + status.MPI_SOURCE, SMALL);
        CHECK_EQ(seen[status.MPI_SOURCE]++, 1);
    }
    free(seen);
}

void wildcards(void)
{
    if (rank == 0)
        receive_by_wildcards();
    else
        send_for_wildcards();
    MPI_Barrier(MPI_COMM_WORLD); /* no later message may meet a wildcard */
}

void nobody(void)
{
    int message[SMALL] = {0};
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Send(message, SMALL, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Ssend(message, SMALL, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Recv(message, SMALL, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Recv(message, SMALL, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Irecv(message, SMALL, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(message, SMALL, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[0], &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

void cancelled_and_freed(void)
{
    enum { NEVER_SENT = 700, FREED = 701 };
    int nothing = 0, value = rank, got = -1, flag = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&nothing, 1, MPI_INT, left_of(rank), NEVER_SENT, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK_EQ(flag, 1);

    /* A send whose request is freed completes all the same. */
    MPI_Isend(&value, 1, MPI_INT, right_of(rank), FREED, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Recv(&got, 1, MPI_INT, left_of(rank), FREED, MPI_COMM_WORLD, &status);
    CHECK_EQ(got, left_of(rank));
    MPI_Barrier(MPI_COMM_WORLD); /* `value` may be given up: its receiver has it */
}
