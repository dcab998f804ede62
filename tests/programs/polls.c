/* polls: one rank that asks for messages long before it sends them to itself, in all the ways in which MPI can be asked,
 * while a timer's handler writes bytes. Prints how often each call was made.
 */
#include "common_mpi.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

enum { IN_VAIN = 4000, REQUESTS = 3 };

static volatile sig_atomic_t written;
static int null_fd;

static void on_alarm(int signal)
{
    (void)signal;
    if (write(null_fd, "x", 1) == 1)
        written++;
}

struct waiting {
    MPI_Request requests[REQUESTS];
    int in[REQUESTS], rounds;
};

/* One question; how many requests it found complete, or 1 for a message that has come. */
typedef int (*question)(struct waiting *);

static int test(struct waiting *w)
{
    int flag;
    MPI_Test(&w->requests[0], &flag, MPI_STATUS_IGNORE);
    return flag;
}

static int test_any(struct waiting *w)
{
    int index, flag;
    MPI_Testany(REQUESTS, w->requests, &index, &flag, MPI_STATUS_IGNORE);
    return flag;
}

static int test_all(struct waiting *w)
{
    int flag;
    MPI_Testall(REQUESTS, w->requests, &flag, MPI_STATUSES_IGNORE);
    return flag;
}

static int test_some(struct waiting *w)
{
    int found, indices[REQUESTS];
    MPI_Testsome(REQUESTS, w->requests, &found, indices, MPI_STATUSES_IGNORE);
    return found;
}

/* Two tags in turn for a while: no row of calls with the same arguments. */
static int probe(struct waiting *w)
{
    int flag, tag = 500 + (w->rounds < 100 ? w->rounds & 1 : 0);
    MPI_Iprobe(0, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return flag;
}

static int match(struct waiting *w)
{
    int flag;
    MPI_Message message;
    MPI_Improbe(0, 500, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    if (flag)
        MPI_Mrecv(&w->in[0], 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    return flag;
}

/* Asks in vain, sends, and asks until the message has come. */
static void ask(const char *name, question question, int receives)
{
    struct waiting w = {.rounds = 0};
    MPI_Request sent[REQUESTS];
    int out = 7;
    for (int i = 0; i < receives; i++)
        MPI_Irecv(&w.in[i], 1, MPI_INT, 0, 500, MPI_COMM_WORLD, &w.requests[i]);
    for (; w.rounds < IN_VAIN; w.rounds++)
        CHECK_EQ(question(&w), 0);
    for (int i = 0; i < (receives ? receives : 1); i++)
        MPI_Isend(&out, 1, MPI_INT, 0, 500, MPI_COMM_WORLD, &sent[i]);
    do {
        w.rounds++;
    } while (!question(&w));
    printf("%s %d\n", name, w.rounds);
    if (receives)
        MPI_Waitall(receives, w.requests, MPI_STATUSES_IGNORE);
    else if (question == probe)
        MPI_Recv(&w.in[0], 1, MPI_INT, 0, 500, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(receives ? receives : 1, sent, MPI_STATUSES_IGNORE);
    CHECK_EQ(w.in[0], 7);
}

/* Two questions by turns, as of who has a message under way in each direction. */
static void ask_by_turns(void)
{
    int in[2], out = 7, index, flag, rounds = 0;
    MPI_Request requests[2], sent[2];
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, 0, 502 + i, MPI_COMM_WORLD, &requests[i]);
    for (; rounds < IN_VAIN; rounds++) {
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        MPI_Testany(1, &requests[1], &index, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
    }
    printf("MPI_Test %d\nMPI_Testany %d\n", rounds, rounds);
    for (int i = 0; i < 2; i++)
        MPI_Isend(&out, 1, MPI_INT, 0, 502 + i, MPI_COMM_WORLD, &sent[i]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
}

static ssize_t meet(void *count, const char *text, size_t bytes)
{
    (void)text;
    MPI_Barrier(MPI_COMM_SELF);
    ++*(int *)count;
    return (ssize_t)bytes;
}

/* A stream of the program's own calls MPI from inside fflush(3), after a row of questions of any length. */
static void meet_in_streams(void)
{
    int in, flag, met = 0, tests = 0;
    MPI_Request request;
    cookie_io_functions_t functions = {.write = meet};
    FILE *stream = fopencookie(&met, "w", functions);
    CHECK(stream != NULL);
    MPI_Irecv(&in, 1, MPI_INT, 0, 501, MPI_COMM_WORLD, &request);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 100 + round; i++, tests++) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            CHECK(!flag);
        }
        CHECK(fputc('x', stream) == 'x');
        CHECK_OK(fflush(stream));
    }
    CHECK_OK(fclose(stream));
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("MPI_Test %d\nMPI_Barrier %d\n", tests, met);
}

static jmp_buf back;

static void jump_back(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    longjmp(back, 1);
}

__attribute__((noinline)) static char meet_deep(int depth)
{
    volatile char frame[4096];
    frame[0] = depth > 0 ? meet_deep(depth - 1) : 0;
    if (depth == 0)
        MPI_Barrier(MPI_COMM_SELF);
    return frame[0];
}

/* An error handler jumps out of one send; a barrier follows from deeper on the stack. */
static void meet_behind_jump(void)
{
    MPI_Errhandler handler;
    int out = 7;
    MPI_Comm_create_errhandler(jump_back, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (setjmp(back) == 0) {
        MPI_Send(&out, 1, MPI_INT, 99, 1, MPI_COMM_WORLD);
        fail(__FILE__, __LINE__, "there is no rank 99");
    }
    meet_deep(4);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    printf("MPI_Barrier 1\n");
}

int main(int argc, char **argv)
{
    int rank, ranks;
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    /* Threads that MPI makes are not to run the handler. */
    CHECK_OK(pthread_sigmask(SIG_BLOCK, &alarms, NULL));
    start_mpi(&argc, &argv, &rank, &ranks);
    CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &alarms, NULL));
    null_fd = open("/dev/null", O_WRONLY);
    CHECK(null_fd >= 0);
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    CHECK_OK(sigaction(SIGALRM, &action, NULL));
    CHECK_OK(setitimer(ITIMER_REAL, &often, NULL));
    ask("MPI_Test", test, 1);
    ask("MPI_Testany", test_any, REQUESTS);
    ask("MPI_Testall", test_all, REQUESTS);
    ask("MPI_Testsome", test_some, REQUESTS);
    ask("MPI_Iprobe", probe, 0);
    ask("MPI_Improbe", match, 0);
    ask_by_turns();
    CHECK_OK(setitimer(ITIMER_REAL, &never, NULL));
    printf("write %d\n", (int)written);
    meet_in_streams();
    meet_behind_jump();
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
