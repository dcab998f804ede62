/* Turns: two ranks take turns by MPI and nothing else; in each turn a byte is written to a file of the rank's own.
 *
 *   turns [between-]message|[between-]barrier|between-bcast|between-reduce|partitions|cancelled|lock|lock-shared|
 *         lock-all [TURNS OF EACH]
 *   turns empty-bcast|empty-allreduce|empty-alltoallv
 *
 * Rank 0 writes to "a", rank 1 to "b". Verifies that who has the lock of a window reads what the one before has put there; that
 * the other turns are in order is MPI's matter. Of locks each rank has one turn. What begins with "between" goes through an
 * inter-communicator, whose groups are a rank each. What begins with "empty" moves no bytes, and nobody waits: the turns are in no
 * order.
 */
#include "../common_mpi.h"
#include <fcntl.h>

enum { ROUNDS = 4, LOCKED = 7 };

static void pass_by_message(int rank, int turn, MPI_Comm comm, int other)
{
    char byte = 0;
    if (rank == turn)
        MPI_Send(&byte, 1, MPI_BYTE, other, turn, comm);
    else
        MPI_Recv(&byte, 1, MPI_BYTE, other, turn, comm, MPI_STATUS_IGNORE);
}

/* A receive is cancelled before its message, which nobody sends; and another one too late, when its message has come. */
static void pass_by_cancelled(int rank, int turn, int other)
{
    enum { NEVER_SENT = 700 };
    char byte = 0;
    int flag = 0;
    MPI_Request request;
    MPI_Status status;
    if (rank == turn) {
        MPI_Send(&byte, 1, MPI_BYTE, other, turn, MPI_COMM_WORLD);
        return;
    }
    MPI_Irecv(&byte, 1, MPI_BYTE, other, NEVER_SENT, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK_EQ(flag, 1);
    MPI_Irecv(&byte, 1, MPI_BYTE, other, turn, MPI_COMM_WORLD, &request);
    for (flag = 0; !flag;)
        MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK_EQ(flag, 0);
}

/* Whoever does not write waits for the other one. */
static void pass_between(const char *how, int rank, int turn, MPI_Comm between)
{
    int number = turn, got = -1;
    if (strcmp(how, "message") == 0)
        pass_by_message(rank, turn, between, 0);
    else if (strcmp(how, "barrier") == 0)
        MPI_Barrier(between);
    else if (strcmp(how, "bcast") == 0)
        MPI_Bcast(&number, 1, MPI_INT, rank == turn ? MPI_ROOT : 0, between);
    else {
        CHECK(strcmp(how, "reduce") == 0);
        MPI_Reduce(&number, &got, 1, MPI_INT, MPI_SUM, rank == turn ? 0 : MPI_ROOT, between);
        CHECK_EQ(got, rank == turn ? -1 : turn);
    }
}

static void pass_nothing(const char *how, int turn)
{
    int none[] = {0, 0}, number = 0, got = 0;
    if (strcmp(how, "bcast") == 0)
        MPI_Bcast(&number, 0, MPI_INT, turn, MPI_COMM_WORLD);
    else if (strcmp(how, "allreduce") == 0)
        MPI_Allreduce(&number, &got, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else {
        CHECK(strcmp(how, "alltoallv") == 0);
        MPI_Alltoallv(&number, none, none, MPI_INT, &got, none, none, MPI_INT, MPI_COMM_WORLD);
    }
}

/* Rank 0 has the lock of its own memory before rank 1 asks for it, and keeps it while rank 1 waits. Who has read a number has
 * the lock, whenever MPI grants it. */
static void pass_lock(int rank, int fd, const char *how)
{
    int by_all = strcmp(how, "lock-all") == 0, number = LOCKED, got = 0, *memory;
    MPI_Win window;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    *memory = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        usleep(200000);
        CHECK_EQ(write(fd, "x", 1), 1);
        MPI_Put(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_unlock(0, window);
    } else {
        if (by_all)
            MPI_Win_lock_all(0, window);
        else
            MPI_Win_lock(strcmp(how, "lock") == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, window);
        MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_flush(0, window);
        CHECK_EQ(got, LOCKED);
        CHECK_EQ(write(fd, "x", 1), 1);
        if (by_all)
            MPI_Win_unlock_all(window);
        else
            MPI_Win_unlock(0, window);
    }
    MPI_Win_free(&window);
}

/* A message of 4 partitions, made ready in another order, each turn's with the requests of its direction. The receiver has it in
 * 2 partitions, and asks for these one by one in every other round. */
#if MPI_VERSION >= 4
enum { PARTITIONS = 4, PART = 1000 };

static int numbers[2][PARTITIONS * PART];
static MPI_Request requests[2];

static void begin_partitions(int rank)
{
    for (int turn = 0; turn < 2; turn++)
        if (turn == rank)
            MPI_Psend_init(numbers[turn], PARTITIONS, PART, MPI_INT, !rank, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &requests[turn]);
        else
            MPI_Precv_init(numbers[turn], PARTITIONS / 2, 2 * PART, MPI_INT, !rank, 3, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &requests[turn]);
}

static void pass_partitions(int rank, int turn, int round)
{
    MPI_Start(&requests[turn]);
    if (rank == turn) {
        for (int at = 0; at < PARTITIONS * PART; at++)
            numbers[turn][at] = round + at;
        int second[] = {1};
        MPI_Pready(3, requests[turn]);
        MPI_Pready_range(2, 2, requests[turn]);
        MPI_Pready_list(1, second, requests[turn]);
        MPI_Pready(0, requests[turn]);
    } else if (round % 2)
        for (int part = 0, flag = 0; part < PARTITIONS / 2; part++, flag = 0)
            while (!flag)
                MPI_Parrived(requests[turn], part, &flag);
    MPI_Wait(&requests[turn], MPI_STATUS_IGNORE);
    for (int at = 0; at < PARTITIONS * PART; at++)
        CHECK_EQ(numbers[turn][at], round + at);
}

static void end_partitions(void)
{
    for (int turn = 0; turn < 2; turn++)
        MPI_Request_free(&requests[turn]);
}
#else
static void begin_partitions(int rank) { CHECK(rank < 0 && "this MPI has partitions"); }
static void pass_partitions(int rank, int turn, int round) { CHECK(rank + turn + round < 0); }
static void end_partitions(void) {}
#endif

int main(int argc, char **argv)
{
    int rank, ranks;
    start_mpi(&argc, &argv, &rank, &ranks);
    CHECK(argc == 2 || argc == 3);
    CHECK_EQ(ranks, 2);
    int rounds = argc == 3 ? atoi(argv[2]) : ROUNDS;
    int by_barrier = strcmp(argv[1], "barrier") == 0;
    const char *between = strncmp(argv[1], "between-", 8) == 0 ? argv[1] + 8 : NULL;
    const char *empty = strncmp(argv[1], "empty-", 6) == 0 ? argv[1] + 6 : NULL;
    MPI_Comm both = MPI_COMM_NULL;
    if (between)
        MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, !rank, 5, &both);
    int by_lock = strncmp(argv[1], "lock", 4) == 0;
    int by_partitions = strcmp(argv[1], "partitions") == 0, cancelled = strcmp(argv[1], "cancelled") == 0;
    int by_message = strcmp(argv[1], "message") == 0;
    CHECK(by_barrier || by_lock || by_partitions || between || empty || cancelled || by_message);
    int fd = open(rank ? "b" : "a", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    if (by_partitions)
        begin_partitions(rank);
    if (by_lock)
        pass_lock(rank, fd, argv[1]);
    for (int turn = 0; !by_lock && turn < 2 * rounds; turn++) {
        if (turn % 2 == rank)
            CHECK_EQ(write(fd, "x", 1), 1);
        if (by_partitions)
            pass_partitions(rank, turn % 2, turn / 2);
        else if (between)
            pass_between(between, rank, turn % 2, both);
        else if (cancelled)
            pass_by_cancelled(rank, turn % 2, !rank);
        else if (empty)
            pass_nothing(empty, turn % 2);
        else if (by_barrier)
            MPI_Barrier(MPI_COMM_WORLD);
        else
            pass_by_message(rank, turn % 2, MPI_COMM_WORLD, !rank);
    }
    if (by_partitions)
        end_partitions();
    if (between)
        MPI_Comm_free(&both);
    CHECK_OK(close(fd));
    MPI_Finalize();
    return 0;
}
