/* unfinished: an MPI program that does not call MPI_Finalize.
 *
 * Every rank writes 100 blocks to a file of its own, unfinished.<rank>; when all have, the program ends in one of the
 * ways in which programs end.
 *
 *   unfinished --end return|_exit|abort|kill
 *
 * `return` and `_exit`: every rank. `abort`: rank 1 calls MPI_Abort; `kill`: rank 1 dies by SIGKILL; the launcher ends
 * the others, which wait for rank 1.
 */
#include "common_mpi.h"
#include <fcntl.h>
#include <signal.h>

enum { BLOCK = 256, BLOCKS = 100 };

static void write_blocks(int rank)
{
    char name[32], block[BLOCK] = "";
    snprintf(name, sizeof name, "unfinished.%d", rank);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    for (int b = 0; b < BLOCKS; b++)
        CHECK_EQ(write(fd, block, BLOCK), BLOCK);
    CHECK_OK(close(fd));
}

int main(int argc, char **argv)
{
    const char *way = "return";
    const struct setting settings[] = {
        {"--end", TEXT, &way, "return, _exit, abort, kill (return)"},
        {NULL, FLAG, NULL, NULL},
    };
    int rank, ranks;
    parse_options(argc, argv, settings);
    start_mpi(&argc, &argv, &rank, &ranks);
    write_blocks(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(way, "_exit") == 0)
        _exit(0);
    if (strcmp(way, "abort") == 0 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 9);
    if (strcmp(way, "kill") == 0 && rank == 1)
        raise(SIGKILL);
    if (strcmp(way, "return") != 0)
        MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
