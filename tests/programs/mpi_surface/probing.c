/* Probes, matched probes, and persistent requests. */
#include "surface.h"
#include <sched.h>

enum { COUNT = 24 };

void probes(void)
{
    int out[COUNT], in[COUNT], flag = 1;
    MPI_Request request;
    MPI_Status status;
    fill(out, COUNT, rank, 1);
    MPI_Barrier(MPI_COMM_WORLD); /* no earlier message may meet a wildcard */
    MPI_Iprobe(left_of(rank), 800, MPI_COMM_WORLD, &flag, &status);
    CHECK_EQ(flag, 0); /* nobody sends with this tag */
    MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 1);

    MPI_Isend(out, COUNT, MPI_INT, right_of(rank), 1, MPI_COMM_WORLD, &request);
    MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    check_status(&status, left_of(rank), 1, COUNT);
    MPI_Recv(in, COUNT, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_message(in, COUNT, left_of(rank), 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    MPI_Isend(out, COUNT, MPI_INT, right_of(rank), 2, MPI_COMM_WORLD, &request);
    for (flag = 0; !flag; sched_yield())
        MPI_Iprobe(left_of(rank), MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    check_status(&status, left_of(rank), 2, COUNT);
    MPI_Recv(in, COUNT, MPI_INT, left_of(rank), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_message(in, COUNT, left_of(rank), 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void matched_probes(void)
{
    int out[COUNT], in[COUNT], flag = 1;
    MPI_Message message;
    MPI_Request send, receive;
    MPI_Status status;
    fill(out, COUNT, rank, 3);
    MPI_Improbe(left_of(rank), 801, MPI_COMM_WORLD, &flag, &message, &status);
    CHECK_EQ(flag, 0); /* nobody sends with this tag */

    MPI_Isend(out, COUNT, MPI_INT, right_of(rank), 3, MPI_COMM_WORLD, &send);
    MPI_Mprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &message, &status);
    check_status(&status, left_of(rank), 3, COUNT);
    MPI_Mrecv(in, COUNT, MPI_INT, &message, &status);
    check_status(&status, left_of(rank), 3, COUNT);
    check_message(in, COUNT, left_of(rank), 3);
    CHECK(message == MPI_MESSAGE_NULL);
    MPI_Wait(&send, MPI_STATUS_IGNORE);

    fill(out, COUNT, rank, 4);
    MPI_Isend(out, COUNT, MPI_INT, right_of(rank), 4, MPI_COMM_WORLD, &send);
    for (flag = 0; !flag; sched_yield())
        MPI_Improbe(left_of(rank), 4, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, COUNT, MPI_INT, &message, &receive);
    MPI_Wait(&receive, &status);
    check_status(&status, left_of(rank), 4, COUNT);
    check_message(in, COUNT, left_of(rank), 4);
    MPI_Wait(&send, MPI_STATUS_IGNORE);

    MPI_Mprobe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(in, COUNT, MPI_INT, &message, &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

void persistent_requests(void)
{
    enum { FORMS = 4, ROUNDS = 3 };
    int out[FORMS][COUNT], in[FORMS][COUNT], right = right_of(rank), left = left_of(rank), index;
    MPI_Request requests[2 * FORMS]; /* receives first */
    MPI_Status statuses[2 * FORMS];
    int bytes = FORMS * (COUNT * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
    void *buffer = allocate(bytes);
    MPI_Buffer_attach(buffer, bytes);
    for (int form = 0; form < FORMS; form++)
        MPI_Recv_init(in[form], COUNT, MPI_INT, left, form, MPI_COMM_WORLD, &requests[form]);
    MPI_Send_init(out[0], COUNT, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[FORMS + 0]);
    MPI_Bsend_init(out[1], COUNT, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[FORMS + 1]);
    MPI_Ssend_init(out[2], COUNT, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[FORMS + 2]);
    MPI_Rsend_init(out[3], COUNT, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[FORMS + 3]);

    MPI_Waitany(2 * FORMS, requests, &index, &statuses[0]); /* none has been started */
    CHECK_EQ(index, MPI_UNDEFINED);
    for (int round = 0; round < ROUNDS; round++) {
        for (int form = 0; form < FORMS; form++)
            fill(out[form], COUNT, rank, 100 * round + form);
        MPI_Startall(FORMS, requests);
        MPI_Barrier(MPI_COMM_WORLD); /* all receives are posted, as the ready send demands */
        for (int form = 0; form < FORMS; form++)
            MPI_Start(&requests[FORMS + form]);
        if (round == 0)
            for (int i = 0; i < 2 * FORMS; i++)
                MPI_Wait(&requests[i], &statuses[i]);
        else
            MPI_Waitall(2 * FORMS, requests, statuses);
        for (int form = 0; form < FORMS; form++) {
            check_status(&statuses[form], left, form, COUNT);
            check_message(in[form], COUNT, left, 100 * round + form);
            CHECK(requests[form] != MPI_REQUEST_NULL); /* it lives on */
        }
    }
    for (int i = 0; i < 2 * FORMS; i++) {
        MPI_Request_free(&requests[i]);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
}
