/* Completion: every call that ends requests, with statuses and without, and on requests that are none. */
#include "surface.h"
#include <sched.h>

enum { PAIRS = 5, COUNT = 32, REQUESTS = 2 * PAIRS };

static int in[PAIRS][COUNT], out[PAIRS][COUNT];

/* Starts PAIRS receives from the left (requests 0 ..) and as many sends to the right. */
static void start_requests(MPI_Request *requests)
{
    memset(in, 0, sizeof in);
    for (int tag = 0; tag < PAIRS; tag++)
        MPI_Irecv(in[tag], COUNT, MPI_INT, left_of(rank), tag, MPI_COMM_WORLD, &requests[tag]);
    for (int tag = 0; tag < PAIRS; tag++) {
        fill(out[tag], COUNT, rank, tag);
        MPI_Isend(out[tag], COUNT, MPI_INT, right_of(rank), tag, MPI_COMM_WORLD, &requests[PAIRS + tag]);
    }
}

/* Request `index` has completed: a receive has its message. */
static void check_completed(int index, const MPI_Status *status)
{
    CHECK(index >= 0 && index < REQUESTS);
    if (index >= PAIRS)
        return;
    if (status)
        check_status(status, left_of(rank), index, COUNT);
    check_message(in[index], COUNT, left_of(rank), index);
}

static void check_all(const MPI_Request *requests, const MPI_Status *statuses)
{
    for (int index = 0; index < REQUESTS; index++) {
        check_completed(index, statuses ? &statuses[index] : NULL);
        CHECK(requests[index] == MPI_REQUEST_NULL);
    }
}

/* Checks what Waitsome or Testsome gave, and counts each request once. */
static int check_some(int outcount, const int *indices, const MPI_Status *statuses, int *seen)
{
    CHECK(outcount == MPI_UNDEFINED || (outcount >= 0 && outcount <= REQUESTS));
    for (int i = 0; outcount != MPI_UNDEFINED && i < outcount; i++) {
        check_completed(indices[i], statuses ? &statuses[i] : NULL);
        CHECK_EQ(seen[indices[i]]++, 0);
    }
    return outcount == MPI_UNDEFINED ? 0 : outcount;
}

void wait_family(void)
{
    MPI_Request requests[REQUESTS];
    MPI_Status statuses[REQUESTS];
    int indices[REQUESTS], index, count;

    start_requests(requests);
    for (int i = REQUESTS - 1; i >= 0; i--)
        MPI_Wait(&requests[i], &statuses[i]);
    check_all(requests, statuses);

    start_requests(requests);
    MPI_Waitall(REQUESTS, requests, statuses);
    check_all(requests, statuses);
    start_requests(requests);
    MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE);
    check_all(requests, NULL);

    for (int ignore = 0; ignore < 2; ignore++) {
        int seen[REQUESTS] = {0};
        start_requests(requests);
        for (int i = 0; i < REQUESTS; i++) {
            MPI_Waitany(REQUESTS, requests, &index, ignore ? MPI_STATUS_IGNORE : &statuses[0]);
            check_completed(index, ignore ? NULL : &statuses[0]);
            CHECK_EQ(seen[index]++, 0);
        }
        check_all(requests, NULL);

        memset(seen, 0, sizeof seen);
        start_requests(requests);
        for (int done = 0; done < REQUESTS;) {
            MPI_Waitsome(REQUESTS, requests, &count, indices, ignore ? MPI_STATUSES_IGNORE : statuses);
            CHECK(count > 0);
            done += check_some(count, indices, ignore ? NULL : statuses, seen);
        }
        check_all(requests, NULL);
    }
}

void test_family(void)
{
    MPI_Request requests[REQUESTS];
    MPI_Status statuses[REQUESTS];
    int indices[REQUESTS], index, count, flag, seen[REQUESTS] = {0};

    start_requests(requests);
    for (int i = 0; i < REQUESTS; i++)
        for (flag = 0; !flag; sched_yield())
            MPI_Test(&requests[i], &flag, &statuses[i]);
    check_all(requests, statuses);

    start_requests(requests);
    for (flag = 0; !flag; sched_yield())
        MPI_Request_get_status(requests[0], &flag, &statuses[0]);
    check_completed(0, &statuses[0]);
    CHECK(requests[0] != MPI_REQUEST_NULL);
    for (flag = 0; !flag; sched_yield())
        MPI_Testall(REQUESTS, requests, &flag, statuses);
    check_all(requests, statuses);

    start_requests(requests);
    for (int done = 0; done < REQUESTS; sched_yield()) {
        MPI_Testany(REQUESTS, requests, &index, &flag, &statuses[0]);
        if (flag) {
            check_completed(index, &statuses[0]);
            CHECK_EQ(seen[index]++, 0);
            done++;
        } else {
            CHECK_EQ(index, MPI_UNDEFINED);
        }
    }
    check_all(requests, NULL);

    memset(seen, 0, sizeof seen);
    start_requests(requests);
    for (int done = 0; done < REQUESTS; sched_yield()) {
        MPI_Testsome(REQUESTS, requests, &count, indices, statuses);
        done += check_some(count, indices, statuses, seen);
    }
    check_all(requests, NULL);
}

void empty_completions(void)
{
    MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status, statuses[2];
    int flag = 0, index = 0, count = 0, indices[2];

    MPI_Wait(&none[0], &status);
    check_status(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    MPI_Test(&none[0], &flag, &status);
    CHECK_EQ(flag, 1);
    check_status(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    MPI_Waitall(2, none, statuses);
    check_status(&statuses[1], MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Testall(2, none, &flag, MPI_STATUSES_IGNORE);
    CHECK_EQ(flag, 1);
    MPI_Waitany(2, none, &index, &status);
    CHECK_EQ(index, MPI_UNDEFINED);
    MPI_Testany(2, none, &index, &flag, &status);
    CHECK(flag == 1 && index == MPI_UNDEFINED);
    MPI_Waitsome(2, none, &count, indices, statuses);
    CHECK_EQ(count, MPI_UNDEFINED);
    MPI_Testsome(2, none, &count, indices, statuses);
    CHECK_EQ(count, MPI_UNDEFINED);

    /* A request between two that are none. */
    int value = rank, got = -1;
    MPI_Request mixed[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Irecv(&got, 1, MPI_INT, left_of(rank), 8, MPI_COMM_WORLD, &mixed[1]);
    MPI_Send(&value, 1, MPI_INT, right_of(rank), 8, MPI_COMM_WORLD);
    MPI_Waitany(3, mixed, &index, &status);
    CHECK_EQ(index, 1);
    check_status(&status, left_of(rank), 8, 1);
    CHECK_EQ(got, left_of(rank));
}
