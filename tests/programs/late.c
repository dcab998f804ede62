/* late: an MPI program that writes while MPI ends, after it, and at exit.
 *
 * Every rank writes to a file of its own, late.<rank>, one byte at a time: 100 from a thread that begins before
 * MPI_Finalize and goes on behind it, 100 after MPI_Finalize, 100 in a handler of atexit(3) and 20 in a destructor.
 *
 *   late [--finalize main|atexit]
 *
 * `atexit`: MPI_Finalize is called by a handler of atexit(3), before that which writes.
 */
#include "common_mpi.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

enum { TIMES = 100, LAST_WORDS = 20 };

static int file = -1;
static atomic_int half_done, finalized;

static void write_bytes(int count)
{
    for (int i = 0; i < count; i++)
        CHECK_EQ(write(file, "l", 1), 1);
}

/* Half of its writes before the end of MPI, the other half after it. */
static void *write_across(void *unused)
{
    write_bytes(TIMES / 2);
    atomic_store(&half_done, 1);
    while (!atomic_load(&finalized))
        CHECK_EQ(lseek(file, 0, SEEK_CUR), TIMES / 2);
    write_bytes(TIMES / 2);
    return unused;
}

static void finalize(void)
{
    int done = -1;
    pthread_t thread;
    CHECK_OK(pthread_create(&thread, NULL, write_across, NULL));
    while (!atomic_load(&half_done))
        ;
    MPI_Finalize();
    CHECK_OK(MPI_Finalized(&done));
    CHECK_EQ(done, 1);
    atomic_store(&finalized, 1);
    CHECK_OK(pthread_join(thread, NULL));
    write_bytes(TIMES);
}

static void write_at_exit(void)
{
    write_bytes(TIMES);
}

__attribute__((destructor)) static void write_at_unload(void)
{
    if (file >= 0)
        write_bytes(LAST_WORDS);
}

int main(int argc, char **argv)
{
    const char *where = "main";
    const struct setting settings[] = {
        {"--finalize", TEXT, &where, "main, atexit (main)"},
        {NULL, FLAG, NULL, NULL},
    };
    char name[32];
    int rank, ranks;
    CHECK_OK(atexit(write_at_exit));
    parse_options(argc, argv, settings);
    start_mpi(&argc, &argv, &rank, &ranks);
    snprintf(name, sizeof name, "late.%d", rank);
    file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(file >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(where, "atexit") == 0)
        CHECK_OK(atexit(finalize));
    else
        finalize();
    return 0;
}
