/* Signals sent, awaited, and due by timers. */
#include "surface.h"
#undef NDEBUG
#include <assert.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* sigpause and ualarm are deprecated, and used */

static volatile sig_atomic_t arrived, value;

static void count(int signal, siginfo_t *info, void *context)
{
    (void)context;
    CHECK(info->si_signo == signal);
    arrived++;
    value = info->si_value.sival_int;
}

static void install_counter(int signal)
{
    struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO};
    arrived = 0;
    CHECK_OK(sigaction(signal, &action, NULL));
}

/* Nine ways to send a signal to oneself; all nine arrive before the call returns. */
void signals_sent(void)
{
    union sigval number = {.sival_int = 17};
    install_counter(SIGUSR1);
    CHECK_OK(raise(SIGUSR1));
    CHECK_OK(gsignal(SIGUSR1));
    CHECK_OK(kill(getpid(), SIGUSR1));
    CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
    CHECK_OK(tgkill(getpid(), gettid(), SIGUSR1));
    CHECK_OK(sigqueue(getpid(), SIGUSR1, number));
    CHECK_EQ(value, 17);
    CHECK_OK(pthread_sigqueue(pthread_self(), SIGUSR1, number));
    CHECK_EQ(arrived, 7);
    CHECK_OK(kill(getpid(), 0));
    CHECK_FAILS(kill(getpid(), 1000), EINVAL);
    CHECK_FAILS(tgkill(getpid(), 1 << 30, SIGUSR1), ESRCH);
    CHECK_OK(raise(SIGCHLD)); /* ignored by default */
    pid_t child = fork();
    if (child == 0) {
        CHECK_OK(setpgid(0, 0));
        install_counter(SIGUSR1);
        CHECK_OK(killpg(0, SIGUSR1));
        CHECK_OK(kill(0, SIGUSR1));
        _exit(arrived);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 2);
    CHECK(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
}

static void set_blocked(int how)
{
    sigset_t set;
    CHECK_OK(sigemptyset(&set));
    CHECK_OK(sigaddset(&set, SIGUSR1));
    CHECK_OK(sigaddset(&set, SIGUSR2));
    CHECK_OK(pthread_sigmask(how, &set, NULL));
}

/* Signals that wait until they are asked for; none of them reaches a handler, but for the last ones. */
void signals_awaited(void)
{
    sigset_t set, none;
    siginfo_t info;
    int found = 0;
    struct timespec at_once = {0, 0};
    CHECK_OK(sigemptyset(&set));
    CHECK_OK(sigemptyset(&none));
    CHECK_OK(sigaddset(&set, SIGUSR1));
    install_counter(SIGUSR1);
    set_blocked(SIG_BLOCK);
    CHECK_OK(raise(SIGUSR1));
    CHECK_OK(sigwait(&set, &found));
    CHECK_EQ(found, SIGUSR1);
    CHECK_OK(raise(SIGUSR1));
    CHECK_EQ(sigwaitinfo(&set, &info), SIGUSR1);
    CHECK_EQ(info.si_pid, getpid());
    CHECK_OK(raise(SIGUSR1));
    CHECK_EQ(sigtimedwait(&set, NULL, &at_once), SIGUSR1);
    CHECK_FAILS(sigtimedwait(&set, NULL, &at_once), EAGAIN);
    CHECK_FAILS(sigtimedwait(bad_address(), NULL, &at_once), EFAULT);
    CHECK_EQ(arrived, 0);
    CHECK_OK(raise(SIGUSR1));
    CHECK_FAILS(sigsuspend(&none), EINTR);
    CHECK_FAILS(sigsuspend(bad_address()), EFAULT);
    CHECK_OK(raise(SIGUSR1));
    CHECK_FAILS(sigpause(SIGUSR1), EINTR);
    CHECK_EQ(arrived, 2);
    set_blocked(SIG_UNBLOCK);
    CHECK(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
}

void timers(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    struct itimerspec soon = {{0, 0}, {0, 1}}, never = {{0, 0}, {0, 0}};
    struct itimerval later = {{5, 250}, {100, 500}}, left;
    timer_t timer;
    sigset_t set;
    int found = 0;
    CHECK_OK(sigemptyset(&set));
    CHECK_OK(sigaddset(&set, SIGUSR2));
    set_blocked(SIG_BLOCK);
    CHECK_OK(timer_create(CLOCK_MONOTONIC, &event, &timer));
    CHECK_OK(timer_settime(timer, 0, &soon, NULL));
    CHECK_OK(sigwait(&set, &found));
    CHECK_EQ(found, SIGUSR2);
    CHECK_OK(timer_settime(timer, 0, &never, NULL));
    CHECK_OK(timer_delete(timer));
    CHECK_FAILS(timer_create(-1000, &event, &timer), EINVAL);
    CHECK_OK(setitimer(ITIMER_VIRTUAL, &later, NULL));
    memset(&later, 0, sizeof later);
    CHECK_OK(setitimer(ITIMER_VIRTUAL, &later, &left));
    CHECK_EQ(left.it_interval.tv_usec, 250);
    unsigned allowed = alarm(1000); /* what main has set */
    CHECK(allowed > 0);
    CHECK(alarm(allowed) >= 999);
    CHECK_EQ(ualarm(0, 0) > 0, 1);
    alarm(allowed);
    set_blocked(SIG_UNBLOCK);
}

/* A sleep that a signal ends writes what is left of it over what was asked for. */
void interrupted_sleeps(void)
{
    struct itimerspec soon = {{0, 1000000}, {0, 1000000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct timespec time = {100, 0};
    int silent;
    timer_t timer;
    install_counter(SIGUSR1);
    CHECK_OK(timer_create(CLOCK_MONOTONIC, &event, &timer));
    CHECK_OK(timer_settime(timer, 0, &soon, NULL));
    CHECK_FAILS(nanosleep(&time, &time), EINTR);
    CHECK(time.tv_sec == 99);
    CHECK_FAILS(syscall(SYS_nanosleep, &time, &time), EINTR);
    time.tv_sec = 50;
    CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &time), EINTR);
    time.tv_sec = 40;
    CHECK_FAILS(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, &time), EINTR);
    CHECK_OK(timer_delete(timer));
    CHECK(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
    event.sigev_notify = SIGEV_NONE;
    CHECK_OK(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &silent));
    CHECK_OK(syscall(SYS_timer_delete, silent));
}

static pid_t pausing_tid;

static void *pause_once(void *unused)
{
    __atomic_store_n(&pausing_tid, gettid(), __ATOMIC_RELEASE);
    CHECK_FAILS(pause(), EINTR);
    return unused;
}

void pausing(void)
{
    install_counter(SIGUSR1);
    pthread_t thread = start_thread(pause_once, NULL);
    UNTIL(is_in(&pausing_tid, SYS_pause));
    CHECK_OK(pthread_kill(thread, SIGUSR1));
    join_thread(thread);
    CHECK_EQ(arrived, 1);
    CHECK(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
}

static void end_by_signal(int how)
{
    static const int expected[] = {SIGABRT, SIGTERM, SIGKILL, SIGABRT};
    static const struct rlimit no_core = {0, 0};
    int status;
    pid_t child = fork();
    if (child == 0) {
        CHECK_OK(setrlimit(RLIMIT_CORE, &no_core));
        if (how == 0)
            abort();
        if (how == 1)
            kill(getpid(), SIGTERM);
        /* It says so there. */
        CHECK_OK(close(STDERR_FILENO));
        assert(how != 3);
        pthread_kill(pthread_self(), SIGKILL);
        _exit(1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), expected[how]);
}

/* Children that end by a signal of their own. */
void deadly_signal(void)
{
    for (int how = 0; how < 4; how++)
        end_by_signal(how);
}
