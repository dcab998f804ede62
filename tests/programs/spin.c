/* Spin: processes take turns by nothing but a word in shared memory, for which each spins in user space.
 *
 *   spin [--processes N] [--rounds N] [--compute N] [--apart] [--alarms] [--word FILE --place N]
 *
 * Process p ("a", "b", ...) writes a line into its own file when the word says that it is its turn, then passes the turn on.
 * No call tells of that order. With --apart, as many processes with other names do the same at about the same times, in an
 * order of their own: nothing relates the two groups. With --word, this process is the one of that place, and others that are
 * started with the same FILE are the others. With --alarms, a signal comes every 5 ms.
 *
 * Verifies that turns come in order; without that a process waits for ever.
 */
#include "common.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 8 };

static long long processes = 2, rounds = 6, compute = 2000;
static int apart, alarms;
static long long place;
static const char *word;

static void ignore(int signal)
{
    (void)signal;
}

static void start_alarms(void)
{
    struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 5000}, {0, 5000}};
    CHECK_OK(sigaction(SIGALRM, &action, NULL));
    CHECK_OK(setitimer(ITIMER_REAL, &often, NULL));
}

static void take_turns(_Atomic long long *turn, int group, int place)
{
    char name[2] = {(char)('a' + group * MOST + place), 0};
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    if (alarms)
        start_alarms();
    for (long long round = 0; round < rounds; round++) {
        long long mine = round * processes + place;
        while (*turn < mine)
            ;
        CHECK_EQ(*turn, mine);
        work(compute);
        CHECK_EQ(write(fd, "turn\n", 5), 5);
        *turn = mine + 1;
    }
    CHECK_OK(close(fd));
}

/* Memory that all who take turns share. */
static _Atomic long long *shared_words(void)
{
    int fd = word ? open(word, O_RDWR | O_CREAT, 0644) : -1;
    CHECK(!word || (fd >= 0 && ftruncate(fd, 4096) == 0));
    void *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | (word ? 0 : MAP_ANONYMOUS), fd, 0);
    CHECK(words != MAP_FAILED);
    return words;
}

int main(int argc, char **argv)
{
    const struct setting settings[] = {
        {"--processes", NUMBER, &processes, "processes that take turns, at most 8 (2)"},
        {"--rounds", NUMBER, &rounds, "turns of each (6)"},
        {"--compute", NUMBER, &compute, "units of work in a turn (2000)"},
        {"--apart", FLAG, &apart, "a second group that has nothing to do with the first"},
        {"--alarms", FLAG, &alarms, "a signal every 5 ms"},
        {"--word", TEXT, &word, "file with the word, for processes that are started one by one"},
        {"--place", NUMBER, &place, "which of them this is (0)"},
        {NULL, FLAG, NULL, NULL},
    };
    parse_options(argc, argv, settings);
    REQUIRE(processes > 0 && processes <= MOST);
    _Atomic long long *turns = shared_words();
    if (word) {
        take_turns(turns, 0, (int)place);
        return 0;
    }
    for (int group = 0; group <= apart; group++)
        for (int place = 0; place < processes; place++) {
            pid_t child = fork();
            CHECK(child >= 0);
            if (child == 0) {
                take_turns(&turns[16 * group], group, place);
                _exit(0);
            }
        }
    for (int left = (1 + apart) * (int)processes; left > 0; left--) {
        int status;
        CHECK(wait(&status) > 0);
        CHECK_EQ(status, 0);
    }
    printf("spin: %lld turns\n", (1 + apart) * processes * rounds);
    return 0;
}
