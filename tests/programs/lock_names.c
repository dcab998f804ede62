/* Lock names: three processes use a name as a lock, each for so many turns of one byte in a file.
 *
 *   lock_names open|mkdir|symlink|link|rename
 *
 * Who does not get it sleeps, and asks again. Verifies that nobody has it while another one does.
 */
#include "common.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PROCESSES = 3, TURNS = 40, SLEEP_US = 50 };

static char own[16];

/* Whether the name is ours now. */
static int take(const char *how)
{
    switch (how[0]) {
    case 'o': {
        int fd = open("lock", O_CREAT | O_EXCL | O_WRONLY, 0600);
        return fd < 0 ? fd : close(fd);
    }
    case 'm':
        return mkdir("lock", 0700);
    case 's':
        return symlink(own, "lock");
    case 'l':
        return link(own, "lock");
    default:
        return renameat2(AT_FDCWD, own, AT_FDCWD, "lock", RENAME_NOREPLACE);
    }
}

static int give(const char *how)
{
    switch (how[0]) {
    case 'm':
        return rmdir("lock");
    case 'r':
        return rename("lock", own);
    default:
        return unlink("lock");
    }
}

static void take_turns(const char *how, int turns)
{
    for (int i = 0; i < TURNS; i++) {
        while (take(how) != 0) {
            CHECK_EQ(errno, EEXIST);
            CHECK_OK(usleep(SLEEP_US));
        }
        CHECK_EQ(write(turns, "x", 1), 1);
        if (i % 2 == 0)
            CHECK_OK(usleep(SLEEP_US));
        CHECK_OK(give(how));
        if (i % 3 == 0)
            CHECK_OK(usleep(SLEEP_US));
    }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    int turns = open("turns", O_CREAT | O_TRUNC | O_APPEND | O_WRONLY, 0600);
    CHECK(turns >= 0);
    for (int i = 0; i < PROCESSES; i++) {
        snprintf(own, sizeof own, "own%d", i);
        int fd = open(own, O_CREAT | O_WRONLY, 0600);
        CHECK(fd >= 0);
        CHECK_OK(close(fd));
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            take_turns(argv[1], turns);
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        CHECK(wait(&status) > 0);
        CHECK_EQ(status, 0);
    }
    CHECK_EQ(access("lock", F_OK), -1);
    CHECK_EQ(lseek(turns, 0, SEEK_END), PROCESSES * TURNS);
    return 0;
}
