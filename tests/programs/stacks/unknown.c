/* An MPI that is none of those one knows (LIBRARY), with the functions that a program of one rank needs and handles of a kind
 * that no other has; and that program. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int MPI_Init(int *argc, char ***argv);
int MPI_Sendrecv(const void *out, int count, char type, int to, int tag, void *in, int room, char as, int from, int with,
                 char comm, void *status);
int MPI_Finalize(void);

#ifdef LIBRARY
static int state;

int PMPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return state = 1, 0;
}
int PMPI_Finalize(void)
{
    return state = 2, 0;
}
int PMPI_Initialized(int *flag)
{
    return *flag = state > 0, 0;
}
int PMPI_Finalized(int *flag)
{
    return *flag = state > 1, 0;
}
int PMPI_Get_library_version(char *text, int *length)
{
    return *length = sprintf(text, "Strange MPI 1.0"), 0;
}
int PMPI_Sendrecv(const void *out, int count, char type, int to, int tag, void *in, int room, char as, int from, int with,
                  char comm, void *status)
{
    (void)type, (void)to, (void)tag, (void)room, (void)as, (void)from, (void)with, (void)comm, (void)status;
    return memcpy(in, out, count), 0;
}
__typeof__(PMPI_Init) MPI_Init __attribute__((alias("PMPI_Init")));
__typeof__(PMPI_Finalize) MPI_Finalize __attribute__((alias("PMPI_Finalize")));
__typeof__(PMPI_Sendrecv) MPI_Sendrecv __attribute__((alias("PMPI_Sendrecv")));
#else
int main(int argc, char **argv)
{
    int sent = 42, received = 0;
    MPI_Init(&argc, &argv);
    MPI_Sendrecv(&sent, sizeof sent, 'b', 0, 0, &received, sizeof received, 'b', 0, 0, 'w', NULL);
    int file = open("output", O_WRONLY | O_CREAT, 0600);
    int good = file >= 0 && write(file, &received, 4) == 4 && close(file) == 0;
    MPI_Finalize();
    printf("rank 0 of 1 got %d\n", received);
    return !good;
}
#endif
