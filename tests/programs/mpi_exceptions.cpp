// mpi_exceptions: C++ exceptions that leave an MPI call, thrown by the error handler of a communicator; and an MPI call that a
// callback makes inside another one, which is not the program's own.
//
// Each rank catches ROUNDS exceptions, each thrown near the bottom of the stack; then, far above on the stack, calls MPI_Barrier
// and writes a byte to `exceptions.<rank>`. At the end a communicator is freed whose attribute calls MPI_Comm_size as it goes.
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
// Not the C++ binding that older versions of MPI had.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <string>
#include <unistd.h>

static const int ROUNDS = 5;
static int output;
static int attributes;

struct Thrown {
    int code;
};

[[noreturn]] static void fail(const char *what)
{
    std::fprintf(stderr, "mpi_exceptions: %s\n", what);
    std::exit(1);
}

static void throwing(MPI_Comm *, int *code, ...)
{
    throw Thrown{*code};
}

// A frame of a few pages, of which the greater part stays as it was.
[[gnu::noinline]] static void deeper(int levels)
{
    volatile char room[4096];
    room[levels] = 1;
    if (levels > 0) {
        deeper(levels - 1);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        if (write(output, "x", 1) != 1)
            fail("a write failed");
    }
    room[0] = room[levels];
}

static int attribute_goes(MPI_Comm, int, void *, void *)
{
    int size;
    attributes++;
    return MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS ? MPI_Barrier(MPI_COMM_SELF) : MPI_ERR_OTHER;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    output = open(("exceptions." + std::to_string(rank)).c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0666);

    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(throwing, &handler);
    MPI_Comm_set_errhandler(copy, handler);
    int caught = 0;
    for (int round = 0; round < ROUNDS; round++) {
        try {
            MPI_Send(&rank, 1, MPI_INT, size, 0, copy);
        } catch (const Thrown &) {
            caught++;
        }
        deeper(4);
    }
    if (caught != ROUNDS)
        fail("an error was not thrown");
    MPI_Errhandler_free(&handler);

    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, attribute_goes, &key, nullptr);
    MPI_Comm_set_attr(copy, key, nullptr);
    MPI_Comm_free(&copy);
    MPI_Comm_free_keyval(&key);
    close(output);
    if (attributes != 1)
        fail("the attribute has not gone");
    if (rank == 0)
        std::printf("mpi_exceptions: caught %d\n", caught);
    MPI_Finalize();
    return 0;
}
