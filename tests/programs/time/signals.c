/* Signal handlers that compute and that write, and calls that a signal ends or interrupts.
 *
 *   signals [part ...]
 */
#include "time.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>

/* When the last signal was handled. */
static volatile long long handled_at;
static int written_by_handler = -1;

static void handle(int signal)
{
    (void)signal;
    handled_at = wall_ns();
    compute_inside(3 * MS);
}

static void handle_and_write(int signal)
{
    handle(signal);
    if (write(written_by_handler, "signal\n", 7) != 7)
        _exit(3);
}

static void install(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    /* One handler at a time: what each computes is counted once. */
    CHECK_OK(sigfillset(&action.sa_mask));
    CHECK_OK(sigaction(signal, &action, NULL));
}

/* SIGALRM after `first`, then every `interval`; 0 for none. */
static void alarm_after(long long first, long long interval)
{
    struct itimerval timer = {{interval / 1000000000, interval % 1000000000 / US},
                              {first / 1000000000, first % 1000000000 / US}};
    CHECK_OK(setitimer(ITIMER_REAL, &timer, NULL));
}

static void handler_computes(void)
{
    install(SIGALRM, handle, SA_RESTART);
    alarm_after(10 * MS, 15 * MS);
    compute(80 * MS);
    alarm_after(0, 0);
}

static void handler_writes(void)
{
    written_by_handler = open("handler.dat", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(written_by_handler >= 0);
    FILE *stream = fopen("handled.dat", "w");
    CHECK(stream != NULL);
    install(SIGALRM, handle_and_write, SA_RESTART);
    alarm_after(10 * MS, 12 * MS);
    for (int i = 0; i < 8; i++) {
        compute(10 * MS);
        fprintf(stream, "round %d\n", i);
        CHECK_OK(fflush(stream));
    }
    alarm_after(0, 0);
    CHECK_OK(fclose(stream));
    CHECK_OK(close(written_by_handler));
}

/* Each waits for what will not come within three seconds; -1 when a signal ended it. */
static int wait_select(int fd)
{
    struct timeval limit = {3, 0};
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(fd, &readable);
    return select(fd + 1, &readable, NULL, NULL, &limit);
}

static int wait_pselect(int fd)
{
    struct timespec limit = {3, 0};
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(fd, &readable);
    return pselect(fd + 1, &readable, NULL, NULL, &limit, NULL);
}

static int wait_poll(int fd)
{
    struct pollfd asked = {.fd = fd, .events = POLLIN};
    return poll(&asked, 1, 3000);
}

static int wait_epoll(int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(0);
    CHECK_OK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
    int result = epoll_wait(epoll, &event, 1, 3000), error = errno;
    CHECK_OK(close(epoll));
    errno = error;
    return result;
}

static int wait_read(int fd)
{
    char byte;
    return (int)read(fd, &byte, 1);
}

static int wait_nanosleep(int fd)
{
    (void)fd;
    struct timespec time = {3, 0};
    return nanosleep(&time, NULL);
}

static int wait_pause(int fd)
{
    (void)fd;
    return pause();
}

/* Three times: the alarm comes after 25 ms, and its handler ends the wait. It comes again, for a wait that was late. */
static void ended_by_alarm(int (*wait_for)(int))
{
    int ends[2];
    CHECK_OK(pipe(ends));
    install(SIGALRM, handle, 0);
    for (int i = 0; i < 3; i++) {
        compute(8 * MS);
        alarm_after(25 * MS, 50 * MS);
        long long entered = wall_ns();
        CHECK_FAILS(wait_for(ends[0]), EINTR);
        alarm_after(0, 0);
        waited(entered, handled_at);
    }
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
}

/* A child ends after 60 ms; SIGCHLD ends a wait of three seconds. An alarm ends it where the child was faster. */
static void ended_by_child(int (*wait_for)(int))
{
    int ends[2];
    CHECK_OK(pipe(ends));
    install(SIGCHLD, handle, 0);
    install(SIGALRM, handle, 0);
    compute(10 * MS);
    pid_t child = fork_measured();
    if (child == 0) {
        sleep_ns(60 * MS);
        end_child();
    }
    alarm_after(1000 * MS, 0);
    long long entered = wall_ns();
    CHECK_FAILS(wait_for(ends[0]), EINTR);
    alarm_after(0, 0);
    waited(entered, handled_at);
    install(SIGCHLD, SIG_DFL, 0);
    reap(child);
    compute(10 * MS);
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
}

/* With SA_RESTART two alarms interrupt the read and do not end it; a child does, after 90 ms. */
static void restarted_read(void)
{
    int ends[2];
    CHECK_OK(pipe(ends));
    _Atomic long long *released = shared_moment();
    install(SIGALRM, handle, SA_RESTART);
    pid_t child = fork_measured();
    if (child == 0) {
        sleep_ns(90 * MS);
        *released = wall_ns();
        CHECK_EQ(write(ends[1], "x", 1), 1);
        end_child();
    }
    compute(5 * MS);
    long long handling = own.inside;
    alarm_after(20 * MS, 30 * MS);
    long long entered = wall_ns();
    CHECK_EQ(wait_read(ends[0]), 1);
    alarm_after(0, 0);
    waited(entered + (own.inside - handling), *released);
    reap(child);
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
}

/* The same in waitpid, as shells and make do. */
static void restarted_waitpid(void)
{
    _Atomic long long *released = shared_moment();
    install(SIGALRM, handle, SA_RESTART);
    install(SIGCHLD, handle, SA_RESTART);
    pid_t child = fork_measured();
    if (child == 0) {
        sleep_ns(90 * MS);
        *released = wall_ns();
        end_child();
    }
    compute(5 * MS);
    long long handling = own.inside;
    alarm_after(20 * MS, 30 * MS);
    long long entered = wall_ns();
    reap(child);
    alarm_after(0, 0);
    waited(entered + (own.inside - handling), *released);
    install(SIGCHLD, SIG_DFL, 0);
}

/* What a part does that a table of functions without arguments can name. */
#define ENDED(call) \
    static void alarm_ends_##call(void) { ended_by_alarm(wait_##call); }
#define CHILD_ENDED(call) \
    static void child_ends_##call(void) { ended_by_child(wait_##call); }
ENDED(select) ENDED(pselect) ENDED(poll) ENDED(epoll) ENDED(read) ENDED(nanosleep) ENDED(pause)
CHILD_ENDED(select) CHILD_ENDED(poll) CHILD_ENDED(epoll) CHILD_ENDED(nanosleep) CHILD_ENDED(read)

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"handler-computes", handler_computes},
        {"handler-writes", handler_writes},
        {"select", alarm_ends_select},
        {"pselect", alarm_ends_pselect},
        {"poll", alarm_ends_poll},
        {"epoll", alarm_ends_epoll},
        {"read", alarm_ends_read},
        {"nanosleep", alarm_ends_nanosleep},
        {"pause", alarm_ends_pause},
        {"child-select", child_ends_select},
        {"child-poll", child_ends_poll},
        {"child-epoll", child_ends_epoll},
        {"child-nanosleep", child_ends_nanosleep},
        {"child-read", child_ends_read},
        {"restarted-read", restarted_read},
        {"restarted-waitpid", restarted_waitpid},
        {NULL, NULL},
    };
    return time_main(argc, argv, "signals", parts);
}
